/* The graph launches of each step of an inference server. */
#include "analysis/captures/captures.h"

#include "analysis/serving/step_list.h"
#include "analysis/serving/serving.h"

static gt_row_list list_launches(const gt_event_view *trace)
{
    gt_row_list found = {0};
    for (uint32_t row = 0; row < trace->recorded; row++)
        if (gt_kind_is_host(trace->kind[row]) && gt_is_graph_launch(gt_event_name(trace, row)))
            GT_PUSH(found.items, found.count, found.capacity, row);
    gt_order_rows(found.items, found.count, trace->start_us);
    return found;
}

/* The annotations whose names say most, by start. */
static gt_row_list list_steps(const gt_event_view *trace)
{
    gt_row_list found[GT_STEP_DETAILED + 1] = {0};
    for (uint32_t row = 0; row < trace->recorded; row++) {
        if (trace->kind[row] != GT_KIND_ANNOTATION || isnan(trace->start_us[row])) continue;
        gt_row_list *list = &found[gt_step_name_kind(gt_event_name(trace, row))];
        GT_PUSH(list->items, list->count, list->capacity, row);
    }
    gt_step_name best = found[GT_STEP_DETAILED].count ? GT_STEP_DETAILED : GT_STEP_SHORT;
    gt_free(found[GT_STEP_NONE].items);
    gt_free(found[best == GT_STEP_SHORT ? GT_STEP_DETAILED : GT_STEP_SHORT].items);
    gt_order_rows(found[best].items, found[best].count, trace->start_us);
    return found[best];
}

static size_t first_from(const gt_event_view *trace, const gt_row_list *rows, double start_us)
{
    size_t low = 0, high = rows->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (trace->start_us[rows->items[middle]] < start_us)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Steps of a broken trace may all be around all launches: what is beyond this is of no step. */
enum { LOOKED_AT_MAX = 1 << 24 };

gt_graph_steps gt_graph_steps_find(const gt_event_view *trace)
{
    gt_graph_steps s = {0};
    size_t capacity = 0, launch_capacity = 0, looked_at = 0;
    gt_row_list launches = list_launches(trace), steps = list_steps(trace);
    for (size_t i = 0; i < steps.count; i++) {
        uint32_t row = steps.items[i];
        gt_graph_step step = {.row = row, .first = s.launch_count};
        double start_us = trace->start_us[row], dur_us = trace->dur_us[row],
               end_us = start_us + (isnan(dur_us) ? 0 : dur_us);
        for (size_t k = first_from(trace, &launches, start_us);
             k < launches.count && trace->start_us[launches.items[k]] <= end_us && looked_at < LOOKED_AT_MAX;
             k++, looked_at++)
            if (gt_event_end_us(trace, launches.items[k]) <= end_us)
                GT_PUSH(s.launches, s.launch_count, launch_capacity, launches.items[k]);
        step.count = s.launch_count - step.first;
        GT_PUSH(s.items, s.count, capacity, step);
    }
    s.all_launches = launches.count;
    gt_free_all(launches.items, steps.items);
    return s;
}

void gt_graph_steps_add_all(gt_graph_steps *steps, const gt_event_view *trace)
{
    gt_row_list launches = list_launches(trace);
    gt_graph_steps_free(steps);
    steps->items = gt_alloc(sizeof *steps->items);
    steps->items[0] = (gt_graph_step){.row = GT_NO_EVENT, .count = launches.count};
    steps->count = 1;
    steps->launches = launches.items;
    steps->launch_count = steps->all_launches = launches.count;
}

void gt_graph_steps_free(gt_graph_steps *steps)
{
    gt_free_all(steps->items, steps->launches);
    *steps = (gt_graph_steps){0};
}

/* A step of SGLang whose numbers cannot be read counts as one token elsewhere. */
bool gt_graph_step_batch(gt_str name, int64_t *batch)
{
    gt_serving_step step = gt_serving_step_of(name);
    bool is_unreadable =
        gt_str_starts_with(name, "step[") && gt_step_phase_of(name) == GT_STEP_OTHER && step.batch_size == 1;
    *batch = step.batch_size;
    return gt_step_name_kind(name) != GT_STEP_NONE && !is_unreadable;
}
