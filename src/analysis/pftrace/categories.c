/* category_summary: 14 rows per GPU, then the mean over the GPUs for each category in order of its name.
 *
 *     Total runtime (ms)             sum of the durations / 1,000,000
 *     Total count                    events; 0 in the last four rows of a GPU
 *     Fraction of compute runtime    of compute_total, which is the sum of the first nine rows
 *     Fraction of total runtime      of total_incl_comm, which is compute_total + rccl
 *     overlapped_comm                gt_pftrace_overlap; non_overlapped_comm is rccl - overlapped_comm */
#include "analysis/pftrace/sheets.h"

#include "analysis/sheet_parts.h"
#include "schema/columns.h"
#include "table/stats.h"

/* ---- overlap ----
 *
 * For each communication [b, e), three kinds of kernels count:
 *
 *     - Those that started before b and still run at b. Communications come in order of their starts, so a
 *       kernel that has ended at b never counts again and is removed from a chain (as in union-find).
 *     - Those that start in [b, e) and end by e: they count in full, as a difference of running totals.
 *     - The first one that ends after e: it counts up to e and is the last one. It is found with the latest
 *       end of each block of events.
 */

enum { BLOCK = 64 };

typedef struct compute_index {
    const gt_pftrace_event *items;
    size_t count;
    uint32_t *next; /* by event: itself if it may still be running, otherwise a later event to go on from */
    int64_t *total_ns; /* sum of the durations before each event, modulo 2^64 */
    int64_t *latest;   /* the latest end in each block of BLOCK events */
} compute_index;

static int64_t end_of(const gt_pftrace_event *event)
{
    return event->begin_ns + event->dur_ns;
}

static compute_index index_compute(const gt_pftrace_list *compute)
{
    compute_index w = {.items = compute->items, .count = compute->count};
    w.next = gt_alloc((w.count + 1) * sizeof *w.next);
    w.total_ns = gt_alloc((w.count + 1) * sizeof *w.total_ns);
    w.latest = gt_alloc((w.count / BLOCK + 1) * sizeof *w.latest);
    uint64_t total = 0;
    for (size_t i = 0; i <= w.count; i++) {
        w.next[i] = (uint32_t)i;
        w.total_ns[i] = (int64_t)total;
        if (i == w.count) break;
        total += (uint64_t)w.items[i].dur_ns;
        int64_t *latest = &w.latest[i / BLOCK];
        if (i % BLOCK == 0 || end_of(&w.items[i]) > *latest) *latest = end_of(&w.items[i]);
    }
    return w;
}

/* The first event from `from` on that ends after the time. Later calls have later times, so events that have
 * ended are skipped for good. */
static size_t first_running(compute_index *w, size_t from, int64_t time_ns)
{
    size_t at = from;
    for (;;) {
        while (w->next[at] != at) at = w->next[at];
        if (at == w->count || end_of(&w->items[at]) > time_ns) break;
        w->next[at] = (uint32_t)at + 1;
    }
    while (from != at) { /* let all events on the way point to the one found */
        size_t step = w->next[from];
        w->next[from] = (uint32_t)at;
        from = step;
    }
    return at;
}

/* The first event that starts at the time or later. */
static size_t first_starting(const compute_index *w, int64_t time_ns)
{
    size_t low;
    GT_BISECT(low, 0, w->count, w->items[low].begin_ns < time_ns);
    return low;
}

/* The first event from `at` on that ends after the time; `until` if no event before `until` does. */
static size_t first_ending_after(const compute_index *w, size_t at, size_t until, int64_t time_ns)
{
    while (at < until) {
        if (at % BLOCK == 0 && w->latest[at / BLOCK] <= time_ns)
            at += BLOCK;
        else if (end_of(&w->items[at]) > time_ns)
            return at;
        else
            at++;
    }
    return until;
}

static int64_t overlap_with(compute_index *w, int64_t begin_ns, int64_t end_ns)
{
    uint64_t sum = 0;
    size_t from = first_starting(w, begin_ns), until = first_starting(w, end_ns);
    for (size_t at = first_running(w, 0, begin_ns); at < from; at = first_running(w, at + 1, begin_ns)) {
        int64_t end = end_of(&w->items[at]);
        sum += (uint64_t)((end < end_ns ? end : end_ns) - begin_ns);
        if (end > end_ns) return (int64_t)sum;
    }
    size_t last = first_ending_after(w, from, until, end_ns);
    sum += (uint64_t)w->total_ns[last] - (uint64_t)w->total_ns[from];
    if (last < until) sum += (uint64_t)(end_ns - w->items[last].begin_ns);
    return (int64_t)sum;
}

int64_t gt_pftrace_overlap(const gt_pftrace_list *compute, const gt_pftrace_list *communication)
{
    compute_index w = index_compute(compute);
    uint64_t sum = 0;
    for (size_t i = 0; i < communication->count; i++)
        sum += (uint64_t)overlap_with(&w, communication->items[i].begin_ns, end_of(&communication->items[i]));
    gt_free_all(w.next, w.total_ns, w.latest);
    return (int64_t)sum;
}

/* ---- category_summary ---- */

enum { OVERLAPPED = GT_PFTRACE_CLASSES, NOT_OVERLAPPED, COMPUTE_TOTAL, TOTAL, ROWS };
static const char *const row_names[ROWS] = {
    [GT_PFTRACE_XLA] = "xla",
    [GT_PFTRACE_AITER_FORWARD] = "aiterfwd",
    [GT_PFTRACE_AITER_BACKWARD] = "aiterbwd",
    [GT_PFTRACE_GEMM] = "gemm",
    [GT_PFTRACE_CK_BACKWARD] = "ckbwd",
    [GT_PFTRACE_CK_FORWARD] = "ckfwd",
    [GT_PFTRACE_TE] = "te",
    [GT_PFTRACE_MEMCPY] = "memcpy/memset",
    [GT_PFTRACE_FILL_BUFFER] = "fillBuffer",
    [GT_PFTRACE_RCCL] = "rccl",
    [OVERLAPPED] = "overlapped_comm",
    [NOT_OVERLAPPED] = "non_overlapped_comm",
    [COMPUTE_TOTAL] = "compute_total",
    [TOTAL] = "total_incl_comm",
};
enum { GPU, CATEGORY, TIME_MS, COUNT, OF_COMPUTE, OF_TOTAL };

static void add_list(gt_pftrace_totals *totals, const gt_pftrace_list *list, const uint8_t *classes)
{
    for (size_t i = 0; i < list->count; i++) {
        size_t class = (size_t)classes[list->items[i].name] - 1;
        totals->ns[class] += list->items[i].dur_ns;
        totals->count[class]++;
    }
}

gt_pftrace_totals *gt_pftrace_find_totals(const gt_pftrace_work *work)
{
    gt_pftrace_totals *all = gt_alloc_zero(work->agents.count + 1, sizeof *all);
    for (size_t gpu = 0; gpu < work->agents.count; gpu++) {
        add_list(&all[gpu], &work->compute[gpu], work->classes);
        add_list(&all[gpu], &work->communication[gpu], work->classes);
        for (size_t c = 0; c < GT_PFTRACE_RCCL; c++) all[gpu].compute_ns += all[gpu].ns[c];
        all[gpu].overlapped_ns = gt_pftrace_overlap(&work->compute[gpu], &work->communication[gpu]);
    }
    return all;
}

static void add_row(gt_table *table, const char *gpu, size_t category, double ms, double count,
                    double of_compute, double of_total)
{
    size_t row = gt_table_add_row(table);
    gt_table_set_cstr(table, GPU, row, gpu);
    gt_table_set_cstr(table, CATEGORY, row, row_names[category]);
    gt_table_set_float(table, TIME_MS, row, ms);
    gt_table_set_float(table, COUNT, row, count);
    gt_table_set_float(table, OF_COMPUTE, row, of_compute);
    gt_table_set_float(table, OF_TOTAL, row, of_total);
}

static double fraction_of(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0.0;
}

static void add_gpu(gt_table *table, size_t gpu, const gt_pftrace_totals *totals)
{
    int64_t rccl = totals->ns[GT_PFTRACE_RCCL], total = totals->compute_ns + rccl;
    int64_t ns[ROWS] = {0};
    for (size_t c = 0; c < GT_PFTRACE_CLASSES; c++) ns[c] = totals->ns[c];
    ns[OVERLAPPED] = totals->overlapped_ns;
    ns[NOT_OVERLAPPED] = (int64_t)((uint64_t)rccl - (uint64_t)totals->overlapped_ns);
    ns[COMPUTE_TOTAL] = totals->compute_ns;
    ns[TOTAL] = total;
    char *name = gt_format("%zu", gpu);
    for (size_t r = 0; r < ROWS; r++)
        add_row(table, name, r, (double)ns[r] / 1e6, r < GT_PFTRACE_CLASSES ? (double)totals->count[r] : 0.0,
                fraction_of(ns[r], totals->compute_ns), fraction_of(ns[r], total));
    gt_free(name);
}

/* The mean of one column over the GPUs, for one category. */
static double mean_of(const gt_table *table, size_t column, size_t category, size_t gpus)
{
    double *values = gt_alloc(gpus * sizeof *values);
    for (size_t gpu = 0; gpu < gpus; gpu++)
        values[gpu] = table->columns[column].floats[gpu * ROWS + category];
    double mean = gt_mean(values, gpus);
    gt_free(values);
    return mean;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(row_names[*(const size_t *)left], row_names[*(const size_t *)right]);
}

gt_table *gt_pftrace_category_summary(const gt_pftrace_totals *totals, size_t gpus, gt_interner *strings)
{
    static const gt_column_head columns[] = {
        {GT_COL_GPU_ID, GT_TYPE_STRING},
        {GT_COL_CATEGORY, GT_TYPE_STRING},
        {GT_COL_TOTAL_RUNTIME_MS, GT_TYPE_FLOAT},
        {GT_COL_TOTAL_COUNT, GT_TYPE_FLOAT},
        {GT_COL_FRACTION_OF_COMPUTE_RUNTIME, GT_TYPE_FLOAT},
        {GT_COL_FRACTION_OF_TOTAL_RUNTIME, GT_TYPE_FLOAT},
    };
    gt_table *table = gt_table_new(GT_SHEET_CATEGORY_SUMMARY, strings);
    if (!gpus) return table;
    gt_table_add_columns(table, columns, GT_LENGTH(columns));
    for (size_t gpu = 0; gpu < gpus; gpu++) add_gpu(table, gpu, &totals[gpu]);
    size_t order[ROWS];
    for (size_t r = 0; r < ROWS; r++) order[r] = r;
    qsort(order, ROWS, sizeof *order, by_name);
    for (size_t r = 0; r < ROWS; r++)
        add_row(table, "Avg", order[r], mean_of(table, TIME_MS, order[r], gpus),
                mean_of(table, COUNT, order[r], gpus), mean_of(table, OF_COMPUTE, order[r], gpus),
                mean_of(table, OF_TOTAL, order[r], gpus));
    return table;
}

/* ---- xla_top ----
 *
 * Total time (ms), Count and Fraction of XLA (the part of the time of all of them) of each name, the longest
 * first, equal ones in the order of their first events. */

static gt_table *xla_events(const gt_pftrace_work *work, bool merge_names, gt_interner *strings)
{
    gt_table *events = gt_table_new(GT_SHEET_XLA_TOP, strings);
    gt_table_add_column(events, GT_COL_KERNEL_TITLE, GT_TYPE_STRING);
    gt_table_add_column(events, GT_COL_DUR_NS, GT_TYPE_INT);
    gt_table_add_rows(events, work->xla.count);
    for (size_t i = 0; i < work->xla.count; i++) {
        uint32_t name = work->xla.items[i].name;
        events->columns[0].texts[i] =
            merge_names ? gt_name_without_digits(strings, gt_interner_get(strings, name)) : name;
        events->columns[1].ints[i] = work->xla.items[i].dur_ns;
    }
    return events;
}

gt_table *gt_pftrace_xla_top(const gt_pftrace_work *work, bool merge_names, gt_interner *strings)
{
    static const gt_col keys[] = {GT_COL_KERNEL_TITLE};
    static const gt_aggregate by_name_aggregates[] = {
        {GT_COL_DUR_NS, GT_GROUP_SUM, GT_COL_NS},
        {GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT_TITLE},
    };
    static const gt_sort_key longest_first[] = {{GT_COL_NS, true}};
    static const gt_col shown[] = {GT_COL_KERNEL_TITLE, GT_COL_CATEGORY_TOTAL_TIME_MS, GT_COL_COUNT_TITLE,
                                   GT_COL_FRACTION_OF_XLA};
    gt_table *events = xla_events(work, merge_names, strings);
    gt_table *top = gt_table_group(events, keys, 1, by_name_aggregates, GT_LENGTH(by_name_aggregates),
                                   (gt_group_options){0});
    gt_table_free(events);
    gt_table_rename(top, GT_SHEET_XLA_TOP);
    gt_table_sort(top, longest_first, 1);
    size_t ms = gt_table_add_zeroed(top, GT_COL_CATEGORY_TOTAL_TIME_MS, GT_TYPE_FLOAT);
    size_t fraction = gt_table_add_zeroed(top, GT_COL_FRACTION_OF_XLA, GT_TYPE_FLOAT);
    const int64_t *ns = gt_table_column(top, GT_COL_NS)->ints;
    int64_t total = 0;
    for (size_t row = 0; row < top->row_count; row++) total += ns[row];
    for (size_t row = 0; row < top->row_count; row++) {
        top->columns[ms].floats[row] = (double)ns[row] / 1e6;
        top->columns[fraction].floats[row] = (double)ns[row] / (double)total;
    }
    gt_table_select(top, shown, top->row_count ? GT_LENGTH(shown) : 0);
    return top;
}
