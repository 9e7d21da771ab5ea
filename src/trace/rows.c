/* Row numbers: sorted by time, filtered, summed up. */
#include "trace/rows.h"

/* ---- order ---- */

/* NaN comes before all times. */
static bool comes_first(double a, double b)
{
    return a <= b || isnan(a);
}

/* A natural merge sort: merges pairs of neighbouring runs until one run is left. */
static void order_range(uint32_t *rows, size_t count, const double *times)
{
    uint32_t *spare = NULL;
    if (count < 2) return;
    for (;;) {
        size_t runs = 0, out = 0;
        for (size_t begin = 0; begin < count;) {
            size_t middle = begin + 1;
            while (middle < count && comes_first(times[rows[middle - 1]], times[rows[middle]])) middle++;
            if (begin == 0 && middle == count) {
                gt_free(spare);
                return;
            }
            if (!spare) spare = gt_alloc(count * sizeof *spare);
            size_t end = middle < count ? middle + 1 : middle;
            while (end < count && comes_first(times[rows[end - 1]], times[rows[end]])) end++;
            size_t a = begin, b = middle;
            while (a < middle || b < end)
                spare[out++] = b == end || (a < middle && comes_first(times[rows[a]], times[rows[b]]))
                                   ? rows[a++]
                                   : rows[b++];
            begin = end;
            runs++;
        }
        memcpy(rows, spare, count * sizeof *rows);
        if (runs <= 1) break;
    }
    gt_free(spare);
}

/* ---- order, on all threads ----
 *
 * Ranges of `grain` rows are sorted on their own, then neighbours are merged, twice as long each time. In a
 * trace, which is nearly sorted, neighbours are apart but for a few rows at the border, and only these are
 * merged. Where more is to be merged, it is cut into parts of `grain` rows of the result. */

/* A part of a merge: rows [a, a_end) and [b, b_end) become spare[out] and those after it. */
typedef struct merge_part {
    size_t a, a_end, b, b_end, out;
} merge_part;

typedef struct ordering {
    uint32_t *rows, *spare;
    const double *times;
    merge_part *parts;
    size_t part_count, part_capacity;
} ordering;

static void order_one_range(void *context, size_t begin, size_t end)
{
    const ordering *o = context;
    order_range(o->rows + begin, end - begin, o->times);
}

static void merge_one_part(void *context, size_t index)
{
    const ordering *o = context;
    merge_part p = o->parts[index];
    uint32_t *out = o->spare + p.out;
    while (p.a < p.a_end && p.b < p.b_end)
        *out++ =
            comes_first(o->times[o->rows[p.a]], o->times[o->rows[p.b]]) ? o->rows[p.a++] : o->rows[p.b++];
    while (p.a < p.a_end) *out++ = o->rows[p.a++];
    while (p.b < p.b_end) *out++ = o->rows[p.b++];
}

static void copy_one_part(void *context, size_t index)
{
    const ordering *o = context;
    merge_part p = o->parts[index];
    memcpy(o->rows + p.out, o->spare + p.out, (p.a_end - p.a + p.b_end - p.b) * sizeof *o->rows);
}

/* How many of the first `count` rows of the merge of [a, a_end) and [b, b_end) come from the first. */
static size_t rows_from_first(const ordering *o, size_t a, size_t a_end, size_t b, size_t b_end, size_t count)
{
    size_t low = count > b_end - b ? count - (b_end - b) : 0;
    size_t high = count < a_end - a ? count : a_end - a;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (comes_first(o->times[o->rows[a + middle]], o->times[o->rows[b + count - middle - 1]]))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Lists the parts of the merge of [begin, middle) and [middle, end), without the rows that stay in place. */
static void add_parts(ordering *o, size_t begin, size_t middle, size_t end, size_t grain)
{
    const uint32_t *rows = o->rows;
    if (comes_first(o->times[rows[middle - 1]], o->times[rows[middle]])) return;
    size_t a = begin, a_high = middle; /* becomes the first row that comes after rows[middle] */
    while (a < a_high) {
        size_t at = a + (a_high - a) / 2;
        if (comes_first(o->times[rows[at]], o->times[rows[middle]]))
            a = at + 1;
        else
            a_high = at;
    }
    size_t b_end = middle, b_high = end; /* becomes the first row that comes after rows[middle - 1] */
    while (b_end < b_high) {
        size_t at = b_end + (b_high - b_end) / 2;
        if (comes_first(o->times[rows[middle - 1]], o->times[rows[at]]))
            b_high = at;
        else
            b_end = at + 1;
    }
    size_t count = b_end - a;
    for (size_t done = 0, from_a = 0; done < count; done += grain) {
        size_t next = done + grain < count ? done + grain : count;
        size_t next_a = rows_from_first(o, a, middle, middle, b_end, next);
        merge_part part = {a + from_a, a + next_a, middle + (done - from_a), middle + (next - next_a),
                           a + done};
        GT_PUSH(o->parts, o->part_count, o->part_capacity, part);
        from_a = next_a;
    }
}

void gt_order_rows_by_ranges(uint32_t *rows, size_t count, const double *times, size_t grain)
{
    ordering o = {.rows = rows, .times = times};
    gt_parallel_ranges(count, grain, order_one_range, &o);
    for (size_t width = grain; width < count; width *= 2) {
        o.part_count = 0;
        for (size_t begin = 0; count - begin > width; begin += 2 * width) {
            size_t end = count - begin > 2 * width ? begin + 2 * width : count;
            add_parts(&o, begin, begin + width, end, grain);
            if (end == count) break;
        }
        if (o.part_count && !o.spare) o.spare = gt_alloc(count * sizeof *o.spare);
        gt_parallel_each(o.part_count, merge_one_part, &o);
        gt_parallel_each(o.part_count, copy_one_part, &o);
    }
    gt_free_all(o.spare, o.parts);
}

void gt_order_rows(uint32_t *rows, size_t count, const double *times)
{
    gt_order_rows_by_ranges(rows, count, times, GT_ROWS_GRAIN);
}

int gt_by_row(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* ---- lists and sums ---- */

typedef struct row_filter {
    bool (*wanted)(const void *context, size_t row);
    const void *context;
    size_t *places; /* by range: how many rows it has, then where they begin */
    uint32_t *rows;
} row_filter;

static void count_wanted(void *context, size_t begin, size_t end)
{
    const row_filter *f = context;
    size_t count = 0;
    for (size_t row = begin; row < end; row++) count += f->wanted(f->context, row);
    f->places[begin / GT_ROWS_GRAIN] = count;
}

static void list_wanted(void *context, size_t begin, size_t end)
{
    const row_filter *f = context;
    uint32_t *next = f->rows + f->places[begin / GT_ROWS_GRAIN];
    for (size_t row = begin; row < end; row++)
        if (f->wanted(f->context, row)) *next++ = (uint32_t)row;
}

gt_row_list gt_rows_where(size_t count, bool (*wanted)(const void *context, size_t row), const void *context)
{
    size_t range_count = gt_range_count(count, GT_ROWS_GRAIN), sum = 0;
    row_filter f = {wanted, context, gt_alloc(range_count * sizeof *f.places), NULL};
    gt_parallel_ranges(count, GT_ROWS_GRAIN, count_wanted, &f);
    for (size_t i = 0; i < range_count; i++) {
        size_t here = f.places[i];
        f.places[i] = sum;
        sum += here;
    }
    f.rows = gt_alloc(sum * sizeof *f.rows);
    gt_parallel_ranges(count, GT_ROWS_GRAIN, list_wanted, &f);
    gt_free(f.places);
    return (gt_row_list){f.rows, sum, sum};
}

void gt_sums_before(uint32_t *items, size_t count)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t here = items[i];
        items[i] = sum;
        sum += here;
    }
}

/* ---- sets of rows ----
 *
 * Sets of rows with ranks. */

gt_row_set gt_row_set_new(size_t rows)
{
    gt_row_set set = {.words = rows / 64 + 1};
    set.bits = gt_alloc_zero(set.words, sizeof *set.bits);
    set.before = gt_alloc(set.words * sizeof *set.before);
    return set;
}

void gt_row_set_free(gt_row_set *set)
{
    gt_free_all(set->bits, set->before);
    *set = (gt_row_set){0};
}

size_t gt_row_set_finish(gt_row_set *set)
{
    size_t count = 0;
    for (size_t i = 0; i < set->words; i++) {
        set->before[i] = (uint32_t)count;
        count += (size_t)__builtin_popcountll(set->bits[i]);
    }
    return count;
}
