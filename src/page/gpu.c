/* Which events of GPUs does the page have one by one? All, or those of the longest stretch that fits.
 *
 * With steps the stretch is a run of whole ones: as many as fit, and of several such runs the one nearest to
 * the middle of the window. Otherwise, or if not even one step fits, it is the time around the middle in
 * which as many events begin as fit. Events that begin in the stretch are kept. */
#include "page/work_parts.h"

#include "schema/page.h"

/* ---- the stretch ---- */

/* How many of all events begin before a time of the schedule. */
static size_t count_before(const gt_page_work *w, int64_t ns)
{
    const gt_schedule *s = w->schedule;
    size_t ops, others;
    GT_BISECT(ops, 0, s->op_count, s->ops[ops].start_ns < ns);
    GT_BISECT(others, 0, w->devices.other_count, w->devices.others[others].start_ns < ns);
    return ops + others;
}

typedef struct stretch {
    int64_t start_ns, end_ns; /* times of the schedule */
} stretch;

static int64_t distance_to(int64_t middle, stretch part)
{
    int64_t center = part.start_ns + (part.end_ns - part.start_ns) / 2;
    return center > middle ? center - middle : middle - center;
}

/* The run of most steps that fits; false if none does. */
static bool find_steps(const gt_page_work *w, int64_t middle, stretch *best)
{
    const gt_schedule *s = w->schedule;
    size_t count = s->used_step_count, first = 0, most = 0;
    int64_t *starts = gt_alloc(count * sizeof *starts);
    size_t *before = gt_alloc(count * sizeof *before);
    for (size_t i = 0; i < count; i++) {
        starts[i] = s->ops[s->steps[s->used_steps[i]].first_op].start_ns;
        before[i] = count_before(w, starts[i]);
    }
    for (size_t end = 1; end < count; end++) {
        while (first < end && before[end] - before[first] > w->limits.gpu_events) first++;
        stretch part = {starts[first], starts[end]};
        bool is_better = end - first > most ||
                         (end - first == most && distance_to(middle, part) < distance_to(middle, *best));
        if (first == end || !is_better) continue;
        most = end - first;
        *best = part;
    }
    gt_free_all(starts, before);
    return most != 0;
}

/* The longest time around the middle that fits. */
static stretch find_time(const gt_page_work *w, int64_t middle)
{
    int64_t low = 0, high = w->end_ns + 1; /* half of it: low fits, high may not */
    while (high - low > 1) {
        int64_t half = low + (high - low) / 2;
        bool fits = count_before(w, middle + half) - count_before(w, middle - half) <= w->limits.gpu_events;
        if (fits)
            low = half;
        else
            high = half;
    }
    return (stretch){middle - low, middle + low};
}

/* Whether page_gpu has an op. */
static bool keeps(const gt_page_work *w, size_t op)
{
    if (w->exact_start < 0) return true;
    int64_t start = gt_page_time(w, gt_page_op_at(w, op).start_ns);
    return start >= w->exact_start && start < w->exact_end;
}

void gt_page_find_exact(gt_page_work *w)
{
    const gt_schedule *s = w->schedule;
    w->exact_start = -1;
    if (w->op_count > w->limits.gpu_events) {
        int64_t middle = s->window.start_ns + (s->window.end_ns - s->window.start_ns) / 2;
        stretch found = {0};
        if (!find_steps(w, middle, &found)) found = find_time(w, middle);
        w->exact_start = gt_page_time(w, found.start_ns);
        w->exact_end = gt_page_time(w, found.end_ns);
        if (w->exact_start < 0) w->exact_start = 0;
        if (w->exact_end > w->end_ns) w->exact_end = w->end_ns;
    }
    for (size_t i = 0; i < w->op_count; i++) w->lanes[w->op_lane[i]].kept += keeps(w, i);
}

/* ---- the table ---- */

/* The host event that launched an op; GT_NONE. */
static uint32_t launch_of(const gt_page_work *w, size_t op)
{
    const gt_schedule *s = w->schedule;
    if (op >= s->op_count) return w->devices.others[op - s->op_count].event;
    return s->ops[op].point == GT_NONE ? GT_NONE : s->points[s->ops[op].point].event;
}

typedef struct gpu_columns {
    gt_table *table;
    int64_t *lane, *start, *ns, *kernel, *call, *launch, *launch_lane;
    uint8_t *begins;
} gpu_columns;

enum { LANE, START, NS, KERNEL, CALL, LAUNCH, LAUNCH_LANE, BEGINS };

static void fill_row(const gt_page_work *w, const gpu_columns *c, size_t row, uint32_t number)
{
    gt_page_op op = gt_page_op_at(w, number);
    uint32_t call = w->op_call[number], launch = launch_of(w, number);
    c->lane[row] = w->op_lane[number];
    c->start[row] = gt_page_time(w, op.start_ns);
    c->ns[row] = op.end_ns - op.start_ns;
    c->kernel[row] = w->op_kernel[number];
    c->call[row] = call;
    c->begins[row] = w->op_begins[number];
    if (call == GT_NONE) gt_table_set_null(c->table, CALL, row);
    if (launch == GT_NONE) {
        gt_table_set_null(c->table, LAUNCH, row);
        gt_table_set_null(c->table, LAUNCH_LANE, row);
        return;
    }
    c->launch[row] = gt_page_time(w, w->schedule->events[launch].start_ns);
    uint32_t lane = w->thread_lane[gt_schedule_thread_of(w->schedule, launch)];
    c->launch_lane[row] = lane;
    if (lane == GT_NONE) gt_table_set_null(c->table, LAUNCH_LANE, row);
}

void gt_page_add_gpu(const gt_page_work *w, gt_table_list *tables)
{
    static const gt_column_head heads[] = {
        {GT_COL_PAGE_LANE, GT_TYPE_INT},        {GT_COL_PAGE_START, GT_TYPE_INT},
        {GT_COL_PAGE_NS, GT_TYPE_INT},          {GT_COL_PAGE_KERNEL, GT_TYPE_INT},
        {GT_COL_PAGE_CALL, GT_TYPE_INT},        {GT_COL_PAGE_LAUNCH, GT_TYPE_INT},
        {GT_COL_PAGE_LAUNCH_LANE, GT_TYPE_INT}, {GT_COL_PAGE_BEGINS, GT_TYPE_BOOL}};
    gt_table *table = gt_table_new(GT_SHEET_PAGE_GPU, w->schedule->strings);
    size_t row = 0;
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    gt_table_add_rows(table, gt_page_kept(w, true));
    gt_column *columns = table->columns;
    gpu_columns c = {table,
                     columns[LANE].ints,
                     columns[START].ints,
                     columns[NS].ints,
                     columns[KERNEL].ints,
                     columns[CALL].ints,
                     columns[LAUNCH].ints,
                     columns[LAUNCH_LANE].ints,
                     columns[BEGINS].bools};
    for (size_t i = 0; i < w->op_count; i++)
        if (keeps(w, w->order[i])) fill_row(w, &c, row++, w->order[i]);
    gt_table_list_add(tables, table);
}
