/* libgputally: performance reports from GPU profiler traces, for programs written in C or C++.
 *
 *     char error[GPUTALLY_ERROR_SIZE];
 *     gputally_report *report = gputally_report_make("trace.json.gz", NULL, error, sizeof error);
 *     if (!report) { fprintf(stderr, "%s\n", error); return 1; }
 *     const gputally_sheet *timeline = gputally_report_find_sheet(report, "gpu_timeline");
 *     ...
 *     gputally_report_write_csvs(report, "sheets", error, sizeof error);
 *     gputally_report_free(report);
 *
 * Errors. A function that can fail returns NULL or false and writes one message, without a full stop, to
 * `error`: at most `error_size` bytes with its NUL. `error` may be NULL. On success it is unchanged. Running
 * out of memory is such an error, too; after any error the library can still be used.
 *
 * Threads. Different reports and options may be used by different threads at the same time. One report or one
 * set of options is used by one thread at a time, except that any number of threads may read the sheets of
 * one report. A call that makes a report may start threads of its own; all have ended when it returns.
 *
 * The process. The library prints nothing, never ends the process, and changes nothing that belongs to the
 * whole process: signal handlers, environment, locale, current folder, limits. (An extension, which is a
 * program that the caller names, inherits standard error.)
 *
 * Until version 1.0 this interface may change between versions. Types are opaque and options are set by name,
 * so new ones do not break callers; enumerations may get new values. docs/library.md has a complete program.
 */
#ifndef GPUTALLY_GPUTALLY_H
#define GPUTALLY_GPUTALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#define GPUTALLY_API __attribute__((visibility("default")))
#else
#define GPUTALLY_API
#endif

#define GPUTALLY_ERROR_SIZE 1024 /* enough for every error but one about a very long path, which is cut */

GPUTALLY_API const char *gputally_version(void); /* "0.1.0" */

/* ---- options ---- */

/* Options of reports. One that has no effect on the kind of a trace gives a warning. */
typedef struct gputally_options gputally_options;

/* The defaults of `gputally report`. NULL if there is no memory. */
GPUTALLY_API gputally_options *gputally_options_new(void);
GPUTALLY_API void gputally_options_free(gputally_options *options); /* NULL does nothing */

/* Sets an option by its name on the command line: "short_kernel_study", "topk_kernels", "gpu_arch_platform",
 * ...
 * (`gputally help report` lists them). Values: "true" or "false" for an option without an argument, else its
 * argument; an option that takes several arguments is set once for each. Name and value are copied. False if
 * reports have no such option or the value is invalid or NULL. */
GPUTALLY_API bool gputally_options_set(gputally_options *options, const char *name, const char *value,
                                       char *error, size_t error_size);

/* Passes warnings, such as that of a truncated trace, to `handler`, with `context`, while reports are made
 * and written with these options. It is called by one thread at a time, but not always by the one that made
 * the call. `text` is valid during the call. Without a handler, or with NULL, warnings are discarded. */
typedef void gputally_warning_handler(void *context, const char *text);
GPUTALLY_API void gputally_options_on_warning(gputally_options *options, gputally_warning_handler *handler,
                                              void *context);

/* ---- reports ---- */

typedef struct gputally_report gputally_report;

/* Reads a trace, detects its format from its contents and makes the sheets of its report. A trace is
 *
 * - a rocprofv3 output: JSON, CSV, rocpd database, Perfetto trace (.pftrace), or the folder that it wrote;
 * - a PyTorch (Kineto) trace: JSON or Perfetto trace;
 * - a JAX profile: xplane.pb, or a folder that jax.profiler wrote, if its newest run has one profile;
 * - an SQLite export of Nsight Systems, or a folder with one;
 * - what `ncu --csv` of Nsight Compute printed.
 *
 * The sheets are those of `gputally report`. A folder of PyTorch traces, on whose ranks that command makes a
 * report, is not accepted: make the report of each trace.
 *
 * Files may be compressed with gzip or zstd, except databases; "-" is standard input. `options` may be NULL
 * for the defaults; they are not needed after the call. */
GPUTALLY_API gputally_report *gputally_report_make(const char *trace_path, const gputally_options *options,
                                                   char *error, size_t error_size);
GPUTALLY_API void gputally_report_free(gputally_report *report); /* NULL does nothing */

typedef enum gputally_kind {
    GPUTALLY_NONE = -1, /* of a NULL report */
    GPUTALLY_ROCPROF,
    GPUTALLY_PYTORCH,
    GPUTALLY_JAX,
    GPUTALLY_NSYS,
    GPUTALLY_NCU
} gputally_kind;
GPUTALLY_API gputally_kind gputally_report_kind(const gputally_report *report);

/* Each of these writes all sheets, or nothing: missing folders are created, existing files are replaced only
 * when everything is written. Warnings go to the handler of the options that the report was made with. */
GPUTALLY_API bool gputally_report_write_csvs(const gputally_report *report, const char *folder, char *error,
                                             size_t error_size);
GPUTALLY_API bool gputally_report_write_xlsx(const gputally_report *report, const char *path, char *error,
                                             size_t error_size);
GPUTALLY_API bool gputally_report_write_sqlite(const gputally_report *report, const char *path, char *error,
                                               size_t error_size);
/* The page for a browser. It has the timeline, the flame graph and the steps only if the report was made with
 * the option "page" set to "true"; then it is the page of `gputally report`. There is none on metrics of
 * Nsight Compute. */
GPUTALLY_API bool gputally_report_write_html(const gputally_report *report, const char *path, char *error,
                                             size_t error_size);

/* ---- sheets ---- */

/* The sheets, in the order of the workbook. They belong to the report. A NULL report has none; a NULL sheet,
 * such as one that was not found, has no rows and no columns. Every index may be given: a column that does
 * not exist, such as SIZE_MAX for a misspelt name, is a STRING column named "", and all of its cells are
 * null. */
typedef struct gputally_sheet gputally_sheet;
GPUTALLY_API size_t gputally_report_sheet_count(const gputally_report *report);
GPUTALLY_API const gputally_sheet *gputally_report_sheet(const gputally_report *report,
                                                         size_t index); /* NULL past the last */
GPUTALLY_API const gputally_sheet *gputally_report_find_sheet(const gputally_report *report,
                                                              const char *name); /* or NULL */

GPUTALLY_API const char *gputally_sheet_name(const gputally_sheet *sheet);
GPUTALLY_API size_t gputally_sheet_row_count(const gputally_sheet *sheet);
GPUTALLY_API size_t gputally_sheet_column_count(const gputally_sheet *sheet);

typedef enum gputally_type {
    GPUTALLY_INT,
    GPUTALLY_FLOAT,
    GPUTALLY_STRING,
    GPUTALLY_BOOL, /* read as an integer: 0 or 1 */
    GPUTALLY_LIST  /* read with gputally_sheet_format */
} gputally_type;
GPUTALLY_API const char *gputally_sheet_column_name(const gputally_sheet *sheet, size_t column);
GPUTALLY_API gputally_type gputally_sheet_column_type(const gputally_sheet *sheet, size_t column);
GPUTALLY_API size_t gputally_sheet_find_column(const gputally_sheet *sheet,
                                               const char *name); /* or SIZE_MAX */

/* Cells. A null cell, or one that does not exist, has no value: it reads as 0, NaN or "". A column whose
 * values have several types is a STRING column; its numbers can be read as numbers too. */
GPUTALLY_API bool gputally_sheet_is_null(const gputally_sheet *sheet, size_t column, size_t row);
GPUTALLY_API int64_t gputally_sheet_int(const gputally_sheet *sheet, size_t column,
                                        size_t row); /* INT, BOOL; else 0 */
GPUTALLY_API double gputally_sheet_float(const gputally_sheet *sheet, size_t column,
                                         size_t row); /* INT, BOOL, FLOAT; else NaN */
/* STRING columns, else "": UTF-8, NUL-terminated. It belongs to the report. `length` may be NULL. */
GPUTALLY_API const char *gputally_sheet_string(const gputally_sheet *sheet, size_t column, size_t row,
                                               size_t *length);
/* Any column: formats the cell as in CSV files, without quotes. Returns its length without the NUL, as
 * snprintf does: at most `size` bytes with the NUL are written to `text`, which may be NULL if `size` is 0.
 * SIZE_MAX if there is no memory. */
GPUTALLY_API size_t gputally_sheet_format(const gputally_sheet *sheet, size_t column, size_t row, char *text,
                                          size_t size);

#ifdef __cplusplus
}
#endif
#endif
