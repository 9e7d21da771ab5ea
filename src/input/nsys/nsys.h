/* Exports of Nsight Systems: the SQLite files of `nsys export --type sqlite`.
 *
 * An export is read into the structure of rocprofv3 runs (trace/rocprof/rocprof.h), so that its reports have
 * the same sheets. reader.h lists the files. The file is not trusted (input/sqlite.h): only plain tables are
 * read, columns are found by name, and cells are checked for their types. Tables and columns that a version
 * of nsys does not write are as good as empty. */
#pragma once

#include "input/options.h"
#include "stream/stream.h"
#include "trace/rocprof/rocprof.h"

/* What a database holds, by the names of its tables. */
typedef enum gt_database_kind {
    GT_DATABASE_ROCPD, /* of rocprofv3; also one that cannot be opened */
    GT_DATABASE_OTHER, /* has tables of none of these */
    GT_DATABASE_NSYS,
    GT_DATABASE_NVPROF, /* of nvprof and the NVIDIA Visual Profiler */
} gt_database_kind;
gt_database_kind gt_database_kind_of(const char *path);
/* Says that nvprof's are not read; returns false. */
bool gt_fail_nvprof(const char *path, gt_error *error);

/* Reads an export. `stream` is that of the file, which must be an SQLite database that can be read in any
 * order, or NULL if there is only an index of it. On failure the result is NULL with an error that names the
 * file. `options->wanted` has GT_WANT_ bits. */
gt_rocprof *gt_nsys_read(gt_stream *stream, const char *path, const gt_read_options *options,
                         gt_error *error);

/* ---- reports of Nsight Systems (*.nsys-rep), which only nsys can read ---- */

/* Whether a file begins like one. */
bool gt_nsys_is_report(gt_str first_bytes);
/* Says how to export the report, or that its export is next to it; returns false. */
bool gt_nsys_fail_report(const char *path, gt_str first_bytes, gt_error *error);

/* ---- folders ---- */

typedef struct gt_nsys_files {
    char **paths; /* of the exports, sorted */
    size_t count, capacity;
    char *report; /* a report without an export next to it; NULL: there is none */
} gt_nsys_files;

/* Searches a folder and its sub-folders, a few levels deep, for *.sqlite files that are exports. */
void gt_nsys_files_find(gt_nsys_files *files, const char *folder);
void gt_nsys_files_free(gt_nsys_files *files);
/* Says what to do with the reports of a folder that has no exports. False, with no error, if it has none of
 * them either. */
bool gt_nsys_fail_folder(const char *folder, gt_error *error);
/* Whether a folder has any export. */
bool gt_nsys_is_folder(const char *folder);
