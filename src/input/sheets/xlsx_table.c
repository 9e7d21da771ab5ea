/* Excel workbooks. A workbook is a zip archive of XML files, its parts: workbook.xml lists the sheets, its
 * .rels file says which part each sheet is, and sharedStrings.xml has the strings that cells refer to by
 * number. A sheet is parsed only when it is asked for. Limits on cells and strings bound the memory, whatever
 * a part contains. */
#include "input/sheets/sheets.h"
#include "input/sheets/xml_parts.h"

#define WORKBOOK_PART  "xl/workbook.xml"
#define RELATIONS_PART "xl/_rels/workbook.xml.rels"
#define STRINGS_PART   "xl/sharedStrings.xml"

enum { EXCEL_ROWS = 1048576, EXCEL_COLUMNS = 16384, SHEETS_MAX = 10000, CELLS_MAX = 64 << 20 };
static const size_t text_bytes_max = (size_t)1 << 30; /* of the shared strings, and of one sheet's own */
/* The cells of a sheet may refer to this many bytes of shared strings, and to this many per byte of the file.
 */
enum { SHARED_AT_LEAST = 256 << 20, SHARED_PER_BYTE = 100 };

typedef struct sheet {
    char *name, *relation, *part; /* part: NULL if the .rels file does not name it */
} sheet;

/* Strings that are each assembled from pieces: <si><r><t>a</t></r><r><t>b</t></r></si>. */
typedef struct string_pool {
    gt_arena arena;
    size_t bytes;
    gt_buffer now; /* the string being read */
} string_pool;

struct gt_workbook {
    gt_archive *archive;
    sheet *sheets;
    size_t sheet_count, sheet_capacity;
    bool has_shared; /* the shared strings have been read */
    gt_str *shared;
    size_t shared_count, shared_capacity;
    string_pool texts;
};

static bool ignore_text(void *context, const char *bytes, size_t len, gt_error *error)
{
    (void)context, (void)bytes, (void)len, (void)error;
    return true;
}

static bool ignore_end(void *context, const char *element, gt_error *error)
{
    (void)context, (void)element, (void)error;
    return true;
}

/* ---- strings ---- */

static bool strings_add(string_pool *t, const char *bytes, size_t len, gt_error *error)
{
    if (t->bytes + t->now.len + len > text_bytes_max)
        return gt_fail(error, "more than %zu bytes of strings", text_bytes_max);
    gt_buffer_add(&t->now, bytes, len);
    return true;
}

static int hex_digit(char byte)
{
    return byte >= '0' && byte <= '9'      ? byte - '0'
           : isxdigit((unsigned char)byte) ? tolower(byte) - 'a' + 10
                                           : -1;
}

/* The character of the escape "_x000D_" at the start of the bytes; -1 if there is none. */
static int escaped_at(const char *bytes, size_t len)
{
    int code = 0;
    if (len < 7 || bytes[0] != '_' || bytes[1] != 'x' || bytes[6] != '_') return -1;
    for (int i = 2; i < 6; i++) {
        int digit = hex_digit(bytes[i]);
        if (digit < 0) return -1;
        code = code * 16 + digit;
    }
    return code;
}

/* Ends the string being read: resolves Excel's escapes and stores it. */
static gt_str strings_end(string_pool *t)
{
    gt_buffer *now = &t->now;
    size_t out = 0;
    gt_buffer piece = {0};
    for (size_t i = 0; i < now->len;) {
        int code = escaped_at(now->bytes + i, now->len - i);
        if (code < 0) {
            now->bytes[out++] = now->bytes[i++];
            continue;
        }
        piece.len = 0;
        if (code >= 0xD800 && code <= 0xDFFF) code = GT_REPLACEMENT; /* half of a surrogate pair */
        gt_buffer_add_code_point(&piece, (uint32_t)code);            /* at most 3 bytes, the escape has 7 */
        memcpy(now->bytes + out, piece.bytes, piece.len);
        out += piece.len;
        i += 7;
    }
    gt_buffer_free(&piece);
    gt_str kept = {gt_arena_bytes(&t->arena, now->bytes ? now->bytes : "", out), out};
    t->bytes += out;
    now->len = 0;
    return kept;
}

static void strings_free(string_pool *t)
{
    gt_arena_free(&t->arena);
    gt_buffer_free(&t->now);
}

typedef struct shared_reader {
    gt_workbook *book;
    bool in_text, in_phonetic;
} shared_reader;

static bool shared_begin(void *context, const char *element, const char **attributes, gt_error *error)
{
    shared_reader *r = context;
    (void)attributes, (void)error;
    if (!strcmp(element, "si")) r->book->texts.now.len = 0;
    if (!strcmp(element, "rPh")) r->in_phonetic = true;
    if (!strcmp(element, "t")) r->in_text = !r->in_phonetic;
    return true;
}

static bool shared_end(void *context, const char *element, gt_error *error)
{
    shared_reader *r = context;
    gt_workbook *book = r->book;
    if (!strcmp(element, "rPh")) r->in_phonetic = false;
    if (!strcmp(element, "t")) r->in_text = false;
    if (strcmp(element, "si") != 0) return true;
    if (book->shared_count == CELLS_MAX) return gt_fail(error, "more than %d strings", CELLS_MAX);
    GT_PUSH(book->shared, book->shared_count, book->shared_capacity, strings_end(&book->texts));
    return true;
}

static bool shared_text(void *context, const char *bytes, size_t len, gt_error *error)
{
    shared_reader *r = context;
    return !r->in_text || strings_add(&r->book->texts, bytes, len, error);
}

static bool read_shared(gt_workbook *book, gt_error *error)
{
    shared_reader context = {.book = book};
    gt_xml_reader reader = {&context, shared_begin, shared_end, shared_text};
    if (book->has_shared || !gt_archive_has(book->archive, STRINGS_PART)) return true;
    book->has_shared = gt_archive_read(book->archive, STRINGS_PART, &reader, error);
    return book->has_shared;
}

/* ---- the sheets of a workbook ---- */

static bool book_begin(void *context, const char *element, const char **attributes, gt_error *error)
{
    gt_workbook *book = context;
    const char *name = gt_xml_attribute(attributes, "name"), *relation = gt_xml_attribute(attributes, "id");
    if (strcmp(element, "sheet") != 0 || !name || !relation) return true;
    if (book->sheet_count == SHEETS_MAX) return gt_fail(error, "more than %d sheets", SHEETS_MAX);
    sheet found = {gt_strdup(name), gt_strdup(relation), NULL};
    GT_PUSH(book->sheets, book->sheet_count, book->sheet_capacity, found);
    return true;
}

/* Targets are paths from the archive's root ("/xl/worksheets/sheet1.xml") or from its folder xl. */
static bool relation_begin(void *context, const char *element, const char **attributes, gt_error *error)
{
    gt_workbook *book = context;
    const char *id = gt_xml_attribute(attributes, "Id"), *target = gt_xml_attribute(attributes, "Target");
    (void)error;
    if (strcmp(element, "Relationship") != 0 || !id || !target) return true;
    for (size_t i = 0; i < book->sheet_count; i++)
        if (!book->sheets[i].part && !strcmp(book->sheets[i].relation, id))
            book->sheets[i].part = *target == '/' ? gt_strdup(target + 1) : gt_format("xl/%s", target);
    return true;
}

static gt_workbook *workbook_of(gt_archive *archive, gt_error *error)
{
    if (!archive) return NULL;
    gt_workbook *book = gt_alloc_zero(1, sizeof *book);
    book->archive = archive;
    gt_xml_reader names = {book, book_begin, ignore_end, ignore_text};
    gt_xml_reader relations = {book, relation_begin, ignore_end, ignore_text};
    if (gt_archive_read(archive, WORKBOOK_PART, &names, error) &&
        gt_archive_read(archive, RELATIONS_PART, &relations, error))
        return book;
    gt_workbook_close(book);
    return NULL;
}

gt_workbook *gt_workbook_open(const char *path, gt_error *error)
{
    gt_workbook *book = workbook_of(gt_archive_open(path, error), error);
    if (!book) gt_error_prefix(error, path);
    return book;
}

gt_workbook *gt_workbook_memory(const void *bytes, size_t len, gt_error *error)
{
    return workbook_of(gt_archive_memory(bytes, len, error), error);
}

void gt_workbook_close(gt_workbook *book)
{
    if (!book) return;
    gt_archive_close(book->archive);
    for (size_t i = 0; i < book->sheet_count; i++) {
        gt_free_all(book->sheets[i].name, book->sheets[i].relation, book->sheets[i].part);
    }
    gt_free_all(book->sheets, book->shared);
    strings_free(&book->texts);
    gt_free(book);
}

size_t gt_workbook_sheet_count(const gt_workbook *book)
{
    return book->sheet_count;
}

const char *gt_workbook_sheet_name(const gt_workbook *book, size_t index)
{
    return book->sheets[index].name;
}

/* ---- the cells of a sheet ---- */

typedef enum cell_type { TYPE_NUMBER, TYPE_SHARED, TYPE_OWN_STRING, TYPE_BOOL, TYPE_ERROR } cell_type;

static const struct {
    const char *name;
    cell_type type;
} cell_types[] = {
    {"n", TYPE_NUMBER}, {"s", TYPE_SHARED}, {"inlineStr", TYPE_OWN_STRING}, {"str", TYPE_OWN_STRING},
    {"b", TYPE_BOOL},   {"e", TYPE_ERROR},  {"d", TYPE_OWN_STRING}, /* a date, as written */
};

typedef struct sheet_reader {
    gt_workbook *book;
    gt_sheet_cells cells;
    string_pool texts;
    size_t shared_bytes;  /* of the strings that its cells refer to */
    uint32_t row, column; /* of the cell being read; from 0 */
    uint32_t next_row, next_column;
    cell_type type;
    bool in_value, in_phonetic;
} sheet_reader;

/* Parses "AB12": the column as letters, A to XFD, and the row from 1. A row's reference has no letters: "12".
 */
static bool parse_reference(const char *reference, uint32_t *row, uint32_t *column, gt_error *error)
{
    const char *at = reference;
    uint32_t letters = 0, number = 0;
    for (; isalpha((unsigned char)*at) && letters <= EXCEL_COLUMNS; at++)
        letters = letters * 26 + (uint32_t)(toupper((unsigned char)*at) - 'A' + 1);
    for (; isdigit((unsigned char)*at) && number <= EXCEL_ROWS; at++)
        number = number * 10 + (uint32_t)(*at - '0');
    if (*at || letters > EXCEL_COLUMNS || number < 1 || number > EXCEL_ROWS)
        return gt_fail(error, "invalid cell reference '%.40s'", reference);
    *row = number - 1;
    if (letters) *column = letters - 1;
    return true;
}

static bool begin_cell(sheet_reader *r, const char **attributes, gt_error *error)
{
    const char *reference = gt_xml_attribute(attributes, "r"), *type = gt_xml_attribute(attributes, "t");
    r->column = r->next_column;
    if (reference && !parse_reference(reference, &r->row, &r->column, error)) return false;
    if (r->column >= EXCEL_COLUMNS) return gt_fail(error, "more than %d columns", EXCEL_COLUMNS);
    r->next_column = r->column + 1;
    r->type = TYPE_NUMBER;
    for (size_t i = 0; type && i < GT_LENGTH(cell_types); i++)
        if (!strcmp(cell_types[i].name, type)) r->type = cell_types[i].type;
    r->texts.now.len = 0;
    return true;
}

static bool begin_row(sheet_reader *r, const char **attributes, gt_error *error)
{
    const char *reference = gt_xml_attribute(attributes, "r");
    uint32_t column = 0;
    r->row = r->next_row;
    if (reference && !parse_reference(reference, &r->row, &column, error)) return false;
    if (r->row >= EXCEL_ROWS) return gt_fail(error, "more than %d rows", EXCEL_ROWS);
    r->next_row = r->row + 1;
    r->next_column = 0;
    return true;
}

static bool sheet_begin(void *context, const char *element, const char **attributes, gt_error *error)
{
    sheet_reader *r = context;
    if (!strcmp(element, "row")) return begin_row(r, attributes, error);
    if (!strcmp(element, "c")) return begin_cell(r, attributes, error);
    if (!strcmp(element, "rPh")) r->in_phonetic = true;
    if (!strcmp(element, "v") || !strcmp(element, "t")) r->in_value = !r->in_phonetic;
    return true;
}

static bool shared_cell(sheet_reader *r, gt_sheet_cell *cell, gt_error *error)
{
    char *end;
    const char *number = gt_buffer_str(&r->texts.now).bytes;
    unsigned long long index = strtoull(number, &end, 10);
    if (*end || index >= r->book->shared_count)
        return gt_fail(error, "cell refers to string '%.40s' of %zu", number, r->book->shared_count);
    r->shared_bytes += r->book->shared[index].len;
    if (r->shared_bytes > SHARED_AT_LEAST + gt_archive_bytes(r->book->archive) * SHARED_PER_BYTE)
        return gt_fail(error, "its cells have more than %zu bytes of strings", r->shared_bytes);
    *cell = gt_sheet_cell_string(r->book->shared[index].bytes, r->book->shared[index].len);
    return true;
}

static bool end_cell(sheet_reader *r, gt_error *error)
{
    gt_sheet_cell cell = {.kind = GT_CELL_MISSING};
    if (!r->texts.now.len) return true;
    switch (r->type) {
    case TYPE_ERROR:
        break;
    case TYPE_BOOL:
        cell = gt_sheet_cell_bool(r->texts.now.bytes[0] == '1');
        break;
    case TYPE_SHARED:
        if (!shared_cell(r, &cell, error)) return false;
        break;
    case TYPE_OWN_STRING: {
        gt_str text = strings_end(&r->texts);
        cell = gt_sheet_cell_string(text.bytes, text.len);
        break;
    }
    case TYPE_NUMBER: {
        char *end;
        double number = strtod(gt_buffer_str(&r->texts.now).bytes, &end);
        if (*end) return gt_fail(error, "cell value '%.40s' is not a number", r->texts.now.bytes);
        cell = gt_sheet_cell_number(number);
        cell.is_real = strpbrk(r->texts.now.bytes, ".eE") != NULL;
        break;
    }
    }
    if (r->cells.count == CELLS_MAX) return gt_fail(error, "more than %d cells", CELLS_MAX);
    if (cell.kind != GT_CELL_MISSING) gt_sheet_cells_add(&r->cells, r->row, r->column, cell);
    return true;
}

static bool sheet_end(void *context, const char *element, gt_error *error)
{
    sheet_reader *r = context;
    if (!strcmp(element, "rPh")) r->in_phonetic = false;
    if (!strcmp(element, "v") || !strcmp(element, "t")) r->in_value = false;
    return strcmp(element, "c") != 0 || end_cell(r, error);
}

static bool sheet_text(void *context, const char *bytes, size_t len, gt_error *error)
{
    sheet_reader *r = context;
    return !r->in_value || strings_add(&r->texts, bytes, len, error);
}

static bool read_cells(gt_workbook *book, size_t index, sheet_reader *into, gt_error *error)
{
    const sheet *wanted = &book->sheets[index];
    gt_xml_reader reader = {into, sheet_begin, sheet_end, sheet_text};
    *into = (sheet_reader){.book = book};
    if (!wanted->part) return gt_fail(error, "sheet %.200s: not found in the workbook", wanted->name);
    return read_shared(book, error) && gt_archive_read(book->archive, wanted->part, &reader, error);
}

gt_table *gt_workbook_table(gt_workbook *book, size_t index, gt_interner *strings, gt_error *error)
{
    sheet_reader reader;
    gt_table *table = NULL;
    if (read_cells(book, index, &reader, error))
        table = gt_sheet_cells_table(&reader.cells, gt_sheet_named(book->sheets[index].name), strings, error);
    gt_sheet_cells_free(&reader.cells);
    strings_free(&reader.texts);
    return table;
}

bool gt_workbook_grid(gt_workbook *book, size_t index, gt_sheet_grid *grid, gt_error *error)
{
    sheet_reader reader;
    const gt_sheet_cells *cells = &reader.cells;
    *grid = (gt_sheet_grid){0};
    bool read = read_cells(book, index, &reader, error) && gt_sheet_cells_check_density(cells, error);
    if (read) {
        *grid = (gt_sheet_grid){.rows = cells->rows, .columns = cells->columns, .texts = reader.texts.arena};
        reader.texts.arena = (gt_arena){0};
        grid->cells = gt_alloc_zero((size_t)cells->rows * cells->columns, sizeof *grid->cells);
        for (size_t i = 0; i < cells->count; i++)
            grid->cells[(size_t)cells->items[i].row * cells->columns + cells->items[i].column] =
                cells->items[i].cell;
    }
    gt_sheet_cells_free(&reader.cells);
    strings_free(&reader.texts);
    return read;
}

void gt_sheet_grid_free(gt_sheet_grid *grid)
{
    gt_free(grid->cells);
    gt_arena_free(&grid->texts);
    *grid = (gt_sheet_grid){0};
}
