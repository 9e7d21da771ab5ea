/* Is this column an amount, a share or a label that happens to be a number? Its name's words say: amounts get
 * thousands separators, percentages two decimals, ids plain digits. How many decimals and how wide, its
 * values say. Formats change what is shown, never what is stored. */
#include "output/xlsx/look.h"

#include "base/length.h"
#include "compat/python_repr.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MIN_WIDTH = 8, MAX_WIDTH = 60, FILTER_BUTTON = 3, LONGEST_WORD = 24 };

/* A name that holds one of these is a share of 100. */
static const char *const percent_marks[] = {"%", "percent", "pct"};

/* A name whose last word is one of these numbers things and does not count them. */
static const char *const label_words[] = {"id",     "agent",  "uid",       "pid",  "tid",    "rank",
                                          "stream", "thread", "device",    "node", "handle", "queue",
                                          "index",  "ts",     "timestamp", "group"};
/* Words behind which that last word may stand. */
static const char *const statistic_words[] = {"first", "last", "min", "max"};

enum { COUNT_OF_PERCENT_MARKS = GT_LENGTH(percent_marks) };
enum { COUNT_OF_LABEL_WORDS = GT_LENGTH(label_words) };
enum { COUNT_OF_STATISTIC_WORDS = GT_LENGTH(statistic_words) };

/* ---- what the name says ---- */

static bool is_percentage(const char *name)
{
    for (size_t i = 0; i < COUNT_OF_PERCENT_MARKS; i++)
        if (strcasestr(name, percent_marks[i])) return true;
    return false;
}

static bool is_one_of(const char *word, size_t len, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == len && strncasecmp(words[i], word, len) == 0) return true;
    return false;
}

/* The last word that ends before `end`: letters only, other characters part words. */
static const char *word_before(const char *name, const char *end, size_t *len)
{
    while (end > name && !isalpha((unsigned char)end[-1])) end--;
    const char *start = end;
    while (start > name && isalpha((unsigned char)start[-1])) start--;
    *len = (size_t)(end - start);
    return start;
}

static bool is_label(const char *name)
{
    size_t len;
    const char *word = word_before(name, name + strlen(name), &len);
    if (is_one_of(word, len, statistic_words, COUNT_OF_STATISTIC_WORDS)) word = word_before(name, word, &len);
    return is_one_of(word, len, label_words, COUNT_OF_LABEL_WORDS);
}

/* ---- what the values say ---- */

typedef struct extent {
    double largest; /* of the finite absolute values */
    bool all_whole, any_negative;
} extent;

static extent extent_of(const gt_column *column, size_t rows)
{
    extent found = {.all_whole = true};
    for (size_t row = 0; row < rows; row++) {
        if (gt_column_is_null(column, row)) continue;
        double value = gt_column_number(column, row);
        if (!isfinite(value)) continue;
        if (fabs(value) > found.largest) found.largest = fabs(value);
        if (value < 0) found.any_negative = true;
        if (value != floor(value)) found.all_whole = false;
    }
    return found;
}

static const char *number_format(const char *name, const extent *values)
{
    if (is_percentage(name)) return "0.00";
    if (is_label(name)) return values->all_whole ? "0" : "0.000";
    if (values->all_whole) return "#,##0";
    if (values->largest >= 1000) return "#,##0.00";
    return values->largest >= 0.01 ? "#,##0.000" : NULL;
}

/* Characters that the largest value takes in the format. */
static size_t shown_width(const char *format, const extent *values)
{
    if (!format) return 12;
    size_t digits = values->largest < 1 ? 1 : (size_t)floor(log10(values->largest)) + 1;
    size_t separators = strchr(format, ',') ? (digits - 1) / 3 : 0;
    const char *point = strchr(format, '.');
    return digits + separators + (point ? strlen(point) : 0) + values->any_negative;
}

static size_t char_count(gt_str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++) count += (text.bytes[i] & 0xC0) != 0x80;
    return count;
}

static size_t widest_text(const gt_table *table, const gt_column *column, size_t rows)
{
    gt_buffer literal = {0};
    size_t widest = 0;
    for (size_t row = 0; row < rows && widest < MAX_WIDTH; row++) {
        if (gt_column_is_null(column, row)) continue;
        gt_str text;
        if (column->type == GT_TYPE_STRING) {
            text = gt_interner_get(table->strings, column->texts[row]);
        } else {
            literal.len = 0;
            gt_literal_add(&literal, column, row, table->strings);
            text = gt_buffer_str(&literal);
        }
        size_t width = char_count(text);
        if (width > widest) widest = width;
    }
    gt_buffer_free(&literal);
    return widest;
}

/* ---- the name above the column ---- */

static size_t longest_word(const char *name)
{
    size_t longest = 0;
    while (*name) {
        size_t len = strcspn(name, " ");
        size_t width = char_count((gt_str){name, len});
        if (width > longest) longest = width;
        name += len + (name[len] == ' ');
    }
    return longest;
}

size_t gt_xlsx_header_lines(const char *name, double width)
{
    size_t room = width > 3 ? (size_t)width - 2 : 1; /* bold letters are a little wider */
    size_t lines = 1, used = 0;
    while (*name) {
        size_t len = strcspn(name, " ");
        size_t word = char_count((gt_str){name, len});
        if (used > 0 && used + 1 + word > room) {
            lines++;
            used = 0;
        }
        used += (used > 0) + word;
        while (used > room) { /* a long word is broken anywhere */
            lines++;
            used -= room;
        }
        name += len + (name[len] == ' ');
    }
    return lines;
}

/* Wide enough for the name on two lines. */
static size_t header_width(const char *name)
{
    size_t word = longest_word(name);
    if (word > LONGEST_WORD) word = LONGEST_WORD;
    size_t half = (char_count((gt_str){name, strlen(name)}) + 1) / 2;
    return (word > half ? word : half) + FILTER_BUTTON;
}

gt_xlsx_look gt_xlsx_look_of(const gt_table *table, size_t column, size_t rows)
{
    const gt_column *cells = &table->columns[column];
    gt_xlsx_look look = {0};
    size_t width = MIN_WIDTH;
    if (cells->type == GT_TYPE_INT || cells->type == GT_TYPE_FLOAT) {
        extent values = extent_of(cells, rows);
        look.number_format = number_format(cells->name, &values);
        width = shown_width(look.number_format, &values) + 1;
    } else if (cells->type != GT_TYPE_BOOL) {
        width = widest_text(table, cells, rows) + 1;
    }
    size_t header = header_width(cells->name);
    if (width < header) width = header;
    look.width = (double)(width < MIN_WIDTH ? MIN_WIDTH : width > MAX_WIDTH ? MAX_WIDTH : width);
    return look;
}
