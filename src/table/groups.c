/* Which rows belong together.
 *
 * The keys of each row become one 64-bit code: a key whose values are close together (string ids, small
 * ranges of integers) is its own code, other values are their bits. The codes of several keys are multiplied
 * together; where that would not fit into 64 bits, the keys so far are replaced by the numbers of their
 * groups, which fit again.
 *
 * The codes are numbered in the order of their first rows, in an array if their bound is small, otherwise in
 * a hash table. No array of codes of all rows is ever made. */
#include "table/operations.h"
#include "base/guard.h"

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

static numbering numbering_new(uint64_t code_bound, size_t row_count)
{
    numbering numbers = {.slot_bits = FIRST_SLOT_BITS, .most_slot_bits = FIRST_SLOT_BITS};
    if (code_bound / 4 <= row_count + 1024) {
        numbers.direct = gt_alloc_zero((size_t)code_bound, sizeof *numbers.direct);
        return numbers;
    }
    while (((size_t)3 << numbers.most_slot_bits) / 4 < row_count + 1) numbers.most_slot_bits++;
    numbers.slots = new_slots(numbers.slot_bits);
    return numbers;
}

static void numbering_free(numbering *numbers)
{
    gt_free_all(numbers->direct, numbers->slots);
}

static inline uint64_t hash_of(uint64_t code)
{
    uint64_t hash = (code ^ code >> 32) * 0x9E3779B97F4A7C15u;
    return (hash ^ hash >> 29) * 0xD6E8FEB86659FD93u;
}

static inline size_t home_of(uint64_t code, unsigned slot_bits)
{
    return hash_of(code) >> (64 - slot_bits);
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

/* Finds the numbers of codes. */
static void number_codes(numbering *numbers, const uint64_t *codes, size_t count, uint32_t *found)
{
    uint32_t next = numbers->count, *direct = numbers->direct;
    if (direct) {
        for (size_t i = 0; i < count; i++) {
            uint32_t number_plus_one = direct[codes[i]];
            if (!number_plus_one) direct[codes[i]] = number_plus_one = ++next;
            found[i] = number_plus_one - 1;
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
        slot *s = find_slot(slots, mask, homes[i], codes[i]);
        if (!s->number_plus_one) *s = (slot){codes[i], ++next};
        found[i] = s->number_plus_one - 1;
    }
    numbers->count = next;
}

/* ---- codes of one key: 0 for null, others below code_bound ---- */

/* Integers that are further apart than 64 bits can number are two keys. */
typedef enum key_part { WHOLE, HIGH_HALF, LOW_HALF } key_part;

typedef struct key {
    const gt_column *column;
    const uint32_t *groups; /* instead of a column: groups found before; GT_NO_GROUP is null */
    uint64_t code_bound;
    int64_t least; /* INT: the least value has code 1 */
    key_part part;
    uint32_t *own; /* groups that belong to the key */
} key;

/* Returns the number of keys that it became. */
static size_t prepare_ints(key *k, size_t row_count)
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
    if (width < UINT64_MAX - 1) {
        k->code_bound = width + 2;
        return 1;
    }
    k->part = HIGH_HALF;
    k->code_bound = ((uint64_t)1 << 32) + 1;
    k[1] = *k;
    k[1].part = LOW_HALF;
    return 2;
}

/* Returns the number of keys that it became. */
static size_t prepare_key(key *k, const gt_interner *strings, size_t row_count)
{
    switch (k->column->type) {
    case GT_TYPE_INT:
        return prepare_ints(k, row_count);
    case GT_TYPE_FLOAT:
        k->code_bound = UINT64_MAX; /* one more than the bits of any number: greater ones are NaN */
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
    return 1;
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
    if (k->part == HIGH_HALF)
        for (size_t i = 0; i < count; i++) codes[i] >>= 32;
    else if (k->part == LOW_HALF)
        for (size_t i = 0; i < count; i++) codes[i] &= UINT32_MAX;
    for (size_t i = 0; i < count; i++) codes[i]++;
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
        for (size_t i = 0; i < count; i++) {
            double value = column->floats[first_row + i];
            codes[i] = isnan(value) ? 0 : float_bits(value) + 1;
        }
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

/* ---- the groups of keys whose codes fit into 64 bits ---- */

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

/* The product of the bounds of the keys fits into 64 bits. */
static gt_groups number_rows(const key *keys, size_t key_count, size_t row_count, bool keep_nulls)
{
    gt_groups groups = {.row_count = row_count, .of_row = gt_alloc(row_count * sizeof *groups.of_row)};
    uint64_t code_bound = 1;
    for (size_t k = 0; k < key_count; k++) code_bound *= keys[k].code_bound;
    numbering numbers = numbering_new(code_bound, row_count);
    uint32_t found[BLOCK_ROWS];
    size_t capacity = 0;
    block b;
    for (b.first_row = 0; b.first_row < row_count; b.first_row += BLOCK_ROWS) {
        b.count = row_count - b.first_row < BLOCK_ROWS ? row_count - b.first_row : BLOCK_ROWS;
        if (combine_keys(&b, keys, key_count) && !keep_nulls) {
            memset(groups.of_row + b.first_row, 0xFF, b.count * sizeof *groups.of_row); /* GT_NO_GROUP */
            drop_nulls(&b);
        }
        number_codes(&numbers, b.codes, b.count, found);
        for (size_t i = 0; i < b.count; i++) {
            groups.of_row[b.rows[i]] = found[i];
            if (found[i] == groups.count) GT_PUSH(groups.first_row, groups.count, capacity, b.rows[i]);
        }
    }
    numbering_free(&numbers);
    return groups;
}

/* ---- keys that fit together ---- */

/* Replaces keys[first] to keys[last] by one key, keys[last]: the groups that they make. */
static void reduce_keys(key *keys, size_t first, size_t last, size_t row_count, bool keep_nulls)
{
    gt_groups groups = number_rows(keys + first, last - first + 1, row_count, keep_nulls);
    for (size_t k = first; k <= last; k++) gt_free(keys[k].own);
    for (size_t k = first; k < last; k++) keys[k].own = NULL;
    keys[last] =
        (key){.groups = groups.of_row, .own = groups.of_row, .code_bound = (uint64_t)groups.count + 1};
    gt_free(groups.first_row);
}

/* Makes the product of the bounds fit into 64 bits. Returns the first key that counts. */
static size_t fit_keys(key *keys, size_t key_count, size_t row_count, bool keep_nulls)
{
    uint64_t bound = 1, product;
    size_t first = 0;
    for (size_t k = 0; k < key_count; k++) {
        if (__builtin_mul_overflow(bound, keys[k].code_bound, &product)) {
            reduce_keys(keys, first, k - 1, row_count, keep_nulls);
            first = k - 1;
            bound = keys[first].code_bound;
            if (__builtin_mul_overflow(bound, keys[k].code_bound, &product)) {
                reduce_keys(keys, k, k, row_count, keep_nulls);
                product = bound * keys[k].code_bound; /* fits: there are fewer than 2^32 - 1 rows */
            }
        }
        bound = product;
    }
    return first;
}

static gt_groups find_groups(key *keys, size_t key_count, size_t row_count, bool keep_nulls)
{
    size_t first = fit_keys(keys, key_count, row_count, keep_nulls);
    gt_groups groups = number_rows(keys + first, key_count - first, row_count, keep_nulls);
    for (size_t k = 0; k < key_count; k++) gt_free(keys[k].own);
    return groups;
}

/* ---- groups in order of their keys ---- */

/* Renumbers the groups so that they ascend by key. */
static void sort_groups(gt_groups *groups, const gt_table *table, const gt_col *names, size_t key_count)
{
    uint32_t *number = gt_alloc(groups->count * sizeof *number);
    for (size_t k = key_count; k-- > 0;)
        gt_order_by_column(groups->first_row, groups->count, gt_table_column_near(table, names[k], k),
                           table->strings, false);
    for (size_t i = 0; i < groups->count; i++) number[groups->of_row[groups->first_row[i]]] = (uint32_t)i;
    for (size_t row = 0; row < groups->row_count; row++)
        if (groups->of_row[row] != GT_NO_GROUP) groups->of_row[row] = number[groups->of_row[row]];
    gt_free(number);
}

gt_groups gt_groups_find(const gt_table *table, const gt_col *names, size_t key_count,
                         gt_group_options options)
{
    if (table->row_count >= GT_NO_ROW) gt_raise_internal("table '%s' has too many rows", table->name);
    key *keys = gt_alloc_zero(2 * key_count, sizeof *keys);
    size_t count = 0;
    for (size_t k = 0; k < key_count; k++) {
        keys[count].column = gt_table_column_near(table, names[k], k);
        count += prepare_key(&keys[count], table->strings, table->row_count);
    }
    gt_groups groups = find_groups(keys, count, table->row_count, options.keep_nulls);
    if (options.sorted) sort_groups(&groups, table, names, key_count);
    gt_free(keys);
    return groups;
}

gt_groups gt_groups_split(const gt_groups *groups, const gt_column *column, const gt_interner *strings)
{
    key keys[3] = {{.groups = groups->of_row, .code_bound = (uint64_t)groups->count + 1}, {.column = column}};
    size_t count = 1 + prepare_key(&keys[1], strings, groups->row_count);
    return find_groups(keys, count, groups->row_count, false);
}

void gt_groups_free(gt_groups *groups)
{
    gt_free_all(groups->of_row, groups->first_row);
    *groups = (gt_groups){0};
}

/* ---- the rows of each group ---- */

gt_group_rows gt_group_rows_find(const gt_groups *groups)
{
    size_t *begins = gt_alloc_zero(groups->count + 1, sizeof *begins), total = 0;
    for (size_t row = 0; row < groups->row_count; row++)
        if (groups->of_row[row] != GT_NO_GROUP) begins[groups->of_row[row]]++;
    for (size_t g = 0; g <= groups->count; g++) {
        size_t here = begins[g];
        begins[g] = total;
        total += here;
    }
    uint32_t *rows = gt_alloc(total * sizeof *rows);
    size_t *next = gt_alloc(groups->count * sizeof *next);
    if (groups->count) memcpy(next, begins, groups->count * sizeof *next);
    for (size_t row = 0; row < groups->row_count; row++)
        if (groups->of_row[row] != GT_NO_GROUP) rows[next[groups->of_row[row]]++] = (uint32_t)row;
    gt_free(next);
    return (gt_group_rows){begins, rows};
}

void gt_group_rows_free(gt_group_rows *rows)
{
    gt_free_all(rows->begins, rows->rows);
    *rows = (gt_group_rows){0};
}
