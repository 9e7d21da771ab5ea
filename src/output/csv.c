/* Tables as CSV, byte for byte as pandas' to_csv(index=False) writes them: numbers as Python's repr, nothing
 * for a null, True and False, lists as Python literals, and a field in quotes only if it contains a comma, a
 * quote or a line break. Differences: bytes that are not UTF-8 become U+FFFD because readers would reject the
 * file, and with --csv_safe text that a spreadsheet would take for a formula begins with '. */
#include "output/csv.h"

#include "base/memory.h"
#include "base/number.h"
#include "compat/python_repr.h"
#include "output/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ---- */

/* Not 0 exactly if a byte of `chunk` equals `byte`. */
static uint64_t bytes_equal(uint64_t chunk, unsigned char byte)
{
    uint64_t ones = 0x0101010101010101u;
    uint64_t difference = chunk ^ ones * byte;
    return (difference - ones) & ~difference & 0x8080808080808080u;
}

static bool is_plain_byte(unsigned char byte)
{
    return byte != ',' && byte != '"' && byte != '\n' && byte != '\r' && byte < 0x80;
}

/* Whether the text is ASCII and needs no quotes. */
static bool is_plain(const char *bytes, size_t len)
{
    uint64_t chunk;
    for (; len >= sizeof chunk; bytes += sizeof chunk, len -= sizeof chunk) {
        memcpy(&chunk, bytes, sizeof chunk);
        if ((chunk & 0x8080808080808080u) | bytes_equal(chunk, ',') | bytes_equal(chunk, '"') |
            bytes_equal(chunk, '\n') | bytes_equal(chunk, '\r'))
            return false;
    }
    while (len > 0 && is_plain_byte((unsigned char)*bytes)) bytes++, len--;
    return len == 0;
}

static bool needs_quotes(gt_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.bytes[i] == ',' || text.bytes[i] == '"' || text.bytes[i] == '\n' || text.bytes[i] == '\r')
            return true;
    return false;
}

static void write_quoted(gt_file *file, gt_str text)
{
    gt_file_put(file, '"');
    const char *place = text.bytes, *end = text.bytes + text.len;
    const char *quote;
    while ((quote = memchr(place, '"', (size_t)(end - place)))) {
        gt_file_write(file, place, (size_t)(quote + 1 - place));
        gt_file_put(file, '"');
        place = quote + 1;
    }
    gt_file_write(file, place, (size_t)(end - place));
    gt_file_put(file, '"');
}

/* Text that a spreadsheet would compute. */
static bool looks_like_formula(gt_str text)
{
    if (!text.len || !memchr("=+-@\t\r\n", text.bytes[0], 7)) return false;
    size_t digits = 0;
    for (size_t i = 1; i < text.len; i++) {
        if (!strchr("0123456789.eE+-", text.bytes[i]) || !text.bytes[i]) return true;
        digits += text.bytes[i] >= '0' && text.bytes[i] <= '9';
    }
    if (!digits || text.bytes[0] == '=' || text.bytes[0] == '@') return true;
    char number[GT_NUMBER_MAX + 1], *end;
    if (text.len > GT_NUMBER_MAX) return true;
    memcpy(number, text.bytes, text.len);
    number[text.len] = 0;
    strtod(number, &end);
    return *end != 0;
}

static void write_text(gt_file *file, gt_str text)
{
    if (file->csv_safe && looks_like_formula(text)) {
        gt_buffer marked = {0};
        gt_buffer_add_cstr(&marked, "'");
        gt_buffer_add(&marked, text.bytes, text.len);
        write_text(file, gt_buffer_str(&marked)); /* no longer looks like one */
        gt_buffer_free(&marked);
        return;
    }
    if (is_plain(text.bytes, text.len)) {
        gt_file_write(file, text.bytes, text.len);
        return;
    }
    gt_buffer repaired = {0};
    text = gt_utf8_repair(text, &repaired);
    if (needs_quotes(text)) {
        write_quoted(file, text);
    } else {
        gt_file_write(file, text.bytes, text.len);
    }
    gt_buffer_free(&repaired);
}

/* ---- cells ---- */

static void write_list(gt_file *file, const gt_table *table, const gt_column *column, size_t row)
{
    gt_buffer literal = {0};
    gt_python_add_cell(&literal, column, row, table->strings);
    write_text(file, gt_buffer_str(&literal));
    gt_buffer_free(&literal);
}

/* What was written last. Values of a column repeat, and so do strings: copying their text is several times
 * faster than printing it again. */
enum { RECENT_TEXTS = 64, RECENT_TEXT_MAX = 1024, NUMBER_COPY = 23 };

typedef struct last_number {
    uint64_t bits;
    char text[NUMBER_COPY];
    uint8_t len; /* 0: none */
} last_number;

typedef struct recent_text {
    uint32_t id, len; /* len 0: none */
    size_t at;        /* in the buffer of a file in memory */
} recent_text;

typedef struct written_cells {
    last_number *numbers; /* by column */
    recent_text texts[RECENT_TEXTS];
} written_cells;

/* Numbers are written to `out`, where there is room for GT_NUMBER_MAX bytes; the place after them is
 * returned. */
static inline char *write_number(char *out, last_number *last, uint64_t bits, bool is_float, double number)
{
    if (last->bits == bits && last->len) {
        memcpy(out, last->text, NUMBER_COPY);
        return out + last->len;
    }
    size_t len = is_float ? gt_print_double(out, number) : gt_print_int(out, (int64_t)bits);
    if (len <= NUMBER_COPY) {
        last->bits = bits;
        last->len = (uint8_t)len;
        memcpy(last->text, out, NUMBER_COPY);
    }
    return out + len;
}

static inline char *write_int(char *out, last_number *last, int64_t value)
{
    return write_number(out, last, (uint64_t)value, false, 0);
}

static inline char *write_float(char *out, last_number *last, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return write_number(out, last, bits, true, value);
}

static void write_string(gt_file *file, written_cells *before, const gt_table *table, uint32_t id)
{
    recent_text *recent = &before->texts[id % RECENT_TEXTS];
    if (recent->len && recent->id == id) {
        char *room = gt_file_room(file, RECENT_TEXT_MAX); /* may move the buffer */
        memcpy(room, file->buffer + recent->at, recent->len);
        file->used += recent->len;
        return;
    }
    size_t at = file->used;
    write_text(file, gt_interner_get(table->strings, id));
    if (file->in_memory && file->used - at <= RECENT_TEXT_MAX)
        *recent = (recent_text){id, (uint32_t)(file->used - at), at};
}

static void write_other_cell(gt_file *file, written_cells *before, const gt_table *table,
                             const gt_column *column, size_t row)
{
    switch (column->type) {
    case GT_TYPE_STRING:
        write_string(file, before, table, column->texts[row]);
        return;
    case GT_TYPE_BOOL:
        if (gt_column_is_null(column, row)) return;
        gt_file_write(file, column->bools[row] ? "True" : "False", column->bools[row] ? 4 : 5);
        return;
    default:
        if (!gt_column_is_null(column, row)) write_list(file, table, column, row);
    }
}

/* Neighbouring cells with numbers from column `c` on, each with a comma after it, as far as they fit into the
 * room that there is for `columns` numbers. Returns the column after them. */
static size_t write_numbers(gt_file *file, last_number *numbers, const gt_table *table, size_t c, size_t row)
{
    enum { COLUMNS_AT_ONCE = 64 };
    size_t left = table->column_count - c, end = c + (left < COLUMNS_AT_ONCE ? left : COLUMNS_AT_ONCE);
    char *out = gt_file_room(file, COLUMNS_AT_ONCE * (GT_NUMBER_MAX + 1));
    for (; c < end; c++) {
        const gt_column *column = &table->columns[c];
        if (column->type == GT_TYPE_INT) {
            int64_t value = column->ints[row];
            bool is_null = column->nulls && column->nulls[row];
            if ((uint64_t)value < GT_SHORT_NUMBERS && !is_null) {
                out += gt_print_short(out, (uint32_t)value, ',');
                continue;
            }
            if (!is_null) out = write_int(out, &numbers[c], value);
        } else if (column->type == GT_TYPE_FLOAT) {
            if (!isnan(column->floats[row])) out = write_float(out, &numbers[c], column->floats[row]);
        } else {
            break;
        }
        *out++ = ',';
    }
    file->used = (size_t)(out - file->buffer);
    return c;
}

static bool is_empty(const gt_table *table, const gt_column *column, size_t row)
{
    return gt_column_is_null(column, row) ||
           (column->type == GT_TYPE_STRING && gt_interner_get(table->strings, column->texts[row]).len == 0);
}

void gt_csv_write_header(gt_file *file, const gt_table *table, const char *line_end)
{
    for (size_t c = 0; c < table->column_count; c++) {
        if (c > 0) gt_file_put(file, ',');
        const char *name = table->columns[c].name;
        write_text(file, (gt_str){name, strlen(name)});
    }
    /* A single empty field is written as "", so that the line is not taken for an empty line. */
    if (table->column_count == 1 && !*table->columns[0].name) gt_file_write(file, "\"\"", 2);
    gt_file_write(file, line_end, strlen(line_end));
}

void gt_csv_write_rows(gt_file *file, const gt_table *table, size_t begin, size_t end, const char *line_end)
{
    size_t end_len = strlen(line_end);
    bool is_single = table->column_count == 1;
    if (table->column_count == 0 || begin == end) return;
    written_cells before = {.numbers = gt_alloc_zero(table->column_count, sizeof *before.numbers)};
    for (size_t row = begin; row < end; row++) {
        for (size_t c = 0; c < table->column_count;) {
            const gt_column *column = &table->columns[c];
            if (column->type == GT_TYPE_INT || column->type == GT_TYPE_FLOAT) {
                c = write_numbers(file, before.numbers, table, c, row);
                continue;
            }
            write_other_cell(file, &before, table, column, row);
            gt_file_put(file, ',');
            c++;
        }
        if (end_len == 1 && !is_single) { /* instead of the last comma, which is still in the buffer */
            file->buffer[file->used - 1] = *line_end;
            continue;
        }
        file->used--;
        if (is_single && is_empty(table, &table->columns[0], row)) gt_file_write(file, "\"\"", 2);
        gt_file_write(file, line_end, end_len);
    }
    gt_free(before.numbers);
}

void gt_csv_write_lines(gt_file *file, const gt_table *table, const char *line_end)
{
    gt_csv_write_header(file, table, line_end);
    gt_csv_write_rows(file, table, 0, table->row_count, line_end);
}

void gt_csv_write_more_lines(gt_file *file, const gt_table *table, const char *line_end)
{
    gt_csv_write_rows(file, table, 0, table->row_count, line_end);
}
