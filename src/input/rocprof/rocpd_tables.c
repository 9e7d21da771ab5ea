/* Opens a rocpd database without trusting it, and runs plain SELECTs on its tables. */
#include "input/rocprof/rocpd_tables.h"
#include "base/guard.h"
#include "base/memory.h"
#include "base/buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANCHOR "rocpd_kernel_dispatch" /* every set has this table */
enum { MAX_SETS = 100000 };

/* Limits for the SQL in the file's own schema: far more than rocpd needs. */
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

/* After calls that return the same for "none" and for out of memory. */
static void check_memory(sqlite3 *database)
{
    if (sqlite3_errcode(database) == SQLITE_NOMEM) gt_raise("out of memory");
}

static bool fail(const gt_rocpd *rocpd, gt_error *error)
{
    int code = sqlite3_errcode(rocpd->database);
    const char *why = sqlite3_errmsg(rocpd->database);
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
        return gt_fail(error, "%s: damaged database (%s)", rocpd->path, why);
    return gt_fail(error, "%s: cannot read the database (%s)", rocpd->path, why);
}

/* ---- statements ---- */

static void finalize(void *rows)
{
    sqlite3_finalize(rows);
}

/* NULL on failure. */
static sqlite3_stmt *prepare(const gt_rocpd *rocpd, const char *sql)
{
    sqlite3_stmt *rows = NULL;
    if (sqlite3_prepare_v2(rocpd->database, sql, -1, &rows, NULL) != SQLITE_OK) return NULL;
    gt_guard_add(finalize, rows);
    return rows;
}

void gt_rocpd_end_rows(sqlite3_stmt *rows)
{
    gt_guard_remove(rows);
    sqlite3_finalize(rows);
}

/* ---- opening ---- */

static bool exists_with_suffix(const char *path, const char *ending)
{
    struct stat status;
    char *other = gt_format("%s%s", path, ending);
    bool exists = stat(other, &status) == 0 && status.st_size > 0;
    gt_free(other);
    return exists;
}

/* The header has the number of pages. A shorter file is an incomplete copy or comes from an interrupted run.
 */
static bool is_complete(const char *path, gt_error *error)
{
    uint8_t header[100];
    FILE *file = fopen(path, "rb");
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
    if (exists_with_suffix(path, "-journal"))
        return gt_fail(error, "%s: incomplete database (a journal file exists next to it)", path);
    return true;
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

static void restrict_database(sqlite3 *database)
{
    for (size_t i = 0; i < GT_LENGTH(settings); i++)
        sqlite3_db_config(database, settings[i].what, settings[i].value, (int *)NULL);
    for (size_t i = 0; i < GT_LENGTH(limits); i++) sqlite3_limit(database, limits[i].what, limits[i].most);
    sqlite3_exec(database, "PRAGMA query_only=1; PRAGMA cell_size_check=1; PRAGMA mmap_size=0;", NULL, NULL,
                 NULL);
    check_memory(database);
}

/* Lists the plain tables and the sets. The list is read once: looking up each table of each set in the
 * schema would take quadratic time. */
static bool find_tables(gt_rocpd *rocpd, gt_error *error)
{
    static const char sql[] = "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 6) = "
                              "'rocpd_' AND upper(substr(sql, 1, 14)) <> 'CREATE VIRTUAL' ORDER BY rowid";
    sqlite3_stmt *rows = prepare(rocpd, sql);
    bool failed = !rows && !fail(rocpd, error);
    rocpd->tables = gt_interner_new();
    while (!failed && gt_rocpd_next(rocpd, rows, &failed, error)) {
        gt_str name = gt_rocpd_string(rows, 0);
        gt_interner_add(rocpd->tables, name.bytes, name.len);
        if (gt_str_starts_with(name, ANCHOR) && rocpd->suffix_count < MAX_SETS)
            GT_PUSH(rocpd->suffixes, rocpd->suffix_count, rocpd->suffix_capacity,
                    gt_strdup(name.bytes + strlen(ANCHOR)));
    }
    gt_rocpd_end_rows(rows);
    return !failed;
}

static bool has_table(const gt_rocpd *rocpd, const char *name)
{
    return gt_interner_find(rocpd->tables, name, strlen(name)) != GT_STR_NONE;
}

static void close_rocpd(void *rocpd)
{
    gt_rocpd_close(rocpd);
}

/* Opens the database of rocpd->path. */
static bool open_database(gt_rocpd *rocpd)
{
    char *uri = uri_of(rocpd->path, !exists_with_suffix(rocpd->path, "-wal"));
    int opened = sqlite3_open_v2(uri, &rocpd->database,
                                 SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    gt_guard_add(close_rocpd, rocpd);
    gt_free(uri);
    if (opened == SQLITE_OK) restrict_database(rocpd->database);
    return opened == SQLITE_OK;
}

bool gt_rocpd_open_again(gt_rocpd *rocpd, const gt_rocpd *original, gt_error *error)
{
    *rocpd = *original;
    rocpd->is_again = true;
    rocpd->database = NULL;
    if (open_database(rocpd) &&
        sqlite3_exec(rocpd->database, "PRAGMA cache_size = -256;", NULL, NULL, NULL) == SQLITE_OK)
        return true;
    fail(rocpd, error);
    gt_rocpd_close(rocpd);
    return false;
}

bool gt_rocpd_open(gt_rocpd *rocpd, const char *path, gt_error *error)
{
    *rocpd = (gt_rocpd){.path = path};
    if (!is_complete(path, error)) return false;
    bool ok = open_database(rocpd) ? find_tables(rocpd, error) : fail(rocpd, error);
    if (ok && !rocpd->suffix_count)
        ok = has_table(rocpd, "rocpd_op")
                 ? gt_fail(error,
                           "%s: rocmProfileData database, unsupported (rocprofv3's rocpd is supported)", path)
                 : gt_fail(error, "%s: no rocpd tables; not a rocprofv3 database, or incomplete", path);
    if (!ok) gt_rocpd_close(rocpd);
    return ok;
}

/* A guarded call that fails does not finalize its statements, which would keep the database open. */
void gt_rocpd_close(gt_rocpd *rocpd)
{
    gt_guard_remove(rocpd);
    sqlite3_close(rocpd->database);
    if (!rocpd->is_again) {
        for (size_t i = 0; i < rocpd->suffix_count; i++) gt_free(rocpd->suffixes[i]);
        gt_free(rocpd->suffixes);
        gt_interner_free(rocpd->tables);
    }
    *rocpd = (gt_rocpd){0};
}

/* ---- tables ---- */

static void add_name(gt_buffer *sql, const char *name, const char *suffix)
{
    gt_buffer_add_cstr(sql, "\"");
    gt_buffer_add_cstr(sql, name);
    for (; *suffix; suffix++) {
        if (*suffix == '"') gt_buffer_add(sql, "\"", 1);
        gt_buffer_add(sql, suffix, 1);
    }
    gt_buffer_add_cstr(sql, "\"");
}

/* The names of a table's columns, each between spaces: " id guid "; a single space if there is no such table.
 * `unique_id`, unless it is NULL: whether the column id alone is the primary key. */
static char *column_list(const gt_rocpd *rocpd, size_t set, const char *table, bool *unique_id)
{
    gt_buffer list = {0};
    char *name = gt_format("%s%s", table, rocpd->suffixes[set]);
    size_t keys = 0;
    bool id_is_key = false;
    gt_buffer_add_cstr(&list, " ");
    if (has_table(rocpd, name)) {
        sqlite3_stmt *rows = prepare(rocpd, "SELECT name, pk FROM pragma_table_info(?1)");
        if (rows && sqlite3_bind_text(rows, 1, name, -1, SQLITE_TRANSIENT) == SQLITE_OK)
            while (sqlite3_step(rows) == SQLITE_ROW) {
                gt_str column = gt_rocpd_string(rows, 0);
                gt_buffer_add(&list, column.bytes, column.len);
                gt_buffer_add_cstr(&list, " ");
                bool is_key = sqlite3_column_int(rows, 1) > 0;
                keys += is_key;
                id_is_key = id_is_key || (is_key && gt_str_equals_nocase(column, "id"));
            }
        check_memory(rocpd->database);
        gt_rocpd_end_rows(rows);
    }
    gt_free(name);
    gt_buffer_add(&list, "", 1);
    if (unique_id) *unique_id = id_is_key && keys == 1;
    return list.bytes;
}

static bool lists(const char *list, const char *name)
{
    char *padded = gt_format(" %s ", name);
    bool found = strcasestr(list, padded) != NULL;
    gt_free(padded);
    return found;
}

static void add_column(gt_buffer *sql, const char *column, const char *own, const char *joined)
{
    bool other = strncmp(column, "join.", 5) == 0;
    const char *name = other ? column + 5 : column;
    if (!lists(other ? joined : own, name)) {
        gt_buffer_add_cstr(sql, "NULL");
        return;
    }
    gt_buffer_add_cstr(sql, other ? "j." : "t.");
    add_name(sql, name, "");
}

/* Adds the other table of a join. If its ids may repeat, one row per id is taken, so that the result never
 * has more rows than the first table. */
static void add_join(gt_buffer *sql, const gt_rocpd *rocpd, size_t set, const gt_rocpd_query *query,
                     bool unique_id, bool by_guid)
{
    gt_buffer_add_cstr(sql, unique_id ? " LEFT JOIN " : " LEFT JOIN (SELECT * FROM ");
    add_name(sql, query->join, rocpd->suffixes[set]);
    if (!unique_id) gt_buffer_add_cstr(sql, by_guid ? " GROUP BY id, guid)" : " GROUP BY id)");
    gt_buffer_add_cstr(sql, " j ON j.id = t.");
    add_name(sql, query->join_by, "");
    if (by_guid) gt_buffer_add_cstr(sql, " AND j.guid = t.guid");
}

static sqlite3_stmt *rows_of(const gt_rocpd *rocpd, size_t set, const gt_rocpd_query *query,
                             const gt_rowids *ids, bool *missing, gt_error *error)
{
    bool unique_id = false;
    char *own = column_list(rocpd, set, query->table, NULL);
    char *joined = query->join ? column_list(rocpd, set, query->join, &unique_id) : gt_strdup(" ");
    bool joins = lists(joined, "id") && lists(own, query->join_by);
    sqlite3_stmt *rows = NULL;
    *missing = own[1] == 0;
    if (!*missing) {
        gt_buffer sql = {0};
        gt_buffer_add_cstr(&sql, "SELECT ");
        for (size_t i = 0; i < query->column_count; i++) {
            if (i) gt_buffer_add_cstr(&sql, ", ");
            add_column(&sql, query->columns[i], own, joins ? joined : " ");
        }
        gt_buffer_add_cstr(&sql, " FROM ");
        add_name(&sql, query->table, rocpd->suffixes[set]);
        gt_buffer_add_cstr(&sql, " t NOT INDEXED"); /* in the order of the row ids */
        if (joins) add_join(&sql, rocpd, set, query, unique_id, lists(own, "guid") && lists(joined, "guid"));
        if (ids)
            gt_buffer_add_format(&sql, " WHERE t.rowid BETWEEN %lld AND %lld", (long long)ids->first,
                                 (long long)ids->last);
        gt_buffer_add(&sql, "", 1);
        rows = prepare(rocpd, sql.bytes);
        if (!rows) fail(rocpd, error);
        gt_buffer_free(&sql);
    }
    gt_free(own);
    gt_free(joined);
    return rows;
}

sqlite3_stmt *gt_rocpd_rows(const gt_rocpd *rocpd, size_t set, const gt_rocpd_query *query, bool *missing,
                            gt_error *error)
{
    return rows_of(rocpd, set, query, NULL, missing, error);
}

sqlite3_stmt *gt_rocpd_rows_of(const gt_rocpd *rocpd, size_t set, const gt_rocpd_query *query, gt_rowids ids,
                               gt_error *error)
{
    bool missing;
    return rows_of(rocpd, set, query, &ids, &missing, error);
}

/* The first row of a query of a table, after which its name follows; NULL if there is none. */
static sqlite3_stmt *first_row(const gt_rocpd *rocpd, size_t set, const char *select, const char *table,
                               const char *rest)
{
    char *name = gt_format("%s%s", table, rocpd->suffixes[set]);
    sqlite3_stmt *rows = NULL;
    if (has_table(rocpd, name)) {
        gt_buffer sql = {0};
        gt_buffer_add_cstr(&sql, select);
        add_name(&sql, table, rocpd->suffixes[set]);
        gt_buffer_add_cstr(&sql, rest);
        gt_buffer_add(&sql, "", 1);
        rows = prepare(rocpd, sql.bytes);
        gt_buffer_free(&sql);
    }
    gt_free(name);
    if (rows && sqlite3_step(rows) == SQLITE_ROW) return rows;
    if (rows) gt_rocpd_end_rows(rows);
    return NULL;
}

static bool one_rowid(const gt_rocpd *rocpd, size_t set, const char *table, const char *rest, int64_t *id)
{
    sqlite3_stmt *row = first_row(rocpd, set, "SELECT rowid FROM ", table, rest);
    if (!row) return false;
    *id = sqlite3_column_int64(row, 0);
    gt_rocpd_end_rows(row);
    return true;
}

/* Not for a join that would be prepared again for each part, and not if a column hides the row ids. */
bool gt_rocpd_rowids(const gt_rocpd *rocpd, size_t set, const gt_rocpd_query *query, gt_rowids *ids)
{
    bool unique_id = true;
    char *own = column_list(rocpd, set, query->table, NULL);
    char *joined = query->join ? column_list(rocpd, set, query->join, &unique_id) : gt_strdup(" ");
    bool joins = lists(joined, "id") && lists(own, query->join_by);
    bool can = (!joins || unique_id) && !lists(own, "rowid");
    gt_free(own);
    gt_free(joined);
    return can && one_rowid(rocpd, set, query->table, " ORDER BY rowid LIMIT 1", &ids->first) &&
           one_rowid(rocpd, set, query->table, " ORDER BY rowid DESC LIMIT 1", &ids->last);
}

bool gt_rocpd_is_empty(const gt_rocpd *rocpd, size_t set, const char *table)
{
    sqlite3_stmt *row = first_row(rocpd, set, "SELECT 1 FROM ", table, " LIMIT 1");
    if (row) gt_rocpd_end_rows(row);
    return !row;
}

bool gt_rocpd_next(const gt_rocpd *rocpd, sqlite3_stmt *rows, bool *failed, gt_error *error)
{
    int stepped = sqlite3_step(rows);
    if (stepped != SQLITE_ROW && stepped != SQLITE_DONE) *failed = !fail(rocpd, error);
    return stepped == SQLITE_ROW;
}

gt_str gt_rocpd_string(sqlite3_stmt *rows, int column)
{
    const char *bytes = (const char *)sqlite3_column_text(rows, column);
    if (!bytes) {
        check_memory(sqlite3_db_handle(rows));
        return (gt_str){"", 0};
    }
    return (gt_str){bytes, (size_t)sqlite3_column_bytes(rows, column)};
}
