/* Readers of PyTorch profiler traces (Kineto), in Chrome's JSON or Perfetto's protobuf format.
 *
 *     gt_kineto_read              the events that reports need (kineto.c)
 *     gt_kineto_read_collectives  communication kernels only, for runs of many ranks (kineto_kernels.c)
 *     gt_kineto_read_kernels      the shortest and longest instance per kernel name (kineto_kernels.c)
 *
 * Streams must be at their beginning. On failure the result is NULL or false with an error that names the
 * file. */
#pragma once

#include "input/options.h"
#include "stream/stream.h"
#include "trace/pytorch/pytorch.h"

/* ---- all events ---- */

typedef struct gt_kineto_options {
    bool python_functions; /* keep them: half of many traces, and only call stacks and recompute need them */
    bool frames;           /* keep them separately from the rows, as gt_frames, unless they become rows */
    bool memory;           /* keep memory events, as gt_memory_events */
    bool launched;         /* keep the names of kernels that calls have (GT_EVENT_LAUNCHED); reads no index */
    bool every_event;      /* keep also the events that no sheet uses: for benchmarks and tests */
} gt_kineto_options;

/* Reads a trace ("-": standard input) into columns; the tree and the links are made later. A truncated file
 * is read as input/options.h describes. */
gt_pytorch_read *gt_kineto_read(const char *path, gt_kineto_options keep, const gt_read_options *options,
                                gt_error *error);
gt_pytorch_read *gt_kineto_read_stream(gt_stream *stream, gt_kineto_options keep,
                                       const gt_read_options *options, gt_error *error);
/* Reads into stores that are empty (gt_pytorch_stores_new) and have frames and memory events only if these
 * are wanted. */
bool gt_kineto_read_stores(gt_stream *stream, gt_kineto_options keep, const gt_read_options *options,
                           gt_pytorch_stores *stores, gt_error *error);

/* The same without detecting the format, for a trace in Perfetto's. */
bool gt_kineto_read_perfetto(gt_stream *stream, gt_kineto_options keep, const gt_read_options *options,
                             gt_pytorch_stores *stores, gt_error *error);

/* The stores of a trace and what it says about its run, from an image in an index (index/index.h). False,
 * with nothing loaded, if it is damaged. */
bool gt_kineto_load(const gt_image *image, bool with_frames, bool with_memory, gt_pytorch_stores *stores,
                    gt_run_info *run);

/* ---- the profiler that wrote a Perfetto trace ---- */

typedef enum gt_perfetto_origin {
    GT_ORIGIN_UNKNOWN,
    GT_ORIGIN_ROCPROF,
    GT_ORIGIN_PYTORCH,
} gt_perfetto_origin;

/* Decides by the categories of the first events: those in the stream's first block, or else those of the
 * whole file, which is opened again. Leaves the stream at its beginning. False if it cannot be read. */
bool gt_perfetto_find_origin(gt_stream *stream, gt_perfetto_origin *origin, gt_error *error);

/* ---- collectives ---- */

typedef struct gt_rank_events {
    gt_interner *strings; /* owned */
    gt_store *store;      /* gt_event_columns; one row per communication kernel with a link to the host */
    size_t events;        /* in the file, kept or not */
    size_t devices;       /* in the trace's deviceProperties; 0 if it has none */
    gt_distributed_info distributed;
} gt_rank_events;

/* `comm` says which kernels are collectives (NULL: those of TraceLens).
 *
 * Kernel names are not kept: GT_EVENT_COLLECTIVE is the argument "Collective name" or is derived from the
 * kernel's name. A truncated file is always an error: collectives are matched across ranks by their order,
 * and half a file would be matched wrongly. Advances a progress line that the caller has begun. */
gt_rank_events *gt_kineto_read_collectives(gt_stream *stream, const gt_comm_kernels *comm, unsigned threads,
                                           gt_error *error);
void gt_rank_events_free(gt_rank_events *events);

/* The number of GPUs in the trace's deviceProperties if these come before the events, as PyTorch writes them;
 * else 0. Reads only up to there. */
size_t gt_kineto_count_devices(gt_stream *stream);
/* The trace's distributedInfo, likewise. */
gt_distributed_info gt_kineto_find_distributed(gt_stream *stream);

/* ---- the shortest and longest instance per kernel ---- */

typedef struct gt_kernel_instance {
    double dur_us, start_us;
    uint32_t place; /* of its event among all events of the file */
    bool is_whole;  /* the duration is written as an integer */
} gt_kernel_instance;

typedef struct gt_kernel_extremes {
    uint32_t name;
    gt_kernel_instance shortest; /* the first of equal ones */
    gt_kernel_instance longest;  /* the last of equal ones */
} gt_kernel_extremes;

typedef struct gt_kernel_list {
    gt_interner *strings; /* owned */
    gt_kernel_extremes *items;
    size_t count;
} gt_kernel_list;

/* Reads the events of category "kernel" that have "ts" and "dur". */
gt_kernel_list *gt_kineto_read_kernels(const char *path, const gt_read_options *options, gt_error *error);
gt_kernel_list *gt_kineto_read_kernels_stream(gt_stream *stream, const gt_read_options *options,
                                              gt_error *error);
void gt_kernel_list_free(gt_kernel_list *list);

/* The shortest and longest instance of all kernels whose names start with `name`, or with `exact` equal it.
 * False if there is none. */
bool gt_kernel_list_find(const gt_kernel_list *list, gt_str name, bool exact, gt_kernel_instance *shortest,
                         gt_kernel_instance *longest);
