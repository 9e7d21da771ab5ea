/* Files of steps of an Nsight Systems export: exports with the rows of the steps, and all rows that describe
 * the export. Tables and columns are those of the export, made anew, because the text of its schema is not
 * trusted. */
#include "transform/split_parts.h"

#include "output/sqlite.h"

/* One table of an output file. */
typedef struct table_copy {
    sqlite3_stmt *select, *insert; /* NULL: the table could not be prepared */
    int columns;
} table_copy;

static void add_name(gt_buffer *sql, const char *name, const char *after)
{
    gt_sqlite_add_name(sql, name, "");
    gt_buffer_add_cstr(sql, after);
}

static const char *type_of(gt_str declared)
{
    static const char *const types[] = {"INTEGER", "TEXT", "REAL", "BLOB"};
    for (size_t i = 0; i < GT_LENGTH(types); i++)
        if (gt_str_equals_nocase(declared, types[i])) return types[i];
    return "";
}

/* Creates the table, with the primary key that makes rows quick to find, and adds the list of its columns to
 * `names`. */
static bool create_table(const gt_nsys_export *export, const char *table, gt_database *to, gt_buffer *names,
                         int *columns, gt_error *error)
{
    const gt_sqlite *from = &export->tables.sqlite;
    bool failed = false;
    gt_buffer sql = {0};
    gt_buffer_add_cstr(&sql, "CREATE TABLE ");
    add_name(&sql, table, " (");
    sqlite3_stmt *rows = gt_sqlite_prepare(from, "SELECT name, type FROM pragma_table_info(?1)");
    failed = !rows || sqlite3_bind_text(rows, 1, table, -1, SQLITE_TRANSIENT) != SQLITE_OK;
    if (failed) gt_sqlite_fail(from, error);
    for (*columns = 0; !failed && gt_sqlite_next(from, rows, &failed, error); ++*columns) {
        char *name = gt_strdup(gt_sqlite_string(rows, 0).bytes);
        if (*columns) gt_buffer_add_cstr(names, ", ");
        add_name(names, name, "");
        gt_buffer_add_cstr(&sql, *columns ? ", " : "");
        add_name(&sql, name, " ");
        gt_buffer_add_cstr(&sql, type_of(gt_sqlite_string(rows, 1)));
        if (gt_nsys_is_key(&export->tables, table, name)) gt_buffer_add_cstr(&sql, " PRIMARY KEY");
        gt_free(name);
    }
    gt_buffer_add_cstr(&sql, ")");
    gt_sqlite_end(rows);
    bool made = !failed && gt_database_run(to, gt_buffer_str(&sql).bytes, error);
    gt_buffer_free(&sql);
    return made;
}

static bool begin_table(table_copy *copy, const gt_nsys_export *export, const gt_nsys_table *table,
                        gt_database *to, gt_error *error)
{
    gt_buffer names = {0}, sql = {0};
    bool is_whole = table->kind == GT_NSYS_OF_EXPORT;
    bool made = create_table(export, table->name, to, &names, &copy->columns, error);
    gt_buffer_add_cstr(&sql, "SELECT ");
    gt_buffer_add_cstr(&sql, gt_buffer_str(&names).bytes);
    gt_buffer_add_cstr(&sql, " FROM ");
    add_name(&sql, table->name, is_whole ? " NOT INDEXED" : " WHERE rowid = ?1");
    copy->select = made ? gt_sqlite_prepare(&export->tables.sqlite, gt_buffer_str(&sql).bytes) : NULL;
    if (made && !copy->select) made = gt_sqlite_fail(&export->tables.sqlite, error);
    sql.len = 0;
    gt_buffer_add_cstr(&sql, "INSERT INTO ");
    add_name(&sql, table->name, " VALUES (?");
    for (int c = 1; c < copy->columns; c++) gt_buffer_add_cstr(&sql, ", ?");
    gt_buffer_add_cstr(&sql, ")");
    copy->insert = made ? gt_database_prepare(to, gt_buffer_str(&sql).bytes, error) : NULL;
    gt_buffer_free(&names);
    gt_buffer_free(&sql);
    return copy->insert != NULL;
}

/* Copies the rows that the statement finds. */
static bool copy_rows(table_copy *copy, const gt_nsys_export *export, gt_database *to, gt_error *error)
{
    bool failed = false;
    while (!failed && gt_sqlite_next(&export->tables.sqlite, copy->select, &failed, error)) {
        for (int c = 0; c < copy->columns; c++)
            sqlite3_bind_value(copy->insert, c + 1, sqlite3_column_value(copy->select, c));
        failed = !gt_database_step(to, copy->insert, error);
    }
    sqlite3_reset(copy->select);
    return !failed;
}

static bool copy_tables(table_copy *copies, gt_nsys_export *export, const gt_split_part *part,
                        gt_database *to, gt_error *error)
{
    bool done = true;
    for (size_t t = 0; done && t < export->count; t++) {
        done = begin_table(&copies[t], export, &export->list[t], to, error);
        if (done && export->list[t].kind == GT_NSYS_OF_EXPORT)
            done = copy_rows(&copies[t], export, to, error);
    }
    for (size_t i = 0; done && i < part->found.count; i++) {
        const gt_nsys_place *place = &export->places[part->found.events[i]];
        table_copy *copy = &copies[place->table];
        done = sqlite3_bind_int64(copy->select, 1, place->row) == SQLITE_OK &&
               copy_rows(copy, export, to, error);
    }
    return done;
}

bool gt_split_write_export(gt_output *output, const gt_split_part *part, gt_nsys_export *export,
                           gt_error *error)
{
    gt_database to;
    table_copy *copies = gt_alloc_zero(export->count, sizeof *copies);
    export->tables.sqlite.work = 0; /* each file may read the export once */
    bool done = gt_database_begin(&to, output, part->path, error);
    if (done) {
        done = copy_tables(copies, export, part, &to, error);
        for (size_t t = 0; t < export->count; t++) {
            if (copies[t].select) gt_sqlite_end(copies[t].select);
            if (copies[t].insert) gt_database_finish(copies[t].insert);
        }
        done = gt_database_end(&to, done, error);
    }
    gt_free(copies);
    return done;
}
