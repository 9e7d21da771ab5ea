/* A report on disk, or in memory. Whether it is a workbook or a folder of CSV files is decided by the file
 * system, not by its name. */
#include "input/sheets/sheets.h"
#include "os/paths.h"

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
        gt_free_all(sheets->kept[i].name, sheets->kept[i].csv);
    }
    gt_free(sheets->kept);
    gt_workbook_close(sheets->book);
    gt_free_all(sheets->path, sheets);
}

/* ---- as an image: all names, each with a NUL, all texts, and the lengths of the texts ---- */

void gt_perf_sheets_save(const gt_perf_sheets *sheets, gt_image *image)
{
    gt_buffer names = {0};
    gt_str *texts = gt_alloc((sheets->kept_count + 1) * sizeof *texts);
    uint64_t *lengths = gt_alloc((sheets->kept_count + 1) * sizeof *lengths);
    for (size_t i = 0; i < sheets->kept_count; i++) {
        const struct kept_sheet *kept = &sheets->kept[i];
        gt_buffer_add(&names, kept->name, strlen(kept->name) + 1);
        texts[i] = (gt_str){kept->csv, kept->len};
        lengths[i] = kept->len;
    }
    gt_image_give(image, "sheets", "names", names.bytes, names.len);
    gt_image_give(image, "sheets", "lengths", lengths, sheets->kept_count * sizeof *lengths);
    gt_image_give_pieces(image, "sheets", "texts", texts, sheets->kept_count);
}

gt_perf_sheets *gt_perf_sheets_load(const gt_image *image, const char *path)
{
    size_t name_bytes = 0, bytes = 0, count = 0;
    const char *names = gt_image_get(image, "sheets", "names", 1, &name_bytes);
    const char *texts = gt_image_get(image, "sheets", "texts", 1, &bytes);
    const char *lengths = gt_image_get(image, "sheets", "lengths", sizeof(uint64_t), &count);
    if (!names || !texts || !lengths || (name_bytes && names[name_bytes - 1])) return NULL;
    gt_perf_sheets *sheets = gt_perf_sheets_memory(path);
    bool sound = true;
    for (size_t i = 0; sound && i < count; i++) {
        uint64_t len;
        memcpy(&len, lengths + i * sizeof len, sizeof len);
        sound = name_bytes && len <= bytes;
        if (!sound) break;
        gt_perf_sheets_add(sheets, gt_sheet_named(names), (gt_str){texts, (size_t)len});
        size_t name_len = strlen(names) + 1;
        names += name_len, name_bytes -= name_len;
        texts += len, bytes -= (size_t)len;
    }
    if (sound && !name_bytes && !bytes) return sheets;
    gt_perf_sheets_close(sheets);
    return NULL;
}

/* ---- finding and reading ---- */

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
