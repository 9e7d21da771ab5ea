/* Tables as Markdown, formatted like Python's tabulate in its "pipe" format. Every cell is printed twice: to
 * find the column widths, and to write it. */
#include "output/output.h"

#include "compat/python_repr.h"

enum { HEADER_PADDING = 2 };

typedef struct layout {
    size_t width;
    int decimals; /* the largest number of characters after a point; -1: no number has a point */
    bool is_number;
} layout;

static size_t code_points(gt_str text)
{
    size_t count = 0;
    for (const char *at = text.bytes, *end = at + text.len; at < end; count++) gt_utf8_next(&at, end);
    return count;
}

static gt_str strip(gt_str text)
{
    while (text.len && isspace((unsigned char)text.bytes[0])) text = (gt_str){text.bytes + 1, text.len - 1};
    while (text.len && isspace((unsigned char)text.bytes[text.len - 1])) text.len--;
    return text;
}

static gt_str print_cell(gt_buffer *scratch, const gt_table *table, const gt_column *column, size_t row)
{
    char number[64];
    scratch->len = 0;
    if (column->type == GT_TYPE_STRING) return strip(gt_interner_get(table->strings, column->texts[row]));
    if (column->type == GT_TYPE_FLOAT) {
        snprintf(number, sizeof number, "%g", column->floats[row]);
        gt_buffer_add_cstr(scratch, isnan(column->floats[row]) ? "nan" : number);
    } else if (!gt_column_is_null(column, row)) {
        gt_python_add_cell(scratch, column, row, table->strings);
    }
    return gt_buffer_str(scratch);
}

/* Characters after the point, or after the 'e' if there is no point; -1 for whole numbers. */
static int decimals_of(gt_str number)
{
    const char *point = memchr(number.bytes, '.', number.len);
    if (!point) point = memchr(number.bytes, 'e', number.len);
    return point ? (int)(number.bytes + number.len - point) - 1 : -1;
}

static layout find_layout(const gt_table *table, const gt_column *column, size_t rows, gt_buffer *scratch)
{
    gt_str header = {column->name, strlen(column->name)};
    layout l = {.decimals = -1, .is_number = column->type == GT_TYPE_INT || column->type == GT_TYPE_FLOAT};
    l.width = code_points(header) + HEADER_PADDING;
    for (size_t row = 0; l.is_number && row < rows; row++) {
        int decimals = decimals_of(print_cell(scratch, table, column, row));
        if (decimals > l.decimals) l.decimals = decimals;
    }
    for (size_t row = 0; row < rows; row++) {
        gt_str cell = print_cell(scratch, table, column, row);
        size_t width = code_points(cell) + (l.is_number ? (size_t)(l.decimals - decimals_of(cell)) : 0);
        if (width > l.width) l.width = width;
    }
    return l;
}

static void add_cell(gt_buffer *out, const layout *l, gt_str cell, size_t padding)
{
    size_t width = code_points(cell) + padding, space = l->width > width ? l->width - width : 0;
    gt_buffer_add_cstr(out, " ");
    if (l->is_number) gt_buffer_add_spaces(out, space);
    gt_buffer_add(out, cell.bytes, cell.len);
    gt_buffer_add_spaces(out, l->is_number ? padding : space);
    gt_buffer_add_cstr(out, " |");
}

static void add_rule(gt_buffer *out, const layout *l)
{
    if (!l->is_number) gt_buffer_add_cstr(out, ":");
    memset(gt_buffer_reserve(out, l->width + 1), '-', l->width + 1);
    out->len += l->width + 1;
    gt_buffer_add_cstr(out, l->is_number ? ":|" : "|");
}

void gt_markdown_add(gt_buffer *out, const gt_table *table, size_t rows_max)
{
    size_t rows = table->row_count < rows_max ? table->row_count : rows_max;
    gt_buffer scratch = {0};
    layout *layouts = gt_alloc(table->column_count * sizeof *layouts);
    gt_buffer_add_cstr(out, "|");
    for (size_t c = 0; c < table->column_count; c++) {
        const char *name = table->columns[c].name;
        layouts[c] = find_layout(table, &table->columns[c], rows, &scratch);
        add_cell(out, &layouts[c], (gt_str){name, strlen(name)}, 0);
    }
    gt_buffer_add_cstr(out, "\n|");
    for (size_t c = 0; c < table->column_count; c++) add_rule(out, &layouts[c]);
    for (size_t row = 0; row < rows; row++) {
        gt_buffer_add_cstr(out, "\n|");
        for (size_t c = 0; c < table->column_count; c++) {
            gt_str cell = print_cell(&scratch, table, &table->columns[c], row);
            size_t padding = layouts[c].is_number ? (size_t)(layouts[c].decimals - decimals_of(cell)) : 0;
            add_cell(out, &layouts[c], cell, padding);
        }
    }
    gt_free(layouts);
    gt_buffer_free(&scratch);
}
