/* Sheets of replayed graphs:
 *
 *     graph_kernels    each kernel of each unit, with its op        sheets.c
 *     layers           the layers of the model in each unit         layer_sheet.c
 *
 * The caller owns the tables, which may have no rows; their strings are those of the trace. */
#pragma once

#include "analysis/graphs/graphs.h"

/* After gt_graphs_attribute. */
gt_table *gt_graph_kernels(const gt_graphs *graphs);
gt_table *gt_graph_layers(gt_graphs *graphs);
