/* `sweep report`: writes the report of every trace, the collective report of every setting, and comparisons
 * across thread settings. */
#include "sweep/report.h"
#include "analysis/collective/sheets.h"
#include "base/log.h"
#include "base/many.h"
#include "base/memory.h"
#include "base/memory_limit.h"
#include "input/chrome/kineto.h"
#include "input/files.h"
#include "input/rocprof/rocprof.h"
#include "os/paths.h"
#include "output/file.h"
#include "output/output.h"
#include "report/collective.h"
#include "report/compare/compare.h"
#include "report/pytorch.h"
#include "report/rocprof.h"
#include "schema/columns.h"
#include "schema/sheets.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- comparisons across the values of an axis ---- */

typedef struct sweep_ranks {
    int64_t *items; /* ascending, without duplicates */
    size_t count;
} sweep_ranks;

typedef struct comparison_counts {
    size_t made, failed;
} comparison_counts;

/* One rank of the runs that differ in one axis only. */
typedef struct comparison_task {
    size_t axis, first, end; /* the runs in the job's order */
    int64_t rank;
    bool made, failed;
} comparison_task;

typedef struct comparison_job {
    const gt_sweep *sweep;
    const char *analysis;
    gt_compare_options options;
    const gt_sweep_config **order; /* for each axis all runs, so that those to be compared are side by side */
    comparison_task *tasks;
    size_t count, capacity;
    comparison_counts done;
} comparison_job;

/* The axes across which runs are compared: threads in a classic sweep, like the scripts do, else every axis
 * with several values. */
static bool is_compared(const gt_sweep *sweep, size_t axis)
{
    return sweep->is_classic ? axis == 0 : sweep->axes[axis].value_count > 1;
}

/* What the report of a run is called in its comparison across an axis: the folder of threads in a classic
 * sweep, else the value. */
static const char *tag_of(const comparison_job *j, size_t axis, const gt_sweep_config *config)
{
    return j->sweep->is_classic ? config->report_folder : config->values[axis].value;
}

/* The reports of a comparison_task, not opened yet. */
static size_t find_reports(const comparison_job *j, const comparison_task *t, gt_compare_report *reports)
{
    size_t count = 0;
    for (size_t i = t->first; i < t->end; i++) {
        const gt_sweep_config *config = j->order[i];
        char *path = gt_sweep_rank_report(j->analysis, config, t->rank);
        if (gt_path_is_file(path))
            reports[count++] = (gt_compare_report){.tag = tag_of(j, t->axis, config), .path = path};
        else
            gt_free(path);
    }
    return count;
}

/* "28ch" in a classic sweep; else the values of the other axes: "mode_fast_256thread". */
static char *others_of(const comparison_job *j, const comparison_task *t)
{
    const gt_sweep_config *config = j->order[t->first];
    if (j->sweep->is_classic) return gt_strdup(config->report_name);
    gt_buffer text = {0};
    for (size_t i = 0; i < j->sweep->axis_count; i++)
        if (i != t->axis && config->values[i].value)
            gt_buffer_add_format(&text, "%s%s_%s", text.len ? "_" : "", config->values[i].axis,
                                 config->values[i].value);
    if (config->repeat > 1)
        gt_buffer_add_format(&text, "%srepeat_%lld", text.len ? "_" : "", (long long)config->repeat);
    char *others = gt_strdup(text.len ? gt_buffer_str(&text).bytes : "all");
    gt_buffer_free(&text);
    return others;
}

static bool compare(const comparison_job *j, const comparison_task *t, gt_compare_report *reports,
                    size_t count, gt_error *error)
{
    gt_interner *strings = gt_interner_new();
    gt_table_list tables = {0};
    char *others = others_of(j, t);
    char *path = gt_format("%s/comparisons/compare_%s_rank%" PRId64 "_across_%s.xlsx", j->analysis, others,
                           t->rank, j->sweep->axes[t->axis].name);
    gt_free(others);
    bool open = true;
    for (size_t i = 0; i < count && open; i++)
        open = (reports[i].sheets = gt_perf_sheets_open(reports[i].path, error));
    bool made = open && gt_compare_tables(reports, count, &j->options, strings, &tables, error) &&
                gt_output_workbook(&tables, path, error);
    gt_free(path);
    gt_table_list_free(&tables);
    gt_interner_free(strings);
    return made;
}

static bool do_comparison(void *context, size_t index)
{
    comparison_job *j = context;
    comparison_task *t = &j->tasks[index];
    gt_error error = {""};
    gt_compare_report *reports = gt_alloc_zero(t->end - t->first, sizeof *reports);
    size_t count = find_reports(j, t, reports);
    char *others = others_of(j, t);
    bool made = count > 1 && compare(j, t, reports, count, &error);
    if (count == 1)
        gt_info("Skip comparison of %s rank %" PRId64 " - only in 1 %s config", others, t->rank,
                j->sweep->is_classic ? "thread" : j->sweep->axes[t->axis].name);
    else if (count > 1 && !made)
        gt_warn("comparison of %s rank %" PRId64 ": %s", others, t->rank, error.text);
    gt_free(others);
    for (size_t i = 0; i < count; i++) {
        gt_perf_sheets_close(reports[i].sheets);
        gt_free((char *)(uintptr_t)reports[i].path);
    }
    gt_free(reports);
    t->made = made;
    t->failed = count > 1 && !made;
    return true;
}

static void count_comparison(void *context, size_t index)
{
    comparison_job *j = context;
    j->done.made += j->tasks[index].made;
    j->done.failed += j->tasks[index].failed;
}

typedef struct comparison_order {
    size_t axis, axis_count;
} comparison_order;

/* -1, 0 or 1: whether runs differ in more than the axis. */
static int compare_others(const gt_sweep_config *x, const gt_sweep_config *y, const comparison_order *order)
{
    for (size_t i = 0; i < order->axis_count; i++)
        if (i != order->axis && x->values[i].place != y->values[i].place)
            return x->values[i].place < y->values[i].place ? -1 : 1;
    return (x->repeat > y->repeat) - (x->repeat < y->repeat);
}

/* Runs that differ only in the axis keep the order of the sweep. */
static int by_others(const void *a, const void *b, void *order)
{
    const gt_sweep_config *x = *(const gt_sweep_config *const *)a, *y = *(const gt_sweep_config *const *)b;
    int others = compare_others(x, y, order);
    return others ? others : (x > y) - (x < y);
}

static void add_comparisons_across(comparison_job *j, size_t axis, const sweep_ranks *ranks)
{
    const comparison_order by = {axis, j->sweep->axis_count};
    size_t count = j->sweep->count, begin = axis * count;
    const gt_sweep_config **runs = j->order + begin;
    for (size_t i = 0; i < count; i++) runs[i] = &j->sweep->configs[i];
    qsort_r(runs, count, sizeof(*runs), by_others, (void *)(uintptr_t)&by);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && compare_others(runs[first], runs[end], &by) == 0;) end++;
        for (size_t r = 0; r < ranks->count; r++) {
            comparison_task t = {
                .axis = axis, .first = begin + first, .end = begin + end, .rank = ranks->items[r]};
            GT_PUSH(j->tasks, j->count, j->capacity, t);
        }
    }
}

static void add_comparisons(comparison_job *j, const sweep_ranks *ranks)
{
    for (size_t axis = 0; axis < j->sweep->axis_count && j->sweep->count; axis++)
        if (is_compared(j->sweep, axis)) add_comparisons_across(j, axis, ranks);
}

static comparison_counts compare_across_axes(const gt_sweep *sweep, const char *analysis,
                                             const sweep_ranks *ranks, bool rocprof)
{
    const char *const groups[] = {"gpu_timeline", rocprof ? "kernel_summary" : "ops_summary"};
    comparison_job j = {.sweep = sweep,
                        .analysis = analysis,
                        .options = {.groups = groups, .group_count = GT_LENGTH(groups)}};
    j.order = gt_alloc_zero(sweep->axis_count * sweep->count, sizeof(*j.order));
    add_comparisons(&j, ranks);
    gt_many_run(
        &(gt_many){.count = j.count, .work = do_comparison, .finish = count_comparison, .context = &j});
    gt_free(j.tasks);
    gt_free(j.order);
    return j.done;
}

/* ---- reports ---- */

enum { SHORT_KERNEL_US = 50, DETAILED_KERNELS = 100 };

/* Columns of the sheet GEMM that did not exist in 2025. */
static const gt_col new_columns[] = {GT_COL_PROCESS_NAME_FIRST, GT_COL_PROCESS_LABEL_FIRST,
                                     GT_COL_THREAD_NAME_FIRST, GT_COL_COMPUTE_SPEC};

typedef struct task {
    size_t config;
    const gt_sweep_trace *trace;
    bool made;
    size_t failures;
    gt_interner *strings; /* of its rows in the setting */
} task;

/* One setting while its traces are read. */
typedef struct setting {
    gt_sweep_traces traces;
    gt_table **rows;    /* of collectives, one table per trace */
    size_t first;       /* task of its first trace; the others follow */
    atomic_size_t left; /* traces not read yet */
    size_t devices;
    bool has_collective, failed; /* the collective report was written, or could not be */
    bool lacks_collectives;      /* there is nothing to report */
    gt_log_record messages;      /* of the collective report */
} setting;

typedef struct job {
    const gt_sweep *sweep;
    const gt_sweep_report_options *options;
    char *analysis;
    gt_sweep_totals *totals;
    setting *settings;
    task *tasks;
    size_t count, capacity;
} job;

/* ---- one trace ---- */

static void fail_task(const job *j, task *t, const char *what, const gt_error *error)
{
    const gt_sweep_config *config = &j->sweep->configs[t->config];
    gt_warn("%s/%s rank %" PRId64 ": %s: %s", config->report_folder, config->report_name, t->trace->rank,
            what, error->text);
    t->failures++;
}

static bool write_report(const job *j, const task *t, const gt_table_list *tables, gt_error *error)
{
    char *path = gt_sweep_rank_report(j->analysis, &j->sweep->configs[t->config], t->trace->rank);
    bool written = gt_output_workbook(tables, path, error);
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

static bool report_torch(const job *j, const task *t, gt_pytorch_linked *trace, gt_error *error)
{
    gt_pytorch_options options = gt_pytorch_options_default();
    options.include_unlinked_kernels = true;
    options.short_kernel_study = true;
    options.short_threshold_us = SHORT_KERNEL_US;
    options.kernel_summary = true;
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
    fail_task(j, t, trace ? "not in the collective report" : "no report", &error);
    return trace ? gt_pytorch_link(gt_pytorch_build_tree(trace)) : NULL;
}

static bool do_torch(const job *j, task *t)
{
    setting *s = &j->settings[t->config];
    gt_error error = {""};
    bool whole;
    gt_pytorch_linked *trace = read_torch(j, t, &whole);
    if (!trace) return false;
    bool made = report_torch(j, t, trace, &error);
    if (!made) fail_task(j, t, "no report", &error);
    if (whole) {
        gt_table *rows = gt_collectives_of_rank(&gt_pytorch_view(trace)->events, t->trace->rank);
        t->strings = gt_interner_new();
        gt_table_use_strings(rows, t->strings); /* so that the trace can be freed */
        s->rows[t->trace - s->traces.items] = rows;
        if (t->trace == s->traces.items) s->devices = count_devices(t->trace->path);
    }
    gt_pytorch_linked_free(trace);
    return made;
}

static bool report_rocprof(const job *j, const task *t, gt_error *error)
{
    gt_rocprof_options options = gt_rocprof_options_default();
    options.kernel_details = true;
    options.short_kernel_study = true;
    options.short_threshold_us = SHORT_KERNEL_US;
    options.limit_details = true;
    options.topk_kernels = DETAILED_KERNELS;
    gt_read_options read = {.threads = j->options->threads,
                            .strict = j->options->strict,
                            .is_part = true,
                            .wanted = gt_rocprof_options_wanted(&options)};
    gt_stream *stream = gt_stream_open(t->trace->path, error);
    gt_rocprof *run = stream ? gt_rocprof_read(stream, t->trace->path, &read, error) : NULL;
    gt_stream_close(stream);
    if (!run) return false;
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
    const gt_sweep_config *config = &j->sweep->configs[index];
    gt_error error = {""};
    gt_interner *strings = gt_interner_new();
    gt_table *rows = join_rows(s, strings);
    if (rows && rows->row_count) {
        s->has_collective = report_collectives(j, index, rows, &error);
        s->failed = !s->has_collective;
        if (s->failed)
            gt_warn("%s/%s: no collective report: %s", config->report_folder, config->report_name,
                    error.text);
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

/* ---- all traces ---- */

/* Whoever does the last trace of a setting also writes its collective report, whose messages follow those of
 * all traces of the setting. */
static bool do_trace(void *context, size_t index)
{
    const job *j = context;
    task *t = &j->tasks[index];
    setting *s = &j->settings[t->config];
    const char *about = gt_log_about(t->trace->path);
    t->made = j->options->rocprof ? do_rocprof(j, t) : do_torch(j, t);
    gt_log_about(about);
    if (atomic_fetch_sub(&s->left, 1) > 1) return true;
    gt_log_record *before = gt_log_keep(&s->messages);
    finish_setting(j, t->config);
    gt_log_keep(before);
    return true;
}

static void count_trace(void *context, size_t index)
{
    job *j = context;
    const task *t = &j->tasks[index];
    setting *s = &j->settings[t->config];
    j->totals->of_config[t->config].reports += t->made;
    j->totals->failed += t->failures;
    if (index + 1 < s->first + s->traces.count) return;
    gt_log_replay(&s->messages);
    j->totals->of_config[t->config].collective = s->has_collective;
    j->totals->failed += s->failed;
}

static void add_tasks(job *j)
{
    for (size_t i = 0; i < j->sweep->count; i++) {
        const gt_sweep_config *config = &j->sweep->configs[i];
        setting *s = &j->settings[i];
        s->traces = j->options->rocprof ? gt_sweep_rocprof_traces(config->folder, j->options->by_pid)
                                        : gt_sweep_torch_traces(config->folder);
        if (!s->traces.count) gt_warn("Skip %s/%s - no traces", config->report_folder, config->report_name);
        atomic_init(&s->left, s->traces.count);
        s->first = j->count;
        s->rows = gt_alloc_zero(s->traces.count, sizeof *s->rows);
        j->totals->of_config[i].traces = s->traces.count;
        for (size_t r = 0; r < s->traces.count; r++) {
            task t = {.config = i, .trace = &s->traces.items[r]};
            GT_PUSH(j->tasks, j->count, j->capacity, t);
        }
    }
}

static void read_all(job *j)
{
    const char **paths = gt_alloc(j->count * sizeof *paths);
    for (size_t i = 0; i < j->count; i++) paths[i] = j->tasks[i].trace->path;
    gt_files_work(&(gt_file_work){.paths = paths,
                                  .count = j->count,
                                  .one = "trace",
                                  .many = "traces",
                                  .work = do_trace,
                                  .finish = count_trace,
                                  .context = j});
    gt_free(paths);
}

/* One line for all settings: a sweep on one GPU has many of them. */
static void warn_without_collectives(const job *j)
{
    enum { NAMES_MAX = 4 };
    gt_buffer names = {0};
    size_t count = 0;
    for (size_t i = 0; i < j->sweep->count; i++) {
        const gt_sweep_config *config = &j->sweep->configs[i];
        if (!j->settings[i].lacks_collectives) continue;
        if (count++ < NAMES_MAX)
            gt_buffer_add_format(&names, "%s%s/%s", names.len ? ", " : "", config->report_folder,
                                 config->report_name);
    }
    if (count > NAMES_MAX) gt_buffer_add_format(&names, " and %zu more", count - NAMES_MAX);
    if (count && count == j->sweep->count)
        gt_warn("no collectives in the traces; no collective reports");
    else if (count)
        gt_warn("no collectives in the traces of %.*s; no collective report", (int)names.len, names.bytes);
    gt_buffer_free(&names);
}

/* ---- folders and totals ---- */

static bool make_folders(const job *j, gt_output *output, gt_error *error)
{
    bool made = true;
    for (size_t i = 0; i < j->sweep->count && made; i++) {
        const char *threads = j->sweep->configs[i].report_folder;
        char *individual = gt_format("%s/%s/individual_reports", j->analysis, threads);
        char *collective = gt_format("%s/%s/collective_reports", j->analysis, threads);
        made = gt_output_add_folder(output, individual, error) &&
               (j->options->rocprof || gt_output_add_folder(output, collective, error));
        gt_free(individual);
        gt_free(collective);
    }
    char *comparisons = gt_format("%s/comparisons", j->analysis);
    made = made && gt_output_add_folder(output, comparisons, error);
    gt_free(comparisons);
    return made;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static sweep_ranks ranks_of(const job *j)
{
    sweep_ranks ranks = {.items = gt_alloc(j->count * sizeof *ranks.items)};
    int64_t *all = gt_alloc(j->count * sizeof *all);
    for (size_t i = 0; i < j->count; i++) all[i] = j->tasks[i].trace->rank;
    if (j->count) qsort(all, j->count, sizeof *all, by_number);
    for (size_t i = 0; i < j->count; i++)
        if (!i || all[i] != all[i - 1]) ranks.items[ranks.count++] = all[i];
    gt_free(all);
    return ranks;
}

static void compare_all(job *j)
{
    sweep_ranks ranks = ranks_of(j);
    comparison_counts done = compare_across_axes(j->sweep, j->analysis, &ranks, j->options->rocprof);
    j->totals->comparisons = done.made;
    j->totals->failed += done.failed;
    gt_free(ranks.items);
}

static void free_job(job *j)
{
    for (size_t i = 0; i < j->sweep->count; i++) {
        gt_sweep_traces_free(&j->settings[i].traces);
        gt_free(j->settings[i].rows);
    }
    gt_free(j->settings);
    gt_free(j->tasks);
    gt_free(j->analysis);
}

bool gt_sweep_make_reports(const gt_sweep *sweep, const char *root, const char *folder,
                           const gt_sweep_report_options *options, gt_sweep_totals *totals, gt_error *error)
{
    *totals = (gt_sweep_totals){.of_config = gt_alloc_zero(sweep->count, sizeof *totals->of_config)};
    job j = {.sweep = sweep, .options = options, .totals = totals};
    j.analysis = gt_strdup(folder);
    j.settings = gt_alloc_zero(sweep->count, sizeof *j.settings);
    add_tasks(&j);
    gt_output *folders = gt_output_new(); /* removed again if no report is written into them */
    bool made = (j.count || gt_fail(error, "no traces in %s", root)) && make_folders(&j, folders, error);
    if (made) {
        read_all(&j);
        warn_without_collectives(&j);
        compare_all(&j);
    }
    gt_output_free(folders);
    free_job(&j);
    return made;
}

void gt_sweep_totals_free(gt_sweep_totals *totals)
{
    gt_free(totals->of_config);
    *totals = (gt_sweep_totals){0};
}
