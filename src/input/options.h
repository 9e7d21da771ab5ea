/* How a trace is read: the options that all readers take, and what they do with a truncated file.
 *
 * A truncated file, such as one of a profiler that was killed, is read up to its end. What is complete in it
 * becomes the report, with a warning that says how much was read. With `strict`, or if nothing is complete,
 * it is an error. */
#pragma once

#include "base/base.h"

/* A PyTorch trace's distributedInfo; members that it does not have are GT_EVENT_NONE. */
typedef struct gt_distributed_info {
    int64_t rank;
    int64_t world_size; /* the number of ranks that ran */
} gt_distributed_info;

/* What a PyTorch trace says about its run outside its events. */
typedef struct gt_run_info {
    gt_distributed_info distributed;
    size_t devices; /* in deviceProperties; 0 if it has none */
    bool is_whole;  /* the trace was read to its end, and its file is not damaged */
} gt_run_info;

/* The numbers, strings and truth values that a PyTorch trace in JSON has outside its events, and those in its
 * distributedInfo ("distributedInfo/backend"): the settings of the profiler and versions. What does not fit
 * is dropped, and long values are cut. */
enum { GT_TRACE_MEMBERS_MAX = 48 };
typedef struct gt_trace_members {
    struct gt_trace_member {
        char name[48];
        char value[80]; /* a string without its quotes; UTF-8 */
    } items[GT_TRACE_MEMBERS_MAX];
    size_t count;
} gt_trace_members;
/* The value of a member; NULL if the trace does not have it. */
const char *gt_trace_member_find(const gt_trace_members *members, const char *name);

/* Which names of kernels are read of an Nsight Systems export. */
typedef enum gt_kernel_name_kind {
    GT_KERNEL_NAMES_SHORT,
    GT_KERNEL_NAMES_DEMANGLED,
    GT_KERNEL_NAMES_MANGLED,
    GT_KERNEL_NAME_KINDS
} gt_kernel_name_kind;

typedef struct gt_read_options {
    unsigned threads; /* the maximum number of threads that parse; 0 and 1: one thread */
    bool strict;      /* a truncated file is an error instead of a warning */
    bool is_part;     /* the file is one of many: the caller draws the progress line */
    unsigned wanted;  /* of a rocprofv3 run, what a plain report does not need: GT_WANT_ bits */
    bool long_names;  /* of a rocprofv3 CSV file: keep kernel names as they are, without shortening them */
    bool full_names;  /* of any rocprofv3 format: the full names of kernels, as in its CSV files */
    gt_kernel_name_kind kernel_names;
    gt_run_info *run;          /* filled from a PyTorch trace in JSON; NULL: not wanted */
    gt_trace_members *members; /* likewise */
    struct gt_trace_facts
        *facts; /* added to from a PyTorch trace (trace/pytorch/pytorch.h); NULL: likewise */
    const struct gt_index_policy *index; /* whether to use or keep an index (index/index.h); NULL: neither */
} gt_read_options;

/* Warns that a file is truncated: "t.json: truncated: read 12 events up to byte 4096". `damage` is the
 * stream's reason (gt_stream_damage) or NULL, `count` and `what` say what was read, `offset` is where reading
 * stopped. Fails instead if options->strict is set or nothing was read. */
bool gt_accept_truncated(const char *path, const char *damage, size_t count, const char *what,
                         uint64_t offset, const gt_read_options *options, gt_error *error);
