/* References from traces: eager steps, and captures. */
#pragma once

#include "analysis/graphs/modules.h"
#include "analysis/graphs/references.h"
#include "analysis/serving/step_list.h"

/* Adds the steps of a trace that launch their kernels one by one: at most 10 % come from graphs. Without
 * steps the whole trace is one. Returns the number of such steps, equal ones included. */
size_t gt_graph_add_steps(gt_graph_references *references, gt_graph_names *names, const gt_linked_view *trace,
                          const gt_step_list *steps, const gt_module_frames *modules);

/* Adds the captures of a trace, of which `batch` is the batch size; -1: unknown. Returns their number. */
size_t gt_graph_add_captures(gt_graph_references *references, gt_graph_names *names,
                             const gt_linked_view *capture, const gt_module_frames *modules, int64_t batch);
