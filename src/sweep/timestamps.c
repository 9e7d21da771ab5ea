/* Each trace is read once, however many rows are of it, several traces at a time; then the rows are gone
 * through. */
#include "sweep/timestamps.h"
#include "base/length.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/progress.h"
#include "base/threads.h"
#include "input/chrome/kineto_kernels.h"
#include "schema/columns.h"
#include "sweep/gemm/gemm_rows.h"
#include "sweep/run/layout.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

typedef struct trace {
    char *path;              /* NULL where there is none */
    gt_kernel_list *kernels; /* NULL where it cannot be read */
} trace;

typedef struct job {
    const gt_timestamps_options *options;
    trace *traces;
    size_t count;
    unsigned threads_per_trace;
} job;

/* ---- reading ---- */

static void read_trace(void *context, size_t index)
{
    job *j = context;
    trace *t = &j->traces[index];
    const gt_read_options read = {
        .threads = j->threads_per_trace, .strict = j->options->strict, .is_part = true};
    gt_error error = {""};
    if (t->path) t->kernels = gt_kineto_read_kernels(t->path, &read, &error);
    if (t->path && !t->kernels) gt_warn("Error reading %s", error.text);
}

static void read_traces(job *j)
{
    uint64_t bytes = 0;
    size_t files = 0;
    for (size_t i = 0; i < j->count; i++) {
        struct stat status;
        if (!j->traces[i].path || stat(j->traces[i].path, &status) != 0) continue;
        bytes += (uint64_t)status.st_size;
        files++;
    }
    unsigned threads = j->options->threads ? j->options->threads : 1;
    char title[64];
    snprintf(title, sizeof title, "%zu traces", files);
    j->threads_per_trace = j->count && j->count < threads ? threads / (unsigned)j->count : 1;
    gt_progress_begin(title, bytes);
    gt_threads_each(j->count, threads, read_trace, j);
    gt_progress_end();
}

static void find_traces(job *j, const gt_gemm_rows *rows)
{
    j->count = rows->run_count;
    j->traces = gt_alloc_zero(j->count, sizeof *j->traces);
    for (size_t i = 0; i < j->count; i++) {
        const gt_gemm_run *run = &rows->runs[i];
        char *folder = gt_format("%s/%" PRId64 "thread/nccl_%" PRId64 "channels", j->options->root,
                                 run->threads, run->channels);
        j->traces[i].path = gt_sweep_torch_trace(folder, run->rank);
        if (!j->traces[i].path)
            gt_warn("no trace of rank %" PRId64 " in %s: its rows have no timestamps", run->rank, folder);
        gt_free(folder);
    }
}

/* ---- rows ---- */

enum { MIN_AT, MAX_AT, BETWEEN, MIN_US, MAX_US };
static const gt_column_head new_columns[] = {
    [MIN_AT] = {GT_COL_MIN_DURATION_TIMESTAMP_MS, GT_TYPE_FLOAT},
    [MAX_AT] = {GT_COL_MAX_DURATION_TIMESTAMP_MS, GT_TYPE_FLOAT},
    [BETWEEN] = {GT_COL_TIME_BETWEEN_MIN_MAX_MS, GT_TYPE_FLOAT},
    [MIN_US] = {GT_COL_MIN_DURATION_FOUND_US, GT_TYPE_STRING},
    [MAX_US] = {GT_COL_MAX_DURATION_FOUND_US, GT_TYPE_STRING},
};

static void set_duration(gt_table *table, size_t column, size_t row, const gt_kernel_instance *instance)
{
    char text[GT_NUMBER_MAX];
    size_t len = instance->is_whole && fabs(instance->dur_us) < 1e15
                     ? gt_print_int(text, (int64_t)instance->dur_us)
                     : gt_print_double(text, instance->dur_us);
    gt_table_set_string(table, column, row, gt_interner_add(table->strings, text, len));
}

/* The rows on their way. */
typedef struct filler {
    gt_table *table;
    size_t first; /* of the new columns */
    const gt_timestamps_options *options;
    size_t not_found, different; /* rows so far */
} filler;

enum { WARNED_MAX = 10 }; /* rows named of each kind; the others are counted */

static void compare_with_report(filler *f, size_t row, const char *which, gt_col column, double found_us)
{
    double expected_us = gt_gemm_number(f->table, column, row);
    if (!(fabs(found_us - expected_us) > expected_us * f->options->tolerance)) return;
    if (f->different++ < WARNED_MAX)
        gt_warn("row %zu: %s duration: found %.3fus vs expected %.3fus", row + 1, which, found_us,
                expected_us);
}

static void fill_row(filler *f, size_t row, const gt_kernel_list *kernels)
{
    gt_kernel_instance shortest, longest;
    gt_str name = gt_gemm_string(f->table, GT_COL_GEMM_KERNEL_NAME, row);
    if (!name.len || !gt_kernel_list_find(kernels, name, f->options->exact, &shortest, &longest)) {
        if (f->not_found++ < WARNED_MAX)
            gt_warn("row %zu: no instance of kernel %.200s in its trace", row + 1, name.bytes);
        return;
    }
    double min_ms = shortest.start_us / 1000, max_ms = longest.start_us / 1000;
    gt_table_set_float(f->table, f->first + MIN_AT, row, min_ms);
    gt_table_set_float(f->table, f->first + MAX_AT, row, max_ms);
    gt_table_set_float(f->table, f->first + BETWEEN, row, fabs(max_ms - min_ms));
    set_duration(f->table, f->first + MIN_US, row, &shortest);
    set_duration(f->table, f->first + MAX_US, row, &longest);
    compare_with_report(f, row, "min", GT_COL_KERNEL_TIME_MIN_US, shortest.dur_us);
    compare_with_report(f, row, "max", GT_COL_KERNEL_TIME_MAX_US, longest.dur_us);
}

static void fill_rows(filler *f, const gt_gemm_rows *rows, const trace *traces)
{
    for (size_t row = 0; row < f->table->row_count; row++) {
        uint32_t run = rows->run_of_row[row];
        if (run != GT_NO_RUN && traces[run].kernels) fill_row(f, row, traces[run].kernels);
    }
    if (f->not_found > WARNED_MAX)
        gt_warn("no instance of their kernel: %zu more rows", f->not_found - WARNED_MAX);
    if (f->different > WARNED_MAX)
        gt_warn("other durations than expected: %zu more", f->different - WARNED_MAX);
}

bool gt_sweep_add_timestamps(gt_table *table, const gt_timestamps_options *options, gt_error *error)
{
    gt_gemm_rows rows;
    if (!gt_gemm_rows_find(&rows, table, error)) return false;
    job j = {.options = options};
    find_traces(&j, &rows);
    read_traces(&j);
    filler f = {.table = table, .options = options};
    f.first = gt_gemm_new_columns(table, new_columns, GT_LENGTH(new_columns));
    fill_rows(&f, &rows, j.traces);
    for (size_t i = 0; i < j.count; i++) {
        gt_free(j.traces[i].path);
        gt_kernel_list_free(j.traces[i].kernels);
    }
    gt_free(j.traces);
    gt_gemm_rows_free(&rows);
    return true;
}
