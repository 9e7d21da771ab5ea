/* Which files of a folder make a rocprofv3 run: rocprofv3 writes `HOST/PID_kernel_trace.csv`,
 * `HOST/PID_results.db` and so on, one prefix a process, and counter passes into folders of their own
 * (`pmc_1`, `pass_2`). */
#ifndef GT_INPUT_ROCPROF_FILES_H
#define GT_INPUT_ROCPROF_FILES_H

#include "base/error.h"
#include "input/detect.h"

typedef struct gt_rocprof_file {
    char *path;
    gt_trace_format format;
} gt_rocprof_file;

/* The files of one process, all of one format: where several formats lie side by side, they hold the same
 * run, and the one that tells most is taken (rocpd, JSON, CSV, Perfetto). */
typedef struct gt_rocprof_group {
    char *prefix;  /* folder and beginning of the names */
    unsigned pass; /* of counter collection, as numbered; 0 where there are none */
    int64_t pid;   /* from the names; 0 where they do not say */
    char *host;    /* the folder's name where the names begin with a process number; NULL else */
    gt_rocprof_file *files;
    size_t count, capacity;
} gt_rocprof_group;

typedef struct gt_rocprof_files {
    gt_rocprof_group *groups; /* in order of passes, then of names */
    size_t count, capacity;
    size_t passed_over; /* files that hold the same in another format */
} gt_rocprof_files;

/* Looks through the folder and those in it, a few levels deep. A file that is there under two names (a link)
 * counts once, where it lies deepest; files without a process in their names are passed over beside those
 * that have one: they were put together from them (gputally run does that). False where it holds no file of
 * rocprofv3. */
bool gt_rocprof_files_find(gt_rocprof_files *files, const char *folder, gt_error *error);
void gt_rocprof_files_free(gt_rocprof_files *files);

/* The number of a counter pass that a folder's name stands for ("pmc_3"); 0 for other names. */
unsigned gt_rocprof_pass_of(const char *folder);

/* Of a file's name: the length of what its process has in common, "908" of "908_kernel_trace.csv". */
size_t gt_rocprof_prefix_length(const char *name);

#endif
