/* Fuzzes the workbook reader. The first byte chooses what the rest is: an archive, or the XML of a sheet or
 * of the shared strings, inside an otherwise valid archive (checksums and compression would keep a fuzzer
 * from reaching the XML). */
#include "input/sheets/sheets.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

static const char book[] = "<workbook><sheets><sheet name='s' r:id='a'/></sheets></workbook>";
static const char relations[] = "<Relationships><Relationship Id='a' Target='s.xml'/></Relationships>";
static const char sheet[] = "<s><row><c t='s'><v>0</v></c></row><row><c t='s'><v>1</v></c></row></s>";

static volatile unsigned sink;

static void read_sheets(const void *bytes, size_t len)
{
    gt_error error;
    gt_interner *strings = gt_interner_new();
    gt_workbook *workbook = gt_workbook_memory(bytes, len, &error);
    for (size_t i = 0; workbook && i < gt_workbook_sheet_count(workbook) && i < 4; i++) {
        gt_table *table = gt_workbook_table(workbook, i, strings, &error);
        for (size_t c = 0; table && c < table->column_count; c++)
            if (!table->columns[c].name) abort();
        gt_sheet_grid grid;
        bool has_grid = gt_workbook_grid(workbook, i, &grid, &error);
        if (has_grid != (table != NULL)) abort();
        for (size_t cell = 0; cell < (size_t)grid.rows * grid.columns; cell++)
            if (grid.cells[cell].kind == GT_CELL_STRING && grid.cells[cell].len && !grid.cells[cell].bytes[0])
                sink++; /* reads the text */
        gt_sheet_grid_free(&grid);
        gt_table_free(table);
    }
    gt_workbook_close(workbook);
    gt_interner_free(strings);
}

static void add_part(zip_t *zip, const char *name, const void *bytes, size_t len)
{
    zip_source_t *source = zip_source_buffer(zip, bytes, len, 0);
    zip_int64_t index = source ? zip_file_add(zip, name, source, 0) : -1;
    if (index < 0) abort();
    zip_set_file_compression(zip, (zip_uint64_t)index, ZIP_CM_STORE, 0);
}

/* An archive in memory; the source that holds it must be freed. */
static zip_source_t *make_archive(const uint8_t *xml, size_t len, int is_sheet)
{
    zip_error_t reason;
    zip_source_t *archive = zip_source_buffer_create(NULL, 0, 0, &reason);
    zip_t *zip = zip_open_from_source(archive, ZIP_TRUNCATE, &reason);
    if (!zip) abort();
    zip_source_keep(archive);
    add_part(zip, "xl/workbook.xml", book, sizeof book - 1);
    add_part(zip, "xl/_rels/workbook.xml.rels", relations, sizeof relations - 1);
    add_part(zip, "xl/s.xml", is_sheet ? (const void *)xml : sheet, is_sheet ? len : sizeof sheet - 1);
    if (!is_sheet) add_part(zip, "xl/sharedStrings.xml", xml, len);
    if (zip_close(zip) != 0) abort();
    return archive;
}

static void read_parts(const uint8_t *xml, size_t len, int is_sheet)
{
    zip_source_t *archive = make_archive(xml, len, is_sheet);
    zip_stat_t status;
    if (zip_source_stat(archive, &status) != 0 || zip_source_open(archive) != 0) abort();
    void *bytes = malloc(status.size);
    if (!bytes || zip_source_read(archive, bytes, status.size) != (zip_int64_t)status.size) abort();
    zip_source_close(archive);
    zip_source_free(archive);
    read_sheets(bytes, status.size);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    if (data[0] % 3 == 0)
        read_sheets(data + 1, size - 1);
    else
        read_parts(data + 1, size - 1, data[0] % 3 == 1);
    return 0;
}
