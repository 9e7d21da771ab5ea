/* Sheets temporal_breakdown, comm_comp_overlap, idle_time_breakdown and idle_interval_stats: what did the GPU
 * do, and why was it idle?
 *
 * temporal_breakdown:
 *
 *     kernel_time(us)       from the first start to the last end of GPU events
 *     idle_time(us)         kernel_time - time in which anything ran
 *     compute_time(us)      time in which computation ran
 *     non_compute_time(us)  kernel_time - compute_time - idle_time
 *     *_pctg                100 * time / kernel_time, two decimals
 *
 * comm_comp_overlap:
 *
 *     comp_comm_overlap_pctg  100 * time in which communication and computation ran / time in which
 *                             communication ran, two decimals; empty if there was no communication
 *
 * idle_time_breakdown and idle_interval_stats: a stream is idle from the latest end so far of a kernel, copy
 * or memset to the start of the next one. Kernels of one stream may overlap (programmatic dependent launch);
 * then it is not idle between them. HTA takes the end of the previous kernel instead, so its intervals may be
 * negative, and too long after a short kernel that ran during a long one. An interval is
 *
 *     host_wait    if the launch of the next one began after that end: the host was late
 *     kernel_wait  otherwise, if it is shorter than the usual delay between two kernels
 *     other        otherwise: waiting for another stream or for an event. The first kernel of a stream
 *                  counts here, without an interval
 *
 *     idle_time        sum of the intervals of a category, µs, two decimals
 *     idle_time_ratio  its share of all intervals of the stream, two decimals; empty if their sum is 0 */
#include "analysis/hta/hta.h"

#include "schema/columns.h"
#include "table/stats.h"

/* ---- temporal_breakdown ---- */

gt_table *gt_hta_temporal_breakdown(const gt_hta_events *events, int64_t rank)
{
    static const gt_col times[] = {GT_COL_IDLE_TIME_US, GT_COL_COMPUTE_TIME_US, GT_COL_NON_COMPUTE_TIME_US,
                                   GT_COL_HTA_KERNEL_TIME_US};
    static const gt_col shares[] = {GT_COL_IDLE_TIME_PCTG, GT_COL_COMPUTE_TIME_PCTG,
                                    GT_COL_NON_COMPUTE_TIME_PCTG};
    gt_table *table = gt_table_new(GT_SHEET_TEMPORAL_BREAKDOWN, events->strings);
    gt_table_add_column(table, GT_COL_RANK, GT_TYPE_INT);
    for (size_t i = 0; i < 4; i++)
        gt_table_add_column(table, times[i], events->whole ? GT_TYPE_INT : GT_TYPE_FLOAT);
    for (size_t i = 0; i < 3; i++) gt_table_add_column(table, shares[i], GT_TYPE_FLOAT);
    if (!events->count) return table;

    gt_intervals busy = gt_hta_running(events, GT_HTA_ANY_TYPE),
                 compute = gt_hta_running(events, GT_HTA_COMPUTATION);
    double kernel_us = busy.items[busy.count - 1].end - busy.items[0].start;
    double idle_us = kernel_us - gt_intervals_length(&busy), compute_us = gt_intervals_length(&compute);
    const double values_us[] = {idle_us, compute_us, kernel_us - compute_us - idle_us, kernel_us};
    size_t row = gt_table_add_row(table);
    gt_table_set_int(table, 0, row, rank);
    for (size_t i = 0; i < 4; i++) gt_hta_set_time(table, 1 + i, row, values_us[i]);
    for (size_t i = 0; i < 3; i++) {
        double share = kernel_us != 0 ? gt_hta_hundredths(100 * (values_us[i] / kernel_us)) : (double)NAN;
        gt_table_set_float(table, 5 + i, row, share);
    }
    gt_intervals_free(&busy);
    gt_intervals_free(&compute);
    return table;
}

/* ---- comm_comp_overlap ---- */

gt_table *gt_hta_comm_comp_overlap(const gt_hta_events *events, int64_t rank)
{
    gt_table *table = gt_table_new(GT_SHEET_COMM_COMP_OVERLAP, events->strings);
    gt_table_add_column(table, GT_COL_RANK, GT_TYPE_INT);
    gt_table_add_column(table, GT_COL_COMP_COMM_OVERLAP_PCTG, GT_TYPE_FLOAT);
    if (!events->count) return table;

    gt_intervals communication = gt_hta_running(events, GT_HTA_COMMUNICATION);
    gt_intervals computation = gt_hta_running(events, GT_HTA_COMPUTATION);
    gt_intervals both = gt_intervals_intersect(&communication, &computation);
    double whole_us = gt_intervals_length(&communication), both_us = gt_intervals_length(&both);
    size_t row = gt_table_add_row(table);
    gt_table_set_int(table, 0, row, rank);
    gt_table_set_float(table, 1, row,
                       whole_us != 0 ? gt_hta_hundredths(100 * (both_us / whole_us)) : (double)NAN);
    gt_intervals_free(&communication);
    gt_intervals_free(&computation);
    gt_intervals_free(&both);
    return table;
}

/* ---- idle_time_breakdown and idle_interval_stats ---- */

enum { HOST_WAIT, KERNEL_WAIT, OTHER, CATEGORIES };
static const char *const category_names[CATEGORIES] = {"host_wait", "kernel_wait", "other"};

typedef struct category {
    bool seen; /* the first kernel of a stream has a category but no interval */
    double *intervals_us;
    size_t count, capacity;
} category;

static int category_of(const gt_hta_kernel *kernel, double idle_from_us, int64_t kernel_delay_us)
{
    if (kernel->has_launch && kernel->launch.start_us > idle_from_us) return HOST_WAIT;
    return kernel->at.start_us - idle_from_us < (double)kernel_delay_us ? KERNEL_WAIT : OTHER;
}

/* Sorts the intervals of one stream into categories, which must be empty. Returns false if it has no kernel.
 */
static bool sort_intervals(const gt_hta_events *events, const uint32_t *places, size_t count,
                           category *categories)
{
    bool any = false, as_hta = events->options.hta_times;
    double idle_from_us = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        const gt_hta_kernel *kernel = &events->kernels[places[i]];
        if (!kernel->is_work) continue;
        double idle_us = kernel->at.start_us - idle_from_us;
        if (!any) {
            categories[OTHER].seen = any = true;
        } else if (as_hta || idle_us > 0) {
            category *c = &categories[category_of(kernel, idle_from_us, events->options.kernel_delay_us)];
            GT_PUSH(c->intervals_us, c->count, c->capacity, idle_us);
            c->seen = true;
        }
        idle_from_us = as_hta ? kernel->at.end_us : fmax(idle_from_us, kernel->at.end_us);
    }
    return any;
}

static size_t add_row(gt_table *table, int64_t rank, int64_t stream, size_t kind)
{
    size_t row = gt_table_add_row(table);
    gt_table_set_int(table, 0, row, rank);
    gt_table_set_int(table, 1, row, stream);
    gt_table_set_cstr(table, 2, row, category_names[kind]);
    return row;
}

static void add_sums(gt_table *table, int64_t rank, int64_t stream, const category *categories)
{
    double sums_us[CATEGORIES], whole_us = 0;
    for (size_t i = 0; i < CATEGORIES; i++) {
        sums_us[i] = gt_sum_pairwise(categories[i].intervals_us, categories[i].count);
        whole_us += sums_us[i];
    }
    for (size_t i = 0; i < CATEGORIES; i++) {
        if (!categories[i].seen) continue;
        size_t row = add_row(table, rank, stream, i);
        gt_table_set_float(table, 3, row, gt_hta_hundredths(sums_us[i]));
        gt_table_set_float(table, 4, row,
                           whole_us != 0 ? gt_hta_hundredths(sums_us[i] / whole_us) : (double)NAN);
    }
}

static void add_statistics(gt_table *table, int64_t rank, int64_t stream, const category *categories)
{
    for (size_t i = 0; i < CATEGORIES; i++) {
        if (!categories[i].seen) continue;
        size_t row = add_row(table, rank, stream, i);
        gt_hta_set_statistics(table, 3, row, categories[i].intervals_us, categories[i].count);
        for (size_t c = 4; c < table->column_count; c++)
            table->columns[c].floats[row] = gt_hta_hundredths(table->columns[c].floats[row]);
    }
}

static gt_table *begin_table(gt_sheet name, const gt_hta_events *events)
{
    gt_table *table = gt_table_new(name, events->strings);
    gt_table_add_column(table, GT_COL_RANK, GT_TYPE_INT);
    gt_table_add_column(table, GT_COL_STREAM, GT_TYPE_INT);
    gt_table_add_column(table, GT_COL_IDLE_CATEGORY, GT_TYPE_STRING);
    return table;
}

static void add_streams(gt_table *table, const gt_hta_events *events, int64_t rank,
                        void add(gt_table *, int64_t, int64_t, const category *))
{
    gt_hta_streams streams = gt_hta_streams_find(events);
    for (size_t i = 0, begin = 0; i < streams.count; begin = streams.ends[i++]) {
        category categories[CATEGORIES] = {0};
        if (sort_intervals(events, streams.places + begin, streams.ends[i] - begin, categories))
            add(table, rank, streams.numbers[i], categories);
        for (size_t c = 0; c < CATEGORIES; c++) gt_free(categories[c].intervals_us);
    }
    gt_hta_streams_free(&streams);
}

gt_table *gt_hta_idle_time_breakdown(const gt_hta_events *events, int64_t rank)
{
    gt_table *table = begin_table(GT_SHEET_IDLE_TIME_BREAKDOWN, events);
    gt_table_add_column(table, GT_COL_IDLE_TIME, GT_TYPE_FLOAT);
    gt_table_add_column(table, GT_COL_IDLE_TIME_RATIO, GT_TYPE_FLOAT);
    add_streams(table, events, rank, add_sums);
    return table;
}

gt_table *gt_hta_idle_interval_stats(const gt_hta_events *events, int64_t rank)
{
    gt_table *table = begin_table(GT_SHEET_IDLE_INTERVAL_STATS, events);
    gt_hta_add_statistics(table);
    add_streams(table, events, rank, add_statistics);
    return table;
}
