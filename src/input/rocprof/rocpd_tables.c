/* Opens a rocpd database without trusting it, and runs plain SELECTs on its tables. */
#include "input/rocprof/rocpd_tables.h"

#define ANCHOR "rocpd_kernel_dispatch" /* every set has this table */
enum { MAX_SETS = 100000 };

/* Lists the plain tables and the sets. The list is read once: looking up each table of each set in the
 * schema would take quadratic time. */
static bool find_tables(gt_rocpd *rocpd, gt_error *error)
{
    static const char sql[] = "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 6) = "
                              "'rocpd_' AND upper(substr(sql, 1, 14)) <> 'CREATE VIRTUAL' ORDER BY rowid";
    sqlite3_stmt *rows = gt_sqlite_prepare(&rocpd->database, sql);
    bool failed = !rows && !gt_sqlite_fail(&rocpd->database, error);
    rocpd->tables = gt_interner_new();
    while (!failed && gt_sqlite_next(&rocpd->database, rows, &failed, error)) {
        gt_str name = gt_sqlite_string(rows, 0);
        gt_interner_add(rocpd->tables, name.bytes, name.len);
        if (gt_str_starts_with(name, ANCHOR) && rocpd->suffix_count < MAX_SETS)
            GT_PUSH(rocpd->suffixes, rocpd->suffix_count, rocpd->suffix_capacity,
                    gt_strdup(name.bytes + strlen(ANCHOR)));
    }
    gt_sqlite_end(rows);
    return !failed;
}

static bool has_table(const gt_rocpd *rocpd, const char *name)
{
    return gt_interner_find(rocpd->tables, name, strlen(name)) != GT_STR_NONE;
}

/* Opens the database of rocpd->path. */
static bool open_database(gt_rocpd *rocpd, gt_error *error)
{
    return gt_sqlite_open(&rocpd->database, rocpd->path, !gt_sqlite_has_sibling(rocpd->path, "-wal"), error);
}

bool gt_rocpd_open_again(gt_rocpd *rocpd, const gt_rocpd *original, gt_error *error)
{
    *rocpd = *original;
    rocpd->is_again = true;
    rocpd->database = (gt_sqlite){0};
    if (!open_database(rocpd, error)) {
        gt_rocpd_close(rocpd);
        return false;
    }
    if (sqlite3_exec(rocpd->database.handle, "PRAGMA cache_size = -256;", NULL, NULL, NULL) == SQLITE_OK)
        return true;
    gt_sqlite_fail(&rocpd->database, error);
    gt_rocpd_close(rocpd);
    return false;
}

bool gt_rocpd_open(gt_rocpd *rocpd, const char *path, gt_error *error)
{
    *rocpd = (gt_rocpd){.path = path};
    if (!gt_sqlite_is_complete(path, error)) return false;
    bool ok = open_database(rocpd, error) && find_tables(rocpd, error);
    if (ok && !rocpd->suffix_count)
        ok = has_table(rocpd, "rocpd_op")
                 ? gt_fail(error,
                           "%s: rocmProfileData database, unsupported (rocprofv3's rocpd is supported)", path)
                 : gt_fail(error, "%s: no rocpd tables; not a rocprofv3 database, or incomplete", path);
    if (!ok) gt_rocpd_close(rocpd);
    return ok;
}

void gt_rocpd_close(gt_rocpd *rocpd)
{
    gt_sqlite_close(&rocpd->database);
    if (!rocpd->is_again) {
        for (size_t i = 0; i < rocpd->suffix_count; i++) gt_free(rocpd->suffixes[i]);
        gt_free(rocpd->suffixes);
        gt_interner_free(rocpd->tables);
    }
    *rocpd = (gt_rocpd){0};
}

/* ---- tables ---- */

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
        sqlite3_stmt *rows =
            gt_sqlite_prepare(&rocpd->database, "SELECT name, pk FROM pragma_table_info(?1)");
        if (rows && sqlite3_bind_text(rows, 1, name, -1, SQLITE_TRANSIENT) == SQLITE_OK)
            while (sqlite3_step(rows) == SQLITE_ROW) {
                gt_str column = gt_sqlite_string(rows, 0);
                gt_buffer_add(&list, column.bytes, column.len);
                gt_buffer_add_cstr(&list, " ");
                bool is_key = sqlite3_column_int(rows, 1) > 0;
                keys += is_key;
                id_is_key = id_is_key || (is_key && gt_str_equals_nocase(column, "id"));
            }
        gt_sqlite_check_memory(&rocpd->database);
        gt_sqlite_end(rows);
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
    gt_sqlite_add_name(sql, name, "");
}

/* Adds the other table of a join. If its ids may repeat, one row per id is taken, so that the result never
 * has more rows than the first table. */
static void add_join(gt_buffer *sql, const gt_rocpd *rocpd, size_t set, const gt_rocpd_query *query,
                     bool unique_id, bool by_guid)
{
    gt_buffer_add_cstr(sql, unique_id ? " LEFT JOIN " : " LEFT JOIN (SELECT * FROM ");
    gt_sqlite_add_name(sql, query->join, rocpd->suffixes[set]);
    if (!unique_id) gt_buffer_add_cstr(sql, by_guid ? " GROUP BY id, guid)" : " GROUP BY id)");
    gt_buffer_add_cstr(sql, " j ON j.id = t.");
    gt_sqlite_add_name(sql, query->join_by, "");
    if (by_guid) gt_buffer_add_cstr(sql, " AND j.guid = t.guid");
}

/* The columns of a table and of the one that it is joined with. */
typedef struct column_lists {
    char *own, *joined;
    bool joins, unique_id;
} column_lists;

static column_lists lists_of(const gt_rocpd *rocpd, size_t set, const gt_rocpd_query *query)
{
    column_lists c = {.own = column_list(rocpd, set, query->table, NULL), .unique_id = true};
    c.joined = query->join ? column_list(rocpd, set, query->join, &c.unique_id) : gt_strdup(" ");
    c.joins = lists(c.joined, "id") && lists(c.own, query->join_by);
    return c;
}

static void lists_free(column_lists *c)
{
    gt_free(c->own);
    gt_free(c->joined);
}

static sqlite3_stmt *select_rows(const gt_rocpd *rocpd, size_t set, const gt_rocpd_query *query,
                                 const column_lists *c, const gt_rowids *ids, const char *row_id)
{
    gt_buffer sql = {0};
    gt_buffer_add_cstr(&sql, "SELECT ");
    for (size_t i = 0; i < query->column_count; i++) {
        add_column(&sql, query->columns[i], c->own, c->joins ? c->joined : " ");
        gt_buffer_add_cstr(&sql, ", ");
    }
    gt_buffer_add_format(&sql, "%s FROM ", row_id);
    gt_sqlite_add_name(&sql, query->table, rocpd->suffixes[set]);
    gt_buffer_add_cstr(&sql, " t NOT INDEXED"); /* in the order of the row ids */
    if (c->joins)
        add_join(&sql, rocpd, set, query, c->unique_id, lists(c->own, "guid") && lists(c->joined, "guid"));
    if (ids)
        gt_buffer_add_format(&sql, " WHERE t.rowid BETWEEN %lld AND %lld", (long long)ids->first,
                             (long long)ids->last);
    gt_buffer_add(&sql, "", 1);
    sqlite3_stmt *rows = gt_sqlite_prepare(&rocpd->database, sql.bytes);
    gt_buffer_free(&sql);
    return rows;
}

static sqlite3_stmt *rows_of(const gt_rocpd *rocpd, size_t set, const gt_rocpd_query *query,
                             const gt_rowids *ids, bool *missing, gt_error *error)
{
    column_lists c = lists_of(rocpd, set, query);
    sqlite3_stmt *rows = NULL;
    *missing = c.own[1] == 0;
    if (!*missing) {
        if (!lists(c.own, "rowid")) rows = select_rows(rocpd, set, query, &c, ids, "t.rowid");
        if (!rows) rows = select_rows(rocpd, set, query, &c, ids, "NULL"); /* a table without row ids */
        if (!rows) gt_sqlite_fail(&rocpd->database, error);
    }
    lists_free(&c);
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
        gt_sqlite_add_name(&sql, table, rocpd->suffixes[set]);
        gt_buffer_add_cstr(&sql, rest);
        gt_buffer_add(&sql, "", 1);
        rows = gt_sqlite_prepare(&rocpd->database, sql.bytes);
        gt_buffer_free(&sql);
    }
    gt_free(name);
    if (rows && sqlite3_step(rows) == SQLITE_ROW) return rows;
    if (rows) gt_sqlite_end(rows);
    return NULL;
}

static bool one_rowid(const gt_rocpd *rocpd, size_t set, const char *table, const char *rest, int64_t *id)
{
    sqlite3_stmt *row = first_row(rocpd, set, "SELECT rowid FROM ", table, rest);
    if (!row) return false;
    *id = sqlite3_column_int64(row, 0);
    gt_sqlite_end(row);
    return true;
}

/* Not for a join that would be prepared again for each part, and not if a column hides the row ids. */
bool gt_rocpd_rowids(const gt_rocpd *rocpd, size_t set, const gt_rocpd_query *query, gt_rowids *ids)
{
    column_lists c = lists_of(rocpd, set, query);
    bool can = (!c.joins || c.unique_id) && !lists(c.own, "rowid");
    lists_free(&c);
    return can && one_rowid(rocpd, set, query->table, " ORDER BY rowid LIMIT 1", &ids->first) &&
           one_rowid(rocpd, set, query->table, " ORDER BY rowid DESC LIMIT 1", &ids->last);
}

bool gt_rocpd_is_empty(const gt_rocpd *rocpd, size_t set, const char *table)
{
    sqlite3_stmt *row = first_row(rocpd, set, "SELECT 1 FROM ", table, " LIMIT 1");
    if (row) gt_sqlite_end(row);
    return !row;
}
