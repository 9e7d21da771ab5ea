/* Opens untrusted SQLite databases.
 *
 * SQLite does not notice when pages of a file are the children of several others. A file of 120 KB whose
 * pages all lead to one leaf then has 582^4 rows. So row ids must increase, and all work is bounded by the
 * size of the file: the instructions that SQLite executes, and the pages that these look at. */
#include "input/sqlite.h"
#include "base/guard.h"
#include "os/own.h"

#include <sys/stat.h>

/* Limits for the SQL in the file's own schema: far more than profilers need. */
static const struct {
    int what, most;
} limits[] = {
    {SQLITE_LIMIT_LENGTH, 256 << 20}, {SQLITE_LIMIT_SQL_LENGTH, 1 << 20}, {SQLITE_LIMIT_COLUMN, 1000},
    {SQLITE_LIMIT_EXPR_DEPTH, 100},   {SQLITE_LIMIT_COMPOUND_SELECT, 50}, {SQLITE_LIMIT_VDBE_OP, 250000},
    {SQLITE_LIMIT_FUNCTION_ARG, 16},  {SQLITE_LIMIT_ATTACHED, 0},         {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
    {SQLITE_LIMIT_WORKER_THREADS, 0},
};

static const struct {
    int what, value;
} settings[] = {
    {SQLITE_DBCONFIG_DEFENSIVE, 1},
    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
    {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
};

/* Reading real databases needs 0.2 per byte. A page counts as several instructions, because chains of overflow
 * pages are followed within one. */
enum { WORK_PER_BYTE = 16, WORK_AT_LEAST = 4000000, WORK_PER_PAGE = 8, WORK_BETWEEN_CHECKS = 4096 };

/* Called while statements run; other than 0 interrupts them. */
static int charge(void *context)
{
    static const int kinds[] = {SQLITE_DBSTATUS_CACHE_HIT, SQLITE_DBSTATUS_CACHE_MISS};
    gt_sqlite *database = context;
    database->work += WORK_BETWEEN_CHECKS;
    for (size_t i = 0; i < GT_LENGTH(kinds); i++) {
        int pages = 0, most;
        sqlite3_db_status(database->handle, kinds[i], &pages, &most, 1);
        database->work += (uint64_t)pages * WORK_PER_PAGE;
    }
    return database->work > database->bytes * WORK_PER_BYTE + WORK_AT_LEAST;
}

void gt_sqlite_check_memory(const gt_sqlite *database)
{
    if (sqlite3_errcode(database->handle) == SQLITE_NOMEM) gt_raise("out of memory");
}

bool gt_sqlite_fail(const gt_sqlite *database, gt_error *error)
{
    gt_sqlite_check_memory(database);
    int code = sqlite3_errcode(database->handle);
    const char *why = sqlite3_errmsg(database->handle);
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
        return gt_fail(error, "%s: damaged database (%s)", database->path, why);
    if (code == SQLITE_INTERRUPT)
        return gt_fail(error, "%s: damaged database (it has more rows than fit into %llu bytes)",
                       database->path, (unsigned long long)database->bytes);
    return gt_fail(error, "%s: cannot read the database (%s)", database->path, why);
}

/* ---- statements ---- */

static void finalize(void *rows)
{
    sqlite3_finalize(rows);
}

sqlite3_stmt *gt_sqlite_prepare(const gt_sqlite *database, const char *sql)
{
    sqlite3_stmt *rows = NULL;
    if (sqlite3_prepare_v2(database->handle, sql, -1, &rows, NULL) != SQLITE_OK) return NULL;
    gt_guard_add(finalize, rows);
    return rows;
}

void gt_sqlite_end(sqlite3_stmt *rows)
{
    gt_guard_remove(rows);
    sqlite3_finalize(rows);
}

bool gt_sqlite_next(const gt_sqlite *database, sqlite3_stmt *rows, bool *failed, gt_error *error)
{
    int stepped = sqlite3_step(rows);
    if (stepped != SQLITE_ROW && stepped != SQLITE_DONE) *failed = !gt_sqlite_fail(database, error);
    return stepped == SQLITE_ROW;
}

bool gt_sqlite_next_in_order(const gt_sqlite *database, sqlite3_stmt *rows, int column,
                             gt_sqlite_order *order, bool *failed, gt_error *error)
{
    if (!gt_sqlite_next(database, rows, failed, error)) return false;
    if (sqlite3_column_type(rows, column) != SQLITE_INTEGER) return true;
    int64_t id = sqlite3_column_int64(rows, column);
    if (order->has_row && id <= order->last) {
        *failed = !gt_fail(error, "%s: damaged database (row %lld comes after row %lld)", database->path,
                           (long long)id, (long long)order->last);
        return false;
    }
    *order = (gt_sqlite_order){id, true};
    return true;
}

gt_str gt_sqlite_string(sqlite3_stmt *rows, int column)
{
    const char *bytes = (const char *)sqlite3_column_text(rows, column);
    if (!bytes) {
        if (sqlite3_errcode(sqlite3_db_handle(rows)) == SQLITE_NOMEM) gt_raise("out of memory");
        return (gt_str){"", 0};
    }
    return (gt_str){bytes, (size_t)sqlite3_column_bytes(rows, column)};
}

/* ---- opening ---- */

bool gt_sqlite_has_sibling(const char *path, const char *ending)
{
    struct stat status;
    char *other = gt_format("%s%s", path, ending);
    bool exists = stat(other, &status) == 0 && status.st_size > 0;
    gt_free(other);
    return exists;
}

/* The header has the number of pages. A shorter file is an incomplete copy or comes from an interrupted run.
 */
bool gt_sqlite_is_complete(const char *path, gt_error *error)
{
    uint8_t header[100];
    FILE *file = gt_fopen(path, "rb");
    if (!file) return gt_fail(error, "%s: cannot open the database", path);
    size_t got = fread(header, 1, sizeof header, file);
    struct stat status;
    bool known = fstat(fileno(file), &status) == 0;
    fclose(file);
    if (got < sizeof header) return gt_fail(error, "%s: database truncated in its header", path);
    uint32_t page = (uint32_t)header[16] << 8 | header[17];
    if (page == 1) page = 65536;
    uint64_t pages =
        (uint64_t)header[28] << 24 | (uint32_t)header[29] << 16 | (uint32_t)header[30] << 8 | header[31];
    if (known && pages * page > (uint64_t)status.st_size)
        return gt_fail(
            error,
            "%s: database truncated: %llu of %llu bytes; check that it was copied completely and that the "
            "profiler had finished",
            path, (unsigned long long)status.st_size, (unsigned long long)(pages * page));
    if (gt_sqlite_has_sibling(path, "-journal"))
        return gt_fail(error, "%s: incomplete database (a journal file exists next to it)", path);
    return true;
}

/* The bytes of the file and of the journal with its newest pages. */
static uint64_t bytes_of(const char *path)
{
    struct stat status;
    uint64_t bytes = stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
    char *other = gt_format("%s-wal", path);
    if (stat(other, &status) == 0) bytes += (uint64_t)status.st_size;
    gt_free(other);
    return bytes;
}

/* A file name as an SQLite URI. */
static char *uri_of(const char *path, bool immutable)
{
    gt_buffer uri = {0};
    gt_buffer_add_cstr(&uri, "file:");
    for (const char *p = path; *p; p++) {
        bool plain = strchr("?#%", *p) == NULL;
        char code[4];
        snprintf(code, sizeof code, "%%%02X", (unsigned char)*p);
        gt_buffer_add(&uri, plain ? p : code, plain ? 1 : 3);
    }
    gt_buffer_add_cstr(&uri, immutable ? "?mode=ro&immutable=1" : "?mode=ro");
    gt_buffer_add(&uri, "", 1);
    return uri.bytes;
}

static void restrict_database(gt_sqlite *database)
{
    for (size_t i = 0; i < GT_LENGTH(settings); i++)
        sqlite3_db_config(database->handle, settings[i].what, settings[i].value, (int *)NULL);
    for (size_t i = 0; i < GT_LENGTH(limits); i++)
        sqlite3_limit(database->handle, limits[i].what, limits[i].most);
    if (database->bytes < (uint64_t)limits[0].most) /* no value is longer than its file */
        sqlite3_limit(database->handle, limits[0].what, (int)database->bytes);
    sqlite3_progress_handler(database->handle, WORK_BETWEEN_CHECKS, charge, database);
    sqlite3_exec(database->handle, "PRAGMA query_only=1; PRAGMA cell_size_check=1; PRAGMA mmap_size=0;", NULL,
                 NULL, NULL);
    gt_sqlite_check_memory(database);
}

static void close_database(void *database)
{
    gt_sqlite_close(database);
}

bool gt_sqlite_open(gt_sqlite *database, const char *path, bool immutable, gt_error *error)
{
    *database = (gt_sqlite){.path = path, .bytes = bytes_of(path)};
    char *uri = uri_of(path, immutable);
    int opened = sqlite3_open_v2(uri, &database->handle,
                                 SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    gt_guard_add(close_database, database);
    gt_free(uri);
    if (opened == SQLITE_OK) {
        restrict_database(database);
        return true;
    }
    gt_sqlite_fail(database, error);
    gt_sqlite_close(database);
    return false;
}

/* A guarded call that fails does not finalize its statements, which would keep the database open. */
void gt_sqlite_close(gt_sqlite *database)
{
    gt_guard_remove(database);
    sqlite3_close(database->handle);
    database->handle = NULL;
}

void gt_sqlite_add_name(gt_buffer *sql, const char *name, const char *suffix)
{
    const char *const parts[] = {name, suffix};
    gt_buffer_add_cstr(sql, "\"");
    for (size_t i = 0; i < GT_LENGTH(parts); i++)
        for (const char *p = parts[i]; *p; p++) {
            if (*p == '"') gt_buffer_add(sql, "\"", 1);
            gt_buffer_add(sql, p, 1);
        }
    gt_buffer_add_cstr(sql, "\"");
}
