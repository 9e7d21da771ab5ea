/* A PyTorch trace: its events, its call tree and its launches.
 *
 * A trace goes through three stages, and each stage is a type of its own, so that the compiler checks the
 * order of the calls:
 *
 *     gt_pytorch_read *read = gt_kineto_read(path, ...);        events as they were read
 *     gt_pytorch_tree *tree = gt_pytorch_build_tree(read);      + which host event called which
 *     gt_pytorch_linked *trace = gt_pytorch_link(tree);         + which call launched which GPU event
 *     ...
 *     gt_pytorch_linked_free(trace);
 *
 * A step consumes its argument: `read` must not be used (or freed) after gt_pytorch_build_tree.
 *
 * Analyses walk over millions of events, so they read arrays and not accessor functions: a view holds const
 * pointers to the arrays. A function that needs only events takes a gt_event_view; one that needs the tree or
 * launches takes a gt_linked_view, which only a linked trace has. A gt_linked_view contains a gt_event_view
 * as its member `events` (&trace->events), and has the same fields itself: trace->kind and trace->events.kind
 * are the same member.
 *
 * An event is a row: an index into the arrays, in file order. Events that no sheet needs are not kept, so a
 * row is not the event's position in the file; that is its uid (gt_event_uid). */
#pragma once

#include "trace/account.h"
#include "trace/ancestors.h"
#include "trace/communication.h"
#include "trace/events.h"
#include "trace/intervals.h"
#include "trace/pytorch/lanes.h"

typedef enum gt_event_kind {
    GT_KIND_OTHER,
    GT_KIND_CPU_OP,
    GT_KIND_RUNTIME, /* category cuda_runtime, which HIP writes too */
    GT_KIND_DRIVER,
    GT_KIND_PYTHON, /* python_function; kept only if requested */
    GT_KIND_KERNEL,
    GT_KIND_MEMCPY,
    GT_KIND_MEMSET,
    GT_KIND_FLOW_START, /* ac2g flow from a launch ... (in the store of flow events, not among the rows) */
    GT_KIND_FLOW_END,   /* ... to the GPU event that it launched */
    GT_KIND_ANNOTATION, /* user_annotation: of the host */
    GT_KIND_METADATA,
    GT_KIND_SYNC,           /* cuda_sync: a stream or the host waits; only analysis/hta uses it */
    GT_KIND_GPU_ANNOTATION, /* gpu_user_annotation: the same on a GPU's stream */
    GT_KIND_NO_EVENT,       /* no object, or without phase or category; only while a trace is read */
    GT_KIND_MEMORY,         /* cpu_instant_event: mostly [memory]; never among the rows */
} gt_event_kind;

#define GT_NO_EVENT UINT32_MAX
/* An array of `count` GT_NO_EVENT; the caller frees it. */
uint32_t *gt_no_events(size_t count);

static inline bool gt_kind_is_gpu(uint8_t kind)
{
    return kind >= GT_KIND_KERNEL && kind <= GT_KIND_MEMSET;
}
static inline bool gt_kind_is_host(uint8_t kind)
{
    return kind >= GT_KIND_CPU_OP && kind <= GT_KIND_PYTHON;
}

static inline bool gt_kind_is_annotation(uint8_t kind)
{
    return kind == GT_KIND_ANNOTATION || kind == GT_KIND_GPU_ANNOTATION;
}

/* ---- what is not rows ---- */

/* Python functions that are not rows: the findings look at them, and no sheet does. They are in file order,
 * and as with rows the uid is the position among all events of the file. There may be more of them than of
 * all other events, so they are read block by block, as often as needed, and never unpacked as a whole:
 *
 *     for (size_t first = 0; gt_frames_read(frames, first, columns, &block); first += block.count)
 */
enum { GT_FRAMES_PER_BLOCK = 2048 };
typedef struct gt_frame_block {
    size_t count;
    uint32_t uid[GT_FRAMES_PER_BLOCK];
    uint32_t name[GT_FRAMES_PER_BLOCK]; /* string ids, as those of rows */
    uint32_t process[GT_FRAMES_PER_BLOCK], thread[GT_FRAMES_PER_BLOCK];
    double start_us[GT_FRAMES_PER_BLOCK], dur_us[GT_FRAMES_PER_BLOCK]; /* NaN if the event has none */
} gt_frame_block;

/* What is read of frames, in addition to their number. */
enum {
    GT_FRAMES_NAME = 1,
    GT_FRAMES_THREAD = 2, /* with the process */
    GT_FRAMES_START = 4,
    GT_FRAMES_DURATION = 8,
    GT_FRAMES_UID = 16,
    GT_FRAMES_ALL = 31,
};

/* Reads the frames of a view from `first` on, those of the bits of GT_FRAMES_; NULL has none. False if there
 * are no more. */
bool gt_frames_read(const gt_store *frames, size_t first, unsigned columns, gt_frame_block *block);

/* How much memory PyTorch's allocators have, after each allocation and each release that was recorded: the
 * events "[memory]" of other devices than the CPU, in file order. */
typedef struct gt_memory_events {
    size_t count;
    double *start_us;              /* finite */
    uint32_t *process;             /* string id */
    int64_t *device;               /* its number */
    int64_t *allocated, *reserved; /* bytes */
} gt_memory_events;

/* Unpacks the memory events of a view, where they are a store with gt_event_columns; NULL has none. Events
 * that lack one of these values, or have one that is no number of bytes, are left out. `strings` are those of
 * the view: other threads may be adding to the store's own. The caller frees the arrays. */
gt_memory_events gt_memory_events_unpack(const gt_store *memory, const gt_interner *strings);
void gt_memory_events_free(gt_memory_events *events);

/* A GPU, as an entry of deviceProperties describes it. Absent numbers are GT_EVENT_NONE. */
typedef struct gt_device_properties {
    int64_t id;
    int64_t compute_major, compute_minor;
    int64_t memory_bytes;
    int64_t multiprocessors;
    uint32_t name;   /* string id; GT_STR_NONE if absent */
    bool is_deduced; /* the trace has no name: it is that of the product with these properties */
} gt_device_properties;

/* What is known of a trace apart from its events. */
typedef struct gt_trace_facts {
    gt_device_properties *devices;
    size_t device_count, device_capacity;
    uint32_t host;   /* string id: the name of the machine; GT_STR_NONE if the trace does not say */
    bool is_cut_off; /* the file ends early or is damaged, so events are missing */
    gt_account account;
} gt_trace_facts;

/* ---- views ---- */

/* The fields of gt_event_view. They are a macro because gt_linked_view repeats them. Arrays have one entry
 * per row. Only `strings` may be changed through a view: analyses intern the text of their cells there.
 *
 *     strings     names and all other text; the owner is the trace
 *     store       the columns that few analyses need, such as input shapes; one entry per row. Those of the
 *                 arrays below are no longer in it
 *     tracks      names of processes and threads (gt_event_track)
 *     count       rows
 *     recorded    rows that come from the file; tree_edit.h appends others after them
 *     uid_count   uids in use: one per event of the file, kept or not, and one per appended row
 *     has_python  python functions were kept
 *     gpu_only    the trace has no cpu_op
 *     kind        gt_event_kind
 *     name        string id
 *     start_us    NaN if the event has none, as dur_us; the end is gt_event_end_us
 *     integral    GT_INTEGRAL_* bits: which times were written as integers
 *     lanes       processes and threads (gt_event_lane, gt_event_process, gt_event_thread); never NULL
 *     communication  which kernels are communication (gt_comm_family); NULL: those of TraceLens
 *     extra       string id of rare arguments of appended rows, a JSON object; NULL: no row has any
 *     frames      python functions that are not rows (gt_frames_read); NULL if they were not asked for, or
 *                 are rows
 *     memory      memory events (gt_memory_events_unpack); NULL if they were not asked for
 *     facts       never NULL */
#define GT_EVENT_VIEW_FIELDS                                                                                 \
    gt_interner *strings;                                                                                    \
    const gt_store *store;                                                                                   \
    const struct gt_tracks *tracks;                                                                          \
    const gt_comm_kernels *communication;                                                                    \
    size_t count, recorded, uid_count;                                                                       \
    bool has_python, gpu_only;                                                                               \
    const uint8_t *kind;                                                                                     \
    const uint32_t *name;                                                                                    \
    const double *start_us, *dur_us;                                                                         \
    const uint8_t *integral;                                                                                 \
    const gt_event_lanes *lanes;                                                                             \
    const uint32_t *extra;                                                                                   \
    const gt_store *frames;                                                                                  \
    const gt_store *memory;                                                                                  \
    const gt_trace_facts *facts;

typedef struct gt_event_view {
    GT_EVENT_VIEW_FIELDS
} gt_event_view;

typedef struct gt_linked_view {
    union {
        gt_event_view events;
        struct {
            GT_EVENT_VIEW_FIELDS
        };
    };

    /* The call tree. Host events in the tree are numbered in preorder, so the subtree of an event is the
     * range of numbers [preorder, subtree_end). Both are GT_NO_EVENT for rows that are not in the tree. */
    const uint32_t *parent; /* caller of a host event; runtime call that launched a GPU event; GT_NO_EVENT for
                               roots, events outside the tree and GPU events without a launch */
    const uint32_t *preorder, *subtree_end;
    uint32_t numbered;        /* count of host events in the tree */
    gt_ancestors ops_above;   /* of host events: the nearest cpu_op above (see gt_pytorch_cpu_op_above) */
    const uint8_t *recompute; /* 1: below a checkpoint's recompute function, or launched there; NULL before
                                 gt_pytorch_mark_recompute */
    const uint8_t *grafted;   /* gt_graft_part (graft.h); NULL: no captures were merged into the trace */

    /* Launches, in file order of the runtime calls. A GPU event may be launched twice. */
    const uint32_t *link_runtime, *link_gpu; /* rows */
    size_t link_count;

    const uint32_t
        *late_roots; /* appended ops that the search for root ops visits last (gt_calls_cpu_roots) */
    size_t late_root_count;

    /* The ops of replayed graphs (graph_ops.h): rows graph_first to graph_first + graph_count - 1. */
    size_t graph_first, graph_count;
    const uint32_t *graph_sources; /* by these rows: string id of where the op is known from */
} gt_linked_view;

/* Where the op of a row is known from, if it is that of a replayed graph; GT_STR_NONE for all others. */
static inline uint32_t gt_event_graph_source(const gt_linked_view *trace, uint32_t row)
{
    bool is_graph_op = row >= trace->graph_first && row - trace->graph_first < trace->graph_count;
    return is_graph_op ? trace->graph_sources[row - trace->graph_first] : 0;
}

/* ---- stages ---- */

typedef struct gt_pytorch_read gt_pytorch_read;
typedef struct gt_pytorch_tree gt_pytorch_tree;
typedef struct gt_pytorch_linked gt_pytorch_linked;

/* What a reader fills. All stores have gt_event_columns. */
typedef struct gt_pytorch_stores {
    gt_interner *strings;
    gt_store *events;
    gt_store *flow_events; /* ac2g */
    gt_store *frames;      /* python functions, if they are not among the events; NULL: not wanted */
    gt_store *memory;      /* memory events; NULL: not wanted */
    gt_trace_facts facts;
} gt_pytorch_stores;

/* Empty ones. */
gt_pytorch_stores gt_pytorch_stores_new(bool with_frames, bool with_memory);
void gt_pytorch_stores_free(gt_pytorch_stores *stores);

/* Unpacks the columns that every analysis uses. Takes ownership of all that the stores have. Events without a
 * start or a duration become GT_KIND_OTHER, with a warning. */
gt_pytorch_read *gt_pytorch_new(const gt_pytorch_stores *stores, bool has_python);
/* Takes the frames out of the trace, for those who are done with them earlier: the caller frees them. Views
 * that were copied before still have them. NULL: there are none. */
gt_store *gt_pytorch_read_take_frames(gt_pytorch_read *read);
/* Builds the call tree, and finds the launches. Consumes `read`. */
gt_pytorch_tree *gt_pytorch_build_tree(gt_pytorch_read *read);
/* Links calls of the tree and the GPU events that they launch, by the rules of TraceLens. Consumes `tree`. */
gt_pytorch_linked *gt_pytorch_link(gt_pytorch_tree *tree);
/* Corrects the links where the rules of TraceLens, which gt_pytorch_link follows, are wrong; see launches.c.
 */
void gt_pytorch_correct_launches(gt_pytorch_linked *trace);

/* These accept NULL. */
void gt_pytorch_read_free(gt_pytorch_read *read);
void gt_pytorch_tree_free(gt_pytorch_tree *tree);
void gt_pytorch_linked_free(gt_pytorch_linked *trace);

/* Views of a trace, valid until the trace is consumed or freed. Pointers to arrays copied out of a view are
 * valid until the next call that changes the trace (below, and those of tree_edit.h). */
const gt_event_view *gt_pytorch_read_view(const gt_pytorch_read *read);
const gt_linked_view *gt_pytorch_view(const gt_pytorch_linked *trace);

/* Sets which kernels are communication; `comm` must outlive the trace, and may be NULL. */
void gt_pytorch_read_use_communication(gt_pytorch_read *read, const gt_comm_kernels *comm);
void gt_pytorch_use_communication(gt_pytorch_linked *trace, const gt_comm_kernels *comm);

/* Marks events that run below a checkpoint's recompute function, and the GPU events that they launch. Finds
 * nothing unless the trace was read with python functions. Sets *regions to the number of recompute functions
 * and *marked to the number of events below each, summed up. */
void gt_pytorch_mark_recompute(gt_pytorch_linked *trace, size_t *regions, size_t *marked);

/* ---- questions about one event ---- */

gt_str gt_event_name(const gt_event_view *events, uint32_t row);
/* Whether it is the name of a step of the profiler, "ProfilerStep#12". Mostly an annotation has it; some
 * versions of PyTorch record it as a cpu_op. */
bool gt_is_profiler_step(gt_str name);

/* The event's position in the file; appended rows continue the count. It comes from the store, which needs
 * less than one byte per row for it where an array would need four. */
static inline uint32_t gt_event_uid(const gt_event_view *events, size_t row)
{
    return gt_store_position(events->store, row);
}

/* NaN if the event has no start or no duration. Added as TraceLens adds them. */
static inline double gt_event_end_us(const gt_event_view *events, size_t row)
{
    return events->start_us[row] + events->dur_us[row];
}

/* Two events have the same lane if they are of the same thread. */
static inline uint32_t gt_event_lane(const gt_event_view *events, size_t row)
{
    return gt_lane_of(events->lanes, row);
}

/* String ids of the values' JSON. */
static inline uint32_t gt_event_process(const gt_event_view *events, size_t row)
{
    return gt_lane_ids_of(events->lanes, row).process;
}
static inline uint32_t gt_event_thread(const gt_event_view *events, size_t row)
{
    return gt_lane_ids_of(events->lanes, row).thread;
}

/* Whether the event's name is that of communication. Not fast: cache it by name. */
static inline bool gt_event_communicates(const gt_event_view *events, uint32_t row)
{
    gt_str name = gt_interner_get(events->strings, events->name[row]);
    return events->communication ? gt_comm_family(events->communication, name) != NULL
                                 : gt_is_communication(name);
}

/* process_name, process_labels (of the process's thread 0) and thread_name of a row, as string ids; "Unknown"
 * if the trace does not say. */
typedef struct gt_track_names {
    uint32_t process_name, process_label, thread_name;
} gt_track_names;
gt_track_names gt_event_track(const gt_event_view *events, uint32_t row);

/* The nearest cpu_op above a row, GT_NO_EVENT if there is none. */
uint32_t gt_pytorch_cpu_op_above(const gt_linked_view *trace, uint32_t row);

/* ---- questions about many events ---- */

typedef struct gt_busy {
    double us;
    bool integral; /* all times involved were written as integers */
} gt_busy;

/* How long at least one of these events was running. `spare` is memory that the caller keeps from call to
 * call. */
gt_busy gt_busy_time(const gt_event_view *events, const uint32_t *rows, size_t count, gt_intervals *spare);

/* In which step of the program did an event run? A step is an annotation (record_function, a profiler step)
 * that encloses the event in time. Looks only at events whose name starts with one of the prefixes: the
 * result is, by row, the name of the annotation that started first among those that start at or before the
 * event and end after it, or "NA" if there is none; GT_STR_NONE for other events. Annotations for whose names
 * `is_preferred` is true come before all others; it may be NULL. The caller frees the result; NULL if no
 * event has such a name. */
uint32_t *gt_events_find_annotations(const gt_event_view *events, const char *const *prefixes, size_t count,
                                     bool (*is_preferred)(gt_str name));
