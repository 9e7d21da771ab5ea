/* Sheets of inference servers, from the list of steps:
 *
 *     serving_steps, serving_summary, host_between_steps    step_sheets.c
 *     decode_cost                                           cost_sheet.c
 *     kernel_classes, graph_replays                         kernel_sheets.c
 *     serving_requests, serving_request_parts               request_sheets.c
 *
 * The list and the trace that it was made from are borrowed; the caller owns the tables, which may have no
 * rows. Cells are empty where nothing is known. */
#pragma once

#include "analysis/serving/step_list.h"
#include "input/server/server.h"
#include "table/table_list.h"

/* Whether the trace is that of a server, or of anything else that replays graphs: only then it has these
 * sheets. */
bool gt_serving_has_sheets(const gt_step_list *list);

/* Adds those of all sheets that have rows, in the order above. */
void gt_serving_add_sheets(const gt_step_list *list, const gt_event_view *trace, gt_table_list *tables);

gt_table *gt_serving_steps(const gt_step_list *list, const gt_event_view *trace);
gt_table *gt_serving_summary(const gt_step_list *list, const gt_event_view *trace);
gt_table *gt_serving_host_between(const gt_step_list *list, const gt_event_view *trace);
gt_table *gt_serving_decode_cost(const gt_step_list *list, const gt_event_view *trace);
gt_table *gt_serving_kernel_classes(const gt_step_list *list, const gt_event_view *trace);
gt_table *gt_serving_graph_replays(const gt_step_list *list, const gt_event_view *trace);

/* What the first screens say of a phase. */
typedef struct gt_phase_figures {
    gt_str phase;
    double steps, time_pct, median_ms;             /* median_ms: from one step to the next */
    bool generates;                                /* the others are only of phases that generate tokens */
    double tokens_per_s, gap_pct, idle_inside_pct; /* idle between steps, and within them; of their time */
} gt_phase_figures;
/* From a row of serving_summary; false if it is not of a phase, or of steps without a time. */
bool gt_serving_phase_figures(const gt_table *summary, size_t row, gt_phase_figures *figures);

/* Adds what clients or the server measured of requests, read from the file of this name, and what the trace
 * says about it. */
void gt_serving_add_requests(const gt_step_list *list, const gt_event_view *trace, const gt_server_run *run,
                             const char *file, gt_table_list *tables);

/* Where the ops of replayed kernels are known from (analysis/graphs). */
enum { GT_NO_SOURCE = UINT8_MAX };
typedef struct gt_replay_source {
    char *name;    /* "eager/high" */
    bool is_known; /* the op counts as known */
} gt_replay_source;
typedef struct gt_replay_sources {
    gt_replay_source *items;
    size_t count, capacity;
    uint8_t *of_op; /* by op of the list: its item; GT_NO_SOURCE: no graph replays it */
} gt_replay_sources;

/* Adds the columns attributed_pct and how to graph_replays. */
void gt_serving_add_sources(gt_table *replays, const gt_step_list *list, const gt_event_view *trace,
                            const gt_replay_sources *sources);

/* The host's part in the time before a step, in which nothing of a step ran: it finishes the step before,
 * does something between them, prepares the step, and launches it. */
typedef struct gt_host_parts {
    int64_t finish_ns, between_ns, prepare_ns, launch_ns;
} gt_host_parts;
/* Of the step that is number `i` on the GPU; all 0 if it began before all steps before it had ended. */
gt_host_parts gt_serving_host_parts(const gt_step_list *list, size_t i);
