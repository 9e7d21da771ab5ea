/* Lists of hardware counters that come with gputally, as files that rocprofv3 reads with -i. */
#ifndef GT_RUN_PLAN_COUNTERS_H
#define GT_RUN_PLAN_COUNTERS_H

#include "base/buffer.h"

typedef struct gt_counter_file {
    const char *name;     /* "compute_bound.txt" */
    const char *counters; /* their names with blanks between them */
} gt_counter_file;

/* The list whose file the path names; NULL where there is none. */
const gt_counter_file *gt_counter_file_find(const char *path);
/* Adds the file's text: one "pmc:" line a counter, so one run of the program for each. */
void gt_counter_file_add(const gt_counter_file *file, gt_buffer *text);

/* Passes that rocprofv3 makes of a text file: one a line that holds "pmc:" (also in a comment: *in_comments
 * counts those, which rocprofv3 1.0 runs without counters). */
size_t gt_counter_passes(gt_str text, size_t *in_comments);

/* Adds, with ", " between them, the counters of a text file that no GPU has, and those that only older ones
 * have (gfx90a and before): as of rocprofiler-sdk 1.0. */
void gt_counters_unknown(gt_str text, gt_buffer *nowhere, gt_buffer *only_old);

#endif
