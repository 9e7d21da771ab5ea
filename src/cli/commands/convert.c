/* `gputally convert`: reads a trace of any format and writes it in the format of the output's extension. */
#include "cli/commands/commands.h"
#include "input/nsys/nsys.h"
#include "input/rocprof/rocprof.h"
#include "os/paths.h"
#include "transform/convert.h"

typedef enum target { TO_PERFETTO, TO_CHROME, TO_ROCPD, TARGETS } target;

static const struct {
    const char *name; /* value of --to */
    const char *suffixes[3];
    bool packs; /* may be compressed: the name ends in .gz */
    const char *what, *next;
} targets[TARGETS] = {
    [TO_PERFETTO] = {"pftrace",
                     {".pftrace", ".perfetto-trace"},
                     true,
                     "Perfetto trace",
                     "open it in https://ui.perfetto.dev"},
    [TO_CHROME] =
        {"json", {".json"}, true, "Chrome trace", "open it in https://ui.perfetto.dev or chrome://tracing"},
    [TO_ROCPD] =
        {"db", {".db"}, false, "rocpd database", "query it with sqlite3: SELECT * FROM top_kernels LIMIT 10"},
};

static const gt_option convert_options[] = {
    {"to", GT_OPTION_STRING, "FORMAT", NULL,
     "set the output format, if the extension of OUT does not determine it: pftrace (Perfetto), json "
     "(Chrome) or db (SQLite with rocpd's views)",
     .choices = "pftrace|json|db"},
};
static const gt_option output_options[] = {
    {"output", GT_OPTION_STRING, "FILE", NULL, "write the converted trace to FILE (same as OUT)"},
};
static const gt_option_group output_group = {"Output", output_options, GT_LENGTH(output_options)};
static const gt_option_group convert_group = {"Conversion", convert_options, GT_LENGTH(convert_options)};

const gt_syntax gt_convert_syntax = {
    .groups = {&convert_group, &output_group, &gt_index_group, &gt_common_group},
    .main_options = {"to", "output", "threads", "strict", "quiet"},
    .files = "IN OUT",
    .file_endings = GT_ROCPROF_ENDINGS,
    .files_max = 2,
    .output_option = "output",
};

typedef struct conversion {
    const gt_call *call;
    const char *in, *out;
    target to;
    gt_read_options read;
    gt_timeline_totals totals;
    gt_rocpd_totals rows;
    gt_chrome_totals chrome;
} conversion;

/* ---- destination ---- */

static bool ends_in(const char *path, size_t len, const char *suffix)
{
    size_t suffix_len = strlen(suffix);
    return len > suffix_len && strncasecmp(path + len - suffix_len, suffix, suffix_len) == 0;
}

static target target_of_path(const char *path)
{
    size_t len = strlen(path);
    bool packed = ends_in(path, len, ".gz");
    if (packed) len -= strlen(".gz");
    for (int to = 0; to < TARGETS; to++)
        for (size_t i = 0; targets[to].suffixes[i]; i++)
            if (ends_in(path, len, targets[to].suffixes[i]) && (!packed || targets[to].packs))
                return (target)to;
    return TARGETS;
}

static gt_exit choose_target(conversion *c)
{
    const char *to = gt_arguments_string(&c->call->arguments, "to");
    c->to = to ? TARGETS : target_of_path(c->out);
    for (int i = 0; to && i < TARGETS; i++)
        if (strcmp(to, targets[i].name) == 0) c->to = (target)i;
    if (c->to < TARGETS) return GT_EXIT_DONE;
    return gt_usage_error(c->call->program,
                          "%s: unknown extension; use .pftrace, .json (both also .gz) or .db, or --to FORMAT",
                          c->out);
}

static gt_exit check(conversion *c, gt_error *error)
{
    const gt_arguments *arguments = &c->call->arguments;
    const gt_option_value *output = gt_arguments_value(arguments, "output");
    if (arguments->file_count + output->given != 2)
        return gt_usage_error(c->call->program, "two arguments are required: IN OUT");
    c->in = arguments->files[0];
    c->out = output->given ? output->text : arguments->files[1];
    if (strcmp(c->out, "-") == 0)
        return gt_usage_error(c->call->program, "OUT must be a file, not standard output");
    if (!gt_common_apply(c->call, &c->read, error) || !gt_check_not_input(c->out, c->in, error))
        return gt_usage_error(c->call->program, "%s", error->text);
    return choose_target(c);
}

/* ---- conversion ---- */

static gt_timeline *new_timeline(const conversion *c, gt_output *output, gt_error *error)
{
    gt_timeline_format format = c->to == TO_PERFETTO ? GT_TIMELINE_PERFETTO : GT_TIMELINE_CHROME;
    return gt_timeline_new(output, c->out, format, c->read.threads, error);
}

static bool write_rocprof(conversion *c, gt_rocprof *run, gt_output *output, gt_error *error)
{
    if (!run) return false;
    if (c->to == TO_ROCPD) {
        bool written = gt_convert_rocpd(run, output, c->out, &c->rows, error);
        gt_rocprof_free(run);
        return written;
    }
    gt_timeline *timeline = new_timeline(c, output, error);
    if (timeline) gt_convert_rocprof(run, timeline);
    gt_rocprof_free(run);
    return timeline && gt_timeline_finish(timeline, &c->totals, error);
}

static bool write_chrome(conversion *c, gt_stream *stream, gt_output *output, gt_error *error)
{
    if (c->to != TO_PERFETTO)
        return gt_fail(error, "%s: a Chrome trace can only be converted to .pftrace", gt_trace_title(c->in));
    gt_timeline *timeline = new_timeline(c, output, error);
    if (!timeline) return false;
    if (gt_convert_chrome(stream, timeline, &c->read, &c->chrome, error))
        return gt_timeline_finish(timeline, &c->totals, error);
    gt_timeline_free(timeline);
    return false;
}

static bool convert_stream(conversion *c, gt_stream *stream, gt_output *output, gt_error *error)
{
    gt_trace_format format;
    if (!gt_detect(stream, &format, error)) return false;
    if (format == GT_FORMAT_KINETO_JSON) return write_chrome(c, stream, output, error);
    if (format == GT_FORMAT_SQLITE && gt_database_kind_of(c->in) == GT_DATABASE_NSYS)
        return gt_fail(error,
                       "%s: an Nsight Systems export cannot be converted; nsys itself opens its report, and "
                       "gputally report writes a page with the timeline",
                       gt_trace_title(c->in));
    if (gt_rocprof_reads(format) || format == GT_FORMAT_INDEX)
        return write_rocprof(c, gt_rocprof_read(stream, c->in, &c->read, error), output, error);
    return gt_detect_fail(stream, format, error);
}

static bool convert(conversion *c, gt_output *output, gt_error *error)
{
    bool done;
    c->read.wanted = GT_CONVERT_WANTS;
    if (gt_rocprof_is_folder(c->in)) {
        done = write_rocprof(c, gt_rocprof_read_folder(c->in, &c->read, error), output, error);
    } else {
        gt_stream *stream = gt_stream_open(c->in, error);
        if (!stream) return false;
        done = convert_stream(c, stream, output, error);
        gt_stream_close(stream);
    }
    return done && gt_output_commit(output, error);
}

static void show(const conversion *c)
{
    double size = (double)gt_path_bytes(c->out);
    if (c->to == TO_ROCPD) {
        printf("%zu dispatches, %zu copies, %zu calls, %zu counter values", c->rows.dispatches,
               c->rows.copies, c->rows.calls, c->rows.values);
    } else {
        printf("%zu %s on %zu %s", c->totals.events, gt_noun(c->totals.events, "event", "events"),
               c->totals.tracks, gt_noun(c->totals.tracks, "track", "tracks"));
        if (c->totals.extra_tracks)
            printf(" (%zu of them for %zu overlapping slices)", c->totals.extra_tracks, c->totals.moved);
    }
    printf("\nwrote %s (%s, %.1f MB)\n%s\n", c->out, targets[c->to].what, size / 1e6, targets[c->to].next);
}

static void warn(const conversion *c)
{
    static const struct {
        size_t place;
        const char *what;
    } lost[] = {
        {offsetof(conversion, chrome.other), "events of unsupported kinds"},
        {offsetof(conversion, chrome.timeless), "events without a time"},
        {offsetof(conversion, chrome.unpaired), "slice ends without a begin"},
        {offsetof(conversion, totals.loose), "arrow ends where no slice begins"},
        {offsetof(conversion, rows.dropped), "counter values without a traced dispatch"},
    };
    for (size_t i = 0; i < GT_LENGTH(lost); i++) {
        size_t count = *(const size_t *)((const char *)c + lost[i].place);
        if (count) gt_warn("%s: dropped %zu %s", gt_trace_title(c->in), count, lost[i].what);
    }
    if (c->totals.mended)
        gt_warn("%s: %zu slices end before they start or start before time 0; drawn with zero length",
                gt_trace_title(c->in), c->totals.mended);
}

gt_exit gt_cmd_convert(const gt_call *call)
{
    conversion c = {.call = call};
    gt_error error;
    gt_exit status = check(&c, &error);
    if (status != GT_EXIT_DONE) return status;
    gt_output *output = gt_output_new();
    bool done = convert(&c, output, &error);
    gt_output_free(output);
    if (!done) {
        fprintf(stderr, "gputally: %s\n", error.text);
        return GT_EXIT_FAILED;
    }
    warn(&c);
    if (!gt_arguments_flag(&call->arguments, "quiet")) show(&c);
    return GT_EXIT_DONE;
}
