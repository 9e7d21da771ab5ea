/* Tables as an Excel workbook: one sheet per table, and the few parts that every workbook has.
 *
 * We do not use libxlsxwriter because it takes 2 us per cell (this code: 0.15 us), keeps 16 significant
 * digits (doubles need 17), reports success on a full disk, and loads a cryptography library at every start.
 * Excel's limits are respected, with one warning per sheet and kind of loss. */
#include "output/xlsx/xlsx.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/team.h"
#include "output/text.h"
#include "output/writers.h"
#include "schema/sheets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A sheet with more cells may exceed the 4 GiB of plain zip. */
enum { MANY_CELLS = 200000 };

#define XML_HEAD         "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
#define OFFICE           "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
#define PACKAGE          "http://schemas.openxmlformats.org/package/2006/"
#define SPREADSHEET      "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
#define SPREADSHEET_TYPE "application/vnd.openxmlformats-officedocument.spreadsheetml."

typedef struct piece_place {
    size_t sheet, number; /* of the piece in its sheet */
} piece_place;

typedef struct workbook {
    gt_zip zip;
    gt_table *const *tables;
    size_t count;
    gt_name_set names;       /* of the sheets */
    gt_xlsx_fit *sheets;     /* one per table */
    gt_xlsx_sheet **writers; /* one per table, while they are written */
    piece_place *pieces;     /* of all sheets */
    size_t piece_count, piece_capacity;
} workbook;

/* ---- sheets ---- */

static void add_sheet_name(workbook *book, const char *name)
{
    gt_buffer legal = {0};
    gt_xlsx_legal_name(name, &legal);
    gt_name_set_add(&book->names, gt_buffer_str(&legal).bytes, GT_EXCEL_NAME_CHARS);
    gt_buffer_free(&legal);
}

static void warn_about_names(const workbook *book)
{
    for (size_t i = 0; i < book->count; i++)
        if (strcmp(book->names.names[i], book->tables[i]->name) != 0)
            gt_warn(
                "sheet %s is named %s in the workbook: Excel allows %d characters, no []:*?/\\', and unique "
                "names",
                book->tables[i]->name, book->names.names[i], GT_EXCEL_NAME_CHARS);
}

static void warn_about_losses(const char *name, const gt_xlsx_fit *lost)
{
    if (lost->omitted_rows)
        gt_warn("sheet %s: last %zu rows omitted from the workbook (Excel allows %d)", name,
                lost->omitted_rows, GT_EXCEL_ROWS);
    if (lost->omitted_columns)
        gt_warn("sheet %s: last %zu columns omitted from the workbook (Excel allows %d)", name,
                lost->omitted_columns, GT_EXCEL_COLUMNS);
    if (lost->cut_cells)
        gt_warn("sheet %s: %zu cells truncated in the workbook (Excel allows %d characters)", name,
                lost->cut_cells, GT_EXCEL_CELL_CHARS);
}

/* ---- sheets in pieces, made and deflated by all threads ---- */

typedef struct piece_slot {
    gt_zip zip;
    gt_file memory;
} piece_slot;

static void begin_sheet(void *context, size_t index)
{
    workbook *book = context;
    book->writers[index] = gt_xlsx_sheet_new(book->tables[index]);
}

static void make_piece(void *context, size_t index, void *slot)
{
    const workbook *book = context;
    const piece_place *place = &book->pieces[index];
    gt_xlsx_sheet *sheet = book->writers[place->sheet];
    piece_slot *p = slot;
    if (!p->zip.buffer) {
        gt_file_begin_memory(&p->memory, false);
        gt_zip_begin(&p->zip, &p->memory);
    }
    gt_zip_begin_piece(&p->zip);
    gt_xlsx_sheet_write(sheet, place->number, &p->zip);
    gt_zip_end_piece(&p->zip, place->number + 1 == gt_xlsx_sheet_pieces(sheet));
}

static void take_piece(void *context, size_t index, const void *slot)
{
    workbook *book = context;
    const piece_place *place = &book->pieces[index];
    const gt_table *table = book->tables[place->sheet];
    char part[64];
    snprintf(part, sizeof part, "xl/worksheets/sheet%zu.xml", place->sheet + 1);
    if (place->number == 0)
        gt_zip_begin_part(&book->zip, part, table->row_count * table->column_count > MANY_CELLS);
    gt_zip_add_piece(&book->zip, &((const piece_slot *)slot)->zip);
}

static void end_slot(void *slot)
{
    piece_slot *p = slot;
    gt_zip_free_piece(&p->zip);
    gt_file_end_memory(&p->memory);
}

static void write_sheets(workbook *book)
{
    book->writers = gt_alloc_zero(book->count, sizeof *book->writers);
    gt_parallel_each(book->count, begin_sheet, book);
    for (size_t i = 0; i < book->count; i++)
        for (size_t k = 0; k < gt_xlsx_sheet_pieces(book->writers[i]); k++)
            GT_PUSH(book->pieces, book->piece_count, book->piece_capacity, ((piece_place){i, k}));
    gt_pieces_run(&(gt_pieces){.count = book->piece_count,
                               .slot_size = sizeof(piece_slot),
                               .make = make_piece,
                               .take = take_piece,
                               .end = end_slot,
                               .context = book});
    for (size_t i = 0; i < book->count; i++) {
        book->sheets[i] = gt_xlsx_sheet_fit(book->writers[i]);
        gt_xlsx_sheet_free(book->writers[i]);
    }
    gt_free(book->writers);
    gt_free(book->pieces);
}

/* ---- parts of every workbook ---- */

static void add_numbered(gt_zip *zip, const char *format, size_t number)
{
    char text[512];
    snprintf(text, sizeof text, format, number, number);
    gt_zip_add(zip, text);
}

static void write_content_types(workbook *book)
{
    gt_zip *zip = &book->zip;
    gt_zip_begin_part(zip, "[Content_Types].xml", false);
    gt_zip_add(zip, XML_HEAD
               "<Types xmlns=\"" PACKAGE "content-types\">"
               "<Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package."
               "relationships+xml\"/><Default Extension=\"xml\" ContentType=\"application/xml\"/>"
               "<Override PartName=\"/xl/workbook.xml\" ContentType=\"" SPREADSHEET_TYPE
               "sheet.main+xml\"/><Override PartName=\"/xl/styles.xml\" ContentType=\"" SPREADSHEET_TYPE
               "styles+xml\"/>");
    for (size_t i = 1; i <= book->count; i++)
        add_numbered(zip,
                     "<Override PartName=\"/xl/worksheets/sheet%zu.xml\" ContentType=\"" SPREADSHEET_TYPE
                     "worksheet+xml\"/>",
                     i);
    gt_zip_add(zip, "</Types>");
}

static void write_relations(workbook *book)
{
    gt_zip *zip = &book->zip;
    gt_zip_begin_part(zip, "_rels/.rels", false);
    gt_zip_add(zip, XML_HEAD "<Relationships xmlns=\"" PACKAGE
                             "relationships\"><Relationship Id=\"rId1\" Type=\"" OFFICE
                             "/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>");
    gt_zip_begin_part(zip, "xl/_rels/workbook.xml.rels", false);
    gt_zip_add(zip, XML_HEAD "<Relationships xmlns=\"" PACKAGE
                             "relationships\"><Relationship Id=\"styles\" Type=\"" OFFICE
                             "/styles\" Target=\"styles.xml\"/>");
    for (size_t i = 1; i <= book->count; i++)
        add_numbered(zip,
                     "<Relationship Id=\"rId%zu\" Type=\"" OFFICE
                     "/worksheet\" Target=\"worksheets/sheet%zu.xml\"/>",
                     i);
    gt_zip_add(zip, "</Relationships>");
}

static void write_styles(workbook *book)
{
    gt_zip *zip = &book->zip;
    gt_zip_begin_part(zip, "xl/styles.xml", false);
    gt_zip_add(zip, XML_HEAD "<styleSheet xmlns=\"" SPREADSHEET "\"><numFmts count=\"2\">");
    for (size_t i = 0; i < gt_number_format_count; i++) {
        char format[128];
        snprintf(format, sizeof format, "<numFmt numFmtId=\"%d\" formatCode=\"%s\"/>",
                 gt_number_formats[i].id, gt_number_formats[i].code);
        if (gt_number_formats[i].id >= 164) gt_zip_add(zip, format);
    }
    gt_zip_add(zip,
               "</numFmts><fonts count=\"2\"><font><sz val=\"11\"/><name val=\"Calibri\"/><family "
               "val=\"2\"/></font><font>"
               "<b/><sz val=\"11\"/><name val=\"Calibri\"/><family val=\"2\"/></font></fonts><fills "
               "count=\"2\"><fill>"
               "<patternFill patternType=\"none\"/></fill><fill><patternFill "
               "patternType=\"gray125\"/></fill></fills>"
               "<borders "
               "count=\"2\"><border><left/><right/><top/><bottom/><diagonal/></border><border><left/><right/>"
               "<top/><bottom style=\"thin\"><color auto=\"1\"/></bottom><diagonal/></border></borders>"
               "<cellStyleXfs count=\"1\"><xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" "
               "borderId=\"0\"/></cellStyleXfs>");
    add_numbered(zip, "<cellXfs count=\"%zu\">", GT_STYLE_NUMBERS + gt_number_format_count);
    gt_zip_add(zip,
               "<xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\"/>"
               "<xf numFmtId=\"0\" fontId=\"1\" fillId=\"0\" borderId=\"1\" xfId=\"0\" applyFont=\"1\" "
               "applyBorder=\"1\" "
               "applyAlignment=\"1\"><alignment vertical=\"top\" wrapText=\"1\"/></xf>"
               "<xf numFmtId=\"0\" fontId=\"1\" fillId=\"0\" borderId=\"1\" xfId=\"0\" applyFont=\"1\" "
               "applyBorder=\"1\" "
               "applyAlignment=\"1\"><alignment horizontal=\"left\" vertical=\"top\" wrapText=\"1\" "
               "indent=\"1\"/></xf>"
               "<xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\" applyAlignment=\"1\">"
               "<alignment horizontal=\"left\" indent=\"1\"/></xf>");
    for (size_t i = 0; i < gt_number_format_count; i++)
        add_numbered(zip,
                     "<xf numFmtId=\"%zu\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\" "
                     "applyNumberFormat=\"1\"/>",
                     (size_t)gt_number_formats[i].id);
    gt_zip_add(zip, "</cellXfs><cellStyles count=\"1\"><cellStyle name=\"Normal\" xfId=\"0\" "
                    "builtinId=\"0\"/></cellStyles>"
                    "</styleSheet>");
}

/* ---- the workbook part: sheet names, filters, print titles ---- */

/* 'name'; it contains no apostrophes. */
static void add_quoted_name(workbook *book, size_t sheet)
{
    gt_zip_add(&book->zip, "'");
    gt_xlsx_write_escaped(&book->zip, (gt_str){book->names.names[sheet], strlen(book->names.names[sheet])});
    gt_zip_add(&book->zip, "'!");
}

static void add_filter(workbook *book, size_t sheet)
{
    char last[GT_CELL_NAME_MAX];
    const gt_xlsx_fit *fit = &book->sheets[sheet];
    add_numbered(&book->zip, "<definedName name=\"_xlnm._FilterDatabase\" localSheetId=\"%zu\" hidden=\"1\">",
                 sheet);
    add_quoted_name(book, sheet);
    gt_zip_add(&book->zip, "$A$1:");
    gt_zip_write(&book->zip, last, gt_xlsx_cell_name(last, fit->rows, fit->columns - 1, true));
    gt_zip_add(&book->zip, "</definedName>");
}

/* The header is printed on each page, and the first column if the sheet is wider than a page. */
static void add_print_titles(workbook *book, size_t sheet)
{
    add_numbered(&book->zip, "<definedName name=\"_xlnm.Print_Titles\" localSheetId=\"%zu\">", sheet);
    if (!book->sheets[sheet].fits_on_page) {
        add_quoted_name(book, sheet);
        gt_zip_add(&book->zip, "$A:$A,");
    }
    add_quoted_name(book, sheet);
    gt_zip_add(&book->zip,
               book->sheets[sheet].header_rows > 1 ? "$1:$3</definedName>" : "$1:$1</definedName>");
}

static void add_defined_names(workbook *book)
{
    bool any = false;
    for (size_t i = 0; i < book->count; i++) {
        if (book->sheets[i].columns == 0) continue;
        if (!any) gt_zip_add(&book->zip, "<definedNames>");
        any = true;
        if (book->sheets[i].header_rows == 1) add_filter(book, i);
        add_print_titles(book, i);
    }
    if (any) gt_zip_add(&book->zip, "</definedNames>");
}

static void write_workbook(workbook *book)
{
    gt_zip *zip = &book->zip;
    gt_zip_begin_part(zip, "xl/workbook.xml", false);
    gt_zip_add(zip, XML_HEAD "<workbook xmlns=\"" SPREADSHEET "\" xmlns:r=\"" OFFICE
                             "\"><bookViews><workbookView activeTab=\"0\"/></bookViews><sheets>");
    for (size_t i = 0; i < book->count; i++) {
        gt_zip_add(zip, "<sheet name=\"");
        gt_xlsx_write_escaped(zip, (gt_str){book->names.names[i], strlen(book->names.names[i])});
        add_numbered(zip, "\" sheetId=\"%zu\" r:id=\"rId%zu\"/>", i + 1);
    }
    gt_zip_add(zip, "</sheets>");
    add_defined_names(book);
    gt_zip_add(zip, "</workbook>");
}

/* ---- the steps ---- */

typedef struct xlsx_job {
    gt_file file;
    char *path;
    gt_table *nothing; /* a workbook has at least one sheet */
    workbook book;
    bool is_open, fits;
    gt_error error;
} xlsx_job;

static void run_job(void *state)
{
    xlsx_job *j = state;
    workbook *book = &j->book;
    if (!j->is_open) return;
    for (size_t i = 0; i < book->count; i++) add_sheet_name(book, book->tables[i]->name);
    gt_zip_begin(&book->zip, &j->file);
    write_content_types(book);
    write_relations(book);
    write_styles(book);
    write_sheets(book);
    write_workbook(book);
    j->fits = gt_zip_end(&book->zip);
}

static bool end_job(void *state, gt_error *error)
{
    xlsx_job *j = state;
    workbook *book = &j->book;
    gt_error ignored;
    gt_error *to = error ? error : &ignored;
    bool ok = j->is_open;
    if (!ok) *to = j->error;
    if (ok && error) {
        warn_about_names(book);
        for (size_t i = 0; i < book->count; i++) warn_about_losses(book->names.names[i], &book->sheets[i]);
    }
    ok = ok && gt_file_close(&j->file, to) &&
         (j->fits || gt_fail(to, "cannot write %s: sheet larger than 4 GiB", j->path));
    gt_name_set_free(&book->names);
    gt_free(book->sheets);
    gt_table_free(j->nothing);
    gt_free(j->path);
    gt_free(j);
    return ok;
}

gt_document_writer gt_xlsx_writer_begin(gt_output *output, const char *path, gt_table *const *tables,
                                        size_t count)
{
    xlsx_job *j = gt_alloc_zero(1, sizeof *j);
    j->path = gt_strdup(path);
    j->is_open = gt_file_open(&j->file, output, path, &j->error);
    if (count == 0) j->nothing = gt_table_new(GT_SHEET_SHEET1, NULL);
    j->book = (workbook){.tables = count ? tables : &j->nothing, .count = count ? count : 1};
    j->book.sheets = gt_alloc_zero(j->book.count, sizeof *j->book.sheets);
    return (gt_document_writer){j, !j->is_open, run_job, end_job};
}
