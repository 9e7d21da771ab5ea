/* libgputally: performance reports from GPU profiler traces, for programs written in C or C++.
 *
 *     char error[1024];
 *     gputally_options options = gputally_options_default();
 *     gputally_report *report = gputally_report_make("908_results.json", &options, error, sizeof error);
 *     if (!report) { fprintf(stderr, "%s\n", error); return 1; }
 *     const gputally_table *kernels = gputally_report_find(report, "kernel_summary");
 *     ...
 *     gputally_report_write_csvs(report, "sheets", error, sizeof error);
 *     gputally_report_free(report);
 *
 * A function that can fail returns NULL or false and writes one sentence into `error`. Different reports may
 * be used by different threads at the same time; one report by one thread at a time. Until version 1.0 this
 * interface may change between versions. */
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

    bool kernel_summary;     /* sheets kernel_summary and kernel_summary_by_category */
    bool kernel_details;     /* sheet kernel_details */
    int64_t topk_kernels;    /* rows of kernel_details; INT64_MAX for all */
    bool short_kernel_study; /* sheets short_kernels_summary and short_kernel_histogram */
    int64_t short_kernel_threshold_us;
    int64_t short_kernel_histogram_bins;
} gputally_options;

/* What the command line uses where nothing is said. */
GPUTALLY_API gputally_options gputally_options_default(void);

/* Reads a trace, finding its format from its bytes, and makes the sheets of its report. `options` may be
 * NULL. Version 0.1 makes reports of rocprofv3 JSON traces, also compressed with gzip or zstd. */
typedef struct gputally_report gputally_report;
GPUTALLY_API gputally_report *gputally_report_make(const char *trace_path, const gputally_options *options,
                                                   char *error, size_t error_size);
GPUTALLY_API void gputally_report_free(gputally_report *report);

/* The sheets, in the order of the workbook. They belong to the report. */
typedef struct gputally_table gputally_table;
GPUTALLY_API size_t gputally_report_table_count(const gputally_report *report);
GPUTALLY_API const gputally_table *gputally_report_table(const gputally_report *report, size_t index);
GPUTALLY_API const gputally_table *gputally_report_find(const gputally_report *report,
                                                        const char *name); /* or NULL */

GPUTALLY_API const char *gputally_table_name(const gputally_table *table);
GPUTALLY_API size_t gputally_table_row_count(const gputally_table *table);
GPUTALLY_API size_t gputally_table_column_count(const gputally_table *table);

typedef enum gputally_type { GPUTALLY_INT, GPUTALLY_FLOAT, GPUTALLY_TEXT } gputally_type;
GPUTALLY_API const char *gputally_table_column_name(const gputally_table *table, size_t column);
GPUTALLY_API gputally_type gputally_table_column_type(const gputally_table *table, size_t column);
GPUTALLY_API size_t gputally_table_find_column(const gputally_table *table,
                                               const char *name); /* or SIZE_MAX */

/* Cells. A cell without a value is null: its number is 0 or NaN, its text "". */
GPUTALLY_API bool gputally_table_is_null(const gputally_table *table, size_t column, size_t row);
GPUTALLY_API int64_t gputally_table_int(const gputally_table *table, size_t column,
                                        size_t row); /* INT columns */
GPUTALLY_API double gputally_table_float(const gputally_table *table, size_t column,
                                         size_t row); /* INT, FLOAT */
/* TEXT columns. UTF-8 with a NUL behind it; `len` may be NULL. */
GPUTALLY_API const char *gputally_table_text(const gputally_table *table, size_t column, size_t row,
                                             size_t *len);

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
