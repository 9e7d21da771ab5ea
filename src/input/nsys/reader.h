/* Private to the reader of Nsight Systems exports. An export is read in this order:
 *
 *     tables.c   opens it and lists its tables
 *     info.c     version, messages of nsys, GPUs, names of processes, length of the capture
 *     gpu.c      kernels, copies, memory that was set, launches of graphs
 *     calls.c    calls of CUDA and of the operating system; they say which thread launched a kernel
 *     ranges.c   NVTX ranges and their domains; payload.c: the sizes of messages of NCCL
 *     reader.c   puts it together: processes in order, the profiled time, what is missing
 *
 * Names are ids of the table StringIds, which may be larger than everything else: strings.c looks up those
 * that are met. Large tables are read once, from front to back. */
#pragma once

#include "input/nsys/tables.h"

/* ---- strings.c ---- */

enum { GT_NSYS_CACHED = 1 << 14 };

typedef struct gt_nsys_cached {
    int64_t id;
    uint32_t text;
    bool used;
} gt_nsys_cached;

/* Strings of the export by their ids. */
typedef struct gt_nsys_strings {
    const gt_nsys_tables *tables;
    gt_interner *interner; /* of the run */
    sqlite3_stmt *lookup;  /* NULL: `met` has all that are needed */
    gt_nsys_cached *cache;
    gt_map met;
    gt_buffer repaired;
    gt_error *error;
    bool failed;
} gt_nsys_strings;

bool gt_nsys_strings_begin(gt_nsys_strings *strings, const gt_nsys_tables *tables, gt_interner *interner,
                           gt_error *error);
void gt_nsys_strings_end(gt_nsys_strings *strings);
/* The string of the run; GT_STR_NONE if the export does not have it. */
uint32_t gt_nsys_string(gt_nsys_strings *strings, int64_t id);
/* A text of the export as a string of the run: valid UTF-8. */
uint32_t gt_nsys_intern(gt_nsys_strings *strings, gt_str text);

/* ---- what is being read ---- */

/* The call that launched a GPU event: of several with its correlation id the one that starts first, and of
 * these the first in the table. */
typedef struct gt_nsys_launch {
    int64_t start;
    uint32_t thread;
    bool is_found;
    bool is_written; /* the call was written to the run, in the second attempt */
} gt_nsys_launch;

typedef struct gt_nsys_process {
    uint64_t key; /* globalPid without the thread */
    bool has_kernels;
} gt_nsys_process;

/* How an NCCL payload is read: places and types of two of its fields; type 0: it has no such field. */
typedef struct gt_nsys_schema {
    int64_t communicator_at, communicator_type, bytes_at, bytes_type;
} gt_nsys_schema;

typedef struct gt_nsys_reading {
    gt_nsys_tables tables;
    gt_nsys_strings strings;
    gt_rocprof_writers *writers;
    gt_rocprof *run;
    const gt_read_options *options;
    gt_error *error;

    gt_map process_numbers; /* (key, 0) to index of processes */
    gt_nsys_process *processes;
    size_t process_count, process_capacity;

    gt_map gpu_numbers; /* (pid, CUDA device) to index of gpus */
    int64_t *gpus;
    size_t gpu_count, gpu_capacity;

    gt_map launch_numbers; /* (process, correlation id) to index of launches */
    gt_nsys_launch *launches;
    size_t launch_count, launch_capacity;

    gt_map kernels;     /* (id, 0): kernels whose names are set */
    gt_map kernel_full; /* (id, id of the demangled name): noted */

    gt_map domains; /* (process, domain) to index of domain_names */
    struct gt_nsys_domain {
        int64_t start;
        uint32_t name;
    } * domain_names;
    size_t domain_count, domain_capacity;

    gt_map schema_numbers; /* (domain, schema) to index of schemas */
    gt_nsys_schema *schemas;
    size_t schema_count, schema_capacity;

    gt_buffer name; /* being made */

    int64_t duration;          /* of the capture; 0: unknown */
    int64_t first_ns, last_ns; /* of all GPU events */
    size_t kernel_count, graph_count, copy_count, call_count, range_count, open_ranges, unnamed;
} gt_nsys_reading;

/* The number of a process, by a globalPid or globalTid; processes are put in order at the end. */
int64_t gt_nsys_process_of(gt_nsys_reading *r, int64_t global);
int64_t gt_nsys_pid(uint64_t key); /* of a gt_nsys_process */
int64_t gt_nsys_thread(int64_t global_tid);

/* Values that are replaced when all calls are read: this plus the index of a launch. Threads are smaller. */
#define GT_NSYS_THREAD_OF_LAUNCH (INT64_C(1) << 40)
/* For a GPU event: the value for its thread. */
int64_t gt_nsys_add_launch(gt_nsys_reading *r, int64_t process, int64_t correlation);
/* The launch with this id; NULL if no GPU event has it. Valid until the next one is added. */
gt_nsys_launch *gt_nsys_find_launch(gt_nsys_reading *r, int64_t process, int64_t correlation);

static inline void gt_nsys_put(uint64_t *present, gt_store_cell *cells, int slot, int64_t value)
{
    cells[slot].integer = value;
    *present |= UINT64_C(1) << slot;
}

/* ---- NVTX ---- */

/* Of the column eventType. */
enum {
    GT_NVTX_MARK = 34,
    GT_NVTX_PUSH_POP = 59,
    GT_NVTX_START_END = 60,
    GT_NVTX_PUSH_POP_TEXT = 70, /* from files of NVTXT */
    GT_NVTX_START_END_TEXT = 71,
    GT_NVTX_DOMAIN_CREATE = 75,
};
bool gt_nvtx_is_range(int64_t type);

/* ---- parts; false with r->error ---- */

bool gt_nsys_read_info(gt_nsys_reading *r);
bool gt_nsys_name_processes(gt_nsys_reading *r); /* of the run, whose processes must be in order */
bool gt_nsys_read_gpu(gt_nsys_reading *r);
bool gt_nsys_read_calls(gt_nsys_reading *r);
bool gt_nsys_read_ranges(gt_nsys_reading *r);
bool gt_nsys_read_schemas(gt_nsys_reading *r);

/* The size of an NCCL message and its communicator (empty: unknown), from the payload of a range. False if it
 * has none. */
typedef struct gt_nsys_payload {
    int64_t bytes;
    char communicator[24];
} gt_nsys_payload;
bool gt_nsys_read_payload(gt_nsys_reading *r, gt_str data, bool is_text, gt_nsys_payload *payload);
