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

/* ---- radix sort ---- */

enum {
    INSERTION_MAX = 24,   /* up to this count insertion sort is faster */
    WIDE_DIGIT_BITS = 11, /* 2,048 write positions stay in the L2 cache */
    NARROW_DIGIT_BITS = 8,
    WIDE_DIGITS_FROM = 8192, /* with fewer keys, clearing the counters costs more than another pass */
};

/* What a pass over the keys finds out about them. */
typedef struct spread {
    uint64_t least, most;
    uint32_t last_row;
    bool in_order;
} spread;

/* A sort of keys and rows. Each pass moves them from one pair of arrays to the other, by the digit at
 * `shift`. Without rows, each row is in the low bits of its key. */
typedef struct sorting {
    size_t count;
    uint64_t *from, *to;
    uint32_t *from_rows, *to_rows; /* may be NULL */
    unsigned shift, row_bits;
    uint64_t least;
} sorting;

static spread scan_keys(const uint64_t *keys, const uint32_t *rows, size_t count)
{
    spread seen = {keys[0], keys[0], 0, false};
    uint64_t falls = 0, before = keys[0];
    for (size_t i = 0; i < count; i++) {
        uint64_t key = keys[i];
        if (key < seen.least) seen.least = key;
        if (key > seen.most) seen.most = key;
        falls |= key < before;
        before = key;
        if (rows[i] > seen.last_row) seen.last_row = rows[i];
    }
    seen.in_order = falls == 0;
    return seen;
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

static void move_keys(const sorting *s, uint64_t mask, uint32_t *places)
{
    uint64_t *to = s->to;
    const uint64_t *from = s->from;
    if (!s->from_rows) {
        for (size_t i = 0; i < s->count; i++) to[places[(from[i] >> s->shift) & mask]++] = from[i];
        return;
    }
    for (size_t i = 0; i < s->count; i++) {
        uint32_t place = places[(from[i] >> s->shift) & mask]++;
        to[place] = from[i];
        s->to_rows[place] = s->from_rows[i];
    }
}

static void sort_by_digits(sorting *s, uint64_t width)
{
    unsigned passes, digit_bits;
    choose_digits(bits_of(width), s->count, &passes, &digit_bits);
    uint64_t mask = ((uint64_t)1 << digit_bits) - 1;
    uint32_t places[1 << WIDE_DIGIT_BITS];
    for (unsigned pass = 0; pass < passes; pass++, s->shift += digit_bits) {
        memset(places, 0, sizeof *places << digit_bits);
        for (size_t i = 0; i < s->count; i++) places[(s->from[i] >> s->shift) & mask]++;
        uint32_t place = 0;
        for (size_t digit = 0; digit <= mask; digit++) {
            uint32_t here = places[digit];
            places[digit] = place;
            place += here;
        }
        move_keys(s, mask, places);
        uint64_t *sorted = s->to;
        s->to = s->from;
        s->from = sorted;
        uint32_t *sorted_rows = s->to_rows;
        s->to_rows = s->from_rows;
        s->from_rows = sorted_rows;
    }
}

/* Key and row in one word, the row in the low bits. */
static void sort_words(sorting *s, uint64_t *keys, uint32_t *rows, uint64_t width, bool keep_keys)
{
    uint64_t *spare = gt_alloc(s->count * sizeof *spare), mask = ((uint64_t)1 << s->row_bits) - 1;
    for (size_t i = 0; i < s->count; i++) keys[i] = (keys[i] - s->least) << s->row_bits | rows[i];
    s->from_rows = NULL;
    s->to = spare;
    s->shift = s->row_bits;
    sort_by_digits(s, width);
    for (size_t i = 0; i < s->count; i++) {
        uint64_t word = s->from[i];
        rows[i] = (uint32_t)(word & mask);
        if (keep_keys) keys[i] = (word >> s->row_bits) + s->least;
    }
    gt_free(spare);
}

static void sort_pairs(sorting *s, uint64_t *keys, uint32_t *rows, uint64_t width)
{
    uint64_t *spare_keys = gt_alloc(s->count * sizeof *spare_keys);
    uint32_t *spare_rows = gt_alloc(s->count * sizeof *spare_rows);
    for (size_t i = 0; i < s->count; i++) keys[i] -= s->least;
    s->to = spare_keys;
    s->to_rows = spare_rows;
    sort_by_digits(s, width);
    for (size_t i = 0; i < s->count; i++) {
        keys[i] = s->from[i] + s->least;
        rows[i] = s->from_rows[i];
    }
    gt_free_all(spare_keys, spare_rows);
}

void gt_radix_sort(uint64_t *keys, uint32_t *rows, size_t count, bool keep_keys)
{
    if (count < 2) return;
    if (count <= INSERTION_MAX) {
        insertion_sort(keys, rows, count);
        return;
    }
    spread seen = scan_keys(keys, rows, count);
    if (seen.in_order) return;
    uint64_t width = seen.most - seen.least;
    sorting s = {.count = count,
                 .from = keys,
                 .from_rows = rows,
                 .row_bits = bits_of(seen.last_row),
                 .least = seen.least};
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

/* Moves the rows without a value to the end, stably. Returns the number of rows with a value. */
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
    if (missing_count) memcpy(rows + valued, missing, missing_count * sizeof *missing);
    gt_free(missing);
    return valued;
}

/* By id: the rank of each string among the strings of the rows. */
static uint32_t *rank_strings(const uint32_t *rows, size_t count, const gt_column *column,
                              const gt_interner *strings)
{
    size_t seen_count = 0, capacity = 0;
    uint32_t *seen = NULL, *rank = gt_alloc_zero(gt_interner_count(strings), sizeof *rank);
    for (size_t i = 0; i < count; i++) {
        uint32_t id = column->texts[rows[i]];
        if (rank[id]) continue;
        rank[id] = 1;
        GT_PUSH(seen, seen_count, capacity, id);
    }
    gt_sort_strings(seen, seen_count, strings);
    for (size_t i = 0; i < seen_count; i++) rank[seen[i]] = (uint32_t)i;
    gt_free(seen);
    return rank;
}

/* `flip` is what makes the order descend. */
static void make_keys(const uint32_t *rows, size_t count, const gt_column *column, const uint32_t *rank,
                      uint64_t flip, uint64_t *keys)
{
    switch (column->type) {
    case GT_TYPE_INT:
        for (size_t i = 0; i < count; i++) keys[i] = int_key(column->ints[rows[i]]) ^ flip;
        break;
    case GT_TYPE_FLOAT:
        for (size_t i = 0; i < count; i++) keys[i] = float_key(column->floats[rows[i]]) ^ flip;
        break;
    case GT_TYPE_BOOL:
        for (size_t i = 0; i < count; i++) keys[i] = column->bools[rows[i]] ^ flip;
        break;
    case GT_TYPE_STRING:
        for (size_t i = 0; i < count; i++) keys[i] = rank[column->texts[rows[i]]] ^ flip;
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
    size_t valued = put_nulls_last(rows, count, column);
    if (!valued) return;
    uint64_t *keys = gt_alloc(valued * sizeof *keys);
    uint32_t *rank = column->type == GT_TYPE_STRING ? rank_strings(rows, valued, column, strings) : NULL;
    make_keys(rows, valued, column, rank, descending ? UINT64_MAX : 0, keys);
    gt_free(rank);
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

uint32_t *gt_order_by_numbers(const uint32_t *numbers, size_t count)
{
    uint32_t *rows = gt_order_new(count);
    uint64_t *keys = gt_alloc(count * sizeof *keys);
    for (size_t i = 0; i < count; i++) keys[i] = numbers[i];
    gt_radix_sort(keys, rows, count, false);
    gt_free(keys);
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
    gt_free_all(runs, keys);
}
