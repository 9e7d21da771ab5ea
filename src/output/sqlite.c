/* SQLite files, and tables written as one: one SQL table per sheet, lists as Python literals.
 *
 * Values have their own types: INTEGER, REAL, TEXT, and NULL for cells without a value. A column is declared
 * with the type of its values. One with values of several types is declared without a type, because SQLite
 * would convert the values to it: a TEXT column turns 64 into '64', an INTEGER column turns '64' into 64.
 *
 * The file has a temporary name until the output is committed, so it needs no journal. A sheet without
 * columns gets no table because SQL has no such tables.
 *
 * One thread inserts all rows: a file has one writer, and 85 % of the time is spent inside SQLite, so that
 * little would be won if others prepared the values. Other documents are written meanwhile. */
#include "output/sqlite.h"
#include "output/writers.h"

#include "base/guard.h"
#include "compat/python_repr.h"

/* ---- the file ---- */

bool gt_database_fail(const gt_database *database, gt_error *error)
{
    int number = sqlite3_system_errno(database->handle);
    if (number) return gt_fail_writing(error, database->path, number);
    return gt_fail(error, "cannot write %s: %s", database->path, sqlite3_errmsg(database->handle));
}

bool gt_database_run(gt_database *database, const char *sql, gt_error *error)
{
    return sqlite3_exec(database->handle, sql, NULL, NULL, NULL) == SQLITE_OK ||
           gt_database_fail(database, error);
}

static int close_database(gt_database *database)
{
    gt_guard_remove(database);
    return sqlite3_close(database->handle);
}

static void clean_up(void *database)
{
    close_database(database);
}

static bool begin(gt_database *database, int opened, gt_error *error)
{
    gt_guard_add(clean_up, database);
    bool ok = opened == SQLITE_OK || gt_database_fail(database, error);
    ok = ok && gt_database_run(database,
                               "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; "
                               "PRAGMA locking_mode = EXCLUSIVE; BEGIN",
                               error);
    if (!ok) close_database(database);
    return ok;
}

bool gt_database_begin(gt_database *database, gt_output *output, const char *path, gt_error *error)
{
    const char *temporary = gt_output_add_file(output, path, error);
    if (!temporary) return false;
    *database = (gt_database){.path = path};
    int opened =
        sqlite3_open_v2(temporary, &database->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, NULL);
    return begin(database, opened, error);
}

/* SQLite gives the file no name, and writes to it only what does not fit into the cache. */
bool gt_database_begin_temporary(gt_database *database, gt_error *error)
{
    *database = (gt_database){.path = "a temporary database"};
    int opened = sqlite3_open_v2("", &database->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    return begin(database, opened, error);
}

bool gt_database_end(gt_database *database, bool ok, gt_error *error)
{
    ok = ok && gt_database_run(database, "COMMIT", error);
    if (close_database(database) != SQLITE_OK && ok)
        ok = gt_fail(error, "cannot write %s: not closed", database->path);
    return ok;
}

static void finalize(void *statement)
{
    sqlite3_finalize(statement);
}

sqlite3_stmt *gt_database_prepare(gt_database *database, const char *sql, gt_error *error)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(database->handle, sql, -1, &statement, NULL) != SQLITE_OK)
        gt_database_fail(database, error);
    if (statement) gt_guard_add(finalize, statement);
    return statement;
}

void gt_database_finish(sqlite3_stmt *statement)
{
    gt_guard_remove(statement);
    sqlite3_finalize(statement);
}

bool gt_database_step(gt_database *database, sqlite3_stmt *statement, gt_error *error)
{
    if (sqlite3_step(statement) != SQLITE_DONE) return gt_database_fail(database, error);
    sqlite3_reset(statement);
    return true;
}

/* ---- tables ---- */

enum { NAME_CHARS = 1000 };

static const char *const column_types[] = {
    [GT_TYPE_INT] = "INTEGER",  [GT_TYPE_FLOAT] = "REAL", [GT_TYPE_STRING] = "TEXT",
    [GT_TYPE_BOOL] = "INTEGER", [GT_TYPE_LIST] = "TEXT",
};

const char *gt_database_type(gt_type type)
{
    return column_types[type];
}

typedef struct writer {
    gt_database database;
    gt_name_set table_names;
    gt_buffer sql, scratch;
} writer;

static void add_quoted_name(gt_buffer *sql, const char *name)
{
    gt_buffer_add(sql, "\"", 1);
    for (; *name; name++) {
        if (*name == '"') gt_buffer_add(sql, "\"", 1);
        gt_buffer_add(sql, name, 1);
    }
    gt_buffer_add(sql, "\"", 1);
}

static bool create_table(writer *to, const gt_table *table, const char *name, gt_error *error)
{
    gt_name_set column_names = {0};
    to->sql.len = 0;
    gt_buffer_add_cstr(&to->sql, "CREATE TABLE ");
    add_quoted_name(&to->sql, name);
    for (size_t c = 0; c < table->column_count; c++) {
        gt_buffer_add_cstr(&to->sql, c == 0 ? " (" : ", ");
        add_quoted_name(&to->sql, gt_database_column_name(&column_names, table->columns[c].name));
        gt_type type;
        if (!gt_column_value_type(&table->columns[c], table->row_count, &type)) continue;
        gt_buffer_add_cstr(&to->sql, " ");
        gt_buffer_add_cstr(&to->sql, column_types[type]);
    }
    gt_buffer_add_cstr(&to->sql, ")");
    gt_name_set_free(&column_names);
    return gt_database_run(&to->database, gt_buffer_str(&to->sql).bytes, error);
}

static sqlite3_stmt *prepare_insert(writer *to, const gt_table *table, const char *name, gt_error *error)
{
    to->sql.len = 0;
    gt_buffer_add_cstr(&to->sql, "INSERT INTO ");
    add_quoted_name(&to->sql, name);
    for (size_t c = 0; c < table->column_count; c++)
        gt_buffer_add_cstr(&to->sql, c == 0 ? " VALUES (?" : ", ?");
    gt_buffer_add_cstr(&to->sql, ")");
    return gt_database_prepare(&to->database, gt_buffer_str(&to->sql).bytes, error);
}

/* SQLite copies the text only if it is in the scratch memory, which the next cell uses; strings of the table
 * stay valid until the row is inserted. */
static int bind_text(const gt_buffer *scratch, sqlite3_stmt *insert, int parameter, gt_str text)
{
    return sqlite3_bind_text64(insert, parameter, text.bytes, text.len,
                               text.bytes == scratch->bytes ? SQLITE_TRANSIENT : SQLITE_STATIC, SQLITE_UTF8);
}

int gt_database_bind(sqlite3_stmt *insert, int parameter, const gt_table *table, size_t c, size_t row,
                     gt_buffer *scratch)
{
    gt_cell cell = gt_table_cell(table, c, row);
    if (cell.is_null) return sqlite3_bind_null(insert, parameter);
    switch (cell.type) {
    case GT_TYPE_INT:
    case GT_TYPE_BOOL:
        return sqlite3_bind_int64(insert, parameter, cell.integer);
    case GT_TYPE_FLOAT:
        return sqlite3_bind_double(insert, parameter, cell.number);
    case GT_TYPE_STRING:
        return bind_text(scratch, insert, parameter, gt_utf8_repair(cell.text, scratch));
    case GT_TYPE_LIST:
        scratch->len = 0;
        gt_python_add_cell(scratch, &table->columns[c], row, table->strings);
        return bind_text(scratch, insert, parameter, gt_buffer_str(scratch));
    }
    return SQLITE_MISUSE;
}

static bool write_rows(writer *to, sqlite3_stmt *insert, const gt_table *table, gt_error *error)
{
    for (size_t row = 0; row < table->row_count; row++) {
        for (size_t c = 0; c < table->column_count; c++)
            if (gt_database_bind(insert, (int)c + 1, table, c, row, &to->scratch) != SQLITE_OK)
                return gt_database_fail(&to->database, error);
        if (!gt_database_step(&to->database, insert, error)) return false;
    }
    return true;
}

const char *gt_database_table_name(gt_name_set *names, const char *sheet)
{
    bool reserved = strncasecmp(sheet, "sqlite_", 7) == 0;
    char *wanted = gt_format("%s%s", reserved ? "_" : "", sheet);
    const char *name = gt_name_set_add(names, wanted, NAME_CHARS);
    gt_free(wanted);
    return name;
}

const char *gt_database_column_name(gt_name_set *names, const char *column)
{
    return gt_name_set_add(names, column, NAME_CHARS);
}

static bool write_table(writer *to, const gt_table *table, gt_error *error)
{
    if (table->column_count == 0) return true;
    const char *name = gt_database_table_name(&to->table_names, table->name);
    if (!create_table(to, table, name, error)) return false;
    sqlite3_stmt *insert = prepare_insert(to, table, name, error);
    bool ok = insert && write_rows(to, insert, table, error);
    gt_database_finish(insert);
    return ok;
}

/* ---- the steps ---- */

typedef struct sqlite_job {
    writer to;
    gt_table *const *tables;
    size_t count;
    gt_error error;
    bool ok;
} sqlite_job;

static void run_job(void *state)
{
    sqlite_job *j = state;
    for (size_t i = 0; i < j->count && j->ok; i++) j->ok = write_table(&j->to, j->tables[i], &j->error);
    if (j->to.database.handle) j->ok = gt_database_end(&j->to.database, j->ok, &j->error);
}

static bool end_job(void *state, gt_error *error)
{
    sqlite_job *j = state;
    bool ok = j->ok;
    if (!ok && error) *error = j->error;
    gt_name_set_free(&j->to.table_names);
    gt_buffer_free(&j->to.sql);
    gt_buffer_free(&j->to.scratch);
    gt_free(j);
    return ok;
}

gt_document_writer gt_sqlite_writer_begin(gt_output *output, const gt_document *document,
                                          gt_table *const *tables, size_t count)
{
    sqlite_job *j = gt_alloc_zero(1, sizeof *j);
    j->tables = tables;
    j->count = count;
    j->ok = gt_database_begin(&j->to.database, output, document->path, &j->error);
    if (!j->ok) j->to.database.handle = NULL;
    return (gt_document_writer){j, !j->ok, run_job, end_job};
}
