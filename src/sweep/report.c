/* `sweep report`: writes the report of every trace, the collective report of every setting, and comparisons
 * across thread settings. */
#include "sweep/report.h"
#include "base/memory_limit.h"
#include "procs/procs.h"
#include "input/chrome/kineto.h"
#include "input/files.h"
#include "input/rocprof/rocprof.h"
#include "report/collective.h"
#include "report/pytorch/pytorch.h"
#include "report/rocprof.h"
#include "sweep/decide/decide.h"
#include "sweep/report_job.h"

/* ---- reports ---- */

enum { SHORT_KERNEL_US = 50, DETAILED_KERNELS = 100 };

/* Columns of the sheet GEMM that did not exist in 2025. */
static const gt_col new_columns[] = {GT_COL_PROCESS_NAME_FIRST, GT_COL_PROCESS_LABEL_FIRST,
                                     GT_COL_THREAD_NAME_FIRST, GT_COL_COMPUTE_SPEC};

/* Facts of a stamp. */
enum { KEPT_COLLECTIVE, KEPT_WITHOUT };

typedef gt_report_task task;
typedef gt_report_setting setting;
typedef gt_report_job job;

/* ---- one trace ---- */

static void warn_of_task(const job *j, const task *t, const char *what, const gt_error *error)
{
    gt_warn("%s rank %" PRId64 ": %s: %s", j->sweep->configs[t->config].name, t->trace->rank, what,
            error->text);
}

static void fail_task(const job *j, task *t, const char *what, const gt_error *error)
{
    warn_of_task(j, t, what, error);
    t->failures++;
}

static bool write_report(const job *j, task *t, const gt_table_list *tables, gt_error *error)
{
    char *path = gt_sweep_rank_report(j->analysis, &j->sweep->configs[t->config], t->trace->rank);
    bool written = gt_output_workbook(tables, path, error);
    if (written) gt_written_add_path(&t->written, path);
    gt_free(path);
    return written;
}

static void use_old_layout(const gt_table_list *tables)
{
    gt_table *gemm = NULL;
    for (size_t i = 0; i < tables->count; i++)
        if (gt_table_is(tables->items[i], GT_SHEET_GEMM)) gemm = tables->items[i];
    for (size_t i = 0; gemm && i < GT_LENGTH(new_columns); i++) {
        size_t column = gt_table_find(gemm, new_columns[i]);
        if (column != SIZE_MAX) gt_table_drop_column(gemm, column);
    }
}

static bool report_torch(const job *j, task *t, gt_pytorch_linked *trace, gt_error *error)
{
    gt_pytorch_options options = gt_pytorch_options_default();
    options.include_unlinked_kernels = true;
    options.short_kernel_study = true;
    options.short_threshold_us = SHORT_KERNEL_US;
    options.kernel_summary = !j->options->profiler_folder;
    gt_table_list tables = {0};
    bool made = gt_pytorch_tables(trace, &options, &tables, error);
    if (made && j->options->old_layout) use_old_layout(&tables);
    made = made && write_report(j, t, &tables, error);
    gt_table_list_free(&tables);
    return made;
}

static size_t count_devices(const char *path)
{
    gt_error ignored;
    gt_stream *stream = gt_stream_open(path, &ignored);
    size_t devices = stream ? gt_kineto_count_devices(stream) : 0;
    gt_stream_close(stream);
    return devices;
}

/* A truncated trace gets a report on its readable part, but is not part of the collective report, which
 * matches collectives by their order. */
static gt_pytorch_linked *read_torch(const job *j, task *t, bool *whole)
{
    gt_read_options read = {.threads = j->options->threads, .strict = true, .is_part = true};
    gt_error error = {""};
    gt_pytorch_read *trace = gt_kineto_read(t->trace->path, (gt_kineto_options){0}, &read, &error);
    *whole = trace != NULL;
    if (trace || j->options->strict) {
        if (!trace) fail_task(j, t, "no report", &error);
        return trace ? gt_pytorch_link(gt_pytorch_build_tree(trace)) : NULL;
    }
    read.strict = false;
    trace = gt_kineto_read(t->trace->path, (gt_kineto_options){0}, &read, &error);
    t->is_cut = trace != NULL;
    if (trace)
        warn_of_task(j, t, "not in the collective report", &error);
    else
        fail_task(j, t, "no report", &error);
    return trace ? gt_pytorch_link(gt_pytorch_build_tree(trace)) : NULL;
}

/* What `decide` measures in the trace, for the cache. */
static void keep_measures(const job *j, const task *t, gt_pytorch_linked *trace, gt_index *index,
                          gt_str messages)
{
    gt_error ignored;
    gt_buffer earlier = {0};
    if (!gt_index_keeps(index)) return;
    gt_trace_measures *measures = gt_trace_measures_find(j->options->cache, index, t->trace->rank, &earlier);
    if (!measures) {
        measures = gt_trace_measures_of(trace, t->trace->rank, &ignored);
        if (measures) gt_trace_measures_keep(measures, index, t->trace->rank, messages);
    }
    gt_trace_measures_free(measures);
    gt_buffer_free(&earlier);
}

static gt_pytorch_linked *read_and_measure(const job *j, task *t, bool *whole)
{
    gt_index *index = gt_sweep_cache_index(j->options->cache, t->trace->path);
    gt_captured_messages captured = {0};
    gt_capture_begin(&captured);
    gt_pytorch_linked *trace = read_torch(j, t, whole);
    gt_capture_end(&captured);
    if (trace && *whole) keep_measures(j, t, trace, index, gt_buffer_str(&captured.texts));
    gt_buffer_free(&captured.texts);
    gt_index_close(index);
    return trace;
}

static bool do_torch(const job *j, task *t)
{
    setting *s = &j->settings[t->config];
    gt_error error = {""};
    bool whole;
    gt_pytorch_linked *trace = read_and_measure(j, t, &whole);
    if (!trace) return false;
    bool made = j->options->no_ranks || report_torch(j, t, trace, &error);
    if (!made) fail_task(j, t, "no report", &error);
    if (whole && !j->options->no_collectives) {
        gt_table *rows = gt_collectives_of_rank(&gt_pytorch_view(trace)->events, t->trace->rank);
        t->strings = gt_interner_new();
        gt_table_use_strings(rows, t->strings); /* so that the trace can be freed */
        s->rows[t->trace - s->traces.items] = rows;
        if (t->trace == s->traces.items) s->devices = count_devices(t->trace->path);
    }
    gt_pytorch_linked_free(trace);
    return made && !j->options->no_ranks;
}

static bool report_rocprof(const job *j, task *t, gt_error *error)
{
    gt_rocprof_options options = gt_rocprof_options_default();
    options.kernel_details = true;
    options.full_names = j->options->full_names;
    options.short_kernel_study = true;
    options.short_threshold_us = SHORT_KERNEL_US;
    options.limit_details = true;
    options.topk_kernels = DETAILED_KERNELS;
    gt_read_options read = {.threads = j->options->threads,
                            .strict = j->options->strict,
                            .is_part = true,
                            .full_names = options.full_names,
                            .wanted = gt_rocprof_options_wanted(&options)};
    gt_stream *stream = gt_stream_open(t->trace->path, error);
    gt_rocprof *run = stream ? gt_rocprof_read(stream, t->trace->path, &read, error) : NULL;
    gt_stream_close(stream);
    if (!run) return false;
    gt_rocprof_warn_of_short_names(run, "--full_kernel_names");
    gt_table_list tables = {0};
    bool made = gt_rocprof_tables(run, &options, &tables, error) && write_report(j, t, &tables, error);
    gt_table_list_free(&tables);
    gt_rocprof_free(run);
    return made;
}

static bool do_rocprof(const job *j, task *t)
{
    gt_error error = {""};
    bool made = report_rocprof(j, t, &error);
    if (!made) fail_task(j, t, "no report", &error);
    return made;
}

/* ---- collective report of a setting ---- */

static gt_table *join_rows(setting *s, gt_interner *strings)
{
    gt_table *all = NULL;
    for (size_t i = 0; i < s->traces.count; i++) {
        gt_table *rows = s->rows[i];
        s->rows[i] = NULL;
        if (rows) gt_table_use_strings(rows, strings);
        if (!all) {
            all = rows;
        } else if (rows) {
            gt_table_append_same(all, rows);
            gt_table_free(rows);
        }
    }
    return all;
}

static bool report_collectives(const job *j, size_t index, gt_table *rows, gt_error *error)
{
    static const char *const aggregations[] = {"mean", "median", "min", "max"};
    const gt_sweep_config *config = &j->sweep->configs[index];
    const setting *s = &j->settings[index];
    gt_collective_options options = {.world_size = s->traces.items[s->traces.count - 1].rank + 1,
                                     .gpus_per_node = (int64_t)s->devices};
    for (size_t i = 0; i < GT_LENGTH(aggregations); i++)
        gt_aggregations_add(&options.aggregations, aggregations[i], error);
    gt_table_list tables = {0};
    char *path = gt_sweep_collective_report(j->analysis, config);
    bool made = gt_collective_tables(rows, &options, &tables, NULL, error) &&
                gt_output_workbook(&tables, path, error);
    gt_free(path);
    gt_table_list_free(&tables);
    return made;
}

static void finish_setting(const job *j, size_t index)
{
    setting *s = &j->settings[index];
    gt_error error = {""};
    gt_interner *strings = gt_interner_new();
    gt_table *rows = join_rows(s, strings);
    if (rows && rows->row_count) {
        s->has_collective = report_collectives(j, index, rows, &error);
        s->failed = !s->has_collective;
        if (s->failed) gt_warn("%s: no collective report: %s", j->sweep->configs[index].name, error.text);
    } else {
        s->lacks_collectives = rows && !j->options->rocprof;
        gt_table_free(rows);
    }
    gt_interner_free(strings);
    for (size_t i = 0; i < s->traces.count; i++) {
        gt_interner_free(j->tasks[s->first + i].strings);
        j->tasks[s->first + i].strings = NULL;
    }
}

/* ---- what is kept of a setting ---- */

static const char *report_step(const gt_sweep_report_options *options)
{
    return options->rocprof ? "rocprof_report" : "report";
}

/* Everything that its reports depend on. */
static void describe_inputs(const job *j, size_t index)
{
    setting *s = &j->settings[index];
    const gt_sweep_config *config = &j->sweep->configs[index];
    const gt_sweep_report_options *o = j->options;
    s->stamp = gt_stamp_new(report_step(o), config->place, s->traces.count + 1);
    gt_stamp_add_number(&s->stamp, o->by_pid);
    gt_stamp_add_number(&s->stamp, o->full_names);
    gt_stamp_add_number(&s->stamp, o->old_layout);
    gt_stamp_add_number(&s->stamp, o->strict);
    for (size_t i = 0; i < s->traces.count; i++) {
        gt_stamp_add_number(&s->stamp, s->traces.items[i].rank);
        gt_stamp_add_text(&s->stamp, s->traces.items[i].path);
        if (!o->rocprof) gt_stamp_add_file(&s->stamp, s->traces.items[i].path);
    }
    if (!o->rocprof) return;
    char *folder = gt_format("%s/rocprof_traces", config->folder); /* a trace may have several files */
    gt_stamp_add_folder(&s->stamp, folder);
    gt_free(folder);
}

/* Notes the files of a setting whose reports were all written. */
static void keep_setting(const job *j, size_t index)
{
    setting *s = &j->settings[index];
    const gt_sweep_config *config = &j->sweep->configs[index];
    bool is_whole = !s->failed;
    for (size_t i = 0; i < s->traces.count; i++) {
        const task *t = &j->tasks[s->first + i];
        is_whole &= t->made && !t->failures && !t->is_cut;
    }
    if (!is_whole || !j->options->cache) return;
    for (size_t i = 0; i < s->traces.count; i++) {
        char *path = gt_sweep_rank_report(j->analysis, config, s->traces.items[i].rank);
        gt_stamp_add_output(&s->stamp, path);
        gt_free(path);
    }
    char *path = gt_sweep_collective_report(j->analysis, config);
    if (s->has_collective) gt_stamp_add_output(&s->stamp, path);
    gt_free(path);
    s->stamp.numbers[KEPT_COLLECTIVE] = s->has_collective;
    s->stamp.numbers[KEPT_WITHOUT] = s->lacks_collectives;
    gt_stamp_keep(&s->stamp, j->options->cache);
}

/* ---- one trace, or what was said about it ---- */

static void do_or_repeat(const job *j, task *t, gt_buffer *messages)
{
    if (j->settings[t->config].is_kept) {
        gt_captured_repeat(gt_buffer_str(messages));
        t->made = true;
        return;
    }
    gt_captured_messages captured = {0};
    gt_capture_begin(&captured);
    t->made = j->options->rocprof ? do_rocprof(j, t) : do_torch(j, t);
    gt_capture_end(&captured);
    *messages = captured.texts;
}

/* Writes the collective report of a setting whose traces are all read, or repeats what was said about it. Its
 * messages follow those of all traces of the setting. */
static void do_setting(const job *j, size_t index)
{
    setting *s = &j->settings[index];
    gt_log_record *before = gt_log_keep(&s->messages);
    if (s->is_kept) {
        s->has_collective = s->stamp.numbers[KEPT_COLLECTIVE];
        s->lacks_collectives = s->stamp.numbers[KEPT_WITHOUT];
        gt_captured_repeat(gt_buffer_str(&s->stamp.messages[s->traces.count]));
    } else {
        gt_captured_messages captured = {0};
        gt_capture_begin(&captured);
        finish_setting(j, index);
        gt_capture_end(&captured);
        s->stamp.messages[s->traces.count] = captured.texts;
        keep_setting(j, index);
    }
    gt_log_keep(before);
    s->is_done = true;
}

/* Whoever does the last trace of a setting also writes its collective report, unless the traces are shared
 * with other processes: then the first process does so when it has what is kept of all of them. */
static bool do_trace(void *context, size_t index)
{
    const job *j = context;
    task *t = &j->tasks[index];
    setting *s = &j->settings[t->config];
    const char *about = gt_log_about(t->trace->path);
    do_or_repeat(j, t, gt_report_messages(j, t));
    gt_log_about(about);
    if (!j->is_shared && atomic_fetch_sub(&s->left, 1) == 1) do_setting(j, t->config);
    return true;
}

static void count_trace(void *context, size_t index)
{
    job *j = context;
    const task *t = &j->tasks[index];
    setting *s = &j->settings[t->config];
    gt_sweep_report_written *written = &j->totals->of_config[t->config];
    if (t->made) written->ranks[written->reports++] = t->trace->rank;
    j->totals->failed += t->failures;
    j->totals->cut += t->is_cut;
    if (index + 1 < s->first + s->traces.count) return;
    if (!s->is_done) do_setting(j, t->config);
    gt_log_replay(&s->messages);
    j->totals->of_config[t->config].collective = s->has_collective;
    j->totals->failed += s->failed;
}

/* ---- all traces ---- */

static void add_tasks(job *j)
{
    for (size_t i = 0; i < j->sweep->count; i++) {
        const gt_sweep_config *config = &j->sweep->configs[i];
        setting *s = &j->settings[i];
        s->traces = j->options->profiler_folder ? gt_sweep_traces_in(j->options->profiler_folder)
                    : j->options->rocprof       ? gt_sweep_rocprof_traces(config->folder, j->options->by_pid)
                                                : gt_sweep_torch_traces(config->folder);
        if (!s->traces.count && !j->options->profiler_folder) gt_warn("Skip %s - no traces", config->name);
        atomic_init(&s->left, s->traces.count);
        s->first = j->count;
        s->rows = gt_alloc_zero(s->traces.count, sizeof *s->rows);
        j->totals->of_config[i].traces = s->traces.count;
        j->totals->of_config[i].ranks = gt_alloc_zero(s->traces.count, sizeof(int64_t));
        for (size_t r = 0; r < s->traces.count; r++) {
            task t = {.config = i, .trace = &s->traces.items[r]};
            GT_PUSH(j->tasks, j->count, j->capacity, t);
        }
        describe_inputs(j, i);
        s->is_kept = s->traces.count && gt_stamp_find(&s->stamp, j->options->cache);
    }
}

static void read_all(job *j)
{
    const char **paths = gt_alloc(j->count * sizeof *paths);
    char *key = gt_report_task_key(j);
    for (size_t i = 0; i < j->count; i++) paths[i] = j->tasks[i].trace->path;
    j->is_shared = gt_files_are_packed();
    gt_files_work(&(gt_file_work){.paths = paths,
                                  .count = j->count,
                                  .one = "trace",
                                  .many = "traces",
                                  .work = do_trace,
                                  .finish = count_trace,
                                  .context = j,
                                  .key = key,
                                  .pack = gt_report_task_pack,
                                  .unpack = gt_report_task_unpack,
                                  .drop = gt_report_task_drop,
                                  .is_usable = gt_report_task_is_usable});
    gt_free_all(key, paths);
}

/* ---- folders and totals ---- */

static bool make_folders(const job *j, gt_output *output, gt_error *error)
{
    bool made = true;
    for (size_t i = 0; i < j->sweep->count && made; i++) {
        const char *threads = j->sweep->configs[i].report_folder;
        char *individual = gt_format("%s/%s/individual_reports", j->analysis, threads);
        char *collective = gt_format("%s/%s/collective_reports", j->analysis, threads);
        made = (j->options->no_ranks || gt_output_add_folder(output, individual, error)) &&
               (j->options->rocprof || j->options->no_collectives ||
                gt_output_add_folder(output, collective, error));
        gt_free_all(individual, collective);
    }
    char *comparisons = gt_format("%s/comparisons", j->analysis);
    made = made && (j->options->profiler_folder || gt_output_add_folder(output, comparisons, error));
    gt_free(comparisons);
    return made;
}

static gt_sweep_ranks ranks_of(const job *j)
{
    gt_sweep_ranks ranks = {.items = gt_alloc(j->count * sizeof *ranks.items)};
    int64_t *all = gt_alloc(j->count * sizeof *all);
    for (size_t i = 0; i < j->count; i++) all[i] = j->tasks[i].trace->rank;
    if (j->count) qsort(all, j->count, sizeof *all, gt_by_i64);
    for (size_t i = 0; i < j->count; i++)
        if (!i || all[i] != all[i - 1]) ranks.items[ranks.count++] = all[i];
    gt_free(all);
    return ranks;
}

static void compare_all(job *j)
{
    gt_sweep_ranks ranks = ranks_of(j);
    gt_comparison_counts done =
        gt_sweep_compare_across_axes(j->sweep, j->analysis, &ranks, j->options->rocprof, j->options->cache);
    j->totals->comparisons = done.made;
    j->totals->failed += done.failed;
    gt_free(ranks.items);
}

static void free_job(job *j)
{
    for (size_t i = 0; i < j->sweep->count; i++) {
        gt_sweep_traces_free(&j->settings[i].traces);
        gt_stamp_free(&j->settings[i].stamp);
        gt_free(j->settings[i].rows);
    }
    for (size_t i = 0; i < j->count; i++) gt_written_free(&j->tasks[i].written);
    gt_free_all(j->settings, j->tasks, j->analysis);
}

bool gt_sweep_make_reports(const gt_sweep *sweep, const char *root, const char *folder,
                           const gt_sweep_report_options *options, gt_sweep_totals *totals, gt_error *error)
{
    *totals = (gt_sweep_totals){.of_config = gt_alloc_zero(sweep->count, sizeof *totals->of_config),
                                .config_count = sweep->count};
    job j = {.sweep = sweep, .options = options, .totals = totals};
    j.analysis = gt_strdup(folder);
    j.settings = gt_alloc_zero(sweep->count, sizeof *j.settings);
    add_tasks(&j);
    /* Removed again if no report is written into them; the first of several processes makes them. */
    gt_output *folders = gt_procs_is_first() ? gt_output_new() : NULL;
    bool made = j.count || gt_fail(error, "no traces in %s", root);
    made = made && (!folders || make_folders(&j, folders, error));
    if (made) {
        read_all(&j);
        gt_report_warn_without_collectives(&j);
        gt_report_warn_missing_ranks(&j);
        gt_stamps_remove_unused(options->cache, report_step(options));
        if (!options->profiler_folder) compare_all(&j);
    }
    gt_output_free(folders);
    free_job(&j);
    return made;
}

void gt_sweep_totals_free(gt_sweep_totals *totals)
{
    for (size_t i = 0; i < totals->config_count; i++) gt_free(totals->of_config[i].ranks);
    gt_free(totals->of_config);
    *totals = (gt_sweep_totals){0};
}
