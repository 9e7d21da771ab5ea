/* All sheets of the reports of pftrace files (and of their JSON forms):
 *
 *     category_summary, xla_top             categories.c
 *     kernel_summary, hip_summary           durations.c
 *     api_kernel_summary                    api.c
 *     memory_copy_by_copy_bytes             copies.c
 *
 * The activity report (the first four sheets) finds the work of each GPU once with gt_pftrace_find_work; the
 * other two sheets read the events of the trace themselves.
 *
 * A function returns its sheet as a table that the caller frees before the trace. Unless stated otherwise, a
 * sheet without rows has no columns. */
#pragma once

#include "analysis/pftrace/events.h"
#include "compat/python_regex.h"
#include "table/table.h"

/* ---- category_summary, xla_top ---- */

/* Time and number of events of each class on one GPU. */
typedef struct gt_pftrace_totals {
    int64_t ns[GT_PFTRACE_CLASSES], count[GT_PFTRACE_CLASSES];
    int64_t compute_ns;    /* of all classes except communication */
    int64_t overlapped_ns; /* gt_pftrace_overlap */
} gt_pftrace_totals;

/* One entry per GPU; the caller frees them. `work` must already have been shortened to the events that count
 * (gt_pftrace_keep_long). */
gt_pftrace_totals *gt_pftrace_find_totals(const gt_pftrace_work *work);

/* Which classes of work filled the time of each GPU? */
gt_table *gt_pftrace_category_summary(const gt_pftrace_totals *totals, size_t gpus, gt_interner *strings);
/* Which kernels have no known class? All of them, the longest first. */
gt_table *gt_pftrace_xla_top(const gt_pftrace_work *work, bool merge_names, gt_interner *strings);

/* ---- kernel_summary, hip_summary ---- */

typedef struct gt_pftrace_kernel_options {
    bool with_communication; /* include rccl kernels */
    bool by_name;            /* one row per name, otherwise one per name, grid, block and registers */
    bool merge_names;        /* remove the digits from names */
    int64_t baseline_ns;     /* the time of which percentages are computed */
} gt_pftrace_kernel_options;

/* How long did kernels and HIP calls take, in the layout of terminal profilers? */
gt_table *gt_pftrace_kernel_summary(const gt_chrome *trace, const gt_pftrace_work *work,
                                    const gt_pftrace_kernel_options *options);
gt_table *gt_pftrace_hip_summary(const gt_chrome *trace, const gt_pftrace_list *calls, bool by_stream,
                                 bool by_operation);

/* ---- api_kernel_summary ---- */

typedef struct gt_pftrace_api_options {
    const gt_python_regex *exclude; /* skip kernels whose names match; NULL: none */
    bool all_kernels;               /* all kernels of a call, otherwise only the one that starts first */
    bool other_calls;               /* include calls that are not launches or have no kernel */
} gt_pftrace_api_options;

/* How long does it take from an API call to the end of the kernel that it launched? Has columns even without
 * rows. NULL and an error if the regular expression exceeds its step limit on a name. */
gt_table *gt_pftrace_api_kernel_summary(const gt_chrome *trace, const gt_pftrace_api_options *options,
                                        gt_error *error);

/* ---- memory_copy_by_copy_bytes ---- */

/* How many memory copies of each size went in which direction? Columns copy_bytes, direction and count, in
 * ascending order of the first two; it has them even without rows. A GPU is shown by its agent's number.
 * Copies of PyTorch traces are counted too; copy_bytes is null if their size is not known. With
 * `as_tracelens`, they are not counted, and an agent that has a name such as "Agent-2" is shown as "?". */
gt_table *gt_pftrace_memory_copies(const gt_chrome *trace, bool as_tracelens);
/* Whether a PyTorch trace has copies. */
bool gt_pftrace_has_pytorch_copies(const gt_chrome *trace);
