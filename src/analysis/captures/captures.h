/* Which captured graph does a launch replay, and which call of the capture is each of its kernels?
 *
 *     classify.c    what a capture trace is of: its batch size, and whether it has one graph or one per piece
 *     steps.c       the graph launches of each step of an inference server
 *     align.c       calls of a captured graph and kernels of a launch
 *     merge.c       all of it: puts the captured graphs into the trace (trace/pytorch/graft.h)
 *
 * The rules are those of TraceLens, and where these are wrong, docs/differences.md says what is done. */
#pragma once

#include "trace/pytorch/graft.h"

/* ---- capture traces (classify.c) ---- */

/* A batch is captured as one graph, or as one graph for each piece between attention layers. */
typedef enum gt_capture_mode { GT_CAPTURE_FULL, GT_CAPTURE_PIECEWISE, GT_CAPTURE_MODES } gt_capture_mode;
const char *gt_capture_mode_name(gt_capture_mode mode); /* "FULL", "PIECEWISE" */

typedef struct gt_capture_kind {
    bool has_batch;
    int64_t batch;
    gt_capture_mode mode;
    bool is_annotated; /* an annotation says both; otherwise they are guesses */
    size_t graphs;
} gt_capture_kind;

/* The trace must have been read with its Python functions. */
gt_capture_kind gt_capture_classify(const gt_event_view *capture);

/* ---- steps and launches (steps.c) ---- */

typedef struct gt_graph_step {
    uint32_t row;        /* of the annotation; GT_NO_EVENT: all launches of a trace without steps */
    size_t first, count; /* launches[first] to launches[first + count - 1], by start */
} gt_graph_step;

typedef struct gt_graph_steps {
    gt_graph_step *items; /* by start */
    size_t count;
    uint32_t *launches; /* rows; a launch is in each step that contains it */
    size_t launch_count;
    size_t all_launches; /* in the trace */
} gt_graph_steps;

gt_graph_steps gt_graph_steps_find(const gt_event_view *trace);
/* Makes one step of all launches. Only for a trace without steps. */
void gt_graph_steps_add_all(gt_graph_steps *steps, const gt_event_view *trace);
void gt_graph_steps_free(gt_graph_steps *steps);

/* The batch size of a step by its name; false if it does not say. */
bool gt_graph_step_batch(gt_str name, int64_t *batch);

/* ---- calls and kernels (align.c) ---- */

/* What copies and sets memory has other names on the host and on the GPU. */
enum { GT_MEMORY_COPY = 1, GT_MEMORY_SET = 2 };
unsigned gt_memory_call(gt_str name);
unsigned gt_memory_kernel(gt_str name);

typedef struct gt_align_call {
    uint32_t name;   /* of its kernel; of the call itself where the capture does not say */
    bool is_named;   /* the capture says */
    bool is_nested;  /* gt_captured_call */
    unsigned memory; /* GT_MEMORY_ */
} gt_align_call;

typedef struct gt_align_kernel {
    uint32_t name;
    uint32_t stream; /* any number, the same for the same stream */
    unsigned memory;
} gt_align_kernel;

typedef enum gt_alignment_kind {
    GT_ALIGNED_IN_ORDER,
    GT_ALIGNED_SKIPPING, /* more calls than kernels: some calls are of no kernel */
    GT_ALIGNED_BY_NAME,
    GT_ALIGNED_STREAMS,
    GT_NOT_ALIGNED_KERNELS, /* the launch has no kernels */
    GT_NOT_ALIGNED_NAMES,   /* several streams, and the capture does not name kernels */
    GT_NOT_ALIGNED_STREAMS,
    GT_NOT_ALIGNED_COUNT, /* of a name: see `name` */
    GT_NOT_ALIGNED,
} gt_alignment_kind;

typedef struct gt_alignment {
    gt_alignment_kind kind;
    gt_graft_pair *pairs; /* index of the call; index of the kernel instead of its row */
    size_t count;         /* that of the kernels */
    bool differs;         /* calls and kernels differ in number */
    bool is_unverified;   /* a call that is not named got a kernel by its position */
    uint32_t name;        /* of GT_NOT_ALIGNED_COUNT, and how often calls and kernels have it */
    size_t name_calls, name_kernels;
} gt_alignment;

static inline bool gt_alignment_found(const gt_alignment *a)
{
    return a->kind <= GT_ALIGNED_STREAMS;
}

/* Both are by start; names are ids of the same strings. */
gt_alignment gt_align_graph(const gt_align_call *calls, size_t call_count, const gt_align_kernel *kernels,
                            size_t kernel_count);
void gt_alignment_free(gt_alignment *alignment);

/* ---- merging (merge.c) ---- */

/* A capture trace that was read, with its graphs. */
typedef struct gt_graph_capture gt_graph_capture;
/* Takes ownership of the trace, which must have Python functions and GT_EVENT_LAUNCHED. */
gt_graph_capture *gt_graph_capture_new(gt_pytorch_linked *trace);
void gt_graph_capture_free(gt_graph_capture *capture);

/* A usable file of a capture folder. */
typedef struct gt_capture_file {
    int64_t batch;
    gt_capture_mode mode;
} gt_capture_file;

/* How a merge went. All but `steps` are launches. */
typedef struct gt_merge_facts {
    size_t steps;
    size_t launches; /* of the trace */
    size_t merged;
    size_t outside;      /* of no step */
    size_t no_batch;     /* of steps whose names do not tell the batch size, ... */
    size_t no_file;      /* ... without a capture that is large enough, ... */
    size_t damaged;      /* ... whose capture cannot be used, ... */
    size_t roots_differ; /* ... with another number of launches than the capture has graphs */
    size_t no_kernels;
    size_t not_aligned; /* calls and kernels differ */
} gt_merge_facts;

typedef struct gt_capture_source {
    const gt_capture_file *files;
    size_t count;
    /* Reads a file, or finds one that was read before. It stays until the next call; NULL: it cannot be used.
     */
    gt_graph_capture *(*load)(void *context, size_t file);
    /* A line of TraceLens' journal, without a line end. */
    void (*say)(void *context, const char *text);
    void *context;
    bool serve_all; /* one file serves all launches of a trace without steps */
} gt_capture_source;

gt_merge_facts gt_captures_merge(gt_pytorch_linked *trace, const gt_capture_source *source);
