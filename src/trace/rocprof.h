/* A run as rocprofv3 recorded it: kernel dispatches, memory copies, and what is known of the process. Every
 * rocprofv3 format is read into this, so that the sheets do not depend on the format. */
#ifndef GT_TRACE_ROCPROF_H
#define GT_TRACE_ROCPROF_H

#include "base/error.h"
#include "trace/store.h"

/* Columns of gt_rocprof.dispatches; all INT. Times are nanoseconds. */
enum {
    GT_DISPATCH_KERNEL_ID, /* GT_NO_KERNEL_ID where the record has none */
    GT_DISPATCH_START,
    GT_DISPATCH_END,
    GT_DISPATCH_STREAM,
    GT_DISPATCH_ID,
    GT_DISPATCH_GRID_X,
    GT_DISPATCH_GRID_Y,
    GT_DISPATCH_GRID_Z,
    GT_DISPATCH_BLOCK_X,
    GT_DISPATCH_BLOCK_Y,
    GT_DISPATCH_BLOCK_Z,
    GT_DISPATCH_AGENT,
    GT_DISPATCH_THREAD,
    GT_DISPATCH_COLUMNS
};
#define GT_NO_KERNEL_ID INT64_MIN

/* Columns of gt_rocprof.copies; INT, nanoseconds. */
enum { GT_COPY_START, GT_COPY_END, GT_COPY_COLUMNS };

/* What the columns hold where a record does not say: 0, but a grid and block of 1 x 1 x 1 and no kernel id.
 */
extern const gt_store_column gt_dispatch_columns[GT_DISPATCH_COLUMNS];
extern const gt_store_column gt_copy_columns[GT_COPY_COLUMNS];

typedef struct gt_rocprof {
    gt_strings *strings;  /* owned; kernel names are here */
    gt_store *dispatches; /* in file order; never NULL */
    gt_store *copies;
    int64_t init_ns, fini_ns; /* the profiled window; 0 where unknown */
    int64_t pid;
    uint32_t hostname;  /* text id; "unknown" where the file does not say */
    uint64_t api_calls; /* HIP and HSA calls recorded */
    size_t processes;   /* in the file; only the first is read */
    struct gt_kernel_names *kernel_names;
} gt_rocprof;

/* An empty run of one process on host "unknown". */
gt_rocprof *gt_rocprof_new(void);

/* Names a kernel. The last name given to an id wins; GT_TEXT_NONE takes a name back (a symbol without one).
 * The map is made with the first name: a new run has kernel_names NULL. */
void gt_kernel_names_set(gt_rocprof *run, int64_t kernel_id, uint32_t text);

/* Forgets the names of kernels that were never dispatched, nearly all of a real run's: once all is read, and before
 * any name is asked for. Text ids given out before are gone. */
void gt_rocprof_forget_unused_names(gt_rocprof *run);

/* One kernel name (text id in run->strings) a dispatch, in file order; the caller frees it. A dispatch whose
 * kernel has no name is named unknown_kernel_<id>, and unknown_kernel_None where it has no kernel id either.
 */
uint32_t *gt_rocprof_dispatch_names(gt_rocprof *run);

/* One duration (end - start, nanoseconds; 0 and negative ones occur) a dispatch, in file order; the caller
 * frees it. NULL where the times are so far apart that the durations, taken without sign, do not add up
 * within an int64: so callers may add up any of them. */
int64_t *gt_rocprof_dispatch_durations(const gt_rocprof *run, gt_error *error);

/* Frees the run itself too. NULL is allowed. */
void gt_rocprof_free(gt_rocprof *run);

#endif
