/* Are the times of several ranks on one clock?
 *
 * The times of a PyTorch trace are microseconds since its baseTimeNanoseconds, which may differ between
 * ranks:
 *
 *     rank 0   base 1,751,410,836 s   a collective starts at ts 7,000,000
 *     rank 1   base 1,751,410,831 s   the same one starts at ts 12,000,010, that is 10 us later
 *
 * Absolute times in double microseconds would be exact to a quarter of a microsecond only. So times are moved
 * by the difference of the bases, which is an integer of nanoseconds. Traces from before baseTimeNanoseconds
 * have times since 1970: their base is 0. */
#include "analysis/collective/sheets.h"

#include "schema/columns.h"

#define EPOCH_LIKE_US 1e14 /* 1973: a trace whose times are above this counts from 1970 */

static double start_at(const gt_column *starts, size_t row)
{
    return starts->type == GT_TYPE_INT ? (double)starts->ints[row] : starts->floats[row];
}

/* The earliest start of each rank; infinity if it has no rows. The caller frees it. */
static double *earliest_starts(const gt_table *rows, size_t rank_count)
{
    const int64_t *ranks = gt_table_column(rows, GT_COL_RANK)->ints;
    const gt_column *starts = gt_table_column(rows, GT_COL_TS);
    double *earliest = gt_alloc(rank_count * sizeof *earliest);
    for (size_t rank = 0; rank < rank_count; rank++) earliest[rank] = (double)INFINITY;
    for (size_t row = 0; row < rows->row_count; row++) {
        double start = start_at(starts, row), *of = &earliest[ranks[row]];
        if (start < *of) *of = start;
    }
    return earliest;
}

/* How far each rank is moved. The caller frees it; NULL if no rank is. */
static int64_t *find_offsets(const gt_table *rows, const gt_base_time *bases, size_t rank_count)
{
    size_t first = 0, unknown = 0, first_unknown = 0;
    while (first < rank_count && !bases[first].known) first++;
    if (first == rank_count) return NULL;
    int64_t *offsets_ns = gt_alloc_zero(rank_count, sizeof *offsets_ns);
    double *earliest = earliest_starts(rows, rank_count);
    bool any = false;
    for (size_t rank = 0; rank < rank_count; rank++) {
        if (isinf(earliest[rank])) continue;
        bool since_1970 = !bases[rank].known && earliest[rank] > EPOCH_LIKE_US;
        int64_t base_ns = since_1970 ? 0 : bases[rank].ns;
        if ((!bases[rank].known && !since_1970) ||
            __builtin_sub_overflow(base_ns, bases[first].ns, &offsets_ns[rank])) {
            offsets_ns[rank] = 0;
            if (!unknown++) first_unknown = rank;
        }
        any |= offsets_ns[rank] != 0;
    }
    gt_free(earliest);
    if (unknown)
        gt_warn(
            "rank %zu%s: no usable baseTimeNanoseconds; times are compared as if they were on the clock of "
            "rank %zu",
            first_unknown, unknown > 1 ? " and others" : "", first);
    if (any) return offsets_ns;
    gt_free(offsets_ns);
    return NULL;
}

static bool all_whole(const int64_t *offsets_ns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (offsets_ns[i] % 1000) return false;
    return true;
}

static void make_float(gt_column *column, size_t rows)
{
    double *floats = gt_alloc(rows * sizeof *floats);
    for (size_t row = 0; row < rows; row++) floats[row] = (double)column->ints[row];
    gt_free(column->ints);
    column->floats = floats;
    column->type = GT_TYPE_FLOAT;
}

void gt_collectives_align(gt_table *rows, const gt_base_time *bases, size_t rank_count)
{
    if (!rows->row_count) return;
    int64_t *offsets_ns = find_offsets(rows, bases, rank_count);
    if (!offsets_ns) return;
    const int64_t *ranks = gt_table_column(rows, GT_COL_RANK)->ints;
    bool whole = all_whole(offsets_ns, rank_count);
    size_t offset = gt_table_add_column(rows, GT_COL_CLOCK_OFFSET_US, whole ? GT_TYPE_INT : GT_TYPE_FLOAT);
    gt_column *starts = &rows->columns[gt_table_find(rows, GT_COL_TS)];
    if (!whole && starts->type == GT_TYPE_INT) make_float(starts, rows->row_count);
    for (size_t row = 0; row < rows->row_count; row++) {
        int64_t ns = offsets_ns[ranks[row]];
        if (whole)
            gt_table_set_int(rows, offset, row, ns / 1000);
        else
            gt_table_set_float(rows, offset, row, (double)ns / 1000.0);
        if (starts->type == GT_TYPE_INT)
            starts->ints[row] += ns / 1000;
        else if (ns)
            starts->floats[row] += (double)(ns / 1000) + (double)(ns % 1000) / 1000.0;
    }
    gt_free(offsets_ns);
}

/* ---- ranks that were recorded at another time ---- */

/* Clocks without a time server are off by minutes at most; a second run begins later than that. */
#define LEAST_APART_US (600 * 1e6)

typedef struct window {
    double start_us, end_us;
    size_t rank;
} window;

GT_ORDER_BY(by_start, window, GT_UP(start_us) GT_UP(rank))

/* Whether the times of all ranks with collectives count from 1970, so that they can be compared. */
static bool are_since_1970(const window *windows, size_t count, const gt_base_time *bases)
{
    size_t known = 0, large = 0;
    for (size_t i = 0; i < count; i++) {
        known += bases[windows[i].rank].known;
        large += windows[i].start_us > EPOCH_LIKE_US;
    }
    return known == count || (!known && large == count);
}

/* From the first start to the last end of each rank with collectives, in order of time. */
static window *find_windows(const gt_table *rows, size_t rank_count, size_t *count)
{
    const int64_t *ranks = gt_table_column(rows, GT_COL_RANK)->ints;
    const gt_column *starts = gt_table_column(rows, GT_COL_TS), *durs = gt_table_column(rows, GT_COL_DUR);
    window *windows = gt_alloc((rank_count + 1) * sizeof *windows);
    for (size_t r = 0; r < rank_count; r++) windows[r] = (window){INFINITY, -INFINITY, r};
    for (size_t row = 0; row < rows->row_count; row++) {
        window *of = &windows[ranks[row]];
        double start = start_at(starts, row);
        of->start_us = fmin(of->start_us, start);
        of->end_us = fmax(of->end_us, start + start_at(durs, row));
    }
    *count = 0;
    for (size_t r = 0; r < rank_count; r++)
        if (isfinite(windows[r].start_us)) windows[(*count)++] = windows[r];
    if (*count) qsort(windows, *count, sizeof *windows, by_start);
    return windows;
}

double *gt_collectives_find_apart(const gt_table *rows, const gt_base_time *bases, size_t rank_count)
{
    if (!rows->row_count) return NULL;
    size_t count, best = 0, most = 0;
    window *windows = find_windows(rows, rank_count, &count);
    double *apart_s = NULL;
    if (!are_since_1970(windows, count, bases)) count = 0;
    /* Ranks that follow each other closely were recorded together; of equally many, those with the lowest. */
    size_t lowest = SIZE_MAX;
    for (size_t begin = 0, end; begin < count; begin = end) {
        double until_us = windows[begin].end_us;
        size_t least = windows[begin].rank;
        for (end = begin + 1; end < count && windows[end].start_us - until_us < LEAST_APART_US; end++) {
            until_us = fmax(until_us, windows[end].end_us);
            if (windows[end].rank < least) least = windows[end].rank;
        }
        if (end - begin < most || (end - begin == most && least > lowest)) continue;
        best = begin;
        most = end - begin;
        lowest = least;
    }
    if (most < count) apart_s = gt_alloc_zero(rank_count, sizeof *apart_s);
    double usual_us = most < count ? windows[best + most / 2].start_us : 0;
    for (size_t i = 0; i < count && most < count; i++)
        if (i < best || i >= best + most) apart_s[windows[i].rank] = (windows[i].start_us - usual_us) / 1e6;
    gt_free(windows);
    return apart_s;
}
