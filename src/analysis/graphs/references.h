/* References: sequences of GPU work of the same model whose ops are known, which kernels of graphs are
 * compared with.
 *
 *     capture    what the host launched while a graph was captured. On NVIDIA GPUs without kernel names
 *     eager      the GPU work of a step that launched its kernels one by one */
#pragma once

#include "analysis/graphs/align.h"

/* How often something is in a sequence. */
typedef struct gt_graph_count {
    uint64_t key;
    uint32_t count;
} gt_graph_count;

/* What is in a sequence, in any order: launches (name and grid), and stems. */
typedef struct gt_graph_bag {
    gt_graph_count *launches, *stems;
    size_t launch_count, stem_count;
} gt_graph_bag;

typedef struct gt_graph_reference {
    gt_graph_token *tokens;
    size_t count;
    int64_t padded;  /* batch of an eager step; -1: unknown */
    size_t skeleton; /* tokens of the skeleton, of an eager step */
    gt_graph_bag bag;
} gt_graph_reference;

/* What was captured for one batch size: a part per graph, in the order of their launches. */
typedef struct gt_capture_reference {
    int64_t padded; /* -1: unknown */
    gt_graph_reference *parts;
    size_t part_count, part_capacity;
} gt_capture_reference;

/* The inputs of an op: string ids of JSON. */
typedef struct gt_graph_arguments {
    uint32_t dims, types, strides, concrete;
} gt_graph_arguments;

typedef struct gt_graph_references {
    gt_graph_reference *eager;
    size_t eager_count, eager_capacity;
    gt_capture_reference *captures;
    size_t capture_count, capture_capacity;
    gt_graph_arguments *arguments; /* the first one is empty */
    size_t argument_count, argument_capacity;
    gt_map argument_of;  /* (dims, types), (strides, concrete) -> index */
    gt_map known;        /* hash of an eager sequence -> its number */
    gt_stem_ops learned; /* from all eager references */
} gt_graph_references;   /* {0}: none */

/* Adds an eager reference, whose tokens then belong to `references`. Sequences that are shorter than 8 tokens
 * say too little, and equal ones count once: these are freed, and the result is false. */
bool gt_graph_add_eager(gt_graph_references *references, gt_graph_names *names, gt_graph_reference reference);
/* Adds the capture of a batch size, without parts, and a part to the capture added last. */
void gt_graph_add_capture(gt_graph_references *references, int64_t padded);
void gt_graph_add_part(gt_graph_references *references, gt_graph_reference part);
/* The index of arguments; equal ones are one. */
uint32_t gt_graph_add_arguments(gt_graph_references *references, gt_graph_arguments arguments);
/* Moves the eager references of `more` to `references`, and frees `more`. */
void gt_graph_references_join(gt_graph_references *references, gt_graph_names *names,
                              gt_graph_references *more);
void gt_graph_references_free(gt_graph_references *references);

/* How much of a sequence is in a reference, too, whatever the order. */
typedef struct gt_graph_contents {
    gt_map launches, stems; /* key -> how often */
} gt_graph_contents;
gt_graph_contents gt_graph_contents_of(gt_graph_names *names, const gt_graph_kernel *kernels, size_t count);
uint64_t gt_graph_in_common(const gt_graph_contents *contents, const gt_graph_bag *bag);
void gt_graph_contents_free(gt_graph_contents *contents);
