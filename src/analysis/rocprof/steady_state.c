/* Pauses are taken between dispatches in the order they start: from the end of one to the start of the next.
 * Sums are of whole nanoseconds. */
#include "analysis/rocprof/steady_state.h"

#include "analysis/rocprof/gpu_timeline.h"
#include "base/length.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "table/operations.h"

#include <stdio.h>
#include <stdlib.h>

/* Differences that do not fit stay at the end of what does. */
static int64_t minus(int64_t a, int64_t b)
{
    int64_t difference;
    if (!__builtin_sub_overflow(a, b, &difference)) return difference;
    return b < 0 ? INT64_MAX : INT64_MIN;
}

static void name_last(gt_steady_state *found, int64_t fallback_ns)
{
    snprintf(found->method, sizeof found->method, "last_%.1fs", (double)fallback_ns / 1e9);
}

void gt_steady_state_cutoff(const int64_t *starts, const int64_t *ends, size_t count, int64_t gap_ns,
                            int64_t fallback_ns, gt_steady_state *found)
{
    *found = (gt_steady_state){.method = "single_dispatch", .cutoff_ns = count ? starts[0] : 0};
    if (count < 2) return;
    uint32_t *order = gt_order_new(count);
    gt_order_by_ints(order, count, starts, NULL, false);
    int64_t longest = INT64_MIN;
    size_t behind = 0;
    for (size_t i = 1; i < count; i++) {
        int64_t gap = minus(starts[order[i]], ends[order[i - 1]]);
        if (i == 1 || gap > longest) {
            longest = gap;
            behind = i;
        }
    }
    if (longest >= gap_ns) {
        found->cutoff_ns = starts[order[behind]];
        snprintf(found->method, sizeof found->method, "after_max_gap_%.1fms", (double)longest / 1e6);
    } else {
        found->cutoff_ns = minus(ends[order[count - 1]], fallback_ns);
        name_last(found, fallback_ns);
    }
    gt_free(order);
}

/* What starts from the cutoff on. */
static void measure(const int64_t *starts, const int64_t *ends, size_t count, gt_steady_state *state)
{
    uint32_t *order = gt_order_new(count);
    gt_order_by_ints(order, count, starts, NULL, false);
    int64_t running_until = 0;
    state->dispatches = 0;
    state->busy_ns = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t start = starts[order[i]], end = ends[order[i]];
        if (start < state->cutoff_ns) continue;
        bool is_first = !state->dispatches++;
        if (is_first) state->begin_ns = running_until = start;
        if (is_first || end > state->end_ns) state->end_ns = end;
        if (start > running_until) running_until = start;
        if (end > running_until) {
            state->busy_ns += minus(end, running_until);
            running_until = end;
        }
    }
    gt_free(order);
    int64_t total = minus(state->end_ns, state->begin_ns);
    state->busy_percent =
        state->dispatches ? 100.0 * (double)state->busy_ns / (double)(total > 1 ? total : 1) : 0.0;
}

bool gt_steady_state_find(const int64_t *starts, const int64_t *ends, size_t count, int64_t gap_ns,
                          int64_t fallback_ns, gt_steady_state *found, gt_error *error)
{
    gt_steady_state last = {.method = ""};
    if (!count) return gt_fail(error, "no kernel was dispatched, so there is no steady state");
    gt_steady_state_cutoff(starts, ends, count, gap_ns, fallback_ns, found);
    measure(starts, ends, count, found);
    int64_t last_end = ends[0];
    for (size_t i = 1; i < count; i++) last_end = ends[i] > last_end ? ends[i] : last_end;
    last.cutoff_ns = minus(last_end, fallback_ns);
    name_last(&last, fallback_ns);
    measure(starts, ends, count, &last);
    if (last.busy_percent > found->busy_percent) *found = last;
    if (!found->dispatches)
        return gt_fail(error, "no kernel starts within the last %g s: --steady-state-fallback-s is too short",
                       (double)fallback_ns / 1e9);
    return true;
}

gt_table *gt_steady_state_timeline(const gt_steady_state *state, gt_interner *strings)
{
    int64_t total = minus(state->end_ns, state->begin_ns), idle;
    if (total < 1) total = 1;
    idle = total > state->busy_ns ? total - state->busy_ns : 0;
    const struct {
        const char *type;
        int64_t ns;
    } rows[] = {{"total_time", total},
                {"kernel", state->busy_ns},
                {"memory", 0},
                {"busy_time", state->busy_ns},
                {"idle", idle}};
    gt_table *timeline = gt_gpu_timeline_new(strings);
    for (size_t i = 0; i < GT_LENGTH(rows); i++) {
        gt_gpu_timeline_add(timeline, rows[i].type, 0, 100.0 * (double)rows[i].ns / (double)total);
        gt_table_column(timeline, GT_COL_TIME_MS)->floats[i] = (double)rows[i].ns / 1e6;
    }
    return timeline;
}
