/* Sheets about kernels: which kernels took the time, which dispatches were longest, and which kernels are so
 * short that launching them may cost more than running them?
 *
 * Every sheet starts from the table of gt_rocprof_kernel_times. Durations are summed as integers of
 * nanoseconds; units change in the last step. */
#include "analysis/rocprof/sheets.h"

#include "analysis/categories.h"
#include "analysis/sheet_parts.h"
#include "schema/columns.h"

gt_table *gt_rocprof_kernel_times(gt_rocprof *run, gt_error *error)
{
    int64_t *durations = gt_rocprof_dispatch_durations(run, error);
    if (!durations) return NULL;
    gt_table *kernels = gt_table_new(GT_SHEET_KERNELS, run->strings);
    gt_table_add_column(kernels, GT_COL_NAME, GT_TYPE_STRING);
    gt_table_add_column(kernels, GT_COL_DUR_NS, GT_TYPE_INT);
    kernels->columns[GT_KERNEL_NAME].texts = gt_rocprof_dispatch_names(run);
    kernels->columns[GT_KERNEL_DUR_NS].ints = durations;
    kernels->row_count = gt_store_count(run->dispatches);
    for (size_t c = 0; c < GT_KERNEL_COLUMNS; c++) kernels->columns[c].capacity = kernels->row_count;
    return kernels;
}

/* ---- categories ----
 *
 * The first rule with a part that occurs in the name, in any case, gives the category. The parts are crude:
 * an AllReduce_Sum kernel is a Reduction, a convert kernel a Convolution. They are TraceLens's, so that
 * figures can be compared; only nvjet, a library for GPUs of NVIDIA, is ours. */

enum { PARTS_MAX = 4 };

static const struct {
    const char *category;
    const char *parts[PARTS_MAX]; /* the unused ones are NULL */
} rules[] = {
    {"GEMM", {"gemm", "matmul", "cijk", "nvjet"}},
    {"Elementwise", {"elementwise"}},
    {"Reduction", {"reduce", "sum"}},
    {"Convolution", {"conv"}},
    {"Normalization", {"norm"}},
    {"Attention", {"flash", "attn", "fmha"}},
    {"Memory", {"copy", "memcpy"}},
    {"COMM", {"rccl", "nccl"}},
};

const char *gt_kernel_category(gt_str name)
{
    for (size_t i = 0; i < GT_LENGTH(rules); i++)
        for (size_t j = 0; j < PARTS_MAX && rules[i].parts[j]; j++)
            if (gt_str_contains_nocase(name, rules[i].parts[j])) return rules[i].category;
    return "Other";
}

/* ---- kernel_summary, kernel_summary_by_category ----
 *
 *     Count                        dispatches of that name
 *     Mean Kernel Time (µs)        sum of nanoseconds / Count / 1000
 *     Median Kernel Time (µs)      the middle one, or the mean of the two in the middle
 *     Std Kernel Time (µs)         sample standard deviation (divided by Count - 1); empty for one dispatch
 *     Min, Max Kernel Time (µs)
 *     Percentage (%)               total / total of all kernels * 100; 0 if that total is not above 0
 *     Cumulative Percentage (%)    sum of Percentage from the first row to this one
 *     Total Kernel Time (ms)       sum of nanoseconds / 1,000,000; also total_direct_kernel_time_ms
 *     Category                     gt_kernel_category of the name */

static const gt_aggregate name_aggregates[] = {
    {GT_COL_DUR_NS, GT_GROUP_SIZE, GT_COL_COUNT_TITLE}, {GT_COL_DUR_NS, GT_GROUP_MEAN, GT_COL_MEAN_NS},
    {GT_COL_DUR_NS, GT_GROUP_MEDIAN, GT_COL_MEDIAN_NS}, {GT_COL_DUR_NS, GT_GROUP_STD, GT_COL_STD_NS},
    {GT_COL_DUR_NS, GT_GROUP_MIN, GT_COL_MIN_NS},       {GT_COL_DUR_NS, GT_GROUP_MAX, GT_COL_MAX_NS},
    {GT_COL_DUR_NS, GT_GROUP_SUM, GT_COL_TOTAL_NS},
};

static const struct {
    gt_col ns, us;
} summary_times[] = {
    {GT_COL_MEAN_NS, GT_COL_MEAN_KERNEL_TIME_US}, {GT_COL_MEDIAN_NS, GT_COL_MEDIAN_KERNEL_TIME_US},
    {GT_COL_STD_NS, GT_COL_STD_KERNEL_TIME_US},   {GT_COL_MIN_NS, GT_COL_MIN_KERNEL_TIME_US},
    {GT_COL_MAX_NS, GT_COL_MAX_KERNEL_TIME_US},
};

static const gt_col summary_columns[] = {
    GT_COL_NAME,
    GT_COL_COUNT_TITLE,
    GT_COL_MEAN_KERNEL_TIME_US,
    GT_COL_MEDIAN_KERNEL_TIME_US,
    GT_COL_STD_KERNEL_TIME_US,
    GT_COL_MIN_KERNEL_TIME_US,
    GT_COL_MAX_KERNEL_TIME_US,
    GT_COL_PERCENTAGE_PCT,
    GT_COL_CUMULATIVE_PERCENTAGE_PCT,
    GT_COL_TOTAL_KERNEL_TIME_MS,
    GT_COL_CATEGORY,
};

static const gt_aggregate category_aggregates[] = {
    {GT_COL_COUNT_TITLE, GT_GROUP_SUM, GT_COL_COUNT_TITLE},
    {GT_COL_TOTAL_NS, GT_GROUP_SUM, GT_COL_TOTAL_NS},
};

static const gt_col category_columns[] = {
    GT_COL_OP_CATEGORY,
    GT_COL_COUNT_TITLE,
    GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS,
    GT_COL_PERCENTAGE_PCT,
    GT_COL_CUMULATIVE_PERCENTAGE_PCT,
};

static const gt_sort_key longest_first[] = {{GT_COL_TOTAL_NS, true}};

void gt_kernels_add_categories(gt_table *names, bool full_names)
{
    size_t name = gt_table_find(names, GT_COL_NAME);
    size_t category = gt_table_add_column(names, GT_COL_CATEGORY, GT_TYPE_STRING);
    for (size_t row = 0; row < names->row_count; row++) {
        gt_str text = gt_interner_get(names->strings, names->columns[name].texts[row]);
        if (full_names) text = gt_kernel_short_name(text);
        gt_table_set_cstr(names, category, row, gt_kernel_category(text));
    }
}

void gt_kernels_add_own_categories(gt_table *names, const gt_comm_kernels *comm)
{
    gt_categories *categories = gt_categories_new(names->strings);
    const uint32_t *texts = gt_table_column(names, GT_COL_NAME)->texts;
    size_t category = gt_table_add_column(names, GT_COL_CATEGORY, GT_TYPE_STRING);
    for (size_t row = 0; row < names->row_count; row++) {
        gt_str text = gt_interner_get(names->strings, texts[row]);
        gt_gpu_work work = {.name = texts[row],
                            .communicates = gt_is_communication(text) || gt_comm_family(comm, text)};
        gt_table_set_cstr(names, category, row, gt_category_name(gt_categories_find(categories, &work)));
    }
    gt_categories_free(categories);
}

void gt_kernels_mark_communication(gt_table *by_name, const gt_comm_kernels *comm)
{
    const uint32_t *names = gt_table_column(by_name, GT_COL_NAME)->texts;
    size_t category = gt_table_find(by_name, GT_COL_CATEGORY);
    for (size_t row = 0; row < by_name->row_count; row++)
        if (gt_comm_family(comm, gt_interner_get(by_name->strings, names[row])))
            gt_table_set_cstr(by_name, category, row, "COMM");
}

gt_comm_uses gt_kernels_communication(const gt_table *by_name, const gt_comm_kernels *comm, bool counted)
{
    gt_comm_uses uses = {0};
    const uint32_t *names = gt_table_column(by_name, GT_COL_NAME)->texts;
    const uint32_t *categories = gt_table_column(by_name, GT_COL_CATEGORY)->texts;
    const int64_t *counts = gt_table_column(by_name, GT_COL_COUNT_TITLE)->ints;
    const int64_t *totals_ns = gt_table_column(by_name, GT_COL_TOTAL_NS)->ints;
    for (size_t row = 0; row < by_name->row_count; row++) {
        gt_str category = gt_interner_get(by_name->strings, categories[row]);
        if (gt_str_equals(category, "COMM") != counted) continue;
        const char *family = gt_comm_family(comm, gt_interner_get(by_name->strings, names[row]));
        if (family) gt_comm_uses_add(&uses, family, (size_t)counts[row], (double)totals_ns[row] / 1e6);
    }
    return uses;
}

gt_table *gt_kernels_by_name(const gt_table *kernels)
{
    static const gt_col keys[] = {GT_COL_NAME};
    return gt_table_group(kernels, keys, GT_LENGTH(keys), name_aggregates, GT_LENGTH(name_aggregates),
                          (gt_group_options){.sorted = true});
}

gt_table *gt_kernel_summary(const gt_table *by_name, bool as_tracelens)
{
    gt_table *summary = gt_table_copy(by_name);
    gt_table_rename(summary, GT_SHEET_KERNEL_SUMMARY);
    gt_table_sort(summary, longest_first, GT_LENGTH(longest_first));
    gt_table_add_percentages(summary, gt_table_find(summary, GT_COL_TOTAL_NS));
    for (size_t i = 0; i < GT_LENGTH(summary_times); i++)
        gt_table_ns_to_us(summary, gt_table_find(summary, summary_times[i].ns), summary_times[i].us);
    gt_table_ns_to_ms(summary, gt_table_find(summary, GT_COL_TOTAL_NS), GT_COL_TOTAL_KERNEL_TIME_MS);
    gt_table_select(summary, summary_columns, GT_LENGTH(summary_columns));
    if (as_tracelens && !summary->row_count) /* as TraceLens orders a sheet without rows */
        gt_table_move_column(summary, gt_table_find(summary, GT_COL_TOTAL_KERNEL_TIME_MS),
                             gt_table_find(summary, GT_COL_PERCENTAGE_PCT));
    return summary;
}

gt_table *gt_kernel_summary_by_category(const gt_table *by_name)
{
    static const gt_col keys[] = {GT_COL_CATEGORY};
    gt_table *categories = gt_table_group(by_name, keys, GT_LENGTH(keys), category_aggregates,
                                          GT_LENGTH(category_aggregates), (gt_group_options){.sorted = true});
    gt_table_rename(categories, GT_SHEET_KERNEL_SUMMARY_BY_CATEGORY);
    gt_table_sort(categories, longest_first, GT_LENGTH(longest_first));
    gt_table_add_percentages(categories, gt_table_find(categories, GT_COL_TOTAL_NS));
    gt_table_ns_to_ms(categories, gt_table_find(categories, GT_COL_TOTAL_NS),
                      GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS);
    gt_table_rename_column(categories, gt_table_find(categories, GT_COL_CATEGORY), GT_COL_OP_CATEGORY);
    gt_table_select(categories, category_columns, GT_LENGTH(category_columns));
    return categories;
}

/* ---- kernel_details ----
 *
 *     Kernel duration (µs)  (end - start) / 1000.0
 *     grid_x, _y, _z        in work-items, as recorded (not divided by the block); in blocks of an Nsight
 *                           Systems export, which records those
 *     agent_id              the handle of the GPU
 *
 * The other columns are as rocprofv3 recorded them. Each is reordered into the memory of the one before, so
 * that memory holds little more than the sheet. */

static const struct {
    gt_col name;
    size_t column; /* of the run's dispatches */
} recorded[] = {
    {GT_COL_STREAM, GT_DISPATCH_STREAM},   {GT_COL_DISPATCH_ID, GT_DISPATCH_ID},
    {GT_COL_GRID_X, GT_DISPATCH_GRID_X},   {GT_COL_GRID_Y, GT_DISPATCH_GRID_Y},
    {GT_COL_GRID_Z, GT_DISPATCH_GRID_Z},   {GT_COL_BLOCK_X, GT_DISPATCH_BLOCK_X},
    {GT_COL_BLOCK_Y, GT_DISPATCH_BLOCK_Y}, {GT_COL_BLOCK_Z, GT_DISPATCH_BLOCK_Z},
    {GT_COL_AGENT_ID, GT_DISPATCH_AGENT},  {GT_COL_THREAD_ID, GT_DISPATCH_THREAD},
};

static void reorder(const uint32_t *order, const int64_t *values, int64_t *cells, size_t count)
{
    for (size_t row = 0; row < count; row++) cells[row] = values[order[row]];
}

/* Adds the column with these cells, which then belong to the table. */
static void add_column_of(gt_table *details, size_t which, int64_t *cells)
{
    size_t rows = details->row_count;
    details->row_count = 0; /* so that no cells are made for it */
    size_t added = gt_table_add_column(details, recorded[which].name, GT_TYPE_INT);
    details->row_count = rows;
    gt_column *column = &details->columns[added];
    gt_free(column->ints);
    column->ints = cells;
    column->capacity = rows;
}

/* All rows: the columns are taken out of the run, and the memory of each is used for the next one. */
static void take_recorded_columns(gt_table *details, gt_store *dispatches, const uint32_t *order)
{
    size_t columns[GT_LENGTH(recorded)];
    int64_t *arrays[GT_LENGTH(recorded)];
    for (size_t i = 0; i < GT_LENGTH(recorded); i++) columns[i] = recorded[i].column;
    gt_store_take_ints(dispatches, columns, GT_LENGTH(recorded), arrays);
    int64_t *cells = gt_alloc(details->row_count * sizeof *cells);
    for (size_t i = 0; i < GT_LENGTH(recorded); i++) {
        reorder(order, arrays[i], cells, details->row_count);
        add_column_of(details, i, cells);
        cells = arrays[i];
    }
    gt_free(cells);
}

/* One column at a time, if the run is still used or if the sheet has only some rows. */
static void add_recorded_columns(gt_table *details, const gt_store *dispatches, const uint32_t *order)
{
    for (size_t i = 0; i < GT_LENGTH(recorded); i++) {
        int64_t *values = gt_store_ints(dispatches, recorded[i].column);
        int64_t *cells = gt_alloc(details->row_count * sizeof *cells);
        reorder(order, values, cells, details->row_count);
        add_column_of(details, i, cells);
        gt_free(values);
    }
}

/* What the rows of a late sheet are made from: by dispatch, except `order`. */
typedef struct late_details {
    uint32_t *order; /* the dispatches in the order of the sheet */
    uint32_t *names;
    int64_t *durations;
    gt_narrow cells;
} late_details;

struct gt_details {
    const gt_store *dispatches;
    uint32_t *order;
    late_details *late; /* NULL: the sheet gets cells at once */
};

static void read_details(const void *context, size_t begin, size_t end, gt_table *into, size_t at)
{
    const late_details *late = context;
    const uint32_t *rows = late->order + begin;
    uint32_t *names = into->columns[GT_KERNEL_NAME].texts + at;
    double *times = into->columns[GT_KERNEL_DUR_NS].floats + at;
    for (size_t i = 0; i < end - begin; i++) {
        names[i] = late->names[rows[i]];
        times[i] = (double)late->durations[rows[i]] / 1e3;
    }
    for (size_t c = 0; c < GT_LENGTH(recorded); c++)
        gt_narrow_read(&late->cells, c, rows, end - begin, into->columns[GT_KERNEL_COLUMNS + c].ints + at);
}

static void free_details(void *context)
{
    late_details *late = context;
    gt_narrow_free(&late->cells);
    gt_free_all(late->order, late->names, late->durations, late);
}

gt_details *gt_rocprof_find_details(const gt_rocprof *run, const gt_table *kernels, bool late)
{
    gt_details *details = gt_alloc_zero(1, sizeof *details);
    details->dispatches = run->dispatches;
    details->order = gt_order_new(kernels->row_count);
    gt_order_by_ints(details->order, kernels->row_count, kernels->columns[GT_KERNEL_DUR_NS].ints, NULL, true);
    if (!late || !kernels->row_count) return details;
    details->late = gt_alloc_zero(1, sizeof *details->late);
    size_t columns[GT_LENGTH(recorded)];
    for (size_t i = 0; i < GT_LENGTH(recorded); i++) columns[i] = recorded[i].column;
    details->late->cells = gt_store_narrow_ints(run->dispatches, columns, GT_LENGTH(recorded));
    return details;
}

void gt_details_free(gt_details *details)
{
    if (!details) return;
    if (details->late) free_details(details->late);
    gt_free_all(details->order, details);
}

/* Hands what was found and the columns of the kernel times over to the sheet. */
static void make_late(gt_details *details, gt_rocprof *run, gt_table *kernels, size_t rows)
{
    late_details *late = details->late;
    late->order = details->order;
    late->names = kernels->columns[GT_KERNEL_NAME].texts;
    late->durations = kernels->columns[GT_KERNEL_DUR_NS].ints;
    details->late = NULL;
    details->order = NULL;
    kernels->columns[GT_KERNEL_NAME].texts = NULL;
    kernels->columns[GT_KERNEL_DUR_NS].ints = NULL;
    gt_store_release(run->dispatches);
    gt_table_select(kernels, NULL, 0);
    kernels->row_count = 0;
    gt_table_add_column(kernels, GT_COL_NAME, GT_TYPE_STRING);
    gt_table_add_column(kernels, GT_COL_KERNEL_DURATION_US, GT_TYPE_FLOAT);
    for (size_t c = 0; c < GT_LENGTH(recorded); c++)
        gt_table_add_column(kernels, recorded[c].name, GT_TYPE_INT);
    gt_table_set_source(kernels, rows, (gt_row_source){read_details, free_details, late});
}

void gt_rocprof_kernel_details(gt_details *details, gt_rocprof *run, gt_table *kernels, size_t rows_max,
                               bool last_use)
{
    size_t count = kernels->row_count, rows = count < rows_max ? count : rows_max;
    gt_table_rename(kernels, GT_SHEET_KERNEL_DETAILS);
    if (!count && run->recorder != GT_RECORDER_NSYS) {
        gt_table_select(kernels, NULL, 0);
    } else if (details->late) {
        make_late(details, run, kernels, rows);
    } else {
        gt_table_take(kernels, details->order, rows);
        gt_table_ns_to_us(kernels, GT_KERNEL_DUR_NS, GT_COL_KERNEL_DURATION_US);
        if (last_use && rows == count)
            take_recorded_columns(kernels, run->dispatches, details->order);
        else
            add_recorded_columns(kernels, run->dispatches, details->order);
    }
    gt_details_free(details);
}

/* ---- short_kernels_summary ----
 *
 * A kernel is short if its duration is strictly below the threshold.
 *
 *     Short Kernel count                                dispatches of that name below the threshold
 *     Short Kernel duration (µs) sum                    sum of nanoseconds / 1000
 *     Short Kernel duration (µs) mean                   sum of nanoseconds / count / 1000
 *     Short Kernel duration (µs) percent of total time  sum / time of all kernels * 100; 0 if that time is
 *                                                       not above 0 */

/* The short kernels, by string id of their names. */
typedef struct short_sums {
    uint64_t *counts;
    int64_t *sums_ns;
} short_sums;

static short_sums sum_short(const gt_table *kernels, int64_t threshold_us)
{
    size_t name_count = gt_interner_count(kernels->strings);
    short_sums sums = {gt_alloc_zero(name_count, sizeof *sums.counts),
                       gt_alloc_zero(name_count, sizeof *sums.sums_ns)};
    const uint32_t *names = kernels->columns[GT_KERNEL_NAME].texts;
    const int64_t *dur_ns = kernels->columns[GT_KERNEL_DUR_NS].ints;
    for (size_t row = 0; row < kernels->row_count; row++) {
        if (dur_ns[row] >= (__int128)threshold_us * 1000) continue;
        sums.counts[names[row]]++;
        sums.sums_ns[names[row]] += dur_ns[row];
    }
    return sums;
}

gt_table *gt_short_kernels_summary(const gt_table *kernels, int64_t threshold_us, int64_t all_ns)
{
    static const gt_column_head heads[] = {{GT_COL_NAME, GT_TYPE_STRING},
                                           {GT_COL_SHORT_KERNEL_COUNT, GT_TYPE_INT},
                                           {GT_COL_SUM_NS, GT_TYPE_INT},
                                           {GT_COL_MEAN_NS, GT_TYPE_FLOAT}};
    static const gt_sort_key largest_sum_first[] = {{GT_COL_SUM_NS, true}, {GT_COL_NAME, false}};
    enum { NAME, COUNT, SUM, MEAN };
    gt_table *summary = gt_table_new(GT_SHEET_SHORT_KERNELS_SUMMARY, kernels->strings);
    gt_table_add_columns(summary, heads, GT_LENGTH(heads));
    short_sums all = sum_short(kernels, threshold_us);
    for (uint32_t name = 0; name < gt_interner_count(kernels->strings); name++) {
        if (!all.counts[name]) continue;
        size_t row = gt_table_add_row(summary);
        gt_table_set_string(summary, NAME, row, name);
        gt_table_set_int(summary, COUNT, row, (int64_t)all.counts[name]);
        gt_table_set_int(summary, SUM, row, all.sums_ns[name]);
        gt_table_set_float(summary, MEAN, row, (double)all.sums_ns[name] / (double)all.counts[name]);
    }
    gt_free_all(all.counts, all.sums_ns);
    gt_table_sort(summary, largest_sum_first, GT_LENGTH(largest_sum_first));
    gt_table_add_percentage(summary, SUM, (double)all_ns,
                            GT_COL_SHORT_KERNEL_DURATION_US_PERCENT_OF_TOTAL_TIME);
    gt_table_ns_to_us(summary, SUM, GT_COL_SHORT_KERNEL_DURATION_US_SUM);
    gt_table_ns_to_us(summary, MEAN, GT_COL_SHORT_KERNEL_DURATION_US_MEAN);
    return summary;
}

double *gt_short_kernel_times(const gt_table *kernels, int64_t threshold_us, size_t *count)
{
    const int64_t *dur_ns = kernels->columns[GT_KERNEL_DUR_NS].ints;
    __int128 threshold_ns = (__int128)threshold_us * 1000;
    size_t found = 0;
    for (size_t row = 0; row < kernels->row_count; row++) found += dur_ns[row] < threshold_ns;
    double *dur_us = gt_alloc(found * sizeof *dur_us);
    *count = found;
    for (size_t row = kernels->row_count; found && row-- > 0;)
        if (dur_ns[row] < threshold_ns) dur_us[--found] = (double)dur_ns[row] / 1000.0;
    return dur_us;
}
