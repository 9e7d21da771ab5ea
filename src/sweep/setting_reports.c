/* Finds the reports of a sweep and reads their sheets. */
#include "sweep/setting_reports.h"
#include "base/many.h"
#include "compat/number.h"
#include "os/paths.h"
#include "schema/columns.h"

/* ---- sheets ---- */

static const double MOST_WHOLE = 9007199254740992.0; /* 2^53 */

static double with_16_digits(double number)
{
    char text[GT_NUMBER_MAX];
    if (!isfinite(number) || number == trunc(number)) return number;
    snprintf(text, sizeof text, "%.16g", number);
    return strtod(text, NULL);
}

/* Opens the workbook and finds the sheet. */
static gt_sheet_found open_sheet(const char *path, gt_sheet sheet, gt_workbook **book, size_t *index,
                                 gt_error *error)
{
    *book = gt_workbook_open(path, error);
    if (!*book) return GT_SHEET_BROKEN;
    for (*index = 0; *index < gt_workbook_sheet_count(*book); ++*index)
        if (strcmp(gt_workbook_sheet_name(*book, *index), sheet.name) == 0) return GT_SHEET_READ;
    gt_fail(error, "%s: no sheet %s", path, sheet.name);
    return GT_SHEET_ABSENT;
}

void gt_report_table_round(gt_table *table)
{
    for (size_t c = 0; c < table->column_count; c++)
        for (size_t row = 0; table->columns[c].type == GT_TYPE_FLOAT && row < table->row_count; row++)
            table->columns[c].floats[row] = with_16_digits(table->columns[c].floats[row]);
}

gt_sheet_found gt_read_report_table(const char *path, gt_sheet sheet, gt_interner *strings, gt_table **table,
                                    gt_error *error)
{
    gt_workbook *book;
    size_t index;
    *table = NULL;
    gt_sheet_found found = open_sheet(path, sheet, &book, &index, error);
    if (found == GT_SHEET_READ && !(*table = gt_workbook_table(book, index, strings, error))) {
        gt_error_prefix(error, path);
        found = GT_SHEET_BROKEN;
    }
    if (*table) gt_report_table_round(*table);
    gt_workbook_close(book);
    return found;
}

bool gt_read_report_tables(const char *path, gt_interner *strings, gt_table_list *tables, gt_error *error)
{
    gt_workbook *book = gt_workbook_open(path, error);
    bool read = book != NULL;
    for (size_t i = 0; read && i < gt_workbook_sheet_count(book); i++) {
        gt_table *table = gt_workbook_table(book, i, strings, error);
        read = table != NULL;
        if (!read) {
            gt_error_prefix(error, path);
            break;
        }
        gt_report_table_round(table);
        gt_table_rename(table, gt_sheet_named(gt_workbook_sheet_name(book, i)));
        gt_table_list_add(tables, table);
    }
    gt_workbook_close(book);
    return read;
}

gt_sheet_found gt_read_report_grid(const char *path, gt_sheet sheet, gt_report_grid *grid, gt_error *error)
{
    size_t index;
    *grid = (gt_report_grid){0};
    gt_sheet_found found = open_sheet(path, sheet, &grid->book, &index, error);
    if (found == GT_SHEET_READ && !gt_workbook_grid(grid->book, index, &grid->grid, error)) {
        gt_error_prefix(error, path);
        found = GT_SHEET_BROKEN;
    }
    for (size_t i = 0; i < (size_t)grid->grid.rows * grid->grid.columns; i++)
        if (grid->grid.cells[i].kind == GT_CELL_NUMBER)
            grid->grid.cells[i].number = with_16_digits(grid->grid.cells[i].number);
    return found;
}

void gt_report_grid_close(gt_report_grid *grid)
{
    gt_sheet_grid_free(&grid->grid);
    gt_workbook_close(grid->book);
    *grid = (gt_report_grid){0};
}

uint32_t gt_report_grid_find(const gt_report_grid *grid, gt_col name)
{
    for (uint32_t c = grid->grid.rows ? grid->grid.columns : 0; c-- > 0;) {
        const gt_sheet_cell *cell = gt_sheet_grid_at(&grid->grid, 0, c);
        if (cell->kind == GT_CELL_STRING && cell->len == strlen(name.name) &&
            memcmp(cell->bytes, name.name, cell->len) == 0)
            return c;
    }
    return UINT32_MAX;
}

uint32_t gt_sheet_cell_as_string(const gt_sheet_cell *cell, gt_interner *strings)
{
    char text[GT_NUMBER_MAX];
    switch (cell->kind) {
    case GT_CELL_STRING:
        return gt_interner_add(strings, cell->bytes, cell->len);
    case GT_CELL_BOOL:
        return gt_interner_add_cstr(strings, cell->truth ? "True" : "False");
    case GT_CELL_NUMBER:
        if (!cell->is_real && fabs(cell->number) <= MOST_WHOLE)
            return gt_interner_add(strings, text, gt_print_int(text, (int64_t)cell->number));
        return gt_interner_add(strings, text, gt_print_double(text, cell->number));
    case GT_CELL_MISSING:
        break;
    }
    return GT_STR_NONE;
}

double gt_sheet_cell_as_number(const gt_sheet_cell *cell)
{
    double number;
    switch (cell->kind) {
    case GT_CELL_NUMBER:
        return cell->number;
    case GT_CELL_BOOL:
        return cell->truth;
    case GT_CELL_STRING:
        return gt_python_parse_float((gt_str){cell->bytes, cell->len}, &number) ? number : NAN;
    case GT_CELL_MISSING:
        break;
    }
    return NAN;
}

/* ---- settings and their reports ---- */

enum { VISITED_MAX = 100000 };

typedef struct search {
    gt_setting_reports *reports;
    const gt_reports_wanted *wanted;
    bool any_settings; /* there are folders of settings, with reports or without */
    size_t visited;
} search;

static bool has_ending(const char *name, const char *begin, const char *end)
{
    size_t len = strlen(name);
    return strncmp(name, begin, strlen(begin)) == 0 && len >= strlen(begin) + strlen(end) &&
           strcmp(name + len - strlen(end), end) == 0;
}

/* perf_28ch_rank3.xlsx, also perf_28ch_rank3_more.xlsx: the setting's name in it. NULL if it is not a report;
 * the rank is -1 if it has no number. */
static char *parse_rank_report(const char *name, int64_t *rank)
{
    static const char begin[] = "perf_", mark[] = "_rank";
    if (!has_ending(name, begin, ".xlsx")) return NULL;
    const char *setting = name + strlen(begin), *last = NULL;
    for (const char *at = setting; (at = strstr(at, mark)); at++) {
        const char *digits = at + strlen(mark);
        last = !last || gt_take_number(&digits, rank) ? at : last;
    }
    if (!last) return NULL;
    const char *digits = last + strlen(mark);
    if (!gt_take_number(&digits, rank) || (strcmp(digits, ".xlsx") != 0 && *digits != '_')) *rank = -1;
    return gt_format("%.*s", (int)(last - setting), setting);
}

/* collective_28ch.xlsx */
static char *parse_collective_report(const char *name, int64_t *rank)
{
    static const char begin[] = "collective_", end[] = ".xlsx";
    *rank = 0;
    if (!has_ending(name, begin, end)) return NULL;
    return gt_format("%.*s", (int)(strlen(name) - strlen(begin) - strlen(end)), name + strlen(begin));
}

static void free_report(gt_setting_report *report)
{
    gt_free_all(report->path, report->file);
    gt_table_free(report->table);
}

/* A report of a setting whose other folders are `place`; false if the file's name is that of no setting. */
static bool add_report(search *s, const char *folder, const char *file, const char *place)
{
    int64_t rank;
    bool of_ranks = s->wanted->kind == GT_REPORTS_OF_RANKS;
    char *setting = of_ranks ? parse_rank_report(file, &rank) : parse_collective_report(file, &rank);
    if (!setting) return true;
    gt_sweep *sweep = &s->reports->sweep;
    char *last = gt_folder_of_report(setting);
    bool ours = rank >= 0 && gt_folder_is_axis(last);
    if (ours) {
        char *whole = *place ? gt_format("%s/%s", place, last) : gt_strdup(last);
        gt_setting_report report = {.path = gt_format("%s/%s", folder, file),
                                    .file = gt_strdup(file),
                                    .rank = rank,
                                    .added = gt_sweep_add(sweep, s->wanted->root, whole)};
        GT_PUSH(s->reports->items, s->reports->count, s->reports->capacity, report);
        gt_free(whole);
    }
    gt_free_all(last, setting);
    return ours;
}

/* The reports below one folder of the analysis, whose name is `place`. */
static void search_folder(search *s, const char *place, const gt_folder_chain *above)
{
    if (s->visited++ > VISITED_MAX) return;
    const char *analysis = s->wanted->analysis,
               *kind = s->wanted->kind == GT_REPORTS_OF_RANKS ? "individual_reports" : "collective_reports";
    char *here = *place ? gt_format("%s/%s", analysis, place) : gt_strdup(analysis);
    char *folder = gt_format("%s/%s", here, kind);
    gt_folder_chain chain;
    gt_folder_list files = {0}, names = {0};
    if (gt_folder_enter(&chain, above, here)) {
        files = gt_list_folder(folder);
        names = gt_list_folder(here);
    }
    for (size_t i = 0; i < files.count; i++)
        if (!add_report(s, folder, files.items[i], place))
            gt_warn("%s/%s: skipped, no channel number or rank in the name", folder, files.items[i]);
    for (size_t i = 0; i < names.count; i++) {
        char *path = gt_format("%s/%s", here, names.items[i]);
        char *inner = *place ? gt_format("%s/%s", place, names.items[i]) : gt_strdup(names.items[i]);
        bool is_setting = gt_folder_is_axis(names.items[i]) && gt_path_is_folder(path);
        s->any_settings = s->any_settings || is_setting;
        if (is_setting) search_folder(s, inner, &chain);
        gt_free_all(path, inner);
    }
    gt_folder_list_free(&files);
    gt_folder_list_free(&names);
    gt_free_all(folder, here);
}

/* Tables have the number of threads. */
static bool check_threads(const gt_sweep *sweep, const char *analysis, gt_error *error)
{
    size_t axis = gt_sweep_axis_named(sweep, "threads");
    for (size_t i = 0; axis != SIZE_MAX && i < sweep->count; i++) {
        const char *value = sweep->configs[i].values[axis].value, *at = value;
        int64_t number;
        if (value && (!gt_take_number(&at, &number) || *at))
            return gt_fail(error, "%s/%sthread: no thread number in the name", analysis, value);
    }
    return true;
}

GT_ORDER_BY(by_run, gt_setting_report, GT_UP(config) GT_UP(rank) GT_UP_TEXT(file))

static int by_path(const void *a, const void *b)
{
    return strcmp(((const gt_setting_report *)a)->path, ((const gt_setting_report *)b)->path);
}

/* Finds the run of each report, drops the reports of runs that are left out, and sorts them. */
static void connect(gt_setting_reports *reports, gt_report_kind kind)
{
    const gt_sweep *sweep = &reports->sweep;
    const gt_sweep_config **by_added = gt_alloc_zero(sweep->added, sizeof *by_added);
    size_t kept = 0;
    for (size_t i = 0; i < sweep->count; i++) by_added[sweep->configs[i].added] = &sweep->configs[i];
    for (size_t i = 0; i < reports->count; i++) {
        gt_setting_report report = reports->items[i];
        report.config = by_added[report.added];
        if (report.config)
            reports->items[kept++] = report;
        else
            free_report(&report);
    }
    reports->count = kept;
    gt_free(by_added);
    bool by_names = kind == GT_REPORTS_COLLECTIVE && sweep->is_classic;
    if (kept) qsort(reports->items, kept, sizeof *reports->items, by_names ? by_path : by_run);
}

static bool find_below(gt_setting_reports *reports, const gt_reports_wanted *wanted, gt_error *error)
{
    search s = {.reports = reports, .wanted = wanted};
    const char *analysis = wanted->analysis;
    gt_sweep_begin(&reports->sweep, wanted->root);
    search_folder(&s, "", NULL);
    gt_sweep_finish(&reports->sweep);
    if (!gt_path_is_folder(analysis))
        return gt_fail(error, "no folder %s in %s", gt_path_name(analysis), wanted->root);
    if (!reports->count && !s.any_settings)
        return gt_fail(error, "no reports in %s: no *thread directories and no folders NAME_value", analysis);
    if (!check_threads(&reports->sweep, analysis, error)) return false;
    if (!wanted->any_status) {
        gt_sweep_leave_out_failed(&reports->sweep, wanted->include_failed);
        gt_sweep_leave_out_other_commands(&reports->sweep);
    }
    connect(reports, wanted->kind);
    return reports->count ||
           gt_fail(error, "no %s reports in %s",
                   wanted->kind == GT_REPORTS_OF_RANKS ? "individual" : "collective", analysis);
}

bool gt_setting_reports_find(gt_setting_reports *reports, const gt_reports_wanted *wanted, gt_error *error)
{
    *reports = (gt_setting_reports){0};
    if (wanted->root && !gt_path_is_folder(wanted->root))
        return gt_fail(error, "Sweep directory does not exist: %s", wanted->root);
    gt_reports_wanted whole = *wanted;
    char *above = gt_format("%s/..", wanted->analysis);
    if (!whole.root) whole.root = above;
    bool found = find_below(reports, &whole, error);
    gt_free(above);
    return found;
}

typedef struct job {
    gt_setting_reports *reports;
    gt_sheet sheet;
    gt_interner *strings;
    gt_interner **own; /* by report: the strings of its table until it is kept */
} job;

static bool read_report(void *context, size_t index)
{
    job *j = context;
    gt_setting_report *report = &j->reports->items[index];
    gt_error error = {""};
    j->own[index] = gt_interner_new();
    if (gt_read_report_table(report->path, j->sheet, j->own[index], &report->table, &error) != GT_SHEET_READ)
        gt_warn("%s: skipped", error.text);
    return true;
}

static void keep_report(void *context, size_t index)
{
    job *j = context;
    gt_table *table = j->reports->items[index].table;
    if (table) gt_table_use_strings(table, j->strings);
    gt_interner_free(j->own[index]);
}

void gt_setting_reports_read(gt_setting_reports *reports, gt_sheet sheet, gt_interner *strings)
{
    job j = {.reports = reports, .sheet = sheet, .strings = strings};
    j.own = gt_alloc_zero(reports->count, sizeof *j.own);
    gt_many_run(
        &(gt_many){.count = reports->count, .work = read_report, .finish = keep_report, .context = &j});
    gt_free(j.own);
}

void gt_setting_reports_free(gt_setting_reports *reports)
{
    for (size_t i = 0; i < reports->count; i++) free_report(&reports->items[i]);
    gt_free(reports->items);
    gt_sweep_free(&reports->sweep);
    *reports = (gt_setting_reports){0};
}

void gt_add_string_column(gt_table *table, gt_col name, const char *text)
{
    uint32_t id = gt_interner_add_cstr(table->strings, text);
    size_t column = gt_table_add_column(table, name, GT_TYPE_STRING);
    for (size_t row = 0; row < table->row_count; row++) gt_table_set_string(table, column, row, id);
}

/* ---- columns of a run ---- */

enum { AXIS_PLAIN, AXIS_THREADS, AXIS_CHANNELS };

static int kind_of_axis(const gt_sweep_dimension *axis)
{
    if (strcmp(axis->name, "threads") == 0) return AXIS_THREADS;
    return strcmp(axis->name, "channels") == 0 ? AXIS_CHANNELS : AXIS_PLAIN;
}

size_t gt_setting_columns(const gt_sweep *sweep, gt_col *columns)
{
    static const gt_col pairs[][2] = {[AXIS_THREADS] = {GT_COL_THREADS_NUM, GT_COL_THREAD_CONFIG},
                                      [AXIS_CHANNELS] = {GT_COL_CHANNELS_NUM, GT_COL_CHANNEL_CONFIG}};
    size_t count = 0;
    columns[count++] = GT_COL_FULL_CONFIG;
    for (size_t i = 0; i < sweep->axis_count; i++) {
        int kind = kind_of_axis(&sweep->axes[i]);
        columns[count++] = kind == AXIS_PLAIN ? gt_col_named(sweep->axes[i].column) : pairs[kind][0];
        if (kind != AXIS_PLAIN) columns[count++] = pairs[kind][1];
    }
    if (sweep->repeats > 1) columns[count++] = GT_COL_REPEAT;
    if (sweep->failed) columns[count++] = GT_COL_RUN_STATUS;
    return count;
}

static void add_int_column(gt_table *table, gt_col name, int64_t number)
{
    size_t column = gt_table_add_column(table, name, GT_TYPE_INT);
    for (size_t row = 0; row < table->row_count; row++) gt_table_set_int(table, column, row, number);
}

/* The value as a number if all values of the axis are numbers; null if the run has no such axis. */
static void add_value_column(gt_table *table, gt_col name, const gt_sweep_dimension *axis, const char *value)
{
    gt_type type = axis->is_whole ? GT_TYPE_INT : axis->is_numeric ? GT_TYPE_FLOAT : GT_TYPE_STRING;
    if (!value)
        gt_table_add_column(table, name, type);
    else if (type == GT_TYPE_INT)
        add_int_column(table, name, strtoll(value, NULL, 10));
    else if (type == GT_TYPE_STRING)
        gt_add_string_column(table, name, value);
    else {
        size_t column = gt_table_add_column(table, name, type);
        for (size_t row = 0; row < table->row_count; row++)
            gt_table_set_float(table, column, row, strtod(value, NULL));
    }
}

void gt_add_setting_columns(gt_table *table, const gt_sweep *sweep, const gt_sweep_config *config)
{
    gt_col columns[GT_SETTING_COLUMNS_MAX];
    size_t next = 1;
    gt_setting_columns(sweep, columns);
    gt_add_string_column(table, columns[0], config->name);
    for (size_t i = 0; i < sweep->axis_count; i++) {
        const char *value = config->values[i].value;
        int kind = kind_of_axis(&sweep->axes[i]);
        add_value_column(table, columns[next++], &sweep->axes[i], value);
        if (kind == AXIS_PLAIN) continue;
        char *text = gt_format("%s%s", value ? value : "", kind == AXIS_THREADS ? "thread" : "ch");
        gt_add_string_column(table, columns[next++], value ? text : "");
        gt_free(text);
    }
    if (sweep->repeats > 1) add_int_column(table, columns[next++], config->repeat);
    if (sweep->failed) gt_add_string_column(table, columns[next], gt_run_status_names[config->status]);
}
