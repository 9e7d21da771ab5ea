/* SQL over the sheets of any number of traces (docs/query.md).
 *
 *     gt_query *query = gt_query_open(NULL, NULL, false, &error);
 *     gt_query_add(query, &trace, tables.items, tables.count, &error);     for each trace, in their order
 *     gt_query_finish(query, &error);
 *     gt_query_run(query, "SELECT ...", &limit, &sink, &error);
 *     gt_query_close(query, true, &error);
 *
 * Each sheet is a table, which has the rows of all traces that have the sheet. Their first columns say which
 * trace a row is of. Columns are those of all traces: one that a trace lacks is NULL in its rows.
 *
 *     database.c     the joined tables
 *     statement.c    what a statement may do, running it, and where it is wrong
 *     functions.c    functions that SQLite does not have: regexp, median, percentile, stddev
 *     result.c       the answer as text and files */
#pragma once

#include "report/report.h"

/* ---- before any trace is read ---- */

/* Whether the text is meant as SQL: it begins with a word that begins a statement. */
bool gt_query_is_sql(const char *text);
/* False if the statement is wrong or not allowed, whatever the tables are. */
bool gt_query_check(const char *sql, gt_error *error);
/* Whether the statement may use this sheet. True too often is slow, but not wrong. */
bool gt_query_needs(const char *sql, const char *sheet);
/* Turns on the options of sheets that a report has only on request, if the statement names one of them. Adds
 * the names of these options to a text. Both may be NULL. */
void gt_query_request(const char *sql, gt_report_options *options, gt_buffer *names);

/* ---- the joined tables ---- */

typedef struct gt_query gt_query;

/* One trace. Borrows everything. */
typedef struct gt_query_trace {
    const char *name;   /* the column trace */
    int64_t rank;       /* -1: unknown */
    const char *path;   /* as found */
    const char *format; /* "pytorch", ...; NULL: unknown */
    const char *error;  /* why it has no sheets; NULL: it has */
} gt_query_trace;

/* A database of the output, or without one (NULL) a temporary one. With `counts_only`, rows are only counted,
 * for gt_query_tables. NULL on failure. */
gt_query *gt_query_open(gt_output *output, const char *path, bool counts_only, gt_error *error);
bool gt_query_add(gt_query *query, const gt_query_trace *trace, gt_table *const *tables, size_t count,
                  gt_error *error);
/* After the last trace: declares the types of the columns. */
bool gt_query_finish(gt_query *query, gt_error *error);
/* Closes the database and frees everything. Its file is complete if `ok` and this returns true. */
bool gt_query_close(gt_query *query, bool ok, gt_error *error);

/* ---- answers ---- */

/* Takes rows of the answer, which stay valid during the call: the first ones, even if there are none, and
 * then the others. */
typedef struct gt_query_sink {
    size_t rows_at_once; /* SIZE_MAX: all */
    bool (*take)(void *context, const gt_table *rows, bool is_first, gt_error *error);
    void *context;
} gt_query_sink;

/* How long a statement may run. Another thread calls `overrun` if SQLite does not stop soon after that,
 * because it is inside a function that cannot be interrupted: it should end the process. */
typedef struct gt_query_limit {
    int64_t seconds; /* 0: any time */
    void (*overrun)(const struct gt_query_limit *limit);
} gt_query_limit;

bool gt_query_run(gt_query *query, const char *sql, const gt_query_limit *limit, const gt_query_sink *sink,
                  gt_error *error);
/* Writes what is said of a statement that was stopped. */
void gt_query_fail_late(const gt_query_limit *limit, gt_error *error);
/* One row per column of each table, with the number of its rows and of the traces that have it. */
bool gt_query_tables(const gt_query *query, const gt_query_sink *sink, gt_error *error);
/* The same as text: tables with their columns, lines not longer than `width`. */
void gt_query_print_tables(const gt_query *query, FILE *out, size_t width);

/* ---- answers as text (result.c) ---- */

typedef enum gt_query_format {
    GT_QUERY_TABLE, /* aligned columns */
    GT_QUERY_CSV,
    GT_QUERY_JSON,  /* a list of objects */
    GT_QUERY_JSONL, /* an object per line */
    GT_QUERY_MD,
    GT_QUERY_XLSX, /* files only */
    GT_QUERY_DB,   /* likewise */
    GT_QUERY_FORMATS
} gt_query_format;

/* The format of a name such as "csv", or of a path by its ending; GT_QUERY_FORMATS: none. */
gt_query_format gt_query_format_named(const char *name);
gt_query_format gt_query_format_of(const char *path);

typedef struct gt_query_writer gt_query_writer;
/* Writes to a file of the output, or with NULL to `out`. NULL on failure. */
gt_query_writer *gt_query_writer_open(gt_query_format format, gt_output *output, const char *path,
                                      const gt_terminal *out, gt_error *error);
gt_query_sink gt_query_writer_sink(gt_query_writer *writer);
typedef struct gt_query_written {
    size_t rows;
    size_t hidden_columns; /* that do not fit on the terminal */
} gt_query_written;
/* Writes the end, if `ok`, and frees it. */
bool gt_query_writer_close(gt_query_writer *writer, bool ok, gt_query_written *written, gt_error *error);

/* ---- for the files of this header ---- */

struct sqlite3;
struct sqlite3 *gt_query_handle(gt_query *query);
/* "; did you mean ...?" for a name that SQLite does not know, or "". The caller frees it. */
char *gt_query_suggest(const gt_query *query, const char *message, const char *sql);
void gt_query_add_functions(struct sqlite3 *database);
