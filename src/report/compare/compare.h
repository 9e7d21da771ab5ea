/* The comparison of performance reports and of traces.
 *
 * Groups of sheets: waterfall (why the step times differ), gpu_timeline, ops_summary,
 * kernel_summary (one sheet each), ops_all and roofline (three sheets for each source sheet and variant:
 * <name>_intersect_<tag>, _only_baseline_, _only_variant_). */
#pragma once

#include "analysis/compare/compare.h"
#include "findings/waterfall/waterfall.h"
#include "input/options.h"
#include "input/sheets/sheets.h"
#include "output/terminal.h"
#include "table/table_list.h"

/* Whether a report is of a server. */
typedef enum gt_served {
    GT_NOT_SERVED,
    GT_SERVED_UNKNOWN, /* a report of a server without the sheet serving_steps ... */
    GT_SERVED_DAMAGED, /* ... or with one that has texts for numbers */
    GT_SERVED
} gt_served;

typedef struct gt_compare_report {
    const char *tag, *path;
    gt_perf_sheets *sheets;
    bool is_trace;          /* gt_compare_is_trace: the sheets are those that `gputally report` makes */
    gt_trace_origin origin; /* of the trace, or of the one that the report is of */
    gt_step_parts *parts;   /* the step of a trace; NULL: a report, or there are no GPU ops */
    struct gt_report *kept; /* of a trace, for the page: its tables as gt_report_make_tables made them */
    struct gt_kept_tables {
        gt_interner *strings; /* owned; NULL: none */
        gt_table_list sheets, page;
    } loaded;           /* the same from another process (image.c) */
    gt_interner *saved; /* strings of an image of this report; owned */
    gt_served served;
    char *verdict;  /* that of its sheets: "good", ...; NULL: they have none */
    char *judged;   /* which of several devices its step is of: "GPU 1"; NULL: there is one */
    char *distrust; /* if the verdict is "do not trust": the first check that failed; else NULL */
} gt_compare_report;

/* ---- inputs (input.c) ---- */

/* Whether the path is a trace that `gputally report` reads. */
bool gt_compare_is_trace(const char *path);
/* What is wanted of a trace in addition to its step. */
typedef struct gt_compare_wanted {
    bool sheets; /* those of its report */
    bool page;   /* what the page shows of it; needs the sheets */
} gt_compare_wanted;
/* Opens a report, or reads a trace and makes what is wanted of its report. */
bool gt_compare_open(gt_compare_report *report, gt_compare_wanted wanted, const gt_read_options *read,
                     gt_error *error);
void gt_compare_close(gt_compare_report *report);
/* What gt_compare_open made of a trace, as an image, which the report must outlive, and back: of a report
 * that has only its tag, its path and is_trace. A report on disk is opened again instead. False if the image
 * is damaged; then the report is as before (image.c). */
void gt_compare_save(gt_compare_report *report, gt_image *image);
bool gt_compare_load(gt_compare_report *report, const gt_image *image);
/* Warns about each report that cannot be trusted. */
void gt_compare_warn(const gt_compare_report *reports, size_t count);

/* A fact of the sheet overview as text, which the caller frees; NULL if there is none. */
char *gt_compare_fact(const gt_compare_report *report, const char *name);

/* ---- sheets ---- */

/* Adds the sheets of differences.c: what differs between the runs other than their times, and the times of
 * steps. */
void gt_compare_differences(const gt_compare_report *reports, size_t count, gt_interner *strings,
                            gt_table_list *tables);

/* The name of a group; NULL after the last one. */
const char *gt_compare_group(size_t index);

typedef struct gt_compare_options {
    const char *const *groups; /* requested groups: a baseline without their sheets is an error */
    size_t group_count;        /* 0: all that the reports have */
    gt_gate *gates;
    size_t gate_count;
    bool reports_only;    /* no waterfall, as in TraceLens */
    gt_table_list *shown; /* gets what the summary shows: sheets whose rows are paired one to one; or NULL */
    char **why_no_waterfall; /* gets why there is none, which the caller frees; or NULL */
} gt_compare_options;

/* Adds the result sheets in order, with string ids of `strings`; with gates also "fail_if", the rows that met
 * a condition. Sheets list all pairs of rows with equal keys, as TraceLens does; conditions and the summary
 * are about rows that are paired one to one, so that a report does not differ from itself. reports[0] is the
 * baseline. Sheets that a report lacks are skipped with gt_info; it is an error if nothing is left to compare
 * or a gate applies to nothing. */
bool gt_compare_tables(const gt_compare_report *reports, size_t count, const gt_compare_options *options,
                       gt_interner *strings, gt_table_list *tables, gt_error *error);

/* The group waterfall: adds its sheets, if any report can be compared with the baseline, and adds to `met`
 * the conditions on it that are met; sheets_met counts, by gate, those that were checked. *why_not is a text
 * for the first report that has no waterfall, which the caller frees; NULL: all have one. */
bool gt_compare_waterfall(const gt_compare_report *reports, size_t count, const gt_compare_options *options,
                          gt_interner *strings, gt_table_list *tables, size_t *sheets_met, gt_table *met,
                          char **why_not, gt_error *error);
/* Whether a condition may be on this total, such as "step_ms" or "step_ms_decode". */
bool gt_compare_has_total(const char *name);

/* ---- servers (phases.c) ---- */

/* The sheet phase_changes without rows. */
gt_table *gt_phase_changes_new(gt_interner *strings);
/* Adds a row per phase, that of the main phase first; none if not both are of servers. */
void gt_phase_changes_add(gt_table *sheet, const gt_compare_report *base, const gt_compare_report *variant);
/* Finds gt_compare_report.served, when the report has its sheets. */
gt_served gt_compare_find_served(const gt_compare_report *report);

/* Cells of these sheets, whose columns must exist. */
static inline const char *gt_compare_text(const gt_table *sheet, gt_col column, size_t row)
{
    return gt_interner_get(sheet->strings, gt_table_column(sheet, column)->texts[row]).bytes;
}
static inline double gt_compare_number(const gt_table *sheet, gt_col column, size_t row)
{
    return gt_column_number(gt_table_column(sheet, column), row);
}
/* The end of the waterfall that begins with this row of its sheet. */
size_t gt_compare_waterfall_end(const gt_table *sheet, size_t begin);

/* ---- JSON and Markdown (answers.c) ---- */

#define GT_COMPARISON_SCHEMA "gputally-comparison/1"

/* The whole JSON document, which docs/compare.md describes: waterfalls, conditions that are met, and
 * `sheets`, which may be some of the tables. If the command failed, `error` is its message and the document
 * says only that; otherwise NULL. */
void gt_compare_json(const gt_compare_report *reports, size_t count, const gt_table_list *tables,
                     const gt_table_list *sheets, const char *error, gt_buffer *out);
/* Waterfalls and conditions that are met, for a pull request. */
void gt_compare_markdown(const gt_compare_report *reports, size_t count, const gt_table_list *tables,
                         gt_buffer *out);

/* ---- the page (page.c) ---- */

/* Adds the page of two reports that were opened with it. `command` is the command line that it shows. */
void gt_compare_add_page(const gt_compare_report reports[2], const gt_table_list *tables,
                         const gt_compare_options *options, const char *command, gt_buffer *html);

/* ---- terminal summary ---- */

void gt_compare_print_waterfall(const gt_terminal *terminal, const gt_table *sheet);
void gt_compare_print_differences(const gt_terminal *terminal, const gt_table_list *tables);
/* The waterfall, and how the longest rows of the sheets in `shown` changed. */
void gt_compare_print_summary(FILE *out, const gt_compare_report *reports, size_t count,
                              const gt_table_list *tables, const gt_table_list *shown);
/* The sheet "fail_if". */
void gt_compare_print_met(FILE *out, const gt_table *met);
