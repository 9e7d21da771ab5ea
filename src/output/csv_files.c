/* The CSV files of a folder, one per sheet.
 *
 * Each sheet is cut into pieces of some rows, which all threads make and which are written in order
 * (gt_pieces of file.h). */
#include "output/csv.h"
#include "output/writers.h"

#include "base/guard.h"
#include "base/memory.h"
#include "base/team.h"
#include "output/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_NAME_CHARS = 200, PIECE_CELLS = 4096, PIECE_TEXT = 64 * 1024, WRITE_BLOCK = 64 * 1024 };

typedef struct sheet_file {
    const gt_table *table;
    gt_output *output;
    size_t number; /* of the file in the output */
    char *path;
    size_t rows_per_piece, piece_count;
    bool is_in_parts; /* rows are copied before they are written */
    int descriptor;   /* while pieces are written */
    int failure;      /* errno */
    gt_buffer rest;   /* of the text: not a whole block yet */
    bool is_missing;  /* it could not be created: `error` says why */
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
    sheet->descriptor = temporary ? open(temporary, O_WRONLY | O_CLOEXEC) : -1;
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
    gt_csv_write_rows(&slot->text, slot->rows, 0, end - begin, "\n");
}

static void make_text(const csv_job *j, const place *p, piece_slot *slot)
{
    const gt_table *table = p->sheet->table;
    gt_file *text = &slot->text;
    if (!text->buffer) gt_file_begin_memory(text, j->csv_safe);
    text->used = 0;
    size_t most = p->sheet->rows_per_piece, begin = p->number * most, left = table->row_count - begin;
    size_t end = begin + (left < most ? left : most);
    if (p->number == 0) gt_csv_write_header(text, table, "\n");
    if (p->sheet->is_in_parts)
        write_part(slot, table, most, begin, end);
    else
        gt_csv_write_rows(text, table, begin, end, "\n");
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
    if (gt_table_is_read_in_parts(table)) {
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
    while (dir_len > 1 && dir[dir_len - 1] == '/') dir_len--;
    sheet_file *sheet = &j->sheets[j->sheet_count];
    *sheet = (sheet_file){.table = table,
                          .output = output,
                          .path = gt_format("%.*s/%s.csv", (int)dir_len, dir, name),
                          .rows_per_piece = rows_per_piece(table),
                          .is_in_parts = gt_table_is_read_in_parts(table)};
    for (char *p = sheet->path + dir_len + 1; *p; p++)
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
    gt_free(j->sheets);
    gt_free(j->places);
    gt_free(j->singles);
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
    list_pieces(j);
    return (gt_document_writer){j, j->failed, run_job, end_job};
}
