/* The op of each kernel of a replayed graph, where it is known from, and how sure that is.
 *
 * All replays of the same kernels are one unit, so the work below is done once per unit. References
 * (references.h) are tried in this order:
 *
 *     1. captures, that of the graph's own batch size first, then the nearest. A capture that has as many
 *        entries as the graph and whose entries may all be its kernels names them by position; another one
 *        is aligned
 *     2. eager steps, only if no capture fits. The three that have most in common with the whole step are
 *        aligned with it, and the one that fits best is used
 *     3. what a reference leaves open: a helper belongs to the op of the kernel before it, then names that
 *        eager steps have taught, then the table of names, and at last the class: "graph::gemm" */
#pragma once

#include "analysis/graphs/references.h"

/* Where an op is known from. */
typedef enum gt_claim_source {
    GT_CLAIM_CAPTURE,
    GT_CLAIM_CAPTURE_ALIGNED,
    GT_CLAIM_CAPTURE_OTHER_SIZE,
    GT_CLAIM_EAGER,
    GT_CLAIM_HELPER,     /* the kernel before it */
    GT_CLAIM_EAGER_NAME, /* what kernels of this stem are in eager steps */
    GT_CLAIM_NAME,       /* the table of names */
    GT_CLAIM_CLASS,      /* nothing: the op is "graph::" and the class of the kernel */
    GT_CLAIM_SOURCES
} gt_claim_source;

typedef enum gt_claim_confidence { GT_CLAIM_LOW, GT_CLAIM_MEDIUM, GT_CLAIM_HIGH } gt_claim_confidence;

const char *gt_claim_confidence_name(gt_claim_confidence confidence);

typedef struct gt_graph_claim {
    uint32_t op;     /* string id */
    uint32_t module; /* string id; GT_STR_NONE: unknown */
    uint32_t token;  /* of the unit's reference; GT_NO_TOKEN: it has none */
    uint8_t source;  /* gt_claim_source */
    bool by_name;    /* the reference pairs it by its class only, and its name knows the op better */
    uint8_t confidence;
} gt_graph_claim;

/* "eager", "capture", "eager+name", ... */
const char *gt_claim_source_name(const gt_graph_claim *claim);

/* What is known of a unit. */
typedef struct gt_graph_replay {
    const gt_graph_kernel *kernels; /* its graph kernels by start, all launches of a step together */
    size_t kernel_count;
    const gt_graph_kernel *step; /* all GPU work of the step by start; its eager work holds the alignment */
    size_t step_count;
    const uint32_t *place; /* by graph kernel: where it is in the step */
    size_t launches;       /* of graphs */
    int64_t padded;        /* batch of the graph; -1: unknown */
    bool is_serving;       /* the step is of a server. Else what only names say has low confidence: the table
                              was made for inference */
} gt_graph_replay;

/* The reference that a unit was paired with: tokens[claim.token] is the token of a claim. */
typedef struct gt_graph_match {
    const gt_graph_token *tokens; /* NULL: no reference fits */
    bool has_same_shapes;         /* it is of the same batch size */
    gt_graph_token *joined;       /* parts of several captures, one after the other: freed with the match */
} gt_graph_match;
void gt_graph_match_free(gt_graph_match *match);

/* Fills a claim per kernel. The caller frees the match before the references. */
gt_graph_match gt_graph_claims_find(gt_graph_names *names, const gt_graph_references *references,
                                    const gt_graph_replay *replay, gt_graph_claim *claims);

/* Whether an eager reference fits the step of a unit. Sets *share to the part of the skeletons of both sides
 * that the best one pairs, from 0 to 1. */
bool gt_graph_eager_fits(gt_graph_names *names, const gt_graph_references *references,
                         const gt_graph_replay *replay, double *share);
