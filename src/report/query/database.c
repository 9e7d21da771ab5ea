/* The tables of a query: each sheet with the rows of all traces.
 *
 * Traces are added one after another, and nothing of a trace stays in memory: the rows are in a database,
 * which SQLite keeps in a file if it is large. So what a column contains is known only at the end. Tables are
 * created without types, which leaves every value as it is; gt_query_finish then writes the types into the
 * schema, which is what SQLite's documentation of writable_schema describes: it changes no row.
 *
 * A column is declared with the type of its values, one without values with the type of the sheet's column,
 * and one with values of several types without a type, as in the databases of reports (output/sqlite.c). */
#include "report/query/query.h"

#include "compat/nearest.h"
#include "compat/python_literal.h"
#include "compat/python_repr.h"
#include "input/sqlite.h"
#include "output/sqlite.h"

/* Bits of the types that SQLite has. */
enum { IS_INTEGER = 1, IS_REAL = 2, IS_TEXT = 4 };

enum { CACHE_KIB = 4 << 10 };

typedef struct column {
    char *name;
    unsigned values, cells; /* types of the values, and of the sheets' columns */
} column;

typedef struct sheet {
    char *name;
    column *columns;
    size_t column_count, column_capacity;
    size_t row_count, trace_count;
} sheet;

struct gt_query {
    gt_database database;
    bool counts_only;
    sheet *sheets;
    size_t sheet_count, sheet_capacity;
    gt_buffer sql, scratch, literal;
};

static const char traces_table[] = "traces";
enum { TRACES, LEADING = 2 }; /* the index of that table; trace and rank */

static unsigned bit_of(gt_type type)
{
    const char *name = gt_database_type(type);
    return *name == 'I' ? IS_INTEGER : *name == 'R' ? IS_REAL : IS_TEXT;
}

/* NULL: none. */
static const char *type_of(const column *c)
{
    unsigned types = c->values ? c->values : c->cells;
    return types == IS_INTEGER ? "INTEGER" : types == IS_REAL ? "REAL" : types == IS_TEXT ? "TEXT" : NULL;
}

/* ---- statements ---- */

static void add_create(gt_buffer *sql, const sheet *s, bool with_types)
{
    sql->len = 0;
    gt_buffer_add_cstr(sql, "CREATE TABLE ");
    gt_sqlite_add_name(sql, s->name, "");
    for (size_t i = 0; i < s->column_count; i++) {
        const char *type = with_types ? type_of(&s->columns[i]) : NULL;
        gt_buffer_add_cstr(sql, i ? ", " : " (");
        gt_sqlite_add_name(sql, s->columns[i].name, "");
        if (type) gt_buffer_add_format(sql, " %s", type);
    }
    gt_buffer_add_cstr(sql, ")");
}

static bool run_sql(gt_query *q, gt_error *error)
{
    return gt_database_run(&q->database, gt_buffer_str(&q->sql).bytes, error);
}

static void push_column(sheet *s, const char *name, unsigned cells)
{
    column c = {gt_strdup(name), 0, cells};
    GT_PUSH(s->columns, s->column_count, s->column_capacity, c);
}

/* ---- opening ---- */

static sheet *push_sheet(gt_query *q, const char *name)
{
    sheet s = {.name = gt_strdup(name)};
    push_column(&s, "trace", IS_TEXT);
    push_column(&s, "rank", IS_INTEGER);
    GT_PUSH(q->sheets, q->sheet_count, q->sheet_capacity, s);
    return &q->sheets[q->sheet_count - 1];
}

gt_query *gt_query_open(gt_output *output, const char *path, bool counts_only, gt_error *error)
{
    gt_query *q = gt_alloc_zero(1, sizeof *q);
    q->counts_only = counts_only;
    bool opened = output ? gt_database_begin(&q->database, output, path, error)
                         : gt_database_begin_temporary(&q->database, error);
    if (!opened) {
        gt_free(q);
        return NULL;
    }
    sheet *traces = push_sheet(q, traces_table);
    static const char *const names[] = {"path", "format", "error"};
    for (size_t i = 0; i < GT_LENGTH(names); i++) push_column(traces, names[i], IS_TEXT);
    gt_buffer_add_format(&q->sql, "PRAGMA cache_size = -%d", CACHE_KIB);
    bool ok = run_sql(q, error);
    add_create(&q->sql, traces, true);
    if (ok && run_sql(q, error)) return q;
    gt_query_close(q, false, error);
    return NULL;
}

struct sqlite3 *gt_query_handle(gt_query *q)
{
    return q->database.handle;
}

bool gt_query_close(gt_query *q, bool ok, gt_error *error)
{
    ok = gt_database_end(&q->database, ok, error);
    for (size_t i = 0; i < q->sheet_count; i++) {
        sheet *s = &q->sheets[i];
        for (size_t c = 0; c < s->column_count; c++) gt_free(s->columns[c].name);
        gt_free_all(s->columns, s->name);
    }
    gt_free(q->sheets);
    gt_buffer_free(&q->sql);
    gt_buffer_free(&q->scratch);
    gt_buffer_free(&q->literal);
    gt_free(q);
    return ok;
}

/* ---- the rows of a trace ---- */

static sheet *find_sheet(const gt_query *q, const char *name)
{
    for (size_t i = 0; i < q->sheet_count; i++)
        if (strcasecmp(q->sheets[i].name, name) == 0) return &q->sheets[i];
    return NULL;
}

/* The column with this name; columns mostly come in the same order. */
static size_t find_column(const sheet *s, const char *name, size_t near)
{
    if (near < s->column_count && strcasecmp(s->columns[near].name, name) == 0) return near;
    for (size_t i = 0; i < s->column_count; i++)
        if (strcasecmp(s->columns[i].name, name) == 0) return i;
    return SIZE_MAX;
}

/* Adds a column to a table that exists. */
static bool add_column(gt_query *q, sheet *s, const char *name, gt_error *error)
{
    q->sql.len = 0;
    gt_buffer_add_cstr(&q->sql, "ALTER TABLE ");
    gt_sqlite_add_name(&q->sql, s->name, "");
    gt_buffer_add_cstr(&q->sql, " ADD COLUMN ");
    gt_sqlite_add_name(&q->sql, name, "");
    push_column(s, name, 0);
    return run_sql(q, error);
}

/* Finds or makes the table of a sheet, with all its columns; places[c] is where column c of the sheet is. */
static sheet *prepare_sheet(gt_query *q, const char *name, const gt_table *table, size_t *places,
                            gt_error *error)
{
    sheet *s = find_sheet(q, name);
    bool is_new = !s, ok = true;
    if (is_new) s = push_sheet(q, name);
    gt_name_set names = {0};
    for (size_t c = 0; c < LEADING; c++) gt_database_column_name(&names, s->columns[c].name);
    for (size_t c = 0; ok && c < table->column_count; c++) {
        const char *own = gt_database_column_name(&names, table->columns[c].name);
        places[c] = is_new ? SIZE_MAX : find_column(s, own, c + LEADING);
        if (places[c] == SIZE_MAX) {
            places[c] = s->column_count;
            if (is_new)
                push_column(s, own, 0);
            else
                ok = add_column(q, s, own, error);
        }
        s->columns[places[c]].cells |= bit_of(table->columns[c].type);
    }
    gt_name_set_free(&names);
    add_create(&q->sql, s, false);
    return ok && (!is_new || run_sql(q, error)) ? s : NULL;
}

static sqlite3_stmt *prepare_insert(gt_query *q, const sheet *s, const size_t *places, size_t count,
                                    gt_error *error)
{
    q->sql.len = 0;
    gt_buffer_add_cstr(&q->sql, "INSERT INTO ");
    gt_sqlite_add_name(&q->sql, s->name, "");
    gt_buffer_add_cstr(&q->sql, " (trace, rank");
    for (size_t c = 0; c < count; c++) {
        gt_buffer_add_cstr(&q->sql, ", ");
        gt_sqlite_add_name(&q->sql, s->columns[places[c]].name, "");
    }
    gt_buffer_add_cstr(&q->sql, ") VALUES (?, ?");
    for (size_t c = 0; c < count; c++) gt_buffer_add_cstr(&q->sql, ", ?");
    gt_buffer_add_cstr(&q->sql, ")");
    return gt_database_prepare(&q->database, gt_buffer_str(&q->sql).bytes, error);
}

static void note_types(sheet *s, const gt_table *table, const size_t *places)
{
    for (size_t c = 0; c < table->column_count; c++)
        for (size_t row = 0; row < table->row_count; row++) {
            gt_cell cell = gt_table_cell(table, c, row);
            if (!cell.is_null) s->columns[places[c]].values |= bit_of(cell.type);
        }
}

static bool bind_text(gt_query *q, sqlite3_stmt *insert, int parameter, const char *text)
{
    if (!text) return sqlite3_bind_null(insert, parameter) == SQLITE_OK;
    gt_str valid = gt_utf8_repair((gt_str){text, strlen(text)}, &q->scratch);
    return sqlite3_bind_text64(insert, parameter, valid.bytes, valid.len, SQLITE_TRANSIENT, SQLITE_UTF8) ==
           SQLITE_OK;
}

/* The first two columns. */
static bool bind_trace(gt_query *q, sqlite3_stmt *insert, const gt_query_trace *trace, gt_error *error)
{
    bool ok = bind_text(q, insert, 1, trace->name) &&
              (trace->rank < 0 || sqlite3_bind_int64(insert, 2, trace->rank) == SQLITE_OK);
    return ok || gt_database_fail(&q->database, error);
}

/* Whether the cells are lists, tuples or dicts that sheets show as Python does, and a query as JSON, which
 * SQLite's functions can read. Names of ops and kernels stay as they are, whatever they look like. */
static bool is_python(const gt_column *cells)
{
    static const char *const parts[] = {
        "Input Dims",         "Input type",  "Input Strides", "Concrete Inputs", "kernel_details",
        "overlapping_kernel", "perf_params", "param: ",       "call_stack_full", "Categories"};
    if (cells->type == GT_TYPE_LIST) return true;
    for (size_t i = 0; cells->type == GT_TYPE_STRING && i < GT_LENGTH(parts); i++)
        if (strcasestr(cells->name, parts[i])) return true;
    return false;
}

static int bind_cell(gt_query *q, sqlite3_stmt *insert, const gt_table *table, size_t c, size_t row)
{
    const gt_column *cells = &table->columns[c];
    int parameter = (int)c + LEADING + 1;
    gt_cell cell = gt_table_cell(table, c, row);
    if (cell.is_null || !is_python(cells))
        return gt_database_bind(insert, parameter, table, c, row, &q->scratch);
    q->literal.len = q->scratch.len = 0;
    if (cell.type == GT_TYPE_LIST) gt_python_add_cell(&q->literal, cells, row, table->strings);
    gt_str text = cell.type == GT_TYPE_LIST     ? gt_buffer_str(&q->literal)
                  : cell.type == GT_TYPE_STRING ? cell.text
                                                : (gt_str){0};
    if (!gt_python_shown_to_json(text, &q->scratch))
        return gt_database_bind(insert, parameter, table, c, row, &q->scratch);
    gt_str json = gt_utf8_repair(gt_buffer_str(&q->scratch), &q->literal);
    return sqlite3_bind_text64(insert, parameter, json.bytes, json.len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static bool insert_rows(gt_query *q, sqlite3_stmt *insert, const gt_table *table, gt_error *error)
{
    for (size_t row = 0; row < table->row_count; row++) {
        for (size_t c = 0; c < table->column_count; c++)
            if (bind_cell(q, insert, table, c, row) != SQLITE_OK)
                return gt_database_fail(&q->database, error);
        if (!gt_database_step(&q->database, insert, error)) return false;
    }
    return true;
}

static bool add_table(gt_query *q, const gt_query_trace *trace, const gt_table *table, const char *name,
                      gt_error *error)
{
    size_t *places = gt_alloc(table->column_count * sizeof *places);
    sheet *s = prepare_sheet(q, name, table, places, error);
    bool ok = s != NULL;
    if (ok) {
        note_types(s, table, places);
        s->row_count += table->row_count;
        s->trace_count++;
    }
    if (ok && !q->counts_only) {
        sqlite3_stmt *insert = prepare_insert(q, s, places, table->column_count, error);
        ok = insert && bind_trace(q, insert, trace, error) && insert_rows(q, insert, table, error);
        gt_database_finish(insert);
    }
    gt_free(places);
    return ok;
}

/* The row of the trace itself. */
static bool add_trace(gt_query *q, const gt_query_trace *trace, gt_error *error)
{
    static const size_t places[] = {2, 3, 4};
    const char *const texts[GT_LENGTH(places)] = {trace->path, trace->format, trace->error};
    sqlite3_stmt *insert = prepare_insert(q, &q->sheets[TRACES], places, GT_LENGTH(places), error);
    bool ok = insert && bind_trace(q, insert, trace, error);
    for (size_t i = 0; ok && i < GT_LENGTH(texts); i++)
        ok = bind_text(q, insert, (int)i + LEADING + 1, texts[i]) || gt_database_fail(&q->database, error);
    ok = ok && gt_database_step(&q->database, insert, error);
    gt_database_finish(insert);
    q->sheets[TRACES].row_count++;
    q->sheets[TRACES].trace_count++;
    return ok;
}

bool gt_query_add(gt_query *q, const gt_query_trace *trace, gt_table *const *tables, size_t count,
                  gt_error *error)
{
    gt_name_set names = {0};
    gt_database_table_name(&names, traces_table);
    bool ok = add_trace(q, trace, error);
    for (size_t i = 0; ok && i < count; i++) {
        if (!tables[i]->column_count) continue;
        const char *name = gt_database_table_name(&names, tables[i]->name);
        ok = add_table(q, trace, tables[i], name, error);
    }
    gt_name_set_free(&names);
    return ok;
}

/* ---- types ---- */

bool gt_query_finish(gt_query *q, gt_error *error)
{
    bool ok = gt_database_run(&q->database, "PRAGMA writable_schema = ON", error);
    sqlite3_stmt *update =
        ok ? gt_database_prepare(&q->database, "UPDATE sqlite_master SET sql = ? WHERE name = ?", error)
           : NULL;
    ok = update != NULL;
    for (size_t i = 0; ok && i < q->sheet_count; i++) {
        add_create(&q->sql, &q->sheets[i], true);
        sqlite3_bind_text(update, 1, gt_buffer_str(&q->sql).bytes, -1, SQLITE_STATIC);
        sqlite3_bind_text(update, 2, q->sheets[i].name, -1, SQLITE_STATIC);
        ok = gt_database_step(&q->database, update, error);
    }
    gt_database_finish(update);
    return ok && gt_database_run(&q->database, "PRAGMA writable_schema = RESET", error);
}

/* ---- which tables there are ---- */

bool gt_query_tables(const gt_query *q, const gt_query_sink *sink, gt_error *error)
{
    gt_interner *strings = gt_interner_new();
    gt_table *list = gt_table_new(GT_SHEET_TABLES, strings);
    static const gt_column_head heads[] = {{GT_COL_TABLE, GT_TYPE_STRING},
                                           {GT_COL_ROWS, GT_TYPE_INT},
                                           {GT_COL_TRACES, GT_TYPE_INT},
                                           {GT_COL_COLUMN, GT_TYPE_STRING},
                                           {GT_COL_TYPE, GT_TYPE_STRING}};
    enum { TABLE, ROWS, HAVING, COLUMN, TYPE };
    gt_table_add_columns(list, heads, GT_LENGTH(heads));
    for (size_t i = 0; i < q->sheet_count; i++) {
        const sheet *s = &q->sheets[i];
        for (size_t c = 0; c < s->column_count; c++) {
            size_t row = gt_table_add_row(list);
            const char *type = type_of(&s->columns[c]);
            gt_table_set_cstr(list, TABLE, row, s->name);
            gt_table_set_int(list, ROWS, row, (int64_t)s->row_count);
            gt_table_set_int(list, HAVING, row, (int64_t)s->trace_count);
            gt_table_set_cstr(list, COLUMN, row, s->columns[c].name);
            if (type) gt_table_set_cstr(list, TYPE, row, type);
        }
    }
    bool ok = sink->take(sink->context, list, true, error);
    gt_table_free(list);
    gt_interner_free(strings);
    return ok;
}

/* A name as it has to be written in SQL. */
static void add_name(gt_buffer *text, const char *name)
{
    bool is_plain = gt_is_letter(*name) || *name == '_';
    for (const char *at = name; *at && is_plain; at++)
        is_plain = gt_is_letter(*at) || gt_is_digit(*at) || *at == '_';
    if (is_plain && !sqlite3_keyword_check(name, (int)strlen(name)))
        gt_buffer_add_cstr(text, name);
    else
        gt_sqlite_add_name(text, name, "");
}

static void print_columns(const sheet *s, FILE *out, size_t width)
{
    enum { INDENT = 4 };
    gt_buffer text = {0};
    size_t at = width;
    for (size_t c = 0; c < s->column_count; c++) {
        const char *type = type_of(&s->columns[c]);
        text.len = 0;
        add_name(&text, s->columns[c].name);
        if (type) gt_buffer_add_format(&text, " %s", type);
        if (c + 1 < s->column_count) gt_buffer_add_cstr(&text, ",");
        size_t len = gt_display_width(gt_buffer_str(&text));
        bool wraps = at + 1 + len > width;
        fprintf(out, "%s%s", !wraps ? " " : c ? "\n    " : "    ", gt_buffer_str(&text).bytes);
        at = (wraps ? INDENT : at + 1) + len;
    }
    gt_buffer_free(&text);
}

void gt_query_print_tables(const gt_query *q, FILE *out, size_t width)
{
    gt_buffer name = {0};
    for (size_t i = 0; i < q->sheet_count; i++) {
        const sheet *s = &q->sheets[i];
        name.len = 0;
        add_name(&name, s->name);
        fprintf(out, "%s%s: %zu %s", i ? "\n" : "", gt_buffer_str(&name).bytes, s->row_count,
                s->row_count == 1 ? "row" : "rows");
        if (q->sheets[TRACES].row_count > 1 && i != TRACES)
            fprintf(out, " of %zu %s", s->trace_count, s->trace_count == 1 ? "trace" : "traces");
        fputc('\n', out);
        print_columns(s, out, width);
        fputc('\n', out);
    }
    gt_buffer_free(&name);
}

/* ---- names that do not exist ---- */

/* "; its tables have: trace, rank, type"; not more than fits into a message. */
static char *list_columns(const char *const *names, size_t count)
{
    enum { LENGTH_MAX = 500 };
    gt_buffer text = {0};
    gt_buffer_add_cstr(&text, "; its tables have: ");
    for (size_t i = 0; i < count && text.len < LENGTH_MAX; i++) {
        if (i) gt_buffer_add_cstr(&text, ", ");
        add_name(&text, names[i]);
        if (i + 1 < count && text.len >= LENGTH_MAX) gt_buffer_add_cstr(&text, ", ...");
    }
    return gt_buffer_take(&text);
}

static bool is_quoted(const char *sql, const char *word)
{
    char *quoted = gt_format("\"%s\"", word);
    bool found = strstr(sql, quoted) != NULL;
    gt_free(quoted);
    return found;
}

/* " (did you mean kernel_summary or kernel_details?)": names that contain the word, however it is spelled,
 * with or without s at its end. NULL: there are none, or the word is short. */
static char *list_containing(const char *word, const char *const *names, size_t count)
{
    enum { WORD_MIN = 3, LISTED_MAX = 3 };
    size_t len = strlen(word), found = 0;
    if (len > WORD_MIN && word[len - 1] == 's') len--;
    if (len < WORD_MIN) return NULL;
    char *stem = gt_format("%.*s", (int)len, word);
    const char *listed[LISTED_MAX];
    for (size_t i = 0; i < count && found < LISTED_MAX; i++) {
        if (!strcasestr(names[i], stem)) continue;
        bool is_new = true;
        for (size_t k = 0; k < found; k++) is_new = is_new && strcmp(listed[k], names[i]) != 0;
        if (is_new) listed[found++] = names[i];
    }
    gt_buffer text = {0};
    for (size_t i = 0; i < found; i++) {
        gt_buffer_add_cstr(&text, i == 0 ? " (did you mean " : i + 1 < found ? ", " : " or ");
        add_name(&text, listed[i]);
    }
    char *list = found ? gt_format("%s?)", gt_buffer_str(&text).bytes) : NULL;
    gt_buffer_free(&text);
    gt_free(stem);
    return list;
}

/* Sheets that are made only if the statement names them. */
static const gt_sheet not_made[] = {GT_SHEET_OVERVIEW,
                                    GT_SHEET_FINDINGS,
                                    GT_SHEET_TRUST,
                                    GT_SHEET_IDLE_CAUSES,
                                    GT_SHEET_IDLE_CALLS,
                                    GT_SHEET_IDLE_GAPS,
                                    GT_SHEET_BALANCE,
                                    GT_SHEET_WHAT_IF,
                                    GT_SHEET_KERNEL_DETAILS,
                                    GT_SHEET_SHORT_KERNELS_SUMMARY,
                                    GT_SHEET_SHORT_KERNEL_HISTOGRAM,
                                    GT_SHEET_TEMPORAL_BREAKDOWN,
                                    GT_SHEET_LAUNCH_STATS_SUMMARY,
                                    GT_SHEET_QUEUE_LENGTH_SUMMARY};

/* Tables, or columns of the tables that the statement names. */
char *gt_query_suggest(const gt_query *q, const char *message, const char *sql)
{
    static const char no_table[] = "no such table: ", no_column[] = "no such column: ";
    bool is_table = strncmp(message, no_table, strlen(no_table)) == 0;
    if (!q || (!is_table && strncmp(message, no_column, strlen(no_column)) != 0)) return gt_strdup("");
    const char *word = message + (is_table ? strlen(no_table) : strlen(no_column)),
               *dot = strrchr(word, '.'); /* after the name of a table */
    const char **names = NULL;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < q->sheet_count; i++) {
        const sheet *s = &q->sheets[i];
        if (is_table) GT_PUSH(names, count, capacity, s->name);
        for (size_t c = 0; !is_table && gt_query_needs(sql, s->name) && c < s->column_count; c++)
            GT_PUSH(names, count, capacity, s->columns[c].name);
    }
    for (size_t i = 0; is_table && i < GT_LENGTH(not_made); i++)
        GT_PUSH(names, count, capacity, not_made[i].name);
    const char *full = word;
    word = dot ? dot + 1 : word;
    const char *nearest = gt_nearest(word, names, count);
    char *containing = nearest ? NULL : list_containing(word, names, count);
    gt_buffer shown = {0};
    if (nearest) add_name(&shown, nearest);
    bool is_missing = is_table && nearest && strcmp(nearest, word) == 0;
    char *text = is_missing   ? gt_strdup("; none of the traces has this sheet")
                 : nearest    ? gt_format(" (did you mean %s?)", gt_buffer_str(&shown).bytes)
                 : containing ? gt_strdup(containing)
                 : is_table   ? gt_strdup("; without SQL, gputally query lists the tables")
                 : count      ? list_columns(names, count)
                              : gt_strdup("");
    if (!nearest && !is_table && is_quoted(sql, full)) {
        char *longer = gt_format("%s; text is between single quotes", text);
        gt_free(text);
        text = longer;
    }
    gt_buffer_free(&shown);
    gt_free_all(containing, names);
    return text;
}
