/* Which rows belong together: one pass turns the keys of each row into one 64-bit code and numbers the codes.
 *
 * A key whose values lie close together (text ids, small ranges of integers) is its own code; others are
 * numbered in a hash table first. Codes of several keys are multiplied together as long as they fit into 64
 * bits. The numbers of the final codes come from an array where that is small enough, from a hash table
 * otherwise. */
#include "table/group.h"
#include "table/sort.h"
#include "base/guard.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_ROWS = 512,     /* codes are made for so many rows at a time: they stay in the first-level cache */
    FIRST_SLOT_BITS = 12, /* of a hash table */
};

/* ---- numbers for codes, in the order first seen ---- */

typedef struct slot {
    uint64_t code;
    uint32_t number_plus_one; /* 0: empty */
} slot;

typedef struct numbering {
    uint32_t *direct; /* direct[code] = number + 1; or NULL and: */
    slot *slots;
    unsigned slot_bits, most_slot_bits; /* the most: room for a number a row */
    uint32_t count;
} numbering;

/* Cleared by writing: reading fresh pages first and writing them later costs two page faults each. */
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

/* The slot that holds the code or will. */
static inline slot *find_slot(slot *slots, size_t mask, size_t home, uint64_t code)
{
    while (slots[home].number_plus_one && slots[home].code != code) home = (home + 1) & mask;
    return &slots[home];
}

/* Keeps at most a third of the slots taken; three quarters once there are as many as all rows could need. */
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
    const uint32_t *groups; /* instead of a column: groups found before, GT_NO_GROUP being null */
    uint64_t code_bound;
    int64_t least;       /* of INT values that are their own code: the least of them is code 1 */
    numbering *numbers;  /* of values that are not their own code */
    numbering *combined; /* not NULL: the codes of the keys before this one are numbered, to make room */
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
        for (size_t i = 0; i < count; i++) codes[i] = (uint32_t)(k->groups[first_row + i] + 1); /* none: 0 */
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

/* Decides where the codes of several keys are numbered in between. Returns the bound of the codes of all
 * keys. */
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

/* A block of rows on its way: codes[i] belongs to rows[i]. */
typedef struct block {
    size_t first_row, count;
    uint64_t codes[BLOCK_ROWS];
    uint32_t rows[BLOCK_ROWS];
    uint8_t has_null[BLOCK_ROWS];
} block;

/* One code a row from the codes of all keys. Returns whether a key is null in any of the rows. */
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
    GT_CHECK(table->row_count < GT_NO_ROW);
    key *keys = gt_alloc_zero(key_count, sizeof *keys);
    for (size_t k = 0; k < key_count; k++) {
        keys[k].column = gt_table_column(table, names[k]);
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
