/* Finds the reports of a sweep and reads their sheets. */
#include "sweep/setting_reports.h"
#include "base/log.h"
#include "base/many.h"
#include "base/memory.h"
#include "base/number.h"
#include "compat/number.h"
#include "os/paths.h"
#include "schema/columns.h"
#include "sweep/layout.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void round_columns(gt_table *table)
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
    if (*table) round_columns(*table);
    gt_workbook_close(book);
    return found;
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

/* "256" of "256thread": the name without the suffix, which must be a number. */
static bool number_without(const char *name, const char *word, int64_t *number)
{
    const char *at = strstr(name, word);
    char *rest = gt_format("%.*s%s", (int)(at ? at - name : 0), name, at ? at + strlen(word) : name);
    const char *digits = rest;
    bool whole = gt_take_number(&digits, number) && !*digits;
    gt_free(rest);
    return whole;
}

static bool has_ending(const char *name, const char *begin, const char *end)
{
    size_t len = strlen(name);
    return strncmp(name, begin, strlen(begin)) == 0 && len >= strlen(begin) + strlen(end) &&
           strcmp(name + len - strlen(end), end) == 0;
}

/* perf_28ch_rank3.xlsx */
static bool parse_rank_report(const char *name, gt_setting_report *report)
{
    if (!has_ending(name, "perf_", ".xlsx")) return false;
    const char *channel = name + strlen("perf_"), *mark = strchr(channel, '_');
    if (!mark || strncmp(mark, "_rank", 5) != 0) return false;
    const char *rank = mark + 5;
    report->channel_config = gt_format("%.*s", (int)(mark - channel), channel);
    return number_without(report->channel_config, "ch", &report->channels) &&
           gt_take_number(&rank, &report->rank) && (strcmp(rank, ".xlsx") == 0 || *rank == '_');
}

/* collective_28ch.xlsx */
static bool parse_collective_report(const char *name, gt_setting_report *report)
{
    if (!has_ending(name, "collective_", ".xlsx")) return false;
    const char *channel = name + strlen("collective_");
    report->channel_config = gt_format("%.*s", (int)(strlen(channel) - strlen(".xlsx")), channel);
    return number_without(report->channel_config, "ch", &report->channels);
}

static void free_report(gt_setting_report *report)
{
    gt_free(report->path);
    gt_free(report->file);
    gt_free(report->thread_config);
    gt_free(report->channel_config);
    gt_table_free(report->table);
}

/* The reports of one thread folder. */
static bool add_reports(gt_setting_reports *reports, const char *analysis, const char *thread_config,
                        gt_report_kind kind, gt_error *error)
{
    char *folder = gt_format("%s/%s/%s", analysis, thread_config,
                             kind == GT_REPORTS_OF_RANKS ? "individual_reports" : "collective_reports");
    gt_folder_list names = gt_list_folder(folder);
    int64_t threads;
    bool numbered = number_without(thread_config, "thread", &threads);
    bool ok = true;
    for (size_t i = 0; i < names.count && ok; i++) {
        gt_setting_report report = {0};
        bool ours = kind == GT_REPORTS_OF_RANKS ? parse_rank_report(names.items[i], &report)
                                                : parse_collective_report(names.items[i], &report);
        if (ours && numbered) {
            report.path = gt_format("%s/%s", folder, names.items[i]);
            report.file = gt_strdup(names.items[i]);
            report.thread_config = gt_strdup(thread_config);
            report.threads = threads;
            GT_PUSH(reports->items, reports->count, reports->capacity, report);
            continue;
        }
        if (ours)
            ok = gt_fail(error, "%s/%s: no thread number in the name", analysis, thread_config);
        else if (report.channel_config)
            gt_warn("%s/%s: skipped, no channel number or rank in the name", folder, names.items[i]);
        free_report(&report);
    }
    gt_folder_list_free(&names);
    gt_free(folder);
    return ok;
}

static int by_place(const void *a, const void *b)
{
    const gt_setting_report *x = a, *y = b;
    int order = strcmp(x->thread_config, y->thread_config);
    if (order) return order;
    if (x->channels != y->channels) return x->channels < y->channels ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return strcmp(x->file, y->file);
}

bool gt_setting_reports_find(gt_setting_reports *reports, const char *root, const char *analysis,
                             gt_report_kind kind, gt_error *error)
{
    *reports = (gt_setting_reports){0};
    if (!gt_path_is_folder(root)) return gt_fail(error, "Sweep directory does not exist: %s", root);
    gt_folder_list names = gt_list_folder(analysis);
    bool ok = true, any = false;
    for (size_t i = 0; i < names.count && ok; i++) {
        char *path = gt_format("%s/%s", analysis, names.items[i]);
        bool is_threads = strstr(names.items[i], "thread") && gt_path_is_folder(path);
        any = any || is_threads;
        if (is_threads) ok = add_reports(reports, analysis, names.items[i], kind, error);
        gt_free(path);
    }
    if (ok && !gt_path_is_folder(analysis))
        ok = gt_fail(error, "no folder %s in %s", gt_path_name(analysis), root);
    if (ok && !any) ok = gt_fail(error, "no *thread directories in %s", analysis);
    if (ok && !reports->count)
        ok = gt_fail(error, "no %s reports in %s", kind == GT_REPORTS_OF_RANKS ? "individual" : "collective",
                     analysis);
    if (ok && kind == GT_REPORTS_OF_RANKS)
        qsort(reports->items, reports->count, sizeof *reports->items, by_place);
    gt_folder_list_free(&names);
    return ok;
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
    *reports = (gt_setting_reports){0};
}

const gt_col gt_setting_columns[GT_SETTING_COLUMNS] = {
    GT_COL_FULL_CONFIG, GT_COL_THREADS_NUM, GT_COL_THREAD_CONFIG, GT_COL_CHANNELS_NUM, GT_COL_CHANNEL_CONFIG};

void gt_add_string_column(gt_table *table, gt_col name, const char *text)
{
    uint32_t id = gt_interner_add_cstr(table->strings, text);
    size_t column = gt_table_add_column(table, name, GT_TYPE_STRING);
    for (size_t row = 0; row < table->row_count; row++) gt_table_set_string(table, column, row, id);
}

static void add_int_column(gt_table *table, gt_col name, int64_t number)
{
    size_t column = gt_table_add_column(table, name, GT_TYPE_INT);
    for (size_t row = 0; row < table->row_count; row++) gt_table_set_int(table, column, row, number);
}

void gt_add_setting_columns(gt_table *table, const char *thread_config, int64_t threads,
                            const char *channel_config, int64_t channels)
{
    char *full = gt_format("%s_%s", thread_config, channel_config);
    gt_add_string_column(table, gt_setting_columns[0], full);
    add_int_column(table, gt_setting_columns[1], threads);
    gt_add_string_column(table, gt_setting_columns[2], thread_config);
    add_int_column(table, gt_setting_columns[3], channels);
    gt_add_string_column(table, gt_setting_columns[4], channel_config);
    gt_free(full);
}
