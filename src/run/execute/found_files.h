/* The files that a profiler wrote, for collect.c and publish.c. */
#pragma once

#include "os/shell_words.h"

typedef struct gt_found_file {
    const char *path, *name;
    const char *kind;        /* the part of the name after the process id: "kernel_trace.csv", "results.db" */
    unsigned pass;           /* of counter collection; 0: none */
    const char *pass_folder; /* "pmc_1"; NULL: none */
    int64_t pid;             /* from the name; 0: not in the name */
    int64_t bytes;
    bool at_top; /* in the top folder of the tree */
} gt_found_file;

typedef struct gt_found_files {
    gt_found_file *items; /* in the arena; ordered by pass, process and path */
    size_t count, capacity;
} gt_found_files;

/* The files in a folder and those below it. Hidden files, links, and lists of counters are skipped. */
gt_found_files gt_found_files_list(gt_arena *arena, const char *folder);

/* Gives a file another name, which may exist: a hard link, or else a symbolic one. */
bool gt_found_file_link(const char *from, const char *to, gt_error *error);

/* Writes the rows of CSV files with the same columns into one file; warns about others. */
bool gt_found_files_merge(const char *const *paths, size_t count, const char *to, gt_error *error);

/* Files that were made from those of the profiler. */
typedef struct gt_made_files {
    gt_arg_list paths;
} gt_made_files;

void gt_made_files_add(gt_made_files *made, gt_arena *arena, const char *path);
/* Notes them in the list of each folder (gt_own_files), so that no report reads them next to the originals,
 * and empties *made. */
bool gt_made_files_list(gt_made_files *made, gt_arena *arena, gt_error *error);
