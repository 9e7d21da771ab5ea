/* Runs the extension: writes the request, starts Python, reads the reply.
 *
 * Python gets its program (models.py, then run.py; both are embedded in gputally) on the command line, the
 * request as file descriptor 3 and a file for the reply as file descriptor 4. The extension's output goes to
 * standard error. Python runs isolated: modules are not searched for in the current folder. Its process group
 * ends when it has replied, when its time is over, and when gputally ends.
 *
 * Request and reply are JSON documents; run.py describes them. Events are identified by their position in the
 * trace (uid), because the extension reads the trace itself. */
#include "extension/extension.h"

#include "base/guard.h"
#include "json/string.h"
#include "os/child.h"
#include "trace/pytorch/calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef GT_EXTENSION_DIR
#define GT_EXTENSION_DIR "src/extension"
#endif

__asm__(".pushsection .rodata\n"
        "gt_extension_program:\n"
        ".incbin \"" GT_EXTENSION_DIR "/models.py\"\n"
        ".incbin \"" GT_EXTENSION_DIR "/run.py\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char gt_extension_program[] __attribute__((visibility("hidden")));

/* ---- the request ---- */

typedef struct request_writer {
    FILE *file;
    const gt_linked_view *trace;
    gt_calls *calls;
    gt_buffer text, scratch;
} request_writer;

static void put_string(request_writer *w, gt_str text)
{
    w->text.len = 0;
    gt_json_string_add(&w->text, text, &w->scratch);
    fwrite(w->text.bytes, 1, w->text.len, w->file);
}

static void put_cstr(request_writer *w, const char *text)
{
    if (text)
        put_string(w, (gt_str){text, strlen(text)});
    else
        fputs("null", w->file);
}

/* An interned string that is JSON; null if it is absent. */
static void put_json(request_writer *w, uint32_t id)
{
    gt_str json = gt_interner_get(w->trace->strings, id);
    if (json.len)
        fwrite(json.bytes, 1, json.len, w->file);
    else
        fputs("null", w->file);
}

static void put_number(request_writer *w, double number)
{
    if (isfinite(number))
        fprintf(w->file, "%.17g", number);
    else
        fputs("null", w->file);
}

static void put_uid(request_writer *w, uint32_t row)
{
    if (row == GT_NO_EVENT)
        fputs("null", w->file);
    else
        fprintf(w->file, "%" PRIu32, gt_event_uid(&w->trace->events, row));
}

static void put_arch(request_writer *w, const gt_gpu_arch *arch)
{
    fputs(",\"arch\":", w->file);
    if (!arch) {
        fputs("null", w->file);
        return;
    }
    fputs("{\"name\":", w->file);
    put_cstr(w, arch->name);
    fputs(",\"mem_bw_gbps\":", w->file);
    put_number(w, arch->mem_bw_gbps);
    fputs(",\"memory_gb\":", w->file);
    put_number(w, arch->memory_gb);
    fputs(",\"max_achievable_tflops\":{", w->file);
    for (size_t i = 0; i < arch->peaks_count; i++) {
        if (i) fputc(',', w->file);
        put_cstr(w, arch->peaks[i].spec);
        fputc(':', w->file);
        put_number(w, arch->peaks[i].tflops);
    }
    fputs("}}", w->file);
}

/* The ops that gputally added: they are not in the file. */
static void put_added(request_writer *w)
{
    static const struct {
        const char *key;
        size_t column;
    } inputs[] = {{"Input Dims", GT_EVENT_INPUT_DIMS},
                  {"Input type", GT_EVENT_INPUT_TYPES},
                  {"Input Strides", GT_EVENT_INPUT_STRIDES},
                  {"Concrete Inputs", GT_EVENT_CONCRETE_INPUTS}};
    const gt_linked_view *trace = w->trace;
    fputs(",\"added\":[", w->file);
    gt_store_cell cells[GT_STORE_MAX_COLUMNS];
    for (size_t row = trace->recorded; row < trace->count; row++) {
        gt_store_get(trace->store, row, cells);
        fprintf(w->file, "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"UID\":%" PRIu32 ",\"name\":",
                row > trace->recorded ? "," : "", gt_event_uid(&trace->events, row));
        put_string(w, gt_event_name(&trace->events, (uint32_t)row));
        fputs(",\"pid\":", w->file);
        put_json(w, gt_event_process(&trace->events, row));
        fputs(",\"tid\":", w->file);
        put_json(w, gt_event_thread(&trace->events, row));
        if (isfinite(trace->start_us[row])) {
            fputs(",\"ts\":", w->file);
            put_number(w, trace->start_us[row]);
            fputs(",\"dur\":", w->file);
            put_number(w, trace->dur_us[row]);
        }
        fputs(",\"args\":{\"Pseudo op\":true", w->file);
        for (size_t i = 0; i < GT_LENGTH(inputs); i++) {
            fprintf(w->file, ",\"%s\":", inputs[i].key);
            put_json(w, (uint32_t)cells[inputs[i].column].text);
        }
        fputs("}}", w->file);
    }
    fputc(']', w->file);
}

static void put_tree(request_writer *w)
{
    fputs(",\"tree\":[", w->file);
    for (uint32_t n = 0; n < w->trace->numbered; n++) {
        uint32_t row = w->calls->row_of[n];
        fputs(n ? ",[" : "[", w->file);
        put_uid(w, row);
        fputc(',', w->file);
        put_uid(w, w->trace->parent[row]);
        fputs(",[", w->file);
        const char *comma = "";
        for (uint32_t c = gt_calls_first(w->calls, row); c != GT_NO_EVENT;
             c = gt_calls_next(w->calls, row, c), comma = ",") {
            fputs(comma, w->file);
            put_uid(w, c);
        }
        fputs("]]", w->file);
    }
    fputs("],\"roots\":[", w->file);
    gt_row_list roots = gt_calls_cpu_roots(w->calls);
    for (size_t i = 0; i < roots.count; i++) {
        if (i) fputc(',', w->file);
        put_uid(w, roots.items[i]);
    }
    gt_free(roots.items);
    fputc(']', w->file);
}

static void put_pair(request_writer *w, bool first, uint32_t a, uint32_t b)
{
    fputs(first ? "[" : ",[", w->file);
    put_uid(w, a);
    fputc(',', w->file);
    put_uid(w, b);
    fputc(']', w->file);
}

static void put_links(request_writer *w)
{
    const gt_linked_view *trace = w->trace;
    fputs(",\"launches\":[", w->file);
    for (size_t i = 0; i < trace->link_count; i++)
        put_pair(w, i == 0, trace->link_runtime[i], trace->link_gpu[i]);
    fputs("],\"gradients\":[", w->file);
    gt_gradients *gradients = gt_gradients_link(w->calls);
    bool first = true;
    for (uint32_t row = 0; row < trace->count; row++) {
        uint32_t function = gt_gradient_function(gradients, row);
        if (function == GT_NO_EVENT) continue;
        put_pair(w, first, row, function);
        first = false;
    }
    gt_gradients_free(gradients);
    fputc(']', w->file);
}

static const char *bool_json(const gt_value *value)
{
    return value->type != GT_VALUE_BOOL ? "null" : value->boolean ? "true" : "false";
}

/* Which matrices of GEMM kernels are transposed, from their names; each name once. */
static void put_gemm_kernels(request_writer *w)
{
    const gt_linked_view *trace = w->trace;
    uint8_t *seen = gt_alloc_zero(gt_interner_count(trace->strings), 1);
    const char *comma = "";
    fputs(",\"gemm_kernels\":[", w->file);
    for (uint32_t row = 0; row < trace->count; row++) {
        gt_value transpose[2];
        if (trace->kind[row] != GT_KIND_KERNEL || seen[trace->name[row]]++) continue;
        seen[trace->name[row]] = 1;
        if (!gt_gemm_transpose(gt_event_name(&trace->events, row), transpose)) continue;
        fprintf(w->file, "%s[", comma);
        put_string(w, gt_event_name(&trace->events, row));
        fprintf(w->file, ",[%s,%s]]", bool_json(&transpose[0]), bool_json(&transpose[1]));
        comma = ",";
    }
    fputc(']', w->file);
    gt_free(seen);
}

static void write_request(FILE *file, const gt_linked_view *trace, const gt_extension_source *source)
{
    request_writer w = {.file = file, .trace = trace, .calls = gt_calls_new(trace)};
    char *absolute = gt_adopt(realpath(source->file, NULL));
    fputs("{\"trace\":", file);
    put_cstr(&w, source->trace_path);
    fputs(",\"extension\":", file);
    put_cstr(&w, absolute ? absolute : source->file);
    fputs(",\"python\":", file);
    put_cstr(&w, source->python);
    fprintf(file, ",\"events\":%zu,\"python_functions\":%s", trace->uid_count,
            trace->has_python ? "true" : "false");
    put_arch(&w, source->arch);
    put_added(&w);
    put_tree(&w);
    put_links(&w);
    put_gemm_kernels(&w);
    fputs("}\n", file);
    gt_free(absolute);
    gt_calls_free(w.calls);
    gt_buffer_free(&w.text);
    gt_buffer_free(&w.scratch);
}

/* ---- the process ---- */

/* A reply is held in memory several times; one that is larger than this is refused. */
static const off_t REPLY_MAX_BYTES = (off_t)1 << 30;

static bool start(const char *python, const char *title, int request, int reply, gt_spawned *child,
                  gt_error *error)
{
    char *program = gt_format("%s%s", gt_python_prelude, gt_extension_program);
    const char *arguments[] = {python, "-Ic", program, NULL};
    const int descriptors[] = {-1, STDERR_FILENO, STDERR_FILENO, request, reply};
    int failed = gt_child_spawn(arguments, NULL, descriptors, GT_LENGTH(descriptors), title, child);
    gt_free(program);
    return !failed || gt_fail(error, "%s: %s; extensions need Python 3 (set its path with --python_path)",
                              python, strerror(failed));
}

static bool wait_for(gt_spawned *child, const char *python, int64_t timeout_s, gt_error *error)
{
    gt_spawn_end end = gt_child_finish(child, (double)timeout_s, -1, NULL, 0);
    if (end.timed_out)
        return gt_fail(error, "not finished after %" PRId64 " s and ended (--extension_timeout)", timeout_s);
    if (WIFSIGNALED(end.status))
        return gt_fail(error, "%s was terminated by signal %d (%s)", python, WTERMSIG(end.status),
                       strsignal(WTERMSIG(end.status)));
    if (WEXITSTATUS(end.status))
        return gt_fail(error, "%s exited with status %d", python, WEXITSTATUS(end.status));
    return true;
}

static bool read_reply(FILE *file, gt_buffer *text, gt_error *error)
{
    struct stat about;
    if (fstat(fileno(file), &about) == 0 && about.st_size > REPLY_MAX_BYTES)
        return gt_fail(error, "its reply has %jd bytes; the limit is %jd", (intmax_t)about.st_size,
                       (intmax_t)REPLY_MAX_BYTES);
    rewind(file);
    size_t got;
    do {
        char *room = gt_buffer_reserve(text, 1 << 16);
        got = fread(room, 1, 1 << 16, file);
        text->len += got;
    } while (got);
    return !ferror(file) || gt_fail(error, "cannot read its reply: %s", strerror(errno));
}

/* tmpfile, but not for other programs that are started meanwhile. */
static FILE *open_temporary(void)
{
    FILE *file = tmpfile();
    if (!file) return NULL;
    fcntl(fileno(file), F_SETFD, FD_CLOEXEC);
    gt_guard_add(gt_close_file, file);
    return file;
}

static void close_temporary(FILE *file)
{
    if (!file) return;
    gt_guard_remove(file);
    fclose(file);
}

/* Every message names the extension. One that tells the line has the file's place as well: "line 3: ..." */
static void name_extension(const gt_extension_source *source, gt_error *error)
{
    bool has_line = error && strncmp(error->text, "line ", 5) == 0;
    char *prefixed = gt_format("%s%s%s", source->file, has_line ? ", " : ": ", error ? error->text : "");
    gt_fail(error, "%s", prefixed);
    gt_free(prefixed);
}

bool gt_extension_run(gt_pytorch_linked *trace, const gt_extension_source *source, gt_extension_reply *answer,
                      gt_error *error)
{
    const char *python = source->python ? source->python : "python3";
    FILE *request = open_temporary(), *reply = open_temporary();
    gt_buffer text = {0};
    gt_spawned child;
    bool done = request && reply;
    if (!done) gt_fail(error, "cannot create a temporary file: %s", strerror(errno));
    if (done) {
        write_request(request, gt_pytorch_view(trace), source);
        done = fflush(request) == 0 && !ferror(request);
        if (!done) gt_fail(error, "cannot write a temporary file: %s", strerror(errno));
        rewind(request);
    }
    done = done && start(python, source->file, fileno(request), fileno(reply), &child, error) &&
           wait_for(&child, python, source->timeout_s, error) && read_reply(reply, &text, error) &&
           gt_extension_apply(trace, gt_buffer_str(&text), answer, error);
    if (!done) name_extension(source, error);
    close_temporary(request);
    close_temporary(reply);
    gt_buffer_free(&text);
    return done;
}
