/* Is the trace that of a graph's capture? Such a trace has the calls that make the graph, between begin and
 * end of the capture, but the kernels did not run: nothing in it says how long anything takes. */
#include "analysis/serving/step_parts.h"

#include "trace/name_reader.h"

typedef struct border {
    int64_t ns;
    uint32_t process; /* other threads take part, too: autograd launches the backward pass */
} border;

typedef struct borders {
    border *items;
    size_t count, capacity;
} borders;

GT_ORDER_BY(by_ns, border, GT_UP(ns) GT_UP(process))

static bool is_call(const gt_event_view *trace, uint32_t row)
{
    return (trace->kind[row] == GT_KIND_RUNTIME || trace->kind[row] == GT_KIND_DRIVER) &&
           !isnan(trace->start_us[row]);
}

enum { NOT_LOOKED_AT, OTHER_CALL, BEGINS_CAPTURE, ENDS_CAPTURE };

static uint8_t kind_of_call(gt_str name)
{
    if (gt_str_contains(name, "StreamBeginCapture")) return BEGINS_CAPTURE;
    return gt_str_contains(name, "StreamEndCapture") ? ENDS_CAPTURE : OTHER_CALL;
}

/* Captures begin when the call that begins them has returned, and end with the call that ends them. */
static void find_borders(const gt_step_list *list, const gt_event_view *trace, borders *begins, borders *ends)
{
    uint8_t *kinds = gt_alloc_zero(gt_interner_count(trace->strings), 1); /* by name */
    for (uint32_t row = 0; row < trace->recorded; row++) {
        if (!is_call(trace, row)) continue;
        uint8_t *kind = &kinds[trace->name[row]];
        if (*kind == NOT_LOOKED_AT) *kind = kind_of_call(gt_event_name(trace, row));
        if (*kind == OTHER_CALL) continue;
        gt_step_times_of times = gt_step_row_times(list, trace, row);
        border b = {times.end_ns, gt_event_process(trace, row)}, e = {times.start_ns, b.process};
        if (*kind == BEGINS_CAPTURE)
            GT_PUSH(begins->items, begins->count, begins->capacity, b);
        else
            GT_PUSH(ends->items, ends->count, ends->capacity, e);
    }
    gt_free(kinds);
    if (begins->count) qsort(begins->items, begins->count, sizeof *begins->items, by_ns);
    if (ends->count) qsort(ends->items, ends->count, sizeof *ends->items, by_ns);
}

static bool starts_work(gt_str name)
{
    return gt_str_contains_nocase(name, "launch") || gt_str_contains_nocase(name, "memcpy") ||
           gt_str_contains_nocase(name, "memset");
}

static bool is_inside(const borders *begins, const borders *ends, gt_step_times_of times, uint32_t process)
{
    size_t low = 0, high = begins->count < ends->count ? begins->count : ends->count, count = high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ends->items[middle].ns < times.end_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < count && begins->items[low].ns <= times.start_ns; low++)
        if (begins->items[low].process == process) return true;
    return false;
}

/* 32 of the annotation "capture_32_FULL". */
static int64_t find_batch(const gt_event_view *trace)
{
    for (uint32_t row = 0; row < trace->recorded; row++) {
        if (trace->kind[row] != GT_KIND_ANNOTATION) continue;
        gt_name_reader r = gt_name_read(gt_event_name(trace, row));
        int64_t batch;
        if (gt_name_skip(&r, "capture_") && gt_name_number(&r, &batch) && gt_name_skip(&r, "_")) return batch;
    }
    return GT_STEP_UNKNOWN;
}

void gt_step_list_find_capture(gt_step_list *list, const gt_event_view *trace)
{
    borders begins = {0}, ends = {0};
    size_t calls = 0, inside = 0;
    list->capture_batch = GT_STEP_UNKNOWN;
    find_borders(list, trace, &begins, &ends);
    for (uint32_t row = 0; begins.count && ends.count && row < trace->recorded; row++) {
        if (!is_call(trace, row) || !starts_work(gt_event_name(trace, row))) continue;
        calls++;
        inside +=
            is_inside(&begins, &ends, gt_step_row_times(list, trace, row), gt_event_process(trace, row));
    }
    gt_free_all(begins.items, ends.items);
    list->is_capture = calls && inside * 2 >= calls && list->op_count * 2 < calls;
    if (list->is_capture) list->capture_batch = find_batch(trace);
}
