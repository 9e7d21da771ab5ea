/* The regression gate: conditions are parsed from left to right and then compared with the rows of merged
 * sheets. */
#include "analysis/compare/compare.h"

#include "schema/columns.h"

#include <fnmatch.h>

static const char *const op_strings[] = {
    [GT_GATE_AT_LEAST] = ">=", [GT_GATE_AT_MOST] = "<=", [GT_GATE_ABOVE] = ">", [GT_GATE_BELOW] = "<"};
static const gt_gate_op op_order[] = {GT_GATE_AT_LEAST, GT_GATE_AT_MOST, GT_GATE_ABOVE, GT_GATE_BELOW};

/* ---- parsing ---- */

static const char *skip_spaces(const char *at)
{
    return at + strspn(at, " \t");
}

/* Reads a name in quotes, in which a quote is written twice. NULL if the closing quote is missing. */
static char *quoted_name(const char **at)
{
    char quote = *(*at)++;
    gt_buffer name = {0};
    while (**at && (**at != quote || (*at)[1] == quote)) {
        *at += **at == quote;
        gt_buffer_add(&name, (*at)++, 1);
    }
    bool closed = *(*at) == quote;
    *at += closed;
    char *copy = closed ? gt_strdup(gt_buffer_str(&name).bytes) : NULL;
    gt_buffer_free(&name);
    return copy;
}

/* Reads a name with or without quotes. NULL if there is none. */
static char *next_name(const char **at, bool *quoted)
{
    *at = skip_spaces(*at);
    *quoted = **at == '\'' || **at == '"';
    if (*quoted) {
        char *name = quoted_name(at);
        *at = skip_spaces(*at);
        return name;
    }
    size_t len = strcspn(*at, ".<>");
    const char *begin = *at;
    *at += len;
    while (len && (begin[len - 1] == ' ' || begin[len - 1] == '\t')) len--;
    return len ? gt_format("%.*s", (int)len, begin) : NULL;
}

static bool next_op(const char **at, gt_gate_op *op)
{
    for (size_t i = 0; i < GT_LENGTH(op_order); i++) {
        size_t len = strlen(op_strings[op_order[i]]);
        if (strncmp(*at, op_strings[op_order[i]], len) != 0) continue;
        *op = op_order[i];
        *at += len;
        return true;
    }
    return false;
}

static bool parse_limit(gt_gate *gate, const char *at)
{
    char *end;
    at = skip_spaces(at);
    gate->limit = strtod(at, &end);
    if (end == at || end > at + strspn(at, "0123456789.+-eE") || !isfinite(gate->limit)) return false;
    at = skip_spaces(end);
    gate->percent = *at == '%';
    return *skip_spaces(at + gate->percent) == 0;
}

/* "step_ms" alone is a total of the waterfall; so is "step_ms_decode", of a server. */
static bool is_total(const char *name)
{
    static const char suffix[] = "_ms", of_phase[] = "step_ms_";
    size_t len = strlen(name), suffix_len = strlen(suffix);
    return (len > suffix_len && strcmp(name + len - suffix_len, suffix) == 0) ||
           strncmp(name, of_phase, strlen(of_phase)) == 0;
}

static bool parse_total(gt_gate *gate, const char *at)
{
    if (!is_total(gate->sheet)) return false;
    gate->is_total = gate->exact_row = true;
    gate->row = gate->sheet;
    gate->sheet = gt_strdup(GT_SHEET_WATERFALL.name);
    return next_op(&at, &gate->op) && parse_limit(gate, at);
}

static bool parse_parts(gt_gate *gate, const char *at)
{
    bool quoted;
    if (!(gate->sheet = next_name(&at, &quoted))) return false;
    if (!quoted && (*at == '<' || *at == '>')) return parse_total(gate, at);
    if (*at++ != '.') return false;
    if (!(gate->row = next_name(&at, &gate->exact_row))) return false;
    if (*at == '.') {
        at++;
        if (!(gate->column = next_name(&at, &quoted))) return false;
    }
    return next_op(&at, &gate->op) && parse_limit(gate, at);
}

bool gt_gate_parse(gt_gate *gate, const char *condition, gt_error *error)
{
    *gate = (gt_gate){.condition = condition};
    if (parse_parts(gate, condition)) return true;
    gt_gate_free(gate);
    return gt_fail(error,
                   "'%.300s' is not SHEET.ROW[.COLUMN] OP NUMBER[%%], such as gpu_timeline.busy_time > 5%%",
                   condition);
}

static bool parse_measure(gt_gate *gate, const char *at)
{
    bool quoted;
    if (!(gate->column = next_name(&at, &quoted))) return false;
    if (*at == '.') {
        at++;
        gate->row = gate->column;
        gate->exact_row = quoted;
        if (!(gate->column = next_name(&at, &quoted))) return false;
    } else {
        gate->row = gt_strdup("*");
    }
    return next_op(&at, &gate->op) && parse_limit(gate, at);
}

bool gt_gate_parse_measure(gt_gate *gate, const char *condition)
{
    *gate = (gt_gate){.condition = condition};
    if (parse_measure(gate, condition)) return true;
    gt_gate_free(gate);
    return false;
}

void gt_gate_free(gt_gate *gate)
{
    gt_free_all(gate->sheet, gate->row, gate->column);
    *gate = (gt_gate){0};
}

/* ---- comparing with rows ---- */

enum {
    MET_CONDITION,
    MET_REPORT,
    MET_SHEET,
    MET_ROW,
    MET_COLUMN,
    MET_BASELINE,
    MET_VARIANT,
    MET_DIFF,
    MET_PCT
};

gt_table *gt_gate_table(gt_interner *strings)
{
    static const gt_column_head columns[] = {
        {GT_COL_CONDITION, GT_TYPE_STRING}, {GT_COL_REPORT, GT_TYPE_STRING}, {GT_COL_SHEET, GT_TYPE_STRING},
        {GT_COL_ROW, GT_TYPE_STRING},       {GT_COL_COLUMN, GT_TYPE_STRING}, {GT_COL_BASELINE, GT_TYPE_FLOAT},
        {GT_COL_VARIANT, GT_TYPE_FLOAT},    {GT_COL_DIFF, GT_TYPE_FLOAT},    {GT_COL_PCT, GT_TYPE_FLOAT}};
    gt_table *table = gt_table_new(GT_SHEET_FAIL_IF, strings);
    gt_table_add_columns(table, columns, GT_LENGTH(columns));
    return table;
}

static bool is_numbers(const gt_column *column)
{
    return column && (column->type == GT_TYPE_INT || column->type == GT_TYPE_FLOAT);
}

bool gt_gate_matches(const gt_gate *gate, const char *row)
{
    return gate->exact_row ? !strcmp(gate->row, row) : fnmatch(gate->row, row, 0) == 0;
}

static bool is_met(const gt_gate *gate, double change)
{
    switch (gate->op) {
    case GT_GATE_ABOVE:
        return change > gate->limit;
    case GT_GATE_AT_LEAST:
        return change >= gate->limit;
    case GT_GATE_BELOW:
        return change < gate->limit;
    default:
        return change <= gate->limit;
    }
}

static double percent_of(double diff, double base)
{
    return base != 0 ? 100.0 * diff / base : diff == 0 ? 0.0 : copysign(INFINITY, diff);
}

static void add_met(gt_table *met, const gt_gate *gate, const gt_gate_values *values)
{
    size_t row = gt_table_add_row(met);
    gt_table_set_cstr(met, MET_CONDITION, row, gate->condition);
    gt_table_set_cstr(met, MET_REPORT, row, values->report);
    gt_table_set_cstr(met, MET_SHEET, row, values->sheet);
    gt_table_set_cstr(met, MET_ROW, row, values->row);
    gt_table_set_cstr(met, MET_COLUMN, row, values->column);
    gt_table_set_float(met, MET_BASELINE, row, values->baseline);
    gt_table_set_float(met, MET_VARIANT, row, values->variant);
    gt_table_set_float(met, MET_DIFF, row, values->diff);
    gt_table_set_float(met, MET_PCT, row, percent_of(values->diff, values->whole));
}

void gt_gate_compare(gt_gate *gate, const gt_gate_values *values, gt_table *met)
{
    gate->rows_checked++;
    gate->values_checked++;
    if (is_met(gate, gate->percent ? percent_of(values->diff, values->whole) : values->diff))
        add_met(met, gate, values);
}

bool gt_gate_check(gt_gate *gate, const gt_merged *merged, const gt_compare_rule *rule, gt_table *met,
                   gt_error *error)
{
    gt_col column = gate->column ? gt_col_named(gate->column) : rule->differences[0];
    const gt_table *table = merged->table;
    const gt_column *keys = gt_table_column(table, rule->keys[0]),
                    *base = gt_merged_column(merged, 0, column);
    if (keys->type != GT_TYPE_STRING) return true; /* rows of this sheet have no names */
    for (size_t v = 1; v < merged->report_count; v++) {
        const gt_column *variant = gt_merged_column(merged, v, column);
        if (!is_numbers(base) || !is_numbers(variant))
            return gt_fail(error, "'%.200s': sheet %s does not have the number column '%s' in every report",
                           gate->condition, table->name, column.name);
        for (size_t row = 0; row < table->row_count; row++) {
            const char *name = gt_interner_get(table->strings, keys->texts[row]).bytes;
            if (!gt_gate_matches(gate, name)) continue;
            double from = gt_column_number(base, row), to = gt_column_number(variant, row);
            gt_gate_values values = {merged->tags[v], table->name, name, column.name, from, to,
                                     to - from,       from};
            if (isnan(values.baseline) || isnan(values.variant))
                gate->rows_checked++;
            else
                gt_gate_compare(gate, &values, met);
        }
    }
    return true;
}
