/* Threads take one trace after another, setting by setting. Of a trace its report is written and the rows of
 * its collectives are kept; who finishes the last trace of a setting makes the report of its collectives. A
 * trace is begun only while those being read fit into memory. */
#include "sweep/gemm/reports.h"
#include "analysis/collective/collectives.h"
#include "base/guard.h"
#include "base/length.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/threads.h"
#include "input/chrome/kineto.h"
#include "input/chrome/kineto_collectives.h"
#include "input/rocprof/rocprof.h"
#include "output/file.h"
#include "report/collective.h"
#include "report/pytorch.h"
#include "report/rocprof.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "sweep/compare/comparisons.h"
#include "os/paths.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHORT_KERNEL_US = 50,
    DETAILED_KERNELS = 100,
    BYTES_A_PACKED_BYTE = 12, /* of gzip and zstd: about what traces inflate to */
    MEMORY_SHARE = 2          /* of the memory that there is: one half */
};

/* Columns of the sheet GEMM that it did not have in 2025. */
static const gt_col new_columns[] = {GT_COL_PROCESS_NAME_FIRST, GT_COL_PROCESS_LABEL_FIRST,
                                     GT_COL_THREAD_NAME_FIRST, GT_COL_COMPUTE_SPEC};

typedef struct task {
    size_t config;
    const gt_sweep_trace *trace;
    uint64_t bytes;  /* of the file */
    uint64_t memory; /* about what reading it takes */
} task;

/* One setting while its traces are read. */
typedef struct setting {
    gt_sweep_traces traces;
    gt_table **rows; /* of collectives, one table a trace */
    gt_interner *strings;
    size_t left; /* traces not done yet */
    size_t devices;
} setting;

typedef struct job {
    const gt_sweep *sweep;
    const gt_sweep_report_options *options;
    char *analysis;
    gt_sweep_totals *totals;
    setting *settings;
    task *tasks;
    size_t count, capacity, next;
    unsigned threads_per_trace;
    uint64_t memory, memory_used;
    size_t active;
    pthread_mutex_t lock;
    pthread_cond_t finished_one;
} job;

/* ---- one trace ---- */

static void fail_task(job *j, const task *t, const char *what, const gt_error *error)
{
    const gt_sweep_config *config = &j->sweep->configs[t->config];
    gt_warn("%s/%sch rank %" PRId64 ": %s: %s", config->threads, config->channels, t->trace->rank, what,
            error->text);
    pthread_mutex_lock(&j->lock);
    j->totals->failed++;
    pthread_mutex_unlock(&j->lock);
}

static bool write_report(const job *j, const task *t, const gt_table_list *tables, gt_error *error)
{
    char *path = gt_sweep_report_path(j->analysis, &j->sweep->configs[t->config], t->trace->rank);
    bool written = gt_table_list_write(tables, path, error);
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

/* The rows of a trace's collectives, in strings of the setting. Called with the lock held. */
static void keep_rows(setting *s, const task *t, gt_table *rows, size_t devices)
{
    gt_table_use_strings(rows, s->strings);
    s->rows[t->trace - s->traces.items] = rows;
    if (t->trace == s->traces.items) s->devices = devices;
}

/* A trace that ends early has a report of what is whole, but no part in that of the collectives: these are
 * matched by their order. */
static gt_pytorch_linked *read_torch(job *j, const task *t, bool *whole)
{
    gt_read_options read = {.threads = j->threads_per_trace, .strict = true, .is_part = true};
    gt_error error = {""};
    gt_pytorch_read *trace = gt_kineto_read(t->trace->path, (gt_kineto_options){0}, &read, &error);
    *whole = trace != NULL;
    if (trace || j->options->strict) {
        if (!trace) fail_task(j, t, "no report", &error);
        return trace ? gt_pytorch_link(gt_pytorch_build_tree(trace)) : NULL;
    }
    read.strict = false;
    trace = gt_kineto_read(t->trace->path, (gt_kineto_options){0}, &read, &error);
    fail_task(j, t, trace ? "not among the collectives" : "no report", &error);
    return trace ? gt_pytorch_link(gt_pytorch_build_tree(trace)) : NULL;
}

static bool do_torch(job *j, const task *t)
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
        size_t devices = t->trace == s->traces.items ? count_devices(t->trace->path) : 0;
        pthread_mutex_lock(&j->lock);
        keep_rows(s, t, rows, devices);
        pthread_mutex_unlock(&j->lock);
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
    gt_read_options read = {.threads = j->threads_per_trace,
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

static bool do_rocprof(job *j, const task *t)
{
    gt_error error = {""};
    bool made = report_rocprof(j, t, &error);
    if (!made) fail_task(j, t, "no report", &error);
    return made;
}

/* ---- the collectives of a setting ---- */

static gt_table *join_rows(setting *s)
{
    gt_table *all = NULL;
    for (size_t i = 0; i < s->traces.count; i++) {
        gt_table *rows = s->rows[i];
        s->rows[i] = NULL;
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
    char *path = gt_format("%s/%s/collective_reports/collective_%sch.xlsx", j->analysis, config->threads,
                           config->channels);
    bool made =
        gt_collective_tables(rows, &options, &tables, error) && gt_table_list_write(&tables, path, error);
    gt_free(path);
    gt_table_list_free(&tables);
    return made;
}

static void finish_setting(job *j, size_t index)
{
    setting *s = &j->settings[index];
    const gt_sweep_config *config = &j->sweep->configs[index];
    gt_error error = {""};
    gt_table *rows = join_rows(s);
    if (rows && rows->row_count) {
        bool made = report_collectives(j, index, rows, &error);
        if (!made)
            gt_warn("%s/%sch: no collective report: %s", config->threads, config->channels, error.text);
        pthread_mutex_lock(&j->lock);
        j->totals->of_config[index].collective = made;
        j->totals->failed += !made;
        pthread_mutex_unlock(&j->lock);
    } else {
        if (rows && !j->options->rocprof)
            gt_warn("%s/%sch: no collectives in its traces, so no collective report", config->threads,
                    config->channels);
        gt_table_free(rows);
    }
    gt_interner_free(s->strings);
    s->strings = NULL;
}

/* ---- all traces ---- */

/* The next task that fits, NULL where there are no more. One trace is always read, however large it is. */
static const task *take_task(job *j)
{
    pthread_mutex_lock(&j->lock);
    const task *t = NULL;
    while (j->next < j->count) {
        t = &j->tasks[j->next];
        if (!j->active || j->memory_used + t->memory <= j->memory) break;
        pthread_cond_wait(&j->finished_one, &j->lock);
    }
    if (j->next < j->count) {
        t = &j->tasks[j->next++];
        j->active++;
        j->memory_used += t->memory;
    } else {
        t = NULL;
    }
    pthread_mutex_unlock(&j->lock);
    return t;
}

/* Whether it was the last of its setting. */
static bool give_back(job *j, const task *t, bool made)
{
    pthread_mutex_lock(&j->lock);
    j->active--;
    j->memory_used -= t->memory;
    j->totals->of_config[t->config].reports += made;
    bool last = --j->settings[t->config].left == 0;
    pthread_cond_broadcast(&j->finished_one);
    pthread_mutex_unlock(&j->lock);
    return last;
}

static void work(void *context, unsigned index)
{
    (void)index;
    job *j = context;
    for (const task *t; (t = take_task(j));) {
        bool made = j->options->rocprof ? do_rocprof(j, t) : do_torch(j, t);
        if (give_back(j, t, made)) finish_setting(j, t->config);
    }
}

static bool is_packed(const char *path)
{
    const char *ending = strrchr(path, '.');
    return ending && (strcmp(ending, ".gz") == 0 || strcmp(ending, ".zst") == 0);
}

static void add_tasks(job *j)
{
    for (size_t i = 0; i < j->sweep->count; i++) {
        const gt_sweep_config *config = &j->sweep->configs[i];
        setting *s = &j->settings[i];
        s->traces = j->options->rocprof ? gt_sweep_rocprof_traces(config->folder, j->options->by_pid)
                                        : gt_sweep_torch_traces(config->folder);
        if (!s->traces.count) gt_warn("Skip %s/%sch - no traces", config->threads, config->channels);
        s->left = s->traces.count;
        s->rows = gt_alloc_zero(s->traces.count, sizeof *s->rows);
        s->strings = s->left ? gt_interner_new() : NULL;
        j->totals->of_config[i].traces = s->traces.count;
        for (size_t r = 0; r < s->traces.count; r++) {
            task t = {.config = i, .trace = &s->traces.items[r]};
            t.bytes = gt_path_bytes(t.trace->path);
            t.memory = is_packed(t.trace->path) ? t.bytes * BYTES_A_PACKED_BYTE : t.bytes;
            GT_PUSH(j->tasks, j->count, j->capacity, t);
        }
    }
}

static void read_all(job *j)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < j->count; i++) bytes += j->tasks[i].bytes;
    unsigned threads = j->options->threads ? j->options->threads : 1;
    unsigned at_once = j->count < threads ? (unsigned)j->count : threads;
    j->threads_per_trace = threads / at_once;
    j->memory = gt_memory_limit() / MEMORY_SHARE;
    char title[64];
    snprintf(title, sizeof title, "%zu traces", j->count);
    gt_progress_begin(title, bytes);
    gt_threads_run(at_once, work, j);
    gt_progress_end();
}

/* ---- around it ---- */

static bool make_folders(const job *j, gt_output *output, gt_error *error)
{
    bool made = true;
    for (size_t i = 0; i < j->sweep->count && made; i++) {
        const char *threads = j->sweep->configs[i].threads;
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

static gt_sweep_ranks ranks_of(const job *j)
{
    gt_sweep_ranks ranks = {.items = gt_alloc(j->count * sizeof *ranks.items)};
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
    gt_sweep_ranks ranks = ranks_of(j);
    gt_sweep_comparisons done =
        gt_sweep_compare(j->sweep, j->analysis, &ranks, j->options->rocprof, j->options->threads);
    j->totals->comparisons = done.made;
    j->totals->failed += done.failed;
    gt_free(ranks.items);
}

static void free_job(job *j)
{
    for (size_t i = 0; i < j->sweep->count; i++) {
        gt_sweep_traces_free(&j->settings[i].traces);
        gt_free(j->settings[i].rows);
        gt_interner_free(j->settings[i].strings);
    }
    gt_free(j->settings);
    gt_free(j->tasks);
    gt_free(j->analysis);
}

bool gt_sweep_make_reports(const gt_sweep *sweep, const char *root, const gt_sweep_report_options *options,
                           gt_sweep_totals *totals, gt_error *error)
{
    *totals = (gt_sweep_totals){.of_config = gt_alloc_zero(sweep->count, sizeof *totals->of_config)};
    job j = {.sweep = sweep, .options = options, .totals = totals};
    j.analysis = gt_format("%s/" GT_SWEEP_ANALYSIS, root);
    j.settings = gt_alloc_zero(sweep->count, sizeof *j.settings);
    add_tasks(&j);
    gt_output *folders = gt_output_new(); /* they go away again where no report is written into them */
    bool made = (j.count || gt_fail(error, "no traces in %s", root)) && make_folders(&j, folders, error);
    if (made) {
        pthread_mutex_init(&j.lock, NULL);
        pthread_cond_init(&j.finished_one, NULL);
        gt_log_once(true);
        read_all(&j);
        compare_all(&j);
        gt_log_once(false);
        pthread_cond_destroy(&j.finished_one);
        pthread_mutex_destroy(&j.lock);
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
