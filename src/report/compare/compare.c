/* The comparison of reports: the table `rules` states how each sheet is compared; by it sheets are read,
 * merged and split. */
#include "report/compare/compare.h"
#include "report/summary.h"
#include "schema/columns.h"

enum { NAMES_MAX = 8, ROWS_SHOWN = 10 };

#define WATERFALL "waterfall"

static const char *const groups[] = {WATERFALL, "gpu_timeline", "ops_summary", "kernel_summary",
                                     "ops_all", "roofline",     NULL};

const char *gt_compare_group(size_t index)
{
    return groups[index];
}

typedef struct rule {
    const char *group;
    gt_sheet sheet;
    gt_sheet result; /* none: the same name */
    gt_col needs;    /* if the baseline lacks this column, the next rule of the sheet applies */
    bool is_split;   /* three sheets per variant instead of one sheet */
    bool param_keys; /* the "param: ..." columns that all reports have are keys too */
    bool is_sorted;  /* by the baseline's first difference column, descending; else by key */
    gt_col keys[NAMES_MAX], differences[NAMES_MAX];
    gt_col finer_keys[GT_COMPARE_KEYS_MAX]; /* which of the rows with equal keys belong together */
    gt_col dropped[NAMES_MAX];              /* from every report */
    gt_col dropped_variants[NAMES_MAX];     /* from all but the baseline */
    const char *hidden[2 * NAMES_MAX];      /* suffixes of columns that a workbook hides */
} rule;

#define OP_KEYS                                                                                              \
    {                                                                                                        \
        GT_COL_NAME, GT_COL_INPUT_TYPE, GT_COL_INPUT_DIMS, GT_COL_INPUT_STRIDES, GT_COL_CONCRETE_INPUTS      \
    }
#define OP_HIDDEN                                                                                            \
    {                                                                                                        \
        "kernel_names", "median", "std", "min", "max", "ex_UID"                                              \
    }
#define OP_TIMES                                                                                             \
    {                                                                                                        \
        GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM, GT_COL_TOTAL_DIRECT_KERNEL_TIME_MEAN, GT_COL_OPERATION_COUNT    \
    }
#define OPS(sheet_name, ...)                                                                                 \
    {                                                                                                        \
        .group = "ops_all", .sheet = sheet_name, .is_split = true, .keys = OP_KEYS,                          \
        .differences = __VA_ARGS__, .hidden = OP_HIDDEN                                                      \
    }
#define ROOFLINE(sheet_name, result_name)                                                                    \
    {                                                                                                        \
        .group = "roofline", .sheet = sheet_name, .result = result_name, .is_split = true,                   \
        .param_keys = true, .keys = {GT_COL_NAME},                                                           \
        .differences = {GT_COL_KERNEL_TIME_US_SUM, GT_COL_KERNEL_TIME_US_MEAN, GT_COL_NAME_COUNT,            \
                        GT_COL_TFLOPS_PER_S_MEAN, GT_COL_TB_PER_S_MEAN},                                     \
        .dropped_variants = {GT_COL_GFLOPS_FIRST,         GT_COL_DATA_MOVED_MB_FIRST,                        \
                             GT_COL_FLOPS_PER_BYTE_FIRST, GT_COL_INPUT_TYPE_FIRST,                           \
                             GT_COL_INPUT_DIMS_FIRST,     GT_COL_INPUT_STRIDES_FIRST,                        \
                             GT_COL_CONCRETE_INPUTS_FIRST},                                                  \
        .hidden = {                                                                                          \
            "kernel_names_first",                                                                            \
            "UID",                                                                                           \
            "median",                                                                                        \
            "std",                                                                                           \
            "min",                                                                                           \
            "max",                                                                                           \
            "Input type_first",                                                                              \
            "Input Dims_first",                                                                              \
            "Input Strides_first",                                                                           \
            "Concrete Inputs_first"                                                                          \
        }                                                                                                    \
    }

static const rule rules[] = {
    {.group = "gpu_timeline",
     .sheet = GT_SHEET_GPU_TIMELINE,
     .keys = {GT_COL_TYPE},
     .differences = {GT_COL_TIME_MS}},
    {.group = "ops_summary",
     .sheet = GT_SHEET_OPS_SUMMARY,
     .is_sorted = true,
     .keys = {GT_COL_NAME},
     .differences = {GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS, GT_COL_COUNT_TITLE},
     .dropped = {GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM},
     .dropped_variants = {GT_COL_CUMULATIVE_PERCENTAGE_PCT}},
    {.group = "kernel_summary",
     .sheet = GT_SHEET_KERNEL_SUMMARY,
     .needs = GT_COL_KERNEL_NAME,
     .is_sorted = true,
     .keys = {GT_COL_KERNEL_NAME},
     .differences = {GT_COL_KERNEL_DURATION_US_SUM, GT_COL_KERNEL_DURATION_US_MEAN,
                     GT_COL_KERNEL_DURATION_US_COUNT},
     .finer_keys = {GT_COL_PARENT_CPU_OP, GT_COL_KERNEL_STREAM},
     .dropped = {GT_COL_KERNEL_DURATION_US_MIN, GT_COL_KERNEL_DURATION_US_MAX, GT_COL_PARENT_OP_CATEGORY},
     .dropped_variants = {GT_COL_CUMULATIVE_PERCENTAGE_PCT}},
    {.group = "kernel_summary",
     .sheet = GT_SHEET_KERNEL_SUMMARY,
     .is_sorted = true,
     .keys = {GT_COL_NAME},
     .differences = {GT_COL_TOTAL_KERNEL_TIME_MS, GT_COL_MEAN_KERNEL_TIME_US, GT_COL_COUNT_TITLE},
     .dropped = {GT_COL_TOTAL_KERNEL_TIME_US, GT_COL_MEDIAN_KERNEL_TIME_US, GT_COL_STD_KERNEL_TIME_US,
                 GT_COL_MIN_KERNEL_TIME_US, GT_COL_MAX_KERNEL_TIME_US, GT_COL_CATEGORY},
     .dropped_variants = {GT_COL_CUMULATIVE_PERCENTAGE_PCT}},
    OPS(GT_SHEET_OPS_ALL, OP_TIMES),
    OPS(GT_SHEET_OPS_UNIQUE_ARGS, OP_TIMES),
    OPS(GT_SHEET_UNIFIED_PERF_SUMMARY,
        {GT_COL_KERNEL_TIME_US_SUM, GT_COL_KERNEL_TIME_US_MEAN, GT_COL_OPERATION_COUNT}),
    ROOFLINE(GT_SHEET_GEMM, GT_NO_SHEET),
    ROOFLINE(GT_SHEET_SDPA_FWD, GT_NO_SHEET),
    ROOFLINE(GT_SHEET_SDPA_BWD, GT_NO_SHEET),
    ROOFLINE(GT_SHEET_CONV_FWD, GT_NO_SHEET),
    ROOFLINE(GT_SHEET_CONV_BWD, GT_NO_SHEET),
    ROOFLINE(GT_SHEET_UNARY_ELEMENTWISE, GT_SHEET_UN_ELTWISE),
    ROOFLINE(GT_SHEET_BINARY_ELEMENTWISE, GT_SHEET_BIN_ELTWISE),
};
enum { RULES = GT_LENGTH(rules) };

/* Other names of the same sheet in older reports and reports of other tools. */
static const struct {
    gt_sheet sheet, alias;
    bool variants_only; /* in a baseline, the alias has its own rule */
} aliases[] = {
    {GT_SHEET_OPS_SUMMARY, GT_SHEET_KERNEL_LAUNCHERS_SUMMARY, false},
    {GT_SHEET_OPS_UNIQUE_ARGS, GT_SHEET_OPS_ALL, true},
    {GT_SHEET_OPS_ALL, GT_SHEET_OPS_UNIQUE_ARGS, true},
    {GT_SHEET_OPS_UNIQUE_ARGS, GT_SHEET_KERNEL_LAUNCHERS_UNIQUE_ARGS, false},
    {GT_SHEET_OPS_ALL, GT_SHEET_KERNEL_LAUNCHERS_UNIQUE_ARGS, true},
    {GT_SHEET_UNARY_ELEMENTWISE, GT_SHEET_UN_ELTWISE, false},
    {GT_SHEET_UNARY_ELEMENTWISE, GT_SHEET_BATCH_UNARY, false},
    {GT_SHEET_BINARY_ELEMENTWISE, GT_SHEET_BIN_ELTWISE, false},
    {GT_SHEET_BINARY_ELEMENTWISE, GT_SHEET_BATCH_BINARY, false},
    {GT_SHEET_GEMM, GT_SHEET_BATCH_GEMM, false},
};

/* ---- lists of names ---- */

static size_t count_columns(const gt_col *names, size_t max)
{
    size_t count = 0;
    while (count < max && names[count].name) count++;
    return count;
}

static bool has_column(const gt_table *table, gt_col name)
{
    return gt_table_find(table, name) != SIZE_MAX;
}

static void drop_columns(gt_table *table, const gt_col *names)
{
    for (size_t i = 0; i < NAMES_MAX && names[i].name; i++)
        if (has_column(table, names[i])) gt_table_drop_column(table, gt_table_find(table, names[i]));
}

/* ---- one sheet of all reports ---- */

typedef struct work {
    const gt_compare_report *reports;
    size_t report_count;
    const gt_compare_options *options;
    gt_interner *strings;
    gt_table_list *tables;
    gt_table *met;      /* NULL without gates */
    size_t *sheets_met; /* per gate: the number of sheets it was checked on */
} work;

/* One sheet of all reports that have it, the baseline first. */
typedef struct sources {
    gt_compared *items;
    gt_table **tables; /* owned */
    size_t count;
    gt_col *keys;
    size_t key_count, key_capacity;
} sources;

static void sources_free(sources *s)
{
    for (size_t i = 0; i < s->count; i++) gt_table_free(s->tables[i]);
    gt_free_all(s->items, s->tables, s->keys);
}

/* The name that a report has for the sheet; none if it has no such sheet. */
static gt_sheet sheet_in_report(const gt_compare_report *report, gt_sheet sheet, bool is_baseline)
{
    if (gt_perf_sheets_has(report->sheets, sheet)) return sheet;
    for (size_t i = 0; i < GT_LENGTH(aliases); i++)
        if (!strcmp(aliases[i].sheet.name, sheet.name) && !(is_baseline && aliases[i].variants_only) &&
            gt_perf_sheets_has(report->sheets, aliases[i].alias))
            return aliases[i].alias;
    return GT_NO_SHEET;
}

static bool is_asked_for(const gt_compare_options *options, const char *group)
{
    for (size_t i = 0; i < options->group_count; i++)
        if (!strcmp(options->groups[i], group)) return true;
    return false;
}

/* The first column that the rule needs and the sheet lacks; none if it has them all. */
static gt_col lacking_column(const gt_table *table, const rule *how)
{
    for (size_t i = 0; i < NAMES_MAX && how->keys[i].name; i++)
        if (!has_column(table, how->keys[i])) return how->keys[i];
    return has_column(table, how->differences[0]) ? GT_NO_COL : how->differences[0];
}

/* Reads the sheet of one report, if it can be compared. False if reading fails. */
static bool add_source(work *w, sources *s, const gt_compare_report *report, const rule *how, gt_error *error)
{
    bool is_baseline = report == w->reports;
    gt_sheet name = sheet_in_report(report, how->sheet, is_baseline);
    if (!name.name) {
        if (!is_baseline) gt_info("%s has no sheet '%s'", report->path, how->sheet.name);
        return true;
    }
    gt_table *table = gt_perf_sheets_read(report->sheets, name, w->strings, error);
    if (!table) return false;
    const char *lacking = lacking_column(table, how).name;
    if (lacking) {
        if (table->column_count || !how->param_keys)
            gt_info("sheet '%s' of %s has no column '%s' and is skipped", name.name, report->path, lacking);
        else
            gt_info("sheet '%s' of %s is empty and is skipped", name.name, report->path);
        gt_table_free(table);
        return true;
    }
    s->items[s->count] = (gt_compared){report->tag, table};
    s->tables[s->count++] = table;
    return true;
}

/* Whether another rule applies because the baseline is of another kind. */
static bool is_of_other_kind(const work *w, const rule *how, bool *other, gt_error *error)
{
    gt_sheet name = how->needs.name ? sheet_in_report(&w->reports[0], how->sheet, true) : GT_NO_SHEET;
    *other = false;
    if (!name.name) return true;
    gt_table *table = gt_perf_sheets_read(w->reports[0].sheets, name, w->strings, error);
    *other = table && !has_column(table, how->needs);
    gt_table_free(table);
    return table != NULL;
}

GT_ORDER_BY(by_name, gt_col, GT_UP_TEXT(name))

static void collect_keys(sources *s, const rule *how)
{
    for (size_t i = 0; i < NAMES_MAX && how->keys[i].name; i++)
        GT_PUSH(s->keys, s->key_count, s->key_capacity, how->keys[i]);
    if (!how->param_keys) return;
    size_t fixed = s->key_count;
    gt_column_index *indices = gt_alloc(s->count * sizeof *indices);
    for (size_t i = 0; i < s->count; i++) indices[i] = gt_column_index_new(s->tables[i]);
    for (size_t c = 0; c < s->tables[0]->column_count; c++) {
        gt_col name = gt_col_named(s->tables[0]->columns[c].name);
        bool common = !strncmp(name.name, "param:", strlen("param:"));
        for (size_t i = 1; i < s->count; i++)
            common = common && gt_column_index_find(&indices[i], name) != SIZE_MAX;
        if (common) GT_PUSH(s->keys, s->key_count, s->key_capacity, name);
    }
    for (size_t i = 0; i < s->count; i++) gt_column_index_free(&indices[i]);
    gt_free(indices);
    qsort(s->keys + fixed, s->key_count - fixed, sizeof *s->keys, by_name);
}

static bool any_is_empty(const sources *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (!s->tables[i]->row_count) return true;
    return false;
}

/* ---- results ---- */

static void hide_columns(gt_table *table, const rule *how)
{
    for (size_t c = 0; c < table->column_count; c++)
        for (size_t i = 0; i < 2 * NAMES_MAX && how->hidden[i]; i++)
            if (gt_ends_with(table->columns[c].name, how->hidden[i])) table->columns[c].hidden = true;
}

static void add_splits(work *w, const gt_merged *merged, const rule *how, gt_sheet result)
{
    for (size_t variant = 1; variant < merged->report_count; variant++)
        for (gt_split_kind split = 0; split < GT_SPLITS; split++) {
            char *name = gt_format("%s_%s_%s", result.name, gt_split_names[split], merged->tags[variant]);
            gt_table *table =
                gt_compare_split(merged, gt_sheet_named(name), split, variant, how->differences[0]);
            hide_columns(table, how);
            gt_table_list_add(w->tables, table);
            gt_free(name);
        }
}

static bool is_gate_on(const gt_gate *gate, const rule *how)
{
    return strcmp(gate->sheet, how->sheet.name) == 0 ||
           (how->result.name && strcmp(gate->sheet, how->result.name) == 0);
}

static bool check_gates(work *w, const gt_merged *merged, const gt_compare_rule *by, const rule *how,
                        gt_error *error)
{
    for (size_t i = 0; i < w->options->gate_count; i++) {
        gt_gate *gate = &w->options->gates[i];
        if (!is_gate_on(gate, how)) continue;
        w->sheets_met[i]++;
        if (!gt_gate_check(gate, merged, by, w->met, error)) return false;
    }
    return true;
}

static bool is_paired(const work *w, const rule *how)
{
    bool is_paired = !how->is_split && w->options->shown;
    for (size_t i = 0; i < w->options->gate_count; i++)
        is_paired = is_paired || is_gate_on(&w->options->gates[i], how);
    return is_paired;
}

/* Checks the conditions on the sheet, and gives the summary what it shows of it. */
static bool judge_pairs(work *w, const sources *s, const gt_compare_rule *by, const rule *how,
                        gt_error *error)
{
    gt_compare_rule one_to_one = *by;
    one_to_one.is_one_to_one = true;
    gt_merged *merged = gt_compare_merge(how->sheet, s->items, s->count, &one_to_one, error);
    if (!merged) return false;
    if (how->is_sorted) gt_merged_sort(merged, 0, how->differences[0]);
    bool ok = check_gates(w, merged, &one_to_one, how, error);
    if (ok && !how->is_split && w->options->shown) {
        gt_table_list_add(w->options->shown, merged->table);
        merged->table = NULL;
    }
    gt_merged_free(merged);
    return ok;
}

static bool compare_sources(work *w, sources *s, const rule *how, gt_error *error)
{
    for (size_t i = 0; i < s->count; i++) {
        drop_columns(s->tables[i], how->dropped);
        if (i) drop_columns(s->tables[i], how->dropped_variants);
    }
    collect_keys(s, how);
    gt_compare_rule by = {.keys = s->keys,
                          .key_count = s->key_count,
                          .differences = how->differences,
                          .difference_count = count_columns(how->differences, NAMES_MAX),
                          .finer_keys = how->finer_keys,
                          .finer_key_count = count_columns(how->finer_keys, GT_COMPARE_KEYS_MAX)};
    if (is_paired(w, how) && !judge_pairs(w, s, &by, how, error)) return false;
    gt_sheet result = how->result.name ? how->result : how->sheet;
    gt_merged *merged = gt_compare_merge(how->sheet, s->items, s->count, &by, error);
    if (!merged) return false;
    if (how->is_sorted) gt_merged_sort(merged, 0, how->differences[0]);
    if (how->is_split) {
        add_splits(w, merged, how, result);
    } else {
        gt_table_list_add(w->tables, merged->table);
        merged->table = NULL;
    }
    gt_merged_free(merged);
    return true;
}

/* Reads the sheet of every report, the baseline first; without the baseline's, none is kept. */
static bool read_sources(work *w, sources *s, const rule *how, gt_error *error)
{
    for (size_t i = 0; i < w->report_count && (i == 0 || s->count); i++)
        if (!add_source(w, s, &w->reports[i], how, error)) return false;
    return true;
}

static bool compare_sheet(work *w, const rule *how, bool *found, gt_error *error)
{
    sources s = {.items = gt_alloc_zero(w->report_count, sizeof *s.items),
                 .tables = gt_alloc_zero(w->report_count, sizeof *s.tables)};
    bool ok = read_sources(w, &s, how, error);
    *found = *found || s.count > 0;
    if (ok && s.count > 1) {
        if (how->param_keys && any_is_empty(&s))
            gt_info("Skipping roofline sheet '%s' because one of the reports is empty.", how->sheet.name);
        else
            ok = compare_sources(w, &s, how, error);
    }
    sources_free(&s);
    return ok;
}

/* ---- all sheets ---- */

static bool compare_group(work *w, const char *group, gt_error *error)
{
    bool found = false;
    for (const rule *how = rules; how < rules + RULES; how++) {
        bool other;
        if (strcmp(how->group, group) != 0) continue;
        if (!is_of_other_kind(w, how, &other, error)) return false;
        if (other) continue;
        if (!compare_sheet(w, how, &found, error)) return false;
        while (how->needs.name) how++; /* the rules of the same sheet for other kinds */
    }
    if (found) return true;
    if (is_asked_for(w->options, group))
        return gt_fail(error, "%s has no sheet of the group %s", w->reports[0].path, group);
    gt_info("%s has no sheet of the group %s", w->reports[0].path, group);
    return true;
}

static bool compare_steps(work *w, gt_error *error)
{
    char *why_not;
    bool asked = is_asked_for(w->options, WATERFALL);
    for (size_t i = 0; i < w->options->gate_count; i++)
        asked = asked || strcmp(w->options->gates[i].sheet, GT_SHEET_WATERFALL.name) == 0;
    gt_compare_differences(w->reports, w->report_count, w->strings, w->tables);
    bool ok = gt_compare_waterfall(w->reports, w->report_count, w->options, w->strings, w->tables,
                                   w->sheets_met, w->met, &why_not, error);
    if (ok && why_not && asked)
        ok = gt_fail(error, "no waterfall: %s", why_not);
    else if (ok && why_not)
        gt_info("no waterfall: %s", why_not);
    if (ok && why_not && w->options->why_no_waterfall) {
        *w->options->why_no_waterfall = why_not;
        return true;
    }
    gt_free(why_not);
    return ok;
}

/* A gate that applies to nothing would always pass. Of a waterfall, what did not change has no row, so those
 * that check it warn. */
static bool check_gates_applied(const work *w, gt_error *error)
{
    for (size_t i = 0; i < w->options->gate_count; i++) {
        const gt_gate *gate = &w->options->gates[i];
        if (!w->sheets_met[i])
            return gt_fail(error, "--fail_if '%.300s': no sheet '%.100s' was compared", gate->condition,
                           gate->sheet);
        if (strcmp(gate->sheet, GT_SHEET_WATERFALL.name) == 0) continue;
        if (!gate->rows_checked)
            return gt_fail(error, "--fail_if '%.300s': sheet %.100s has no row '%.300s'", gate->condition,
                           gate->sheet, gate->row);
        if (!gate->values_checked)
            gt_warn("--fail_if '%s': no row has a value in both reports", gate->condition);
    }
    return true;
}

bool gt_compare_tables(const gt_compare_report *reports, size_t count, const gt_compare_options *options,
                       gt_interner *strings, gt_table_list *tables, gt_error *error)
{
    work w = {
        .reports = reports, .report_count = count, .options = options, .strings = strings, .tables = tables};
    w.sheets_met = gt_alloc_zero(options->gate_count, sizeof *w.sheets_met);
    if (options->gate_count) w.met = gt_gate_table(strings);
    bool ok = true;
    for (size_t i = 0; groups[i] && ok; i++) {
        if (options->group_count && !is_asked_for(options, groups[i])) continue;
        if (strcmp(groups[i], WATERFALL) != 0)
            ok = compare_group(&w, groups[i], error);
        else if (!options->reports_only)
            ok = compare_steps(&w, error);
    }
    ok = ok && check_gates_applied(&w, error);
    if (ok && !tables->count) ok = gt_fail(error, "the reports have no sheet in common that can be compared");
    if (ok && w.met)
        gt_table_list_add(tables, w.met);
    else
        gt_table_free(w.met);
    gt_free(w.sheets_met);
    return ok;
}

/* ---- terminal summary ---- */

/* A narrow terminal shows the first columns; the name is last, where it may be cut. */
static void print_change(const gt_terminal *terminal, const gt_table *table, const rule *how,
                         const char *base, const char *variant)
{
    const char *column = how->differences[0].name;
    char *from = gt_format("%s::%s", base, column), *to = gt_format("%s::%s", variant, column);
    char *diff = gt_format("%s__%s_diff", column, variant), *pct = gt_format("%s__%s_pct", column, variant);
    char *heading = gt_format("%s, %s: %s against %s", how->sheet.name, column, variant, base);
    const gt_terminal_column columns[] = {
        {gt_col_named(from), base, 3, NULL},     {gt_col_named(to), variant, 3, NULL},
        {gt_col_named(diff), "change", 3, NULL}, {gt_col_named(pct), "%", 1, "%"},
        {how->keys[0], NULL, 0, NULL},
    };
    if (has_column(table, gt_col_named(diff))) {
        fputc('\n', terminal->file);
        gt_terminal_heading(terminal, heading);
        gt_summary_rows(terminal, table, columns, GT_LENGTH(columns), ROWS_SHOWN);
    }
    gt_free(from), gt_free(to), gt_free(diff), gt_free(pct), gt_free(heading);
}

void gt_compare_print_met(FILE *out, const gt_table *met)
{
    gt_terminal of_stream = gt_terminal_for(out), *terminal = &of_stream;
    static const gt_terminal_column columns[] = {
        {GT_COL_PCT, "change %", 2, "%"},  {GT_COL_DIFF, "change", 3, NULL}, {GT_COL_BASELINE, NULL, 3, NULL},
        {GT_COL_VARIANT, NULL, 3, NULL},   {GT_COL_REPORT, NULL, 0, NULL},   {GT_COL_ROW, NULL, 0, NULL},
        {GT_COL_CONDITION, NULL, 0, NULL},
    };
    fputc('\n', terminal->file);
    if (!met->row_count) {
        fprintf(terminal->file, "No --fail_if condition is met.\n");
        return;
    }
    gt_terminal_heading(terminal, "Met --fail_if conditions");
    gt_terminal_rows(terminal, met, columns, GT_LENGTH(columns), met->row_count);
}

/* "; step times are those of GPU 1 of a, GPU 0 of b" if traces have several devices. */
static void print_devices(const gt_terminal *terminal, const gt_compare_report *reports, size_t count)
{
    enum { DEVICE_WIDTH = 40 };
    const char *before = "; step times are those of";
    for (size_t i = 0; i < count; i++) {
        if (!reports[i].judged) continue;
        gt_buffer device = {0};
        gt_str judged = {reports[i].judged, strlen(reports[i].judged)};
        gt_display_add_cut(&device, judged, DEVICE_WIDTH, terminal->utf8);
        fprintf(terminal->file, "%s %s of %s", before, gt_buffer_str(&device).bytes, reports[i].tag);
        before = ",";
        gt_buffer_free(&device);
    }
    fputc('\n', terminal->file);
}

void gt_compare_print_summary(FILE *out, const gt_compare_report *reports, size_t count,
                              const gt_table_list *tables, const gt_table_list *shown)
{
    gt_terminal terminal = gt_terminal_for(out);
    fprintf(out, "%s, the baseline, against %zu other report%s", reports[0].tag, count - 1,
            count > 2 ? "s" : "");
    print_devices(&terminal, reports, count);
    const gt_table *waterfall = gt_table_list_find(tables, GT_SHEET_WATERFALL);
    gt_compare_print_differences(&terminal, tables);
    if (waterfall) gt_compare_print_waterfall(&terminal, waterfall);
    for (const rule *how = rules; how < rules + RULES; how++) {
        const gt_table *table = how->is_split ? NULL : gt_table_list_find(shown, how->sheet);
        if (!table || !has_column(table, how->keys[0])) continue;
        for (size_t variant = 1; variant < count; variant++)
            print_change(&terminal, table, how, reports[0].tag, reports[variant].tag);
    }
}
