/* Sheets about kernels: which kernels took the time, which dispatches were longest, and which kernels are so
 * short that launching them may cost more than running them?
 *
 * Every sheet starts from the table of gt_rocprof_kernel_times. Durations are summed as integers of
 * nanoseconds; units change in the last step. */
#include "analysis/rocprof/sheets.h"

#include "analysis/sheet_parts.h"
#include "base/memory.h"
#include "base/team.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

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
 * figures can be compared. */

enum { PARTS_MAX = 4 };

static const struct {
    const char *category;
    const char *parts[PARTS_MAX]; /* the unused ones are NULL */
} rules[] = {
    {"GEMM", {"gemm", "matmul", "cijk"}}, {"Elementwise", {"elementwise"}},
    {"Reduction", {"reduce", "sum"}},     {"Convolution", {"conv"}},
    {"Normalization", {"norm"}},          {"Attention", {"flash", "attn", "fmha"}},
    {"Memory", {"copy", "memcpy"}},       {"COMM", {"rccl", "nccl"}},
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

/* TraceLens writes a sheet without rows in this other order. */
static const gt_col summary_columns_empty[] = {
    GT_COL_NAME,
    GT_COL_COUNT_TITLE,
    GT_COL_MEAN_KERNEL_TIME_US,
    GT_COL_MEDIAN_KERNEL_TIME_US,
    GT_COL_STD_KERNEL_TIME_US,
    GT_COL_MIN_KERNEL_TIME_US,
    GT_COL_MAX_KERNEL_TIME_US,
    GT_COL_TOTAL_KERNEL_TIME_MS,
    GT_COL_PERCENTAGE_PCT,
    GT_COL_CUMULATIVE_PERCENTAGE_PCT,
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
    bool is_odd = as_tracelens && !summary->row_count;
    gt_table_select(summary, is_odd ? summary_columns_empty : summary_columns, GT_LENGTH(summary_columns));
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

/* A column of the store and the rows of the sheet, in its order. */
typedef struct reordering {
    const uint32_t *order;
    const int64_t *values;
    int64_t *cells;
} reordering;

static void reorder(void *context, size_t begin, size_t end)
{
    const reordering *r = context;
    for (size_t row = begin; row < end; row++) r->cells[row] = r->values[r->order[row]];
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

/* All rows: the columns are taken out of the run, and each then gives its place to the next one. */
static void take_recorded_columns(gt_table *details, gt_store *dispatches, const uint32_t *order)
{
    size_t columns[GT_LENGTH(recorded)];
    int64_t *arrays[GT_LENGTH(recorded)];
    for (size_t i = 0; i < GT_LENGTH(recorded); i++) columns[i] = recorded[i].column;
    gt_store_take_ints(dispatches, columns, GT_LENGTH(recorded), arrays);
    int64_t *cells = gt_alloc(details->row_count * sizeof *cells);
    for (size_t i = 0; i < GT_LENGTH(recorded); i++) {
        reordering r = {order, arrays[i], cells};
        gt_parallel_ranges(details->row_count, GT_ROCPROF_ROWS, reorder, &r);
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
        reordering r = {order, values, cells};
        gt_parallel_ranges(details->row_count, GT_ROCPROF_ROWS, reorder, &r);
        add_column_of(details, i, cells);
        gt_free(values);
    }
}

void gt_rocprof_kernel_details(gt_rocprof *run, gt_table *kernels, size_t rows_max, bool last_use)
{
    size_t count = kernels->row_count;
    gt_table_rename(kernels, GT_SHEET_KERNEL_DETAILS);
    if (!count && run->recorder != GT_RECORDER_NSYS) {
        gt_table_select(kernels, NULL, 0);
        return;
    }
    uint32_t *order = gt_order_new(count);
    gt_order_by_ints(order, count, kernels->columns[GT_KERNEL_DUR_NS].ints, NULL, true);
    gt_table_take(kernels, order, count < rows_max ? count : rows_max);
    gt_table_ns_to_us(kernels, GT_KERNEL_DUR_NS, GT_COL_KERNEL_DURATION_US);
    if (last_use && count <= rows_max)
        take_recorded_columns(kernels, run->dispatches, order);
    else
        add_recorded_columns(kernels, run->dispatches, order);
    gt_free(order);
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

static const gt_aggregate short_aggregates[] = {
    {GT_COL_DUR_NS, GT_GROUP_SIZE, GT_COL_SHORT_KERNEL_COUNT},
    {GT_COL_DUR_NS, GT_GROUP_SUM, GT_COL_SUM_NS},
    {GT_COL_DUR_NS, GT_GROUP_MEAN, GT_COL_MEAN_NS},
};

/* The rows below the threshold: every range counts its own, and then knows where to put them. */
typedef struct short_rows {
    const int64_t *dur_ns;
    __int128 threshold_ns;
    size_t *counts; /* by range; then where its rows begin */
    uint32_t *rows;
} short_rows;

static void count_short(void *context, size_t begin, size_t end)
{
    short_rows *job = context;
    size_t count = 0;
    for (size_t row = begin; row < end; row++) count += job->dur_ns[row] < job->threshold_ns;
    job->counts[begin / GT_ROCPROF_ROWS] = count;
}

static void list_short(void *context, size_t begin, size_t end)
{
    short_rows *job = context;
    size_t at = job->counts[begin / GT_ROCPROF_ROWS];
    for (size_t row = begin; row < end; row++)
        if (job->dur_ns[row] < job->threshold_ns) job->rows[at++] = (uint32_t)row;
}

gt_table *gt_short_kernels(const gt_table *kernels, int64_t threshold_us)
{
    size_t ranges = gt_range_count(kernels->row_count, GT_ROCPROF_ROWS), count = 0;
    short_rows job = {.dur_ns = kernels->columns[GT_KERNEL_DUR_NS].ints,
                      .threshold_ns = (__int128)threshold_us * 1000,
                      .counts = gt_alloc(ranges * sizeof *job.counts)};
    gt_parallel_ranges(kernels->row_count, GT_ROCPROF_ROWS, count_short, &job);
    for (size_t r = 0; r < ranges; r++) {
        size_t here = job.counts[r];
        job.counts[r] = count;
        count += here;
    }
    job.rows = gt_alloc(count * sizeof *job.rows);
    gt_parallel_ranges(kernels->row_count, GT_ROCPROF_ROWS, list_short, &job);
    gt_table *short_kernels = gt_table_copy_rows(kernels, job.rows, count);
    gt_free(job.counts);
    gt_free(job.rows);
    return short_kernels;
}

gt_table *gt_short_kernels_summary(const gt_table *short_kernels, int64_t all_ns)
{
    static const gt_col keys[] = {GT_COL_NAME};
    static const gt_sort_key largest_sum_first[] = {{GT_COL_SUM_NS, true}};
    gt_table *summary = gt_table_group(short_kernels, keys, GT_LENGTH(keys), short_aggregates,
                                       GT_LENGTH(short_aggregates), (gt_group_options){.sorted = true});
    gt_table_rename(summary, GT_SHEET_SHORT_KERNELS_SUMMARY);
    gt_table_sort(summary, largest_sum_first, GT_LENGTH(largest_sum_first));
    size_t sum = gt_table_find(summary, GT_COL_SUM_NS), mean = gt_table_find(summary, GT_COL_MEAN_NS);
    gt_table_add_percentage(summary, sum, (double)all_ns,
                            GT_COL_SHORT_KERNEL_DURATION_US_PERCENT_OF_TOTAL_TIME);
    gt_table_ns_to_us(summary, sum, GT_COL_SHORT_KERNEL_DURATION_US_SUM);
    gt_table_ns_to_us(summary, mean, GT_COL_SHORT_KERNEL_DURATION_US_MEAN);
    return summary;
}
