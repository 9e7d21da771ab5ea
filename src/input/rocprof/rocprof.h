/* The output of rocprofv3 as one run: a file of any of its formats (JSON, CSV, rocpd database, Perfetto), or
 * a folder.
 *
 * rocprof.c chooses the reader per file, files.c finds the files of a folder, passes.c joins
 * counter passes, readers.h declares the reader per format. On failure the result is NULL with an error that
 * names the file.
 */
#pragma once

#include "input/detect.h"
#include "input/options.h"
#include "trace/rocprof/rocprof.h"

/* Whether there is a reader for the format. */
bool gt_rocprof_reads(gt_trace_format format);

/* Reads one file, from a stream at its beginning. */
gt_rocprof *gt_rocprof_read(gt_stream *stream, const char *path, const gt_read_options *options,
                            gt_error *error);
/* Reads a folder; every process in it becomes a process of the run, also each of a JSON file with several. A
 * file with a name of rocprofv3 that cannot be recognised is a warning, and an error with `strict`; so is a
 * damaged file, unless there is only one process and pass, or no kernel without it. If there
 * are counter passes, dispatches come from the first pass, and each pass adds its counters (passes.c). */
gt_rocprof *gt_rocprof_read_folder(const char *folder, const gt_read_options *options, gt_error *error);
/* Whether a folder contains any rocprofv3 file. */
bool gt_rocprof_is_folder(const char *folder);

/* ---- the files of a run ----
 *
 * rocprofv3 writes HOST/PID_kernel_trace.csv, HOST/PID_results.db and so on, with one prefix per process, and
 * counter passes into folders of their own (pmc_1, pass_2). */

typedef struct gt_rocprof_file {
    char *path;
    gt_trace_format format;
} gt_rocprof_file;

/* The files of one process, all of one format. If a folder has several formats side by side, they hold the
 * same run, and the most detailed one is used: rocpd, then JSON, CSV, Perfetto. */
typedef struct gt_rocprof_file_group {
    char *prefix;  /* folder and common prefix of the file names */
    unsigned pass; /* number of the counter pass; 0: none */
    int64_t pid;   /* from the file names; 0: unknown */
    char *host;  /* the folder's name if the file names start with a process id and it is not that of a pass;
                    else NULL */
    char *place; /* the folder, without that of the pass: the same in all passes */
    gt_rocprof_file *files;
    size_t count, capacity;
} gt_rocprof_file_group;

typedef struct gt_rocprof_files {
    gt_rocprof_file_group *groups; /* sorted by pass, then by name */
    size_t count, capacity;
    bool is_newest;      /* the folder has several runs, and only the newest was searched */
    char **unrecognised; /* a message for each file that has a name of rocprofv3 but not its contents */
    size_t unrecognised_count, unrecognised_capacity;
} gt_rocprof_files;

/* Searches the folder and its sub-folders, a few levels deep. Of a folder into which `gputally run` put
 * several runs, only that of its link `latest`. A file with two names (a link) counts once, in the deepest
 * folder. Files that `gputally run` made from others are skipped, unless the others are gone; where their
 * list is missing, files without a process id in their names count as such if others have one. False if there
 * is no rocprofv3 file; gt_rocprof_files_free is needed in either case. */
bool gt_rocprof_files_find(gt_rocprof_files *files, const char *folder, gt_error *error);
/* The same; processes with files of the preferred format keep those. */
bool gt_rocprof_files_find_as(gt_rocprof_files *files, const char *folder, gt_trace_format preferred,
                              gt_error *error);
void gt_rocprof_files_free(gt_rocprof_files *files);

/* ---- files that `gputally run` made from others (files.c) ---- */

#define GT_OWN_FILES_NAME ".gputally_files"

typedef struct gt_own_files { /* {0} is the empty list */
    gt_interner *names;
    int64_t *bytes; /* by string id; -1: not in the list */
    size_t capacity;
} gt_own_files;

/* Reads the list of a folder; false and an empty list if there is none. */
bool gt_own_files_read(gt_own_files *list, const char *folder);
/* Whether a file of this name and size is in the list. */
bool gt_own_files_has(const gt_own_files *list, const char *name, int64_t bytes);
/* Adds a file, or changes its size; -1 removes it. */
void gt_own_files_set(gt_own_files *list, const char *name, int64_t bytes);
void gt_own_files_print(const gt_own_files *list, gt_buffer *text); /* as gt_own_files_read reads it */
void gt_own_files_free(gt_own_files *list);

/* The number of the counter pass in a folder's name (3 for "pmc_3"); 0 for other names. */
unsigned gt_rocprof_pass_of(const char *folder);

/* The length of the prefix that the files of one process share: of "908" in "908_kernel_trace.csv". */
size_t gt_rocprof_prefix_length(const char *name);
