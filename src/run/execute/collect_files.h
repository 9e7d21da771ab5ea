/* The files of a profiler's tree, and links and merged copies of them. */
#ifndef GT_RUN_EXECUTE_COLLECT_FILES_H
#define GT_RUN_EXECUTE_COLLECT_FILES_H

#include "base/error.h"
#include "base/memory.h"

#include <stddef.h>
#include <stdint.h>

typedef struct gt_found_file {
    const char *path, *name;
    const char *kind; /* what stands behind the process in the name: "kernel_trace.csv", "results.db" */
    unsigned pass;    /* of counter collection; 0: none */
    const char *pass_folder; /* "pmc_1"; NULL: none */
    int64_t pid;             /* from the name; 0 where it does not say */
    int64_t bytes;
    bool at_top; /* lies in the tree's own folder */
} gt_found_file;

typedef struct gt_found_files {
    gt_found_file *items; /* in the arena; by pass, then process, then path */
    size_t count, capacity;
} gt_found_files;

gt_found_files gt_found_files_list(gt_arena *arena, const char *folder);

/* Makes `to` another name of `from`, replacing what is there: a hard link, else a symbolic one. */
bool gt_link_file(const char *from, const char *to, gt_error *error);

/* Writes the rows of several CSV files under the header of the first; a file with another header is left out,
 * with a warning. */
bool gt_csv_merge(const char *const *paths, size_t count, const char *to, gt_error *error);

#endif
