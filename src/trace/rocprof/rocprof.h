/* A run as rocprofv3 recorded it: kernel dispatches, memory copies, API calls, counters, agents and
 * processes. All rocprofv3 formats are read into this structure, so that the sheets do not depend on the
 * format. So are exports of Nsight Systems, which also have launches of CUDA graphs and messages of NCCL,
 * and other sheets for their API calls.
 *
 * Dispatches and the times of copies are always read; the rest only if requested (GT_WANT_...), so that a
 * plain report needs little memory. A run may have several processes: columns ..._PROCESS are indexes into
 * gt_rocprof.process. */
#pragma once

#include "base/team.h"
#include "trace/account.h"
#include "trace/communication.h"
#include "trace/store.h"

/* What to read in addition to the basic columns: bits of gt_read_options.wanted and of gt_rocprof.wanted. */
enum {
    GT_WANT_DISPATCH_DETAILS =
        1 << 0, /* all columns of dispatches, and the resources of kernels (gt_kernel_use) */
    GT_WANT_COPY_DETAILS = 1 << 1,  /* all columns of copies */
    GT_WANT_CALLS = 1 << 2,         /* gt_rocprof.calls */
    GT_WANT_COUNTERS = 1 << 3,      /* gt_rocprof.counters */
    GT_WANT_AGENTS = 1 << 4,        /* gt_rocprof.agents */
    GT_WANT_ALL_PROCESSES = 1 << 5, /* of a JSON file: by default only the first process is read. Of other
                                       formats all processes are always read */
    GT_WANT_DISPATCH_PROCESSES = 1 << 6, /* GT_DISPATCH_PROCESS, without the other details */
    GT_WANT_SAMPLES = 1 << 7,            /* gt_rocprof.samples */
    GT_WANT_ALL = (1 << 8) - 1,
    GT_WANT_CSV = 1 << 8, /* of a folder with several formats, the CSV files: JSON may lack their counters */
};

/* Columns of gt_rocprof.dispatches; all INT. Times are nanoseconds. */
enum {
    GT_DISPATCH_KERNEL_ID, /* GT_NO_KERNEL_ID if the record has none; ids are unique in a run */
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
    GT_DISPATCH_AGENT, /* as the format numbers agents; matches GT_AGENT_ID of gt_rocprof.agents */
    GT_DISPATCH_THREAD,
    GT_DISPATCH_BASIC_COLUMNS,

    GT_DISPATCH_PROCESS = GT_DISPATCH_BASIC_COLUMNS, /* with either of the two WANT_DISPATCH_ bits */

    /* With GT_WANT_DISPATCH_DETAILS. */
    GT_DISPATCH_QUEUE,
    GT_DISPATCH_CORRELATION, /* the internal correlation id of the API call that launched it */
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
    GT_COPY_BYTES,     /* -1 if the format does not say (CSV) */
    GT_COPY_SOURCE,    /* agents, as GT_DISPATCH_AGENT; -1 if unknown */
    GT_COPY_DESTINATION,
    GT_COPY_STREAM,
    GT_COPY_THREAD,
    GT_COPY_CORRELATION,
    GT_COPY_KIND, /* of GT_COPY_OTHER_KIND: its number in Nsight Systems */
    GT_COPY_FROM, /* kinds of memory, numbered as in Nsight Systems; -1 if unknown: gt_memory_kind_name */
    GT_COPY_TO,
    GT_COPY_COLUMNS
};

typedef enum gt_copy_direction {
    GT_COPY_UNKNOWN,
    GT_COPY_HOST_TO_HOST,
    GT_COPY_HOST_TO_DEVICE,
    GT_COPY_DEVICE_TO_HOST,
    GT_COPY_DEVICE_TO_DEVICE,

    /* Only Nsight Systems has these. */
    GT_COPY_HOST_TO_ARRAY,
    GT_COPY_ARRAY_TO_HOST,
    GT_COPY_ARRAY_TO_ARRAY,
    GT_COPY_ARRAY_TO_DEVICE,
    GT_COPY_DEVICE_TO_ARRAY,
    GT_COPY_PEER_TO_PEER,
    GT_COPY_UNIFIED_HOST_TO_DEVICE,
    GT_COPY_UNIFIED_DEVICE_TO_HOST,
    GT_COPY_UNIFIED_DEVICE_TO_DEVICE,
    GT_COPY_SET,        /* memory was set */
    GT_COPY_NOT_KNOWN,  /* the driver did not say */
    GT_COPY_OTHER_KIND, /* see GT_COPY_KIND */
    GT_COPY_DIRECTIONS
} gt_copy_direction;

/* From a direction to its name in rocprofv3, such as "MEMORY_COPY_HOST_TO_DEVICE", and from a name that
 * contains one of those to the direction. */
const char *gt_copy_direction_name(gt_copy_direction direction);
gt_copy_direction gt_copy_direction_of(gt_str name);
/* "Pageable", "Device", ... as CUPTI and PyTorch call them; NULL if it is unknown. */
const char *gt_memory_kind_name(int64_t kind);
/* Whether a copy of this direction begins, or ends, in the memory of a GPU. */
bool gt_copy_is_from_gpu(int64_t direction);
bool gt_copy_is_to_gpu(int64_t direction);

/* Columns of gt_rocprof.calls: API calls and ranges that the program marked. */
enum {
    GT_CALL_DOMAIN, /* gt_call_domain */
    GT_CALL_KIND,   /* STRING: HIP_RUNTIME_API, HSA_CORE_API, ...; absent in pftrace */
    GT_CALL_NAME,   /* STRING: the function, or the message of a marker */
    GT_CALL_START,
    GT_CALL_END,
    GT_CALL_PROCESS,
    GT_CALL_THREAD,
    GT_CALL_CORRELATION, /* the internal id, shared with the dispatches and copies of this call */
    GT_CALL_STREAM,      /* -1 if the format does not say */
    GT_CALL_COLUMNS
};

/* GT_CALL_KIND of a range that ends on another thread than it begins: which calls are in it is unknown. */
#define GT_CALL_ACROSS_THREADS "NVTX_START_END_ACROSS_THREADS"
/* GT_CALL_KIND of a call with the correlation id of an earlier one, which launched the work with this id. */
#define GT_CALL_SAME_LAUNCH "CUDA_API_OF_SAME_LAUNCH"

typedef enum gt_call_domain {
    GT_CALL_HIP,
    GT_CALL_HSA,
    GT_CALL_MARKER,
    GT_CALL_RCCL,
    GT_CALL_ROCDECODE,
    GT_CALL_ROCJPEG,
    GT_CALL_OTHER,
    GT_CALL_OSRT, /* functions of the operating system's libraries; only of Nsight Systems */
    GT_CALL_DOMAINS
} gt_call_domain;

/* "hip_api" and so on: names of arrays in the JSON, of categories in a pftrace, and part of CSV file names.
 */
const char *gt_call_domain_name(gt_call_domain domain);
/* The domain of a kind ("HIP_RUNTIME_API_EXT") or of a category ("hip_api"). */
gt_call_domain gt_call_domain_of(gt_str kind);

/* The name of a range without the numbers that PyTorch's emit_nvtx adds to that of an op, as a string id:
 * "aten::mm" for "aten::mm, seq = 5, op_id = 317126". Shapes stay. */
uint32_t gt_range_name(gt_interner *strings, uint32_t name);

/* The sheet about the calls of a domain: "hip_api_summary", or "cuda_api_summary" of Nsight Systems. */
typedef enum gt_recorder { GT_RECORDER_ROCPROF, GT_RECORDER_NSYS, GT_RECORDERS } gt_recorder;
const char *gt_call_sheet(gt_recorder recorder, gt_call_domain domain);

/* Columns of gt_rocprof.graphs: launches of whole CUDA graphs, whose kernels were not recorded. All INT. */
enum {
    GT_GRAPH_START,
    GT_GRAPH_END,
    GT_GRAPH_PROCESS,
    GT_GRAPH_AGENT, /* as GT_DISPATCH_AGENT */
    GT_GRAPH_STREAM,
    GT_GRAPH_CORRELATION,
    GT_GRAPH_ID,
    GT_GRAPH_COLUMNS
};

/* "graph_3", or "graph" if the id is unknown: as an id in `strings`. */
uint32_t gt_graph_name(gt_interner *strings, int64_t id);

/* Columns of gt_rocprof.messages: calls of NCCL whose message sizes were recorded. */
enum {
    GT_MESSAGE_NAME,         /* STRING */
    GT_MESSAGE_COMMUNICATOR, /* STRING: "0x..."; absent if it was not recorded */
    GT_MESSAGE_BYTES,
    GT_MESSAGE_START,
    GT_MESSAGE_END,
    GT_MESSAGE_COLUMNS
};

/* Columns of gt_rocprof.counters: one row per dispatch and counter, summed over the hardware instances. */
enum {
    GT_COUNTER_PROCESS,
    GT_COUNTER_DISPATCH,  /* its GT_DISPATCH_ID */
    GT_COUNTER_KERNEL_ID, /* known even if the dispatch itself was not traced */
    GT_COUNTER_NAME,      /* STRING */
    GT_COUNTER_VALUE,     /* TIME, that is, a double */
    GT_COUNTER_AGENT,     /* as GT_DISPATCH_AGENT; -1 if the format does not say */
    GT_COUNTER_COLUMNS
};

/* Columns of gt_rocprof.samples: one row per sample of a program counter. Only JSON and CSV files have them.
 */
enum {
    GT_SAMPLE_PROCESS,
    GT_SAMPLE_DISPATCH,    /* its GT_DISPATCH_ID */
    GT_SAMPLE_INSTRUCTION, /* STRING; GT_STR_NONE if rocprofv3 does not know the code */
    GT_SAMPLE_COMMENT,     /* STRING: the source line, of programs with debug symbols */
    GT_SAMPLE_ISSUED,      /* whether the wave issued the instruction; -1: unknown (host_trap) */
    GT_SAMPLE_REASON,      /* STRING: why it did not; meaningless if it did */
    GT_SAMPLE_COLUMNS
};

/* Columns of gt_rocprof.stats: sums computed by the profiler, for runs that have nothing else. */
enum {
    GT_STATS_OF,   /* a gt_call_domain, GT_STATS_KERNELS or GT_STATS_COPIES */
    GT_STATS_NAME, /* STRING; of a kernel the short name */
    GT_STATS_COUNT,
    GT_STATS_TOTAL, /* nanoseconds, like the next two */
    GT_STATS_MIN,   /* -1: unknown, as in files of rocprof; the same for the maximum */
    GT_STATS_MAX,
    GT_STATS_STD, /* TIME, that is, a double: nanoseconds; divided by n - 1 */
    GT_STATS_COLUMNS
};
enum { GT_STATS_KERNELS = GT_CALL_DOMAINS, GT_STATS_COPIES, GT_STATS_OTHER };
/* What a file of statistics is about that has a row of this name. */
int64_t gt_stats_subject_of(gt_str name);

/* Columns of gt_rocprof.agents: the number under which dispatches refer to the agent, its process, and then
 * the columns of rocprofv3's agent_info.csv in its order. Names and values that may not fit an int64 are
 * STRING columns (see gt_agent_columns). INT columns that the format does not have are GT_AGENT_ABSENT. */
enum {
    GT_AGENT_ID,      /* the value of GT_DISPATCH_AGENT, GT_COPY_SOURCE and ..._DESTINATION */
    GT_AGENT_PROCESS, /* of a run with several processes */
    GT_AGENT_INFO,    /* the first column of agent_info.csv: Node_Id */
    GT_AGENT_NODE_ID = GT_AGENT_INFO,
    GT_AGENT_LOGICAL_NODE_ID,
    GT_AGENT_TYPE,                             /* STRING: CPU, GPU, ... */
    GT_AGENT_WAVE_SIZE = GT_AGENT_INFO + 11,   /* threads that run in step */
    GT_AGENT_CU_COUNT = GT_AGENT_INFO + 13,    /* compute units */
    GT_AGENT_VERSION = GT_AGENT_INFO + 20,     /* of the architecture: 90402 is 9.4.2 */
    GT_AGENT_LOCATION_ID = GT_AGENT_INFO + 23, /* on the PCI bus, in its domain */
    GT_AGENT_DOMAIN,
    GT_AGENT_CLOCK = GT_AGENT_INFO + 31,  /* Max_Engine_Clk_Fcompute: of the compute units, MHz */
    GT_AGENT_MEMORY = GT_AGENT_INFO + 40, /* Local_Mem_Size */
    GT_AGENT_GPU_ID = GT_AGENT_INFO + 42, /* of the driver; unique on a host */
    GT_AGENT_INFO_COLUMNS = 53,
    GT_AGENT_COLUMNS = GT_AGENT_INFO + GT_AGENT_INFO_COLUMNS,
    GT_AGENT_MODEL_NAME = GT_AGENT_COLUMNS - 1, /* STRING */
    GT_AGENT_PRODUCT_NAME = GT_AGENT_MODEL_NAME - 1,
    GT_AGENT_VENDOR_NAME = GT_AGENT_MODEL_NAME - 2,
    GT_AGENT_NAME = GT_AGENT_MODEL_NAME - 3,
};
#define GT_AGENT_ABSENT INT64_MIN

/* Column names of agent_info.csv, from GT_AGENT_INFO on: gt_agent_info_names[column - GT_AGENT_INFO]. */
extern const char *const gt_agent_info_names[GT_AGENT_INFO_COLUMNS];

/* Types of the columns, and the values of absent cells. Every column of the enums above needs a row. */
extern const gt_store_column gt_dispatch_columns[GT_DISPATCH_COLUMNS];
extern const gt_store_column gt_copy_columns[GT_COPY_COLUMNS];
extern const gt_store_column gt_call_columns[GT_CALL_COLUMNS];
extern const gt_store_column gt_counter_columns[GT_COUNTER_COLUMNS];
extern const gt_store_column gt_sample_columns[GT_SAMPLE_COLUMNS];
extern const gt_store_column gt_stats_columns[GT_STATS_COLUMNS];
extern const gt_store_column gt_agent_columns[GT_AGENT_COLUMNS];
extern const gt_store_column gt_graph_columns[GT_GRAPH_COLUMNS];
extern const gt_store_column gt_message_columns[GT_MESSAGE_COLUMNS];

/* One process of the run: a rank, if the job has one process per GPU. */
typedef struct gt_rocprof_process {
    int64_t pid;
    uint32_t hostname, command; /* string ids; GT_STR_NONE if the format does not say */
    uint32_t place, label; /* string ids: the folder of its files without the counter pass, and the prefix
                              of their names if it is not a process id; GT_STR_NONE of a single file */
    int64_t init_ns, fini_ns;
} gt_rocprof_process;

typedef struct gt_rocprof {
    gt_recorder recorder;
    gt_interner *strings; /* owned; includes kernel names */
    unsigned wanted;      /* GT_WANT_* bits: what was read */
    gt_store *dispatches; /* in file order; never NULL; gt_dispatch_width columns */
    gt_store *copies;     /* never NULL; gt_copy_width columns */
    gt_store *calls;      /* NULL if not wanted, like the next three */
    gt_store *counters;
    gt_store *agents;
    gt_store *samples;
    gt_store *stats;             /* NULL if no such file was read */
    gt_store *graphs, *messages; /* NULL if there are none */
    int64_t init_ns, fini_ns;    /* the profiled window; 0 if unknown */
    int64_t pid;                 /* of the first process */
    uint32_t hostname;           /* string id; "unknown" if the file does not say */
    uint64_t api_calls;          /* HIP and HSA calls recorded */
    bool is_cut_off;             /* a file ends early or is damaged, so records are missing */
    gt_account account;          /* after gt_rocprof_leave_out */
    size_t processes;            /* in the file; see GT_WANT_ALL_PROCESSES */
    gt_rocprof_process *process; /* those read; may be empty without GT_WANT_DISPATCH_DETAILS */
    size_t process_count, process_capacity;
    struct gt_kernel_names *kernel_names;
    const gt_comm_kernels *communication; /* kernels that are communication, whatever their name suggests; not
                                             owned; NULL: none */
    gt_map
        full_to_short;  /* (short name, hash of the full name) of the kernels that ran, if names are short */
    gt_map short_names; /* short name of the kernels that ran */
} gt_rocprof;

/* An empty run of one process on host "unknown", with stores for what is wanted (default: the basic columns).
 */
gt_rocprof *gt_rocprof_new(void);
gt_rocprof *gt_rocprof_new_wanted(unsigned wanted);
/* Number of columns of the stores. */
size_t gt_dispatch_width(unsigned wanted);
size_t gt_copy_width(unsigned wanted);

/* Adds a process; returns its index for the ..._PROCESS columns. */
int64_t gt_rocprof_add_process(gt_rocprof *run, gt_rocprof_process process);

/* For readers that read a file record by record: one writer per store, NULL if the store is not wanted. */
typedef struct gt_rocprof_writers {
    gt_rocprof *run;
    gt_store_writer *dispatches, *copies, *calls, *counters, *agents, *samples;
    gt_store_writer *stats, *graphs, *messages; /* created with the first row */
} gt_rocprof_writers;
gt_rocprof_writers gt_rocprof_write(gt_rocprof *run);
/* Writes one record; columns that are not wanted are ignored. For the other stores use gt_store_writer_add.
 */
void gt_rocprof_write_dispatch(gt_rocprof_writers *writers, uint64_t present, const gt_store_cell *cells);
void gt_rocprof_write_copy(gt_rocprof_writers *writers, uint64_t present, const gt_store_cell *cells);
void gt_rocprof_write_stats(gt_rocprof_writers *writers, uint64_t present, const gt_store_cell *cells);
void gt_rocprof_write_graph(gt_rocprof_writers *writers, uint64_t present, const gt_store_cell *cells);
void gt_rocprof_write_message(gt_rocprof_writers *writers, uint64_t present, const gt_store_cell *cells);
/* Moves everything written so far into the run's stores. */
void gt_rocprof_write_flush(gt_rocprof_writers *writers);
/* The same, and frees the writers. */
void gt_rocprof_write_end(gt_rocprof_writers *writers);

/* Adds another run to one that is being written. Its processes come after those of the run; kernels with the
 * same name and resources become one. Columns that the other run does not have (GT_WANT_...) are absent. */
void gt_rocprof_merge(gt_rocprof_writers *writers, gt_rocprof *other);
/* Adds only the counters of another run, a later counter pass. `processes` and `dispatches` say, for each row
 * of its counters, which dispatch of this run it is about. */
void gt_rocprof_merge_counters(gt_rocprof_writers *writers, gt_rocprof *other, const int64_t *processes,
                               const int64_t *dispatches);

/* The resources that every dispatch of a kernel uses; -1 if unknown. Kernels with the same name but other
 * resources are different kernels. */
typedef struct gt_kernel_use {
    int32_t vgprs, accum_vgprs, sgprs;
    int32_t lds_bytes; /* static; a dispatch may use more */
} gt_kernel_use;
#define GT_KERNEL_USE_UNKNOWN ((gt_kernel_use){-1, -1, -1, -1})

/* Names a kernel. If an id is named twice, the last name wins; GT_STR_NONE removes the name. */
void gt_kernel_names_set(gt_rocprof *run, int64_t kernel_id, uint32_t text);
/* The same, with resources. */
void gt_kernel_names_set_use(gt_rocprof *run, int64_t kernel_id, uint32_t text, gt_kernel_use use);
/* For formats that name the kernel in each record: the id of this name and these resources, a new one if
 * needed. Do not use it together with the two functions above in one run. */
int64_t gt_kernel_names_add(gt_rocprof *run, uint32_t text, gt_kernel_use use);
/* For runs with short names: notes the full name of a kernel that ran, so that the report can say how many
 * kernels share a name. A reader that knows all kernels, whether they ran or not, uses the other two: one
 * sets the hash of the full name, the other notes the kernels of all dispatches (`all_were`: the run has no
 * names of other kernels). */
void gt_kernel_names_note(gt_rocprof *run, uint32_t short_name, uint64_t full_name);
void gt_kernel_names_set_full(gt_rocprof *run, int64_t kernel_id, uint64_t full_name);
void gt_kernel_names_note_dispatched(gt_rocprof *run, bool all_were);
uint64_t gt_kernel_name_hash(gt_str full_name);
void gt_kernel_names_free(struct gt_kernel_names *names);
/* The resources of a kernel; all unknown if none were given. */
gt_kernel_use gt_rocprof_kernel_use(gt_rocprof *run, int64_t kernel_id);
/* The name of a kernel (string id in run->strings), unknown_kernel_<id> if it has none. */
uint32_t gt_rocprof_kernel_name(gt_rocprof *run, int64_t kernel_id);

/* Removes the names of kernels that were never dispatched, nearly all names of a real run. Call it after
 * everything is read and before the first name is asked for: string ids from before are no longer valid. Does
 * nothing if the run has calls, counters or stats, whose strings are in the same interner. */
void gt_rocprof_forget_unused_names(gt_rocprof *run);

/* Takes the records whose times cannot be right from the run, with a warning, and makes its account. */
void gt_rocprof_leave_out(gt_rocprof *run);

/* The kernel name (string id in run->strings) of each dispatch, in file order; the caller frees it. A
 * dispatch whose kernel has no name is named unknown_kernel_<id>, one without a kernel id
 * unknown_kernel_None. */
uint32_t *gt_rocprof_dispatch_names(gt_rocprof *run);

/* The duration (end - start, nanoseconds; may be 0 or negative) of each dispatch, in file order; the caller
 * frees it. Fails if the sum of their absolute values overflows an int64, so that callers can add up any of
 * them. */
int64_t *gt_rocprof_dispatch_durations(const gt_rocprof *run, gt_error *error);
/* The same for any store with two columns of times. `what` names a record in the error message. */
int64_t *gt_rocprof_durations(const gt_store *store, size_t start_column, size_t end_column, const char *what,
                              gt_error *error);

/* The short name of a kernel, as in rocprofv3's JSON, so that names can be compared between formats: `foo`
 * for `void at::foo<int>(float*) [clone .kd]`. Points into `name`. */
gt_str gt_kernel_short_name(gt_str name);
/* The short name, as an id in `strings`, of a name as CSV files and rocpd display it. They remove the `.kd`
 * of names that are not C++; this adds it again. */
uint32_t gt_kernel_name_of_displayed(gt_interner *strings, gt_str name);

/* Rows of a run's stores that one thread works on at a time; the results do not depend on it. */
#define GT_ROCPROF_ROWS GT_GRAIN(16384)

/* ---- images (base/image.h, image.c) ---- */

/* Adds the run. */
void gt_rocprof_save(gt_rocprof *run, gt_image *image);
/* The run of an image, which must outlive it; NULL if the image is damaged. */
gt_rocprof *gt_rocprof_load(const gt_image *image);
/* The part of them that kernel_names.c knows. */
void gt_kernel_names_save(gt_rocprof *run, gt_image *image);
bool gt_kernel_names_load(gt_rocprof *run, const gt_image *image);

/* Accepts NULL. */
void gt_rocprof_free(gt_rocprof *run);
