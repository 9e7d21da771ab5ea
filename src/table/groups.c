/* Which rows belong together.
 *
 * The keys of each row become one 64-bit code: a key whose values are close together (string ids, small
 * ranges of integers) is its own code, other values are their bits. The codes of several keys are multiplied
 * together; where that would not fit into 64 bits, the keys so far are replaced by the numbers of their
 * groups, which fit again.
 *
 * The codes are numbered in the order of their first rows, in three steps that all threads share. Each range
 * of rows numbers its codes on its own, in an array if their bound is small, otherwise in a hash table. Then
 * the codes of all ranges are compared, divided by hash into buckets that are independent of each other: a
 * code that an earlier range has is that range's. The rest are the groups, in the order of their first rows.
 * Last, the numbers of the rows are replaced. No array of codes of all rows is ever made. */
#include "table/operations.h"
#include "table/divided_rows.h"
#include "table/ranges.h"
#include "base/guard.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_ROWS = 512,     /* rows whose codes are computed at a time, so that they stay in the L1 cache */
    FIRST_SLOT_BITS = 12, /* initial size of a hash table */
    MERGE_BUCKETS = 64,
    BUCKET_SHIFT = 20, /* a hash table uses the highest bits of a hash, the bucket is chosen by these */
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
    gt_free(numbers->direct);
    gt_free(numbers->slots);
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

typedef struct extent {
    int64_t least, most;
} extent;

typedef struct extent_search {
    const gt_column *column;
    size_t row_count;
    extent *found; /* by range */
} extent_search;

static void find_extent(void *context, size_t range)
{
    const extent_search *search = context;
    const gt_column *column = search->column;
    int64_t least = INT64_MAX, most = INT64_MIN;
    size_t row, end;
    for (gt_table_range(search->row_count, range, &row, &end); row < end; row++) {
        bool counts = !column->nulls || !column->nulls[row];
        int64_t value = column->ints[row];
        least = counts && value < least ? value : least;
        most = counts && value > most ? value : most;
    }
    search->found[range] = (extent){least, most};
}

/* Returns the number of keys that it became. */
static size_t prepare_ints(key *k, size_t row_count)
{
    size_t ranges = gt_table_range_count(row_count);
    extent_search search = {k->column, row_count, gt_alloc(ranges * sizeof *search.found)};
    extent all = {INT64_MAX, INT64_MIN};
    gt_parallel_each(ranges, find_extent, &search);
    for (size_t i = 0; i < ranges; i++) {
        if (search.found[i].least < all.least) all.least = search.found[i].least;
        if (search.found[i].most > all.most) all.most = search.found[i].most;
    }
    gt_free(search.found);
    uint64_t width = all.least > all.most ? 0 : (uint64_t)all.most - (uint64_t)all.least;
    k->least = all.least;
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

/* ---- the groups of one range of rows ---- */

typedef struct found_code {
    uint64_t code;
    uint32_t first_row;
} found_code;

/* The codes of a range: numbered in the order of their first rows. */
typedef struct range_codes {
    found_code *items;
    size_t count, capacity;
    uint32_t *by_bucket; /* their numbers, those of bucket b from begins[b] to begins[b + 1] */
    uint32_t begins[MERGE_BUCKETS + 1];
    size_t base, groups; /* for merging: codes in the ranges before, and groups that begin here */
} range_codes;

typedef struct search {
    const key *keys;
    size_t key_count, row_count;
    uint64_t code_bound;
    bool keep_nulls;
    uint32_t *of_row; /* first the number within the range, in the end the group */
    range_codes *ranges;
    size_t range_count;
    uint32_t *leaders; /* by base + number: that of the first range with the same code */
    uint32_t *groups;  /* by base + number of a leader: its group */
    uint32_t *first_rows;
} search;

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

static inline size_t bucket_of(uint64_t code)
{
    return hash_of(code) >> BUCKET_SHIFT & (MERGE_BUCKETS - 1);
}

/* Puts the codes of a range into their buckets. */
static void divide_codes(range_codes *r)
{
    uint32_t places[MERGE_BUCKETS + 1] = {0};
    for (size_t i = 0; i < r->count; i++) places[bucket_of(r->items[i].code) + 1]++;
    for (size_t b = 0; b < MERGE_BUCKETS; b++) places[b + 1] += places[b];
    memcpy(r->begins, places, sizeof places);
    r->by_bucket = gt_alloc(r->count * sizeof *r->by_bucket);
    for (size_t i = 0; i < r->count; i++) r->by_bucket[places[bucket_of(r->items[i].code)]++] = (uint32_t)i;
}

static void number_range(void *context, size_t range)
{
    const search *s = context;
    range_codes *r = &s->ranges[range];
    size_t begin, end;
    gt_table_range(s->row_count, range, &begin, &end);
    numbering numbers = numbering_new(s->code_bound, end - begin);
    uint32_t found[BLOCK_ROWS];
    block b;
    for (b.first_row = begin; b.first_row < end; b.first_row += BLOCK_ROWS) {
        b.count = end - b.first_row < BLOCK_ROWS ? end - b.first_row : BLOCK_ROWS;
        gt_memory_poll();
        if (combine_keys(&b, s->keys, s->key_count) && !s->keep_nulls) {
            memset(s->of_row + b.first_row, 0xFF, b.count * sizeof *s->of_row); /* GT_NO_GROUP */
            drop_nulls(&b);
        }
        number_codes(&numbers, b.codes, b.count, found);
        for (size_t i = 0; i < b.count; i++) {
            s->of_row[b.rows[i]] = found[i];
            if (found[i] == r->count)
                GT_PUSH(r->items, r->count, r->capacity, ((found_code){b.codes[i], b.rows[i]}));
        }
    }
    numbering_free(&numbers);
    if (s->range_count > 1) divide_codes(r);
}

/* ---- the groups of all ranges ---- */

/* Finds, for each code in this bucket, the first range that has it. */
static void merge_bucket(void *context, size_t bucket)
{
    const search *s = context;
    size_t count = 0;
    for (size_t i = 0; i < s->range_count; i++)
        count += s->ranges[i].begins[bucket + 1] - s->ranges[i].begins[bucket];
    if (!count) return;
    unsigned bits = 4;
    while ((size_t)1 << bits < 2 * count) bits++;
    slot *slots = new_slots(bits);
    size_t mask = ((size_t)1 << bits) - 1;
    for (size_t i = 0; i < s->range_count; i++) {
        const range_codes *r = &s->ranges[i];
        for (uint32_t at = r->begins[bucket]; at < r->begins[bucket + 1]; at++) {
            uint32_t number = r->by_bucket[at], here = (uint32_t)(r->base + number);
            uint64_t code = r->items[number].code;
            slot *known = find_slot(slots, mask, home_of(code, bits), code);
            if (!known->number_plus_one) *known = (slot){code, here + 1};
            s->leaders[here] = known->number_plus_one - 1;
        }
    }
    gt_free(slots);
}

static void count_groups(void *context, size_t range)
{
    const search *s = context;
    range_codes *r = &s->ranges[range];
    for (size_t i = 0; i < r->count; i++) r->groups += s->leaders[r->base + i] == r->base + i;
}

/* r->groups is now the number of groups before this range. */
static void number_groups(void *context, size_t range)
{
    const search *s = context;
    const range_codes *r = &s->ranges[range];
    size_t next = r->groups;
    for (size_t i = 0; i < r->count; i++) {
        if (s->leaders[r->base + i] != r->base + i) continue;
        s->first_rows[next] = r->items[i].first_row;
        s->groups[r->base + i] = (uint32_t)next++;
    }
}

static void renumber_range(void *context, size_t range)
{
    const search *s = context;
    const range_codes *r = &s->ranges[range];
    uint32_t *groups = gt_alloc(r->count * sizeof *groups);
    size_t row, end;
    for (size_t i = 0; i < r->count; i++) groups[i] = s->groups[s->leaders[r->base + i]];
    for (gt_table_range(s->row_count, range, &row, &end); row < end; row++)
        if (s->of_row[row] != GT_NO_GROUP) s->of_row[row] = groups[s->of_row[row]];
    gt_free(groups);
}

/* Returns the number of groups. */
static size_t merge_ranges(search *s)
{
    size_t codes = 0, groups = 0;
    for (size_t i = 0; i < s->range_count; i++) {
        s->ranges[i].base = codes;
        codes += s->ranges[i].count;
    }
    s->leaders = gt_alloc(codes * sizeof *s->leaders);
    s->groups = gt_alloc(codes * sizeof *s->groups);
    gt_parallel_each(MERGE_BUCKETS, merge_bucket, s);
    gt_parallel_each(s->range_count, count_groups, s);
    for (size_t i = 0; i < s->range_count; i++) {
        size_t here = s->ranges[i].groups;
        s->ranges[i].groups = groups;
        groups += here;
    }
    s->first_rows = gt_alloc(groups * sizeof *s->first_rows);
    gt_parallel_each(s->range_count, number_groups, s);
    gt_parallel_each(s->range_count, renumber_range, s);
    gt_free(s->leaders);
    gt_free(s->groups);
    return groups;
}

static void take_only_range(search *s)
{
    const range_codes *r = s->ranges;
    s->first_rows = gt_alloc(r->count * sizeof *s->first_rows);
    for (size_t i = 0; i < r->count; i++) s->first_rows[i] = r->items[i].first_row;
}

/* The product of the bounds of the keys fits into 64 bits. */
static gt_groups number_rows(const key *keys, size_t key_count, size_t row_count, bool keep_nulls)
{
    search s = {.keys = keys, .key_count = key_count, .row_count = row_count, .keep_nulls = keep_nulls};
    s.code_bound = 1;
    for (size_t k = 0; k < key_count; k++) s.code_bound *= keys[k].code_bound;
    s.of_row = gt_alloc(row_count * sizeof *s.of_row);
    s.range_count = row_count ? gt_table_range_count(row_count) : 1;
    s.ranges = gt_alloc_zero(s.range_count, sizeof *s.ranges);
    gt_groups groups = {.row_count = row_count};
    if (row_count) gt_parallel_each(s.range_count, number_range, &s);
    if (s.range_count > 1)
        groups.count = merge_ranges(&s);
    else
        take_only_range(&s), groups.count = s.ranges->count;
    groups.of_row = s.of_row;
    groups.first_row = s.first_rows;
    for (size_t i = 0; i < s.range_count; i++) {
        gt_free(s.ranges[i].items);
        gt_free(s.ranges[i].by_bucket);
    }
    gt_free(s.ranges);
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

typedef struct renumbering {
    gt_groups *groups;
    const uint32_t *number; /* by group */
} renumbering;

static void renumber_rows(void *context, size_t range)
{
    const renumbering *r = context;
    size_t row, end;
    uint32_t *of_row = r->groups->of_row;
    for (gt_table_range(r->groups->row_count, range, &row, &end); row < end; row++)
        if (of_row[row] != GT_NO_GROUP) of_row[row] = r->number[of_row[row]];
}

/* Renumbers the groups so that they ascend by key. */
static void sort_groups(gt_groups *groups, const gt_table *table, const gt_col *names, size_t key_count)
{
    uint32_t *number = gt_alloc(groups->count * sizeof *number);
    for (size_t k = key_count; k-- > 0;) {
        gt_memory_poll();
        gt_order_by_column(groups->first_row, groups->count, gt_table_column_near(table, names[k], k),
                           table->strings, false);
    }
    for (size_t i = 0; i < groups->count; i++) number[groups->of_row[groups->first_row[i]]] = (uint32_t)i;
    renumbering r = {groups, number};
    if (groups->row_count) gt_parallel_each(gt_table_range_count(groups->row_count), renumber_rows, &r);
    gt_free(number);
}

gt_groups gt_groups_find(const gt_table *table, const gt_col *names, size_t key_count,
                         gt_group_options options)
{
    if (table->row_count >= GT_NO_ROW) gt_raise_internal("table '%s' has too many rows", table->name);
    key *keys = gt_alloc_zero(2 * key_count, sizeof *keys);
    size_t count = 0;
    for (size_t k = 0; k < key_count; k++) {
        gt_memory_poll();
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
    gt_free(groups->of_row);
    gt_free(groups->first_row);
    *groups = (gt_groups){0};
}

/* ---- the rows of each group ---- */

typedef struct placing {
    const gt_divided_rows *divided;
    const size_t *begins;
    uint32_t *rows;
} placing;

static void place_part(void *context, size_t part)
{
    const placing *p = context;
    const gt_divided_rows *divided = p->divided;
    size_t count = gt_part_groups(divided, part), row, *next = gt_alloc(count * sizeof *next);
    for (size_t i = 0; i < count; i++) next[i] = p->begins[gt_part_group(divided, part, i)];
    for (size_t i = divided->begins[part]; i < divided->begins[part + 1]; i++) {
        uint32_t group = gt_part_row(divided, i, &row);
        if (group < divided->group_count) p->rows[next[group >> divided->bits]++] = (uint32_t)row;
    }
    gt_free(next);
}

gt_group_rows gt_group_rows_find(const gt_groups *groups)
{
    gt_divided_rows *divided = gt_divided_rows_new(groups->of_row, groups->row_count, groups->count);
    int64_t *sizes = gt_alloc(groups->count * sizeof *sizes);
    size_t *begins = gt_alloc((groups->count + 1) * sizeof *begins), total = 0;
    gt_group_sizes(divided, NULL, NULL, sizes);
    for (size_t g = 0; g < groups->count; g++) {
        begins[g] = total;
        total += (size_t)sizes[g];
    }
    begins[groups->count] = total;
    placing p = {divided, begins, gt_alloc(total * sizeof *p.rows)};
    gt_parallel_each(gt_part_count(divided), place_part, &p);
    gt_free(sizes);
    gt_divided_rows_free(divided);
    return (gt_group_rows){begins, p.rows};
}

void gt_group_rows_free(gt_group_rows *rows)
{
    gt_free(rows->begins);
    gt_free(rows->rows);
    *rows = (gt_group_rows){0};
}
