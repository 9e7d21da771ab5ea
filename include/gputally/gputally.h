/* libgputally: performance reports from GPU profiler traces, for programs written in C or C++.
 *
 *     char error[1024];
 *     gputally_options options = gputally_options_default();
 *     gputally_report *report = gputally_report_make("trace.json.gz", &options, error, sizeof error);
 *     if (!report) { fprintf(stderr, "%s\n", error); return 1; }
 *     const gputally_table *timeline = gputally_report_find(report, "gpu_timeline");
 *     ...
 *     gputally_report_write_csvs(report, "sheets", error, sizeof error);
 *     gputally_report_free(report);
 *
 * A function that can fail returns NULL or false and writes one sentence into `error`. Different reports may
 * be used by different threads at the same time; one report by one thread at a time. Until version 1.0 this
 * interface may change between versions. docs/library.md has a whole program. */
#ifndef GPUTALLY_GPUTALLY_H
#define GPUTALLY_GPUTALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GPUTALLY_API __attribute__((visibility("default")))

GPUTALLY_API const char *gputally_version(void); /* "0.1.0" */

/* Warnings, such as that of a truncated trace, go to standard error unless a handler takes them. NULL goes
 * back. */
typedef void gputally_warning_handler(const char *text);
GPUTALLY_API void gputally_on_warning(gputally_warning_handler *handler);

typedef struct gputally_options {
    unsigned threads; /* 0: one a core that the process may use */
    bool strict; /* a damaged or truncated trace is an error, instead of being read as far as it is whole */

    /* rocprofv3 and PyTorch reports */
    bool short_kernel_study; /* sheets short_kernels_summary and short_kernel_histogram */
    int64_t short_kernel_threshold_us;
    int64_t short_kernel_histogram_bins;

    /* rocprofv3 reports */
    bool kernel_summary;  /* sheets kernel_summary and kernel_summary_by_category */
    bool kernel_details;  /* sheet kernel_details */
    int64_t topk_kernels; /* rows of kernel_details; INT64_MAX for all */

    /* PyTorch reports */
    bool pytorch_kernel_summary; /* sheet kernel_summary */
    bool coll_analysis;          /* sheet coll_analysis */
    bool include_unlinked_kernels;
    bool include_overlap_info;
    bool include_call_stack;
    bool detect_recompute;
    const char *gpu_arch_platform;  /* roofline columns for a GPU by its name: "MI300X"; NULL for none */
    const char *gpu_arch_json_path; /* the same for a GPU that a file describes; NULL for none */
} gputally_options;

/* What the command line uses where nothing is said. */
GPUTALLY_API gputally_options gputally_options_default(void);

/* Reads a trace ("-": standard input), finding its format from its bytes, and makes the sheets of its report:
 * rocprofv3 JSON and CSV, PyTorch (Kineto) JSON, JAX (xplane.pb), each also compressed with gzip or zstd, and
 * rocprofv3's databases (rocpd). Options
 * that a format does not know are passed over. `options` may be NULL. */
typedef struct gputally_report gputally_report;
GPUTALLY_API gputally_report *gputally_report_make(const char *trace_path, const gputally_options *options,
                                                   char *error, size_t error_size);
GPUTALLY_API void gputally_report_free(gputally_report *report);

typedef enum gputally_kind { GPUTALLY_ROCPROF, GPUTALLY_PYTORCH, GPUTALLY_JAX } gputally_kind;
GPUTALLY_API gputally_kind gputally_report_kind(const gputally_report *report);

/* The sheets, in the order of the workbook. They belong to the report. */
typedef struct gputally_table gputally_table;
GPUTALLY_API size_t gputally_report_table_count(const gputally_report *report);
GPUTALLY_API const gputally_table *gputally_report_table(const gputally_report *report, size_t index);
GPUTALLY_API const gputally_table *gputally_report_find(const gputally_report *report,
                                                        const char *name); /* or NULL */

GPUTALLY_API const char *gputally_table_name(const gputally_table *table);
GPUTALLY_API size_t gputally_table_row_count(const gputally_table *table);
GPUTALLY_API size_t gputally_table_column_count(const gputally_table *table);

typedef enum gputally_type {
    GPUTALLY_INT,
    GPUTALLY_FLOAT,
    GPUTALLY_TEXT,
    GPUTALLY_BOOL, /* read as INT: 0 or 1 */
    GPUTALLY_LIST, /* gputally_table_print gives it as text */
} gputally_type;
GPUTALLY_API const char *gputally_table_column_name(const gputally_table *table, size_t column);
GPUTALLY_API gputally_type gputally_table_column_type(const gputally_table *table, size_t column);
GPUTALLY_API size_t gputally_table_find_column(const gputally_table *table,
                                               const char *name); /* or SIZE_MAX */

/* Cells; `column` and `row` must be in the table. A cell without a value is null: its number is 0 or NaN, its
 * text "". */
GPUTALLY_API bool gputally_table_is_null(const gputally_table *table, size_t column, size_t row);
GPUTALLY_API int64_t gputally_table_int(const gputally_table *table, size_t column,
                                        size_t row); /* INT, BOOL */
GPUTALLY_API double gputally_table_float(const gputally_table *table, size_t column,
                                         size_t row); /* INT, BOOL, FLOAT */
/* TEXT columns. UTF-8 with a NUL behind it, which lives as long as the report; `len` may be NULL. */
GPUTALLY_API const char *gputally_table_text(const gputally_table *table, size_t column, size_t row,
                                             size_t *len);
/* Any column: the cell as CSV files have it, without their quotes. Returns its length; as much of it as fits
 * into `size` bytes is written to `text`, with a NUL behind it. `text` may be NULL where `size` is 0. */
GPUTALLY_API size_t gputally_table_print(const gputally_table *table, size_t column, size_t row, char *text,
                                         size_t size);

/* Documents. Each is written whole or not at all; missing folders are made, existing files are replaced. */
GPUTALLY_API bool gputally_report_write_csvs(const gputally_report *report, const char *dir, char *error,
                                             size_t error_size);
GPUTALLY_API bool gputally_report_write_xlsx(const gputally_report *report, const char *path, char *error,
                                             size_t error_size);
GPUTALLY_API bool gputally_report_write_sqlite(const gputally_report *report, const char *path, char *error,
                                               size_t error_size);

#ifdef __cplusplus
}
#endif
#endif
