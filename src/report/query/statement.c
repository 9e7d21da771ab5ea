/* Statements of a query: which sheets they need, what they may do, and running them.
 *
 * The statement comes from the user, who may have it from somebody else. So it can read the tables and
 * nothing more: SQLite asks `authorise` about everything that the statement would do, the database is
 * read-only while it runs, and there is only one statement.
 *
 * Which tables there are is known only when the traces are read, which may take long. What is wrong with a
 * statement whatever the tables are is said before that: it is prepared in a database without tables, where
 * any other failure than a missing name counts. */
#include "report/query/query.h"

#include "base/guard.h"
#include "base/threads.h"
#include "output/text.h"

#include <sqlite3.h>
#include <time.h>

enum { LENGTH_MAX = 64 << 20, SQL_MAX = 1 << 20 };
enum { CELLS_MAX = 5000000 }; /* of an answer that has to be in memory as a whole */

/* ---- the text ---- */

/* The first word, after spaces and comments. */
static gt_str first_word(const char *sql)
{
    if (strncmp(sql, "\xef\xbb\xbf", 3) == 0) sql += 3; /* what some editors begin a file with */
    for (;;) {
        while (gt_is_blank(*sql)) sql++;
        bool is_line = strncmp(sql, "--", 2) == 0, is_block = strncmp(sql, "/*", 2) == 0;
        if (!is_line && !is_block) break;
        const char *end = is_line ? strchr(sql, '\n') : strstr(sql + 2, "*/");
        if (end)
            sql = end + (is_line ? 1 : 2);
        else
            sql += strlen(sql);
    }
    size_t len = 0;
    while (gt_is_letter(sql[len])) len++;
    return (gt_str){sql, len};
}

static gt_str str_of(const char *text)
{
    return (gt_str){text, strlen(text)};
}

static bool is_one_of(gt_str word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == word.len && strncasecmp(words[i], word.bytes, word.len) == 0) return true;
    return false;
}

static const char *const queries[] = {"SELECT", "WITH", "VALUES", "EXPLAIN"};

bool gt_query_is_sql(const char *text)
{
    static const char *const others[] = {"ALTER",    "ANALYZE",   "ATTACH",  "BEGIN",   "COMMIT",
                                         "CREATE",   "DELETE",    "DETACH",  "DROP",    "END",
                                         "INSERT",   "PRAGMA",    "REINDEX", "RELEASE", "REPLACE",
                                         "ROLLBACK", "SAVEPOINT", "UPDATE",  "VACUUM"};
    gt_str word = first_word(text);
    char next = word.bytes[word.len];
    if (next == '_' || next == '.' || next == '-' || next == '/' || gt_is_digit(next)) return false;
    return is_one_of(word, queries, GT_LENGTH(queries)) || is_one_of(word, others, GT_LENGTH(others));
}

/* The text in lower case, without the characters that quote names. */
static char *plain_of(const char *text)
{
    char *plain = gt_alloc(strlen(text) + 1), *to = plain;
    for (; *text; text++)
        if (!strchr("\"'`", *text)) *to++ = *text >= 'A' && *text <= 'Z' ? (char)(*text + 32) : *text;
    *to = 0;
    return plain;
}

/* A name cannot be put together by a statement, so its text contains the names of all tables that it uses. */
bool gt_query_needs(const char *sql, const char *sheet)
{
    char *text = plain_of(sql), *name = plain_of(sheet);
    bool needs = strstr(text, name) || strstr(text, "sqlite_") || strstr(text, "pragma_");
    gt_free_all(text, name);
    return needs;
}

void gt_query_request(const char *sql, gt_report_options *options, gt_buffer *names)
{
    static const struct {
        const char *sheet, *option;
    } rows[] = {
        {"kernel_details", "kernel_details"},
        {"short_kernels_summary", "short_kernel_study"},
        {"short_kernel_histogram", "short_kernel_study"},
        {"_kl_overlap", "include_overlap_info"},
        {"ops_summary_prefill", "inference_phase_analysis"},
        {"ops_summary_decode", "inference_phase_analysis"},
        {"kernel_summary_prefill", "inference_phase_analysis"},
        {"kernel_summary_decode", "inference_phase_analysis"},
        {"inference_phases", "inference_phase_analysis"},
        {"temporal_breakdown", "extra"},
        {"comm_comp_overlap", "extra"},
        {"idle_time_breakdown", "extra"},
        {"idle_interval_stats", "extra"},
        {"queue_length_summary", "extra"},
        {"launch_stats_summary", "extra"},
    };
    char *text = plain_of(sql);
    gt_error ignored; /* all of them exist */
    for (size_t i = 0; i < GT_LENGTH(rows); i++) {
        if (!strstr(text, rows[i].sheet)) continue;
        if (options) gt_report_options_set(options, rows[i].option, "true", &ignored);
        if (names) gt_buffer_add_format(names, "%s ", rows[i].option);
    }
    gt_free(text);
}

/* ---- what a statement may do ---- */

static int authorise(void *context, int action, const char *first, const char *second, const char *database,
                     const char *trigger)
{
    static const char *const pragmas[] = {"table_info", "table_xinfo", "table_list"};
    static const char *const functions[] = {"load_extension", "fts3_tokenizer"}; /* addresses in memory */
    (void)context, (void)database, (void)trigger;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_UPDATE: /* what SQLite asks of tables that are functions, such as json_each;
                           sqlite3_stmt_readonly finds statements that really change something */
        return first && strcmp(first, "sqlite_master") == 0 ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_FUNCTION:
        return second && is_one_of(str_of(second), functions, GT_LENGTH(functions)) ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA: /* of the tables pragma_table_info etc. */
        return first && is_one_of(str_of(first), pragmas, GT_LENGTH(pragmas)) ? SQLITE_OK : SQLITE_DENY;
    default:
        return SQLITE_DENY;
    }
}

static void restrict_database(sqlite3 *database)
{
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
    sqlite3_limit(database, SQLITE_LIMIT_SQL_LENGTH, SQL_MAX);
    sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, (int *)NULL);
#ifdef SQLITE_DBCONFIG_DQS_DML /* "name" is a name: a misspelt one is not a string */
    sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DML, 0, (int *)NULL);
#endif
    sqlite3_exec(database, "PRAGMA query_only = 1", NULL, NULL, NULL);
    sqlite3_set_authorizer(database, authorise, NULL);
}

static void release_database(sqlite3 *database)
{
    sqlite3_set_authorizer(database, NULL, NULL);
    sqlite3_exec(database, "PRAGMA query_only = 0", NULL, NULL, NULL);
}

/* ---- errors ---- */

/* "SQL, line 2, column 8"; "SQL" if SQLite does not know where. */
static char *place_of(sqlite3 *database, const char *sql)
{
    int offset = -1;
#if SQLITE_VERSION_NUMBER >= 3038000
    offset = sqlite3_error_offset(database);
#else
    (void)database;
#endif
    if (offset < 0 || (size_t)offset > strlen(sql)) return gt_strdup("SQL");
    size_t line = 1, column = 1;
    const char *end = sql + offset;
    for (const char *at = sql; at < end; column++)
        if (gt_utf8_next(&at, end) == '\n') line++, column = 0;
    return gt_format("SQL, line %zu, column %zu", line, column);
}

static bool fail_forbidden(gt_error *error)
{
    return gt_fail(error, "SQL: not allowed: a query can only read the tables of traces");
}

static bool fail(sqlite3 *database, const gt_query *query, const char *sql, gt_error *error)
{
    int code = sqlite3_errcode(database);
    if (code == SQLITE_NOMEM) gt_raise("out of memory");
    const char *message = sqlite3_errmsg(database);
    char *place = place_of(database, sql), *more = gt_query_suggest(query, message, sql);
    if (code == SQLITE_AUTH || code == SQLITE_READONLY || strncmp(message, "not authorized", 14) == 0)
        fail_forbidden(error);
    else if (code == SQLITE_TOOBIG)
        gt_fail(error, "%s: a value is longer than %d MiB; ask for less of it", place, LENGTH_MAX >> 20);
    else
        gt_fail(error, "%s: %s%s", place, message, more);
    gt_free_all(place, more);
    return false;
}

/* Whether something follows the statement. */
static bool is_followed(sqlite3 *database, const char *tail)
{
    sqlite3_stmt *next = NULL;
    bool is_wrong = sqlite3_prepare_v2(database, tail, -1, &next, NULL) != SQLITE_OK;
    bool found = is_wrong || next;
    sqlite3_finalize(next);
    return found;
}

static bool check_statement(sqlite3 *database, sqlite3_stmt *statement, const char *tail, gt_error *error)
{
    if (!sqlite3_stmt_readonly(statement)) return fail_forbidden(error);
    return !tail || !is_followed(database, tail) ||
           gt_fail(error, "SQL: more than one statement; ask one query at a time");
}

static bool check_first_word(const char *sql, gt_error *error)
{
    gt_str word = first_word(sql);
    if (is_one_of(word, queries, GT_LENGTH(queries))) return true;
    if (!word.len && !*word.bytes) return gt_fail(error, "SQL: no query in it");
    return gt_fail(error, "SQL: a query begins with SELECT, WITH or VALUES, not with '%.*s'",
                   word.len ? (int)(word.len < 40 ? word.len : 40) : 1, word.bytes);
}

static bool is_missing_name(const char *message)
{
    return strncmp(message, "no such table: ", 15) == 0 || strncmp(message, "no such column: ", 16) == 0;
}

static bool check_prepared(sqlite3 *database, const char *sql, gt_error *error)
{
    sqlite3_stmt *statement = NULL;
    const char *tail = NULL;
    restrict_database(database);
    gt_query_add_functions(database);
    bool prepared = sqlite3_prepare_v2(database, sql, -1, &statement, &tail) == SQLITE_OK;
    bool ok = prepared ? check_statement(database, statement, tail, error)
                       : is_missing_name(sqlite3_errmsg(database)) || fail(database, NULL, sql, error);
    sqlite3_finalize(statement);
    return ok;
}

bool gt_query_check(const char *sql, gt_error *error)
{
    sqlite3 *database = NULL;
    if (strlen(sql) > SQL_MAX) return gt_fail(error, "SQL: longer than %d bytes", SQL_MAX);
    if (!gt_utf8_is_valid(str_of(sql))) return gt_fail(error, "SQL: not UTF-8");
    if (!check_first_word(sql, error)) return false;
    if (sqlite3_open_v2(":memory:", &database, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        gt_raise("out of memory");
    bool ok = check_prepared(database, sql, error);
    sqlite3_close(database);
    return ok;
}

/* ---- rows ---- */

/* What a value is in a table. */
static gt_type type_of(sqlite3_stmt *statement, int column)
{
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
        return GT_TYPE_INT;
    case SQLITE_FLOAT:
        return GT_TYPE_FLOAT;
    default:
        return GT_TYPE_STRING;
    }
}

/* A number in a column of strings. */
static void set_shown(gt_table *table, size_t c, size_t row, gt_type type, int64_t integer, double number)
{
    gt_buffer text = {0};
    if (type == GT_TYPE_INT)
        gt_buffer_add_int(&text, integer);
    else
        gt_buffer_add_double(&text, number);
    gt_table_set_shown(table, c, row, gt_interner_add(table->strings, text.bytes, text.len),
                       type == GT_TYPE_INT ? GT_SHOWN_INT : GT_SHOWN_FLOAT);
    gt_buffer_free(&text);
}

/* Gives a column another type: its first one, when all values so far are NULL, or that of strings, which show
 * the values so far. */
static void change_type(gt_table *table, size_t c, gt_type type)
{
    size_t added = gt_table_add_column(table, gt_col_named(table->columns[c].name), type);
    for (size_t row = 0; row < table->row_count; row++) {
        gt_cell cell = gt_table_cell(table, c, row);
        if (!cell.is_null) set_shown(table, added, row, cell.type, cell.integer, cell.number);
    }
    gt_table_drop_column(table, c);
    gt_table_move_column(table, added - 1, c);
}

/* A blob is shown as SQL writes it: X'0AFF'. */
static gt_str text_of(sqlite3_stmt *statement, int column, gt_buffer *scratch)
{
    static const char digits[] = "0123456789ABCDEF";
    bool is_blob = sqlite3_column_type(statement, column) == SQLITE_BLOB;
    const char *bytes = is_blob ? sqlite3_column_blob(statement, column)
                                : (const char *)sqlite3_column_text(statement, column);
    size_t len = (size_t)sqlite3_column_bytes(statement, column);
    if (!is_blob && !bytes) gt_raise("out of memory");
    if (!is_blob) return (gt_str){bytes, len};
    scratch->len = 0;
    gt_buffer_add_cstr(scratch, "X'");
    for (size_t i = 0; i < len; i++) {
        gt_buffer_add(scratch, &digits[(unsigned char)bytes[i] >> 4], 1);
        gt_buffer_add(scratch, &digits[bytes[i] & 15], 1);
    }
    gt_buffer_add_cstr(scratch, "'");
    return gt_buffer_str(scratch);
}

static void set_cell(gt_table *table, size_t c, size_t row, sqlite3_stmt *statement, bool *is_known,
                     gt_buffer *scratch)
{
    int from = (int)c;
    if (sqlite3_column_type(statement, from) == SQLITE_NULL) return;
    gt_type type = type_of(statement, from), known = table->columns[c].type;
    if (known != type && (!*is_known || known != GT_TYPE_STRING))
        change_type(table, c, *is_known ? GT_TYPE_STRING : type);
    *is_known = true;
    if (type == GT_TYPE_STRING) {
        gt_str text = text_of(statement, from, scratch);
        gt_table_set_string(table, c, row, gt_interner_add(table->strings, text.bytes, text.len));
        return;
    }
    int64_t integer = sqlite3_column_int64(statement, from);
    double number = sqlite3_column_double(statement, from);
    if (table->columns[c].type == GT_TYPE_STRING)
        set_shown(table, c, row, type, integer, number);
    else if (type == GT_TYPE_INT)
        gt_table_set_int(table, c, row, integer);
    else
        gt_table_set_float(table, c, row, number);
}

/* Names of columns are made different, because documents need that. */
static gt_table *new_rows(sqlite3_stmt *statement, gt_interner *strings)
{
    gt_table *rows = gt_table_new(GT_SHEET_RESULT, strings);
    gt_name_set names = {0};
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        const char *name = sqlite3_column_name(statement, i);
        if (!name) gt_raise("out of memory");
        gt_table_add_column(rows, gt_col_named(gt_name_set_add(&names, name, 1000)), GT_TYPE_STRING);
    }
    gt_name_set_free(&names);
    return rows;
}

/* Hands over the next rows. *done: there are no more. */
static bool take_rows(sqlite3 *database, sqlite3_stmt *statement, const char *sql, const gt_query_sink *sink,
                      bool is_first, bool *done, gt_error *error)
{
    gt_interner *strings = gt_interner_new();
    gt_table *rows = new_rows(statement, strings);
    gt_buffer scratch = {0};
    size_t columns = rows->column_count;
    bool *is_known = gt_alloc_zero(columns, sizeof *is_known);
    int stepped = SQLITE_ROW;
    size_t most =
        sink->rows_at_once < SIZE_MAX ? sink->rows_at_once : CELLS_MAX / (columns ? columns : 1) + 1;
    while (rows->row_count < most && (stepped = sqlite3_step(statement)) == SQLITE_ROW) {
        size_t row = gt_table_add_row(rows);
        for (size_t c = 0; c < columns; c++) set_cell(rows, c, row, statement, &is_known[c], &scratch);
    }
    *done = stepped == SQLITE_DONE;
    bool ok = stepped == SQLITE_ROW || *done || fail(database, NULL, sql, error);
    if (ok && !*done && sink->rows_at_once == SIZE_MAX)
        ok = gt_fail(error, "SQL: more than %zu rows; use LIMIT, or --format csv, json or jsonl", most - 1);
    if (ok && (is_first || rows->row_count)) ok = sink->take(sink->context, rows, is_first, error);
    gt_free(is_known);
    gt_buffer_free(&scratch);
    gt_table_free(rows);
    gt_interner_free(strings);
    return ok;
}

/* ---- running ---- */

/* Ends a statement that takes too long. SQLite looks for an interrupt only between the rows of a statement,
 * and one call of a function can take any time: printf('%.*c', 2000000000, 'x') counts to two billion, and
 * LIKE tries all ways to match '%a%a%a%a%b'. So a thread waits for the end of the statement, interrupts it
 * when its time is over, and if it still runs after the grace time, tells the caller, who can only end the
 * process. */
enum { GRACE_MS = 500, SECONDS_MAX = 1000000000 };

typedef struct watch {
    sqlite3 *database;
    const gt_query_limit *limit;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool has_ended, is_late;
} watch;

static void add_ms(struct timespec *time, long ms)
{
    enum { NS_PER_MS = 1000000, NS_PER_S = 1000000000 };
    time->tv_sec += ms / 1000;
    time->tv_nsec += ms % 1000 * NS_PER_MS;
    if (time->tv_nsec < NS_PER_S) return;
    time->tv_sec++;
    time->tv_nsec -= NS_PER_S;
}

static void wait_until(watch *w, const struct timespec *end)
{
    while (!w->has_ended && pthread_cond_timedwait(&w->ended, &w->lock, end) != ETIMEDOUT) continue;
}

static void *watch_statement(void *context)
{
    watch *w = context;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)w->limit->seconds;
    pthread_mutex_lock(&w->lock);
    wait_until(w, &end);
    w->is_late = !w->has_ended;
    if (w->is_late) {
        sqlite3_interrupt(w->database);
        add_ms(&end, GRACE_MS);
        wait_until(w, &end);
    }
    bool overran = !w->has_ended;
    pthread_mutex_unlock(&w->lock);
    if (overran && w->limit->overrun) w->limit->overrun(w->limit);
    return NULL;
}

static bool start_watch(watch *w, gt_error *error)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->ended, &attributes);
    pthread_condattr_destroy(&attributes);
    int failure = gt_thread_start(&w->thread, watch_statement, w);
    return !failure || gt_fail(error, "cannot watch the time of the query: %s", strerror(failure));
}

static void end_watch(watch *w)
{
    pthread_mutex_lock(&w->lock);
    w->has_ended = true;
    pthread_cond_signal(&w->ended);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->ended);
    pthread_mutex_destroy(&w->lock);
}

void gt_query_fail_late(const gt_query_limit *limit, gt_error *error)
{
    gt_fail(error, "SQL: stopped after %lld s (--timeout); ask for less, or allow more time",
            (long long)limit->seconds);
}

static bool run_statement(gt_query *query, const char *sql, const gt_query_sink *sink, gt_error *error)
{
    sqlite3 *database = gt_query_handle(query);
    sqlite3_stmt *statement = NULL;
    const char *tail = NULL;
    bool ok = sqlite3_prepare_v2(database, sql, -1, &statement, &tail) == SQLITE_OK ||
              fail(database, query, sql, error);
    ok = ok && check_statement(database, statement, tail, error);
    bool done = false;
    for (bool is_first = true; ok && !done; is_first = false)
        ok = take_rows(database, statement, sql, sink, is_first, &done, error);
    sqlite3_finalize(statement);
    return ok;
}

bool gt_query_run(gt_query *query, const char *sql, const gt_query_limit *limit, const gt_query_sink *sink,
                  gt_error *error)
{
    sqlite3 *database = gt_query_handle(query);
    watch w = {.database = database, .limit = limit};
    bool is_limited = limit->seconds > 0 && limit->seconds <= SECONDS_MAX;
    restrict_database(database);
    gt_query_add_functions(database);
    bool ok = !is_limited || start_watch(&w, error);
    if (ok) {
        ok = run_statement(query, sql, sink, error);
        if (is_limited) end_watch(&w);
        if (!ok && w.is_late) gt_query_fail_late(limit, error);
    }
    release_database(database);
    return ok;
}
