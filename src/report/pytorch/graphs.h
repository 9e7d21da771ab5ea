/* Replayed graphs in a report on PyTorch: reads what they are compared with, finds the op of each kernel, and
 * makes the ops part of the trace (analysis/graphs). */
#pragma once

#include "analysis/graphs/graphs.h"
#include "analysis/graphs/modules.h"
#include "findings/schedule/schedule.h"
#include "input/options.h"
#include "report/pytorch/pytorch.h"

/* NULL in *graphs: the trace replays none. Borrows steps, which are those of the trace. False if a trace that
 * was named cannot be read; one that does not fit is refused with a warning. */
bool gt_report_find_graphs(gt_pytorch_linked *trace, const gt_step_list *steps,
                           const gt_module_frames *modules, const gt_pytorch_options *options,
                           const gt_read_options *read, gt_graphs **graphs, gt_error *error);

/* Adds graph_kernels and layers, and columns to graph_replays, if it is among the tables. */
void gt_report_add_graph_sheets(gt_graphs *graphs, const gt_event_view *trace, gt_table_list *tables);

/* Says in the schedule of the trace what the kernels of graphs belong to: phase, batch, module and op. */
void gt_report_set_graph_origins(const gt_graphs *graphs, gt_schedule *schedule);

/* "Of 38.4 ms in graphs 99.3 % have an op: eager 77.3, name 16.9", from the sheet graph_kernels. */
void gt_report_print_graphs(FILE *out, const gt_table_list *tables);
