/* Tables as an Excel workbook: one sheet per table, and the few parts that every workbook has.
 *
 * We do not use libxlsxwriter because it takes 2 us per cell (this code: 0.15 us), keeps 16 significant
 * digits (doubles need 17), reports success on a full disk, and loads a cryptography library at every start.
 * Excel's limits are respected, with one warning per sheet and kind of loss. */
#include "output/xlsx/xlsx.h"

#include "base/team.h"
#include "output/writers.h"
#include "schema/sheets.h"

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
    const gt_dashboard *dashboard; /* NULL: none */
    const gt_sheet_style *styles;  /* one per table; NULL: none */
    gt_name_set names;             /* of the sheets */
    gt_xlsx_fit *sheets;           /* one per table */
    gt_xlsx_sheet **writers;       /* one per table, while they are written */
    piece_place *pieces;           /* of all sheets */
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

/* All in one warning: a comparison has dozens of sheets with long names. */
static void warn_about_names(const workbook *book)
{
    size_t changed = 0, first = 0;
    for (size_t i = 0; i < book->count; i++)
        if (strcmp(book->names.names[i], book->tables[i]->name) != 0 && changed++ == 0) first = i;
    if (!changed) return;
    char others[64] = "";
    if (changed > 1)
        snprintf(others, sizeof others, ", and %zu more %s another name", changed - 1,
                 changed == 2 ? "has" : "have");
    gt_warn(
        "sheet %s is named %s in the workbook%s: Excel allows %d characters, no []:*?/\\', and unique names",
        book->tables[first]->name, book->names.names[first], others, GT_EXCEL_NAME_CHARS);
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
    const gt_table *table = book->tables[index];
    bool has_dashboard = book->dashboard && book->dashboard->sheet == table;
    book->writers[index] = gt_xlsx_sheet_new(table, has_dashboard ? book->dashboard : NULL,
                                             book->styles ? book->styles[index] : (gt_sheet_style){0});
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
    gt_free_all(book->writers, book->pieces);
}

/* ---- parts of every workbook ---- */

static void add_numbered(gt_zip *zip, const char *format, size_t number)
{
    char text[512];
    snprintf(text, sizeof text, format, number, number);
    gt_zip_add(zip, text);
}

static bool is_native(const workbook *book, size_t sheet)
{
    bool has_dashboard = book->dashboard && book->dashboard->sheet == book->tables[sheet];
    return book->styles && book->styles[sheet].is_table && !has_dashboard &&
           gt_xlsx_can_be_native(book->tables[sheet]);
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
    for (size_t i = 0; i < book->count; i++)
        if (is_native(book, i))
            add_numbered(zip,
                         "<Override PartName=\"/xl/tables/table%zu.xml\" ContentType=\"" SPREADSHEET_TYPE
                         "table+xml\"/>",
                         i + 1);
    gt_xlsx_add_drawing_types(zip, book->dashboard);
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

/* ---- the workbook part: sheet names, filters, print areas and titles ---- */

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

/* A dashboard may have cells that are only there for its charts, to the right of what is printed. */
static void add_print_area(workbook *book, size_t sheet)
{
    const gt_dashboard *dashboard = book->dashboard;
    size_t rows = book->sheets[sheet].header_rows + book->sheets[sheet].rows, columns = 0;
    if (!dashboard || dashboard->sheet != book->tables[sheet] || !dashboard->print_columns) return;
    gt_xlsx_dash_extent(dashboard, &rows, &columns);
    for (size_t i = 0; i < dashboard->chart_count; i++) {
        const gt_chart *chart = &dashboard->charts[i];
        if (chart->series_count && chart->row + chart->rows > rows) rows = chart->row + chart->rows;
    }
    char last[GT_CELL_NAME_MAX];
    add_numbered(&book->zip, "<definedName name=\"_xlnm.Print_Area\" localSheetId=\"%zu\">", sheet);
    add_quoted_name(book, sheet);
    gt_zip_add(&book->zip, "$A$1:");
    gt_zip_write(&book->zip, last, gt_xlsx_cell_name(last, rows - 1, dashboard->print_columns - 1, true));
    gt_zip_add(&book->zip, "</definedName>");
}

static void add_defined_names(workbook *book)
{
    bool any = false;
    for (size_t i = 0; i < book->count; i++) {
        if (book->sheets[i].columns == 0) continue;
        if (!any) gt_zip_add(&book->zip, "<definedNames>");
        any = true;
        if (book->sheets[i].has_filter) add_filter(book, i);
        add_print_area(book, i);
        add_print_titles(book, i);
    }
    if (any) gt_zip_add(&book->zip, "</definedNames>");
}

static bool is_hidden(const workbook *book, size_t sheet)
{
    return book->styles && book->styles[sheet].is_hidden;
}

/* The first sheet that is not hidden: Excel shows no other one at first, and refuses a workbook without any.
 */
static size_t active_sheet(const workbook *book)
{
    size_t sheet = 0;
    while (sheet < book->count && is_hidden(book, sheet)) sheet++;
    return sheet < book->count ? sheet : 0;
}

static void write_workbook(workbook *book)
{
    gt_zip *zip = &book->zip;
    size_t active = active_sheet(book);
    gt_zip_begin_part(zip, "xl/workbook.xml", false);
    gt_zip_add(zip, XML_HEAD "<workbook xmlns=\"" SPREADSHEET "\" xmlns:r=\"" OFFICE "\"><bookViews>");
    add_numbered(zip, "<workbookView activeTab=\"%zu\"/></bookViews><sheets>", active);
    for (size_t i = 0; i < book->count; i++) {
        gt_zip_add(zip, "<sheet name=\"");
        gt_xlsx_write_escaped(zip, (gt_str){book->names.names[i], strlen(book->names.names[i])});
        if (is_hidden(book, i) && i != active) gt_zip_add(zip, "\" state=\"hidden");
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

static void write_drawings(workbook *book)
{
    gt_xlsx_book view = {.tables = book->tables,
                         .names = book->names.names,
                         .count = book->count,
                         .dashboard = book->dashboard};
    while (book->dashboard && book->tables[view.dashboard_sheet] != book->dashboard->sheet)
        view.dashboard_sheet++;
    gt_xlsx_write_drawings(&book->zip, &view);
}

static void write_native_tables(workbook *book)
{
    gt_name_set names = {0};
    for (size_t i = 0; i < book->count; i++)
        if (is_native(book, i))
            gt_xlsx_write_native(&book->zip, i + 1, book->tables[i], &book->sheets[i], book->names.names[i],
                                 &names);
    gt_name_set_free(&names);
}

static void run_job(void *state)
{
    xlsx_job *j = state;
    workbook *book = &j->book;
    if (!j->is_open) return;
    for (size_t i = 0; i < book->count; i++) add_sheet_name(book, book->tables[i]->name);
    gt_zip_begin(&book->zip, &j->file);
    write_content_types(book);
    write_relations(book);
    gt_xlsx_write_styles(&book->zip, book->dashboard != NULL);
    write_sheets(book);
    write_native_tables(book);
    write_drawings(book);
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
    gt_free_all(j->path, j);
    return ok;
}

/* Whether one of the tables is its sheet: a dashboard alone is not shown. */
static bool has_sheet_of(const workbook *book, const gt_dashboard *dashboard)
{
    for (size_t i = 0; dashboard && i < book->count; i++)
        if (book->tables[i] == dashboard->sheet) return true;
    return false;
}

gt_document_writer gt_xlsx_writer_begin(gt_output *output, const gt_document *document,
                                        gt_table *const *tables, size_t count)
{
    xlsx_job *j = gt_alloc_zero(1, sizeof *j);
    j->path = gt_strdup(document->path);
    j->is_open = gt_file_open(&j->file, output, document->path, &j->error);
    if (count == 0) j->nothing = gt_table_new(GT_SHEET_SHEET1, NULL);
    j->book = (workbook){.tables = count ? tables : &j->nothing,
                         .count = count ? count : 1,
                         .styles = count ? document->styles : NULL};
    j->book.sheets = gt_alloc_zero(j->book.count, sizeof *j->book.sheets);
    if (has_sheet_of(&j->book, document->dashboard)) j->book.dashboard = document->dashboard;
    return (gt_document_writer){j, !j->is_open, run_job, end_job};
}
