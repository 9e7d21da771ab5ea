/* Where in the program something happens, as displayed: "train.py(127): step -> item()".
 *
 * A site is the innermost Python function of the user's own code and the innermost call: the built-in that
 * was called, or else the outermost op. Without stacks it is the op alone. Kineto gives the first line of a
 * function, not the line of the call. */
#pragma once

#include "findings/schedule/schedule.h"

/* The site of a host event (GT_NONE allowed) as a string id. If nothing is known, it is the call itself, and
 * of other events that of "unknown". Interns and remembers what it found in schedule->sites, so only one
 * thread at a time may call these. All calls together are linear in the events. */
uint32_t gt_site_of(const gt_schedule *schedule, uint32_t event);
/* The site of a call: that of what made it. Traces without Python functions and ops may show nothing around a
 * call, then the call itself is its site. */
uint32_t gt_site_of_call(const gt_schedule *schedule, uint32_t event);
/* The innermost range that the program marked (record_function, NVTX, ROCTx) around a host event, as the
 * string id of its name; GT_STR_NONE: there is none, or it is the whole step, which explains nothing. Those
 * of optimizers and data loaders do not count. */
uint32_t gt_range_of(const gt_schedule *schedule, uint32_t event);
/* The site of idle time with this cause: of time in which the host shows nothing, the range around it. */
uint32_t gt_site_of_idle(const gt_schedule *schedule, uint8_t cause, uint32_t event);
/* Whether a site says more than "unknown". */
bool gt_site_is_known(const gt_schedule *schedule, uint32_t site);
/* The same for the cpu_op of GPU work, where "backward of SITE" names the op of the forward pass. */
uint32_t gt_site_of_op(const gt_schedule *schedule, uint32_t host_op);
/* The op of the forward pass that an op of autograd's engine belongs to; GT_NONE if it is unknown. */
uint32_t gt_forward_op(const gt_schedule *schedule, uint32_t event);
/* The nearest cpu_op at or above an event, and the outermost of the cpu_ops that directly enclose that one;
 * GT_NONE if there is none. */
uint32_t gt_op_above(const gt_schedule *schedule, uint32_t event);
uint32_t gt_outermost_op(const gt_schedule *schedule, uint32_t event);
/* By host event: the op that its launches count for, as in the sheet unified_perf_summary
 * (analysis/pytorch/unified_events.c): the outermost one that has a performance model, or that launches
 * itself and has no modelled one below it. GT_NONE if there is none, and for events without launches unless
 * `all` are wanted, which launch on other devices. The caller frees it. */
uint32_t *gt_launch_ops_find(const gt_schedule *schedule, bool all);
/* Frees what the functions above remember. For gt_schedule_free. */
void gt_sites_free(gt_schedule *schedule);

/* Times summed up by string, to name the largest. {0} is empty. */
typedef struct gt_tally_item {
    uint32_t text;
    double sum;
    size_t count;
} gt_tally_item;
typedef struct gt_tally {
    gt_tally_item *items; /* in the order of their first addition, until gt_tally_sort */
    size_t item_count, item_capacity;
    struct gt_map *places;
} gt_tally;

void gt_tally_add(gt_tally *tally, uint32_t text, double value);
double gt_tally_of(const gt_tally *tally, uint32_t text); /* the sum of one; 0: none */
/* Largest sums first; equal ones stay in the order of their first addition. */
void gt_tally_sort(gt_tally *tally);
void gt_tally_free(gt_tally *tally);
