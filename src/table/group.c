/* Group-by: the key columns from the first row of each group, then one column per aggregate. What several
 * aggregates of one column need (count, sum, minimum, maximum) is computed in one pass and kept. groups.c
 * finds the groups, group_stats.c computes the aggregates. */
#include "table/operations.h"
#include "table/column.h"
#include "table/stats.h"
#include "base/guard.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- aggregates ---- */

/* A column that aggregates are computed from, and what has been computed so far. */
typedef struct source {
    const gt_column *column;
    int64_t *widened; /* of a BOOL column: its values as integers */
    gt_int_summary *ints;
    double *wide_sums; /* not NULL: an integer sum does not fit */
    gt_float_summary *floats;
} source;

typedef struct job {
    const gt_table *table;
    gt_groups groups;
    gt_divided_rows *rows;
    gt_table *result;
} job;

static int64_t *widen_bools(const gt_column *column, size_t row_count)
{
    int64_t *ints = gt_alloc(row_count * sizeof *ints);
    for (size_t row = 0; row < row_count; row++) ints[row] = column->bools[row] != 0;
    return ints;
}

static gt_numbers numbers_of(const job *j, source *s)
{
    const gt_column *column = s->column;
    if (column->type == GT_TYPE_FLOAT) return (gt_numbers){.floats = column->floats};
    if (column->type == GT_TYPE_INT) return (gt_numbers){.ints = column->ints, .nulls = column->nulls};
    GT_CHECK(column->type == GT_TYPE_BOOL);
    if (!s->widened) s->widened = widen_bools(column, j->groups.row_count);
    return (gt_numbers){.ints = s->widened, .nulls = column->nulls};
}

static void summarize(const job *j, source *s)
{
    if (s->ints || s->floats) return;
    const gt_groups *g = &j->groups;
    gt_numbers values = numbers_of(j, s);
    if (s->column->type == GT_TYPE_FLOAT) {
        s->floats = gt_alloc(g->count * sizeof *s->floats);
        gt_group_floats(j->rows, values.floats, s->floats);
        return;
    }
    s->ints = gt_alloc(g->count * sizeof *s->ints);
    if (gt_group_ints(j->rows, values.ints, values.nulls, s->ints)) return;
    s->wide_sums = gt_alloc(g->count * sizeof *s->wide_sums);
    gt_group_wide_sums(j->rows, values.ints, values.nulls, s->wide_sums);
}

static void source_free(source *s)
{
    gt_free(s->widened);
    gt_free(s->ints);
    gt_free(s->wide_sums);
    gt_free(s->floats);
}

static gt_column *add_result(job *j, gt_col name, gt_type type)
{
    size_t index = gt_table_add_zeroed(j->result, name, type); /* first: it may move the columns */
    return &j->result->columns[index];
}

/* ---- one function per aggregate ---- */

static void make_size(job *j, source *s, gt_col name)
{
    (void)s;
    gt_group_sizes(j->rows, NULL, NULL, add_result(j, name, GT_TYPE_INT)->ints);
}

static bool has_value(const void *column, size_t row)
{
    return !gt_column_is_null(column, row);
}

static void make_count(job *j, source *s, gt_col name)
{
    int64_t *counts = add_result(j, name, GT_TYPE_INT)->ints;
    if (s->column->type == GT_TYPE_STRING || s->column->type == GT_TYPE_LIST) {
        gt_group_sizes(j->rows, has_value, s->column, counts);
        return;
    }
    summarize(j, s);
    for (size_t g = 0; g < j->groups.count; g++) counts[g] = s->ints ? s->ints[g].count : s->floats[g].count;
}

static void make_distinct(job *j, source *s, gt_col name)
{
    int64_t *counts = add_result(j, name, GT_TYPE_INT)->ints;
    gt_groups split = gt_groups_split(&j->groups, s->column, j->table->strings);
    for (size_t i = 0; i < split.count; i++) counts[j->groups.of_row[split.first_row[i]]]++;
    gt_groups_free(&split);
}

static void make_sum(job *j, source *s, gt_col name)
{
    summarize(j, s);
    bool is_int = s->ints && !s->wide_sums;
    gt_column *sums = add_result(j, name, is_int ? GT_TYPE_INT : GT_TYPE_FLOAT);
    for (size_t g = 0; g < j->groups.count; g++) {
        if (is_int)
            sums->ints[g] = s->ints[g].sum;
        else
            sums->floats[g] = s->wide_sums ? s->wide_sums[g] : s->floats[g].sum;
    }
}

static void make_mean(job *j, source *s, gt_col name)
{
    summarize(j, s);
    double *means = add_result(j, name, GT_TYPE_FLOAT)->floats;
    for (size_t g = 0; g < j->groups.count; g++) {
        int64_t count = s->ints ? s->ints[g].count : s->floats[g].count;
        double sum = s->wide_sums ? s->wide_sums[g] : s->ints ? (double)s->ints[g].sum : s->floats[g].sum;
        if (count) means[g] = sum / (double)count;
    }
}

static void make_median(job *j, source *s, gt_col name)
{
    double *medians = add_result(j, name, GT_TYPE_FLOAT)->floats;
    gt_group_medians(j->rows, numbers_of(j, s), medians);
}

static void make_std(job *j, source *s, gt_col name)
{
    double *stds = add_result(j, name, GT_TYPE_FLOAT)->floats;
    gt_group_stds(j->rows, numbers_of(j, s), stds);
}

/* The strings of a column, for picking the first or last one in byte order. */
typedef struct text_order {
    const uint32_t *texts;
    const gt_interner *strings;
    bool greatest;
} text_order;

static bool is_further(const void *context, uint32_t before, uint32_t row)
{
    const text_order *o = context;
    uint32_t id = o->texts[row];
    if (id == GT_STR_NONE) return false;
    if (before == GT_NO_ROW) return true;
    if (id == o->texts[before]) return false;
    int order =
        gt_str_compare(gt_interner_get(o->strings, id), gt_interner_get(o->strings, o->texts[before]));
    return o->greatest ? order > 0 : order < 0;
}

/* Adds the cells of the column in the picked row of each group. */
static void add_picked(job *j, const gt_column *column, gt_col name,
                       bool (*replaces)(const void *, uint32_t, uint32_t), const void *context)
{
    uint32_t *rows = gt_alloc(j->groups.count * sizeof *rows);
    gt_group_pick(j->rows, replaces, context, rows);
    gt_column picked = gt_column_take(column, rows, j->groups.count);
    GT_PUSH(j->result->columns, j->result->column_count, j->result->column_capacity, picked);
    gt_table_rename_column(j->result, j->result->column_count - 1, name);
    gt_free(rows);
}

static void make_extreme_text(job *j, source *s, gt_col name, bool greatest)
{
    text_order order = {s->column->texts, j->table->strings, greatest};
    size_t index = gt_table_add_column(j->result, name, GT_TYPE_STRING);
    uint32_t *rows = gt_alloc(j->groups.count * sizeof *rows);
    gt_group_pick(j->rows, is_further, &order, rows);
    for (size_t g = 0; g < j->groups.count; g++)
        if (rows[g] != GT_NO_ROW) j->result->columns[index].texts[g] = s->column->texts[rows[g]];
    gt_free(rows);
}

static void make_extreme(job *j, source *s, gt_col name, bool greatest)
{
    if (s->column->type == GT_TYPE_STRING) {
        make_extreme_text(j, s, name, greatest);
        return;
    }
    summarize(j, s);
    size_t index = gt_table_add_column(j->result, name, s->column->type);
    for (size_t g = 0; g < j->groups.count; g++) {
        if (s->floats) {
            if (s->floats[g].count)
                gt_table_set_float(j->result, index, g, greatest ? s->floats[g].max : s->floats[g].min);
        } else if (s->ints[g].count) {
            int64_t value = greatest ? s->ints[g].max : s->ints[g].min;
            if (s->column->type == GT_TYPE_BOOL)
                gt_table_set_bool(j->result, index, g, value != 0);
            else
                gt_table_set_int(j->result, index, g, value);
        }
    }
}

static void make_min(job *j, source *s, gt_col name)
{
    make_extreme(j, s, name, false);
}

static void make_max(job *j, source *s, gt_col name)
{
    make_extreme(j, s, name, true);
}

static bool is_first_value(const void *column, uint32_t before, uint32_t row)
{
    return before == GT_NO_ROW && !gt_column_is_null(column, row);
}

static bool is_value(const void *column, uint32_t before, uint32_t row)
{
    (void)before;
    return !gt_column_is_null(column, row);
}

static void make_first(job *j, source *s, gt_col name)
{
    add_picked(j, s->column, name, is_first_value, s->column);
}

static void make_last(job *j, source *s, gt_col name)
{
    add_picked(j, s->column, name, is_value, s->column);
}

static void (*const makers[])(job *, source *, gt_col) = {
    [GT_GROUP_SIZE] = make_size,   [GT_GROUP_COUNT] = make_count, [GT_GROUP_DISTINCT] = make_distinct,
    [GT_GROUP_SUM] = make_sum,     [GT_GROUP_MEAN] = make_mean,   [GT_GROUP_MEDIAN] = make_median,
    [GT_GROUP_STD] = make_std,     [GT_GROUP_MIN] = make_min,     [GT_GROUP_MAX] = make_max,
    [GT_GROUP_FIRST] = make_first, [GT_GROUP_LAST] = make_last,
};

gt_table *gt_table_group(const gt_table *table, const gt_col *keys, size_t key_count,
                         const gt_aggregate *aggregates, size_t aggregate_count, gt_group_options options)
{
    job j = {.table = table, .groups = gt_groups_find(table, keys, key_count, options)};
    j.rows = gt_divided_rows_new(j.groups.of_row, j.groups.row_count, j.groups.count);
    j.result = gt_table_new(gt_sheet_named(table->name), table->strings);
    for (size_t k = 0; k < key_count; k++) {
        gt_column column =
            gt_column_take(gt_table_column_near(table, keys[k], k), j.groups.first_row, j.groups.count);
        GT_PUSH(j.result->columns, j.result->column_count, j.result->column_capacity, column);
    }
    j.result->row_count = j.groups.count;
    source *sources = gt_alloc_zero(table->column_count, sizeof *sources);
    for (size_t a = 0; a < aggregate_count; a++) {
        gt_memory_poll();
        source *s = NULL;
        if (aggregates[a].kind != GT_GROUP_SIZE) {
            const gt_column *column = gt_table_column(table, aggregates[a].column);
            s = &sources[column - table->columns];
            s->column = column;
        }
        makers[aggregates[a].kind](&j, s, aggregates[a].name);
    }
    for (size_t c = 0; c < table->column_count; c++) source_free(&sources[c]);
    gt_free(sources);
    gt_divided_rows_free(j.rows);
    gt_groups_free(&j.groups);
    return j.result;
}
