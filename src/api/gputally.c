/* The public interface: thin functions over the readers, the reports and the writers. */
#include "gputally/gputally.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/threads.h"
#include "input/detect.h"
#include "input/rocprof_json.h"
#include "output/output.h"
#include "report/rocprof.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct gputally_report {
    gt_rocprof *run; /* owns the tables' texts */
    gt_table_list tables;
};

const char *gputally_version(void)
{
    return GT_VERSION;
}

static gputally_warning_handler *warning_handler;

static void hand_on_warning(bool warning, const char *text)
{
    if (warning) warning_handler(text);
}

void gputally_on_warning(gputally_warning_handler *handler)
{
    warning_handler = handler;
    gt_log_to(handler ? hand_on_warning : NULL);
}

gputally_options gputally_options_default(void)
{
    gt_rocprof_options report = gt_rocprof_options_default();
    return (gputally_options){
        .kernel_summary = report.kernel_summary,
        .kernel_details = report.kernel_details,
        .topk_kernels = INT64_MAX,
        .short_kernel_study = report.short_kernel_study,
        .short_kernel_threshold_us = report.short_threshold_us,
        .short_kernel_histogram_bins = report.short_bins,
    };
}

static gt_rocprof_options sheets_wanted(const gputally_options *options)
{
    return (gt_rocprof_options){
        .kernel_summary = options->kernel_summary,
        .kernel_details = options->kernel_details,
        .short_kernel_study = options->short_kernel_study,
        .short_threshold_us = options->short_kernel_threshold_us,
        .short_bins = options->short_kernel_histogram_bins,
        .limit_details = options->topk_kernels != INT64_MAX,
        .topk_kernels = options->topk_kernels,
    };
}

static bool copy_error(const gt_error *from, char *error, size_t error_size)
{
    if (error && error_size) snprintf(error, error_size, "%s", from->text);
    return false;
}

static gt_rocprof *read_stream(gt_stream *stream, const gputally_options *options, gt_error *error)
{
    gt_read_options read = {.threads = options->threads ? options->threads : gt_threads_default(),
                            .strict = options->strict};
    gt_trace_format format;
    if (!gt_detect(stream, &format, error)) return NULL;
    if (format == GT_FORMAT_ROCPROF_JSON) return gt_rocprof_read_stream(stream, &read, error);
    gt_fail(error, "%s: this is %s; gputally %s makes no report of it", gt_stream_path(stream),
            gt_format_name(format), GT_VERSION);
    return NULL;
}

static gt_rocprof *read_trace(const char *path, const gputally_options *options, gt_error *error)
{
    gt_stream *stream = gt_stream_open(path, error);
    if (!stream) return NULL;
    gt_rocprof *run = read_stream(stream, options, error);
    gt_stream_close(stream);
    return run;
}

gputally_report *gputally_report_make(const char *trace_path, const gputally_options *options, char *error,
                                      size_t error_size)
{
    gputally_options defaults = gputally_options_default();
    if (!options) options = &defaults;
    gt_error problem = {""};
    gt_rocprof_options wanted = sheets_wanted(options);
    gputally_report *report = gt_alloc_zero(1, sizeof *report);
    report->run = read_trace(trace_path, options, &problem);
    if (report->run && gt_rocprof_tables(report->run, &wanted, &report->tables, &problem)) return report;
    if (report->run) gt_error_prefix(&problem, trace_path);
    copy_error(&problem, error, error_size);
    gputally_report_free(report);
    return NULL;
}

void gputally_report_free(gputally_report *report)
{
    if (!report) return;
    gt_table_list_free(&report->tables);
    if (report->run) gt_rocprof_free(report->run);
    free(report);
}

/* A gputally_table is a gt_table under another name. */
static const gt_table *inside(const gputally_table *table)
{
    return (const gt_table *)(const void *)table;
}

static const gputally_table *outside(const gt_table *table)
{
    return (const gputally_table *)(const void *)table;
}

size_t gputally_report_table_count(const gputally_report *report)
{
    return report->tables.count;
}

const gputally_table *gputally_report_table(const gputally_report *report, size_t index)
{
    return index < report->tables.count ? outside(report->tables.items[index]) : NULL;
}

const gputally_table *gputally_report_find(const gputally_report *report, const char *name)
{
    return outside(gt_table_list_find(&report->tables, name));
}

const char *gputally_table_name(const gputally_table *table)
{
    return inside(table)->name;
}

size_t gputally_table_row_count(const gputally_table *table)
{
    return inside(table)->row_count;
}

size_t gputally_table_column_count(const gputally_table *table)
{
    return inside(table)->column_count;
}

const char *gputally_table_column_name(const gputally_table *table, size_t column)
{
    return inside(table)->columns[column].name;
}

gputally_type gputally_table_column_type(const gputally_table *table, size_t column)
{
    gt_type type = inside(table)->columns[column].type;
    return type == GT_TYPE_FLOAT ? GPUTALLY_FLOAT : type == GT_TYPE_TEXT ? GPUTALLY_TEXT : GPUTALLY_INT;
}

size_t gputally_table_find_column(const gputally_table *table, const char *name)
{
    return gt_table_find(inside(table), name);
}

bool gputally_table_is_null(const gputally_table *table, size_t column, size_t row)
{
    return gt_column_is_null(&inside(table)->columns[column], row);
}

int64_t gputally_table_int(const gputally_table *table, size_t column, size_t row)
{
    const gt_column *c = &inside(table)->columns[column];
    return c->type == GT_TYPE_INT && !gt_column_is_null(c, row) ? c->ints[row] : 0;
}

double gputally_table_float(const gputally_table *table, size_t column, size_t row)
{
    const gt_column *c = &inside(table)->columns[column];
    if (gt_column_is_null(c, row)) return NAN;
    return c->type == GT_TYPE_INT ? (double)c->ints[row] : c->type == GT_TYPE_FLOAT ? c->floats[row] : NAN;
}

const char *gputally_table_text(const gputally_table *table, size_t column, size_t row, size_t *len)
{
    const gt_column *c = &inside(table)->columns[column];
    gt_text text =
        c->type == GT_TYPE_TEXT ? gt_strings_get(inside(table)->strings, c->texts[row]) : (gt_text){"", 0};
    if (len) *len = text.len;
    return text.bytes;
}

typedef bool write_function(gt_output *output, const char *path, gt_table *const *tables, size_t count,
                            gt_error *error);

static bool write_document(const gputally_report *report, write_function *write, const char *path,
                           char *error, size_t error_size)
{
    gt_error problem = {""};
    gt_output *output = gt_output_new();
    bool written = write(output, path, report->tables.items, report->tables.count, &problem) &&
                   gt_output_commit(output, &problem);
    gt_output_free(output);
    return written || copy_error(&problem, error, error_size);
}

bool gputally_report_write_csvs(const gputally_report *report, const char *dir, char *error,
                                size_t error_size)
{
    return write_document(report, gt_output_csvs, dir, error, error_size);
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
