/* What the names of kernels and ops say about which op launched a kernel.
 *
 * Nothing in a replayed graph says which op a kernel belongs to. Its name says a part of it:
 *
 *     class, stem    the kind of work, and the name without sizes and data types
 *                    (analysis/kernel_classifier.h)
 *     op             the only op that launches such a kernel, if there is only one: a functor of ATen that
 *                    fills a tensor is aten::fill_. GEMMs and attention never have one: many ops launch them
 *     helper         it is the second kernel of an op, such as the reduction of a GEMM that was split
 *
 * Names and ops are string ids of one interner. What was found out about a name is kept. */
#pragma once

#include "analysis/kernel_classifier.h"

typedef struct gt_kernel_name {
    uint32_t stem; /* its number */
    uint32_t op;   /* string id, of the name table; GT_STR_NONE: many ops launch such kernels */
    uint8_t class; /* gt_kernel_class */
    bool is_helper;
} gt_kernel_name;

/* The class of an op whose kernels have no name: one of kernels, or that of copies, which no kernel has. */
enum { GT_OP_CLASS_NONE = UINT8_MAX, GT_OP_CLASS_COPY = UINT8_MAX - 1 };

typedef struct gt_graph_names {
    gt_interner *strings; /* borrowed */
    gt_kernel_classifier *classes;
    gt_kernel_name *kernels;
    size_t kernel_count, kernel_capacity;
    gt_map kernel_of, op_of; /* from a string id to an index of kernels, to the class of an op */
} gt_graph_names;

gt_graph_names gt_graph_names_new(gt_interner *strings);
void gt_graph_names_free(gt_graph_names *names);

/* What the name of a kernel, copy or memset says. */
gt_kernel_name gt_graph_kernel_name(gt_graph_names *names, uint32_t name);
/* The class of the kernels that an op launches, by the name of the op; GT_OP_CLASS_NONE: unknown. */
uint8_t gt_graph_op_class(gt_graph_names *names, uint32_t op);

/* Whether kernels of this class are of ops that launch no others: two of them are the same op even if their
 * names differ. */
bool gt_class_is_strong(uint8_t class);
/* Whether a kernel is of the skeleton of a model, by which two runs of it are recognised: norms, attention
 * and GEMMs without helpers. */
bool gt_class_is_skeleton(uint8_t class);
