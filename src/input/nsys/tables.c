/* Which tables an Nsight Systems export has, and their rows. */
#include "input/nsys/tables.h"

/* ---- the list of tables ---- */

/* Whether the reader would read a table of this name. */
static bool is_ours(gt_str name)
{
    static const char *const names[] = {"StringIds",        "NVTX_EVENTS",      "NVTX_PAYLOAD_SCHEMA_ENTRIES",
                                        "OSRT_API",         "PROCESSES",        "ANALYSIS_DETAILS",
                                        "DIAGNOSTIC_EVENT", "META_DATA_EXPORT", "EXPORT_META_DATA"};
    for (size_t i = 0; i < GT_LENGTH(names); i++)
        if (gt_str_equals(name, names[i])) return true;
    return gt_str_starts_with(name, "CUPTI_ACTIVITY_KIND_") || gt_str_starts_with(name, "TARGET_INFO_");
}

/* Lists the plain tables, so that nothing else is ever read: a view or virtual table, which has no root page,
 * could compute anything. nsys writes neither. */
static bool list_tables(gt_nsys_tables *tables, gt_error *error)
{
    bool failed = false;
    sqlite3_stmt *rows = gt_sqlite_prepare(
        &tables->sqlite,
        "SELECT name, type = 'table' AND rootpage > 0 AND upper(substr(sql, 1, 14)) <> 'CREATE "
        "VIRTUAL' FROM sqlite_master WHERE type IN ('table', 'view')");
    tables->names = gt_interner_new();
    if (!rows) return gt_sqlite_fail(&tables->sqlite, error);
    while (gt_sqlite_next(&tables->sqlite, rows, &failed, error)) {
        gt_str name = gt_sqlite_string(rows, 0);
        if (sqlite3_column_int(rows, 1))
            gt_interner_add(tables->names, name.bytes, name.len);
        else if (is_ours(name) && !tables->not_plain)
            tables->not_plain = gt_strdup(name.bytes);
    }
    gt_sqlite_end(rows);
    return !failed;
}

bool gt_nsys_tables_open(gt_nsys_tables *tables, const char *path, gt_error *error)
{
    *tables = (gt_nsys_tables){0};
    if (!gt_sqlite_open(&tables->sqlite, path, true, error)) return false;
    if (list_tables(tables, error)) return true;
    gt_nsys_tables_close(tables);
    return false;
}

void gt_nsys_tables_close(gt_nsys_tables *tables)
{
    gt_sqlite_close(&tables->sqlite);
    gt_interner_free(tables->names);
    gt_free(tables->not_plain);
    tables->names = NULL;
    tables->not_plain = NULL;
}

bool gt_nsys_has_table(const gt_nsys_tables *tables, const char *name)
{
    return gt_interner_find(tables->names, name, strlen(name)) != GT_STR_NONE;
}

/* ---- columns ---- */

typedef struct column_facts {
    bool exists, is_only_key;
} column_facts;

static column_facts find_column(const gt_nsys_tables *tables, const char *table, const char *column)
{
    column_facts facts = {0};
    size_t keys = 0;
    if (!gt_nsys_has_table(tables, table)) return facts;
    sqlite3_stmt *rows = gt_sqlite_prepare(&tables->sqlite, "SELECT name, pk FROM pragma_table_info(?1)");
    if (rows && sqlite3_bind_text(rows, 1, table, -1, SQLITE_TRANSIENT) == SQLITE_OK)
        while (sqlite3_step(rows) == SQLITE_ROW) {
            bool is_key = sqlite3_column_int(rows, 1) > 0;
            keys += is_key;
            if (!gt_str_equals_nocase(gt_sqlite_string(rows, 0), column)) continue;
            facts = (column_facts){true, is_key};
        }
    gt_sqlite_check_memory(&tables->sqlite);
    gt_sqlite_end(rows);
    facts.is_only_key &= keys == 1;
    return facts;
}

bool gt_nsys_has_column(const gt_nsys_tables *tables, const char *table, const char *column)
{
    return find_column(tables, table, column).exists;
}

bool gt_nsys_is_key(const gt_nsys_tables *tables, const char *table, const char *column)
{
    return find_column(tables, table, column).is_only_key;
}

/* ---- what kind of database it is ---- */

static bool has_meta_row(const gt_nsys_tables *tables, const char *table)
{
    gt_error ignored;
    gt_nsys_rows rows;
    bool found = false;
    gt_nsys_begin(&rows, tables, table, GT_NSYS_COLUMNS("name", "value"), &ignored);
    while (!found && gt_nsys_next(&rows))
        found = gt_str_equals(gt_nsys_text(&rows, 0), "EXPORT_PRODUCT_NAME") &&
                gt_str_equals(gt_nsys_text(&rows, 1), "NVIDIA Nsight Systems");
    gt_nsys_end(&rows);
    return found;
}

static bool has_table_like(const gt_nsys_tables *tables, const char *beginning)
{
    for (uint32_t id = 0; id < gt_interner_count(tables->names); id++)
        if (gt_str_starts_with(gt_interner_get(tables->names, id), beginning)) return true;
    return false;
}

gt_database_kind gt_nsys_tables_kind(const gt_nsys_tables *tables)
{
    static const char *const others[] = {"NVTX_EVENTS", "OSRT_API", "TARGET_INFO_GPU"};
    bool is_nsys = has_table_like(tables, "CUPTI_ACTIVITY_KIND_");
    gt_database_kind other = has_table_like(tables, "rocpd_") ? GT_DATABASE_ROCPD : GT_DATABASE_OTHER;
    if (!find_column(tables, "StringIds", "id").exists || !find_column(tables, "StringIds", "value").exists)
        return is_nsys && find_column(tables, "StringTable", "_id_").exists ? GT_DATABASE_NVPROF : other;
    for (size_t i = 0; i < GT_LENGTH(others); i++) is_nsys |= gt_nsys_has_table(tables, others[i]);
    is_nsys = is_nsys || has_meta_row(tables, "META_DATA_EXPORT") || has_meta_row(tables, "EXPORT_META_DATA");
    return is_nsys ? GT_DATABASE_NSYS : other;
}

gt_database_kind gt_database_kind_of(const char *path)
{
    gt_error ignored;
    gt_nsys_tables tables;
    if (!gt_nsys_tables_open(&tables, path, &ignored)) return GT_DATABASE_ROCPD;
    gt_database_kind kind = gt_nsys_tables_kind(&tables);
    gt_nsys_tables_close(&tables);
    return kind;
}

/* ---- rows ---- */

/* A name of the row id that no column hides. */
static const char *row_id_of(const gt_nsys_rows *rows)
{
    static const char *const names[] = {"rowid", "_rowid_", "oid"};
    for (size_t i = 0; i < GT_LENGTH(names); i++)
        if (!find_column(rows->tables, rows->table, names[i]).exists) return names[i];
    return "NULL";
}

/* The row id is column 0, those asked for come after it. */
static sqlite3_stmt *select_from(gt_nsys_rows *rows, const char *row_id, size_t column_count,
                                 const char *only)
{
    gt_buffer sql = {0};
    gt_buffer_add_cstr(&sql, "SELECT ");
    gt_buffer_add_cstr(&sql, row_id);
    for (size_t i = 0; i < column_count; i++) {
        gt_buffer_add_cstr(&sql, ", ");
        if (find_column(rows->tables, rows->table, rows->columns[i]).exists)
            gt_sqlite_add_name(&sql, rows->columns[i], "");
        else
            gt_buffer_add_cstr(&sql, "NULL");
    }
    gt_buffer_add_cstr(&sql, " FROM ");
    gt_sqlite_add_name(&sql, rows->table, "");
    gt_buffer_add_cstr(&sql, " NOT INDEXED"); /* in the order of the row ids */
    if (only) {
        gt_buffer_add_cstr(&sql, " WHERE ");
        gt_sqlite_add_name(&sql, only, "");
        gt_buffer_add_cstr(&sql, " = ?1");
    }
    sqlite3_stmt *statement = gt_sqlite_prepare(&rows->tables->sqlite, gt_buffer_str(&sql).bytes);
    gt_buffer_free(&sql);
    return statement;
}

void gt_nsys_begin_where(gt_nsys_rows *rows, const gt_nsys_tables *tables, const char *table,
                         const char *const *columns, size_t column_count, const char *only, int64_t value,
                         gt_error *error)
{
    *rows = (gt_nsys_rows){.tables = tables, .table = table, .columns = columns, .error = error};
    if (!gt_nsys_has_table(tables, table)) return;
    if (only && !find_column(tables, table, only).exists) return;
    rows->rows = select_from(rows, row_id_of(rows), column_count, only);
    if (!rows->rows) rows->rows = select_from(rows, "NULL", column_count, only); /* a table without row ids */
    if (!rows->rows || (only && sqlite3_bind_int64(rows->rows, 1, value) != SQLITE_OK))
        rows->failed = !gt_sqlite_fail(&tables->sqlite, error);
}

void gt_nsys_begin(gt_nsys_rows *rows, const gt_nsys_tables *tables, const char *table,
                   const char *const *columns, size_t column_count, gt_error *error)
{
    gt_nsys_begin_where(rows, tables, table, columns, column_count, NULL, 0, error);
}

bool gt_nsys_next(gt_nsys_rows *rows)
{
    if (rows->failed || !rows->rows) return false;
    return gt_sqlite_next_in_order(&rows->tables->sqlite, rows->rows, 0, &rows->order, &rows->failed,
                                   rows->error);
}

bool gt_nsys_end(gt_nsys_rows *rows)
{
    if (rows->rows) gt_sqlite_end(rows->rows);
    rows->rows = NULL;
    return !rows->failed;
}

/* ---- cells ---- */

int64_t gt_nsys_row_id(const gt_nsys_rows *rows)
{
    return sqlite3_column_int64(rows->rows, 0);
}

bool gt_nsys_is_null(const gt_nsys_rows *rows, int column)
{
    return sqlite3_column_type(rows->rows, column + 1) == SQLITE_NULL;
}

static bool fail_type(gt_nsys_rows *rows, int column, const char *found)
{
    if (!rows->failed)
        gt_fail(rows->error, "%s: table %s, row %lld: column %s is %s, not a whole number of 64 bits",
                rows->tables->sqlite.path, rows->table, (long long)gt_nsys_row_id(rows),
                rows->columns[column], found);
    rows->failed = true;
    return false;
}

/* Programs that rewrite an export may store integers as floating-point numbers. */
static bool of_real(gt_nsys_rows *rows, int column, int64_t *value)
{
    double real = sqlite3_column_double(rows->rows, column + 1);
    if (!(real >= -9223372036854775808.0 && real < 9223372036854775808.0) || real != floor(real))
        return fail_type(rows, column, "a fraction or too large");
    *value = (int64_t)real;
    return true;
}

bool gt_nsys_int(gt_nsys_rows *rows, int column, int64_t *value)
{
    switch (sqlite3_column_type(rows->rows, column + 1)) {
    case SQLITE_INTEGER:
        *value = sqlite3_column_int64(rows->rows, column + 1);
        return true;
    case SQLITE_NULL:
        return false;
    case SQLITE_FLOAT:
        return of_real(rows, column, value);
    case SQLITE_BLOB:
        return fail_type(rows, column, "a blob");
    default:
        return fail_type(rows, column, "text");
    }
}

int64_t gt_nsys_int_or(gt_nsys_rows *rows, int column, int64_t absent)
{
    int64_t value;
    return gt_nsys_int(rows, column, &value) ? value : absent;
}

gt_str gt_nsys_text(const gt_nsys_rows *rows, int column)
{
    return gt_sqlite_string(rows->rows, column + 1);
}

gt_str gt_nsys_blob(const gt_nsys_rows *rows, int column)
{
    const char *bytes = sqlite3_column_blob(rows->rows, column + 1);
    if (!bytes) gt_sqlite_check_memory(&rows->tables->sqlite);
    return bytes ? (gt_str){bytes, (size_t)sqlite3_column_bytes(rows->rows, column + 1)} : (gt_str){"", 0};
}
