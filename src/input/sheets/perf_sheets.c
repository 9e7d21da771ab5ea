/* A report on disk, or in memory. Whether it is a workbook or a folder of CSV files is decided by the file
 * system, not by its name. */
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
    bool in_memory;
    struct kept_sheet {
        char *name, *csv;
        size_t len;
    } * kept;
    size_t kept_count, kept_capacity;
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
    *sheets = (gt_perf_sheets){.path = gt_strdup(path), .book = book};
    return sheets;
}

gt_perf_sheets *gt_perf_sheets_memory(const char *path)
{
    gt_perf_sheets *sheets = gt_alloc(sizeof *sheets);
    *sheets = (gt_perf_sheets){.path = gt_strdup(path), .in_memory = true};
    return sheets;
}

void gt_perf_sheets_add(gt_perf_sheets *sheets, gt_sheet name, gt_str csv)
{
    struct kept_sheet kept = {gt_strdup(name.name), gt_alloc(csv.len + 1), csv.len};
    memcpy(kept.csv, csv.bytes, csv.len);
    kept.csv[csv.len] = 0;
    GT_PUSH(sheets->kept, sheets->kept_count, sheets->kept_capacity, kept);
}

void gt_perf_sheets_close(gt_perf_sheets *sheets)
{
    if (!sheets) return;
    for (size_t i = 0; i < sheets->kept_count; i++) {
        gt_free(sheets->kept[i].name);
        gt_free(sheets->kept[i].csv);
    }
    gt_free(sheets->kept);
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

static const struct kept_sheet *find_kept(const gt_perf_sheets *sheets, gt_sheet name)
{
    for (size_t i = 0; i < sheets->kept_count; i++)
        if (!strcmp(sheets->kept[i].name, name.name)) return &sheets->kept[i];
    return NULL;
}

static char *csv_path(const gt_perf_sheets *sheets, gt_sheet name)
{
    return gt_format("%s/%s.csv", sheets->path, name.name);
}

bool gt_perf_sheets_has(const gt_perf_sheets *sheets, gt_sheet name)
{
    if (sheets->book) return find_sheet(sheets->book, name) != SIZE_MAX;
    if (sheets->in_memory) return find_kept(sheets, name) != NULL;
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
    } else if (sheets->in_memory) {
        const struct kept_sheet *kept = find_kept(sheets, name);
        table = gt_csv_table((gt_str){kept->csv, kept->len}, name, strings, error);
        if (!table) gt_error_prefix(error, sheets->path);
    } else {
        char *path = csv_path(sheets, name);
        table = gt_csv_table_read(path, name, strings, error);
        gt_free(path);
    }
    return table;
}
