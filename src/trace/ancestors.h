/* The nearest event above each event that is not passed over: for instance the nearest cpu_op, where all
 * other events are passed over.
 *
 * In most traces few of the events that have something below them are passed over. Only these are kept, each
 * with what is above it; for all other events their parent is the answer. So a question takes constant time,
 * however deep the tree is, and needs little more than 3 bits per event.
 *
 *     op a                       above annotation c: op a
 *       annotation c             above op b, whose parent c is passed over: what is above c
 *         op b                   above the launch, whose parent b is not passed over: op b
 *           launch */
#pragma once

#include "trace/rows.h"

#define GT_NO_ANCESTOR UINT32_MAX /* = GT_NO_EVENT */

typedef struct gt_ancestors {
    gt_row_set passed; /* the events that are passed over and are the parent of a row */
    uint32_t *above;   /* by rank in `passed`: the nearest event above it that is not; NULL: none is passed */
} gt_ancestors;        /* {0}: no event is passed over */

/* For `count` rows with these parents (GT_NO_ANCESTOR: none), among which there must be no cycle. All threads
 * of the team call `passes`. */
gt_ancestors gt_ancestors_find(const uint32_t *parent, size_t count,
                               bool (*passes)(const void *context, uint32_t row), const void *context);
void gt_ancestors_free(gt_ancestors *ancestors);

/* GT_NO_ANCESTOR if there is none. `parent` must be as it was in gt_ancestors_find. */
static inline uint32_t gt_ancestor_of(const gt_ancestors *ancestors, const uint32_t *parent, uint32_t row)
{
    uint32_t up = parent[row];
    if (up == GT_NO_ANCESTOR || !ancestors->above) return up;
    uint32_t rank = gt_row_set_rank(&ancestors->passed, up);
    return rank == GT_NO_RANK ? up : ancestors->above[rank];
}
