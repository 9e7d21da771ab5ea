/* Replayed graphs: which op each of their kernels belongs to.
 *
 * A replayed graph is one call on the host and hundreds of kernels on the GPU, of which the trace says
 * nothing but their names. Here each of them gets an op, from what else is known of the model:
 *
 *     gt_graphs *graphs = gt_graphs_new(steps, strings);
 *     ... add references: gt_graph_add_steps, gt_graph_add_captures (read_references.h) ...
 *     gt_graphs_attribute(graphs);
 *
 *     names.h             what a name says                claims.h      the order in which references are
 * asked align.h             two sequences, side by side     layers.h      layers of a model references.h what
 * kernels are compared with  sheets.h      the sheets read_references.h   ... from traces graph_ops.h   the
 * ops become part of the trace
 */
#pragma once

#include "analysis/graphs/claims.h"
#include "analysis/serving/sheets.h"

/* The kernels that graphs replay in a step, all its launches together; outside of steps, those of one launch.
 * Steps with the same kernels (names and grids) are replays of one unit. */
typedef struct gt_graph_unit {
    uint32_t step; /* the first one with it; GT_OUTSIDE_STEPS: launched outside of steps */
    size_t kernels, replays;
    uint32_t *ops; /* indexes of steps->ops, replay by replay, by start */
    size_t op_count, op_capacity;
    gt_graph_claim *claims; /* by kernel; NULL before gt_graphs_attribute */
    gt_graph_match match;
} gt_graph_unit;

typedef struct gt_graphs {
    const gt_step_list *steps; /* borrowed */
    gt_graph_names names;
    gt_graph_references references;
    gt_graph_unit *units; /* by the starts of their first steps; those outside of steps come last */
    size_t unit_count, unit_capacity;
    uint32_t *unit_of, *position_of; /* by index of steps->ops; UINT32_MAX: of no graph */
    uint8_t *continues; /* by row of the trace: a kernel of the same op as the one before; NULL: no ops */
} gt_graphs;

/* Finds the units. NULL if the trace has no launches of graphs. Borrows its arguments; `strings` are those of
 * the trace, which get more. */
gt_graphs *gt_graphs_new(const gt_step_list *steps, gt_interner *strings);
void gt_graphs_free(gt_graphs *graphs);
/* From now on these are the strings: a copy of the former ones, which others may be adding to. */
void gt_graphs_use_strings(gt_graphs *graphs, gt_interner *strings);

/* Whether eager references of another trace are of the model of these graphs: one of them fits one of the
 * units. Sets *share to the paired part of the skeletons where it fits best, from 0 to 1. */
bool gt_graphs_fit(gt_graphs *graphs, const gt_graph_references *references, double *share);

/* Makes the claims, with the references that graphs->references has. */
void gt_graphs_attribute(gt_graphs *graphs);

/* The claim of an op; NULL if no graph replayed it. */
static inline const gt_graph_claim *gt_graphs_claim(const gt_graphs *graphs, size_t op)
{
    if (graphs->unit_of[op] == UINT32_MAX) return NULL;
    return &graphs->units[graphs->unit_of[op]].claims[graphs->position_of[op]];
}

/* The op of replay r at a position of a unit. */
static inline const gt_listed_op *gt_graph_unit_op(const gt_graphs *graphs, const gt_graph_unit *unit,
                                                   size_t r, size_t position)
{
    return &graphs->steps->ops[unit->ops[r * unit->kernels + position]];
}

/* Where the ops of replayed kernels are known from, for sheets of graphs (analysis/serving/sheets.h). Frees
 * with gt_replay_sources_free. */
gt_replay_sources gt_graphs_sources(const gt_graphs *graphs);
void gt_replay_sources_free(gt_replay_sources *sources);
