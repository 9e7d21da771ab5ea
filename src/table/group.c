/* Group-by: the key columns from the first row of each group, then one column per aggregate. What several
 * aggregates of one column need (count, sum, minimum, maximum) is computed in one pass and kept. groups.c
 * finds the groups, group_stats.c computes the aggregates.
 *
 * Each aggregate is a loop over all rows. Threads run the loops of several aggregates at the same time: first
 * those whose results the columns are made of, then, when all columns are there, those that write into a
 * column. */
#include "table/column.h"
#include "table/stats.h"
#include "base/guard.h"
#include "base/team.h"

/* ---- aggregates ---- */

/* A column that aggregates are computed from, and what has been computed so far. */
typedef struct source {
    const gt_column *column;
    int64_t *widened; /* of a BOOL column: its values as integers */
    gt_int_summary *ints;
    double *wide_sums; /* not NULL: an integer sum does not fit */
    gt_float_summary *floats;
    bool is_summarized; /* an aggregate does it */
} source;

/* An aggregate, between the steps that it is made in. */
typedef struct step {
    const gt_aggregate *wanted;
    source *source;   /* NULL: the number of rows */
    bool summarizes;  /* the first one that needs the summary of its source */
    uint32_t *picked; /* by group: the row whose cell it is; NULL: none */
    size_t column;    /* of the result */
} step;

typedef struct job {
    const gt_table *table;
    gt_groups groups;
    gt_table *result;
    step *steps;
} job;

static int64_t *widen_bools(const gt_column *column, size_t row_count)
{
    int64_t *ints = gt_alloc(row_count * sizeof *ints);
    for (size_t row = 0; row < row_count; row++) ints[row] = column->bools[row] != 0;
    return ints;
}

static gt_numbers numbers_of(const source *s)
{
    const gt_column *column = s->column;
    if (column->type == GT_TYPE_FLOAT) return (gt_numbers){.floats = column->floats};
    if (column->type == GT_TYPE_INT) return (gt_numbers){.ints = column->ints, .nulls = column->nulls};
    GT_CHECK(column->type == GT_TYPE_BOOL);
    return (gt_numbers){.ints = s->widened, .nulls = column->nulls};
}

static void summarize(const job *j, source *s)
{
    const gt_groups *g = &j->groups;
    gt_numbers values = numbers_of(s);
    if (s->column->type == GT_TYPE_FLOAT) {
        s->floats = gt_alloc(g->count * sizeof *s->floats);
        gt_group_floats(&j->groups, values.floats, s->floats);
        return;
    }
    s->ints = gt_alloc(g->count * sizeof *s->ints);
    if (gt_group_ints(&j->groups, values.ints, values.nulls, s->ints)) return;
    s->wide_sums = gt_alloc(g->count * sizeof *s->wide_sums);
    gt_group_wide_sums(&j->groups, values.ints, values.nulls, s->wide_sums);
}

static void source_free(source *s)
{
    gt_free_all(s->widened, s->ints, s->wide_sums, s->floats);
}

/* ---- the first loops: summaries, and the rows that cells are taken from ---- */

static bool is_text(const source *s)
{
    return s->column->type == GT_TYPE_STRING || s->column->type == GT_TYPE_LIST;
}

static bool needs_summary(const step *s)
{
    switch (s->wanted->kind) {
    case GT_GROUP_COUNT:
        return !is_text(s->source);
    case GT_GROUP_SUM:
    case GT_GROUP_MEAN:
        return true;
    case GT_GROUP_MIN:
    case GT_GROUP_MAX:
        return s->source->column->type != GT_TYPE_STRING;
    default:
        return false;
    }
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

static bool is_first_value(const void *column, uint32_t before, uint32_t row)
{
    return before == GT_NO_ROW && !gt_column_is_null(column, row);
}

static bool is_value(const void *column, uint32_t before, uint32_t row)
{
    (void)before;
    return !gt_column_is_null(column, row);
}

static void pick_rows(const job *j, step *s)
{
    const gt_column *column = s->source->column;
    gt_group_kind kind = s->wanted->kind;
    bool is_end = kind == GT_GROUP_FIRST || kind == GT_GROUP_LAST;
    text_order order = {column->texts, j->table->strings, kind == GT_GROUP_MAX};
    s->picked = gt_alloc(j->groups.count * sizeof *s->picked);
    if (is_end)
        gt_group_pick(&j->groups, kind == GT_GROUP_FIRST ? is_first_value : is_value, column, s->picked);
    else
        gt_group_pick(&j->groups, is_further, &order, s->picked);
}

static void begin_step(void *context, size_t index)
{
    job *j = context;
    step *s = &j->steps[index];
    gt_group_kind kind = s->wanted->kind;
    bool is_extreme = kind == GT_GROUP_MIN || kind == GT_GROUP_MAX;
    if (s->summarizes)
        summarize(j, s->source);
    else if (kind == GT_GROUP_FIRST || kind == GT_GROUP_LAST || (is_extreme && !needs_summary(s)))
        pick_rows(j, s);
}

/* ---- the columns, in the order of the aggregates ---- */

static gt_column *add_result(job *j, step *s, gt_type type)
{
    s->column = gt_table_add_zeroed(j->result, s->wanted->name, type); /* first: it may move the columns */
    return &j->result->columns[s->column];
}

static void add_count(job *j, step *s)
{
    const source *from = s->source;
    int64_t *counts = add_result(j, s, GT_TYPE_INT)->ints;
    if (!needs_summary(s)) return;
    for (size_t g = 0; g < j->groups.count; g++)
        counts[g] = from->ints ? from->ints[g].count : from->floats[g].count;
}

static void add_sum(job *j, step *s)
{
    const source *from = s->source;
    bool is_int = from->ints && !from->wide_sums;
    gt_column *sums = add_result(j, s, is_int ? GT_TYPE_INT : GT_TYPE_FLOAT);
    for (size_t g = 0; g < j->groups.count; g++) {
        if (is_int)
            sums->ints[g] = from->ints[g].sum;
        else
            sums->floats[g] = from->wide_sums ? from->wide_sums[g] : from->floats[g].sum;
    }
}

static void add_mean(job *j, step *s)
{
    const source *from = s->source;
    double *means = add_result(j, s, GT_TYPE_FLOAT)->floats;
    for (size_t g = 0; g < j->groups.count; g++) {
        int64_t count = from->ints ? from->ints[g].count : from->floats[g].count;
        double sum = from->wide_sums ? from->wide_sums[g]
                     : from->ints    ? (double)from->ints[g].sum
                                     : from->floats[g].sum;
        if (count) means[g] = sum / (double)count;
    }
}

/* A column that the second loops fill. */
static void add_int(job *j, step *s)
{
    add_result(j, s, GT_TYPE_INT);
}

static void add_float(job *j, step *s)
{
    add_result(j, s, GT_TYPE_FLOAT);
}

static void add_extreme_text(job *j, step *s)
{
    size_t index = gt_table_add_column(j->result, s->wanted->name, GT_TYPE_STRING);
    for (size_t g = 0; g < j->groups.count; g++)
        if (s->picked[g] != GT_NO_ROW)
            j->result->columns[index].texts[g] = s->source->column->texts[s->picked[g]];
}

static void add_extreme(job *j, step *s)
{
    if (s->picked) {
        add_extreme_text(j, s);
        return;
    }
    const source *from = s->source;
    bool greatest = s->wanted->kind == GT_GROUP_MAX;
    size_t index = gt_table_add_column(j->result, s->wanted->name, from->column->type);
    for (size_t g = 0; g < j->groups.count; g++) {
        if (from->floats) {
            if (from->floats[g].count)
                gt_table_set_float(j->result, index, g, greatest ? from->floats[g].max : from->floats[g].min);
        } else if (from->ints[g].count) {
            int64_t value = greatest ? from->ints[g].max : from->ints[g].min;
            if (from->column->type == GT_TYPE_BOOL)
                gt_table_set_bool(j->result, index, g, value != 0);
            else
                gt_table_set_int(j->result, index, g, value);
        }
    }
}

/* The cells of the picked rows. */
static void add_picked(job *j, step *s)
{
    gt_column picked = gt_column_take(s->source->column, s->picked, j->groups.count);
    GT_PUSH(j->result->columns, j->result->column_count, j->result->column_capacity, picked);
    gt_table_rename_column(j->result, j->result->column_count - 1, s->wanted->name);
}

static void (*const adders[])(job *, step *) = {
    [GT_GROUP_SIZE] = add_int,     [GT_GROUP_COUNT] = add_count, [GT_GROUP_DISTINCT] = add_int,
    [GT_GROUP_SUM] = add_sum,      [GT_GROUP_MEAN] = add_mean,   [GT_GROUP_MEDIAN] = add_float,
    [GT_GROUP_STD] = add_float,    [GT_GROUP_MIN] = add_extreme, [GT_GROUP_MAX] = add_extreme,
    [GT_GROUP_FIRST] = add_picked, [GT_GROUP_LAST] = add_picked,
};

/* ---- the second loops: what is written into a column ---- */

static bool has_value(const void *column, size_t row)
{
    return !gt_column_is_null(column, row);
}

static void count_distinct(const job *j, const source *s, int64_t *counts)
{
    gt_groups split = gt_groups_split(&j->groups, s->column, j->table->strings);
    for (size_t i = 0; i < split.count; i++) counts[j->groups.of_row[split.first_row[i]]]++;
    gt_groups_free(&split);
}

static void end_step(void *context, size_t index)
{
    job *j = context;
    const step *s = &j->steps[index];
    const gt_column *column = &j->result->columns[s->column];
    switch (s->wanted->kind) {
    case GT_GROUP_SIZE:
        gt_group_sizes(&j->groups, NULL, NULL, column->ints);
        break;
    case GT_GROUP_COUNT:
        if (!needs_summary(s)) gt_group_sizes(&j->groups, has_value, s->source->column, column->ints);
        break;
    case GT_GROUP_DISTINCT:
        count_distinct(j, s->source, column->ints);
        break;
    case GT_GROUP_MEDIAN:
        gt_group_medians(&j->groups, numbers_of(s->source), column->floats);
        break;
    case GT_GROUP_STD:
        gt_group_stds(&j->groups, numbers_of(s->source), column->floats);
        break;
    default:
        break;
    }
}

/* ---- all of it ---- */

/* The values of a BOOL column as integers, if an aggregate computes with them. */
static void widen(const job *j, const step *s)
{
    bool computes = needs_summary(s) || s->wanted->kind == GT_GROUP_MEDIAN || s->wanted->kind == GT_GROUP_STD;
    if (computes && s->source->column->type == GT_TYPE_BOOL && !s->source->widened)
        s->source->widened = widen_bools(s->source->column, j->groups.row_count);
}

static void make_aggregates(job *j, const gt_aggregate *aggregates, size_t count)
{
    const gt_table *table = j->table;
    source *sources = gt_alloc_zero(table->column_count, sizeof *sources);
    j->steps = gt_alloc_zero(count, sizeof *j->steps);
    for (size_t a = 0; a < count; a++) {
        step *s = &j->steps[a];
        s->wanted = &aggregates[a];
        if (s->wanted->kind == GT_GROUP_SIZE) continue;
        const gt_column *column = gt_table_column(table, s->wanted->column);
        s->source = &sources[column - table->columns];
        s->source->column = column;
        s->summarizes = needs_summary(s) && !s->source->is_summarized;
        s->source->is_summarized |= s->summarizes;
        widen(j, s);
    }
    gt_parallel_each(count, begin_step, j);
    for (size_t a = 0; a < count; a++) {
        adders[aggregates[a].kind](j, &j->steps[a]);
        gt_free(j->steps[a].picked);
    }
    gt_parallel_each(count, end_step, j);
    for (size_t c = 0; c < table->column_count; c++) source_free(&sources[c]);
    gt_free_all(sources, j->steps);
}

gt_table *gt_table_group(const gt_table *table, const gt_col *keys, size_t key_count,
                         const gt_aggregate *aggregates, size_t aggregate_count, gt_group_options options)
{
    job j = {.table = table, .groups = gt_groups_find(table, keys, key_count, options)};
    j.result = gt_table_new(gt_sheet_named(table->name), table->strings);
    for (size_t k = 0; k < key_count; k++) {
        gt_column column =
            gt_column_take(gt_table_column_near(table, keys[k], k), j.groups.first_row, j.groups.count);
        GT_PUSH(j.result->columns, j.result->column_count, j.result->column_capacity, column);
    }
    j.result->row_count = j.groups.count;
    make_aggregates(&j, aggregates, aggregate_count);
    gt_groups_free(&j.groups);
    return j.result;
}
