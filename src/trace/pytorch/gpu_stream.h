/* One stream of a GPU: what ran on it, in order, with the path of the op that each kernel belongs to. */
#ifndef GT_TRACE_PYTORCH_GPU_STREAM_H
#define GT_TRACE_PYTORCH_GPU_STREAM_H

#include "base/interner.h"

typedef struct gt_stream_event {
    double start_us, dur_us;
    uint32_t name, path, hlo_op; /* texts; path: "jit(f)/Transformer/block_3/attn/q/dot_general" */
} gt_stream_event;

typedef struct gt_gpu_stream {
    gt_interner *strings;   /* borrowed */
    gt_stream_event *items; /* by start */
    size_t count;
} gt_gpu_stream;

void gt_gpu_stream_free(gt_gpu_stream *stream);

/* The first event that begins at or behind a time. */
size_t gt_gpu_stream_from(const gt_gpu_stream *stream, double start_us);

#endif
