/* Sorting by columns: each kind of value becomes a 64-bit key whose order is the value's, and the keys are
 * sorted.
 *
 * Several keys are sorted from the last to the first, each pass keeping ties. Text is ranked: the different
 * texts among the rows are sorted once, eight bytes at a time, and the rows then by the rank of their text.
 */
#include "table/sort.h"
#include "table/radix.h"
#include "base/guard.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Moves the rows without a value behind the others, both in their order, and returns how many have one. */
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

/* rank[id]: the place of each text that the rows have among them. The caller frees it. */
static uint32_t *rank_texts(const uint32_t *rows, size_t count, const uint32_t *ids,
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
        uint32_t *rank = rank_texts(rows, count, column->texts, strings);
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

/* The casts: a column's arrays are not const, but nothing here writes to them. */
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

/* ---- text in byte order ---- */

enum { CHUNK_BYTES = 8 };

/* Texts ids[begin .. end) are equal in their first `depth` bytes. */
typedef struct text_run {
    size_t begin, end, depth;
} text_run;

/* The bytes from `depth` on as a big-endian number, so that numbers compare as the bytes do. */
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

/* Of texts with the same chunk, puts those that end in it first, the shortest first ("a" before "a\0"). They
 * are different texts, so there are at most nine. Returns where the longer ones begin. */
static size_t put_ended_first(uint32_t *ids, text_run run, const gt_interner *strings)
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
    text_run *runs = NULL;
    size_t run_count = 0, capacity = 0;
    GT_PUSH(runs, run_count, capacity, ((text_run){0, count, 0}));
    while (run_count) {
        text_run run = runs[--run_count];
        for (size_t i = run.begin; i < run.end; i++)
            keys[i] = chunk_at(gt_interner_get(strings, ids[i]), run.depth);
        gt_radix_sort(keys + run.begin, ids + run.begin, run.end - run.begin, true);
        for (size_t begin = run.begin, end; begin < run.end; begin = end) {
            for (end = begin + 1; end < run.end && keys[end] == keys[begin];) end++;
            if (end - begin < 2) continue;
            size_t longer = put_ended_first(ids, (text_run){begin, end, run.depth}, strings);
            if (end - longer > 1)
                GT_PUSH(runs, run_count, capacity, ((text_run){longer, end, run.depth + CHUNK_BYTES}));
        }
    }
    gt_free(runs);
    gt_free(keys);
}
