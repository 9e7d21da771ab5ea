/* Native tables (Excel: Insert > Table) and colour scales of sheets.
 *
 * A native table is a part of its own, which the sheet refers to. Excel repairs a workbook, with a message
 * that frightens users, if the names of columns in that part are not exactly those of the cells, are not
 * unique, or if the table has no row: such a sheet keeps its ordinary filter instead. */
#include "output/xlsx/xlsx.h"

#define XML_HEAD    "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
#define OFFICE      "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
#define PACKAGE     "http://schemas.openxmlformats.org/package/2006/"
#define SPREADSHEET "http://schemas.openxmlformats.org/spreadsheetml/2006/main"

enum { COLUMN_NAME_MAX = 255, TABLE_NAME_MAX = 200 };

/* ---- which sheets can be one ---- */

/* Adds the name in lower case; false if it is there already. Only ASCII letters are folded: other letters
 * that Excel takes for equal do not occur in names that differ only in them. */
static bool add_name(gt_interner *names, const char *name, gt_buffer *lower)
{
    size_t before = gt_interner_count(names);
    lower->len = 0;
    for (const char *c = name; *c; c++) gt_buffer_add(lower, &(char){(char)tolower((unsigned char)*c)}, 1);
    gt_interner_add(names, lower->bytes, lower->len);
    return gt_interner_count(names) > before;
}

static bool is_name_allowed(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)name[i] < ' ') return false; /* a line break cannot be in an attribute */
    return len > 0 && len <= COLUMN_NAME_MAX;
}

bool gt_xlsx_can_be_native(const gt_table *table)
{
    bool can = table->row_count && table->column_count && table->column_count <= GT_EXCEL_COLUMNS &&
               gt_xlsx_header_rows(table) == 1;
    gt_interner *names = gt_interner_new();
    gt_buffer lower = {0};
    for (size_t c = 0; can && c < table->column_count; c++)
        can = is_name_allowed(table->columns[c].name) && add_name(names, table->columns[c].name, &lower);
    gt_buffer_free(&lower);
    gt_interner_free(names);
    return can;
}

/* ---- the part ---- */

/* Letters, digits and '_' only, beginning with a letter, and not like the name of a cell ("AB12"). */
static void add_table_name(gt_buffer *name, const char *sheet_name)
{
    size_t letters = 0;
    while (isalpha((unsigned char)sheet_name[letters])) letters++;
    bool is_cell = letters <= 3 && strspn(sheet_name + letters, "0123456789") == strlen(sheet_name + letters);
    if (letters == 0 || is_cell) gt_buffer_add_cstr(name, "Tbl_");
    for (const char *c = sheet_name; *c; c++) gt_buffer_add(name, isalnum((unsigned char)*c) ? c : "_", 1);
}

static void add_range(gt_zip *zip, const gt_xlsx_fit *fit)
{
    char last[GT_CELL_NAME_MAX];
    gt_zip_add(zip, " ref=\"A1:");
    gt_zip_write(zip, last, gt_xlsx_cell_name(last, fit->rows, fit->columns - 1, false));
    gt_zip_add(zip, "\"");
}

static void add_columns(gt_zip *zip, const gt_table *table)
{
    gt_buffer scratch = {0};
    char text[64];
    snprintf(text, sizeof text, "<tableColumns count=\"%zu\">", table->column_count);
    gt_zip_add(zip, text);
    for (size_t c = 0; c < table->column_count; c++) {
        bool cut = false;
        gt_str name = {table->columns[c].name, strlen(table->columns[c].name)};
        snprintf(text, sizeof text, "<tableColumn id=\"%zu\" name=\"", c + 1);
        gt_zip_add(zip, text);
        gt_xlsx_write_escaped(zip, gt_xlsx_acceptable(name, &scratch, &cut));
        gt_zip_add(zip, "\"/>");
    }
    gt_zip_add(zip, "</tableColumns>");
    gt_buffer_free(&scratch);
}

void gt_xlsx_write_native(gt_zip *zip, size_t number, const gt_table *table, const gt_xlsx_fit *fit,
                          const char *sheet_name, gt_name_set *names)
{
    char text[256];
    gt_buffer wanted = {0};
    add_table_name(&wanted, sheet_name);
    const char *name = gt_name_set_add(names, gt_buffer_str(&wanted).bytes, TABLE_NAME_MAX);
    snprintf(text, sizeof text, "xl/tables/table%zu.xml", number);
    gt_zip_begin_part(zip, text, false);
    gt_zip_add(zip, XML_HEAD "<table xmlns=\"" SPREADSHEET "\" id=\"");
    snprintf(text, sizeof text, "%zu\" name=\"", number);
    gt_zip_add(zip, text);
    gt_zip_add(zip, name);
    gt_zip_add(zip, "\" displayName=\"");
    gt_zip_add(zip, name);
    gt_zip_add(zip, "\"");
    add_range(zip, fit);
    gt_zip_add(zip, " totalsRowShown=\"0\"><autoFilter");
    add_range(zip, fit);
    gt_zip_add(zip, "/>");
    add_columns(zip, table);
    gt_zip_add(zip, "<tableStyleInfo name=\"TableStyleMedium2\" showFirstColumn=\"0\" showLastColumn=\"0\" "
                    "showRowStripes=\"1\" showColumnStripes=\"0\"/></table>");
    snprintf(text, sizeof text, "xl/worksheets/_rels/sheet%zu.xml.rels", number);
    gt_zip_begin_part(zip, text, false);
    gt_zip_add(zip, XML_HEAD "<Relationships xmlns=\"" PACKAGE "relationships\"><Relationship Id=\"rId1\" "
                             "Type=\"" OFFICE "/table\" Target=\"../tables/table");
    snprintf(text, sizeof text, "%zu.xml\"/></Relationships>", number);
    gt_zip_add(zip, text);
    gt_buffer_free(&wanted);
}

/* ---- colour scales ---- */

void gt_xlsx_write_scales(gt_zip *zip, const gt_table *table, const gt_xlsx_fit *fit, const char *prefix)
{
    int priority = 0;
    for (size_t c = 0; fit->rows && c < fit->columns; c++) {
        if (strncmp(table->columns[c].name, prefix, strlen(prefix)) != 0) continue;
        char cell[GT_CELL_NAME_MAX], text[64];
        gt_zip_add(zip, "<conditionalFormatting sqref=\"");
        gt_zip_write(zip, cell, gt_xlsx_cell_name(cell, 1, c, false));
        gt_zip_add(zip, ":");
        gt_zip_write(zip, cell, gt_xlsx_cell_name(cell, fit->rows, c, false));
        snprintf(text, sizeof text, "\"><cfRule type=\"colorScale\" priority=\"%d\">", ++priority);
        gt_zip_add(zip, text);
        gt_zip_add(zip, "<colorScale><cfvo type=\"min\"/><cfvo type=\"num\" val=\"0\"/><cfvo type=\"max\"/>"
                        "<color rgb=\"FFF8696B\"/><color rgb=\"FFFFFFFF\"/><color rgb=\"FF63BE7B\"/>"
                        "</colorScale></cfRule></conditionalFormatting>");
    }
}
