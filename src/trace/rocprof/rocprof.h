/* A run as rocprofv3 recorded it: kernel dispatches, memory copies, API calls, counters, agents, and what is
 * known of the processes. Every rocprofv3 format is read into this, so that the sheets do not depend on the
 * format.
 *
 * Dispatches and the times of copies are always read; the rest only when it is asked for (GT_WANT_...), so
 * that a plain report stays small. A run may hold several processes: columns ..._PROCESS are indexes into
 * gt_rocprof.process. */
#ifndef GT_TRACE_ROCPROF_ROCPROF_H
#define GT_TRACE_ROCPROF_ROCPROF_H

#include "base/error.h"
#include "base/map.h"
#include "trace/store.h"

/* What to read beyond the basic columns: bits of gt_read_options.wanted and of gt_rocprof.wanted. */
enum {
    GT_WANT_DISPATCH_DETAILS = 1 << 0, /* all columns of dispatches, and what kernels use (gt_kernel_use) */
    GT_WANT_COPY_DETAILS = 1 << 1,     /* all columns of copies */
    GT_WANT_CALLS = 1 << 2,            /* gt_rocprof.calls */
    GT_WANT_COUNTERS = 1 << 3,         /* gt_rocprof.counters */
    GT_WANT_AGENTS = 1 << 4,           /* gt_rocprof.agents */
    GT_WANT_ALL_PROCESSES = 1 << 5, /* of a JSON file, whose first process alone is read otherwise; the other
                                       formats give all of theirs in any case */
    GT_WANT_DISPATCH_PROCESSES = 1 << 6, /* GT_DISPATCH_PROCESS, without the other details */
    GT_WANT_ALL = (1 << 7) - 1,
};

/* Columns of gt_rocprof.dispatches; all INT. Times are nanoseconds. */
enum {
    GT_DISPATCH_KERNEL_ID, /* GT_NO_KERNEL_ID where the record has none; one id space a run, see kernel names
                            */
    GT_DISPATCH_START,
    GT_DISPATCH_END,
    GT_DISPATCH_STREAM,
    GT_DISPATCH_ID,
    GT_DISPATCH_GRID_X, /* work-items */
    GT_DISPATCH_GRID_Y,
    GT_DISPATCH_GRID_Z,
    GT_DISPATCH_BLOCK_X,
    GT_DISPATCH_BLOCK_Y,
    GT_DISPATCH_BLOCK_Z,
    GT_DISPATCH_AGENT, /* as the format numbers agents; GT_AGENT_ID of gt_rocprof.agents */
    GT_DISPATCH_THREAD,
    GT_DISPATCH_BASIC_COLUMNS,

    GT_DISPATCH_PROCESS = GT_DISPATCH_BASIC_COLUMNS, /* with either of the two WANT_DISPATCH_ bits */

    /* With GT_WANT_DISPATCH_DETAILS. */
    GT_DISPATCH_QUEUE,
    GT_DISPATCH_CORRELATION, /* the internal correlation id: the API call's that launched it */
    GT_DISPATCH_LDS_BYTES,
    GT_DISPATCH_SCRATCH_BYTES,
    GT_DISPATCH_COLUMNS
};
#define GT_NO_KERNEL_ID INT64_MIN

/* Columns of gt_rocprof.copies; INT, nanoseconds. */
enum {
    GT_COPY_START,
    GT_COPY_END,
    GT_COPY_BASIC_COLUMNS,

    /* With GT_WANT_COPY_DETAILS. */
    GT_COPY_PROCESS = GT_COPY_BASIC_COLUMNS,
    GT_COPY_DIRECTION, /* gt_copy_direction */
    GT_COPY_BYTES,     /* -1 where the format does not say (CSV) */
    GT_COPY_SOURCE,    /* agents, as GT_DISPATCH_AGENT; -1 where unknown */
    GT_COPY_DESTINATION,
    GT_COPY_STREAM,
    GT_COPY_THREAD,
    GT_COPY_CORRELATION,
    GT_COPY_COLUMNS
};

typedef enum gt_copy_direction {
    GT_COPY_UNKNOWN,
    GT_COPY_HOST_TO_HOST,
    GT_COPY_HOST_TO_DEVICE,
    GT_COPY_DEVICE_TO_HOST,
    GT_COPY_DEVICE_TO_DEVICE,
    GT_COPY_DIRECTIONS
} gt_copy_direction;

/* "MEMORY_COPY_HOST_TO_DEVICE" and so on, as rocprofv3 writes them; the name that contains one of these gives
 * its direction. */
const char *gt_copy_direction_name(gt_copy_direction direction);
gt_copy_direction gt_copy_direction_of(gt_str name);

/* Columns of gt_rocprof.calls: API calls and ranges that the program marked. */
enum {
    GT_CALL_DOMAIN, /* gt_call_domain */
    GT_CALL_KIND,   /* TEXT: HIP_RUNTIME_API, HSA_CORE_API, ...; absent in pftrace */
    GT_CALL_NAME,   /* TEXT: the function; of a marker its message */
    GT_CALL_START,
    GT_CALL_END,
    GT_CALL_PROCESS,
    GT_CALL_THREAD,
    GT_CALL_CORRELATION, /* the internal id, which dispatches and copies of this call share */
    GT_CALL_STREAM,      /* -1 where the format does not say */
    GT_CALL_COLUMNS
};

typedef enum gt_call_domain {
    GT_CALL_HIP,
    GT_CALL_HSA,
    GT_CALL_MARKER,
    GT_CALL_RCCL,
    GT_CALL_ROCDECODE,
    GT_CALL_ROCJPEG,
    GT_CALL_OTHER,
    GT_CALL_DOMAINS
} gt_call_domain;

/* "hip_api" and so on: the arrays of the JSON, the categories of a pftrace, part of the names of CSV files.
 */
const char *gt_call_domain_name(gt_call_domain domain);
/* The domain of a kind ("HIP_RUNTIME_API_EXT") or of a category ("hip_api"). */
gt_call_domain gt_call_domain_of(gt_str kind);

/* Columns of gt_rocprof.counters: one row a dispatch and counter, summed over the hardware's instances. */
enum {
    GT_COUNTER_PROCESS,
    GT_COUNTER_DISPATCH,  /* its GT_DISPATCH_ID */
    GT_COUNTER_KERNEL_ID, /* known also where the dispatch itself was not traced */
    GT_COUNTER_NAME,      /* TEXT */
    GT_COUNTER_VALUE,     /* TIME, that is a double */
    GT_COUNTER_COLUMNS
};

/* Columns of gt_rocprof.stats: sums that rocprofv3 made itself, for runs of which nothing else is there. */
enum {
    GT_STATS_OF,   /* a gt_call_domain, GT_STATS_KERNELS or GT_STATS_COPIES */
    GT_STATS_NAME, /* TEXT; of a kernel its short name */
    GT_STATS_COUNT,
    GT_STATS_TOTAL, /* nanoseconds, as the next two */
    GT_STATS_MIN,
    GT_STATS_MAX,
    GT_STATS_STD, /* TIME, that is a double: nanoseconds, over n - 1 */
    GT_STATS_COLUMNS
};
enum { GT_STATS_KERNELS = GT_CALL_DOMAINS, GT_STATS_COPIES, GT_STATS_OTHER };

/* Columns of gt_rocprof.agents: those of rocprofv3's agent_info.csv, in its order, and first how dispatches
 * name the agent. TEXT where gt_agent_columns says so: names, and what may not fit an int64. INT columns that
 * the format does not give hold GT_AGENT_ABSENT. */
enum {
    GT_AGENT_ID,      /* what GT_DISPATCH_AGENT, GT_COPY_SOURCE and ..._DESTINATION hold */
    GT_AGENT_PROCESS, /* of a run of several */
    GT_AGENT_INFO,    /* the first column of agent_info.csv: Node_Id */
    GT_AGENT_NODE_ID = GT_AGENT_INFO,
    GT_AGENT_LOGICAL_NODE_ID,
    GT_AGENT_TYPE, /* TEXT: CPU, GPU, ... */
    GT_AGENT_INFO_COLUMNS = 53,
    GT_AGENT_COLUMNS = GT_AGENT_INFO + GT_AGENT_INFO_COLUMNS,
    GT_AGENT_MODEL_NAME = GT_AGENT_COLUMNS - 1, /* TEXT */
    GT_AGENT_PRODUCT_NAME = GT_AGENT_MODEL_NAME - 1,
    GT_AGENT_VENDOR_NAME = GT_AGENT_MODEL_NAME - 2,
    GT_AGENT_NAME = GT_AGENT_MODEL_NAME - 3,
};
#define GT_AGENT_ABSENT INT64_MIN

/* Column names of agent_info.csv, from GT_AGENT_INFO on: gt_agent_info_names[column - GT_AGENT_INFO]. */
extern const char *const gt_agent_info_names[GT_AGENT_INFO_COLUMNS];

/* What the columns hold where a record does not say: 0, but a grid and block of 1 x 1 x 1 and no kernel id.
 */
extern const gt_store_column gt_dispatch_columns[GT_DISPATCH_COLUMNS];
extern const gt_store_column gt_copy_columns[GT_COPY_COLUMNS];
extern const gt_store_column gt_call_columns[GT_CALL_COLUMNS];
extern const gt_store_column gt_counter_columns[GT_COUNTER_COLUMNS];
extern const gt_store_column gt_stats_columns[GT_STATS_COLUMNS];
extern const gt_store_column gt_agent_columns[GT_AGENT_COLUMNS];

/* One process of the run: a rank, where a job has one process a GPU. */
typedef struct gt_rocprof_process {
    int64_t pid;
    uint32_t hostname, command; /* text ids; GT_STR_NONE where the format does not say */
    int64_t init_ns, fini_ns;
} gt_rocprof_process;

typedef struct gt_rocprof {
    gt_interner *strings; /* owned; kernel names are here */
    unsigned wanted;      /* which of the rest is there */
    gt_store *dispatches; /* in file order; never NULL. gt_dispatch_width columns wide */
    gt_store *copies;     /* never NULL; gt_copy_width columns wide */
    gt_store *calls;      /* NULL where not wanted, as are the next two */
    gt_store *counters;
    gt_store *agents;
    gt_store *stats;          /* NULL where no such file was read */
    int64_t init_ns, fini_ns; /* the profiled window; 0 where unknown */
    int64_t pid;              /* of the first process */
    uint32_t hostname;        /* text id; "unknown" where the file does not say */
    uint64_t api_calls;       /* HIP and HSA calls recorded */
    size_t processes;         /* in the file; of a JSON file only the first is read by default */
    gt_rocprof_process
        *process; /* those read; may be empty where GT_WANT_DISPATCH_DETAILS is not asked for */
    size_t process_count, process_capacity;
    struct gt_kernel_names *kernel_names;
} gt_rocprof;

/* An empty run of one process on host "unknown", with stores for what is wanted. */
gt_rocprof *gt_rocprof_new(void);
gt_rocprof *gt_rocprof_new_wanted(unsigned wanted);
/* Widths of the stores that hold what is wanted. */
size_t gt_dispatch_width(unsigned wanted);
size_t gt_copy_width(unsigned wanted);

/* Adds a process; gives its index for the ..._PROCESS columns. */
int64_t gt_rocprof_add_process(gt_rocprof *run, gt_rocprof_process process);

/* For readers that go through a file record by record: one writer a store, NULL where it is not wanted. */
typedef struct gt_rocprof_writers {
    gt_rocprof *run;
    gt_store_writer *dispatches, *copies, *calls, *counters, *agents;
    gt_store_writer *stats; /* made with the first row */
} gt_rocprof_writers;
gt_rocprof_writers gt_rocprof_write(gt_rocprof *run);
/* One record; columns that are not wanted are passed over. Into the other stores: gt_store_writer_add. */
void gt_rocprof_write_dispatch(gt_rocprof_writers *writers, uint64_t present, const gt_store_cell *cells);
void gt_rocprof_write_copy(gt_rocprof_writers *writers, uint64_t present, const gt_store_cell *cells);
void gt_rocprof_write_stats(gt_rocprof_writers *writers, uint64_t present, const gt_store_cell *cells);
/* Puts what was written so far into the run's stores. */
void gt_rocprof_write_flush(gt_rocprof_writers *writers);
/* The same, for the last time. */
void gt_rocprof_write_end(gt_rocprof_writers *writers);

/* Adds another run to one that is being written: its processes come behind those that are there, its kernels
 * are the same where name and use are. What the other run does not have (GT_WANT_...) is missing. */
void gt_rocprof_merge(gt_rocprof_writers *writers, gt_rocprof *other);
/* Adds only its counters: those of another pass over the same processes, in the same order. */
void gt_rocprof_merge_counters(gt_rocprof_writers *writers, gt_rocprof *other);

/* What every dispatch of a kernel uses. Part of what tells kernels apart: -1 where unknown. */
typedef struct gt_kernel_use {
    int32_t vgprs, accum_vgprs, sgprs;
    int32_t lds_bytes; /* of the kernel's code; a dispatch may have more */
} gt_kernel_use;
#define GT_KERNEL_USE_UNKNOWN ((gt_kernel_use){-1, -1, -1, -1})

/* Names a kernel. The last name given to an id wins; GT_STR_NONE takes a name back (a symbol without one).
 * The map is made with the first name: a new run has kernel_names NULL. */
void gt_kernel_names_set(gt_rocprof *run, int64_t kernel_id, uint32_t text);
/* The same, and what its dispatches use. */
void gt_kernel_names_set_use(gt_rocprof *run, int64_t kernel_id, uint32_t text, gt_kernel_use use);
/* For formats that name the kernel in each record: the id of this name and use, made where it is new. Not to
 * be mixed with the two above in one run. */
int64_t gt_kernel_names_add(gt_rocprof *run, uint32_t text, gt_kernel_use use);
void gt_kernel_names_free(struct gt_kernel_names *names);
/* What a kernel uses; all unknown where nothing was said of it. */
gt_kernel_use gt_rocprof_kernel_use(gt_rocprof *run, int64_t kernel_id);
/* The name of a kernel id (text id in run->strings), unknown_kernel_<id> where it has none. */
uint32_t gt_rocprof_kernel_name(gt_rocprof *run, int64_t kernel_id);

/* Forgets the names of kernels that were never dispatched, nearly all of a real run's: once all is read, and
 * before any name is asked for. Text ids given out before are gone. Does nothing where the run has texts of
 * other kinds (calls, counters, agents). */
void gt_rocprof_forget_unused_names(gt_rocprof *run);

/* One kernel name (text id in run->strings) a dispatch, in file order; the caller frees it. A dispatch whose
 * kernel has no name is named unknown_kernel_<id>, and unknown_kernel_None where it has no kernel id either.
 */
uint32_t *gt_rocprof_dispatch_names(gt_rocprof *run);

/* One duration (end - start, nanoseconds; 0 and negative ones occur) a dispatch, in file order; the caller
 * frees it. NULL where the times are so far apart that the durations, taken without sign, do not add up
 * within an int64: so callers may add up any of them. */
int64_t *gt_rocprof_dispatch_durations(const gt_rocprof *run, gt_error *error);
/* The same of any store with two columns of times; `what` is a record of it, for the sentence. */
int64_t *gt_rocprof_durations(const gt_store *store, size_t start_column, size_t end_column, const char *what,
                              gt_error *error);

/* A kernel's short name, as rocprofv3's JSON has it, from its long forms, so that names are comparable
 * between formats: of `void at::foo<int>(float*) [clone .kd]` it is `foo`. A view into `name`. */
gt_str gt_kernel_short_name(gt_str name);
/* The short name's id in `strings` of a name as CSV files and rocpd display it: there the `.kd` of names that
 * are not C++ has been taken off, and is put back. */
uint32_t gt_kernel_name_of_displayed(gt_interner *strings, gt_str name);

/* Frees the run itself too. NULL is allowed. */
void gt_rocprof_free(gt_rocprof *run);

#endif
