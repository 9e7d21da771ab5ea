/* The collectives of a compiled program: who takes part in each, and with how much data. */
#ifndef GT_TRACE_JAX_XLA_H
#define GT_TRACE_JAX_XLA_H

#include "base/map.h"
#include "base/memory.h"
#include "base/interner.h"

typedef struct gt_xla_group {
    const int64_t *ranks;
    size_t count;
} gt_xla_group;

typedef struct gt_xla_collective {
    uint32_t name;     /* its scheduling_name: text */
    uint32_t replicas; /* "{{0,1},{2,3}}", "[2,4]<=[8]": text; NONE where the program names none */
    const gt_xla_group *groups;
    size_t group_count;
    int64_t data_bytes; /* of one rank's part */
} gt_xla_collective;

typedef struct gt_xla {
    gt_interner *strings; /* borrowed */
    gt_arena arena;
    gt_xla_collective *items;
    size_t count, capacity;
    gt_map by_name; /* the first of each name */
} gt_xla;

void gt_xla_free(gt_xla *program);

void gt_xla_add(gt_xla *program, const gt_xla_collective *collective);
const gt_xla_collective *gt_xla_find(const gt_xla *program, uint32_t name); /* NULL where there is none */

#endif
