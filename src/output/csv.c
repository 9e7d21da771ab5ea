/* Tables as CSV, byte for byte as pandas' to_csv(index=False) writes them: numbers as Python's repr, nothing
 * for a null, True and False, lists as Python literals, and a field in quotes only if it contains a comma, a
 * quote or a line break. Differences: bytes that are not UTF-8 become U+FFFD because readers would reject the
 * file, and with --csv_safe text that a spreadsheet would take for a formula begins with '. */
#include "output/writers.h"

#include "base/guard.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/team.h"
#include "compat/python_repr.h"
#include "output/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_NAME_CHARS = 200, PIECE_CELLS = 4096, PIECE_TEXT = 64 * 1024 };

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
enum { RECENT_TEXTS = 64, RECENT_TEXT_MAX = 1024, NUMBER_COPY = 24 };

typedef struct last_number {
    uint64_t bits;
    uint8_t len; /* 0: none */
    char text[NUMBER_COPY];
} last_number;

typedef struct recent_text {
    uint32_t id, len; /* len 0: none */
    size_t at;        /* in the buffer of a file in memory */
} recent_text;

typedef struct written_cells {
    last_number *numbers; /* by column */
    recent_text texts[RECENT_TEXTS];
} written_cells;

static void keep_number(gt_file *file, last_number *last, uint64_t bits, size_t len)
{
    if (len <= NUMBER_COPY) {
        last->bits = bits;
        last->len = (uint8_t)len;
        memcpy(last->text, file->buffer + file->used, NUMBER_COPY);
    }
    file->used += len;
}

/* Whether the number is the last one again; it is written then. There is room for any number in any case. */
static inline bool write_again(gt_file *file, const last_number *last, uint64_t bits)
{
    char *room = gt_file_room(file, GT_NUMBER_MAX);
    if (last->bits != bits || !last->len) return false;
    memcpy(room, last->text, NUMBER_COPY);
    file->used += last->len;
    return true;
}

static inline void write_int(gt_file *file, last_number *last, int64_t value)
{
    uint64_t bits = (uint64_t)value;
    if (write_again(file, last, bits)) return;
    keep_number(file, last, bits, gt_print_int(file->buffer + file->used, value));
}

static inline void write_float(gt_file *file, last_number *last, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (write_again(file, last, bits)) return;
    keep_number(file, last, bits, gt_print_double(file->buffer + file->used, value));
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

static void write_cell(gt_file *file, written_cells *before, const gt_table *table, size_t c, size_t row)
{
    const gt_column *column = &table->columns[c];
    switch (column->type) {
    case GT_TYPE_INT:
        if (!column->nulls || !column->nulls[row]) write_int(file, &before->numbers[c], column->ints[row]);
        return;
    case GT_TYPE_FLOAT:
        if (!isnan(column->floats[row])) write_float(file, &before->numbers[c], column->floats[row]);
        return;
    case GT_TYPE_STRING:
        write_string(file, before, table, column->texts[row]);
        return;
    case GT_TYPE_BOOL:
        if (gt_column_is_null(column, row)) return;
        gt_file_write(file, column->bools[row] ? "True" : "False", column->bools[row] ? 4 : 5);
        return;
    case GT_TYPE_LIST:
        if (!gt_column_is_null(column, row)) write_list(file, table, column, row);
        return;
    }
}

static bool is_empty(const gt_table *table, const gt_column *column, size_t row)
{
    return gt_column_is_null(column, row) ||
           (column->type == GT_TYPE_STRING && gt_interner_get(table->strings, column->texts[row]).len == 0);
}

static void write_header(gt_file *file, const gt_table *table, const char *line_end)
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

static void write_rows(gt_file *file, const gt_table *table, size_t begin, size_t end, const char *line_end)
{
    size_t end_len = strlen(line_end);
    bool is_single = table->column_count == 1;
    if (table->column_count == 0 || begin == end) return;
    written_cells before = {.numbers = gt_alloc_zero(table->column_count, sizeof *before.numbers)};
    for (size_t row = begin; row < end; row++) {
        for (size_t c = 0; c < table->column_count; c++) {
            if (c > 0) gt_file_put(file, ',');
            write_cell(file, &before, table, c, row);
        }
        if (is_single && is_empty(table, &table->columns[0], row)) gt_file_write(file, "\"\"", 2);
        gt_file_write(file, line_end, end_len);
    }
    gt_free(before.numbers);
}

void gt_csv_write_lines(gt_file *file, const gt_table *table, const char *line_end)
{
    write_header(file, table, line_end);
    write_rows(file, table, 0, table->row_count, line_end);
}

void gt_csv_write_rows(gt_file *file, const gt_table *table, const char *line_end)
{
    write_rows(file, table, 0, table->row_count, line_end);
}

/* ---- the files of a folder: each sheet in pieces of some rows ---- */

typedef struct sheet_file {
    const gt_table *table;
    char *path;
    const char *temporary;
    size_t rows_per_piece, piece_count;
    int descriptor; /* while pieces are written */
    int failure;    /* errno */
} sheet_file;

typedef struct place {
    sheet_file *sheet;
    size_t number; /* of the piece in its sheet */
} place;

typedef struct csv_job {
    sheet_file *sheets;
    size_t sheet_count;
    place *places; /* by piece */
    size_t piece_count, piece_capacity;
    bool csv_safe;
    gt_error error; /* of a file that could not be created; those before it are written */
    bool failed;
} csv_job;

static void open_sheet(sheet_file *sheet)
{
    sheet->descriptor = open(sheet->temporary, O_WRONLY | O_CLOEXEC);
    if (sheet->descriptor < 0) {
        sheet->failure = errno;
        return;
    }
    gt_guard_add(gt_close_descriptor, gt_descriptor(sheet->descriptor));
}

static void close_sheet(sheet_file *sheet)
{
    if (sheet->descriptor < 0) return;
    gt_guard_remove(gt_descriptor(sheet->descriptor));
    if (close(sheet->descriptor) != 0 && !sheet->failure && errno != EINTR) sheet->failure = errno;
}

static void write_piece(const place *p, const gt_file *text)
{
    sheet_file *sheet = p->sheet;
    if (p->number == 0) open_sheet(sheet);
    if (!sheet->failure) sheet->failure = gt_write_fully(sheet->descriptor, text->buffer, text->used);
    if (p->number + 1 == sheet->piece_count) close_sheet(sheet);
}

/* A sheet of one piece is also written here: several files at the same time. */
static void make_piece(void *context, size_t index, void *slot)
{
    const csv_job *j = context;
    const place *p = &j->places[index];
    const gt_table *table = p->sheet->table;
    gt_file *text = slot;
    if (!text->buffer) gt_file_begin_memory(text, j->csv_safe);
    text->used = 0;
    size_t begin = p->number * p->sheet->rows_per_piece, left = table->row_count - begin;
    if (p->number == 0) write_header(text, table, "\n");
    write_rows(text, table, begin,
               begin + (left < p->sheet->rows_per_piece ? left : p->sheet->rows_per_piece), "\n");
    if (p->sheet->piece_count == 1) write_piece(p, text);
}

static void take_piece(void *context, size_t index, const void *slot)
{
    const csv_job *j = context;
    if (j->places[index].sheet->piece_count > 1) write_piece(&j->places[index], slot);
}

static void end_slot(void *slot)
{
    gt_file_end_memory(slot);
}

/* Texts of some rows of the sheet, in bytes per row. */
static size_t text_per_row(const gt_table *table)
{
    enum { ROWS_LOOKED_AT = 64 };
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
    while (dir_len > 1 && dir[dir_len - 1] == '/') dir_len--;
    sheet_file *sheet = &j->sheets[j->sheet_count];
    *sheet = (sheet_file){.table = table,
                          .path = gt_format("%.*s/%s.csv", (int)dir_len, dir, name),
                          .rows_per_piece = rows_per_piece(table)};
    for (char *p = sheet->path + dir_len + 1; *p; p++)
        if (*p == '/') *p = '_';
    sheet->temporary = gt_output_add_file(output, sheet->path, &j->error);
    if (!sheet->temporary) {
        gt_free(sheet->path);
        return false;
    }
    j->sheet_count++;
    sheet->piece_count = table->row_count ? gt_range_count(table->row_count, sheet->rows_per_piece) : 1;
    for (size_t i = 0; i < sheet->piece_count; i++)
        GT_PUSH(j->places, j->piece_count, j->piece_capacity, ((place){sheet, i}));
    return true;
}

static void run_job(void *state)
{
    csv_job *j = state;
    gt_pieces_run(&(gt_pieces){.count = j->piece_count,
                               .slot_size = sizeof(gt_file),
                               .make = make_piece,
                               .take = take_piece,
                               .end = end_slot,
                               .context = j});
}

static bool end_job(void *state, gt_error *error)
{
    csv_job *j = state;
    bool ok = true;
    gt_error ignored;
    if (!error) error = &ignored;
    for (size_t i = 0; i < j->sheet_count; i++) {
        if (ok && j->sheets[i].failure) ok = gt_fail_writing(error, j->sheets[i].path, j->sheets[i].failure);
        gt_free(j->sheets[i].path);
    }
    if (ok && j->failed) {
        *error = j->error;
        ok = false;
    }
    gt_free(j->sheets);
    gt_free(j->places);
    gt_free(j);
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
    j->failed = !gt_output_add_folder(output, dir, &j->error);
    for (size_t i = 0; i < count && !j->failed; i++)
        j->failed = !begin_sheet(j, output, dir, gt_name_set_add(&names, tables[i]->name, FILE_NAME_CHARS),
                                 tables[i]);
    gt_name_set_free(&names);
    return (gt_document_writer){j, j->failed, run_job, end_job};
}
