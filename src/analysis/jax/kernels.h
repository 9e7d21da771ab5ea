/* What the sheets of JAX profiles share about kernels: their classes, the strings of their ops, the
 * statistics of groups of them, and which events count in a timeline. */
#pragma once

#include "analysis/jax/sheets.h"
#include "table/operations.h"

/* ---- classes (kernels.c) ---- */

/* The class by parts of one name; GT_JAX_CLASS_XLA if none occurs in it. */
gt_jax_class gt_jax_class_of_name(gt_str name);
/* The class of a kernel from the classes of its own name and its op's name: that of the op if there is one,
 * unless the kernel's own name says attention. */
gt_jax_class gt_jax_class_combine(gt_jax_class kernel, gt_jax_class op);

/* Classifies every different name of the events once, or only the names of kernels. The result is by string
 * id; other strings have no valid entry. The caller frees it. */
typedef uint8_t gt_jax_classifier(gt_str name);
uint8_t *gt_jax_classify_names(const gt_jax *trace, bool only_kernels, gt_jax_classifier *classify);

/* ---- strings of a kernel's op (kernels.c) ---- */

/* Made once per record. */
typedef struct gt_jax_details {
    bool is_known;
    uint32_t dims, types, concrete; /* string ids of Input Dims, Input type, Concrete Inputs */
    gt_str rest;                    /* of kernel_details: ", 'custom_call_target': ... 'metadata': ..." */
} gt_jax_details;
const gt_jax_details *gt_jax_details_of(gt_jax_kernels *kernels, size_t kernel);

/* ---- statistics of groups (summaries.c) ---- */

/* Adds a STRING column to a table with one row per group, whose cells describe the kernels of the group:
 *
 *     [{'name': 'gemm', ..., 'count': 2, 'total_duration_us': 50.0, 'mean_duration_us': 25.0, ...}]
 *
 * Totals and means are numpy's (pairwise sums), the standard deviation is divided by n. `rest` gives the part
 * between name and count for the first row of a group; NULL: nothing. Returns the index of the column. */
typedef gt_str gt_jax_rest(void *context, size_t row);
size_t gt_jax_add_kernel_stats(gt_table *table, gt_col column, const gt_groups *groups, const uint32_t *names,
                               const double *dur_us, gt_jax_rest *rest, void *context);

/* ---- events of the timeline (timeline.c) ---- */

/* Whether the event is on a stream of work: the stream's name begins with "Stream #". */
bool gt_jax_is_stream(const gt_jax *trace, size_t event);
/* Whether the timeline counts the event as computation, not as a copy or communication. */
bool gt_jax_is_computation(const gt_jax *trace, size_t event);
/* Whether the name of a kernel contains nccl, rccl or cross_device_reduce, in any case. */
bool gt_jax_is_communication(gt_str name);
