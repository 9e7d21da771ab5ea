/* Which kernels communicate with other GPUs, by their names.
 *
 * TraceLens knows NCCL, RCCL and the custom all-reduce of vLLM; reports that must equal its reports use these
 * names only. A wider table has the libraries that have come since, and users add expressions of their own:
 *
 *     gt_comm_kernels *comm = gt_comm_kernels_new(GT_COMM_TRACELENS | GT_COMM_OTHERS);
 *     if (!gt_comm_kernels_add(comm, "my_exchange_\\w+", &error)) ...
 *     const char *family = gt_comm_family(comm, kernel);      "DeepEP"; NULL: not communication
 *     gt_comm_kernels_free(comm); */
#pragma once

#include "base/base.h"

/* Whether TraceLens counts a kernel as communication: its name contains rccl, nccl or cross_device_reduce, in
 * any case. */
bool gt_is_communication(gt_str name);

typedef struct gt_comm_kernels gt_comm_kernels;

enum { GT_COMM_TRACELENS = 1, GT_COMM_OTHERS = 2 }; /* sets of names */
gt_comm_kernels *gt_comm_kernels_new(unsigned sets);
void gt_comm_kernels_free(gt_comm_kernels *comm); /* NULL is ignored */

/* Adds a Python regular expression, which is searched for anywhere in a name. False if it is invalid; the
 * error says why. The expression must outlive `comm`. */
bool gt_comm_kernels_add(gt_comm_kernels *comm, const char *regex, gt_error *error);
/* Checks an expression without keeping it. */
bool gt_comm_regex_check(const char *regex, gt_error *error);

/* The library that the kernel belongs to, or the expression that it matches; NULL if it is not communication.
 * `comm` may be NULL: then as for GT_COMM_TRACELENS. May be called from several threads. It takes
 * microseconds, so call it once per name. */
const char *gt_comm_family(const gt_comm_kernels *comm, gt_str name);

/* ---- how much of it there is ---- */

typedef struct gt_comm_use {
    const char *family; /* not owned */
    size_t kernels;
    double ms;
} gt_comm_use;

typedef struct gt_comm_uses {
    gt_comm_use *items; /* owned */
    size_t count, capacity;
} gt_comm_uses; /* {0} is empty */

void gt_comm_uses_add(gt_comm_uses *uses, const char *family, size_t kernels, double ms);
/* "DeepEP (58 kernels, 113.000 ms), NCCL or RCCL (1 kernel, 0.012 ms)", longest first; the caller frees it.
 */
char *gt_comm_uses_text(gt_comm_uses *uses);
void gt_comm_uses_free(gt_comm_uses *uses);

/* ---- names of collectives ----
 *
 * Names of collectives: which kind of exchange a name stands for. */

typedef enum gt_collective_type {
    GT_COLLECTIVE_OTHER, /* broadcast, send, barrier, ...: ranks need not wait for each other */
    GT_COLLECTIVE_ALLREDUCE,
    GT_COLLECTIVE_REDUCESCATTER,
    GT_COLLECTIVE_ALLGATHER,
    GT_COLLECTIVE_ALLTOALL,
    GT_COLLECTIVE_ALLTOALLV, /* ranks send different amounts, so one may finish before another */
} gt_collective_type;

gt_collective_type gt_collective_type_of(const char *collective);

/* The collective that a kernel's name implies; NULL if it implies none. */
const char *gt_collective_of_kernel(gt_str kernel);
