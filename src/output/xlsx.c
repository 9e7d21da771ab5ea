/* Tables as an Excel workbook to be read: one sheet a table, a bold header that stays in sight and filters,
 * columns as wide as what they hold, numbers in formats that suit them. Texts are texts: none becomes a
 * formula or a link.
 *
 * libxlsxwriter writes it, row by row so that memory stays small. It stores numbers with 16 significant
 * digits, as the sheets that people have do (openpyxl writes %.16g); CSV and SQLite hold every bit. Excel's
 * limits are kept and each loss is said once. */
#include "output/file.h"

#include "base/log.h"
#include "base/memory.h"
#include "output/literal.h"
#include "output/names.h"
#include "output/xlsx_check.h"
#include "output/xlsx_look.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xlsxwriter.h>

enum {
    EXCEL_ROWS = 1048576, /* the header is one of them */
    EXCEL_COLUMNS = 16384,
    EXCEL_CELL_CHARS = 32767,
    EXCEL_NAME_CHARS = 31,
    LINE_HEIGHT = 15,
    MANY_CELLS = 20000000, /* past this a sheet may need more than the 4 GiB that plain zip holds */
};

static const char cut_mark[] = " ... (cut)";

typedef struct workbook {
    lxw_workbook *book;
    lxw_format *number_header, *text_header, *text; /* texts keep off the numbers to their left */
    gt_names sheet_names;
    gt_buffer acceptable, literal;
} workbook;

/* What did not fit into one sheet. */
typedef struct losses {
    size_t cut_cells, left_out_rows, left_out_columns;
} losses;

/* ---- text that Excel accepts ---- */

/* Most texts need nothing done: printable ASCII of a length that fits, without Excel's own escape "_x". */
static bool is_plain(gt_text text)
{
    if (text.len > EXCEL_CELL_CHARS) return false;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.bytes[i];
        if (byte < 0x20 || byte >= 0x7F) return false;
        if (byte == '_' && i + 1 < text.len && text.bytes[i + 1] == 'x') return false;
    }
    return true;
}

/* Does "_x001B_" stand here, which Excel would take for an escape? */
static bool looks_escaped(const char *place, const char *end)
{
    if (end - place < 7 || place[0] != '_' || place[1] != 'x' || place[6] != '_') return false;
    for (int i = 2; i < 6; i++)
        if (!isxdigit((unsigned char)place[i])) return false;
    return true;
}

/* A copy that XML and Excel accept, in no more than EXCEL_CELL_CHARS of Excel's (UTF-16) characters.
 * libxlsxwriter itself writes other control characters as Excel's escapes. */
static gt_text made_acceptable(gt_text text, gt_buffer *out, bool *cut)
{
    size_t room = EXCEL_CELL_CHARS, used = 0, fits_with_mark = 0;
    const char *place = text.bytes, *end = text.bytes + text.len;
    out->len = 0;
    while (place < end) {
        bool escape = looks_escaped(place, end);
        uint32_t code_point = gt_utf8_next(&place, end);
        if (code_point == 0 || code_point == 0xFFFE || code_point == 0xFFFF) code_point = GT_REPLACEMENT;
        used += escape ? 7 : code_point > 0xFFFF ? 2 : 1;
        if (used > room) {
            *cut = true;
            out->len = fits_with_mark;
            gt_buffer_add_cstr(out, cut_mark);
            break;
        }
        if (escape) {
            gt_buffer_add_cstr(out, "_x005F_");
        } else {
            gt_buffer_add_code_point(out, code_point);
        }
        if (used + strlen(cut_mark) <= room) fits_with_mark = out->len;
    }
    return gt_buffer_text(out);
}

/* No name is longer than 31 characters, holds []:*?/\ or control characters, begins or ends with an
 * apostrophe, is empty or "History". */
static const char *sheet_name(workbook *to, const char *name)
{
    gt_buffer valid = {0}, legal = {0};
    gt_text text = gt_utf8_repair((gt_text){name, strlen(name)}, &valid);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.bytes[i];
        gt_buffer_add(&legal, byte < 0x20 || strchr("[]:*?/\\'", byte) ? "_" : &text.bytes[i], 1);
    }
    if (text.len == 0) gt_buffer_add_cstr(&legal, "Sheet");
    if (strcasecmp(name, "History") == 0) gt_buffer_add_cstr(&legal, "_");
    const char *given = gt_names_add(&to->sheet_names, gt_buffer_text(&legal).bytes, EXCEL_NAME_CHARS);
    if (strcmp(given, name) != 0)
        gt_warn("sheet %s is called %s in the workbook: Excel allows %d characters, none of []:*?/\\', no "
                "name twice",
                name, given, EXCEL_NAME_CHARS);
    gt_buffer_free(&valid);
    gt_buffer_free(&legal);
    return given;
}

/* ---- cells ---- */

typedef struct sheet {
    workbook *to;
    const gt_table *table;
    lxw_worksheet *worksheet;
    lxw_format **formats; /* one a column; NULL for Excel's own */
    size_t rows, columns; /* that fit */
    losses lost;
} sheet;

static void write_text(sheet *of, lxw_row_t row, lxw_col_t column, gt_text text)
{
    bool cut = false;
    if (!is_plain(text)) text = made_acceptable(text, &of->to->acceptable, &cut);
    worksheet_write_string(of->worksheet, row, column, text.bytes, column > 0 ? of->to->text : NULL);
    of->lost.cut_cells += cut;
}

static void write_number(sheet *of, lxw_row_t row, lxw_col_t column, double value)
{
    if (isfinite(value)) {
        worksheet_write_number(of->worksheet, row, column, value, of->formats[column]);
    } else {
        worksheet_write_string(of->worksheet, row, column, value > 0 ? "inf" : "-inf", NULL);
    }
}

static void write_cell(sheet *of, size_t row, size_t c)
{
    const gt_column *column = &of->table->columns[c];
    if (gt_column_is_null(column, row)) return;
    lxw_row_t at_row = (lxw_row_t)(row + 1);
    lxw_col_t at_column = (lxw_col_t)c;
    switch (column->type) {
    case GT_TYPE_INT:
        write_number(of, at_row, at_column, (double)column->ints[row]);
        return;
    case GT_TYPE_FLOAT:
        write_number(of, at_row, at_column, column->floats[row]);
        return;
    case GT_TYPE_BOOL:
        worksheet_write_boolean(of->worksheet, at_row, at_column, column->bools[row], NULL);
        return;
    case GT_TYPE_TEXT:
        write_text(of, at_row, at_column, gt_strings_get(of->table->strings, column->texts[row]));
        return;
    case GT_TYPE_LIST:
        of->to->literal.len = 0;
        gt_literal_add(&of->to->literal, column, row, of->table->strings);
        write_text(of, at_row, at_column, gt_buffer_text(&of->to->literal));
        return;
    }
}

/* ---- sheets ---- */

static lxw_format *number_format(workbook *to, const char *code)
{
    if (!code) return NULL;
    lxw_format *format = workbook_add_format(to->book);
    format_set_num_format(format, code);
    return format;
}

/* On paper: the header on each page, and one page wide as long as that can be read; wider sheets go over several
 * pages, each with the first column. */
static void set_up_pages(sheet *of, double width)
{
    enum { READABLE_WIDTH = 240 }; /* characters; about a third of the size on screen */
    worksheet_set_landscape(of->worksheet);
    worksheet_repeat_rows(of->worksheet, 0, 0);
    if (width <= READABLE_WIDTH) {
        worksheet_fit_to_pages(of->worksheet, 1, 0);
    } else {
        worksheet_set_print_scale(of->worksheet, 60);
        worksheet_repeat_columns(of->worksheet, 0, 0);
    }
}

static void write_header(sheet *of)
{
    size_t lines = 1;
    double width = 0;
    for (size_t c = 0; c < of->columns; c++) {
        gt_xlsx_look look = gt_xlsx_look_of(of->table, c, of->rows);
        of->formats[c] = number_format(of->to, look.number_format);
        lxw_row_col_options options = {.hidden = of->table->columns[c].hidden};
        worksheet_set_column_opt(of->worksheet, (lxw_col_t)c, (lxw_col_t)c, look.width, NULL, &options);
        width += look.width;
        size_t needed = gt_xlsx_header_lines(of->table->columns[c].name, look.width);
        if (needed > lines) lines = needed;
    }
    worksheet_set_row(of->worksheet, 0, (double)(LINE_HEIGHT * lines), NULL);
    for (size_t c = 0; c < of->columns; c++) {
        bool cut = false;
        const char *name = of->table->columns[c].name;
        bool is_text =
            of->table->columns[c].type == GT_TYPE_TEXT || of->table->columns[c].type == GT_TYPE_LIST;
        gt_text text = made_acceptable((gt_text){name, strlen(name)}, &of->to->acceptable, &cut);
        worksheet_write_string(of->worksheet, 0, (lxw_col_t)c, text.bytes,
                               is_text && c > 0 ? of->to->text_header : of->to->number_header);
        of->lost.cut_cells += cut;
    }
    worksheet_freeze_panes(of->worksheet, 1, 0);
    set_up_pages(of, width);
    worksheet_autofilter(of->worksheet, 0, 0, (lxw_row_t)of->rows, (lxw_col_t)(of->columns - 1));
}

static void say_losses(const char *name, const losses *lost)
{
    if (lost->left_out_rows)
        gt_warn("sheet %s of the workbook lacks the last %zu rows: Excel allows %d", name,
                lost->left_out_rows, EXCEL_ROWS);
    if (lost->left_out_columns)
        gt_warn("sheet %s of the workbook lacks the last %zu columns: Excel allows %d", name,
                lost->left_out_columns, EXCEL_COLUMNS);
    if (lost->cut_cells)
        gt_warn("sheet %s of the workbook has %zu cells cut: Excel allows %d characters", name,
                lost->cut_cells, EXCEL_CELL_CHARS);
}

static bool write_sheet(workbook *to, const gt_table *table)
{
    const char *name = sheet_name(to, table->name);
    sheet of = {.to = to, .table = table, .worksheet = workbook_add_worksheet(to->book, name)};
    if (!of.worksheet) return false;
    of.rows = table->row_count < EXCEL_ROWS ? table->row_count : EXCEL_ROWS - 1;
    of.columns = table->column_count < EXCEL_COLUMNS ? table->column_count : EXCEL_COLUMNS;
    of.lost.left_out_rows = table->row_count - of.rows;
    of.lost.left_out_columns = table->column_count - of.columns;
    if (of.columns == 0) return true;

    of.formats = gt_alloc_zero(of.columns, sizeof *of.formats);
    write_header(&of);
    for (size_t row = 0; row < of.rows; row++)
        for (size_t c = 0; c < of.columns; c++) write_cell(&of, row, c);
    free(of.formats);
    say_losses(name, &of.lost);
    return true;
}

/* ---- the workbook ---- */

/* libxlsxwriter prints failures on standard error as well as returning them; the user gets one sentence,
 * ours. */
static lxw_error close_quietly(lxw_workbook *book)
{
    static FILE *nowhere; /* never closed: another thread may be printing to it */
    FILE *usual = stderr;
    if (!nowhere) nowhere = fopen("/dev/null", "w");
    if (nowhere) stderr = nowhere;
    errno = 0;
    lxw_error status = workbook_close(book);
    int reason = errno;
    stderr = usual;
    errno = reason;
    return status;
}

static lxw_format *header_format(workbook *to)
{
    lxw_format *format = workbook_add_format(to->book);
    format_set_bold(format);
    format_set_text_wrap(format);
    format_set_align(format, LXW_ALIGN_VERTICAL_TOP);
    format_set_bottom(format, LXW_BORDER_THIN);
    return format;
}

static bool write_book(workbook *to, gt_table *const *tables, size_t count)
{
    to->number_header = header_format(to);
    to->text_header = header_format(to);
    format_set_indent(to->text_header, 1);
    to->text = workbook_add_format(to->book);
    format_set_indent(to->text, 1);
    for (size_t i = 0; i < count; i++)
        if (!write_sheet(to, tables[i])) return false;
    return true;
}

static size_t largest_sheet(gt_table *const *tables, size_t count)
{
    size_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        size_t cells = tables[i]->row_count * tables[i]->column_count;
        if (cells > largest) largest = cells;
    }
    return largest;
}

bool gt_output_xlsx(gt_output *output, const char *path, gt_table *const *tables, size_t count,
                    gt_error *error)
{
    const char *temporary = gt_output_add_file(output, path, error);
    if (!temporary) return false;
    /* Its own temporary files are unlinked as soon as they are open. */
    char *folder = gt_format("%.*s", (int)(strrchr(temporary, '/') + 1 - temporary), temporary);
    lxw_workbook_options options = {.constant_memory = LXW_TRUE,
                                    .tmpdir = folder,
                                    .use_zip64 = largest_sheet(tables, count) > MANY_CELLS};
    workbook to = {.book = workbook_new_opt(temporary, &options)};
    bool ok = true;
    if (!to.book || !write_book(&to, tables, count)) {
        ok = gt_fail_writing(error, path, errno ? errno : ENOMEM);
        lxw_workbook_free(to.book);
    } else {
        lxw_error status = close_quietly(to.book);
        if (status != LXW_NO_ERROR) {
            ok = errno ? gt_fail_writing(error, path, errno)
                       : gt_fail(error, "cannot write %s: %s", path, lxw_strerror(status));
        } else if (!gt_xlsx_is_whole(temporary)) {
            ok = gt_fail_writing(error, path, ENOSPC);
        }
    }
    gt_names_free(&to.sheet_names);
    gt_buffer_free(&to.acceptable);
    gt_buffer_free(&to.literal);
    free(folder);
    return ok;
}
