/* Finds the lines that libraries print. The matching is written by hand after the regular expressions of
 * madengine's get_library_trace.py, which are given in the comments. */
#include "run/execute/execute.h"
#include "os/clock.h"
#include "output/file.h"

enum { CONFIGS_MAX = 1000000 };

typedef bool matcher(gt_str line, gt_str *config);

static gt_str rest_from(gt_str line, const char *begin)
{
    return (gt_str){begin, (size_t)(line.bytes + line.len - begin)};
}

static const char *find(gt_str line, const char *word)
{
    return memmem(line.bytes, line.len, word, strlen(word));
}

/* ./rocblas-bench .*$    where the first dot matches any character */
static bool match_rocblas(gt_str line, gt_str *config)
{
    if (!line.len) return false;
    const char *found = find(rest_from(line, line.bytes + 1), "/rocblas-bench ");
    if (found) *config = rest_from(line, found - 1);
    return found;
}

/* ^.*rocblas_function: .*$ */
static bool match_rocblas_function(gt_str line, gt_str *config)
{
    *config = line;
    return find(line, "rocblas_function: ");
}

/* hipblaslt-bench .*$ */
static bool match_hipblaslt(gt_str line, gt_str *config)
{
    const char *found = find(line, "hipblaslt-bench ");
    if (found) *config = rest_from(line, found);
    return found;
}

/* ^Running kernel: (.*)$ */
static bool match_tensile(gt_str line, gt_str *config)
{
    static const char words[] = "Running kernel: ";
    if (line.len < sizeof words - 1 || memcmp(line.bytes, words, sizeof words - 1) != 0) return false;
    *config = rest_from(line, line.bytes + sizeof words - 1);
    return true;
}

/* MIOpen\(HIP\): Command \[.*\] (./bin/MIOpenDriver .*)$    .* is greedy: the last driver counts */
static bool match_miopen(gt_str line, gt_str *config)
{
    static const char words[] = "MIOpen(HIP): Command [", driver[] = "/bin/MIOpenDriver ";
    const char *begin = find(line, words), *last = NULL;
    if (!begin) return false;
    begin += sizeof words - 1;
    for (const char *at = begin; (at = find(rest_from(line, at), driver)); at++)
        if (at - begin >= 3 && at[-3] == ']' && at[-2] == ' ') last = at - 1;
    if (last) *config = rest_from(line, last);
    return last;
}

/* In the order of the rows of the table. */
static const struct {
    const char *library, *mode;
    matcher *match;
} libraries[] = {
    {"rocblas", "rocblas_trace", match_rocblas},
    {"hipblaslt", "hipblaslt_trace", match_hipblaslt},
    {"rocblas_function", "rocblas_trace", match_rocblas_function},
    {"miopen", "miopen_trace", match_miopen},
    {"tensile", "tensile_trace", match_tensile},
};

/* The configs of one library, in the order of appearance: ids are dense, from 2. */
typedef struct counts {
    bool wanted;
    gt_interner *configs;
    uint64_t *calls; /* by id */
    size_t calls_capacity;
} counts;

struct gt_library_trace {
    counts counts[GT_LENGTH(libraries)];
    bool full;
};

gt_library_trace *gt_library_trace_new(const gt_arg_list *modes)
{
    gt_library_trace *trace = gt_alloc_zero(1, sizeof *trace);
    for (size_t i = 0; i < GT_LENGTH(libraries); i++) {
        trace->counts[i].configs = gt_interner_new();
        for (size_t m = 0; m < modes->count; m++)
            if (strcmp(modes->items[m], libraries[i].mode) == 0) trace->counts[i].wanted = true;
    }
    return trace;
}

void gt_library_trace_free(gt_library_trace *trace)
{
    if (!trace) return;
    for (size_t i = 0; i < GT_LENGTH(libraries); i++) {
        gt_interner_free(trace->counts[i].configs);
        gt_free(trace->counts[i].calls);
    }
    gt_free(trace);
}

static void count(gt_library_trace *trace, counts *c, gt_str config)
{
    uint32_t before = gt_interner_count(c->configs),
             id = gt_interner_find(c->configs, config.bytes, config.len);
    if (id == GT_STR_NONE && before > CONFIGS_MAX) {
        if (!trace->full)
            gt_warn("more than %d different library calls; further ones are not counted", CONFIGS_MAX);
        trace->full = true;
        return;
    }
    if (id == GT_STR_NONE) id = gt_interner_add(c->configs, config.bytes, config.len);
    size_t old = c->calls_capacity;
    if (id >= old) {
        c->calls = gt_grow(c->calls, &c->calls_capacity, (size_t)id + 1, sizeof *c->calls);
        memset(c->calls + old, 0, (c->calls_capacity - old) * sizeof *c->calls);
    }
    c->calls[id]++;
}

bool gt_library_trace_see(gt_library_trace *trace, gt_str line)
{
    bool seen = false;
    for (size_t i = 0; i < GT_LENGTH(libraries); i++) {
        gt_str config;
        if (!trace->counts[i].wanted || !libraries[i].match(line, &config)) continue;
        count(trace, &trace->counts[i], config);
        seen = true;
    }
    return seen;
}

/* Adds a field with as few quotes as possible. */
static void add_field(gt_buffer *row, gt_str text)
{
    bool quoted = memchr(text.bytes, ',', text.len) || memchr(text.bytes, '"', text.len) ||
                  memchr(text.bytes, '\r', text.len) || memchr(text.bytes, '\n', text.len);
    if (quoted) gt_buffer_add_cstr(row, "\"");
    for (size_t i = 0; i < text.len; i++) {
        if (text.bytes[i] == '"') gt_buffer_add_cstr(row, "\"");
        gt_buffer_add(row, &text.bytes[i], 1);
    }
    if (quoted) gt_buffer_add_cstr(row, "\"");
}

static void add_text(gt_buffer *row, const char *text)
{
    add_field(row, (gt_str){text, strlen(text)});
    gt_buffer_add_cstr(row, ",");
}

static void write_rows(gt_file *file, const counts *c, const char *beginning, const char *library)
{
    gt_buffer row = {0};
    for (uint32_t id = GT_STR_EMPTY; id < c->calls_capacity && id < gt_interner_count(c->configs); id++) {
        if (!c->calls[id]) continue;
        char calls[32];
        row.len = 0;
        gt_buffer_add_cstr(&row, beginning);
        add_text(&row, library);
        add_field(&row, gt_interner_get(c->configs, id));
        int len = snprintf(calls, sizeof calls, ",%llu\r\n", (unsigned long long)c->calls[id]);
        gt_buffer_add(&row, calls, (size_t)len);
        gt_file_write(file, row.bytes, row.len);
    }
    gt_buffer_free(&row);
}

static const char *value_or(const char *text, const char *otherwise)
{
    return text && *text ? text : otherwise;
}

bool gt_library_trace_write(const gt_library_trace *trace, const char *path, const char *model,
                            gt_error *error)
{
    static const char header[] = "jobid,created_date,model,library,config,calls\r\n";
    char now_text[GT_CLOCK_TEXT];
    time_t now = time(NULL);
    gt_clock_format(now_text, sizeof now_text, "%Y-%m-%d %H:%M:%S", now);
    gt_buffer beginning = {0};
    add_text(&beginning, value_or(getenv("JENKINS_BUILD_NUMBER"), "0"));
    add_text(&beginning, now_text);
    add_text(&beginning, value_or(model, ""));
    gt_output *output = gt_output_new();
    gt_file file = {0};
    bool ok = gt_file_open(&file, output, path, error);
    if (ok) {
        gt_file_write(&file, header, sizeof header - 1);
        for (size_t i = 0; i < GT_LENGTH(libraries); i++)
            write_rows(&file, &trace->counts[i], gt_buffer_str(&beginning).bytes, libraries[i].library);
        ok = gt_file_close(&file, error) && gt_output_commit(output, error);
    }
    gt_output_free(output);
    gt_buffer_free(&beginning);
    return ok;
}
