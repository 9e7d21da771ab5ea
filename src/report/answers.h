/* Findings on the terminal, as JSON and as Markdown.
 *
 * All of them are made from the sheets of findings (findings/findings.h), so that they are the same whether
 * the sheets were just made or come from an index. docs/json.md describes the JSON. */
#pragma once

#include "json/writer.h"
#include "output/output.h"
#include "output/terminal.h"

#define GT_ANSWERS_SCHEMA "gputally-findings/1"

/* The sheets of one trace. Borrows everything. */
typedef struct gt_answers {
    const char *trace; /* its path, or that of its index; only the name of the trace is shown */
    const gt_table_list *tables;
    const gt_table_list *sheets; /* those that the JSON shows; NULL: all */
    const char *error;           /* the message if the command failed; NULL: it did not */
    int exit;                    /* its exit code then */
} gt_answers;

/* Whether the sheets have findings; without, only the other sheets are shown. */
bool gt_answers_exist(const gt_table_list *tables);
/* Whether the verdict is "do not trust". */
bool gt_answers_distrusted(const gt_table_list *tables);

/* The whole JSON document, with all sheets. Numbers that are not finite are null. */
void gt_answers_json(const gt_answers *answers, gt_buffer *out);
/* The same into a file, without all of it being in memory: sheets of many ranks are long. */
bool gt_answers_write_json(const gt_answers *answers, gt_output *output, const char *path, gt_error *error);

/* Verdict, findings, causes of idle time and timeline, for a pull request. */
void gt_answers_markdown(const gt_answers *answers, gt_buffer *out);

/* How much a terminal shows. */
typedef struct gt_answers_limits {
    size_t findings, evidence, checks; /* evidence is per finding */
} gt_answers_limits;

/* Adds the first finding as one line, without a line break; nothing if there are no sheets of findings. */
void gt_answers_add_first(const gt_answers *answers, gt_buffer *line);

/* The lines that a terminal shows first: one about the trace, the verdict with the checks that are not
 * passed, the first findings and the causes of idle time. */
void gt_answers_print(const gt_answers *answers, const gt_terminal *terminal,
                      const gt_answers_limits *limits);

/* The same for the sheets of all ranks (findings/ranks/ranks.h), with the verdict on the ranks first. `trace`
 * is their folder. */
void gt_answers_print_ranks(const gt_answers *answers, const gt_terminal *terminal,
                            const gt_answers_limits *limits);

/* ---- for other documents of the same kind (compare/answers.c) ---- */

/* An object with all sheets, each with its columns and one line per row. */
void gt_answers_put_sheets(gt_json_writer *w, const gt_table_list *tables);
/* A cell of a sheet as JSON; null if it is not finite. */
void gt_answers_add_cell(gt_buffer *out, const gt_table *sheet, size_t column, size_t row,
                         gt_buffer *scratch);
/* {"message": ..., "exit": ...} with the key "error". */
void gt_answers_put_error(gt_json_writer *w, const char *message, int exit);
/* Adds text with the characters escaped that Markdown or HTML would interpret. */
void gt_answers_escape(gt_buffer *out, gt_str text);

/* ---- for the files of this header ---- */

/* The name of the trace. */
gt_str gt_answers_trace(const gt_answers *answers);
/* The fact with this name in the sheet overview; NaN or "" if there is none. */
double gt_answers_number(const gt_answers *answers, const char *name);
const char *gt_answers_text(const gt_answers *answers, const char *name);
/* The recorded time per step, whatever its phase, or of the window if there are no steps: what busy_ms and
 * idle_ms add up to. NaN: unknown. */
double gt_answers_recorded_ms(const gt_answers *answers);
/* What is said after the name of the device: "", or that it was found by its properties. */
const char *gt_answers_device_note(const gt_answers *answers);
/* What times are of: "per step", or without steps "in the window". */
const char *gt_answers_per(const gt_answers *answers);
/* A string cell; "" if it is null. */
gt_str gt_answers_cell(const gt_table *sheet, gt_col column, size_t row);
double gt_answers_value(const gt_table *sheet, gt_col column, size_t row); /* NaN if it is null */
/* A sheet, or NULL if there is none or it has no rows. */
const gt_table *gt_answers_sheet(const gt_answers *answers, gt_sheet sheet);
bool gt_answers_is_hint(const gt_table *findings, size_t row);
/* What a finding of ranks gains without the repairs before it; NaN: as much as with them, or it is of one
 * trace. */
double gt_answers_alone_ms(const gt_table *findings, size_t row);
/* "likely gain 35 to 56 ms of 75.3 (47-75%)"; "up to about 42.3 ms (57%)" if such gains were never measured.
 */
void gt_answers_add_gain(const gt_answers *answers, size_t row, gt_buffer *out);
/* Whether any finding is worth to be named first: no hint, and at least 5 % of the step. */
bool gt_answers_any_important(const gt_answers *answers);
/* That none is: "No important finding.", or what limits the step nevertheless: "The GPU is idle 50 % of
 * a 9.00 ms step ... No rule finds a repair."; then the kernels that no rule covers. */
void gt_answers_add_unimportant(const gt_answers *answers, gt_buffer *out);
/* The next item of a joined text (join_evidence in findings/sheets.c); *rest moves past it. False: no more.
 */
bool gt_answers_next_item(gt_str *rest, gt_str *item);
