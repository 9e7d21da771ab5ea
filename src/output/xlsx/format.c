/* Number format and width of a column. The words of its name decide whether it is an amount, a percentage or
 * an id: amounts get thousands separators, percentages two decimals, ids plain digits. Its values decide the
 * number of decimals and the width. Formats change what is shown, never what is stored. */
#include "output/xlsx/xlsx.h"

#include "compat/python_repr.h"

enum { MIN_WIDTH = 8, MAX_WIDTH = 60, FILTER_BUTTON = 3, WORD_MAX = 24 };

/* A name that contains one of these is a percentage. */
static const char *const percent_marks[] = {"%", "percent", "pct"};

/* A name whose last word is one of these is an id, not an amount. */
static const char *const id_words[] = {"id",     "agent",  "uid",       "pid",  "tid",    "rank",
                                       "stream", "thread", "device",    "node", "handle", "queue",
                                       "index",  "ts",     "timestamp", "group"};
/* Words that may follow that word. */
static const char *const statistic_words[] = {"first", "last", "min", "max"};

enum { COUNT_OF_PERCENT_MARKS = GT_LENGTH(percent_marks) };
enum { COUNT_OF_ID_WORDS = GT_LENGTH(id_words) };
enum { COUNT_OF_STATISTIC_WORDS = GT_LENGTH(statistic_words) };

/* ---- by name ---- */

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

/* The last word before `end`; words consist of letters, other characters separate them. */
static const char *word_before(const char *name, const char *end, size_t *len)
{
    while (end > name && !isalpha((unsigned char)end[-1])) end--;
    const char *start = end;
    while (start > name && isalpha((unsigned char)start[-1])) start--;
    *len = (size_t)(end - start);
    return start;
}

static bool is_id(const char *name)
{
    size_t len;
    const char *word = word_before(name, name + strlen(name), &len);
    if (is_one_of(word, len, statistic_words, COUNT_OF_STATISTIC_WORDS)) word = word_before(name, word, &len);
    return is_one_of(word, len, id_words, COUNT_OF_ID_WORDS);
}

/* ---- by values ---- */

typedef struct extent {
    double largest; /* finite absolute value */
    bool all_whole, any_negative;
} extent;

static extent find_extent(const gt_table *table, size_t column, size_t rows)
{
    extent found = {.all_whole = true};
    for (size_t row = 0; row < rows; row++) {
        gt_cell cell = gt_table_cell(table, column, row);
        if (cell.is_null || !isfinite(cell.number)) continue;
        double value = cell.number;
        if (fabs(value) > found.largest) found.largest = fabs(value);
        if (value < 0) found.any_negative = true;
        if (value != floor(value)) found.all_whole = false;
    }
    return found;
}

static const char *number_format(const char *name, const extent *values)
{
    if (is_percentage(name)) return "0.00";
    if (is_id(name)) return values->all_whole ? "0" : "0.000";
    if (values->all_whole) return "#,##0";
    if (values->largest >= 1000) return "#,##0.00";
    return values->largest >= 0.01 ? "#,##0.000" : NULL;
}

/* Number of characters of the largest value in this format. */
static size_t formatted_width(const char *format, const extent *values)
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
            gt_python_add_cell(&literal, column, row, table->strings);
            text = gt_buffer_str(&literal);
        }
        size_t width = char_count(text);
        if (width > widest) widest = width;
    }
    gt_buffer_free(&literal);
    return widest;
}

/* ---- the header ---- */

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
    size_t room = width > 3 ? (size_t)width - 2 : 1; /* bold characters are slightly wider */
    size_t lines = 1, used = 0;
    while (*name) {
        size_t len = strcspn(name, " ");
        size_t word = char_count((gt_str){name, len});
        if (used > 0 && used + 1 + word > room) {
            lines++;
            used = 0;
        }
        used += (used > 0) + word;
        while (used > room) { /* a long word is broken at any character */
            lines++;
            used -= room;
        }
        name += len + (name[len] == ' ');
    }
    return lines;
}

/* A width for the name on two lines. */
static size_t header_width(const char *name)
{
    size_t word = longest_word(name);
    if (word > WORD_MAX) word = WORD_MAX;
    size_t half = (char_count((gt_str){name, strlen(name)}) + 1) / 2;
    return (word > half ? word : half) + FILTER_BUTTON;
}

gt_xlsx_format gt_xlsx_column_format(const gt_table *table, size_t column, size_t rows)
{
    const gt_column *cells = &table->columns[column];
    gt_xlsx_format format = {0};
    size_t width = MIN_WIDTH;
    gt_type type;
    bool uniform = gt_column_value_type(cells, table->row_count, &type);
    if (uniform && (type == GT_TYPE_INT || type == GT_TYPE_FLOAT)) {
        extent values = find_extent(table, column, rows);
        format.number_format = number_format(cells->name, &values);
        width = formatted_width(format.number_format, &values) + 1;
    } else if (!uniform || type != GT_TYPE_BOOL) {
        width = widest_text(table, cells, rows) + 1;
    }
    size_t header = header_width(cells->name);
    if (width < header) width = header;
    format.width = (double)(width < MIN_WIDTH ? MIN_WIDTH : width > MAX_WIDTH ? MAX_WIDTH : width);
    return format;
}
