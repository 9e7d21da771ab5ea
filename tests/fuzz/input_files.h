/* For targets that run a command: makes the files that the command reads from one input.
 *
 * An input is the words of the command line, one per line, and then files, each after a line "@@@ KIND NAME":
 *
 *     compare
 *     a
 *     b.xlsx
 *     @@@ file a/gpu_timeline.csv
 *     type,time ms
 *     busy_time,1.5
 *     @@@ xlsx b.xlsx
 *     [gpu_timeline]
 *     type<TAB>time ms
 *     busy_time<TAB>1.5
 *
 * KIND says how the bytes become a file, so that changes to them get through checksums and page layouts:
 *
 *     file    the bytes themselves
 *     gz      compressed with gzip
 *     xlsx    a workbook: each "[name]" begins a sheet, a line is a row, tabs separate cells
 *     db      an SQLite database: each "[name]" begins a table, whose first line names the columns
 *     part    a partial as this build writes it: a line with its key, then sections (image_sections.h)
 *
 * The name of a partial is that of its folder and, after a space, that of its trace, which comes before it.
 *
 * In workbooks and databases, \t, \n and \\ stand for characters of a cell, an empty cell is absent, and a
 * cell is a number if it reads as one; ' before a cell makes it text, # before it a blob. A column of a table
 * that ends with ! is its primary key. */
#ifndef GT_FUZZ_INPUT_FILES_H
#define GT_FUZZ_INPUT_FILES_H

#include "base/buffer.h"
#include "procs/folder.h"
#include "procs/part.h"
#include "image_sections.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zip.h>
#include <zlib.h>

enum {
    FILES_MAX = 64,
    TABLES_MAX = 64,
    CELLS_MAX = 128,
    ROWS_MAX = 4096,
    WORDS_MAX = 48,
    NAME_MAX_LEN = 200
};

/* The text up to the separator, which is skipped, or to the end. */
static gt_str take_until(gt_str *rest, char separator)
{
    const char *end = rest->len ? memchr(rest->bytes, separator, rest->len) : NULL;
    gt_str part = {rest->bytes, end ? (size_t)(end - rest->bytes) : rest->len};
    rest->bytes += part.len + (end != NULL);
    rest->len -= part.len + (end != NULL);
    return part;
}

/* A relative path that stays in the folder. */
static bool is_inside(const char *path)
{
    return *path && *path != '/' && !strstr(path, "..");
}

static void write_bytes(const char *path, const void *bytes, size_t len)
{
    FILE *file = fopen(path, "wb");
    if (!file) return; /* the name of a folder, or one that is too long */
    if (fwrite(bytes, 1, len, file) != len) abort();
    fclose(file);
}

static void write_gzip(const char *path, gt_str text)
{
    gzFile file = gzopen(path, "wb1");
    if (!file) return;
    if (text.len) gzwrite(file, text.bytes, (unsigned)text.len);
    gzclose(file);
}

/* ---- cells ---- */

typedef enum cell_kind { CELL_ABSENT, CELL_INT, CELL_REAL, CELL_TEXT, CELL_BLOB } cell_kind;

typedef struct cell {
    cell_kind kind;
    int64_t integer;
    double real;
    gt_buffer text; /* without escapes; for reuse by the next cell */
} cell;

static void unescape(gt_str text, gt_buffer *out)
{
    out->len = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.bytes[i];
        if (c == '\\' && i + 1 < text.len) {
            c = text.bytes[++i];
            c = c == 't' ? '\t' : c == 'n' ? '\n' : c;
        }
        gt_buffer_add(out, &c, 1);
    }
}

static void parse_cell(gt_str text, cell *c)
{
    bool is_text = text.len && text.bytes[0] == '\'', is_blob = text.len && text.bytes[0] == '#';
    if (is_text || is_blob) text.bytes++, text.len--;
    unescape(text, &c->text);
    c->kind = is_blob ? CELL_BLOB : is_text ? CELL_TEXT : CELL_ABSENT;
    if (c->kind != CELL_ABSENT || !c->text.len) return;
    char number[40], *end;
    snprintf(number, sizeof number, "%.*s", (int)(c->text.len < 39 ? c->text.len : 39), c->text.bytes);
    errno = 0;
    c->integer = strtoll(number, &end, 10);
    if (!*end && !errno && end != number && c->text.len < 39) {
        c->kind = CELL_INT;
        return;
    }
    c->real = strtod(number, &end);
    c->kind = !*end && end != number && c->text.len < 39 ? CELL_REAL : CELL_TEXT;
}

static bool begins_table(gt_str line)
{
    return line.len >= 2 && line.bytes[0] == '[' && line.bytes[line.len - 1] == ']';
}

/* ---- workbooks ---- */

static void add_xml(gt_buffer *out, gt_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.bytes[i];
        if (c == '<' || c == '&' || c == '"')
            gt_buffer_add_cstr(out, c == '<' ? "&lt;" : c == '&' ? "&amp;" : "&quot;");
        else
            gt_buffer_add(out, (unsigned char)c < 0x20 && c != '\n' && c != '\t' ? "?" : &c, 1);
    }
}

static void add_sheet_row(gt_buffer *xml, gt_str line, cell *c)
{
    gt_buffer_add_cstr(xml, "<row>");
    for (size_t i = 0; i < CELLS_MAX && line.len; i++) {
        parse_cell(take_until(&line, '\t'), c);
        if (c->kind == CELL_ABSENT) {
            gt_buffer_add_cstr(xml, "<c/>");
        } else if (c->kind == CELL_TEXT || c->kind == CELL_BLOB) {
            gt_buffer_add_cstr(xml, "<c t=\"inlineStr\"><is><t>");
            add_xml(xml, gt_buffer_str(&c->text));
            gt_buffer_add_cstr(xml, "</t></is></c>");
        } else {
            gt_buffer_add_cstr(xml, "<c><v>");
            add_xml(xml, gt_buffer_str(&c->text));
            gt_buffer_add_cstr(xml, "</v></c>");
        }
    }
    gt_buffer_add_cstr(xml, "</row>");
}

static void add_part(zip_t *zip, const char *name, const gt_buffer *bytes)
{
    zip_source_t *source = zip_source_buffer(zip, bytes->bytes, bytes->len, 0);
    zip_int64_t index = source ? zip_file_add(zip, name, source, 0) : -1;
    if (index < 0) abort();
    zip_set_file_compression(zip, (zip_uint64_t)index, ZIP_CM_STORE, 0);
}

static void write_workbook(const char *path, gt_str text)
{
    gt_buffer book = {0}, relations = {0}, sheets[TABLES_MAX] = {{0}};
    size_t count = 0;
    cell c = {0};
    char part[80];
    gt_buffer_add_cstr(&book, "<workbook><sheets>");
    gt_buffer_add_cstr(&relations, "<Relationships>");
    while (text.len) {
        gt_str line = take_until(&text, '\n');
        if (begins_table(line) && count < TABLES_MAX) {
            snprintf(part, sizeof part, "\" r:id=\"r%zu\"/>", count);
            gt_buffer_add_cstr(&book, "<sheet name=\"");
            add_xml(&book, (gt_str){line.bytes + 1, line.len - 2});
            gt_buffer_add_cstr(&book, part);
            snprintf(part, sizeof part, "<Relationship Id=\"r%zu\" Target=\"%zu.xml\"/>", count, count);
            gt_buffer_add_cstr(&relations, part);
            gt_buffer_add_cstr(&sheets[count++], "<worksheet><sheetData>");
        } else if (count) {
            add_sheet_row(&sheets[count - 1], line, &c);
        }
    }
    gt_buffer_add_cstr(&book, "</sheets></workbook>");
    gt_buffer_add_cstr(&relations, "</Relationships>");
    int reason;
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &reason);
    if (zip) {
        add_part(zip, "xl/workbook.xml", &book);
        add_part(zip, "xl/_rels/workbook.xml.rels", &relations);
        for (size_t i = 0; i < count; i++) {
            gt_buffer_add_cstr(&sheets[i], "</sheetData></worksheet>");
            snprintf(part, sizeof part, "xl/%zu.xml", i);
            add_part(zip, part, &sheets[i]);
        }
        if (zip_close(zip) != 0) zip_discard(zip);
    }
    for (size_t i = 0; i < count; i++) gt_buffer_free(&sheets[i]);
    gt_buffer_free(&book);
    gt_buffer_free(&relations);
    gt_buffer_free(&c.text);
}

/* ---- databases ---- */

static void bind_cell(sqlite3_stmt *insert, int column, cell *c)
{
    gt_str text = gt_buffer_str(&c->text);
    switch (c->kind) {
    case CELL_ABSENT:
        sqlite3_bind_null(insert, column);
        break;
    case CELL_INT:
        sqlite3_bind_int64(insert, column, c->integer);
        break;
    case CELL_REAL:
        sqlite3_bind_double(insert, column, c->real);
        break;
    case CELL_TEXT:
        sqlite3_bind_text(insert, column, text.bytes, (int)text.len, SQLITE_TRANSIENT);
        break;
    case CELL_BLOB:
        sqlite3_bind_blob(insert, column, text.bytes, (int)text.len, SQLITE_TRANSIENT);
        break;
    }
}

/* Creates a table and prepares its insert; NULL if SQLite rejects the names. */
static sqlite3_stmt *create_table(sqlite3 *db, gt_str name, gt_str columns, int *column_count)
{
    sqlite3_str *create = sqlite3_str_new(db), *insert = sqlite3_str_new(db);
    sqlite3_str_appendf(create, "CREATE TABLE \"%.*w\"(", (int)name.len, name.bytes);
    sqlite3_str_appendf(insert, "INSERT INTO \"%.*w\" VALUES(", (int)name.len, name.bytes);
    for (*column_count = 0; *column_count < CELLS_MAX && columns.len; ++*column_count) {
        gt_str column = take_until(&columns, '\t');
        bool is_key = column.len > 1 && column.bytes[column.len - 1] == '!';
        sqlite3_str_appendf(create, "%s\"%.*w\"%s", *column_count ? "," : "", (int)column.len - is_key,
                            column.bytes, is_key ? " INTEGER PRIMARY KEY" : "");
        sqlite3_str_appendall(insert, *column_count ? ",?" : "?");
    }
    sqlite3_str_appendall(create, ")");
    sqlite3_str_appendall(insert, ")");
    char *create_text = sqlite3_str_finish(create), *insert_text = sqlite3_str_finish(insert);
    sqlite3_stmt *statement = NULL;
    if (create_text && insert_text && sqlite3_exec(db, create_text, NULL, NULL, NULL) == SQLITE_OK)
        sqlite3_prepare_v2(db, insert_text, -1, &statement, NULL);
    sqlite3_free(create_text);
    sqlite3_free(insert_text);
    return statement;
}

static void write_database(const char *path, gt_str text)
{
    sqlite3 *db;
    sqlite3_stmt *insert = NULL;
    int columns = 0, rows = 0;
    cell c = {0};
    if (sqlite3_open(path, &db) != SQLITE_OK) {
        sqlite3_close(db);
        return;
    }
    sqlite3_exec(db, "PRAGMA page_size=1024; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN", NULL,
                 NULL, NULL);
    while (text.len) {
        gt_str line = take_until(&text, '\n');
        if (begins_table(line)) {
            sqlite3_finalize(insert);
            insert =
                create_table(db, (gt_str){line.bytes + 1, line.len - 2}, take_until(&text, '\n'), &columns);
        } else if (insert && rows++ < ROWS_MAX) {
            for (int i = 1; i <= columns; i++) {
                parse_cell(take_until(&line, '\t'), &c);
                bind_cell(insert, i, &c);
            }
            sqlite3_step(insert);
            sqlite3_reset(insert);
        }
    }
    sqlite3_finalize(insert);
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(db);
    gt_buffer_free(&c.text);
}

/* ---- inputs ---- */

typedef struct command_input {
    char *words[WORDS_MAX];
    int count;
} command_input;

static void make_folders(const char *path)
{
    char folder[NAME_MAX_LEN + 1];
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        mkdir(folder, 0755);
    }
}

/* ---- partials ---- */

static void write_part(char *names, gt_str text)
{
    char *trace = strchr(names, ' ');
    gt_error error;
    gt_str key = take_until(&text, '\n');
    if (!trace || memchr(key.bytes, 0, key.len)) return;
    *trace++ = 0;
    gt_part_new part = {.key = strndup(key.bytes, key.len), .trace_path = trace};
    if (is_inside(trace) && gt_trace_identify(trace, &part.identity)) {
        char *path = gt_work_folder_part(names, trace);
        gt_image image = image_of((const uint8_t *)text.bytes, text.len);
        make_folders(path);
        gt_part_write(path, &part, &image, &error);
        gt_image_free(&image);
        gt_free(path);
    }
    free((char *)(uintptr_t)part.key);
}

/* ---- files ---- */

static void write_input_file(gt_str heading, gt_str bytes)
{
    gt_str kind = take_until(&heading, ' ');
    char name[NAME_MAX_LEN + 1];
    if (!heading.len || heading.len >= sizeof name || memchr(heading.bytes, 0, heading.len)) return;
    snprintf(name, sizeof name, "%.*s", (int)heading.len, heading.bytes);
    if (!is_inside(name)) return;
    if (!gt_str_equals(kind, "part")) make_folders(name);
    if (gt_str_equals(kind, "gz"))
        write_gzip(name, bytes);
    else if (gt_str_equals(kind, "xlsx"))
        write_workbook(name, bytes);
    else if (gt_str_equals(kind, "db"))
        write_database(name, bytes);
    else if (gt_str_equals(kind, "part"))
        write_part(name, bytes);
    else
        write_bytes(name, bytes.bytes, bytes.len);
}

/* Writes the files of an input into the current folder and returns the words. */
static inline command_input unpack_input(gt_str rest)
{
    static const char mark[] = "\n@@@ ";
    command_input input = {.count = 0};
    const char *at = rest.len ? memmem(rest.bytes, rest.len, mark, sizeof mark - 1) : NULL;
    gt_str words = {rest.bytes, at ? (size_t)(at - rest.bytes) : rest.len};
    while (words.len && input.count < WORDS_MAX - 6) {
        gt_str word = take_until(&words, '\n');
        input.words[input.count++] = strndup(word.bytes, word.len);
    }
    for (int files = 0; at && files < FILES_MAX; files++) {
        size_t left = rest.len - (size_t)(at - rest.bytes) - (sizeof mark - 1);
        gt_str file = {at + sizeof mark - 1, left};
        at = left ? memmem(file.bytes, left, mark, sizeof mark - 1) : NULL;
        if (at) file.len = (size_t)(at - file.bytes);
        gt_str heading = take_until(&file, '\n');
        write_input_file(heading, file);
    }
    return input;
}

static inline void free_input(command_input *input)
{
    for (int i = 0; i < input->count; i++) free(input->words[i]);
}

#endif
