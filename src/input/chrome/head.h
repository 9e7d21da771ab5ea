/* What a PyTorch trace says before its events about the machine that it was recorded on: GPUs, versions of
 * driver, runtime and communication library. Only as far as these are there; each reads the file up to its
 * events. */
#pragma once

#include "stream/stream.h"

/* Strings are in the arena given to gt_kineto_read_head; NULL: the trace does not say. */
typedef struct gt_trace_head {
    const char *gpu; /* name of the first GPU */
    int64_t gpus;    /* how many there are */
    const char *cuda_driver, *cuda_runtime, *hip_driver, *hip_runtime;
    const char *backend, *nccl; /* of distributedInfo */
    const char *world_size;
    const char *pytorch; /* version */
} gt_trace_head;

/* A trace that cannot be read has nothing. */
gt_trace_head gt_kineto_read_head(gt_stream *stream, gt_arena *arena);
