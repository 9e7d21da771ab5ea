/* A comparison for scripts and pull requests, made from its sheets: waterfalls first, then the conditions
 * that are met. A change of the JSON that breaks readers needs another schema name. */
#include "report/compare/compare.h"

#include "os/paths.h"
#include "report/answers.h"
#include "schema/columns.h"

enum { NAME_WIDTH = 60 }; /* kernel names can be longer than a page */

/* ---- JSON ---- */

/* A row as an object: its columns, except the one named, are the keys. */
static void add_row(gt_json_writer *w, const gt_table *sheet, size_t row, gt_col without)
{
    gt_json_open(w, '{');
    for (size_t c = 0; c < sheet->column_count; c++) {
        if (without.name && gt_column_is(&sheet->columns[c], without)) continue;
        gt_cell cell = gt_table_cell(sheet, c, row);
        gt_json_key(w, sheet->columns[c].name);
        if (cell.is_null)
            gt_json_add_cstr(w, NULL);
        else if (cell.type == GT_TYPE_STRING)
            gt_json_add_string(w, cell.text);
        else if (cell.type == GT_TYPE_INT)
            gt_json_add_int(w, cell.integer);
        else
            gt_json_add_real(w, cell.number);
    }
    gt_json_close(w, '}');
}

static void put_waterfalls(gt_json_writer *w, const gt_table *sheet)
{
    gt_json_put_open(w, "waterfalls", '[');
    for (size_t begin = 0, end; sheet && begin < sheet->row_count; begin = end) {
        end = gt_compare_waterfall_end(sheet, begin);
        gt_json_open(w, '{');
        gt_json_put_cstr(w, "report", gt_compare_text(sheet, GT_COL_REPORT, begin));
        gt_json_put_real(w, "a_ms", gt_compare_number(sheet, GT_COL_A_MS, begin));
        gt_json_put_real(w, "b_ms", gt_compare_number(sheet, GT_COL_B_MS, end - 1));
        gt_json_put_open(w, "contributions", '[');
        for (size_t row = begin + 1; row + 1 < end; row++) add_row(w, sheet, row, GT_COL_REPORT);
        gt_json_close(w, ']');
        gt_json_close(w, '}');
    }
    gt_json_close(w, ']');
}

/* A text of a file, or null. */
static void put_text(gt_json_writer *w, const char *key, const char *text)
{
    gt_json_key(w, key);
    if (text)
        gt_json_add_string(w, (gt_str){text, strlen(text)});
    else
        gt_json_add_cstr(w, NULL);
}

static void add_report(gt_json_writer *w, const gt_compare_report *report)
{
    gt_json_open(w, '{');
    gt_json_put_cstr(w, "name", report->tag);
    gt_json_put_cstr(w, "file", gt_path_name(report->path));
    gt_json_put_bool(w, "is_trace", report->is_trace);
    put_text(w, "verdict", report->verdict);
    put_text(w, "distrust", report->distrust);
    gt_json_close(w, '}');
}

/* A sheet, which may be NULL, as a list of objects. */
static void put_rows(gt_json_writer *w, const char *key, const gt_table *sheet)
{
    gt_json_put_open(w, key, '[');
    for (size_t row = 0; sheet && row < sheet->row_count; row++) add_row(w, sheet, row, GT_NO_COL);
    gt_json_close(w, ']');
}

void gt_compare_json(const gt_compare_report *reports, size_t count, const gt_table_list *tables,
                     const gt_table_list *sheets, const char *error, gt_buffer *out)
{
    gt_json_writer w = {0};
    gt_json_open(&w, '{');
    gt_json_put_cstr(&w, "schema", GT_COMPARISON_SCHEMA);
    gt_json_key(&w, "baseline");
    add_report(&w, &reports[0]);
    gt_json_put_open(&w, "reports", '[');
    for (size_t i = 1; i < count; i++) add_report(&w, &reports[i]);
    gt_json_close(&w, ']');
    if (error) {
        gt_answers_put_error(&w, error, 1);
    } else {
        put_rows(&w, "differences", gt_table_list_find(tables, GT_SHEET_DIFFERENCES));
        put_rows(&w, "step_times", gt_table_list_find(tables, GT_SHEET_STEP_TIMES));
        put_rows(&w, "phase_changes", gt_table_list_find(tables, GT_SHEET_PHASE_CHANGES));
        put_waterfalls(&w, gt_table_list_find(tables, GT_SHEET_WATERFALL));
        put_rows(&w, "fail_if", gt_table_list_find(tables, GT_SHEET_FAIL_IF));
        gt_answers_put_sheets(&w, sheets);
    }
    gt_json_close(&w, '}');
    gt_buffer_add_cstr(&w.text, "\n");
    gt_buffer_add(out, w.text.bytes, w.text.len);
    gt_json_writer_free(&w);
}

/* ---- Markdown ---- */

static void escape(gt_buffer *out, const char *text)
{
    gt_answers_escape(out, (gt_str){text, strlen(text)});
}

static void add_detail(gt_buffer *out, const char *name)
{
    gt_buffer text = {0}, cut = {0};
    gt_display_add(&text, (gt_str){name, strlen(name)}, true);
    gt_display_add_cut(&cut, gt_buffer_str(&text), NAME_WIDTH, true);
    gt_answers_escape(out, gt_buffer_str(&cut));
    gt_buffer_free(&text);
    gt_buffer_free(&cut);
}

/* Before and after, if they differ. */
static void add_details(gt_buffer *out, const char *a, const char *b)
{
    add_detail(out, *a ? a : b);
    if (!*a || !*b || strcmp(a, b) == 0) return;
    gt_buffer_add_cstr(out, " → ");
    add_detail(out, b);
}

static void add_contributions(gt_buffer *out, const gt_table *sheet, size_t begin, size_t end)
{
    gt_buffer_add_cstr(out, "| contribution | ms | % | where |\n|---|---:|---:|---|\n");
    for (size_t row = begin + 1; row + 1 < end; row++) {
        gt_buffer_add_cstr(out, "| ");
        escape(out, gt_compare_text(sheet, GT_COL_CONTRIBUTION, row));
        gt_buffer_add_format(out, " | %+.3f | ", gt_compare_number(sheet, GT_COL_DELTA_MS, row));
        double pct = gt_compare_number(sheet, GT_COL_PCT, row);
        if (isfinite(pct)) gt_buffer_add_format(out, "%+.1f", pct);
        gt_buffer_add_cstr(out, " | ");
        add_details(out, gt_compare_text(sheet, GT_COL_A_DETAIL, row),
                    gt_compare_text(sheet, GT_COL_B_DETAIL, row));
        gt_buffer_add_cstr(out, " |\n");
    }
    gt_buffer_add_cstr(out, "\n");
}

/* `serves`: of servers, whose phases have times of their own. */
static void add_waterfall(gt_buffer *out, const gt_table *sheet, size_t begin, size_t end, bool serves)
{
    double a_ms = gt_compare_number(sheet, GT_COL_A_MS, begin),
           b_ms = gt_compare_number(sheet, GT_COL_B_MS, end - 1);
    gt_buffer_add_cstr(out, "### ");
    escape(out, gt_compare_text(sheet, GT_COL_WHAT, end - 1));
    bool is_step = strcmp(gt_compare_text(sheet, GT_COL_CONTRIBUTION, end - 1), "step time") == 0;
    gt_buffer_add_format(out, "\n\n%s: %.3f ms instead of %.3f ms",
                         !is_step ? "Time of the window"
                         : serves ? "Mean of all steps"
                                  : "Step time",
                         b_ms, a_ms);
    if (a_ms > 0) gt_buffer_add_format(out, " (%+.1f %%)", 100 * (b_ms - a_ms) / a_ms);
    gt_buffer_add_cstr(out, ".\n\n");
    if (end - begin > 2)
        add_contributions(out, sheet, begin, end);
    else
        gt_buffer_add_cstr(out, "Nothing differs.\n\n");
}

static void add_differences(gt_buffer *out, const gt_table *sheet)
{
    if (sheet) gt_buffer_add_cstr(out, "### Not the same work\n\n");
    for (size_t row = 0; sheet && row < sheet->row_count; row++) {
        const char *text = gt_compare_text(sheet, GT_COL_TEXT, row);
        gt_buffer_add_cstr(out, "- ");
        escape(out, gt_compare_text(sheet, GT_COL_REPORT, row));
        gt_buffer_add_format(out, ": %s ", gt_compare_text(sheet, GT_COL_WHAT, row));
        escape(out, gt_compare_text(sheet, GT_COL_BASELINE, row));
        gt_buffer_add_cstr(out, " → ");
        escape(out, gt_compare_text(sheet, GT_COL_VARIANT, row));
        if (*text) gt_buffer_add_cstr(out, ": ");
        escape(out, text);
        gt_buffer_add_cstr(out, "\n");
    }
    if (sheet) gt_buffer_add_cstr(out, "\n");
}

static void add_times(gt_buffer *out, const gt_table *sheet)
{
    if (sheet) gt_buffer_add_cstr(out, "### Times of steps\n\n");
    for (size_t row = 0; sheet && row < sheet->row_count; row++) {
        const char *note = gt_compare_text(sheet, GT_COL_NOTE, row);
        gt_buffer_add_cstr(out, "- ");
        escape(out, gt_compare_text(sheet, GT_COL_REPORT, row));
        gt_buffer_add_format(
            out, ": mean %.3f ms, median %.3f ms, %.3f to %.3f ms",
            gt_compare_number(sheet, GT_COL_MEAN_MS, row), gt_compare_number(sheet, GT_COL_MEDIAN_MS, row),
            gt_compare_number(sheet, GT_COL_MIN_MS, row), gt_compare_number(sheet, GT_COL_MAX_MS, row));
        if (*note) gt_buffer_add_cstr(out, "; ");
        escape(out, note);
        gt_buffer_add_cstr(out, "\n");
    }
    if (sheet) gt_buffer_add_cstr(out, "\n");
}

static void add_phases(gt_buffer *out, const gt_table *sheet)
{
    if (!sheet) return;
    gt_buffer_add_cstr(
        out, "### Steps with like batch and context\n\n| | phase | before, ms | after, ms | % | steps "
             "|\n|---|---|---:|---:|---:|---|\n");
    for (size_t row = 0; row < sheet->row_count; row++) {
        const char *note = gt_compare_text(sheet, GT_COL_NOTE, row);
        gt_buffer_add_cstr(out, "| ");
        escape(out, gt_compare_text(sheet, GT_COL_REPORT, row));
        gt_buffer_add_format(out, " | %s | ", gt_compare_text(sheet, GT_COL_PHASE, row));
        bool is_known = !isnan(gt_compare_number(sheet, GT_COL_PCT, row));
        if (is_known)
            gt_buffer_add_format(
                out, "%.3f | %.3f | %+.1f | %.0f of %.0f, %.0f of %.0f%s",
                gt_compare_number(sheet, GT_COL_A_MS, row), gt_compare_number(sheet, GT_COL_B_MS, row),
                gt_compare_number(sheet, GT_COL_PCT, row), gt_compare_number(sheet, GT_COL_A_ALIKE, row),
                gt_compare_number(sheet, GT_COL_A_STEPS, row), gt_compare_number(sheet, GT_COL_B_ALIKE, row),
                gt_compare_number(sheet, GT_COL_B_STEPS, row), *note ? "; " : "");
        else
            gt_buffer_add_cstr(out, "| | | ");
        escape(out, note);
        gt_buffer_add_cstr(out, " |\n");
    }
    gt_buffer_add_cstr(out, "\n");
}

static void add_met(gt_buffer *out, const gt_table *met)
{
    gt_buffer_add_cstr(out, met->row_count ? "### Met conditions\n\n" : "No condition is met.\n");
    for (size_t row = 0; row < met->row_count; row++) {
        gt_buffer_add_cstr(out, "- ");
        escape(out, gt_compare_text(met, GT_COL_CONDITION, row));
        gt_buffer_add_cstr(out, ": ");
        escape(out, gt_compare_text(met, GT_COL_ROW, row));
        gt_buffer_add_cstr(out, " of ");
        escape(out, gt_compare_text(met, GT_COL_REPORT, row));
        gt_buffer_add_format(
            out, ", %.3f instead of %.3f (%+.3f)\n", gt_compare_number(met, GT_COL_VARIANT, row),
            gt_compare_number(met, GT_COL_BASELINE, row), gt_compare_number(met, GT_COL_DIFF, row));
    }
}

void gt_compare_markdown(const gt_compare_report *reports, size_t count, const gt_table_list *tables,
                         gt_buffer *out)
{
    const gt_table *sheet = gt_table_list_find(tables, GT_SHEET_WATERFALL);
    const gt_table *met = gt_table_list_find(tables, GT_SHEET_FAIL_IF);
    gt_buffer_add_cstr(out, "## GPU comparison with ");
    escape(out, reports[0].tag);
    gt_buffer_add_cstr(out, "\n\n");
    for (size_t i = 0; i < count; i++) {
        if (!reports[i].distrust) continue;
        gt_buffer_add_cstr(out, "**Do not trust ");
        escape(out, reports[i].tag);
        gt_buffer_add_cstr(out, "**: ");
        escape(out, reports[i].distrust);
        gt_buffer_add_cstr(out, "\n\n");
    }
    add_phases(out, gt_table_list_find(tables, GT_SHEET_PHASE_CHANGES));
    add_differences(out, gt_table_list_find(tables, GT_SHEET_DIFFERENCES));
    add_times(out, gt_table_list_find(tables, GT_SHEET_STEP_TIMES));
    if (!sheet)
        gt_buffer_add_format(out, "%zu report%s without a waterfall.\n\n", count - 1, count > 2 ? "s" : "");
    for (size_t begin = 0, end; sheet && begin < sheet->row_count; begin = end) {
        end = gt_compare_waterfall_end(sheet, begin);
        add_waterfall(out, sheet, begin, end, gt_table_list_find(tables, GT_SHEET_PHASE_CHANGES) != NULL);
    }
    if (met) add_met(out, met);
}
