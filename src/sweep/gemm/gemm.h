/* GEMMs whose kernel times vary: `sweep top` finds them in the reports of a sweep and writes their rows as
 * CSV; the other steps of this folder read these rows. */
#pragma once

#include "output/output.h"
#include "sweep/layout.h"

/* ---- `sweep top` (top.c) ----
 *
 * A row of the sheet GEMM is one op with its parameters; its times are over all instances. Columns of the
 * result: threads, channel (in sweeps with other axes: all axes, and the repeat), rank, kernel_name (the
 * first kernel of the op), kernel_time_min_us, kernel_time_max_us, time_diff_us, and col_<name> for each
 * column of the sheets, in byte order. All are strings, printed as Python prints the cells of the sheet.
 *
 * The first kernel of an op may be a memset. If the kernel of an op that takes most of its time is another
 * one anywhere in the result, the last column longest_kernel_name has it. If runs are included that did not
 * end well, the column status after time_diff_us marks them. */

typedef struct gt_number_list {
    int64_t *items;
    size_t count, capacity;
} gt_number_list;

typedef struct gt_top_gemms_options {
    gt_number_list threads, channels, ranks; /* the reports to read; empty: all that exist */
    int64_t top;                             /* rows to keep per report; negative: all except the last -top */
    const char *root;    /* folder of the sweep, with sweep.json; NULL: that above `analysis` */
    bool include_failed; /* see gt_sweep_leave_out_failed */
} gt_top_gemms_options;

typedef struct gt_top_gemms {
    gt_table *table;       /* largest difference first */
    double *difference;    /* per row of the table, in us */
    double mean;           /* of the differences */
    size_t unique_kernels; /* different kernel names */
    size_t files;          /* reports that were read */
    size_t rank_column;    /* the columns before it are axes */
} gt_top_gemms;

/* Reads the reports under the folder `analysis`, whose lists of the options it completes. Warns about reports
 * that are missing or unreadable and skips them. */
gt_top_gemms gt_top_gemms_find(const char *analysis, gt_top_gemms_options *options, gt_interner *strings);
void gt_top_gemms_free(gt_top_gemms *found);

/* ---- `sweep yaml` (job_file.c) ----
 *
 * The column kernel_name of a table as one regular expression for rocprofv3, the job file with it, and a list
 * for people. */

typedef struct gt_kernel_pattern {
    uint32_t name;     /* the pattern: a string id */
    uint32_t original; /* the complete kernel name if it is longer, else GT_STR_NONE */
} gt_kernel_pattern;

typedef struct gt_kernel_patterns {
    gt_kernel_pattern *items; /* in byte order of the names */
    size_t count, shortened;
    gt_interner *strings; /* borrowed */
    gt_buffer regex;
} gt_kernel_patterns;

/* With `exact`, the regular expression matches complete names; else it matches the names without templates,
 * arguments and namespaces anywhere in a kernel name. `names` is a column of strings. */
void gt_kernel_patterns_make(gt_kernel_patterns *patterns, const gt_column *names, size_t count,
                             gt_interner *strings, bool exact);
void gt_kernel_patterns_free(gt_kernel_patterns *patterns);

/* rocprofv3's job file (YAML) and the list of names; both name the source file of the kernels. */
void gt_kernel_patterns_job(const gt_kernel_patterns *patterns, const char *source, gt_buffer *yaml);
void gt_kernel_patterns_list(const gt_kernel_patterns *patterns, const char *source, gt_buffer *list);

/* ---- rows of the CSV file, for `sweep timestamps` and `sweep overlap` (rows.c) ---- */

/* One setting and rank that rows of the table belong to. */
typedef struct gt_gemm_run {
    const gt_sweep_config *config; /* in a sweep with other axes than threads and channels; else NULL */
    int64_t threads, channels;     /* in a sweep of these two */
    int64_t rank;
} gt_gemm_run;

typedef struct gt_gemm_rows {
    gt_table *table;   /* borrowed */
    gt_gemm_run *runs; /* without duplicates, in the order of their first rows */
    size_t run_count;
    uint32_t *run_of_row; /* GT_NO_RUN: the row names no run */
} gt_gemm_rows;
#define GT_NO_RUN UINT32_MAX

/* Finds the runs of the rows by their columns threads and channel; in a sweep with other axes by all columns
 * that have the name of an axis or are the repeat. `sweep` may be NULL. Fails if the table has no column
 * threads, channel, rank or kernel_name. */
bool gt_gemm_rows_find(gt_gemm_rows *rows, gt_table *table, const gt_sweep *sweep, gt_error *error);
void gt_gemm_rows_free(gt_gemm_rows *rows);
/* The name of an axis in the columns of `sweep top`: "channel" for channels, else gt_sweep_dimension.column.
 */
const char *gt_gemm_axis_column(const gt_sweep_dimension *axis);

/* The number in a cell of a column of any type; NaN if it is not a number or there is no such column. */
double gt_gemm_number(const gt_table *table, gt_col name, size_t row);
/* The string in a cell; empty if it is not a string. */
gt_str gt_gemm_string(const gt_table *table, gt_col name, size_t row);

/* Appends columns of nulls in this order; existing columns with these names are removed. Returns the index of
 * the first one. */
size_t gt_gemm_new_columns(gt_table *table, const gt_column_head *columns, size_t count);

/* ---- `sweep timestamps` (timestamps.c) ----
 *
 * An instance of a row is an event of the category "kernel" whose name starts with kernel_name. New columns:
 * min_duration_timestamp_ms, max_duration_timestamp_ms, time_between_min_max_ms, min_duration_found_us,
 * max_duration_found_us. */

typedef struct gt_timestamps_options {
    const char *root; /* folder of the sweep */
    const char *csv;  /* file of the rows: what is kept in its folder is used */
    bool force;       /* it is not */
    double tolerance; /* warn if a duration differs from the report's by more than this share */
    bool exact;       /* names must be equal, not only start with kernel_name */
    bool strict;
    unsigned threads;
} gt_timestamps_options;

/* Adds the columns. Warns about rows without a readable trace or without an instance; they get no values.
 * Fails if the table lacks a column. */
bool gt_sweep_add_timestamps(gt_table *table, const gt_timestamps_options *options, gt_error *error);

/* Statistics of time_between_min_max_ms. */
typedef struct gt_timestamps_summary {
    size_t rows, found; /* rows of the table; rows with timestamps */
    double mean_ms, median_ms, max_ms, min_ms;
} gt_timestamps_summary;
gt_timestamps_summary gt_timestamps_summarize(const gt_table *table);

/* ---- `sweep overlap` (overlap.c) ----
 *
 * New columns for the rows of `sweep timestamps`, from the sheet nccl_long of the collective reports:
 * overlapping_collective_count; overlapping_collective_names, in the order of the sheet, joined by ';';
 * max_overlap_percentage, the largest share of the kernel's duration that one collective overlaps;
 * max_overlap_collective, its name; total_overlap_duration_ms, the time in which any collective ran. */

/* How often the name of a collective was found. */
typedef struct gt_collective_count {
    uint32_t name;
    size_t count;
} gt_collective_count;

typedef struct gt_overlap_counts {
    gt_collective_count *items; /* most frequent first; equal ones in the order of appearance */
    size_t count;
} gt_overlap_counts;

/* Adds the columns. Warns about settings without a readable collective report; their rows have no overlap.
 * Fails if the table lacks a column. The caller frees counts->items. `root`: folder of the sweep, with
 * sweep.json; NULL: that above `analysis`. */
bool gt_sweep_add_overlap(gt_table *table, const char *root, const char *analysis, gt_overlap_counts *counts,
                          gt_error *error);

enum { GT_HIGH_OVERLAP_PERCENT = 50 };
typedef struct gt_overlap_summary {
    size_t overlapped;   /* rows with an overlapping collective */
    size_t high;         /* rows overlapped by more than GT_HIGH_OVERLAP_PERCENT by one collective */
    double mean_percent; /* of the positive max_overlap_percentage; NaN: none */
} gt_overlap_summary;
gt_overlap_summary gt_overlap_summarize(const gt_table *table);

/* ---- `sweep plot` (variance.c, plots.c) ----
 *
 * The rows of the CSV file, grouped by each axis and by rank. The axes are the columns before `rank`: threads
 * and channel, or any others. Rows are used if threads, channel, repeat and rank are integers, other axes
 * have a value and time_diff_us is a time; others are skipped with a warning. */

typedef enum gt_variance_kind {
    GT_BY_THREADS,
    GT_BY_CHANNELS,
    GT_BY_RANKS,
    GT_BY_OTHER, /* any other axis */
} gt_variance_kind;

/* The time differences of the rows with one value, in the order of the file. */
typedef struct gt_variance_group {
    const char *text; /* the value */
    double number;    /* of the value, if the axis is numeric; else its place */
    const double *values_us;
    size_t count;
} gt_variance_group;

/* All groups of one axis: numbers ascending; other values in the order of the grid, or byte order if it is
 * unknown. */
typedef struct gt_variance_axis {
    const char *name; /* "threads", "channels", "rank", "proto" */
    gt_variance_kind kind;
    bool is_numeric;
    gt_variance_group *items;
    size_t count;
    double *values_us; /* of all groups */
    uint32_t *of_row;  /* the group of each row */
} gt_variance_axis;

enum { GT_VARIANCE_AXES_MAX = 12 };
typedef struct gt_variance_rows {
    double *time_diff_us; /* of each row */
    size_t count;
    gt_variance_axis axes[GT_VARIANCE_AXES_MAX]; /* the last one is the rank */
    size_t axis_count;
    bool is_classic; /* the axes are threads, channels and rank */
    gt_arena arena;
} gt_variance_rows;

/* Returns false if a column is missing, no row can be used or there are too many axes or combinations of
 * values; `path` is the file, for messages and to find sweep.json in the folder above it. */
bool gt_variance_rows_of(const gt_table *table, const char *path, gt_variance_rows *rows, gt_error *error);
void gt_variance_rows_free(gt_variance_rows *rows);

/* Prints "  256 threads: mean=21.50us, median=22.88us, max=26.25us, n=8" and so on. */
void gt_variance_rows_print(FILE *file, const gt_variance_rows *rows);

/* The plots: boxes per axis, violins of all, and for each pair of axes (without the rank) the mean per
 * combination. */
typedef enum gt_variance_form { GT_PLOT_BOXES, GT_PLOT_VIOLINS, GT_PLOT_LINES } gt_variance_form;
typedef struct gt_variance_plot {
    gt_variance_form form;
    size_t axis,
        other; /* of boxes: axis; of lines: one line per value of `axis`, `other` from left to right */
    char *file, *title; /* title: a heading for the page */
} gt_variance_plot;
typedef struct gt_variance_plots {
    gt_variance_plot *items;
    size_t count, capacity;
} gt_variance_plots;
/* NULL: those of a sweep of threads and channels. */
gt_variance_plots gt_variance_plots_of(const gt_variance_rows *rows);
void gt_variance_plots_free(gt_variance_plots *plots);

/* Adds the PNG files to the output. `as_reference`: like the Python script, the interaction plot always shows
 * 28, 42, 56 and 70 channels, and 0 if there is no row. */
bool gt_variance_plots_draw(const gt_variance_rows *rows, const char *folder, int64_t dots_per_inch,
                            bool as_reference, gt_output *output, gt_error *error);
