/* The CSV files of a folder, one per sheet, byte for byte as pandas' to_csv(index=False) writes them: numbers
 * as Python's repr, nothing for a null, True and False, lists as Python literals, and a field in quotes only
 * if it contains a comma, a quote or a line break. Differences: bytes that are not UTF-8 become U+FFFD
 * because readers would reject the file, and with --csv_safe text that a spreadsheet would take for a formula
 * begins with '.
 *
 * Each sheet is cut into pieces of some rows, which all threads make and which are written in order
 * (gt_pieces of file.h). */
#include "base/guard.h"
#include "base/team.h"
#include "compat/python_repr.h"
#include "os/own.h"
#include "output/text.h"
#include "output/writers.h"

#include <fcntl.h>
#include <unistd.h>

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

static void write_as_is(gt_file *file, gt_str text)
{
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

static void write_text(gt_file *file, gt_str text)
{
    if (file->csv_safe && gt_is_formula(text)) {
        gt_buffer marked = {0};
        gt_buffer_add_cstr(&marked, "'");
        gt_buffer_add(&marked, text.bytes, text.len);
        write_as_is(file, gt_buffer_str(&marked));
        gt_buffer_free(&marked);
    } else {
        write_as_is(file, text);
    }
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

static void csv_write_header(gt_file *file, const gt_table *table, const char *line_end)
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

/* The rows [begin, end). */
static void csv_write_rows(gt_file *file, const gt_table *table, size_t begin, size_t end,
                           const char *line_end)
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
    csv_write_header(file, table, line_end);
    csv_write_rows(file, table, 0, table->row_count, line_end);
}

void gt_csv_write_more_lines(gt_file *file, const gt_table *table, const char *line_end)
{
    csv_write_rows(file, table, 0, table->row_count, line_end);
}

enum { FILE_NAME_CHARS = 200, PIECE_CELLS = 4096, PIECE_TEXT = 64 * 1024, WRITE_BLOCK = 64 * 1024 };

typedef struct sheet_file {
    const gt_table *table;
    gt_output *output;
    size_t number; /* of the file in the output */
    char *path;
    size_t rows_per_piece, piece_count;
    int descriptor;  /* while pieces are written */
    int failure;     /* errno */
    gt_buffer rest;  /* of the text: not a whole block yet */
    bool is_missing; /* it could not be created: `error` says why */
    gt_error error;
} sheet_file;

typedef struct place {
    sheet_file *sheet;
    size_t number; /* of the piece in its sheet */
} place;

typedef struct csv_job {
    sheet_file *sheets;
    size_t sheet_count;
    place *places; /* by piece of a sheet that has several */
    size_t piece_count, piece_capacity;
    place *singles; /* the only pieces of the others */
    size_t single_count;
    bool csv_safe;
    gt_error error; /* of a file that could not be created; those before it are written */
    bool failed;
} csv_job;

/* Creating a file takes as long as writing hundreds of lines, so it is done while others make pieces. */
static void open_sheet(sheet_file *sheet)
{
    const char *temporary = gt_output_create_file(sheet->output, sheet->number, &sheet->error);
    sheet->is_missing = !temporary;
    sheet->descriptor = temporary ? gt_own_reopen(temporary, O_WRONLY) : -1;
    if (sheet->descriptor < 0) {
        sheet->failure = errno ? errno : EIO;
        return;
    }
    gt_guard_add(gt_close_descriptor, gt_descriptor(sheet->descriptor));
}

static void close_sheet(sheet_file *sheet)
{
    gt_buffer_free(&sheet->rest);
    if (sheet->descriptor < 0) return;
    gt_guard_remove(gt_descriptor(sheet->descriptor));
    if (close(sheet->descriptor) != 0 && !sheet->failure && errno != EINTR) sheet->failure = errno;
}

/* Writes whole blocks of the file and keeps the rest for the next piece: writes that begin or end inside of a
 * block take nearly twice the time. */
static void write_blocks(sheet_file *sheet, const char *text, size_t len, bool is_last)
{
    size_t all = sheet->rest.len + len, whole = is_last ? all : all - all % WRITE_BLOCK;
    if (sheet->failure) return;
    if (whole) {
        size_t taken = whole - sheet->rest.len;
        sheet->failure = gt_write_both(sheet->descriptor, gt_buffer_str(&sheet->rest), (gt_str){text, taken});
        sheet->rest.len = 0;
        text += taken;
        len -= taken;
    }
    if (is_last) return;
    if (!sheet->rest.bytes) gt_buffer_reserve(&sheet->rest, WRITE_BLOCK + 1); /* it never has more */
    gt_buffer_add(&sheet->rest, text, len);
}

static void write_piece(const place *p, const gt_file *text)
{
    sheet_file *sheet = p->sheet;
    bool is_last = p->number + 1 == sheet->piece_count;
    if (p->number == 0) open_sheet(sheet);
    write_blocks(sheet, text->buffer, text->used, is_last);
    if (is_last) close_sheet(sheet);
}

/* What a slot has: the text of a piece, and its rows if the table is read in parts. */
typedef struct piece_slot {
    gt_file text;
    gt_table *rows;          /* NULL: none */
    const gt_table *rows_of; /* the table */
} piece_slot;

static void write_part(piece_slot *slot, const gt_table *table, size_t most, size_t begin, size_t end)
{
    if (slot->rows_of != table) {
        gt_table_free(slot->rows);
        slot->rows = gt_table_new_part(table, most);
        slot->rows_of = table;
    }
    gt_table_read_part(table, begin, end, slot->rows);
    csv_write_rows(&slot->text, slot->rows, 0, end - begin, "\n");
}

static void make_text(const csv_job *j, const place *p, piece_slot *slot)
{
    const gt_table *table = p->sheet->table;
    gt_file *text = &slot->text;
    if (!text->buffer) gt_file_begin_memory(text, j->csv_safe);
    text->used = 0;
    size_t most = p->sheet->rows_per_piece, begin = p->number * most, left = table->row_count - begin;
    size_t end = begin + (left < most ? left : most);
    if (p->number == 0) csv_write_header(text, table, "\n");
    if (table->source)
        write_part(slot, table, most, begin, end);
    else
        csv_write_rows(text, table, begin, end, "\n");
}

static void make_piece(void *context, size_t index, void *slot)
{
    const csv_job *j = context;
    make_text(j, &j->places[index], slot);
}

static void take_piece(void *context, size_t index, const void *slot)
{
    const csv_job *j = context;
    write_piece(&j->places[index], &((const piece_slot *)slot)->text);
}

/* Several files are written at the same time. */
static void make_single(void *context, size_t index, void *slot)
{
    const csv_job *j = context;
    make_text(j, &j->singles[index], slot);
    write_piece(&j->singles[index], &((const piece_slot *)slot)->text);
}

static void end_slot(void *argument)
{
    piece_slot *slot = argument;
    gt_file_end_memory(&slot->text);
    gt_table_free(slot->rows);
}

/* Texts of some rows of the sheet, in bytes per row. */
static size_t text_per_row(const gt_table *table)
{
    enum { ROWS_LOOKED_AT = 64 };
    if (table->source) {
        size_t count = table->row_count < ROWS_LOOKED_AT ? table->row_count : ROWS_LOOKED_AT;
        gt_table *first = gt_table_new_part(table, count);
        gt_table_read_part(table, 0, count, first);
        size_t text = text_per_row(first);
        gt_table_free(first);
        return text;
    }
    size_t step = table->row_count / ROWS_LOOKED_AT + 1, rows = 0, bytes = 0;
    for (size_t row = 0; row < table->row_count; row += step, rows++)
        for (size_t c = 0; c < table->column_count; c++)
            if (table->columns[c].type == GT_TYPE_STRING)
                bytes += gt_interner_get(table->strings, table->columns[c].texts[row]).len;
    return rows ? bytes / rows : 0;
}

/* Pieces are in memory, several per thread; the list of the ranks of a process group can be as long as all
 * other cells of a hundred rows. */
static size_t rows_per_piece(const gt_table *table)
{
    size_t rows = gt_rows_per_piece(table->column_count, PIECE_CELLS), text = text_per_row(table);
    size_t most = text < PIECE_TEXT ? PIECE_TEXT / (text + 1) : 0;
    return rows < most ? rows : most ? most : 1;
}

static bool begin_sheet(csv_job *j, gt_output *output, const char *dir, const char *name,
                        const gt_table *table)
{
    size_t dir_len = strlen(dir);
    bool is_sent = gt_output_is_sent(dir);
    while (dir_len > 1 && dir[dir_len - 1] == '/') dir_len--;
    sheet_file *sheet = &j->sheets[j->sheet_count];
    *sheet =
        (sheet_file){.table = table,
                     .output = output,
                     .path = is_sent ? gt_strdup(dir) : gt_format("%.*s/%s.csv", (int)dir_len, dir, name),
                     .rows_per_piece = rows_per_piece(table)};
    for (char *p = sheet->path + dir_len + !is_sent; *p; p++)
        if (*p == '/') *p = '_';
    sheet->number = gt_output_plan_file(output, sheet->path, &j->error);
    if (sheet->number == SIZE_MAX) {
        gt_free(sheet->path);
        return false;
    }
    j->sheet_count++;
    sheet->piece_count = table->row_count ? gt_range_count(table->row_count, sheet->rows_per_piece) : 1;
    return true;
}

/* Lists the pieces of long sheets, and the sheets of one piece. */
static void list_pieces(csv_job *j)
{
    j->singles = gt_alloc(j->sheet_count * sizeof *j->singles);
    for (size_t i = 0; i < j->sheet_count; i++) {
        sheet_file *sheet = &j->sheets[i];
        if (sheet->piece_count == 1) j->singles[j->single_count++] = (place){sheet, 0};
        for (size_t number = 0; sheet->piece_count > 1 && number < sheet->piece_count; number++)
            GT_PUSH(j->places, j->piece_count, j->piece_capacity, ((place){sheet, number}));
    }
}

static void run_job(void *state)
{
    csv_job *j = state;
    gt_pieces_run(&(gt_pieces){.count = j->piece_count,
                               .slot_size = sizeof(piece_slot),
                               .make = make_piece,
                               .take = take_piece,
                               .end = end_slot,
                               .context = j,
                               .other_count = j->single_count,
                               .make_other = make_single});
}

static bool end_job(void *state, gt_error *error)
{
    csv_job *j = state;
    bool ok = true;
    gt_error ignored;
    if (!error) error = &ignored;
    for (size_t i = 0; i < j->sheet_count; i++) {
        const sheet_file *sheet = &j->sheets[i];
        if (ok && sheet->is_missing) *error = sheet->error;
        if (ok && !sheet->is_missing && sheet->failure) gt_fail_writing(error, sheet->path, sheet->failure);
        ok = ok && !sheet->failure;
        gt_free(j->sheets[i].path);
        gt_buffer_free(&j->sheets[i].rest);
    }
    if (ok && j->failed) {
        *error = j->error;
        ok = false;
    }
    gt_free_all(j->sheets, j->places, j->singles, j);
    return ok;
}

gt_document_writer gt_csv_writer_begin(gt_output *output, const gt_document *document,
                                       gt_table *const *tables, size_t count)
{
    csv_job *j = gt_alloc_zero(1, sizeof *j);
    j->csv_safe = gt_output_is_csv_safe(output);
    j->sheets = gt_alloc_zero(count, sizeof *j->sheets);
    gt_name_set names = {0};
    const char *dir = *document->path ? document->path : ".";
    j->failed = !gt_output_is_sent(dir) && !gt_output_add_folder(output, dir, &j->error);
    for (size_t i = 0; i < count && !j->failed; i++)
        j->failed = !begin_sheet(j, output, dir, gt_name_set_add(&names, tables[i]->name, FILE_NAME_CHARS),
                                 tables[i]);
    gt_name_set_free(&names);
    list_pieces(j);
    return (gt_document_writer){j, j->failed, run_job, end_job};
}
