/* The answer of a query as text: aligned text, CSV, JSON, Markdown; and as a workbook or a database.
 *
 * CSV and JSON are written while the query runs, so an answer may be larger than memory. The other forms need
 * all rows. NULL is "-" in aligned text, nothing in CSV files, as in the CSV files of reports, and null in
 * JSON; numbers are exact. */
#include "report/query/query.h"

#include "base/guard.h"
#include "base/printing.h"
#include "json/string.h"
#include "output/file.h"

#include <unistd.h>

enum { ROWS_AT_ONCE = 4096 };

static const char *const names[GT_QUERY_FORMATS] = {"table", "csv", "json", "jsonl", "md", "xlsx", "db"};

struct gt_query_writer {
    gt_query_format format;
    gt_output *output; /* NULL: standard output */
    const char *path;
    gt_terminal terminal;
    gt_file file;
    bool is_raw; /* not written to a terminal */
    size_t rows, hidden_columns;
    gt_buffer line, scratch;
};

gt_query_format gt_query_format_named(const char *name)
{
    size_t i = 0;
    while (i < GT_QUERY_FORMATS && strcasecmp(names[i], name) != 0) i++;
    return (gt_query_format)i;
}

gt_query_format gt_query_format_of(const char *path)
{
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    if (!dot || (slash && dot < slash)) return GT_QUERY_FORMATS;
    if (strcasecmp(dot, ".txt") == 0) return GT_QUERY_TABLE;
    gt_query_format format = gt_query_format_named(dot + 1);
    return format == GT_QUERY_TABLE ? GT_QUERY_FORMATS : format;
}

static bool is_document(const gt_query_writer *w)
{
    return w->format == GT_QUERY_XLSX || w->format == GT_QUERY_DB;
}

gt_query_writer *gt_query_writer_open(gt_query_format format, gt_output *output, const char *path,
                                      const gt_terminal *out, gt_error *error)
{
    gt_query_writer *w = gt_alloc_zero(1, sizeof *w);
    *w = (gt_query_writer){.format = format, .output = output, .path = path, .terminal = *out};
    w->is_raw = output || !isatty(gt_print_descriptor(out->file));
    if (!output) {
        gt_file_begin_memory(&w->file, gt_output_is_csv_safe(NULL));
    } else if (!is_document(w) && !gt_file_open(&w->file, output, path, error)) {
        gt_free(w);
        return NULL;
    }
    return w;
}

/* ---- text ---- */

static void add_text(gt_query_writer *w, const char *text)
{
    gt_file_write(&w->file, text, strlen(text));
}

static void add_line(gt_query_writer *w)
{
    gt_file_write(&w->file, w->line.bytes, w->line.len);
    w->line.len = 0;
}

static void add_object(gt_query_writer *w, const gt_table *rows, size_t row)
{
    gt_buffer_add_cstr(&w->line, "{");
    for (size_t c = 0; c < rows->column_count; c++) {
        const char *name = rows->columns[c].name;
        if (c) gt_buffer_add_cstr(&w->line, ", ");
        gt_json_string_add(&w->line, (gt_str){name, strlen(name)}, &w->scratch);
        gt_buffer_add_cstr(&w->line, ": ");
        gt_answers_add_cell(&w->line, rows, c, row, &w->scratch);
    }
    gt_buffer_add_cstr(&w->line, "}");
}

static void add_json(gt_query_writer *w, const gt_table *rows)
{
    for (size_t row = 0; row < rows->row_count; row++) {
        if (w->format == GT_QUERY_JSON) gt_buffer_add_cstr(&w->line, w->rows + row ? ",\n " : "[");
        add_object(w, rows, row);
        if (w->format == GT_QUERY_JSONL) gt_buffer_add_cstr(&w->line, "\n");
        add_line(w);
    }
}

static bool is_number(const gt_column *column)
{
    return column->type == GT_TYPE_INT || column->type == GT_TYPE_FLOAT;
}

static void add_markdown(gt_query_writer *w, const gt_table *rows)
{
    gt_buffer *line = &w->line;
    for (size_t c = 0; c < rows->column_count; c++) {
        gt_buffer_add_cstr(line, "| ");
        gt_answers_escape(line, (gt_str){rows->columns[c].name, strlen(rows->columns[c].name)});
        gt_buffer_add_cstr(line, " ");
    }
    gt_buffer_add_cstr(line, "|\n|");
    for (size_t c = 0; c < rows->column_count; c++)
        gt_buffer_add_cstr(line, is_number(&rows->columns[c]) ? " ---: |" : " --- |");
    gt_buffer_add_cstr(line, "\n");
    for (size_t row = 0; row < rows->row_count; row++) {
        for (size_t c = 0; c < rows->column_count; c++) {
            const gt_column *column = &rows->columns[c];
            gt_buffer_add_cstr(line, "| ");
            if (gt_column_is_null(column, row))
                gt_buffer_add_cstr(line, "");
            else if (column->type == GT_TYPE_INT)
                gt_buffer_add_int(line, column->ints[row]);
            else if (column->type == GT_TYPE_FLOAT)
                gt_buffer_add_double(line, column->floats[row]);
            else
                gt_answers_escape(line, gt_interner_get(rows->strings, column->texts[row]));
            gt_buffer_add_cstr(line, " ");
        }
        gt_buffer_add_cstr(line, "|\n");
    }
    add_line(w);
}

/* Aligned columns: printed at once, or for a file first into memory. */
static void add_aligned(gt_query_writer *w, const gt_table *rows)
{
    gt_terminal_column *columns = gt_alloc_zero(rows->column_count, sizeof *columns);
    for (size_t c = 0; c < rows->column_count; c++)
        columns[c] = (gt_terminal_column){.column = gt_col_named(rows->columns[c].name), .decimals = -1};
    gt_terminal to = w->terminal;
    char *text = NULL;
    size_t len = 0;
    if (w->output) to = (gt_terminal){open_memstream(&text, &len), to.width, to.utf8, false};
    if (!to.file) gt_raise("out of memory");
    w->hidden_columns = gt_terminal_rows(&to, rows, columns, rows->column_count, rows->row_count);
    if (w->output) {
        fclose(to.file);
        gt_file_write(&w->file, text, len);
        free(text);
    }
    gt_free(columns);
}

/* ---- rows ---- */

/* Sends what is in memory to standard output. Control characters are escaped on a terminal only: others get
 * the text as it is. */
static void print_text(gt_query_writer *w)
{
    if (w->output) return;
    if (w->is_raw)
        gt_print_raw(w->terminal.file, w->file.buffer, w->file.used);
    else
        fwrite(w->file.buffer, 1, w->file.used, w->terminal.file);
    w->file.used = 0;
}

static bool write_document(gt_query_writer *w, const gt_table *rows, gt_error *error)
{
    gt_table *copy = gt_table_copy(rows);
    gt_table *const tables[] = {copy};
    bool ok = w->format == GT_QUERY_XLSX ? gt_output_xlsx(w->output, w->path, tables, 1, error)
                                         : gt_output_sqlite(w->output, w->path, tables, 1, error);
    gt_table_free(copy);
    return ok;
}

static bool take(void *context, const gt_table *rows, bool is_first, gt_error *error)
{
    gt_query_writer *w = context;
    bool ok = true;
    if (w->format == GT_QUERY_CSV)
        (is_first ? gt_csv_write_lines : gt_csv_write_more_lines)(&w->file, rows, "\n");
    else if (w->format == GT_QUERY_JSON || w->format == GT_QUERY_JSONL)
        add_json(w, rows);
    else if (w->format == GT_QUERY_MD)
        add_markdown(w, rows);
    else if (w->format == GT_QUERY_TABLE)
        add_aligned(w, rows);
    else
        ok = write_document(w, rows, error);
    w->rows += rows->row_count;
    if (!is_document(w)) print_text(w);
    return ok;
}

gt_query_sink gt_query_writer_sink(gt_query_writer *w)
{
    bool is_stream = w->format == GT_QUERY_CSV || w->format == GT_QUERY_JSON || w->format == GT_QUERY_JSONL;
    return (gt_query_sink){is_stream ? ROWS_AT_ONCE : SIZE_MAX, take, w};
}

bool gt_query_writer_close(gt_query_writer *w, bool ok, gt_query_written *written, gt_error *error)
{
    if (ok && w->format == GT_QUERY_JSON) add_text(w, w->rows ? "]\n" : "[]\n");
    if (!w->output) {
        if (ok) print_text(w);
        gt_file_end_memory(&w->file);
    } else if (!is_document(w)) {
        gt_error ignored;
        ok = gt_file_close(&w->file, ok ? error : &ignored) && ok;
    }
    *written = (gt_query_written){w->rows, w->hidden_columns};
    gt_buffer_free(&w->line);
    gt_buffer_free(&w->scratch);
    gt_free(w);
    return ok;
}
