/* What GPU and host did, as tables that a page can draw: finds out what work_parts.h holds, and has each
 * table made from it. */
#include "page/work_parts.h"

#include "schema/page.h"

gt_page_limits gt_page_limits_default(void)
{
    return (gt_page_limits){.gpu_events = 250000, .host_events = 200000};
}

/* ---- the time of the page ---- */

static void include(int64_t *first, int64_t *last, int64_t start_ns, int64_t end_ns)
{
    if (start_ns < *first) *first = start_ns;
    if (end_ns > *last) *last = end_ns;
}

/* From the first event of GPU or host to the end of the last one. Ops and the events of a thread come by
 * start; host events end with those around them, except for annotations. */
static void find_time(gt_page_work *w)
{
    const gt_schedule *s = w->schedule;
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < w->op_count; i++) {
        gt_page_op op = gt_page_op_at(w, i);
        include(&first, &last, op.start_ns, op.end_ns);
    }
    for (size_t i = 0; i < s->event_count; i++) {
        const gt_host_event *event = &s->events[i];
        if (event->parent == GT_NONE || event->kind == GT_KIND_ANNOTATION)
            include(&first, &last, event->start_ns, event->end_ns);
    }
    w->zero_ns = first <= last ? first : 0;
    w->end_ns = first <= last ? last - first : 0;
}

/* ---- facts ---- */

static void add_fact(gt_table *facts, const char *name, int64_t value)
{
    size_t row = gt_table_add_row(facts);
    gt_table_set_cstr(facts, 0, row, name);
    gt_table_set_int(facts, 1, row, value);
}

/* Without a judged device there is no window. */
static void add_window(gt_table *facts, const gt_page_work *w)
{
    const gt_step_window *window = &w->schedule->window;
    if (!w->schedule->op_count) return;
    add_fact(facts, "window_start", gt_page_time(w, window->start_ns));
    add_fact(facts, "window_end", gt_page_time(w, window->end_ns));
}

/* What tables say about themselves when they are added. */
typedef struct left_out {
    size_t sum_bins;
    int64_t idle_ns;
    size_t steps;
} left_out;

static gt_table *new_facts(const gt_page_work *w, const left_out *left)
{
    static const gt_column_head heads[] = {{GT_COL_PAGE_NAME, GT_TYPE_STRING},
                                           {GT_COL_PAGE_VALUE, GT_TYPE_INT}};
    gt_table *facts = gt_table_new(GT_SHEET_PAGE_FACTS, w->schedule->strings);
    gt_table_add_columns(facts, heads, GT_LENGTH(heads));
    add_fact(facts, "end", w->end_ns);
    add_window(facts, w);
    if (w->exact_start >= 0) {
        add_fact(facts, "bins", GT_PAGE_BINS);
        add_fact(facts, "sum_bins", (int64_t)left->sum_bins);
        add_fact(facts, "exact_start", w->exact_start);
        add_fact(facts, "exact_end", w->exact_end);
    }
    add_fact(facts, "gpu_events", (int64_t)w->op_count);
    add_fact(facts, "gpu_kept", (int64_t)gt_page_kept(w, true));
    add_fact(facts, "host_events", (int64_t)w->schedule->event_count);
    add_fact(facts, "host_kept", (int64_t)gt_page_kept(w, false));
    if (left->idle_ns) add_fact(facts, "idle_left_out", left->idle_ns);
    if (left->steps) add_fact(facts, "steps_left_out", (int64_t)left->steps);
    return facts;
}

/* ---- all of it ---- */

static void free_work(gt_page_work *w)
{
    gt_all_devices_free(&w->devices);
    gt_free_all(w->op_lane, w->op_kernel, w->op_call, w->op_sum, w->op_category, w->op_begins);
    if (w->launch_ops != w->findings->launch_ops) gt_free(w->launch_ops);
    gt_free_all(w->order, w->lanes, w->thread_lane, w->kernels, w->nodes, w->calls, w->sums);
}

void gt_page_add_work(const gt_findings *findings, const gt_page_limits *limits, gt_table_list *tables)
{
    const gt_schedule *s = findings->schedule;
    gt_page_work w = {
        .findings = findings, .schedule = s, .limits = *limits, .devices = gt_all_devices_find(s)};
    w.op_count = s->op_count + w.devices.other_count;
    find_time(&w);
    gt_page_find_lanes(&w);
    gt_page_find_kernels(&w);
    gt_page_find_calls(&w);
    gt_page_find_sums(&w);
    gt_page_find_exact(&w);
    gt_page_find_host(&w);
    gt_page_add_lanes(&w, tables);
    gt_page_add_gpu(&w, tables);
    gt_page_add_kernels(&w, tables);
    gt_page_add_calls(&w, tables);
    gt_page_add_sums(&w, tables);
    left_out left = {.sum_bins = gt_page_add_bins(&w, tables)};
    gt_page_add_host(&w, tables);
    left.idle_ns = gt_page_add_idle(&w, tables);
    left.steps = gt_page_add_steps(&w, tables);
    gt_page_add_copies(&w, tables);
    gt_page_add_memory(&w, tables);
    gt_page_add_evidence(&w, tables);
    gt_page_add_peaks(&w, tables);
    gt_table_list_add(tables, new_facts(&w, &left));
    free_work(&w);
}
