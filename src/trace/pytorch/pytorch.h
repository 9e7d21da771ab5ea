/* A PyTorch trace, ready to be asked: its events as arrays, who called whom, who launched which kernel.
 *
 * An event is a row: an index into the arrays, in file order. Events that no sheet needs are not kept, so a
 * row is not the event's place in the file; that is its uid. */
#ifndef GT_TRACE_PYTORCH_PYTORCH_H
#define GT_TRACE_PYTORCH_PYTORCH_H

#include "base/error.h"
#include "trace/events.h"

typedef enum gt_event_kind {
    GT_KIND_OTHER,
    GT_KIND_CPU_OP,
    GT_KIND_RUNTIME, /* cuda_runtime: also what HIP writes */
    GT_KIND_DRIVER,
    GT_KIND_PYTHON, /* python_function; kept only when asked for */
    GT_KIND_KERNEL,
    GT_KIND_MEMCPY,
    GT_KIND_MEMSET,
    GT_KIND_FLOW_START, /* ac2g arrows, from a launch ... (in the store of arrows, not among the rows) */
    GT_KIND_FLOW_END,   /* ... to what it launched */
    GT_KIND_ANNOTATION,
    GT_KIND_METADATA,
    GT_KIND_SYNC, /* cuda_sync: a stream or the host waits; only hta.h asks for it */
} gt_event_kind;

#define GT_NO_EVENT UINT32_MAX
uint32_t *gt_no_events(size_t count); /* so many of them; the caller frees the array */

static inline bool gt_kind_is_gpu(uint8_t kind)
{
    return kind >= GT_KIND_KERNEL && kind <= GT_KIND_MEMSET;
}
static inline bool gt_kind_is_host(uint8_t kind)
{
    return kind >= GT_KIND_CPU_OP && kind <= GT_KIND_PYTHON;
}

typedef struct gt_pytorch {
    gt_interner *strings; /* owned: names and every other text */
    gt_store *store;      /* the columns that few analyses need, such as input shapes; one entry a row */
    gt_store *arrows;     /* of the same columns: only until launches are linked, then NULL */
    size_t count;         /* rows */
    size_t recorded;      /* of them, those that the file has; tree_edit.h adds others behind these */
    size_t events;        /* in the file, kept or not */
    bool has_python;      /* python functions were kept */
    bool gpu_only;        /* the trace has no cpu_op */

    /* By row. */
    uint32_t *uid;
    uint8_t *kind; /* gt_event_kind */
    uint32_t *name;
    double *start_us, *dur_us;  /* NaN where the event has none */
    double *end_us;             /* start + dur, as the reference adds them */
    uint8_t *integral;          /* GT_INTEGRAL_* */
    uint32_t *process, *thread; /* JSON texts; numbers and strings alike */

    /* The host call tree (gt_pytorch_build_tree). A GPU event's parent is the runtime call that launched it.
     */
    uint32_t *parent;   /* GT_NO_EVENT at roots, for events not in the tree and for GPU events not linked */
    uint32_t *preorder; /* of host events in the tree: an event's subtree is the numbers ... */
    uint32_t *subtree_end;  /* ... [preorder, subtree_end); GT_NO_EVENT where not in the tree */
    uint32_t numbered;      /* preorder numbers given out */
    uint32_t *cpu_op_above; /* of host events: the nearest cpu_op above (gt_pytorch_cpu_op_above) */
    uint32_t *launch_op;    /* of host events: the op that a launch here counts for (launchers.h) */
    uint8_t *recompute;     /* 1: run again for the backward pass; NULL where not looked for */

    /* Launches, in file order of the runtime calls; a GPU event may be launched twice. */
    uint32_t *link_runtime, *link_gpu;
    size_t link_count;

    /* Of rows that were added. */
    uint32_t *extra;      /* by row: rare arguments as a JSON object, a text id; NULL: no row has any */
    uint32_t *late_roots; /* ops around which the search for ops starts last (gt_calls_cpu_roots) */
    size_t late_root_count;

    struct gt_tracks *tracks;       /* names of processes and threads (gt_pytorch_track) */
    struct gt_extension *extension; /* borrowed: what an extension says of ops; NULL: there is none */
} gt_pytorch;

/* From the store's columns to arrays; takes over both stores and the strings. */
gt_pytorch *gt_pytorch_new(gt_store *store, gt_store *arrows, gt_interner *strings, bool has_python);
void gt_pytorch_free(gt_pytorch *trace);

/* Who called whom: fills parent, preorder and subtree_end of host events. */
void gt_pytorch_build_tree(gt_pytorch *trace);
/* Who launched what: fills the links and the parents of GPU events. Needs the tree. */
void gt_pytorch_link_launches(gt_pytorch *trace);
/* Marks what runs below a checkpoint's recompute function. Needs tree, links and python functions. */
void gt_pytorch_mark_recompute(gt_pytorch *trace, size_t *regions, size_t *marked);

/* The nearest cpu_op above a row, GT_NO_EVENT where there is none. */
uint32_t gt_pytorch_cpu_op_above(const gt_pytorch *trace, uint32_t row);
/* Text of a row's name. */
gt_str gt_pytorch_name(const gt_pytorch *trace, uint32_t row);

/* process_name, process_labels (of the process's thread 0) and thread_name of a row, as text ids; "Unknown"
 * where the trace does not say. */
typedef struct gt_track_names {
    uint32_t process_name, process_label, thread_name;
} gt_track_names;
gt_track_names gt_pytorch_track(const gt_pytorch *trace, uint32_t row);

/* Kernel names of collectives: contain rccl, nccl or cross_device_reduce, in any case. */
bool gt_is_communication(gt_str name);

#endif
