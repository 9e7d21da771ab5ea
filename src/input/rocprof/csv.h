/* rocprofv3's CSV files (`*_kernel_trace.csv`, `*_hip_api_trace.csv`, ...): one file a kind of record.
 *
 * Columns are found by their names in any case and order, so the headers of all rocprofv3 versions, of `rocpd
 * convert` and of the old rocprof's results.csv are understood. What the writer does not escape is read as it
 * was meant: a quote ends a field only before a comma or the end of the line. */
#ifndef GT_INPUT_ROCPROF_CSV_H
#define GT_INPUT_ROCPROF_CSV_H

#include "input/options.h"
#include "stream/stream.h"
#include "trace/rocprof/rocprof.h"

typedef enum gt_csv_kind {
    GT_CSV_UNKNOWN,
    GT_CSV_KERNELS,
    GT_CSV_COUNTERS,
    GT_CSV_CALLS,
    GT_CSV_COPIES,
    GT_CSV_AGENTS,
    GT_CSV_OLD_RESULTS, /* results.csv of rocprof, before rocprofv3: kernels, and a column a counter */
    GT_CSV_STATS,       /* figures that rocprofv3 made from the others */
    GT_CSV_OTHER,       /* allocations, scratch memory, samples: not read */
    GT_CSV_KINDS
} gt_csv_kind;

/* Which of the files it is, by its first line. Behind the text 64 bytes can be read, as behind a stream's
 * block. */
gt_csv_kind gt_rocprof_csv_kind(gt_str first_block);
/* "a kernel trace": to be put into a sentence. */
const char *gt_rocprof_csv_kind_name(gt_csv_kind kind);

/* Reads one file of a process into the run. Where `kernels_from_counters` is set, the dispatches that
 * counters were collected of become the run's dispatches too: for runs without a kernel trace. Counters are
 * read only where they are wanted, or for that. A file that ends early gives what is whole, with a warning.
 */
typedef struct gt_csv_source {
    int64_t process; /* index in the run */
    bool kernels_from_counters;
} gt_csv_source;
bool gt_rocprof_csv_read(gt_rocprof_writers *writers, gt_stream *stream, const gt_csv_source *source,
                         const gt_read_options *options, gt_error *error);

#endif
