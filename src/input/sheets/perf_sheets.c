/* A report on disk. Whether it is a workbook or a folder of CSV files is decided by the file system, not by
 * its name. */
#include "input/sheets/sheets.h"
#include "base/memory.h"
#include "os/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct gt_perf_sheets {
    char *path;
    gt_workbook *book; /* NULL if it is a folder */
};

gt_perf_sheets *gt_perf_sheets_open(const char *path, gt_error *error)
{
    struct stat status;
    gt_workbook *book = NULL;
    if (stat(path, &status) != 0) {
        gt_fail(error, errno == ENOENT ? "Input file not found: %s" : "cannot read %s", path);
        return NULL;
    }
    if (!S_ISDIR(status.st_mode) && !(book = gt_workbook_open(path, error))) return NULL;
    gt_perf_sheets *sheets = gt_alloc(sizeof *sheets);
    *sheets = (gt_perf_sheets){gt_strdup(path), book};
    return sheets;
}

void gt_perf_sheets_close(gt_perf_sheets *sheets)
{
    if (!sheets) return;
    gt_workbook_close(sheets->book);
    gt_free(sheets->path);
    gt_free(sheets);
}

static size_t find_sheet(const gt_workbook *book, gt_sheet name)
{
    for (size_t i = 0; i < gt_workbook_sheet_count(book); i++)
        if (!strcmp(gt_workbook_sheet_name(book, i), name.name)) return i;
    return SIZE_MAX;
}

static char *csv_path(const gt_perf_sheets *sheets, gt_sheet name)
{
    return gt_format("%s/%s.csv", sheets->path, name.name);
}

bool gt_perf_sheets_has(const gt_perf_sheets *sheets, gt_sheet name)
{
    if (sheets->book) return find_sheet(sheets->book, name) != SIZE_MAX;
    char *path = csv_path(sheets, name);
    bool found = access(path, F_OK) == 0 && gt_path_may_open(path);
    gt_free(path);
    return found;
}

gt_table *gt_perf_sheets_read(gt_perf_sheets *sheets, gt_sheet name, gt_interner *strings, gt_error *error)
{
    gt_table *table;
    if (sheets->book) {
        table = gt_workbook_table(sheets->book, find_sheet(sheets->book, name), strings, error);
        if (!table) gt_error_prefix(error, sheets->path);
    } else {
        char *path = csv_path(sheets, name);
        table = gt_csv_table_read(path, name, strings, error);
        gt_free(path);
    }
    return table;
}
