/* Sorting by columns: values become 64-bit keys that have the same order, and the keys are sorted.
 *
 * Several keys are sorted from the last to the first, and each pass keeps ties in order. Strings are ranked:
 * the distinct strings among the rows are sorted once, eight bytes at a time, and then the rows by the rank
 * of their string.
 *
 * The radix sort takes linear time: it first checks whether the keys are in order, then distributes them by
 * digits from the lowest, with as few digits as the range of the keys needs. If key and row fit into one
 * word together, it moves single words instead of pairs. */
#include "table/operations.h"
#include "table/column.h"
#include "base/guard.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- radix sort ---- */

enum {
    INSERTION_MAX = 24,   /* up to this count insertion sort is faster */
    WIDE_DIGIT_BITS = 11, /* 2,048 write positions stay in the L2 cache */
    NARROW_DIGIT_BITS = 8,
    WIDE_DIGITS_FROM = 8192, /* with fewer keys, clearing the counters costs more than another pass */
};

typedef struct spread {
    uint64_t least, most;
    bool in_order;
} spread;

static spread scan_keys(const uint64_t *keys, size_t count)
{
    uint64_t least = keys[0], most = keys[0], falls = 0;
    for (size_t i = 1; i < count; i++) {
        if (keys[i] < least) least = keys[i];
        if (keys[i] > most) most = keys[i];
        falls |= keys[i] < keys[i - 1];
    }
    return (spread){least, most, falls == 0};
}

static void insertion_sort(uint64_t *keys, uint32_t *rows, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        uint64_t key = keys[i];
        uint32_t row = rows[i];
        size_t at = i;
        for (; at && keys[at - 1] > key; at--) {
            keys[at] = keys[at - 1];
            rows[at] = rows[at - 1];
        }
        keys[at] = key;
        rows[at] = row;
    }
}

static unsigned bits_of(uint64_t value)
{
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* How many digits of how many bits cover `bits` bits. */
static void choose_digits(unsigned bits, size_t count, unsigned *passes, unsigned *digit_bits)
{
    unsigned widest = count < WIDE_DIGITS_FROM ? NARROW_DIGIT_BITS : WIDE_DIGIT_BITS;
    *passes = (bits + widest - 1) / widest;
    *digit_bits = (bits + *passes - 1) / *passes;
}

/* Counts the digits at `shift` and turns the counts into the position of the first key of each digit. */
static void count_places(uint32_t *places, const uint64_t *keys, size_t count, unsigned shift,
                         unsigned digit_bits)
{
    uint64_t mask = ((uint64_t)1 << digit_bits) - 1;
    memset(places, 0, sizeof *places << digit_bits);
    for (size_t i = 0; i < count; i++) places[(keys[i] >> shift) & mask]++;
    uint32_t place = 0;
    for (size_t digit = 0; digit <= mask; digit++) {
        uint32_t here = places[digit];
        places[digit] = place;
        place += here;
    }
}

/* Key and row in one word, the row in the low bits. */
static void sort_words(uint64_t *keys, uint32_t *rows, size_t count, spread seen, unsigned row_bits,
                       bool keep_keys)
{
    unsigned passes, digit_bits, shift = row_bits;
    choose_digits(bits_of(seen.most - seen.least), count, &passes, &digit_bits);
    uint64_t digit_mask = ((uint64_t)1 << digit_bits) - 1, row_mask = ((uint64_t)1 << row_bits) - 1;
    uint32_t places[1 << WIDE_DIGIT_BITS];
    uint64_t *spare = gt_alloc(count * sizeof *spare), *from = keys, *to = spare;
    for (size_t i = 0; i < count; i++) keys[i] = (keys[i] - seen.least) << row_bits | rows[i];
    for (unsigned pass = 0; pass < passes; pass++, shift += digit_bits) {
        count_places(places, from, count, shift, digit_bits);
        for (size_t i = 0; i < count; i++) to[places[(from[i] >> shift) & digit_mask]++] = from[i];
        uint64_t *sorted = to;
        to = from;
        from = sorted;
    }
    for (size_t i = 0; i < count; i++) rows[i] = (uint32_t)(from[i] & row_mask);
    if (keep_keys)
        for (size_t i = 0; i < count; i++) keys[i] = (from[i] >> row_bits) + seen.least;
    gt_free(spare);
}

static void sort_pairs(uint64_t *keys, uint32_t *rows, size_t count, spread seen)
{
    unsigned passes, digit_bits, shift = 0;
    choose_digits(bits_of(seen.most - seen.least), count, &passes, &digit_bits);
    uint64_t mask = ((uint64_t)1 << digit_bits) - 1;
    uint32_t places[1 << WIDE_DIGIT_BITS];
    uint64_t *spare_keys = gt_alloc(count * sizeof *spare_keys), *from = keys, *to = spare_keys;
    uint32_t *spare_rows = gt_alloc(count * sizeof *spare_rows), *from_rows = rows, *to_rows = spare_rows;
    for (size_t i = 0; i < count; i++) keys[i] -= seen.least;
    for (unsigned pass = 0; pass < passes; pass++, shift += digit_bits) {
        count_places(places, from, count, shift, digit_bits);
        for (size_t i = 0; i < count; i++) {
            uint32_t place = places[(from[i] >> shift) & mask]++;
            to[place] = from[i];
            to_rows[place] = from_rows[i];
        }
        uint64_t *sorted = to;
        to = from;
        from = sorted;
        uint32_t *sorted_rows = to_rows;
        to_rows = from_rows;
        from_rows = sorted_rows;
    }
    if (from_rows != rows) memcpy(rows, from_rows, count * sizeof *rows);
    for (size_t i = 0; i < count; i++) keys[i] = from[i] + seen.least;
    gt_free(spare_keys);
    gt_free(spare_rows);
}

void gt_radix_sort(uint64_t *keys, uint32_t *rows, size_t count, bool keep_keys)
{
    if (count < 2) return;
    if (count <= INSERTION_MAX) {
        insertion_sort(keys, rows, count);
        return;
    }
    spread seen = scan_keys(keys, count);
    if (seen.in_order) return;
    uint32_t last_row = 0;
    for (size_t i = 0; i < count; i++)
        if (rows[i] > last_row) last_row = rows[i];
    unsigned row_bits = bits_of(last_row);
    if (bits_of(seen.most - seen.least) + row_bits <= 64)
        sort_words(keys, rows, count, seen, row_bits, keep_keys);
    else
        sort_pairs(keys, rows, count, seen);
}

/* ---- columns and tables ---- */

static const uint64_t SIGN_BIT = (uint64_t)1 << 63;

static uint64_t int_key(int64_t value)
{
    return (uint64_t)value ^ SIGN_BIT;
}

static uint64_t float_key(double value)
{
    uint64_t bits;
    value += 0.0; /* -0.0 becomes 0.0 */
    memcpy(&bits, &value, sizeof bits);
    return bits & SIGN_BIT ? ~bits : bits | SIGN_BIT;
}

uint32_t *gt_order_new(size_t count)
{
    GT_CHECK(count < GT_NO_ROW);
    uint32_t *rows = gt_alloc(count * sizeof *rows);
    for (size_t row = 0; row < count; row++) rows[row] = (uint32_t)row;
    return rows;
}

static bool is_missing(const gt_column *column, uint32_t row)
{
    switch (column->type) {
    case GT_TYPE_FLOAT:
        return isnan(column->floats[row]);
    case GT_TYPE_STRING:
        return column->texts[row] == GT_STR_NONE;
    default:
        return column->nulls[row];
    }
}

/* Moves the rows without a value to the end, stably, and returns the number of rows with a value. */
static size_t put_nulls_last(uint32_t *rows, size_t count, const gt_column *column)
{
    if (column->type != GT_TYPE_FLOAT && column->type != GT_TYPE_STRING && !column->nulls) return count;
    uint32_t *missing = NULL;
    size_t valued = 0, missing_count = 0, capacity = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t row = rows[i];
        if (is_missing(column, row))
            GT_PUSH(missing, missing_count, capacity, row);
        else
            rows[valued++] = row;
    }
    if (missing_count) memcpy(rows + valued, missing, missing_count * sizeof *rows);
    gt_free(missing);
    return valued;
}

/* rank[id]: the rank of each string among the strings of the rows. The caller frees it. */
static uint32_t *rank_strings(const uint32_t *rows, size_t count, const uint32_t *ids,
                              const gt_interner *strings)
{
    uint32_t *rank = gt_alloc_zero(gt_interner_count(strings), sizeof *rank), *seen = NULL;
    size_t seen_count = 0, capacity = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t id = ids[rows[i]];
        if (rank[id]) continue;
        rank[id] = 1;
        GT_PUSH(seen, seen_count, capacity, id);
    }
    gt_sort_strings(seen, seen_count, strings);
    for (size_t i = 0; i < seen_count; i++) rank[seen[i]] = (uint32_t)i;
    gt_free(seen);
    return rank;
}

static void make_keys(uint64_t *keys, const uint32_t *rows, size_t count, const gt_column *column,
                      const gt_interner *strings)
{
    switch (column->type) {
    case GT_TYPE_INT:
        for (size_t i = 0; i < count; i++) keys[i] = int_key(column->ints[rows[i]]);
        break;
    case GT_TYPE_FLOAT:
        for (size_t i = 0; i < count; i++) keys[i] = float_key(column->floats[rows[i]]);
        break;
    case GT_TYPE_BOOL:
        for (size_t i = 0; i < count; i++) keys[i] = column->bools[rows[i]];
        break;
    case GT_TYPE_STRING: {
        uint32_t *rank = rank_strings(rows, count, column->texts, strings);
        for (size_t i = 0; i < count; i++) keys[i] = rank[column->texts[rows[i]]];
        gt_free(rank);
        break;
    }
    case GT_TYPE_LIST:
        gt_raise_internal("column '%s' holds lists, which have no order", column->name);
    }
}

void gt_order_by_column(uint32_t *rows, size_t count, const gt_column *column, const gt_interner *strings,
                        bool descending)
{
    size_t valued = put_nulls_last(rows, count, column);
    uint64_t *keys = gt_alloc(valued * sizeof *keys);
    make_keys(keys, rows, valued, column, strings);
    if (descending)
        for (size_t i = 0; i < valued; i++) keys[i] = ~keys[i];
    gt_radix_sort(keys, rows, valued, false);
    gt_free(keys);
}

/* The casts drop const because a column's arrays are not const; nothing here writes to them. */
void gt_order_by_ints(uint32_t *rows, size_t count, const int64_t *values, const uint8_t *nulls,
                      bool descending)
{
    gt_column column = {.type = GT_TYPE_INT, .ints = (int64_t *)values, .nulls = (uint8_t *)nulls};
    gt_order_by_column(rows, count, &column, NULL, descending);
}

void gt_order_by_floats(uint32_t *rows, size_t count, const double *values, bool descending)
{
    gt_column column = {.type = GT_TYPE_FLOAT, .floats = (double *)values};
    gt_order_by_column(rows, count, &column, NULL, descending);
}

void gt_order_by_strings(uint32_t *rows, size_t count, const uint32_t *ids, const gt_interner *strings,
                         bool descending)
{
    gt_column column = {.type = GT_TYPE_STRING, .texts = (uint32_t *)ids};
    gt_order_by_column(rows, count, &column, strings, descending);
}

uint32_t *gt_table_order(const gt_table *table, const gt_sort_key *keys, size_t key_count)
{
    uint32_t *rows = gt_order_new(table->row_count);
    for (size_t k = key_count; k-- > 0;)
        gt_order_by_column(rows, table->row_count, gt_table_column(table, keys[k].column), table->strings,
                           keys[k].descending);
    return rows;
}

void gt_table_sort(gt_table *table, const gt_sort_key *keys, size_t key_count)
{
    uint32_t *rows = gt_table_order(table, keys, key_count);
    size_t row = 0;
    while (row < table->row_count && rows[row] == row) row++;
    if (row < table->row_count) gt_table_take(table, rows, table->row_count);
    gt_free(rows);
}

/* ---- strings in byte order ---- */

enum { CHUNK_BYTES = 8 };

/* The strings ids[begin .. end) are equal in their first `depth` bytes. */
typedef struct string_run {
    size_t begin, end, depth;
} string_run;

/* Eight bytes from `depth` on as a big-endian number, which compares like the bytes. */
static uint64_t chunk_at(gt_str text, size_t depth)
{
    unsigned char bytes[CHUNK_BYTES] = {0};
    size_t left = text.len - depth;
    memcpy(bytes, text.bytes + depth, left < CHUNK_BYTES ? left : CHUNK_BYTES);
    uint64_t chunk;
    memcpy(&chunk, bytes, sizeof chunk);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    chunk = __builtin_bswap64(chunk);
#endif
    return chunk;
}

/* Among strings with the same chunk, moves those that end in it to the front, the shortest first ("a" before
 * "a\0"). The strings are distinct, so there are at most nine. Returns the index of the first longer one. */
static size_t put_ended_first(uint32_t *ids, string_run run, const gt_interner *strings)
{
    size_t longer = run.begin;
    for (size_t i = run.begin; i < run.end; i++) {
        uint32_t id = ids[i];
        size_t len = gt_interner_get(strings, id).len, at = longer;
        if (len > run.depth + CHUNK_BYTES) continue;
        ids[i] = ids[longer++];
        for (; at > run.begin && gt_interner_get(strings, ids[at - 1]).len > len; at--) ids[at] = ids[at - 1];
        ids[at] = id;
    }
    return longer;
}

void gt_sort_strings(uint32_t *ids, size_t count, const gt_interner *strings)
{
    if (count < 2) return;
    uint64_t *keys = gt_alloc(count * sizeof *keys);
    string_run *runs = NULL;
    size_t run_count = 0, capacity = 0;
    GT_PUSH(runs, run_count, capacity, ((string_run){0, count, 0}));
    while (run_count) {
        string_run run = runs[--run_count];
        for (size_t i = run.begin; i < run.end; i++)
            keys[i] = chunk_at(gt_interner_get(strings, ids[i]), run.depth);
        gt_radix_sort(keys + run.begin, ids + run.begin, run.end - run.begin, true);
        for (size_t begin = run.begin, end; begin < run.end; begin = end) {
            for (end = begin + 1; end < run.end && keys[end] == keys[begin];) end++;
            if (end - begin < 2) continue;
            size_t longer = put_ended_first(ids, (string_run){begin, end, run.depth}, strings);
            if (end - longer > 1)
                GT_PUSH(runs, run_count, capacity, ((string_run){longer, end, run.depth + CHUNK_BYTES}));
        }
    }
    gt_free(runs);
    gt_free(keys);
}
