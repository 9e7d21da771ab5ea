/* Sheets ops_unique_args and ops_unique_args_kl_overlap.
 *
 *     keys                            name to Concrete Inputs, [num_kernels], [is_recompute]
 *     operation_count                 launchers
 *     first_occurrence_time           start of the first one, from the start of the first of all
 *     total_direct_kernel_time_*      of the launchers' own kernel times, microseconds
 *     total_subtree_kernel_time_*     the same with the kernels of the ops that they called
 *     ex_UID                          the first launcher
 *     kernel_details_summary, trunc_kernel_details     kernel_stats.h
 *     overlapping_kernels_details_summary, trunc_overlapping_kernels_details, overlap_pct_*    op_overlap.h
 *     Percentage (%)                  of the sum of total_direct_kernel_time_sum
 *     Cumulative Percentage (%)       running total of Percentage over the rows as shown */
#include "analysis/ops_unique_args.h"

#include "analysis/kernel_stats.h"
#include "analysis/op_overlap.h"
#include "analysis/percentages.h"
#include "base/memory.h"
#include "table/group.h"
#include "table/sort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array)    (sizeof(array) / sizeof *(array))
#define DIRECT           "total_direct_kernel_time"
#define SUBTREE          "total_subtree_kernel_time"
#define OVERLAPPING      "overlapping_kernel_names"
#define FIRST_OCCURRENCE "first_occurrence_time"
#define PAIR(kind, suffix)                                                                                   \
    {DIRECT, kind, DIRECT suffix},                                                                           \
    {                                                                                                        \
        SUBTREE, kind, SUBTREE suffix                                                                        \
    }

static const gt_aggregate measures[] = {
    {NULL, GT_GROUP_SIZE, "operation_count"},
    {"ts", GT_GROUP_MIN, FIRST_OCCURRENCE},
    PAIR(GT_GROUP_MEAN, "_mean"),
    PAIR(GT_GROUP_MEDIAN, "_median"),
    PAIR(GT_GROUP_STD, "_std"),
    PAIR(GT_GROUP_MIN, "_min"),
    PAIR(GT_GROUP_MAX, "_max"),
    PAIR(GT_GROUP_SUM, "_sum"),
    {"UID", GT_GROUP_FIRST, "ex_UID"},
};

static const gt_aggregate overlap_measures[] = {
    {"overlap_pct", GT_GROUP_MEAN, "overlap_pct_mean"},
    {"overlap_pct", GT_GROUP_MEDIAN, "overlap_pct_median"},
    {"overlap_pct", GT_GROUP_STD, "overlap_pct_std"},
    {"overlap_pct", GT_GROUP_MIN, "overlap_pct_min"},
    {"overlap_pct", GT_GROUP_MAX, "overlap_pct_max"},
};

static const char *const keys[] = {
    "name",       OVERLAPPING,  "op category",   "process_name",    "process_label", "thread_name",
    "Input Dims", "Input type", "Input Strides", "Concrete Inputs", "num_kernels",   "is_recompute",
};

static const gt_sort_key longest_first[] = {{DIRECT "_sum", true}, {"ex_UID", false}};

/* ---- which launchers are in a group ---- */

typedef struct members {
    gt_groups groups;
    uint32_t *launchers, *begin; /* of group g: launchers[begin[g] .. begin[g + 1]), in launch order */
} members;

static members find_members(const gt_table *table, const char *const *used, size_t used_count,
                            gt_group_options how)
{
    members m = {.groups = gt_groups_find(table, used, used_count, how)};
    m.begin = gt_alloc_zero(m.groups.count + 2, sizeof *m.begin);
    m.launchers = gt_alloc(table->row_count * sizeof *m.launchers);
    for (size_t row = 0; row < table->row_count; row++) m.begin[m.groups.of_row[row] + 2]++;
    for (size_t g = 2; g < m.groups.count + 2; g++) m.begin[g] += m.begin[g - 1];
    for (uint32_t row = 0; row < table->row_count; row++)
        m.launchers[m.begin[m.groups.of_row[row] + 1]++] = row;
    return m;
}

static void members_free(members *m)
{
    gt_groups_free(&m->groups);
    free(m->launchers);
    free(m->begin);
}

/* ---- kernels of launchers ---- */

typedef struct kernel_list {
    gt_kernel_detail *items;
    size_t count, capacity;
} kernel_list;

static void list_kernels(const gt_ops *ops, uint32_t launcher, kernel_list *list)
{
    const gt_pytorch *trace = ops->trace;
    const gt_launcher *l = &ops->launchers->items[launcher];
    list->count = 0;
    for (size_t i = 0; i < l->count; i++) {
        uint32_t row = ops->launchers->kernels[l->first + i];
        gt_kernel_detail kernel = {.name = trace->name[row],
                                   .stream = ops->streams[row],
                                   .dur_us = trace->dur_us[row],
                                   .overlap_pct = NAN,
                                   .integral = (trace->integral[row] & GT_INTEGRAL_DURATION) != 0};
        GT_PUSH(list->items, list->count, list->capacity, kernel);
    }
}

/* What runs beside the kernels of each launcher. */
typedef struct beside {
    gt_kernel_detail *kernels; /* of launcher i: [end[i - 1], end[i]) */
    size_t count, capacity, *end;
} beside;

static int by_row(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* Gives the ops' table the columns overlapping_kernel_names and overlap_pct. */
static beside find_beside(gt_ops *ops, const gt_overlaps *overlaps)
{
    beside b = {.end = gt_alloc(ops->launchers->count * sizeof *b.end)};
    size_t names = gt_table_add_zeroed(ops->table, OVERLAPPING, GT_TYPE_TEXT);
    size_t pct = gt_table_add_zeroed(ops->table, "overlap_pct", GT_TYPE_FLOAT);
    gt_op_overlap_reader *reader = gt_op_overlap_reader_new(ops->trace, overlaps);
    uint32_t *rows = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < ops->launchers->count; i++) {
        const gt_launcher *l = &ops->launchers->items[i];
        rows = gt_grow(rows, &capacity, l->count, sizeof *rows);
        memcpy(rows, ops->launchers->kernels + l->first, l->count * sizeof *rows);
        qsort(rows, l->count, sizeof *rows, by_row); /* from the order of starts to that of the file */
        gt_op_overlap overlap = gt_op_overlap_read(reader, rows, l->count, l->direct_us);
        ops->table->columns[names].texts[i] = overlap.names;
        ops->table->columns[pct].floats[i] = overlap.overlap_pct;
        for (size_t k = 0; k < overlap.count; k++)
            GT_PUSH(b.kernels, b.count, b.capacity, overlap.kernels[k]);
        b.end[i] = b.count;
    }
    free(rows);
    gt_op_overlap_reader_free(reader);
    return b;
}

static void beside_free(beside *b, gt_ops *ops)
{
    gt_table_drop_column(ops->table, gt_table_find(ops->table, "overlap_pct"));
    gt_table_drop_column(ops->table, gt_table_find(ops->table, OVERLAPPING));
    free(b->kernels);
    free(b->end);
}

/* ---- the columns of kernels: made only for the rows that are shown ---- */

static void add_kernel_details(const gt_ops *ops, const members *m, gt_table *sheet)
{
    size_t summary = gt_table_add_zeroed(sheet, "kernel_details_summary", GT_TYPE_TEXT);
    size_t trunc = gt_table_add_zeroed(sheet, "trunc_kernel_details", GT_TYPE_TEXT);
    const int64_t *group_of = gt_table_column(sheet, "group")->ints;
    gt_kernel_stats stats = {.strings = sheet->strings};
    kernel_list list = {0};
    for (size_t row = 0; row < sheet->row_count; row++) {
        for (size_t i = m->begin[group_of[row]]; i < m->begin[group_of[row] + 1]; i++) {
            list_kernels(ops, m->launchers[i], &list);
            gt_kernel_stats_add(&stats, list.items, list.count);
        }
        gt_kernel_stats_cells cells = gt_kernel_stats_take(&stats);
        sheet->columns[summary].texts[row] = cells.summary;
        sheet->columns[trunc].texts[row] = cells.trunc;
    }
    gt_kernel_stats_free(&stats);
    free(list.items);
}

static void add_overlapping_details(const beside *b, const members *m, gt_table *sheet)
{
    size_t summary = gt_table_add_zeroed(sheet, "overlapping_kernels_details_summary", GT_TYPE_TEXT);
    size_t trunc = gt_table_add_zeroed(sheet, "trunc_overlapping_kernels_details", GT_TYPE_TEXT);
    const int64_t *group_of = gt_table_column(sheet, "group")->ints;
    gt_kernel_stats stats = {.strings = sheet->strings};
    for (size_t row = 0; row < sheet->row_count; row++) {
        for (size_t i = m->begin[group_of[row]]; i < m->begin[group_of[row] + 1]; i++) {
            uint32_t launcher = m->launchers[i];
            size_t first = launcher ? b->end[launcher - 1] : 0;
            gt_kernel_stats_add(&stats, b->kernels + first, b->end[launcher] - first);
        }
        gt_kernel_stats_cells cells = gt_kernel_stats_take(&stats);
        sheet->columns[summary].texts[row] = cells.summary;
        sheet->columns[trunc].texts[row] = cells.trunc;
    }
    gt_kernel_stats_free(&stats);
}

/* ---- the sheet ---- */

static size_t choose_keys(const gt_ops *ops, gt_unique_args_options options, const char **used)
{
    size_t count = 0;
    for (size_t i = 0; i < LENGTH(keys); i++)
        if (gt_table_find(ops->table, keys[i]) != SIZE_MAX &&
            (options.by_num_kernels || strcmp(keys[i], "num_kernels") != 0))
            used[count++] = keys[i];
    return count;
}

/* From times of the trace to times since the first of them. */
static void count_from_first(gt_column *times, size_t rows)
{
    if (!rows) return;
    if (times->type == GT_TYPE_INT) {
        int64_t first = times->ints[0];
        for (size_t row = 0; row < rows; row++) first = times->ints[row] < first ? times->ints[row] : first;
        for (size_t row = 0; row < rows; row++) times->ints[row] -= first;
        return;
    }
    double first = times->floats[0];
    for (size_t row = 0; row < rows; row++) first = fmin(first, times->floats[row]);
    for (size_t row = 0; row < rows; row++) times->floats[row] -= first;
}

/* One row a group, sorted, with its number among the groups as first seen. */
static gt_table *measure_groups(const gt_ops *ops, const char *const *used, size_t used_count, bool overlap,
                                gt_group_options how)
{
    gt_aggregate all[LENGTH(measures) + LENGTH(overlap_measures)];
    size_t count = LENGTH(measures);
    memcpy(all, measures, sizeof measures);
    if (overlap) {
        memcpy(all + count, overlap_measures, sizeof overlap_measures);
        count += LENGTH(overlap_measures);
    }
    gt_table *sheet = gt_table_group(ops->table, used, used_count, all, count, how);
    size_t group = gt_table_add_zeroed(sheet, "group", GT_TYPE_INT);
    for (size_t row = 0; row < sheet->row_count; row++) sheet->columns[group].ints[row] = (int64_t)row;
    gt_table_sort(sheet, longest_first, LENGTH(longest_first));
    return sheet;
}

/* Into the order of the sheet; what the sheet does not show goes. */
static void arrange(gt_table *sheet, const char *const *used, size_t used_count,
                    gt_unique_args_options options)
{
    static const char *const last[] = {
        "kernel_details_summary",
        "trunc_kernel_details",
        "overlapping_kernels_details_summary",
        "trunc_overlapping_kernels_details",
        "overlap_pct_mean",
        "overlap_pct_median",
        "overlap_pct_std",
        "overlap_pct_min",
        "overlap_pct_max",
        "Percentage (%)",
        "Cumulative Percentage (%)",
    };
    const char *names[LENGTH(keys) + LENGTH(measures) + LENGTH(last)];
    size_t count = 0;
    for (size_t i = 0; i < used_count; i++) names[count++] = used[i];
    for (size_t i = 0; i < LENGTH(measures); i++)
        if (options.first_occurrence || strcmp(measures[i].name, FIRST_OCCURRENCE) != 0)
            names[count++] = measures[i].name;
    for (size_t i = 0; i < LENGTH(last); i++) names[count++] = last[i];
    gt_table_select(sheet, names, count);
}

gt_table *gt_ops_unique_args(gt_ops *ops, gt_unique_args_options options)
{
    const gt_group_options how = {.keep_nulls = true};
    const char *used[LENGTH(keys)];
    beside b = {0};
    if (options.overlaps) b = find_beside(ops, options.overlaps);
    size_t used_count = choose_keys(ops, options, used);
    members m = find_members(ops->table, used, used_count, how);
    gt_table *sheet = measure_groups(ops, used, used_count, options.overlaps != NULL, how);
    gt_table_rename(sheet, options.overlaps ? "ops_unique_args_kl_overlap" : "ops_unique_args");
    count_from_first(gt_table_column(sheet, FIRST_OCCURRENCE), sheet->row_count);
    gt_table_add_percentages(sheet, gt_table_find(sheet, DIRECT "_sum"));
    if (options.topk != GT_ALL_OPS) gt_table_head(sheet, options.topk);
    add_kernel_details(ops, &m, sheet);
    if (options.overlaps) add_overlapping_details(&b, &m, sheet);
    arrange(sheet, used, used_count, options);
    members_free(&m);
    if (options.overlaps) beside_free(&b, ops);
    return sheet;
}
