/* Chains of pointwise kernels, reductions, normalisations and losses that could be one kernel each way. */
#pragma once

#include "findings/gpu_facts.h"

/* What one call launches, forward or backward. */
typedef struct gt_chain_part {
    size_t first; /* its GPU ops: gt_chains.ops[direction][first ...] in the order of their launches */
    uint32_t count, passes; /* all of them, and those that go over the whole tensor */
    double now_ns, fused_ns;
} gt_chain_part;

enum { GT_CHAIN_FORWARD, GT_CHAIN_BACKWARD, GT_CHAIN_DIRECTIONS };

typedef struct gt_chain {
    uint32_t call;  /* host event of the Python function; GT_NONE: the trace has no stacks */
    uint32_t site;  /* index of gt_chains.sites; GT_NONE: not worth a finding */
    bool is_sized;  /* fused_ns is by what the kernels move; otherwise by the longest of them */
    double largest; /* elements of its largest tensor */
    gt_chain_part parts[GT_CHAIN_DIRECTIONS];
} gt_chain;

/* All chains of a function. */
typedef struct gt_chain_site {
    uint32_t name;            /* string id: the function, or else its ops */
    uint32_t chain;           /* the one that takes longest */
    double now_ns, fused_ns;  /* in the window */
    size_t calls, kernels;    /* in the window */
    size_t chains, long_ones; /* all, and those of so many kernels that they were written one by one */
} gt_chain_site;

typedef struct gt_chains {
    gt_chain *items;
    size_t count, capacity;
    uint32_t *ops[GT_CHAIN_DIRECTIONS];
    gt_chain_site *sites; /* those that save the most GPU time first */
    size_t site_count;
    bool *has_op;   /* by GPU op: it belongs to a chain of a site */
    double rate;    /* bytes per ns that such kernels move in this trace; 0: unknown */
    bool has_sizes; /* fused_ns is by what the kernels move; otherwise by the longest of them */
} gt_chains;

/* NULL if there are none. `facts` have sources, names, shapes and attention. */
gt_chains *gt_chains_find(const gt_gpu_facts *facts, const gt_schedule *schedule, const gt_gpu_rates *gpu);
void gt_chains_free(gt_chains *chains);

/* Whether a GPU op belongs to a chain of a site. */
static inline bool gt_chains_have(const gt_chains *chains, size_t op)
{
    return chains && chains->has_op[op];
}
