/* The JSON document of a report: findings, causes of idle time and trust at its top level, then all sheets.
 * docs/json.md is its description; a change that breaks readers needs another schema name. */
#include "report/answers.h"

#include "findings/schedule/sites.h"
#include "json/string.h"
#include "output/file.h"
#include "schema/columns.h"

enum { TOP_SITES = 3 };

/* ---- values ---- */

static void put_count(gt_json_writer *w, const char *key, double value)
{
    gt_json_key(w, key);
    if (isfinite(value) && fabs(value) < 0x1p53)
        gt_json_add_int(w, (int64_t)value);
    else
        gt_json_add_cstr(w, NULL);
}

static void put_cell(gt_json_writer *w, const char *key, const gt_table *sheet, gt_col column, size_t row)
{
    gt_json_key(w, key);
    gt_json_add_string(w, gt_answers_cell(sheet, column, row));
}

/* A cell that may be null. */
static void put_cell_or_null(gt_json_writer *w, const char *key, const gt_table *sheet, gt_col column,
                             size_t row)
{
    if (gt_column_is_null(gt_table_column(sheet, column), row))
        gt_json_put_cstr(w, key, NULL);
    else
        put_cell(w, key, sheet, column, row);
}

/* ---- the top level ---- */

static void put_facts(gt_json_writer *w, const gt_answers *a)
{
    static const struct {
        const char *name;
        enum { TEXT, TEXT_OR_NULL, COUNT, NUMBER, STEP_TIME, RECORDED } type;
    } facts[] = {{"device", TEXT},
                 {"device_by", TEXT_OR_NULL},
                 {"device_count", COUNT},
                 {"gpu_ops", COUNT},
                 {"steps", COUNT},
                 {"window_steps", COUNT},
                 {"per", TEXT},
                 {"window_ns", COUNT},
                 {"capture_ms", NUMBER},
                 {"step_ms", STEP_TIME},
                 {"recorded_ms", RECORDED},
                 {"busy_ms", NUMBER},
                 {"idle_ms", NUMBER},
                 {"median_step_ms", NUMBER},
                 {"no_rule", TEXT_OR_NULL},
                 {"model_step_ms", NUMBER},
                 {"all_fixed_ms", NUMBER},
                 {"replay_error_pct", NUMBER},
                 {"launch_latency_us", NUMBER},
                 {"idle_sum_error_us", NUMBER}};
    double recorded_ms = gt_answers_recorded_ms(a);
    for (size_t i = 0; i < GT_LENGTH(facts); i++) {
        const char *text = gt_answers_text(a, facts[i].name);
        double number = gt_answers_number(a, facts[i].name);
        bool is_recorded = facts[i].type == RECORDED || (facts[i].type == STEP_TIME && isnan(number));
        if (facts[i].type == TEXT || (facts[i].type == TEXT_OR_NULL && *text))
            gt_json_put_cstr(w, facts[i].name, text);
        else if (facts[i].type == TEXT_OR_NULL)
            gt_json_put_cstr(w, facts[i].name, NULL);
        else if (facts[i].type == COUNT)
            put_count(w, facts[i].name, number);
        else
            gt_json_put_real(w, facts[i].name, is_recorded ? recorded_ms : number);
    }
    gt_json_put_open(w, "overhead_us", '{');
    gt_json_put_real(w, "python", gt_answers_number(a, "overhead_python_us"));
    gt_json_put_real(w, "op", gt_answers_number(a, "overhead_op_us"));
    gt_json_close(w, '}');
}

/* The sites with the most time of a cause, from the sheet idle_calls. */
static void put_top_sites(gt_json_writer *w, const gt_table *calls, gt_str cause)
{
    gt_tally sites = {0};
    for (size_t row = 0; calls && row < calls->row_count; row++) {
        gt_str of = gt_answers_cell(calls, GT_COL_CAUSE, row);
        uint32_t site = gt_table_column_of(calls, GT_COL_SITE, GT_TYPE_STRING)->texts[row];
        if (site == GT_STR_NONE || gt_str_compare(of, cause) != 0) continue;
        gt_tally_add(&sites, site, gt_answers_value(calls, GT_COL_MS, row));
    }
    gt_tally_sort(&sites);
    gt_json_put_open(w, "top_sites", '[');
    for (size_t i = 0; i < sites.item_count && i < TOP_SITES; i++) {
        gt_json_open(w, '{');
        gt_json_key(w, "site");
        gt_json_add_string(w, gt_interner_get(calls->strings, sites.items[i].text));
        gt_json_put_real(w, "ms", sites.items[i].sum);
        gt_json_close(w, '}');
    }
    gt_json_close(w, ']');
    gt_tally_free(&sites);
}

static void put_causes(gt_json_writer *w, const gt_answers *a)
{
    const gt_table *causes = gt_answers_sheet(a, GT_SHEET_IDLE_CAUSES);
    const gt_table *calls = gt_answers_sheet(a, GT_SHEET_IDLE_CALLS);
    gt_json_put_open(w, "idle_causes", '[');
    for (size_t row = 0; causes && row < causes->row_count; row++) {
        gt_json_open(w, '{');
        put_cell(w, "cause", causes, GT_COL_CAUSE, row);
        gt_json_put_real(w, "ms", gt_answers_value(causes, GT_COL_MS, row));
        gt_json_put_real(w, "pct_of_step", gt_answers_value(causes, GT_COL_PCT_OF_STEP, row));
        put_count(w, "pieces", gt_answers_value(causes, GT_COL_PIECES, row));
        put_top_sites(w, calls, gt_answers_cell(causes, GT_COL_CAUSE, row));
        gt_json_close(w, '}');
    }
    gt_json_close(w, ']');
}

static void put_evidence(gt_json_writer *w, gt_str joined)
{
    gt_str item;
    gt_json_put_open(w, "evidence", '[');
    while (gt_answers_next_item(&joined, &item)) gt_json_add_string(w, item);
    gt_json_close(w, ']');
}

static void put_findings(gt_json_writer *w, const gt_answers *a)
{
    const gt_table *findings = gt_answers_sheet(a, GT_SHEET_FINDINGS);
    gt_json_put_open(w, "findings", '[');
    for (size_t row = 0; findings && row < findings->row_count; row++) {
        gt_json_open(w, '{');
        put_count(w, "rank", gt_answers_value(findings, GT_COL_RANK, row));
        put_cell(w, "id", findings, GT_COL_ID, row);
        put_cell(w, "severity", findings, GT_COL_SEVERITY, row);
        put_cell(w, "confidence", findings, GT_COL_CONFIDENCE, row);
        gt_json_put_bool(w, "hint", gt_table_column_of(findings, GT_COL_HINT, GT_TYPE_BOOL)->bools[row] != 0);
        put_cell(w, "kind", findings, GT_COL_KIND, row);
        put_cell(w, "title", findings, GT_COL_TITLE, row);
        put_cell_or_null(w, "where", findings, GT_COL_WHERE, row);
        gt_json_put_real(w, "gain_ms", gt_answers_value(findings, GT_COL_GAIN_MS, row));
        gt_json_put_real(w, "gain_pct", gt_answers_value(findings, GT_COL_GAIN_PCT, row));
        if (gt_table_find(findings, GT_COL_GAIN_LOW_MS) != SIZE_MAX) {
            gt_json_put_real(w, "gain_low_ms", gt_answers_value(findings, GT_COL_GAIN_LOW_MS, row));
            gt_json_put_real(w, "gain_high_ms", gt_answers_value(findings, GT_COL_GAIN_HIGH_MS, row));
        }
        gt_json_put_real(w, "score", gt_answers_value(findings, GT_COL_SCORE, row));
        put_evidence(w, gt_answers_cell(findings, GT_COL_EVIDENCE, row));
        put_cell(w, "advice", findings, GT_COL_ADVICE, row);
        if (gt_table_find(findings, GT_COL_RANKS) != SIZE_MAX)
            put_cell(w, "ranks", findings, GT_COL_RANKS, row);
        if (gt_table_find(findings, GT_COL_GAIN_ALONE_MS) != SIZE_MAX)
            gt_json_put_real(w, "gain_alone_ms", gt_answers_value(findings, GT_COL_GAIN_ALONE_MS, row));
        if (gt_table_find(findings, GT_COL_PHASE) != SIZE_MAX) {
            put_cell_or_null(w, "phase", findings, GT_COL_PHASE, row);
            gt_json_put_real(w, "phase_gain_ms", gt_answers_value(findings, GT_COL_PHASE_GAIN_MS, row));
        }
        gt_json_close(w, '}');
    }
    gt_json_close(w, ']');
}

static void put_trust(gt_json_writer *w, const gt_answers *a)
{
    const gt_table *trust = gt_answers_sheet(a, GT_SHEET_TRUST);
    const char *verdict = gt_answers_text(a, "verdict");
    gt_json_put_open(w, "trust", '{');
    gt_json_put_cstr(w, "verdict", *verdict ? verdict : NULL);
    gt_json_put_open(w, "checks", '[');
    for (size_t row = 0; trust && row < trust->row_count; row++) {
        gt_json_open(w, '{');
        put_cell(w, "id", trust, GT_COL_ID, row);
        put_cell(w, "level", trust, GT_COL_LEVEL, row);
        gt_json_put_real(w, "value", gt_answers_value(trust, GT_COL_VALUE, row));
        gt_json_put_open(w, "threshold", '{');
        gt_json_put_real(w, "warn", gt_answers_value(trust, GT_COL_WARN, row));
        gt_json_put_real(w, "fail", gt_answers_value(trust, GT_COL_FAIL, row));
        gt_json_close(w, '}');
        put_cell(w, "text", trust, GT_COL_TEXT, row);
        gt_json_close(w, '}');
    }
    gt_json_close(w, ']');
    gt_json_close(w, '}');
}

/* ---- sheets ---- */

static void add_number(gt_buffer *out, double value)
{
    if (isfinite(value))
        gt_buffer_add_double(out, value);
    else
        gt_buffer_add_cstr(out, "null");
}

static void add_list(gt_buffer *out, const gt_interner *strings, const gt_column *list, size_t row,
                     gt_buffer *scratch);

/* An element of a list. */
static void add_item(gt_buffer *out, const gt_interner *strings, const gt_column *items, size_t at,
                     gt_buffer *scratch)
{
    if (gt_column_is_null(items, at)) {
        gt_buffer_add_cstr(out, "null");
        return;
    }
    switch (items->type) {
    case GT_TYPE_INT:
        gt_buffer_add_int(out, items->ints[at]);
        break;
    case GT_TYPE_FLOAT:
        add_number(out, items->floats[at]);
        break;
    case GT_TYPE_STRING:
        gt_json_string_add(out, gt_interner_get(strings, items->texts[at]), scratch);
        break;
    case GT_TYPE_BOOL:
        gt_buffer_add_cstr(out, items->bools[at] ? "true" : "false");
        break;
    case GT_TYPE_LIST:
        add_list(out, strings, items, at, scratch);
        break;
    }
}

static void add_list(gt_buffer *out, const gt_interner *strings, const gt_column *list, size_t row,
                     gt_buffer *scratch)
{
    gt_buffer_add_cstr(out, "[");
    size_t begin = gt_list_begin_of(list, row), end = gt_list_end_of(list, row);
    for (size_t at = begin; at < end; at++) {
        if (at > begin) gt_buffer_add_cstr(out, ",");
        add_item(out, strings, list->items, at, scratch);
    }
    gt_buffer_add_cstr(out, "]");
}

void gt_answers_add_cell(gt_buffer *out, const gt_table *sheet, size_t column, size_t row, gt_buffer *scratch)
{
    gt_cell cell = gt_table_cell(sheet, column, row);
    if (cell.is_null)
        gt_buffer_add_cstr(out, "null");
    else if (cell.type == GT_TYPE_INT)
        gt_buffer_add_int(out, cell.integer);
    else if (cell.type == GT_TYPE_FLOAT)
        add_number(out, cell.number);
    else if (cell.type == GT_TYPE_BOOL)
        gt_buffer_add_cstr(out, cell.integer ? "true" : "false");
    else if (cell.type == GT_TYPE_LIST)
        add_list(out, sheet->strings, &sheet->columns[column], row, scratch);
    else
        gt_json_string_add(out, cell.text, scratch);
}

/* One line per row. */
static void put_sheet(gt_json_writer *w, const gt_table *sheet)
{
    gt_buffer line = {0};
    gt_json_put_open(w, sheet->name, '{');
    gt_json_put_open(w, "columns", '[');
    for (size_t c = 0; c < sheet->column_count; c++) gt_json_add_cstr(w, sheet->columns[c].name);
    gt_json_close(w, ']');
    gt_json_put_open(w, "rows", '[');
    for (size_t row = 0; row < sheet->row_count; row++) {
        line.len = 0;
        for (size_t c = 0; c < sheet->column_count; c++) {
            gt_buffer_add_cstr(&line, c ? "," : "[");
            gt_answers_add_cell(&line, sheet, c, row, &w->scratch);
        }
        gt_buffer_add_cstr(&line, sheet->column_count ? "]" : "[]");
        gt_json_add_raw(w, gt_buffer_str(&line));
    }
    gt_json_close(w, ']');
    gt_json_close(w, '}');
    gt_buffer_free(&line);
}

void gt_answers_put_sheets(gt_json_writer *w, const gt_table_list *tables)
{
    gt_json_put_open(w, "sheets", '{');
    for (size_t i = 0; i < tables->count; i++) put_sheet(w, tables->items[i]);
    gt_json_close(w, '}');
}

void gt_answers_put_error(gt_json_writer *w, const char *message, int exit)
{
    gt_json_put_open(w, "error", '{');
    gt_json_put_cstr(w, "message", message);
    gt_json_put_int(w, "exit", exit);
    gt_json_close(w, '}');
}

static void put_all(gt_json_writer *w, const gt_answers *a)
{
    gt_json_open(w, '{');
    gt_json_put_cstr(w, "schema", GT_ANSWERS_SCHEMA);
    gt_json_key(w, "trace");
    gt_json_add_string(w, gt_answers_trace(a));
    if (a->error) gt_answers_put_error(w, a->error, a->exit);
    if (!a->error || gt_answers_exist(a->tables)) {
        if (gt_answers_exist(a->tables)) put_facts(w, a);
        put_causes(w, a);
        put_findings(w, a);
        put_trust(w, a);
        gt_answers_put_sheets(w, a->sheets ? a->sheets : a->tables);
    }
    gt_json_close(w, '}');
    gt_json_end_document(w);
}

void gt_answers_json(const gt_answers *a, gt_buffer *out)
{
    gt_json_writer w = {0};
    put_all(&w, a);
    gt_buffer_add(out, w.text.bytes, w.text.len);
    gt_json_writer_free(&w);
}

static void write_text(void *file, gt_str text)
{
    gt_file_write(file, text.bytes, text.len);
}

bool gt_answers_write_json(const gt_answers *a, gt_output *output, const char *path, gt_error *error)
{
    gt_file file;
    if (!gt_file_open(&file, output, path, error)) return false;
    gt_json_writer w = {.take = write_text, .context = &file};
    put_all(&w, a);
    gt_json_writer_free(&w);
    return gt_file_close(&file, error);
}
