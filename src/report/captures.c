/* Capture folders: execution_details.json, the files, and a few of them in memory. */
#include "report/captures.h"

#include "base/raise.h"
#include "compat/python_repr.h"
#include "input/chrome/kineto.h"
#include "json/writer.h"
#include "os/paths.h"
#include "output/file.h"

static const char DETAILS[] = "execution_details.json";

enum { LOADED_MAX = 8, DETAILS_BYTES_MAX = 64 << 20 };

/* A file of the folder that a merge may use. */
typedef struct capture_path {
    char *path;
    bool is_damaged;
} capture_path;

typedef struct loaded_capture {
    gt_graph_capture *capture;
    size_t file;
    uint64_t used; /* the last use, in order */
} loaded_capture;

struct gt_captures {
    const char *folder;
    gt_capture_options options;
    gt_capture_file *files;
    capture_path *paths; /* of the files */
    size_t count, capacity, path_capacity;
    loaded_capture loaded[LOADED_MAX];
    size_t loaded_count;
    uint64_t uses;
    gt_error failure; /* of the first file that could not be read */
    bool has_failed;
};

__attribute__((format(printf, 2, 3))) static void say(const gt_captures *c, const char *format, ...)
{
    if (!c->options.journal) return;
    char *text;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    if (len < 0) gt_raise_out_of_memory(strlen(format));
    c->options.journal(text);
    free(text);
}

/* ---- what the files are of ---- */

static bool is_trace_name(const char *name)
{
    gt_str text = {name, strlen(name)};
    return (gt_str_ends_with(text, ".json") || gt_str_ends_with(text, ".json.gz")) &&
           strcmp(name, DETAILS) != 0;
}

static gt_pytorch_read *read_events(const gt_captures *c, const char *path, gt_error *error)
{
    const gt_kineto_options keep = {.python_functions = true, .launched = true};
    gt_read_options read = {.threads = c->options.read->threads,
                            .strict = c->options.read->strict,
                            .is_part = c->options.read->is_part};
    const char *about = gt_log_about(path);
    gt_pytorch_read *events = gt_kineto_read(path, keep, &read, error);
    gt_log_about(about);
    return events;
}

static void add_file(gt_captures *c, gt_capture_file file, const char *name)
{
    gt_arena arena = {0};
    char *path = gt_strdup(gt_path_join(&arena, c->folder, name));
    gt_arena_free(&arena);
    if (!gt_path_is_file(path)) {
        say(c, "Warning: capture file not found, skipping: %s", path);
        if (!c->options.journal) gt_warn("%s: named in %s, but not there", path, DETAILS);
        gt_free(path);
        return;
    }
    size_t count = c->count;
    GT_PUSH(c->files, count, c->capacity, file);
    GT_PUSH(c->paths, c->count, c->path_capacity, (capture_path){.path = path});
}

/* ---- classification ---- */

static void describe_file(gt_json_writer *w, const char *name, const gt_capture_kind *kind)
{
    gt_json_open(w, '{');
    gt_json_put_cstr(w, "file", name);
    if (kind->has_batch)
        gt_json_put_int(w, "batch_size", kind->batch);
    else
        gt_json_put_value(w, "batch_size", &gt_value_none);
    gt_json_put_cstr(w, "mode", gt_capture_mode_name(kind->mode));
    gt_json_close(w, '}');
}

static void say_kind(const gt_captures *c, const gt_capture_kind *kind)
{
    char batch[32] = "None";
    if (kind->has_batch) snprintf(batch, sizeof batch, "%lld", (long long)kind->batch);
    say(c, "batch_size: %s, mode: %s %s, num_captures: %zu", batch, gt_capture_mode_name(kind->mode),
        kind->is_annotated ? "parsed from annotation" : "inferred", kind->graphs);
}

static bool classify_file(gt_captures *c, const char *name, gt_json_writer *details, gt_error *error)
{
    gt_arena arena = {0};
    gt_pytorch_read *events = read_events(c, gt_path_join(&arena, c->folder, name), error);
    gt_arena_free(&arena);
    if (!events) return false;
    gt_capture_kind kind = gt_capture_classify(gt_pytorch_read_view(events));
    gt_pytorch_read_free(events);
    describe_file(details, name, &kind);
    say_kind(c, &kind);
    if (kind.has_batch && kind.graphs) add_file(c, (gt_capture_file){kind.batch, kind.mode}, name);
    return true;
}

static void write_details(const gt_captures *c, gt_str json)
{
    gt_error error;
    char *path = gt_format("%s/%s", c->folder, DETAILS);
    gt_output *output = gt_output_new();
    if (gt_output_write_file(output, path, json, &error) && gt_output_commit(output, &error))
        say(c, "\nResults written to %s", path);
    else
        gt_warn("%s; the next run reads all capture traces again", error.text);
    gt_output_free(output);
    gt_free(path);
}

/* A trace that cannot be read is no capture; with --strict it is an error. */
static bool classify_files(gt_captures *c, const gt_folder_list *names, gt_json_writer *details,
                           gt_error *error)
{
    for (size_t i = 0; i < names->count; i++) {
        if (!is_trace_name(names->items[i])) continue;
        if (classify_file(c, names->items[i], details, error)) continue;
        if (c->options.read->strict) return false;
        gt_warn("%s; it is not used as a capture", error->text);
    }
    return true;
}

static bool classify(gt_captures *c, gt_error *error)
{
    gt_folder_list names = gt_list_folder(c->folder);
    size_t traces = 0;
    for (size_t i = 0; i < names.count; i++) traces += is_trace_name(names.items[i]);
    if (traces)
        say(c, "Found %zu graph-capture trace file(s) in %s\n", traces, c->folder);
    else
        say(c, "No files starting with 'graph_capture_rank_0' found in %s", c->folder);
    gt_json_writer details = {0};
    gt_json_open(&details, '[');
    bool done = traces
                    ? classify_files(c, &names, &details, error)
                    : gt_fail(error, "%s: no capture traces (*.json, *.json.gz) in this folder", c->folder);
    gt_json_close(&details, ']');
    if (done && c->options.writes_details) write_details(c, gt_buffer_str(&details.text));
    gt_json_writer_free(&details);
    gt_folder_list_free(&names);
    return done;
}

/* ---- execution_details.json ---- */

static bool read_mode(const gt_value *value, gt_capture_mode *mode)
{
    for (int m = 0; m < GT_CAPTURE_MODES; m++)
        if (gt_value_equals_cstr(value, gt_capture_mode_name((gt_capture_mode)m))) {
            *mode = (gt_capture_mode)m;
            return true;
        }
    return false;
}

static void skip_entry(const gt_captures *c, const gt_value *entry)
{
    gt_buffer text = {0};
    gt_python_add_value(&text, entry);
    say(c, "Warning: invalid batch size or mode, skipping: %s", gt_buffer_str(&text).bytes);
    if (!c->options.journal)
        gt_warn("%s/%s: entry without a batch size or mode that can be used: %s", c->folder, DETAILS,
                gt_buffer_str(&text).bytes);
    gt_buffer_free(&text);
}

static bool read_entry(gt_captures *c, const gt_value *entry, size_t index, const char *path, gt_error *error)
{
    static const char *const keys[] = {"file", "batch_size", "mode"};
    for (size_t i = 0; i < GT_LENGTH(keys); i++)
        if (entry->type != GT_VALUE_DICT || gt_value_get(entry, keys[i])->type == GT_VALUE_MISSING)
            return gt_fail(error, "%s: entry %zu has no \"%s\"", path, index, keys[i]);
    gt_capture_file file = {0};
    const gt_value *batch = gt_value_get(entry, "batch_size");
    if (batch->type != GT_VALUE_INT || !read_mode(gt_value_get(entry, "mode"), &file.mode)) {
        skip_entry(c, entry);
        return true;
    }
    gt_arena arena = {0};
    file.batch = batch->integer;
    const char *name = gt_value_copy(&arena, gt_value_get(entry, "file"));
    if (name) add_file(c, file, name);
    gt_arena_free(&arena);
    return name || gt_fail(error, "%s: \"file\" of entry %zu is no string", path, index);
}

static bool read_details(gt_captures *c, const char *path, gt_error *error)
{
    gt_buffer text = {0};
    gt_arena arena = {0};
    say(c, "Execution details already exist at %s. Skipping classification.", path);
    bool done = gt_read_small_file(path, DETAILS_BYTES_MAX, &text, error);
    if (done) {
        const gt_value *list = gt_value_parse(&arena, gt_buffer_str(&text));
        done = gt_value_is_list(list) || gt_fail(error, "%s: not a JSON list", path);
        for (size_t i = 0; done && i < list->count; i++)
            done = read_entry(c, &list->items[i], i, path, error);
    }
    gt_arena_free(&arena);
    gt_buffer_free(&text);
    return done;
}

static size_t count_keys(const gt_captures *c)
{
    gt_map keys = {0};
    for (size_t i = 0; i < c->count; i++)
        *gt_map_put(&keys, (uint64_t)c->files[i].batch, (uint64_t)c->files[i].mode) = 0;
    size_t count = keys.count;
    gt_map_free(&keys);
    return count;
}

gt_captures *gt_captures_open(const char *folder, gt_capture_options options, gt_error *error)
{
    gt_captures *c = gt_alloc_zero(1, sizeof *c);
    c->folder = folder;
    c->options = options;
    char *path = gt_format("%s/%s", folder, DETAILS);
    bool done = false;
    if (gt_path_is_file(path))
        done = read_details(c, path, error);
    else if (gt_path_is_folder(folder))
        done = classify(c, error);
    else
        gt_fail(error, "Error: %s is not a directory", folder);
    gt_free(path);
    if (done) say(c, "\nCapture folder loaded: %zu unique batch_size_mode keys", count_keys(c));
    if (done) return c;
    gt_captures_free(c);
    return NULL;
}

void gt_captures_free(gt_captures *c)
{
    if (!c) return;
    for (size_t i = 0; i < c->loaded_count; i++) gt_graph_capture_free(c->loaded[i].capture);
    for (size_t i = 0; i < c->count; i++) gt_free(c->paths[i].path);
    gt_free_all(c->files, c->paths, c);
}

/* ---- captures in memory ---- */

static loaded_capture *find_loaded(gt_captures *c, size_t file)
{
    for (size_t i = 0; i < c->loaded_count; i++)
        if (c->loaded[i].file == file) return &c->loaded[i];
    return NULL;
}

static void say_file(const gt_captures *c, const char *what, size_t file)
{
    say(c, "%s (key=%lld_%s)", what, (long long)c->files[file].batch,
        gt_capture_mode_name(c->files[file].mode));
}

/* The place for one more: that of the capture that was not used for the longest time. */
static loaded_capture *make_room(gt_captures *c)
{
    if (c->loaded_count < LOADED_MAX) return &c->loaded[c->loaded_count++];
    loaded_capture *oldest = &c->loaded[0];
    for (size_t i = 1; i < c->loaded_count; i++)
        if (c->loaded[i].used < oldest->used) oldest = &c->loaded[i];
    say_file(c, "Evicted capture tree cache entry", oldest->file);
    gt_graph_capture_free(oldest->capture);
    return oldest;
}

static gt_graph_capture *load(void *context, size_t file)
{
    gt_captures *c = context;
    loaded_capture *known = find_loaded(c, file);
    gt_error error;
    if (c->paths[file].is_damaged) return NULL;
    if (known) {
        say_file(c, "Cache hit for capture tree", file);
    } else {
        char *what = gt_format("Loading capture trace: %s", c->paths[file].path);
        say_file(c, what, file);
        gt_free(what);
        gt_pytorch_read *events = read_events(c, c->paths[file].path, &error);
        if (!events) {
            c->paths[file].is_damaged = true;
            if (!c->has_failed) c->failure = error;
            c->has_failed = true;
            if (!c->options.read->strict)
                gt_warn("%s; the graph launches of its batch size are not merged", error.text);
            return NULL;
        }
        known = make_room(c);
        *known = (loaded_capture){
            .capture = gt_graph_capture_new(gt_pytorch_link(gt_pytorch_build_tree(events))), .file = file};
    }
    known->used = ++c->uses;
    return known->capture;
}

static void say_line(void *context, const char *text)
{
    say(context, "%s", text);
}

/* ---- what is said afterwards ---- */

static void add_reason(gt_buffer *text, size_t count, const char *reason)
{
    if (count) gt_buffer_add_format(text, "%s%zu %s", text->len ? ", " : "", count, reason);
}

static void tell_facts(const gt_captures *c, const gt_merge_facts *f)
{
    gt_buffer text = {0};
    if (!f->steps && f->launches)
        gt_warn("%s: has no effect, because the trace has no annotated steps", c->folder);
    if (c->options.journal || !f->launches) return;
    gt_info("%s: %zu of %zu graph launches merged with their captures", c->folder, f->merged, f->launches);
    add_reason(&text, f->outside, "in no step");
    add_reason(&text, f->no_batch, "in steps without a batch size");
    add_reason(&text, f->no_file, "in steps larger than every capture");
    add_reason(&text, f->damaged, "whose capture cannot be read");
    add_reason(&text, f->roots_differ, "in steps that do not launch as many graphs as were captured");
    add_reason(&text, f->no_kernels, "without kernels");
    add_reason(&text, f->not_aligned, "with other kernels than were captured");
    if (f->steps && text.len)
        gt_warn("%s: graph launches that are not merged: %s", c->folder, gt_buffer_str(&text).bytes);
    gt_buffer_free(&text);
}

bool gt_captures_merge_into(gt_captures *c, gt_pytorch_linked *trace, gt_error *error)
{
    const gt_capture_source source = {.files = c->files,
                                      .count = c->count,
                                      .load = load,
                                      .say = say_line,
                                      .context = c,
                                      .serve_all = c->options.serve_all};
    gt_merge_facts facts = gt_captures_merge(trace, &source);
    tell_facts(c, &facts);
    if (!c->has_failed || !c->options.read->strict) return true;
    *error = c->failure;
    return false;
}

void gt_captures_hint(const gt_event_view *trace)
{
    gt_graph_steps steps = gt_graph_steps_find(trace);
    if (steps.all_launches)
        gt_hint(
            "%zu graph %s: their kernels count for no op; --capture_folder names the folder of the traces "
            "that were made while the graphs were captured",
            steps.all_launches, gt_noun(steps.all_launches, "launch", "launches"));
    gt_graph_steps_free(&steps);
}
