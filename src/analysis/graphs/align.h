/* Aligning the kernels of a replayed graph with a reference: GPU work of the same model whose ops are known.
 *
 *     kernels       gemm   norm   copy            attention   gemm
 *     tokens        gemm   norm         silu      attention   gemm   argmax
 *                   mm     norm                   sdpa        mm
 *
 * Both are sequences in the order of the launches. Kernels and tokens may be left without a partner, which
 * costs 1, except tokens at both ends of the reference. A pair is worth what names and classes say about it
 * (gt_graph_similarity); the alignment with the largest sum is found by dynamic programming in a band around
 * the diagonal. */
#pragma once

#include "analysis/graphs/stem_ops.h"
#include "analysis/graphs/names.h"
#include "analysis/graphs/op_reads.h"

/* A kernel, copy or memset of a graph. */
typedef struct gt_graph_kernel {
    uint32_t name, grid; /* string ids; grid: JSON, GT_STR_NONE: unknown */
    bool is_memory;      /* a copy or memset */
} gt_graph_kernel;

/* GPU work of a reference. */
typedef struct gt_graph_token {
    uint32_t name, grid; /* GT_STR_NONE: unknown, as in captures on NVIDIA GPUs */
    uint32_t op;         /* string id, never GT_STR_NONE */
    uint32_t module;     /* string id: what called the op, "Linear_0"; GT_STR_NONE: unknown */
    uint32_t event;      /* row of the op in its trace: tokens of one op share it */
    uint32_t arguments;  /* of the op: index of gt_graph_references.arguments; 0: unknown */
    bool is_memory;
    gt_op_reads reads;
} gt_graph_token;

#define GT_NO_TOKEN UINT32_MAX

/* What is known of names. */
typedef struct gt_graph_facts {
    gt_graph_names *names;
    const gt_stem_ops *learned;
} gt_graph_facts;

/* What a pair is worth; 0 or less: it is none. */
int gt_graph_similarity(const gt_graph_facts *facts, const gt_graph_kernel *kernel,
                        const gt_graph_token *token);

/* The best alignment. token_of[i] becomes the token of kernel i, GT_NO_TOKEN: none. Returns its worth. */
int64_t gt_graph_align(const gt_graph_facts *facts, const gt_graph_kernel *kernels, size_t kernel_count,
                       const gt_graph_token *tokens, size_t token_count, uint32_t *token_of);

/* The skeletons of both sides (gt_class_is_skeleton), and how much of them an alignment pairs. */
typedef struct gt_graph_fit {
    size_t kernels, tokens;               /* of the skeletons */
    size_t paired_kernels, paired_tokens; /* of these */
    size_t paired;                        /* kernels of any kind */
    bool is_same_model;                   /* at least 90 % of both skeletons are paired; with fewer than 3 on
                                             a side at least 80 % of all kernels */
} gt_graph_fit;
gt_graph_fit gt_graph_fit_of(const gt_graph_facts *facts, const gt_graph_kernel *kernels, size_t kernel_count,
                             const gt_graph_token *tokens, size_t token_count, const uint32_t *token_of);
