/* CSV files as tables, in one pass over the text. Fields point into the text; only quoted fields are copied.
 */
#include "input/sheets/sheets.h"
#include "stream/stream.h"

typedef struct reader {
    const char *at, *end;
    size_t line;
    uint32_t row, fields; /* fields: the number in the header */
    gt_sheet_cells cells;
    gt_arena unquoted;
    gt_error *error;
} reader;

static bool ends_field(char byte)
{
    return byte == ',' || byte == '\n' || byte == '\r';
}

/* A field that begins with a quote: the quoted text, and what may follow the closing quote. */
static bool quoted_field(reader *r, gt_str *field)
{
    size_t first_line = r->line;
    gt_buffer text = {0};
    bool inside = true;
    r->at++;
    while (r->at < r->end && (inside || !ends_field(*r->at))) {
        char byte = *r->at++;
        r->line += byte == '\n';
        if (inside && byte == '"') {
            if (r->at < r->end && *r->at == '"')
                r->at++;
            else {
                inside = false;
                continue;
            }
        }
        gt_buffer_add(&text, &byte, 1);
    }
    *field = (gt_str){gt_arena_bytes(&r->unquoted, text.bytes ? text.bytes : "", text.len), text.len};
    gt_buffer_free(&text);
    return !inside || gt_fail(r->error, "line %zu: unterminated quote", first_line);
}

static bool next_field(reader *r, gt_str *field)
{
    if (r->at < r->end && *r->at == '"') return quoted_field(r, field);
    const char *begin = r->at;
    while (r->at < r->end && !ends_field(*r->at)) r->at++;
    *field = (gt_str){begin, (size_t)(r->at - begin)};
    return true;
}

static void end_line(reader *r)
{
    if (r->at < r->end && *r->at == '\r') r->at++;
    if (r->at < r->end && *r->at == '\n') r->at++;
    r->line++;
}

static bool read_line(reader *r)
{
    size_t line = r->line;
    uint32_t count = 0;
    for (;;) {
        gt_str field;
        if (!next_field(r, &field)) return false;
        if (r->row && count == r->fields)
            return gt_fail(r->error, "line %zu: more fields than the %" PRIu32 " in the first line", line,
                           r->fields);
        if (r->cells.reading == GT_READ_EXACT && field.len && *field.bytes == '\'' && gt_is_formula(field))
            field = (gt_str){field.bytes + 1, field.len - 1}; /* the mark of --csv_safe */
        gt_sheet_cells_add(&r->cells, r->row, count++, gt_sheet_cell_string(field.bytes, field.len));
        if (r->at == r->end || *r->at != ',') break;
        r->at++;
    }
    if (!r->row) r->fields = count;
    r->row++;
    end_line(r);
    return true;
}

static bool read_lines(reader *r)
{
    while (r->at < r->end) {
        if (*r->at == '\n' || *r->at == '\r')
            end_line(r);
        else if (r->row == UINT32_MAX - 1)
            return gt_fail(r->error, "line %zu: too many lines", r->line);
        else if (!read_line(r))
            return false;
    }
    return true;
}

gt_table *gt_csv_table_as(gt_str text, gt_sheet name, gt_cell_parsing reading, gt_interner *strings,
                          gt_error *error)
{
    reader r = {.at = text.bytes, .end = text.bytes + text.len, .line = 1, .error = error};
    r.cells.reading = reading;
    if (text.len >= 3 && !memcmp(text.bytes, "\xEF\xBB\xBF", 3)) r.at += 3;
    gt_table *table = read_lines(&r) ? gt_sheet_cells_table(&r.cells, name, strings, error) : NULL;
    gt_sheet_cells_free(&r.cells);
    gt_arena_free(&r.unquoted);
    return table;
}

gt_table *gt_csv_table(gt_str text, gt_sheet name, gt_interner *strings, gt_error *error)
{
    return gt_csv_table_as(text, name, GT_READ_EXACT, strings, error);
}

static bool read_all(gt_stream *stream, gt_buffer *text, gt_error *error)
{
    if (!gt_stream_read_all(stream, text, error)) return false;
    const char *damage = gt_stream_damage(stream);
    return !damage || gt_fail(error, "%s", damage);
}

gt_table *gt_csv_table_read_as(const char *path, gt_sheet name, gt_cell_parsing reading, gt_interner *strings,
                               gt_error *error)
{
    gt_stream *stream = gt_stream_open(path, error);
    if (!stream) return NULL;
    gt_buffer text = {0};
    gt_table *table = NULL;
    if (read_all(stream, &text, error))
        table = gt_csv_table_as(gt_buffer_str(&text), name, reading, strings, error);
    if (!table) gt_error_prefix(error, path);
    gt_buffer_free(&text);
    gt_stream_close(stream);
    return table;
}

gt_table *gt_csv_table_read(const char *path, gt_sheet name, gt_interner *strings, gt_error *error)
{
    return gt_csv_table_read_as(path, name, GT_READ_EXACT, strings, error);
}
