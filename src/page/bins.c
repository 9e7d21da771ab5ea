/* What the page has instead of single GPU events where there are too many: each lane's share of busy time in
 * bins, and the sums of calls and kernels in larger ones.
 *
 * A lane is busy in a bin for as long as any of its ops runs there. Ops come by start, so what an op adds is
 * its time after all before it: everything is linear in ops and bins, also if ops overlap. Sums count an op
 * where it begins. There are as many bins of sums as keep the table small. */
#include "page/work_parts.h"

#include "schema/page.h"

enum { SUM_ROWS_MAX = 100000 };

/* The bin of a time, of `bins` equal ones. */
static size_t bin_of(const gt_page_work *w, int64_t ns, size_t bins)
{
    size_t bin = (size_t)((__int128)ns * (int64_t)bins / (w->end_ns + 1));
    return bin < bins ? bin : bins - 1;
}

/* The first time in a bin. */
static int64_t bin_start(const gt_page_work *w, size_t bin, size_t bins)
{
    __int128 length = (__int128)(w->end_ns + 1) * (int64_t)bin;
    return (int64_t)((length + (int64_t)bins - 1) / (int64_t)bins);
}

/* ---- busy time ---- */

typedef struct bin_filler {
    const gt_page_work *w;
    gt_table *table;
    uint32_t names[GT_CATEGORIES]; /* string ids */
    size_t lane, bin;
    int64_t times[GT_CATEGORIES]; /* in the present bin */
} bin_filler;

enum { LANE, BIN, BUSY, CATEGORY };

static void end_bin(bin_filler *f)
{
    int64_t busy = 0;
    size_t most = 0;
    for (size_t i = 0; i < GT_CATEGORIES; i++) {
        busy += f->times[i];
        if (f->times[i] > f->times[most]) most = i;
    }
    if (!busy) return;
    size_t row = gt_table_add_row(f->table);
    gt_table_set_int(f->table, LANE, row, (int64_t)f->lane);
    gt_table_set_int(f->table, BIN, row, (int64_t)f->bin);
    gt_table_set_int(f->table, BUSY, row, busy);
    gt_table_set_string(f->table, CATEGORY, row, f->names[most]);
    memset(f->times, 0, sizeof f->times);
}

/* Adds busy time from `start` to `end`, which never lies before what was added last. */
static void add_time(bin_filler *f, int64_t start, int64_t end, uint8_t category)
{
    while (start < end) {
        size_t bin = bin_of(f->w, start, GT_PAGE_BINS);
        if (bin != f->bin) end_bin(f);
        f->bin = bin;
        int64_t until = bin_start(f->w, bin + 1, GT_PAGE_BINS);
        if (until <= start || until > end) until = end;
        f->times[category] += until - start;
        start = until;
    }
}

static void add_busy(const gt_page_work *w, gt_table_list *tables)
{
    static const gt_column_head heads[] = {{GT_COL_PAGE_LANE, GT_TYPE_INT},
                                           {GT_COL_PAGE_BIN, GT_TYPE_INT},
                                           {GT_COL_PAGE_BUSY, GT_TYPE_INT},
                                           {GT_COL_PAGE_CATEGORY, GT_TYPE_STRING}};
    bin_filler f = {.w = w, .table = gt_table_new(GT_SHEET_PAGE_BINS, w->schedule->strings)};
    gt_table_add_columns(f.table, heads, GT_LENGTH(heads));
    for (size_t c = 0; c < GT_CATEGORIES; c++)
        f.names[c] = gt_interner_add_cstr(f.table->strings, gt_category_name((gt_category)c));
    size_t next = 0;
    for (f.lane = 0; f.lane < w->lane_count && w->lanes[f.lane].is_stream; f.lane++) {
        int64_t reached = 0;
        for (size_t end = next + w->lanes[f.lane].events; next < end; next++) {
            uint32_t number = w->order[next];
            gt_page_op op = gt_page_op_at(w, number);
            int64_t op_start = gt_page_time(w, op.start_ns), op_end = gt_page_time(w, op.end_ns);
            add_time(&f, op_start > reached ? op_start : reached, op_end, w->op_category[number]);
            if (op_end > reached) reached = op_end;
        }
        end_bin(&f);
    }
    gt_table_list_add(tables, f.table);
}

/* ---- sums ---- */

typedef struct bin_sum {
    uint32_t bin, sum; /* sum: row of page_sums */
    int64_t count, calls, ns;
} bin_sum;

typedef struct bin_sums {
    bin_sum *items;
    size_t count, capacity;
} bin_sums;

static void add_to_bin(bin_sums *sums, gt_map *places, bin_sum added)
{
    uint32_t *place = gt_map_put(places, added.bin, added.sum);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)sums->count;
        GT_PUSH(sums->items, sums->count, sums->capacity, ((bin_sum){.bin = added.bin, .sum = added.sum}));
    }
    bin_sum *item = &sums->items[*place];
    item->count += added.count;
    item->calls += added.calls;
    item->ns = gt_page_add_ns(item->ns, added.ns);
}

/* Joins each two neighbours. */
static void halve_bins(bin_sums *sums)
{
    gt_map places = {0};
    bin_sums halved = {0};
    for (size_t i = 0; i < sums->count; i++) {
        bin_sum item = sums->items[i];
        item.bin /= 2;
        add_to_bin(&halved, &places, item);
    }
    gt_map_free(&places);
    gt_free(sums->items);
    *sums = halved;
}

GT_ORDER_BY(by_bin, bin_sum, GT_UP(bin) GT_UP(sum))

/* Returns the number of bins. */
static size_t find_bin_sums(const gt_page_work *w, bin_sums *sums)
{
    gt_map places = {0};
    size_t bins = GT_PAGE_SUM_BINS;
    for (size_t i = 0; i < w->op_count; i++) {
        gt_page_op op = gt_page_op_at(w, i);
        uint32_t bin = (uint32_t)bin_of(w, gt_page_time(w, op.start_ns), bins);
        add_to_bin(sums, &places, (bin_sum){bin, w->op_sum[i], 1, w->op_begins[i], op.end_ns - op.start_ns});
    }
    gt_map_free(&places);
    for (; sums->count > SUM_ROWS_MAX && bins > 1; bins /= 2) halve_bins(sums);
    if (sums->count) qsort(sums->items, sums->count, sizeof *sums->items, by_bin);
    return bins;
}

static size_t add_sums(const gt_page_work *w, gt_table_list *tables)
{
    static const gt_column_head heads[] = {
        {GT_COL_PAGE_BIN, GT_TYPE_INT},   {GT_COL_PAGE_CALL, GT_TYPE_INT},  {GT_COL_PAGE_KERNEL, GT_TYPE_INT},
        {GT_COL_PAGE_COUNT, GT_TYPE_INT}, {GT_COL_PAGE_CALLS, GT_TYPE_INT}, {GT_COL_PAGE_NS, GT_TYPE_INT}};
    bin_sums sums = {0};
    size_t bins = find_bin_sums(w, &sums);
    gt_table *table = gt_table_new(GT_SHEET_PAGE_BIN_SUMS, w->schedule->strings);
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    gt_table_add_rows(table, sums.count);
    for (size_t i = 0; i < sums.count; i++) {
        const gt_page_sum *sum = &w->sums[sums.items[i].sum];
        gt_table_set_int(table, 0, i, sums.items[i].bin);
        if (sum->call == GT_NONE)
            gt_table_set_null(table, 1, i);
        else
            gt_table_set_int(table, 1, i, sum->call);
        gt_table_set_int(table, 2, i, sum->kernel);
        gt_table_set_int(table, 3, i, sums.items[i].count);
        gt_table_set_int(table, 4, i, sums.items[i].calls);
        gt_table_set_int(table, 5, i, sums.items[i].ns);
    }
    gt_free(sums.items);
    gt_table_list_add(tables, table);
    return bins;
}

size_t gt_page_add_bins(const gt_page_work *w, gt_table_list *tables)
{
    if (w->exact_start < 0) return 0;
    add_busy(w, tables);
    return add_sums(w, tables);
}
