/* The public interface: report/report.h and output/output.h under a guard.
 *
 * Every function that allocates runs as a guarded call (base/guard.h), so running out of memory and internal
 * errors become errors of that call. A report owns a heap, which tracks all of its memory; other calls have
 * one of their own that ends with them. */
#include "gputally/gputally.h"

#include "analysis/ncu/sheets.h"
#include "base/guard.h"
#include "base/memory_limit.h"
#include "base/threads.h"
#include "compat/python_repr.h"
#include "os/paths.h"
#include "output/file.h"
#include "report/report.h"

#include <signal.h>
#include <time.h>

static const char no_memory[] = "out of memory";

struct gputally_options {
    gt_heap *heap; /* of the options */
    gt_report_options report;
    gt_warning_handler *warning;
    void *warning_context;
};

struct gputally_report {
    gt_heap *heap;
    char *trace_path;
    gt_report report; /* its options refer to strings of the caller, and are not used once it is made */
    gt_ncu *ncu;      /* metrics of Nsight Compute: then the report has nothing but its sheets */
    gt_warning_handler *warning;
    void *warning_context;
};

const char *gputally_version(void)
{
    return GT_VERSION;
}

/* Copies the message to the caller's buffer. Returns false. */
static bool give_error(const char *message, char *error, size_t error_size)
{
    if (error && error_size) snprintf(error, error_size, "%s", message);
    return false;
}

/* ---- options ---- */

static void free_options(void *options)
{
    gt_report_options_free(&((gputally_options *)options)->report);
}

gputally_options *gputally_options_new(void)
{
    gputally_options *options = calloc(1, sizeof *options);
    gt_heap *heap = gt_heap_new();
    if (!options || !heap) {
        gt_free(options);
        gt_heap_free(heap);
        return NULL;
    }
    options->heap = heap;
    options->report = gt_report_options_best();
    return options;
}

void gputally_options_free(gputally_options *options)
{
    if (!options) return;
    gt_guard_run(&(gt_guard_options){.heap = options->heap}, free_options, options, NULL);
    gt_heap_free(options->heap);
    gt_free(options);
}

typedef struct set_call {
    gt_report_options *options;
    const char *name, *value;
    bool is_set;
    gt_error error;
} set_call;

static void set_option(void *context)
{
    set_call *call = context;
    call->is_set = gt_report_option_check(call->name, call->value, &call->error) &&
                   gt_report_options_set(call->options, call->name, gt_strdup(call->value), &call->error);
}

/* A call that fails leaves the options as they were; its copy of the value is freed with them. */
bool gputally_options_set(gputally_options *options, const char *name, const char *value, char *error,
                          size_t error_size)
{
    if (!options || !name)
        return give_error(options ? "option name is NULL" : "options are NULL", error, error_size);
    if (!value) {
        gt_error null_value;
        gt_fail(&null_value, "%.200s: value is NULL", name);
        return give_error(null_value.text, error, error_size);
    }
    set_call call = {.options = &options->report, .name = name, .value = value};
    gt_guard_options guard = {.heap = options->heap, .keep_heap = true};
    bool whole = gt_guard_run(&guard, set_option, &call, &call.error);
    return (whole && call.is_set) || give_error(call.error.text, error, error_size);
}

void gputally_options_on_warning(gputally_options *options, gputally_warning_handler *handler, void *context)
{
    if (!options) return;
    options->warning = handler;
    options->warning_context = context;
}

/* ---- file-size limits ---- */

/* Past a file-size limit the kernel sends SIGXFSZ to the thread that writes, which ends the process by
 * default. It is blocked in this thread, and one that a write caused is removed again, so that it is never
 * delivered; the write then fails with EFBIG. */
typedef struct blocked_signal {
    sigset_t before;
    bool was_pending;
} blocked_signal;

static sigset_t file_size_signal(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    return set;
}

static blocked_signal block_file_size_signal(void)
{
    blocked_signal blocked;
    sigset_t set = file_size_signal(), pending;
    sigpending(&pending);
    blocked.was_pending = sigismember(&pending, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set, &blocked.before);
    return blocked;
}

static void unblock_file_size_signal(const blocked_signal *blocked)
{
    sigset_t set = file_size_signal();
    if (!blocked->was_pending) sigtimedwait(&set, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &blocked->before, NULL);
}

/* ---- making reports ---- */

typedef struct make_call {
    const char *path;
    gt_report_options options;
    gputally_report *made;
    bool is_made;
    gt_error error;
} make_call;

/* The one trace at a path. Its name is in the list. */
static bool find_trace(gt_profile_list *traces, const char *path, gt_error *error)
{
    if (!gt_report_find_traces(traces, path, error)) return false;
    return traces->count == 1 || gt_fail(error, "%s: this folder has %zu traces; choose one, such as %.300s",
                                         path, traces->count, traces->paths[0]);
}

static bool make_ncu(make_call *call, gt_stream *stream, gt_error *error)
{
    gputally_report *made = call->made;
    made->ncu = gt_ncu_read(stream, error);
    if (made->ncu) gt_ncu_tables(made->ncu, &made->report.tables);
    made->report.options = call->options;
    return made->ncu;
}

static bool make_any(make_call *call, gt_stream *stream, const char *path, gt_error *error)
{
    gt_trace_kind kind = GT_TRACE_ROCPROF; /* of a folder */
    gt_trace_format format = GT_FORMAT_UNKNOWN;
    if (stream && !gt_detect(stream, &format, error)) return false;
    if (format == GT_FORMAT_NCU_CSV) return make_ncu(call, stream, error);
    bool made = (!stream || gt_report_detect(stream, &kind, error)) &&
                gt_report_read(&call->made->report, kind, stream, path, &call->options, error) &&
                gt_report_make_tables(&call->made->report, error);
    if (made) gt_report_options_warn(&call->options, 1u << kind, "");
    return made;
}

static bool read_and_make(make_call *call, const char *path, gt_error *error)
{
    bool is_folder = gt_path_is_folder(path);
    gt_stream *stream = is_folder ? NULL : gt_stream_open(path, error);
    bool made = (is_folder || stream) && make_any(call, stream, path, error);
    gt_stream_close(stream);
    return made;
}

static void make_in_team(void *context)
{
    make_call *call = context;
    gt_profile_list traces = {0};
    call->is_made =
        find_trace(&traces, call->path, &call->error) && read_and_make(call, traces.paths[0], &call->error);
    gt_profiles_free(&traces);
}

static void make_report(void *context)
{
    make_call *call = context;
    gt_memory_bound bound = gt_memory_bound_find(call->options.max_memory);
    gt_memory_set_limit(bound.bytes, bound.name);
    if (!call->options.read.threads) call->options.read.threads = gt_threads_default();
    call->options.read.threads = gt_memory_threads(bound, call->options.read.threads);
    gt_team_run(call->options.read.threads, make_in_team, call);
}

gputally_report *gputally_report_make(const char *trace_path, const gputally_options *options, char *error,
                                      size_t error_size)
{
    if (!trace_path) {
        give_error("trace path is NULL", error, error_size);
        return NULL;
    }
    gputally_report *report = calloc(1, sizeof *report);
    gt_heap *heap = gt_heap_new();
    char *path = strdup(trace_path);
    if (!report || !heap || !path) {
        gt_free(report);
        gt_heap_free(heap);
        free(path);
        give_error(no_memory, error, error_size);
        return NULL;
    }
    report->heap = heap;
    report->trace_path = path;
    report->warning = options ? options->warning : NULL;
    report->warning_context = options ? options->warning_context : NULL;
    make_call call = {
        .path = trace_path, .options = options ? options->report : gt_report_options_best(), .made = report};
    gt_guard_options guard = {
        .heap = heap, .warning = report->warning, .warning_context = report->warning_context};
    blocked_signal blocked = block_file_size_signal(); /* an extension is asked through temporary files */
    bool whole = gt_guard_run(&guard, make_report, &call, &call.error);
    unblock_file_size_signal(&blocked);
    report->report.title = gt_trace_title(report->trace_path); /* the name that was found is gone */
    if (whole && call.is_made) return report;
    give_error(call.error.text, error, error_size);
    if (whole) {
        gputally_report_free(report);
    } else {
        gt_heap_free(heap);
        free(path);
        gt_free(report);
    }
    return NULL;
}

static void free_report(void *context)
{
    gputally_report *report = context;
    gt_report_free(&report->report);
    gt_ncu_free(report->ncu);
}

void gputally_report_free(gputally_report *report)
{
    if (!report) return;
    gt_guard_run(&(gt_guard_options){.heap = report->heap}, free_report, report, NULL);
    gt_heap_free(report->heap);
    free(report->trace_path);
    gt_free(report);
}

gputally_kind gputally_report_kind(const gputally_report *report)
{
    static const gputally_kind kinds[] = {[GT_TRACE_ROCPROF] = GPUTALLY_ROCPROF,
                                          [GT_TRACE_PYTORCH] = GPUTALLY_PYTORCH,
                                          [GT_TRACE_JAX] = GPUTALLY_JAX,
                                          [GT_TRACE_NSYS] = GPUTALLY_NSYS};
    if (!report) return GPUTALLY_NONE;
    return report->ncu ? GPUTALLY_NCU : kinds[report->report.kind];
}

/* ---- writing ---- */

typedef bool write_function(gt_output *output, const char *path, gt_table *const *tables, size_t count,
                            gt_error *error);

typedef struct write_call {
    const gt_report *report;
    const char *trace_path;
    write_function *write; /* NULL: the page */
    const char *path;
    unsigned threads;
    bool csv_safe;
    bool is_written;
    gt_error error;
} write_call;

static bool write_page(gt_output *output, const write_call *call, gt_error *error)
{
    gt_buffer html = {0};
    gt_report_add_page(call->report, NULL, &html);
    bool written = gt_output_write_file(output, call->path, gt_buffer_str(&html), error);
    gt_buffer_free(&html);
    return written;
}

static void write_in_team(void *context)
{
    write_call *call = context;
    const gt_table_list *tables = &call->report->tables;
    gt_output *output = gt_output_new();
    gt_output_set_csv_safe(output, call->csv_safe);
    call->is_written =
        (!gt_path_is_same_file(call->path, call->trace_path) ||
         gt_fail(&call->error, "%s: output path is the input trace", call->path)) &&
        (call->write ? call->write(output, call->path, tables->items, tables->count, &call->error)
                     : write_page(output, call, &call->error)) &&
        gt_output_commit(output, &call->error);
    gt_output_free(output);
}

static void write_tables(void *context)
{
    gt_team_run(((write_call *)context)->threads, write_in_team, context);
}

static bool write_document(const gputally_report *report, write_function *write, const char *path,
                           char *error, size_t error_size)
{
    if (!report || !path)
        return give_error(report ? "output path is NULL" : "report is NULL", error, error_size);
    gt_heap *heap = gt_heap_new();
    if (!heap) return give_error(no_memory, error, error_size);
    write_call call = {.report = &report->report,
                       .trace_path = report->trace_path,
                       .write = write,
                       .path = path,
                       .threads = report->report.options.read.threads,
                       .csv_safe = report->report.options.csv_safe};
    gt_guard_options guard = {
        .heap = heap, .warning = report->warning, .warning_context = report->warning_context};
    blocked_signal blocked = block_file_size_signal();
    bool written = gt_guard_run(&guard, write_tables, &call, &call.error) && call.is_written;
    unblock_file_size_signal(&blocked);
    gt_heap_free(heap);
    return written || give_error(call.error.text, error, error_size);
}

bool gputally_report_write_csvs(const gputally_report *report, const char *folder, char *error,
                                size_t error_size)
{
    return write_document(report, gt_output_csvs, folder, error, error_size);
}

bool gputally_report_write_xlsx(const gputally_report *report, const char *path, char *error,
                                size_t error_size)
{
    return write_document(report, gt_output_xlsx, path, error, error_size);
}

bool gputally_report_write_sqlite(const gputally_report *report, const char *path, char *error,
                                  size_t error_size)
{
    return write_document(report, gt_output_sqlite, path, error, error_size);
}

bool gputally_report_write_html(const gputally_report *report, const char *path, char *error,
                                size_t error_size)
{
    if (report && report->ncu)
        return give_error("there is no page on metrics of Nsight Compute", error, error_size);
    return write_document(report, NULL, path, error, error_size);
}

/* ---- sheets ---- */

/* A gputally_sheet is a gt_table under another name. */
static const gt_table *table_of(const gputally_sheet *sheet)
{
    return (const gt_table *)(const void *)sheet;
}

static const gputally_sheet *sheet_of(const gt_table *table)
{
    return (const gputally_sheet *)(const void *)table;
}

size_t gputally_report_sheet_count(const gputally_report *report)
{
    return report ? report->report.tables.count : 0;
}

const gputally_sheet *gputally_report_sheet(const gputally_report *report, size_t index)
{
    return index < gputally_report_sheet_count(report) ? sheet_of(report->report.tables.items[index]) : NULL;
}

const gputally_sheet *gputally_report_find_sheet(const gputally_report *report, const char *name)
{
    if (!report || !name) return NULL;
    return sheet_of(gt_table_list_find_any(&report->report.tables, gt_sheet_named(name)));
}

const char *gputally_sheet_name(const gputally_sheet *sheet)
{
    return sheet ? table_of(sheet)->name : "";
}

size_t gputally_sheet_row_count(const gputally_sheet *sheet)
{
    return sheet ? table_of(sheet)->row_count : 0;
}

size_t gputally_sheet_column_count(const gputally_sheet *sheet)
{
    return sheet ? table_of(sheet)->column_count : 0;
}

/* NULL if the sheet has no such column. */
static const gt_column *column_of(const gputally_sheet *sheet, size_t column)
{
    return column < gputally_sheet_column_count(sheet) ? &table_of(sheet)->columns[column] : NULL;
}

/* A cell that does not exist reads as null. */
static gt_cell cell_of(const gputally_sheet *sheet, size_t column, size_t row)
{
    bool exists = column_of(sheet, column) && row < gputally_sheet_row_count(sheet);
    return exists ? gt_table_cell(table_of(sheet), column, row) : (gt_cell){.is_null = true};
}

const char *gputally_sheet_column_name(const gputally_sheet *sheet, size_t column)
{
    const gt_column *found = column_of(sheet, column);
    return found ? found->name : "";
}

gputally_type gputally_sheet_column_type(const gputally_sheet *sheet, size_t column)
{
    static const gputally_type types[] = {[GT_TYPE_INT] = GPUTALLY_INT,
                                          [GT_TYPE_FLOAT] = GPUTALLY_FLOAT,
                                          [GT_TYPE_STRING] = GPUTALLY_STRING,
                                          [GT_TYPE_BOOL] = GPUTALLY_BOOL,
                                          [GT_TYPE_LIST] = GPUTALLY_LIST};
    const gt_column *found = column_of(sheet, column);
    gt_type type;
    return found && gt_column_value_type(found, table_of(sheet)->row_count, &type) ? types[type]
                                                                                   : GPUTALLY_STRING;
}

size_t gputally_sheet_find_column(const gputally_sheet *sheet, const char *name)
{
    return sheet && name ? gt_table_find(table_of(sheet), gt_col_named(name)) : SIZE_MAX;
}

bool gputally_sheet_is_null(const gputally_sheet *sheet, size_t column, size_t row)
{
    return cell_of(sheet, column, row).is_null;
}

int64_t gputally_sheet_int(const gputally_sheet *sheet, size_t column, size_t row)
{
    return cell_of(sheet, column, row).integer;
}

double gputally_sheet_float(const gputally_sheet *sheet, size_t column, size_t row)
{
    gt_cell cell = cell_of(sheet, column, row);
    bool is_number = !cell.is_null && cell.type != GT_TYPE_STRING && cell.type != GT_TYPE_LIST;
    return is_number ? cell.number : (double)NAN;
}

static gt_str string_of(const gt_table *table, const gt_column *column, size_t row)
{
    return column->type == GT_TYPE_STRING ? gt_interner_get(table->strings, column->texts[row])
                                          : (gt_str){"", 0};
}

const char *gputally_sheet_string(const gputally_sheet *sheet, size_t column, size_t row, size_t *length)
{
    gt_str string = {"", 0};
    if (!gputally_sheet_is_null(sheet, column, row))
        string = string_of(table_of(sheet), column_of(sheet, column), row);
    if (length) *length = string.len;
    return string.bytes;
}

typedef struct format_call {
    const gt_table *table;
    const gt_column *column; /* NULL: the cell does not exist */
    size_t row;
    char *text;
    size_t size, length;
} format_call;

static void format_cell(void *context)
{
    format_call *call = context;
    gt_buffer cell = {0};
    gt_str formatted = call->column ? string_of(call->table, call->column, call->row) : (gt_str){"", 0};
    if (call->column && call->column->type != GT_TYPE_STRING && !gt_column_is_null(call->column, call->row)) {
        gt_python_add_cell(&cell, call->column, call->row, call->table->strings);
        formatted = gt_buffer_str(&cell);
    }
    if (call->text && call->size) {
        size_t kept = formatted.len < call->size ? formatted.len : call->size - 1;
        memcpy(call->text, formatted.bytes, kept);
        call->text[kept] = 0;
    }
    call->length = formatted.len;
    gt_buffer_free(&cell);
}

size_t gputally_sheet_format(const gputally_sheet *sheet, size_t column, size_t row, char *text, size_t size)
{
    gt_heap *heap = gt_heap_new();
    format_call call = {.table = table_of(sheet), .row = row, .text = text, .size = size};
    if (row < gputally_sheet_row_count(sheet)) call.column = column_of(sheet, column);
    bool whole = heap && gt_guard_run(&(gt_guard_options){.heap = heap}, format_cell, &call, NULL);
    gt_heap_free(heap);
    return whole ? call.length : SIZE_MAX;
}
