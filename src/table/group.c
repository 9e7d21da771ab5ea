/* Group-by.
 *
 * Which rows belong together: one pass turns the keys of each row into one 64-bit code and numbers the codes.
 * A key whose values are close together (string ids, small ranges of integers) is its own code; other keys
 * are numbered in a hash table first. The codes of several keys are multiplied together as long as they fit
 * into 64 bits. The final codes are numbered in an array if that is small enough, otherwise in a hash table.
 *
 * The result: the key columns from the first row of each group, then one column per aggregate. What several
 * aggregates of one column need (count, sum, minimum, maximum) is computed in one pass and kept. */
#include "table/operations.h"
#include "table/column.h"
#include "table/stats.h"
#include "base/guard.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_ROWS = 512,     /* rows whose codes are computed at a time, so that they stay in the L1 cache */
    FIRST_SLOT_BITS = 12, /* initial size of a hash table */
};

/* ---- numbers for codes, in the order first seen ---- */

typedef struct slot {
    uint64_t code;
    uint32_t number_plus_one; /* 0: empty */
} slot;

typedef struct numbering {
    uint32_t *direct; /* direct[code] = number + 1; or NULL and: */
    slot *slots;
    unsigned slot_bits, most_slot_bits; /* the most: one slot per row */
    uint32_t count;
} numbering;

/* Clears with memset instead of calloc: reading fresh pages first and writing them later costs two page
 * faults each. */
static slot *new_slots(unsigned bits)
{
    size_t bytes = sizeof(slot) << bits;
    return memset(gt_alloc(bytes), 0, bytes);
}

static numbering *numbering_new(uint64_t code_bound, size_t row_count)
{
    numbering *numbers = gt_alloc_zero(1, sizeof *numbers);
    if (code_bound / 4 <= row_count + 1024) {
        numbers->direct = gt_alloc_zero((size_t)code_bound, sizeof *numbers->direct);
        return numbers;
    }
    numbers->slot_bits = numbers->most_slot_bits = FIRST_SLOT_BITS;
    while (((size_t)3 << numbers->most_slot_bits) / 4 < row_count + 1) numbers->most_slot_bits++;
    numbers->slots = new_slots(numbers->slot_bits);
    return numbers;
}

static void numbering_free(numbering *numbers)
{
    if (!numbers) return;
    gt_free(numbers->direct);
    gt_free(numbers->slots);
    gt_free(numbers);
}

static inline size_t home_of(uint64_t code, unsigned slot_bits)
{
    uint64_t hash = (code ^ code >> 32) * 0x9E3779B97F4A7C15u;
    return (hash ^ hash >> 29) * 0xD6E8FEB86659FD93u >> (64 - slot_bits);
}

/* The slot that holds the code, or the empty slot for it. */
static inline slot *find_slot(slot *slots, size_t mask, size_t home, uint64_t code)
{
    while (slots[home].number_plus_one && slots[home].code != code) home = (home + 1) & mask;
    return &slots[home];
}

/* Keeps at most a third of the slots occupied; three quarters once there are enough for all rows. */
static void make_room(numbering *numbers, size_t more)
{
    unsigned bits = numbers->slot_bits;
    if (((size_t)numbers->count + more) * 3 <= (size_t)1 << bits || bits == numbers->most_slot_bits) return;
    numbers->slot_bits = bits + 2 < numbers->most_slot_bits ? bits + 2 : numbers->most_slot_bits;
    slot *before = numbers->slots, *slots = new_slots(numbers->slot_bits);
    size_t mask = ((size_t)1 << numbers->slot_bits) - 1;
    for (size_t i = 0; i < (size_t)1 << bits; i++)
        if (before[i].number_plus_one)
            *find_slot(slots, mask, home_of(before[i].code, numbers->slot_bits), before[i].code) = before[i];
    numbers->slots = slots;
    gt_free(before);
}

/* Replaces codes by their numbers. */
static void number_codes(numbering *numbers, uint64_t *codes, size_t count)
{
    uint32_t next = numbers->count, *direct = numbers->direct;
    if (direct) {
        for (size_t i = 0; i < count; i++) {
            uint32_t number_plus_one = direct[codes[i]];
            if (!number_plus_one) direct[codes[i]] = number_plus_one = ++next;
            codes[i] = number_plus_one - 1;
        }
        numbers->count = next;
        return;
    }
    make_room(numbers, count);
    slot *slots = numbers->slots;
    size_t mask = ((size_t)1 << numbers->slot_bits) - 1, homes[BLOCK_ROWS];
    for (size_t i = 0; i < count; i++) {
        homes[i] = home_of(codes[i], numbers->slot_bits);
        __builtin_prefetch(&slots[homes[i]]);
    }
    for (size_t i = 0; i < count; i++) {
        slot *found = find_slot(slots, mask, homes[i], codes[i]);
        if (!found->number_plus_one) *found = (slot){codes[i], ++next};
        codes[i] = found->number_plus_one - 1;
    }
    numbers->count = next;
}

/* ---- codes of one key: 0 for null, others below code_bound ---- */

typedef struct key {
    const gt_column *column;
    const uint32_t *groups; /* instead of a column: groups found before; GT_NO_GROUP is null */
    uint64_t code_bound;
    int64_t least;       /* for INT values that are their own code: the least value has code 1 */
    numbering *numbers;  /* for values that are not their own code */
    numbering *combined; /* not NULL: the combined codes of the previous keys are renumbered to fit */
} key;

static void number_values(key *k, size_t row_count)
{
    k->numbers = numbering_new(UINT64_MAX, row_count);
    k->code_bound = (uint64_t)row_count + 1;
}

static void prepare_ints(key *k, size_t row_count)
{
    const gt_column *column = k->column;
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (size_t row = 0; row < row_count; row++) {
        bool counts = !column->nulls || !column->nulls[row];
        int64_t value = column->ints[row];
        least = counts && value < least ? value : least;
        most = counts && value > most ? value : most;
    }
    uint64_t width = least > most ? 0 : (uint64_t)most - (uint64_t)least;
    k->least = least;
    if (width < UINT64_MAX / 2)
        k->code_bound = width + 2;
    else
        number_values(k, row_count);
}

static void prepare_key(key *k, const gt_interner *strings, size_t row_count)
{
    switch (k->column->type) {
    case GT_TYPE_INT:
        prepare_ints(k, row_count);
        break;
    case GT_TYPE_FLOAT:
        number_values(k, row_count);
        break;
    case GT_TYPE_STRING:
        k->code_bound = gt_interner_count(strings);
        break;
    case GT_TYPE_BOOL:
        k->code_bound = 3;
        break;
    case GT_TYPE_LIST:
        gt_raise_internal("column '%s' holds lists and cannot be a key", k->column->name);
    }
}

static uint64_t float_bits(double value)
{
    uint64_t bits;
    value += 0.0; /* -0.0 becomes 0.0 */
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void code_ints(const key *k, size_t first_row, size_t count, uint64_t *codes)
{
    const int64_t *values = k->column->ints + first_row;
    for (size_t i = 0; i < count; i++) codes[i] = (uint64_t)values[i] - (uint64_t)k->least;
    if (k->numbers) number_codes(k->numbers, codes, count);
    for (size_t i = 0; i < count; i++) codes[i]++;
}

static void code_floats(const key *k, size_t first_row, size_t count, uint64_t *codes)
{
    const double *values = k->column->floats + first_row;
    for (size_t i = 0; i < count; i++) codes[i] = float_bits(values[i]);
    number_codes(k->numbers, codes, count);
    for (size_t i = 0; i < count; i++) codes[i] = isnan(values[i]) ? 0 : codes[i] + 1;
}

static void code_rows(const key *k, size_t first_row, size_t count, uint64_t *codes)
{
    const gt_column *column = k->column;
    if (k->groups) {
        for (size_t i = 0; i < count; i++)
            codes[i] = (uint32_t)(k->groups[first_row + i] + 1); /* GT_NO_GROUP: 0 */
        return;
    }
    switch (column->type) {
    case GT_TYPE_INT:
        code_ints(k, first_row, count, codes);
        break;
    case GT_TYPE_FLOAT:
        code_floats(k, first_row, count, codes);
        break;
    case GT_TYPE_STRING:
        for (size_t i = 0; i < count; i++) codes[i] = column->texts[first_row + i];
        break;
    default:
        for (size_t i = 0; i < count; i++) codes[i] = column->bools[first_row + i] ? 2 : 1;
    }
    if (column->nulls)
        for (size_t i = 0; i < count; i++)
            if (column->nulls[first_row + i]) codes[i] = 0;
}

/* ---- rows to groups ---- */

/* Decides after which keys the combined codes are renumbered. Returns the upper bound of the final codes. */
static uint64_t fit_keys(key *keys, size_t key_count, size_t row_count)
{
    uint64_t bound = 1, numbered_bound = (uint64_t)row_count + 1;
    for (size_t i = 0; i < key_count; i++) {
        uint64_t product;
        if (__builtin_mul_overflow(bound, keys[i].code_bound, &product)) {
            keys[i].combined = numbering_new(UINT64_MAX, row_count);
            bound = numbered_bound;
            if (__builtin_mul_overflow(bound, keys[i].code_bound, &product)) {
                number_values(&keys[i], row_count);
                product = bound * keys[i].code_bound; /* fits: there are fewer than 2^32 - 1 rows */
            }
        }
        bound = product;
    }
    return bound;
}

/* A block of rows being grouped: codes[i] belongs to rows[i]. */
typedef struct block {
    size_t first_row, count;
    uint64_t codes[BLOCK_ROWS];
    uint32_t rows[BLOCK_ROWS];
    uint8_t has_null[BLOCK_ROWS];
} block;

/* One code per row from the codes of all keys. Returns whether any key of any row is null. */
static bool combine_keys(block *b, const key *keys, size_t key_count)
{
    uint64_t own[BLOCK_ROWS];
    uint8_t any_null = 0;
    memset(b->codes, 0, sizeof b->codes);
    memset(b->has_null, 0, sizeof b->has_null);
    for (size_t k = 0; k < key_count; k++) {
        code_rows(&keys[k], b->first_row, b->count, k ? own : b->codes);
        const uint64_t *codes = k ? own : b->codes;
        for (size_t i = 0; i < b->count; i++) any_null |= b->has_null[i] |= codes[i] == 0;
        if (k == 0) continue;
        if (keys[k].combined) number_codes(keys[k].combined, b->codes, b->count);
        for (size_t i = 0; i < b->count; i++) b->codes[i] = b->codes[i] * keys[k].code_bound + own[i];
    }
    for (size_t i = 0; i < b->count; i++) b->rows[i] = (uint32_t)(b->first_row + i);
    return any_null;
}

static void drop_nulls(block *b)
{
    size_t left = 0;
    for (size_t i = 0; i < b->count; i++) {
        b->codes[left] = b->codes[i];
        b->rows[left] = b->rows[i];
        left += b->has_null[i] ? 0 : 1;
    }
    b->count = left;
}

static gt_groups number_rows(key *keys, size_t key_count, size_t row_count, bool keep_nulls)
{
    gt_groups groups = {.row_count = row_count, .of_row = gt_alloc(row_count * sizeof *groups.of_row)};
    numbering *numbers = numbering_new(fit_keys(keys, key_count, row_count), row_count);
    size_t capacity = 0;
    block b;
    for (b.first_row = 0; b.first_row < row_count; b.first_row += BLOCK_ROWS) {
        b.count = row_count - b.first_row < BLOCK_ROWS ? row_count - b.first_row : BLOCK_ROWS;
        if (combine_keys(&b, keys, key_count) && !keep_nulls) {
            memset(groups.of_row + b.first_row, 0xFF, b.count * sizeof *groups.of_row); /* GT_NO_GROUP */
            drop_nulls(&b);
        }
        number_codes(numbers, b.codes, b.count);
        for (size_t i = 0; i < b.count; i++) {
            groups.of_row[b.rows[i]] = (uint32_t)b.codes[i];
            if (b.codes[i] == groups.count) GT_PUSH(groups.first_row, groups.count, capacity, b.rows[i]);
        }
    }
    numbering_free(numbers);
    for (size_t k = 0; k < key_count; k++) {
        numbering_free(keys[k].numbers);
        numbering_free(keys[k].combined);
    }
    return groups;
}

/* Renumbers the groups so that they ascend by key. */
static void sort_groups(gt_groups *groups, const key *keys, size_t key_count, const gt_interner *strings)
{
    uint32_t *number = gt_alloc(groups->count * sizeof *number);
    for (size_t k = key_count; k-- > 0;)
        gt_order_by_column(groups->first_row, groups->count, keys[k].column, strings, false);
    for (size_t i = 0; i < groups->count; i++) number[groups->of_row[groups->first_row[i]]] = (uint32_t)i;
    for (size_t row = 0; row < groups->row_count; row++)
        if (groups->of_row[row] != GT_NO_GROUP) groups->of_row[row] = number[groups->of_row[row]];
    gt_free(number);
}

gt_groups gt_groups_find(const gt_table *table, const gt_col *names, size_t key_count,
                         gt_group_options options)
{
    if (table->row_count >= GT_NO_ROW) gt_raise_internal("table '%s' has too many rows", table->name);
    key *keys = gt_alloc_zero(key_count, sizeof *keys);
    for (size_t k = 0; k < key_count; k++) {
        keys[k].column = gt_table_column_near(table, names[k], k);
        prepare_key(&keys[k], table->strings, table->row_count);
    }
    gt_groups groups = number_rows(keys, key_count, table->row_count, options.keep_nulls);
    if (options.sorted) sort_groups(&groups, keys, key_count, table->strings);
    gt_free(keys);
    return groups;
}

gt_groups gt_groups_split(const gt_groups *groups, const gt_column *column, const gt_interner *strings)
{
    key keys[] = {{.groups = groups->of_row, .code_bound = (uint64_t)groups->count + 1}, {.column = column}};
    prepare_key(&keys[1], strings, groups->row_count);
    return number_rows(keys, 2, groups->row_count, false);
}

void gt_groups_free(gt_groups *groups)
{
    gt_free(groups->of_row);
    gt_free(groups->first_row);
    *groups = (gt_groups){0};
}

gt_group_rows gt_group_rows_find(const gt_groups *groups)
{
    size_t *begins = gt_alloc_zero(groups->count + 2, sizeof *begins);
    uint32_t *rows = gt_alloc(groups->row_count * sizeof *rows);
    for (size_t row = 0; row < groups->row_count; row++)
        if (groups->of_row[row] != GT_NO_GROUP) begins[groups->of_row[row] + 2]++;
    for (size_t g = 0; g < groups->count; g++) begins[g + 2] += begins[g + 1];
    /* begins[g + 1] is where group g begins; adding its rows moves it to where group g + 1 begins. */
    for (size_t row = 0; row < groups->row_count; row++)
        if (groups->of_row[row] != GT_NO_GROUP) rows[begins[groups->of_row[row] + 1]++] = (uint32_t)row;
    return (gt_group_rows){begins, rows};
}

void gt_group_rows_free(gt_group_rows *rows)
{
    gt_free(rows->begins);
    gt_free(rows->rows);
    *rows = (gt_group_rows){0};
}

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

/* ---- one function per aggregate ---- */

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
            gt_column_take(gt_table_column_near(table, keys[k], k), j.groups.first_row, j.groups.count);
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
