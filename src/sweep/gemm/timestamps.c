/* `sweep timestamps`: finds the shortest and the longest instance of each GEMM kernel in the traces. */
#include "sweep/gemm/gemm.h"
#include "base/many.h"
#include "base/progress.h"
#include "input/chrome/kineto.h"
#include "input/files.h"
#include "schema/columns.h"
#include "sweep/cache/cache.h"
#include "table/stats.h"

/* ---- timestamps ---- */

typedef struct trace {
    char *path;              /* NULL: none */
    gt_kernel_list *kernels; /* NULL: unreadable */
} trace;

typedef struct job {
    const gt_timestamps_options *options;
    const gt_sweep_cache *cache;
    trace *traces;
    size_t count;
} job;

/* ---- reading ---- */

#define KERNELS_KEY "sweep kernel extremes"

static void keep_kernels(gt_index *index, const gt_kernel_list *kernels)
{
    gt_image image = {0};
    gt_image_add(&image, "kernels", "items", kernels->items, kernels->count * sizeof *kernels->items);
    gt_strings_save(kernels->strings, &image);
    gt_index_keep(index, GT_INDEX_PYTORCH, KERNELS_KEY, &image);
    gt_image_free(&image);
}

static bool is_truth(const bool *value)
{
    return *(const unsigned char *)value <= 1;
}

/* The list of a trace that has not changed since it was kept; NULL: none. */
static gt_kernel_list *find_kernels(const gt_sweep_cache *cache, const gt_index *index)
{
    gt_image image = {0};
    if (!gt_sweep_cache_find(cache, index, KERNELS_KEY, &image)) return NULL;
    size_t count = 0;
    const gt_kernel_extremes *items = gt_image_get(&image, "kernels", "items", sizeof *items, &count);
    gt_kernel_list *list = gt_alloc_zero(1, sizeof *list);
    list->strings = gt_strings_load(&image);
    bool sound = items && list->strings;
    for (size_t i = 0; sound && i < count; i++)
        sound = items[i].name < gt_interner_count(list->strings) && is_truth(&items[i].shortest.is_whole) &&
                is_truth(&items[i].longest.is_whole);
    if (sound) {
        list->items = gt_alloc((count + 1) * sizeof *list->items);
        if (count) memcpy(list->items, items, count * sizeof *items);
        list->count = count;
        gt_index_lend(index, list->strings);
    } else {
        gt_kernel_list_free(list);
        list = NULL;
    }
    gt_image_free(&image);
    return list;
}

/* What the reader warns of, it must warn of every time, so that is not kept. */
static gt_kernel_list *read_kernels(const job *j, const char *path, gt_error *error)
{
    const gt_read_options read = {
        .threads = j->options->threads, .strict = j->options->strict, .is_part = true};
    gt_index *index = gt_sweep_cache_index(j->cache, path);
    gt_kernel_list *kernels = find_kernels(j->cache, index);
    if (!kernels) {
        gt_log_listener listener = {0};
        gt_log_listen(&listener);
        kernels = gt_kineto_read_kernels(path, &read, error);
        gt_log_unlisten(&listener);
        if (kernels && !listener.count && gt_index_keeps(index)) keep_kernels(index, kernels);
    }
    gt_index_close(index);
    return kernels;
}

static bool read_trace(void *context, size_t index)
{
    job *j = context;
    trace *t = &j->traces[index];
    gt_error error = {""};
    if (t->path) t->kernels = read_kernels(j, t->path, &error);
    if (t->path && !t->kernels) gt_warn("Error reading %s", error.text);
    return true;
}

static void read_traces(job *j)
{
    size_t files = 0;
    const char **paths = gt_alloc(j->count * sizeof *paths);
    for (size_t i = 0; i < j->count; i++) files += (paths[i] = j->traces[i].path) != NULL;
    gt_file_sizes sizes = gt_file_sizes_find(paths, j->count);
    gt_files_progress(files, "trace", "traces", sizes.bytes);
    gt_many_run(&(gt_many){.count = j->count, .sizes = sizes.memory, .work = read_trace, .context = j});
    gt_progress_end_all();
    gt_file_sizes_free(&sizes);
    gt_free(paths);
}

static void find_traces(job *j, const gt_gemm_rows *rows)
{
    j->count = rows->run_count;
    j->traces = gt_alloc_zero(j->count, sizeof *j->traces);
    for (size_t i = 0; i < j->count; i++) {
        const gt_gemm_run *run = &rows->runs[i];
        char *folder = run->config ? gt_strdup(run->config->folder)
                                   : gt_format("%s/%" PRId64 "thread/nccl_%" PRId64 "channels",
                                               j->options->root, run->threads, run->channels);
        j->traces[i].path = gt_sweep_torch_trace(folder, run->rank);
        if (!j->traces[i].path)
            gt_warn("no trace of rank %" PRId64 " in %s; its rows have no timestamps", run->rank, folder);
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

/* State while rows are filled. */
typedef struct filler {
    gt_table *table;
    size_t first; /* of the new columns */
    const gt_timestamps_options *options;
    size_t not_found, different; /* rows so far */
} filler;

enum { WARNED_MAX = 10 }; /* number of rows to name in warnings of each kind; the others are only counted */

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
    bool found = false, is_first = true;
    static const gt_col columns[] = {GT_COL_LONGEST_KERNEL_NAME, /* the op's first kernel may be a memset */
                                     GT_COL_GEMM_KERNEL_NAME};
    const gt_str first = gt_gemm_string(f->table, GT_COL_GEMM_KERNEL_NAME, row);
    for (size_t i = 0; i < GT_LENGTH(columns) && !found; i++) {
        gt_str name = gt_gemm_string(f->table, columns[i], row);
        is_first = gt_str_equals(name, first.bytes);
        found = name.len && gt_kernel_list_find(kernels, name, f->options->exact, &shortest, &longest);
    }
    if (!found) {
        if (f->not_found++ < WARNED_MAX)
            gt_warn("row %zu: no instance of kernel %.200s in the trace", row + 1, first.bytes);
        return;
    }
    double min_ms = shortest.start_us / 1000, max_ms = longest.start_us / 1000;
    gt_table_set_float(f->table, f->first + MIN_AT, row, min_ms);
    gt_table_set_float(f->table, f->first + MAX_AT, row, max_ms);
    gt_table_set_float(f->table, f->first + BETWEEN, row, fabs(max_ms - min_ms));
    set_duration(f->table, f->first + MIN_US, row, &shortest);
    set_duration(f->table, f->first + MAX_US, row, &longest);
    if (!is_first) return; /* one of several kernels, whose times are not those of the op */
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
        gt_warn("%zu more rows without an instance of their kernel", f->not_found - WARNED_MAX);
    if (f->different > WARNED_MAX)
        gt_warn("%zu more rows with unexpected durations", f->different - WARNED_MAX);
}

bool gt_sweep_add_timestamps(gt_table *table, const gt_timestamps_options *options, gt_error *error)
{
    gt_gemm_rows rows;
    gt_sweep sweep;
    gt_error ignored;
    bool has_sweep = gt_sweep_open(&sweep, options->root, &ignored);
    if (!gt_gemm_rows_find(&rows, table, has_sweep ? &sweep : NULL, error)) {
        gt_sweep_free(&sweep);
        return false;
    }
    gt_sweep_cache *cache = gt_sweep_cache_beside(options->csv, options->force);
    job j = {.options = options, .cache = cache};
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
    gt_sweep_cache_close(cache);
    gt_gemm_rows_free(&rows);
    gt_sweep_free(&sweep);
    return true;
}

gt_timestamps_summary gt_timestamps_summarize(const gt_table *table)
{
    const double *between = gt_table_column(table, GT_COL_TIME_BETWEEN_MIN_MAX_MS)->floats;
    double *values = gt_alloc(table->row_count * sizeof *values);
    gt_timestamps_summary summary = {.rows = table->row_count};
    for (size_t row = 0; row < table->row_count; row++) {
        if (isnan(between[row])) continue;
        bool first = summary.found == 0;
        values[summary.found++] = between[row];
        if (first || between[row] > summary.max_ms) summary.max_ms = between[row];
        if (first || between[row] < summary.min_ms) summary.min_ms = between[row];
    }
    if (summary.found) {
        summary.mean_ms = gt_mean(values, summary.found);
        summary.median_ms = gt_median(values, summary.found);
    }
    gt_free(values);
    return summary;
}
