/* The cells of a dashboard, in their sheet. */
#include "output/xlsx/xlsx.h"

static int by_place(const void *a, const void *b)
{
    const gt_dash_cell *x = *(const gt_dash_cell *const *)a, *y = *(const gt_dash_cell *const *)b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

const gt_dash_cell **gt_xlsx_dash_cells(const gt_dashboard *dashboard)
{
    size_t count = dashboard->cell_count;
    const gt_dash_cell **cells = gt_alloc(count * sizeof *cells);
    for (size_t i = 0; i < count; i++) cells[i] = &dashboard->cells[i];
    if (count) qsort(cells, count, sizeof *cells, by_place);
    return cells;
}

void gt_xlsx_write_dash_cell(gt_zip *zip, const gt_dash_cell *cell, gt_buffer *scratch)
{
    char name[GT_CELL_NAME_MAX], digits[GT_NUMBER_MAX], style[32];
    gt_zip_add(zip, "<c r=\"");
    gt_zip_write(zip, name, gt_xlsx_cell_name(name, cell->row, cell->column, false));
    snprintf(style, sizeof style, "\" s=\"%d\"", gt_xlsx_look_style(cell->look));
    gt_zip_add(zip, style);
    if (cell->text) {
        bool cut = false;
        gt_zip_add(zip, " t=\"inlineStr\">");
        gt_xlsx_write_inline(zip,
                             gt_xlsx_acceptable((gt_str){cell->text, strlen(cell->text)}, scratch, &cut));
        gt_zip_add(zip, "</c>");
    } else if (isfinite(cell->number)) {
        gt_zip_add(zip, "><v>");
        gt_zip_write(zip, digits, gt_xlsx_print_double(digits, cell->number));
        gt_zip_add(zip, "</v></c>");
    } else {
        gt_zip_add(zip, "/>");
    }
}

void gt_xlsx_write_merge(gt_zip *zip, size_t row, size_t column, size_t last_row, size_t last_column)
{
    char name[GT_CELL_NAME_MAX];
    gt_zip_add(zip, "<mergeCell ref=\"");
    gt_zip_write(zip, name, gt_xlsx_cell_name(name, row, column, false));
    gt_zip_add(zip, ":");
    gt_zip_write(zip, name, gt_xlsx_cell_name(name, last_row, last_column, false));
    gt_zip_add(zip, "\"/>");
}

bool gt_xlsx_write_dash_merges(gt_zip *zip, const gt_dashboard *dashboard)
{
    bool any = false;
    for (size_t i = 0; i < dashboard->cell_count; i++) {
        const gt_dash_cell *cell = &dashboard->cells[i];
        if (cell->rows == 1 && cell->columns == 1) continue;
        if (!any) gt_zip_add(zip, "<mergeCells>");
        any = true;
        gt_xlsx_write_merge(zip, cell->row, cell->column, cell->row + cell->rows - 1,
                            cell->column + cell->columns - 1);
    }
    return any;
}

static void enlarge(size_t *size, size_t end)
{
    if (end > *size) *size = end;
}

void gt_xlsx_dash_extent(const gt_dashboard *dashboard, size_t *rows, size_t *columns)
{
    for (size_t i = 0; i < dashboard->cell_count; i++) {
        const gt_dash_cell *cell = &dashboard->cells[i];
        enlarge(rows, cell->row + cell->rows);
        enlarge(columns, cell->column + cell->columns);
    }
}
