/* The summary at the end of a run: bars with numbers, and the first rows of a table, in lines that fit the
 * terminal. All texts are prepared first, then the columns get their widths, then the lines are printed. */
#include "output/terminal.h"

#include "base/printing.h"
#include "compat/python_repr.h"
#include "procs/procs.h"

#include <sys/ioctl.h>
#include <unistd.h>

/* ---- display width ---- */

typedef struct range {
    uint32_t first, last;
} range;

/* Marks that are drawn on the character before them. */
static const range combining[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A}, {0x064B, 0x065F},
    {0x0900, 0x0902}, {0x093A, 0x093A}, {0x093C, 0x093C}, {0x0941, 0x0948}, {0x094D, 0x094D},
    {0x0E31, 0x0E31}, {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF},
    {0x20D0, 0x20FF}, {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xE0100, 0xE01EF},
};

/* East Asian characters and emoji. */
static const range wide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23EC},   {0x2614, 0x2615}, {0x26A1, 0x26A1},
    {0x2705, 0x2705},   {0x274C, 0x274C},   {0x2B50, 0x2B50},   {0x2E80, 0x303E}, {0x3041, 0x33FF},
    {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xA960, 0xA97F}, {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F},
    {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD},
};

static bool is_in_ranges(uint32_t code_point, const range *ranges, size_t count)
{
    for (size_t i = 0; i < count && ranges[i].first <= code_point; i++)
        if (code_point <= ranges[i].last) return true;
    return false;
}

static size_t cells_of(uint32_t code_point)
{
    if (code_point < 0x0300) return 1;
    if (is_in_ranges(code_point, combining, GT_LENGTH(combining))) return 0;
    return is_in_ranges(code_point, wide, GT_LENGTH(wide)) ? 2 : 1;
}

void gt_display_add(gt_buffer *buffer, gt_str text, bool utf8)
{
    const char *place = text.bytes, *end = text.bytes + text.len;
    while (place < end) {
        uint32_t code_point = gt_utf8_next(&place, end);
        if (!gt_is_printable(code_point)) {
            gt_python_add_escape(buffer, code_point);
        } else if (code_point < 0x80 || utf8) {
            gt_buffer_add_code_point(buffer, code_point);
        } else {
            gt_buffer_add_cstr(buffer, "?");
        }
    }
}

size_t gt_display_width(gt_str text)
{
    size_t width = 0;
    const char *place = text.bytes, *end = text.bytes + text.len;
    while (place < end) width += cells_of(gt_utf8_next(&place, end));
    return width;
}

/* The end of the first `width` cells; combining marks stay with their character. */
static const char *after_cells(gt_str text, size_t width)
{
    const char *place = text.bytes, *end = text.bytes + text.len;
    size_t used = 0;
    while (place < end) {
        const char *next = place;
        used += cells_of(gt_utf8_next(&next, end));
        if (used > width) break;
        place = next;
    }
    return place;
}

/* The start of the last `width` cells, or of one less before a wide character; never at a combining mark. */
static const char *before_last_cells(gt_str text, size_t width)
{
    size_t left = gt_display_width(text);
    const char *place = text.bytes, *end = text.bytes + text.len;
    while (place < end) {
        const char *next = place;
        size_t cells = cells_of(gt_utf8_next(&next, end));
        if (left <= width && cells > 0) break;
        left -= cells;
        place = next;
    }
    return place;
}

void gt_display_add_cut(gt_buffer *buffer, gt_str text, size_t width, bool utf8)
{
    if (gt_display_width(text) <= width) {
        gt_buffer_add(buffer, text.bytes, text.len);
        return;
    }
    const char *mark = utf8 ? "…" : "...";
    size_t mark_width = utf8 ? 1 : 3;
    if (width <= mark_width) {
        gt_buffer_add(buffer, text.bytes, (size_t)(after_cells(text, width) - text.bytes));
        return;
    }
    size_t kept = width - mark_width;
    const char *head_end = after_cells(text, kept - kept / 2);
    const char *tail = before_last_cells(text, kept / 2);
    gt_buffer_add(buffer, text.bytes, (size_t)(head_end - text.bytes));
    gt_buffer_add_cstr(buffer, mark);
    gt_buffer_add(buffer, tail, (size_t)(text.bytes + text.len - tail));
}

enum {
    MIN_WIDTH = 40,
    DEFAULT_WIDTH = 100,
    MAX_WIDTH = 10000,
    GAP = 2,
    BAR_MAX = 50,
    BAR_MIN = 8,
    TEXT_MIN = 12
};

static const char bold[] = "\033[1m", cyan[] = "\033[36m", plain[] = "\033[0m";

/* ---- properties of the stream ---- */

static bool locale_is_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < GT_LENGTH(variables); i++) {
        const char *value = getenv(variables[i]);
        if (value && *value) return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

static size_t stream_width(int descriptor)
{
    struct winsize size;
    if (isatty(descriptor) && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    const char *columns = getenv("COLUMNS");
    long width = columns ? strtol(columns, NULL, 10) : 0;
    return width > 0 && width < 10000 ? (size_t)width : DEFAULT_WIDTH;
}

static gt_terminal other; /* of another process; width 0: none */

void gt_terminal_describe(const gt_terminal *terminal, char text[GT_TERMINAL_TEXT_MAX])
{
    size_t width = terminal->width < MAX_WIDTH ? terminal->width : MAX_WIDTH;
    snprintf(text, GT_TERMINAL_TEXT_MAX, "%zu %d %d", width, terminal->utf8, terminal->colour);
}

bool gt_terminal_use(const char *text)
{
    unsigned width;
    int utf8, colour;
    if (sscanf(text, "%5u %1d %1d", &width, &utf8, &colour) != 3 || !width) return false;
    other = (gt_terminal){.width = width, .utf8 = utf8 != 0, .colour = colour != 0};
    return true;
}

/* A launcher may give its processes a terminal of their own, although its output goes to a file. */
static bool is_terminal(int descriptor)
{
    return isatty(descriptor) && !gt_procs_is_several();
}

gt_terminal gt_terminal_for(FILE *file)
{
    if (other.width)
        return (gt_terminal){.file = file, .width = other.width, .utf8 = other.utf8, .colour = other.colour};
    int descriptor = gt_print_descriptor(file);
    const char *no_colour = getenv("NO_COLOR");
    const char *kind = getenv("TERM");
    return (gt_terminal){
        .file = file,
        .width = stream_width(descriptor),
        .utf8 = locale_is_utf8(),
        .colour = is_terminal(descriptor) && !(no_colour && *no_colour) && kind && strcmp(kind, "dumb") != 0,
    };
}

static size_t width_of(const gt_terminal *terminal)
{
    return terminal->width < MIN_WIDTH ? MIN_WIDTH : terminal->width;
}

/* ---- pieces of a line ---- */

/* 1234567.8 -> "1,234,567.80". */
static void add_number(gt_buffer *buffer, double value, int decimals)
{
    char digits[64];
    if (!isfinite(value) || fabs(value) >= 1e15) {
        snprintf(digits, sizeof digits, "%.3e", value);
        gt_buffer_add_cstr(buffer, digits);
        return;
    }
    snprintf(digits, sizeof digits, "%.*f", decimals > 15 ? 15 : decimals, value);
    const char *place = digits;
    if (*place == '-') gt_buffer_add(buffer, place++, 1);
    for (size_t left = strcspn(place, "."); left > 0; left--) {
        gt_buffer_add(buffer, place++, 1);
        if (left > 1 && left % 3 == 1) gt_buffer_add(buffer, ",", 1);
    }
    gt_buffer_add_cstr(buffer, place);
}

static void add_padded(gt_buffer *line, gt_str text, size_t width, bool right)
{
    size_t used = gt_display_width(text);
    size_t missing = used < width ? width - used : 0;
    if (right) gt_buffer_add_spaces(line, missing);
    gt_buffer_add(line, text.bytes, text.len);
    if (!right) gt_buffer_add_spaces(line, missing);
}

static void add_colour(gt_buffer *line, const gt_terminal *terminal, const char *colour)
{
    if (terminal->colour) gt_buffer_add_cstr(line, colour);
}

/* Prints the line without trailing spaces and clears it. */
static void print_line(const gt_terminal *terminal, gt_buffer *line)
{
    while (line->len > 0 && line->bytes[line->len - 1] == ' ') line->len--;
    gt_buffer_add(line, "\n", 1);
    if (terminal->colour)
        gt_print_raw(terminal->file, line->bytes, line->len); /* its texts are escaped already */
    else
        fwrite(line->bytes, 1, line->len, terminal->file);
    line->len = 0;
}

static gt_str text_of(const char *text)
{
    return (gt_str){text, strlen(text)};
}

void gt_terminal_heading(const gt_terminal *terminal, const char *text)
{
    gt_buffer safe = {0}, line = {0};
    gt_display_add(&safe, text_of(text), terminal->utf8);
    add_colour(&line, terminal, bold);
    gt_display_add_cut(&line, gt_buffer_str(&safe), width_of(terminal), terminal->utf8);
    add_colour(&line, terminal, plain);
    print_line(terminal, &line);
    gt_buffer_free(&safe);
    gt_buffer_free(&line);
}

/* ---- bars ---- */

/* A bar of `width` cells, filled at 100 percent. With UTF-8 its resolution is an eighth of a cell, and a
 * percentage above 0 shows at least that. */
static void add_bar(gt_buffer *line, const gt_terminal *terminal, double percent, size_t width)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    double share = percent > 100 ? 1 : percent > 0 ? percent / 100 : 0; /* NaN: no bar */
    size_t steps = terminal->utf8 ? 8 : 1;
    size_t filled = (size_t)(share * (double)(width * steps) + 0.5);
    if (filled == 0 && share > 0 && terminal->utf8) filled = 1;
    size_t cells = filled / steps, rest = filled % steps;
    if (filled > 0) add_colour(line, terminal, cyan);
    for (size_t i = 0; i < cells; i++) gt_buffer_add_cstr(line, terminal->utf8 ? "█" : "#");
    if (rest > 0) gt_buffer_add_cstr(line, eighths[rest]);
    if (filled > 0) add_colour(line, terminal, plain);
    gt_buffer_add_spaces(line, width - cells - (rest > 0));
}

/* The texts of one bar. */
typedef struct bar_texts {
    gt_buffer label, value, percent;
} bar_texts;

static bar_texts make_bar_texts(const gt_terminal *terminal, const gt_bar *bar, const char *unit,
                                int decimals)
{
    bar_texts texts = {0};
    gt_display_add(&texts.label, text_of(bar->label), terminal->utf8);
    add_number(&texts.value, bar->value, decimals);
    if (unit && *unit) {
        gt_buffer_add_cstr(&texts.value, " ");
        gt_display_add(&texts.value, text_of(unit), terminal->utf8);
    }
    if (!isnan(bar->percent)) {
        add_number(&texts.percent, bar->percent, 1);
        gt_buffer_add_cstr(&texts.percent, "%");
    }
    return texts;
}

static void widen_to(size_t *width, gt_buffer *text)
{
    size_t needed = gt_display_width(gt_buffer_str(text));
    if (needed > *width) *width = needed;
}

void gt_terminal_bars(const gt_terminal *terminal, const gt_bar *bars, size_t count, const char *unit)
{
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        if (fabs(bars[i].value) > largest) largest = fabs(bars[i].value);
    int decimals = largest < 1000 ? 3 : 1;

    bar_texts *texts = gt_alloc(count * sizeof *texts);
    size_t label = 0, value = 0, percent = 0;
    for (size_t i = 0; i < count; i++) {
        texts[i] = make_bar_texts(terminal, &bars[i], unit, decimals);
        widen_to(&label, &texts[i].label);
        widen_to(&value, &texts[i].value);
        widen_to(&percent, &texts[i].percent);
    }
    size_t width = width_of(terminal);
    size_t fixed = value + percent + 3 * GAP;
    size_t label_max = width > fixed + BAR_MIN + TEXT_MIN ? width - fixed - BAR_MIN : TEXT_MIN;
    if (label > label_max) label = label_max;
    size_t bar = width > fixed + label ? width - fixed - label : 0;
    if (bar > BAR_MAX) bar = BAR_MAX;

    gt_buffer line = {0}, cut = {0};
    for (size_t i = 0; i < count; i++) {
        cut.len = 0;
        gt_display_add_cut(&cut, gt_buffer_str(&texts[i].label), label, terminal->utf8);
        add_padded(&line, gt_buffer_str(&cut), label + GAP, false);
        add_bar(&line, terminal, bars[i].percent, bar);
        add_padded(&line, gt_buffer_str(&texts[i].value), value + GAP, true);
        add_padded(&line, gt_buffer_str(&texts[i].percent), percent + GAP, true);
        print_line(terminal, &line);
        gt_buffer_free(&texts[i].label);
        gt_buffer_free(&texts[i].value);
        gt_buffer_free(&texts[i].percent);
    }
    gt_buffer_free(&cut);
    gt_buffer_free(&line);
    gt_free(texts);
}

/* ---- rows of a table ---- */

/* A column ready to print: texts[0] is the header. */
typedef struct shown {
    gt_buffer *texts;
    size_t width;
    bool is_number;
} shown;

static void add_cell(gt_buffer *out, const gt_terminal *terminal, const gt_table *table,
                     const gt_column *column, size_t row, const gt_terminal_column *wanted)
{
    if (gt_column_is_null(column, row)) {
        gt_buffer_add_cstr(out, "-");
        return;
    }
    bool exact = wanted->decimals < 0;
    gt_buffer literal = {0};
    switch (column->type) {
    case GT_TYPE_INT:
        if (exact) {
            gt_buffer_add_int(out, column->ints[row]);
        } else {
            add_number(out, (double)column->ints[row], 0);
        }
        break;
    case GT_TYPE_FLOAT:
        if (exact) {
            gt_buffer_add_double(out, column->floats[row]);
        } else {
            bool is_less = wanted->least > 0 && column->floats[row] < wanted->least;
            if (is_less) gt_buffer_add_cstr(out, "<");
            add_number(out, is_less ? wanted->least : column->floats[row], wanted->decimals);
        }
        break;
    case GT_TYPE_BOOL:
        gt_buffer_add_cstr(out, column->bools[row] ? "yes" : "no");
        break;
    case GT_TYPE_STRING:
        gt_display_add(out, gt_interner_get(table->strings, column->texts[row]), terminal->utf8);
        break;
    case GT_TYPE_LIST:
        gt_python_add_cell(&literal, column, row, table->strings);
        gt_display_add(out, gt_buffer_str(&literal), terminal->utf8);
        gt_buffer_free(&literal);
        break;
    }
    bool is_number = column->type == GT_TYPE_INT || column->type == GT_TYPE_FLOAT;
    if (is_number && wanted->suffix) gt_display_add(out, text_of(wanted->suffix), terminal->utf8);
}

static shown make_shown(const gt_terminal *terminal, const gt_table *table, const gt_column *column,
                        size_t rows, const gt_terminal_column *wanted)
{
    shown made = {.texts = gt_alloc_zero(rows + 1, sizeof *made.texts),
                  .is_number = column->type == GT_TYPE_INT || column->type == GT_TYPE_FLOAT};
    gt_display_add(&made.texts[0], text_of(wanted->header ? wanted->header : column->name), terminal->utf8);
    for (size_t row = 0; row < rows; row++)
        add_cell(&made.texts[row + 1], terminal, table, column, row, wanted);
    for (size_t i = 0; i <= rows; i++) widen_to(&made.width, &made.texts[i]);
    return made;
}

/* Narrows the widest text columns, then drops columns from the end, until a line fits. Returns the number of
 * columns that remain. */
static size_t fit(shown *columns, size_t count, size_t width)
{
    size_t total = count > 0 ? GAP * (count - 1) : 0;
    for (size_t i = 0; i < count; i++) total += columns[i].width;
    while (total > width) {
        shown *widest = NULL;
        for (size_t i = 0; i < count; i++)
            if (!columns[i].is_number && columns[i].width > TEXT_MIN &&
                (!widest || columns[i].width > widest->width))
                widest = &columns[i];
        if (widest) {
            widest->width--;
            total--;
        } else if (count > 1) {
            total -= columns[--count].width + GAP;
        } else {
            columns[0].width = total = width;
        }
    }
    return count;
}

static void print_row(const gt_terminal *terminal, const shown *columns, size_t count, size_t text,
                      gt_buffer *line)
{
    gt_buffer cut = {0};
    bool is_header = text == 0;
    if (is_header) add_colour(line, terminal, bold);
    for (size_t i = 0; i < count; i++) {
        bool is_last = i + 1 == count;
        cut.len = 0;
        gt_display_add_cut(&cut, gt_buffer_str(&columns[i].texts[text]), columns[i].width, terminal->utf8);
        add_padded(line, gt_buffer_str(&cut), is_last && !columns[i].is_number ? 0 : columns[i].width,
                   columns[i].is_number);
        if (!is_last) gt_buffer_add_spaces(line, GAP);
    }
    if (is_header) add_colour(line, terminal, plain);
    print_line(terminal, line);
    gt_buffer_free(&cut);
}

size_t gt_terminal_rows(const gt_terminal *terminal, const gt_table *table, const gt_terminal_column *columns,
                        size_t column_count, size_t max_rows)
{
    size_t rows = table->row_count < max_rows ? table->row_count : max_rows;
    shown *made = gt_alloc(column_count * sizeof *made);
    size_t count = 0;
    for (size_t i = 0; i < column_count; i++) {
        size_t found = gt_table_find(table, columns[i].column);
        if (found != SIZE_MAX)
            made[count++] = make_shown(terminal, table, &table->columns[found], rows, &columns[i]);
    }
    size_t fitting = fit(made, count, width_of(terminal));
    gt_buffer line = {0};
    for (size_t text = 0; text <= rows && fitting > 0; text++)
        print_row(terminal, made, fitting, text, &line);
    gt_buffer_free(&line);
    for (size_t i = 0; i < count; i++) {
        for (size_t text = 0; text <= rows; text++) gt_buffer_free(&made[i].texts[text]);
        gt_free(made[i].texts);
    }
    gt_free(made);
    return count - fitting;
}
