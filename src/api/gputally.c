/* The public interface but for the making of reports (report.c): thin functions over tables and writers. */
#include "gputally/gputally.h"

#include "api/report.h"
#include "base/log.h"
#include "compat/python_repr.h"
#include "output/output.h"

#include <math.h>
#include <string.h>

const char *gputally_version(void)
{
    return GT_VERSION;
}

static gputally_warning_handler *warning_handler;

static void hand_on_warning(bool warning, const char *text)
{
    if (warning) warning_handler(text);
}

void gputally_on_warning(gputally_warning_handler *handler)
{
    warning_handler = handler;
    gt_log_to(handler ? hand_on_warning : NULL);
}

/* A gputally_table is a gt_table under another name. */
static const gt_table *inside(const gputally_table *table)
{
    return (const gt_table *)(const void *)table;
}

static const gputally_table *outside(const gt_table *table)
{
    return (const gputally_table *)(const void *)table;
}

size_t gputally_report_table_count(const gputally_report *report)
{
    return report->tables.count;
}

const gputally_table *gputally_report_table(const gputally_report *report, size_t index)
{
    return index < report->tables.count ? outside(report->tables.items[index]) : NULL;
}

const gputally_table *gputally_report_find(const gputally_report *report, const char *name)
{
    return outside(gt_table_list_find(&report->tables, gt_sheet_named(name)));
}

const char *gputally_table_name(const gputally_table *table)
{
    return inside(table)->name;
}

size_t gputally_table_row_count(const gputally_table *table)
{
    return inside(table)->row_count;
}

size_t gputally_table_column_count(const gputally_table *table)
{
    return inside(table)->column_count;
}

const char *gputally_table_column_name(const gputally_table *table, size_t column)
{
    return inside(table)->columns[column].name;
}

gputally_type gputally_table_column_type(const gputally_table *table, size_t column)
{
    static const gputally_type types[] = {[GT_TYPE_INT] = GPUTALLY_INT,
                                          [GT_TYPE_FLOAT] = GPUTALLY_FLOAT,
                                          [GT_TYPE_STRING] = GPUTALLY_TEXT,
                                          [GT_TYPE_BOOL] = GPUTALLY_BOOL,
                                          [GT_TYPE_LIST] = GPUTALLY_LIST};
    return types[inside(table)->columns[column].type];
}

size_t gputally_table_find_column(const gputally_table *table, const char *name)
{
    return gt_table_find(inside(table), gt_col_named(name));
}

bool gputally_table_is_null(const gputally_table *table, size_t column, size_t row)
{
    return gt_column_is_null(&inside(table)->columns[column], row);
}

int64_t gputally_table_int(const gputally_table *table, size_t column, size_t row)
{
    const gt_column *c = &inside(table)->columns[column];
    if (gt_column_is_null(c, row)) return 0;
    return c->type == GT_TYPE_INT ? c->ints[row] : c->type == GT_TYPE_BOOL ? c->bools[row] : 0;
}

double gputally_table_float(const gputally_table *table, size_t column, size_t row)
{
    const gt_column *c = &inside(table)->columns[column];
    if (gt_column_is_null(c, row) || c->type == GT_TYPE_STRING || c->type == GT_TYPE_LIST) return NAN;
    return c->type == GT_TYPE_FLOAT ? c->floats[row] : (double)gputally_table_int(table, column, row);
}

const char *gputally_table_text(const gputally_table *table, size_t column, size_t row, size_t *len)
{
    const gt_column *c = &inside(table)->columns[column];
    gt_str text =
        c->type == GT_TYPE_STRING ? gt_interner_get(inside(table)->strings, c->texts[row]) : (gt_str){"", 0};
    if (len) *len = text.len;
    return text.bytes;
}

size_t gputally_table_print(const gputally_table *table, size_t column, size_t row, char *text, size_t size)
{
    const gt_column *c = &inside(table)->columns[column];
    gt_buffer cell = {0};
    gt_str printed = {"", 0};
    if (c->type == GT_TYPE_STRING) {
        printed.bytes = gputally_table_text(table, column, row, &printed.len);
    } else if (!gt_column_is_null(c, row)) {
        gt_literal_add(&cell, c, row, inside(table)->strings);
        printed = gt_buffer_str(&cell);
    }
    if (size) {
        size_t kept = printed.len < size ? printed.len : size - 1;
        memcpy(text, printed.bytes, kept);
        text[kept] = 0;
    }
    gt_buffer_free(&cell);
    return printed.len;
}

typedef bool write_function(gt_output *output, const char *path, gt_table *const *tables, size_t count,
                            gt_error *error);

static bool write_document(const gputally_report *report, write_function *write, const char *path,
                           char *error, size_t error_size)
{
    gt_error problem = {""};
    gt_output *output = gt_output_new();
    bool written = write(output, path, report->tables.items, report->tables.count, &problem) &&
                   gt_output_commit(output, &problem);
    gt_output_free(output);
    return written || gt_copy_error(&problem, error, error_size);
}

bool gputally_report_write_csvs(const gputally_report *report, const char *dir, char *error,
                                size_t error_size)
{
    return write_document(report, gt_output_csvs, dir, error, error_size);
}

bool gputally_report_write_xlsx(const gputally_report *report, const char *path, char *error,
                                size_t error_size)
{
    return write_document(report, gt_output_xlsx, path, error, error_size);
}

bool gputally_report_write_sqlite(const gputally_report *report, const char *path, char *error,
                                  size_t error_size)
{
    return write_document(report, gt_output_sqlite, path, error, error_size);
}
