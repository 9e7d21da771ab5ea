/* Functions of queries that SQLite does not have.
 *
 *     X REGEXP P, regexp(P, X)    whether the Python regular expression P matches anywhere in X
 *     median(X)                   aggregates of the numbers X, without NULL; NULL if there are none
 *     percentile(X, P)            P from 0 to 100; linear between neighbours, as in numpy
 *     stddev(X)                   of a sample (n - 1); NULL for less than two numbers */
#include "report/query/query.h"

#include "compat/python_regex.h"
#include "table/stats.h"

#include <sqlite3.h>

/* ---- regular expressions ---- */

static void free_regex(void *regex)
{
    gt_python_regex_free(regex);
    gt_free(regex);
}

/* The compiled expression, which SQLite keeps as long as the pattern is a constant. NULL with the result set
 * to an error. */
static gt_python_regex *regex_of(sqlite3_context *context, sqlite3_value *pattern)
{
    gt_python_regex *regex = sqlite3_get_auxdata(context, 0);
    gt_error error;
    if (regex) return regex;
    const char *text = (const char *)sqlite3_value_text(pattern);
    regex = gt_alloc_zero(1, sizeof *regex);
    if (!text || !gt_python_regex_compile(regex, text, &error)) {
        char *message = gt_format("REGEXP: %s", text ? error.text : "out of memory");
        sqlite3_result_error(context, message, -1);
        gt_free_all(message, regex);
        return NULL;
    }
    sqlite3_set_auxdata(context, 0, regex, free_regex);
    return sqlite3_get_auxdata(context, 0);
}

static void match_regex(sqlite3_context *context, int count, sqlite3_value **values)
{
    gt_python_match match = {0};
    gt_error error;
    (void)count;
    if (sqlite3_value_type(values[0]) == SQLITE_NULL || sqlite3_value_type(values[1]) == SQLITE_NULL) return;
    gt_python_regex *regex = regex_of(context, values[0]);
    const char *text = regex ? (const char *)sqlite3_value_text(values[1]) : NULL;
    if (!text) return;
    gt_str subject = {text, (size_t)sqlite3_value_bytes(values[1])};
    if (gt_python_regex_search(regex, subject, &match, &error))
        sqlite3_result_int(context, match.found);
    else
        sqlite3_result_error(context, error.text, -1);
    gt_python_match_free(&match);
}

/* ---- statistics ---- */

typedef struct numbers {
    double *values;
    size_t count, capacity;
    double percent;
} numbers;

static void add_number(sqlite3_context *context, int count, sqlite3_value **values)
{
    numbers *n = sqlite3_aggregate_context(context, sizeof *n);
    int type = sqlite3_value_numeric_type(values[0]);
    if (!n || type == SQLITE_NULL) return;
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
        sqlite3_result_error(context, "median, percentile and stddev need numbers", -1);
        return;
    }
    if (count > 1) n->percent = sqlite3_value_double(values[1]);
    double value = sqlite3_value_double(values[0]);
    GT_PUSH(n->values, n->count, n->capacity, value);
}

typedef double statistic(const numbers *n);

static double median_of(const numbers *n)
{
    return gt_median(n->values, n->count);
}

static double percentile_of(const numbers *n)
{
    return gt_quantile(n->values, n->count, n->percent / 100);
}

static double stddev_of(const numbers *n)
{
    return n->count < 2 ? (double)NAN : gt_std_pairwise(n->values, n->count, 1);
}

/* SQLite makes NULL of NaN. */
static void give_statistic(sqlite3_context *context, statistic *compute)
{
    numbers *n = sqlite3_aggregate_context(context, 0);
    if (!n || !n->count) return;
    if (!(n->percent >= 0 && n->percent <= 100))
        sqlite3_result_error(context, "percentile: the percentage must be between 0 and 100", -1);
    else
        sqlite3_result_double(context, compute(n));
    gt_free(n->values);
}

static void give_median(sqlite3_context *context)
{
    give_statistic(context, median_of);
}

static void give_percentile(sqlite3_context *context)
{
    give_statistic(context, percentile_of);
}

static void give_stddev(sqlite3_context *context)
{
    give_statistic(context, stddev_of);
}

void gt_query_add_functions(sqlite3 *database)
{
    static const struct {
        const char *name;
        int arguments;
        void (*give)(sqlite3_context *context);
    } rows[] = {{"median", 1, give_median}, {"percentile", 2, give_percentile}, {"stddev", 1, give_stddev}};
    int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
    sqlite3_create_function_v2(database, "regexp", 2, flags, NULL, match_regex, NULL, NULL, NULL);
    for (size_t i = 0; i < GT_LENGTH(rows); i++)
        sqlite3_create_function_v2(database, rows[i].name, rows[i].arguments, flags, NULL, NULL, add_number,
                                   rows[i].give, NULL);
}
