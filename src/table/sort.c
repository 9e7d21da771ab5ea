/* Sorting by columns: values become 64-bit keys that have the same order, and the keys are sorted.
 *
 * Several keys are sorted from the last to the first, and each pass keeps ties in order. Strings are ranked:
 * the distinct strings among the rows are sorted once, eight bytes at a time, and then the rows by the rank
 * of their string.
 *
 * The radix sort takes linear time: it first checks whether the keys are in order, then distributes them by
 * digits from the lowest, with as few digits as the range of the keys needs. If key and row fit into one
 * word together, it moves single words instead of pairs. All threads of the team share each pass: ranges of
 * keys count their digits, the counts of all ranges give each range its places, and the ranges move their
 * keys there. */
#include "table/operations.h"
#include "table/column.h"
#include "table/ranges.h"
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
    uint32_t last_row;
    bool in_order;
} spread;

/* A sort of keys and rows, in ranges that all threads share. Each pass moves them from one pair of arrays to
 * the other, by the digit at `shift`. Without rows, each row is in the low bits of its key. */
typedef struct sorting {
    size_t count, range_count;
    uint64_t *from, *to;
    uint32_t *from_rows, *to_rows; /* may be NULL */
    unsigned shift, digit_bits;
    uint32_t *places; /* by range and digit: first the number of keys, then where they go */
    spread *seen;     /* by range */
    unsigned row_bits;
    uint64_t least;
} sorting;

static void scan_range(void *context, size_t range)
{
    const sorting *s = context;
    size_t i, end;
    gt_table_range(s->count, range, &i, &end);
    spread seen = {s->from[i], s->from[i], 0, false};
    uint64_t falls = 0, before = i ? s->from[i - 1] : s->from[i];
    for (; i < end; i++) {
        uint64_t key = s->from[i];
        if (key < seen.least) seen.least = key;
        if (key > seen.most) seen.most = key;
        falls |= key < before;
        before = key;
        if (s->from_rows[i] > seen.last_row) seen.last_row = s->from_rows[i];
    }
    seen.in_order = falls == 0;
    s->seen[range] = seen;
}

static spread scan_keys(sorting *s)
{
    s->seen = gt_alloc(s->range_count * sizeof *s->seen);
    gt_parallel_each(s->range_count, scan_range, s);
    spread all = s->seen[0];
    for (size_t i = 1; i < s->range_count; i++) {
        if (s->seen[i].least < all.least) all.least = s->seen[i].least;
        if (s->seen[i].most > all.most) all.most = s->seen[i].most;
        if (s->seen[i].last_row > all.last_row) all.last_row = s->seen[i].last_row;
        all.in_order &= s->seen[i].in_order;
    }
    gt_free(s->seen);
    return all;
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

static void count_digits(void *context, size_t range)
{
    const sorting *s = context;
    uint32_t *places = s->places + (range << s->digit_bits);
    uint64_t mask = ((uint64_t)1 << s->digit_bits) - 1;
    size_t i, end;
    memset(places, 0, sizeof *places << s->digit_bits);
    for (gt_table_range(s->count, range, &i, &end); i < end; i++) places[(s->from[i] >> s->shift) & mask]++;
}

static void move_range(void *context, size_t range)
{
    const sorting *s = context;
    uint32_t *places = s->places + (range << s->digit_bits);
    uint64_t mask = ((uint64_t)1 << s->digit_bits) - 1, *to = s->to;
    const uint64_t *from = s->from;
    size_t i, end;
    gt_table_range(s->count, range, &i, &end);
    if (!s->from_rows) {
        for (; i < end; i++) to[places[(from[i] >> s->shift) & mask]++] = from[i];
        return;
    }
    for (; i < end; i++) {
        uint32_t place = places[(from[i] >> s->shift) & mask]++;
        to[place] = from[i];
        s->to_rows[place] = s->from_rows[i];
    }
}

/* Turns the numbers of keys into the places of the first ones: all of a digit together, in order of ranges.
 */
static void find_places(sorting *s)
{
    uint32_t place = 0;
    for (size_t digit = 0; digit < (size_t)1 << s->digit_bits; digit++)
        for (size_t range = 0; range < s->range_count; range++) {
            uint32_t *here = &s->places[(range << s->digit_bits) + digit], count = *here;
            *here = place;
            place += count;
        }
}

static void sort_by_digits(sorting *s, uint64_t width)
{
    unsigned passes;
    choose_digits(bits_of(width), s->count, &passes, &s->digit_bits);
    s->places = gt_alloc((s->range_count << s->digit_bits) * sizeof *s->places);
    for (unsigned pass = 0; pass < passes; pass++, s->shift += s->digit_bits) {
        gt_parallel_each(s->range_count, count_digits, s);
        find_places(s);
        gt_parallel_each(s->range_count, move_range, s);
        uint64_t *sorted = s->to;
        s->to = s->from;
        s->from = sorted;
        uint32_t *sorted_rows = s->to_rows;
        s->to_rows = s->from_rows;
        s->from_rows = sorted_rows;
    }
    gt_free(s->places);
}

/* The arrays of the caller. */
typedef struct sorted_arrays {
    const sorting *s;
    uint64_t *keys;
    uint32_t *rows;
    bool keep_keys;
} sorted_arrays;

/* Key and row in one word, the row in the low bits. */
static void join_range(void *context, size_t range)
{
    const sorted_arrays *a = context;
    size_t i, end;
    for (gt_table_range(a->s->count, range, &i, &end); i < end; i++)
        a->keys[i] = (a->keys[i] - a->s->least) << a->s->row_bits | a->rows[i];
}

static void part_range(void *context, size_t range)
{
    const sorted_arrays *a = context;
    uint64_t mask = ((uint64_t)1 << a->s->row_bits) - 1;
    size_t i, end;
    for (gt_table_range(a->s->count, range, &i, &end); i < end; i++) {
        uint64_t word = a->s->from[i];
        a->rows[i] = (uint32_t)(word & mask);
        if (a->keep_keys) a->keys[i] = (word >> a->s->row_bits) + a->s->least;
    }
}

static void sort_words(sorting *s, uint64_t *keys, uint32_t *rows, uint64_t width, bool keep_keys)
{
    sorted_arrays arrays = {s, keys, rows, keep_keys};
    uint64_t *spare = gt_alloc(s->count * sizeof *spare);
    gt_parallel_each(s->range_count, join_range, &arrays);
    s->from_rows = NULL;
    s->to = spare;
    s->shift = s->row_bits;
    sort_by_digits(s, width);
    gt_parallel_each(s->range_count, part_range, &arrays);
    gt_free(spare);
}

static void lower_range(void *context, size_t range)
{
    const sorted_arrays *a = context;
    size_t i, end;
    for (gt_table_range(a->s->count, range, &i, &end); i < end; i++) a->keys[i] -= a->s->least;
}

static void raise_range(void *context, size_t range)
{
    const sorted_arrays *a = context;
    size_t i, end;
    for (gt_table_range(a->s->count, range, &i, &end); i < end; i++) {
        a->keys[i] = a->s->from[i] + a->s->least;
        a->rows[i] = a->s->from_rows[i];
    }
}

static void sort_pairs(sorting *s, uint64_t *keys, uint32_t *rows, uint64_t width)
{
    sorted_arrays arrays = {s, keys, rows, true};
    uint64_t *spare_keys = gt_alloc(s->count * sizeof *spare_keys);
    uint32_t *spare_rows = gt_alloc(s->count * sizeof *spare_rows);
    gt_parallel_each(s->range_count, lower_range, &arrays);
    s->to = spare_keys;
    s->to_rows = spare_rows;
    sort_by_digits(s, width);
    gt_parallel_each(s->range_count, raise_range, &arrays);
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
    sorting s = {.count = count, .range_count = gt_table_range_count(count), .from = keys, .from_rows = rows};
    spread seen = scan_keys(&s);
    if (seen.in_order) return;
    uint64_t width = seen.most - seen.least;
    s.least = seen.least;
    s.row_bits = bits_of(seen.last_row);
    if (bits_of(width) + s.row_bits <= 64)
        sort_words(&s, keys, rows, width, keep_keys);
    else
        sort_pairs(&s, keys, rows, width);
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

typedef struct order_fill {
    uint32_t *rows;
    size_t count;
} order_fill;

static void number_range(void *context, size_t range)
{
    const order_fill *fill = context;
    size_t row, end;
    for (gt_table_range(fill->count, range, &row, &end); row < end; row++) fill->rows[row] = (uint32_t)row;
}

uint32_t *gt_order_new(size_t count)
{
    GT_CHECK(count < GT_NO_ROW);
    order_fill fill = {gt_alloc(count * sizeof *fill.rows), count};
    if (count) gt_parallel_each(gt_table_range_count(count), number_range, &fill);
    return fill.rows;
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

/* The rows of an order, being sorted by a column. */
typedef struct ordering {
    const gt_column *column;
    uint32_t *rows;
    size_t count;
    size_t *missing; /* by range: rows without a value, in it, then before it */
    uint32_t *moved;
    size_t valued; /* rows with a value */
    uint64_t *keys;
    uint64_t flip;  /* what makes the order descend */
    uint32_t *rank; /* STRING: by id */
} ordering;

static void count_missing(void *context, size_t range)
{
    const ordering *o = context;
    size_t i, end, missing = 0;
    for (gt_table_range(o->count, range, &i, &end); i < end; i++)
        missing += is_missing(o->column, o->rows[i]);
    o->missing[range] = missing;
}

static void move_missing(void *context, size_t range)
{
    const ordering *o = context;
    size_t i, end, missing = o->missing[range];
    gt_table_range(o->count, range, &i, &end);
    size_t valued = i - missing;
    for (; i < end; i++) {
        if (is_missing(o->column, o->rows[i]))
            o->moved[o->valued + missing++] = o->rows[i];
        else
            o->moved[valued++] = o->rows[i];
    }
}

/* Moves the rows without a value to the end, stably, and finds the number of rows with a value. */
static void put_nulls_last(ordering *o)
{
    const gt_column *column = o->column;
    o->valued = o->count;
    if (column->type != GT_TYPE_FLOAT && column->type != GT_TYPE_STRING && !column->nulls) return;
    size_t ranges = gt_table_range_count(o->count), missing = 0;
    o->missing = gt_alloc(ranges * sizeof *o->missing);
    gt_parallel_each(ranges, count_missing, o);
    for (size_t i = 0; i < ranges; i++) {
        size_t here = o->missing[i];
        o->missing[i] = missing;
        missing += here;
    }
    if (missing) {
        o->valued = o->count - missing;
        o->moved = gt_alloc(o->count * sizeof *o->moved);
        gt_parallel_each(ranges, move_missing, o);
        memcpy(o->rows, o->moved, o->count * sizeof *o->rows);
        gt_free(o->moved);
    }
    gt_free(o->missing);
}

/* Marks the strings of the rows in `rank`. Threads may mark the same one. */
static void mark_strings(void *context, size_t range)
{
    const ordering *o = context;
    size_t i, end;
    for (gt_table_range(o->valued, range, &i, &end); i < end; i++) {
        uint32_t *rank = &o->rank[o->column->texts[o->rows[i]]];
        if (!__atomic_load_n(rank, __ATOMIC_RELAXED)) __atomic_store_n(rank, 1, __ATOMIC_RELAXED);
    }
}

/* rank[id]: the rank of each string among the strings of the rows. */
static void rank_strings(ordering *o, const gt_interner *strings)
{
    size_t string_count = gt_interner_count(strings), seen_count = 0, capacity = 0;
    uint32_t *seen = NULL;
    o->rank = gt_alloc_zero(string_count, sizeof *o->rank);
    if (gt_table_range_count(o->valued) > 1) {
        gt_parallel_each(gt_table_range_count(o->valued), mark_strings, o);
        for (size_t id = 0; id < string_count; id++)
            if (o->rank[id]) GT_PUSH(seen, seen_count, capacity, (uint32_t)id);
    } else { /* a few rows: most strings are not theirs */
        for (size_t i = 0; i < o->valued; i++) {
            uint32_t id = o->column->texts[o->rows[i]];
            if (o->rank[id]) continue;
            o->rank[id] = 1;
            GT_PUSH(seen, seen_count, capacity, id);
        }
    }
    gt_sort_strings(seen, seen_count, strings);
    for (size_t i = 0; i < seen_count; i++) o->rank[seen[i]] = (uint32_t)i;
    gt_free(seen);
}

static void make_keys(void *context, size_t range)
{
    const ordering *o = context;
    const gt_column *column = o->column;
    const uint32_t *rows = o->rows;
    uint64_t *keys = o->keys, flip = o->flip;
    size_t i, end;
    gt_table_range(o->valued, range, &i, &end);
    switch (column->type) {
    case GT_TYPE_INT:
        for (; i < end; i++) keys[i] = int_key(column->ints[rows[i]]) ^ flip;
        break;
    case GT_TYPE_FLOAT:
        for (; i < end; i++) keys[i] = float_key(column->floats[rows[i]]) ^ flip;
        break;
    case GT_TYPE_BOOL:
        for (; i < end; i++) keys[i] = column->bools[rows[i]] ^ flip;
        break;
    case GT_TYPE_STRING:
        for (; i < end; i++) keys[i] = o->rank[column->texts[rows[i]]] ^ flip;
        break;
    case GT_TYPE_LIST:
        break;
    }
}

void gt_order_by_column(uint32_t *rows, size_t count, const gt_column *column, const gt_interner *strings,
                        bool descending)
{
    if (column->type == GT_TYPE_LIST)
        gt_raise_internal("column '%s' holds lists, which have no order", column->name);
    if (!count) return;
    ordering o = {.column = column, .rows = rows, .count = count, .flip = descending ? UINT64_MAX : 0};
    put_nulls_last(&o);
    if (!o.valued) return;
    o.keys = gt_alloc(o.valued * sizeof *o.keys);
    if (column->type == GT_TYPE_STRING) rank_strings(&o, strings);
    gt_parallel_each(gt_table_range_count(o.valued), make_keys, &o);
    gt_free(o.rank);
    gt_radix_sort(o.keys, rows, o.valued, false);
    gt_free(o.keys);
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

typedef struct number_keys {
    const uint32_t *numbers;
    uint64_t *keys;
    size_t count;
} number_keys;

static void widen_range(void *context, size_t range)
{
    const number_keys *n = context;
    size_t i, end;
    for (gt_table_range(n->count, range, &i, &end); i < end; i++) n->keys[i] = n->numbers[i];
}

uint32_t *gt_order_by_numbers(const uint32_t *numbers, size_t count)
{
    uint32_t *rows = gt_order_new(count);
    number_keys n = {numbers, gt_alloc(count * sizeof *n.keys), count};
    gt_parallel_each(gt_table_range_count(count), widen_range, &n);
    gt_radix_sort(n.keys, rows, count, false);
    gt_free(n.keys);
    return rows;
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
