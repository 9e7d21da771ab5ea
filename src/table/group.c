/* Group-by on tables: the key columns from the first row of each group, then one column an aggregate.
 *
 * What several aggregates of one column need (count, sum, least, greatest) is found in one pass and kept. */
#include "table/group.h"
#include "table/column.h"
#include "base/guard.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A column that aggregates are made of, and what is known of its groups so far. */
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
        gt_group_floats(g->of_row, g->row_count, values.floats, s->floats, g->count);
        return;
    }
    s->ints = gt_alloc(g->count * sizeof *s->ints);
    if (gt_group_ints(g->of_row, g->row_count, values.ints, values.nulls, s->ints, g->count)) return;
    s->wide_sums = gt_alloc(g->count * sizeof *s->wide_sums);
    gt_group_wide_sums(g->of_row, g->row_count, values.ints, values.nulls, s->wide_sums, g->count);
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

/* ---- one function an aggregate ---- */

static void make_size(job *j, source *s, gt_col name)
{
    (void)s;
    int64_t *sizes = add_result(j, name, GT_TYPE_INT)->ints;
    for (size_t row = 0; row < j->groups.row_count; row++)
        if (j->groups.of_row[row] != GT_NO_GROUP) sizes[j->groups.of_row[row]]++;
}

static void make_count(job *j, source *s, gt_col name)
{
    int64_t *counts = add_result(j, name, GT_TYPE_INT)->ints;
    if (s->column->type != GT_TYPE_STRING && s->column->type != GT_TYPE_LIST) {
        summarize(j, s);
        for (size_t g = 0; g < j->groups.count; g++)
            counts[g] = s->ints ? s->ints[g].count : s->floats[g].count;
        return;
    }
    for (size_t row = 0; row < j->groups.row_count; row++)
        if (j->groups.of_row[row] != GT_NO_GROUP && !gt_column_is_null(s->column, row))
            counts[j->groups.of_row[row]]++;
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
    gt_group_medians(j->groups.of_row, j->groups.row_count, numbers_of(j, s), medians, j->groups.count);
}

static void make_std(job *j, source *s, gt_col name)
{
    double *stds = add_result(j, name, GT_TYPE_FLOAT)->floats;
    gt_group_stds(j->groups.of_row, j->groups.row_count, numbers_of(j, s), stds, j->groups.count);
}

static void make_extreme_text(job *j, source *s, gt_col name, bool greatest)
{
    uint32_t *best = add_result(j, name, GT_TYPE_STRING)->texts;
    for (size_t row = 0; row < j->groups.row_count; row++) {
        uint32_t group = j->groups.of_row[row], id = s->column->texts[row];
        if (group == GT_NO_GROUP || id == GT_STR_NONE || id == best[group]) continue;
        if (best[group] != GT_STR_NONE) {
            int order = gt_str_compare(gt_interner_get(j->table->strings, id),
                                       gt_interner_get(j->table->strings, best[group]));
            if (greatest ? order < 0 : order > 0) continue;
        }
        best[group] = id;
    }
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

static void make_picked(job *j, source *s, gt_col name, bool last)
{
    uint32_t *rows = gt_alloc(j->groups.count * sizeof *rows);
    for (size_t g = 0; g < j->groups.count; g++) rows[g] = GT_NO_ROW;
    for (size_t row = 0; row < j->groups.row_count; row++) {
        uint32_t group = j->groups.of_row[row];
        if (group == GT_NO_GROUP || (!last && rows[group] != GT_NO_ROW)) continue;
        if (!gt_column_is_null(s->column, row)) rows[group] = (uint32_t)row;
    }
    gt_column picked = gt_column_take(s->column, rows, j->groups.count);
    GT_PUSH(j->result->columns, j->result->column_count, j->result->column_capacity, picked);
    gt_table_rename_column(j->result, j->result->column_count - 1, name);
    gt_free(rows);
}

static void make_first(job *j, source *s, gt_col name)
{
    make_picked(j, s, name, false);
}

static void make_last(job *j, source *s, gt_col name)
{
    make_picked(j, s, name, true);
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
    j.result = gt_table_new(gt_sheet_named(table->name), table->strings);
    for (size_t k = 0; k < key_count; k++) {
        gt_column column =
            gt_column_take(gt_table_column(table, keys[k]), j.groups.first_row, j.groups.count);
        GT_PUSH(j.result->columns, j.result->column_count, j.result->column_capacity, column);
    }
    j.result->row_count = j.groups.count;
    source *sources = gt_alloc_zero(table->column_count, sizeof *sources);
    for (size_t a = 0; a < aggregate_count; a++) {
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
    gt_groups_free(&j.groups);
    return j.result;
}
