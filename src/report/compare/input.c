/* One input of a comparison: a report on disk, or a trace. The report of a trace is made in memory, as
 * `gputally report` would write it, and read back as if from CSV files. So comparing two traces gives the
 * same sheets as comparing their reports. The step of a trace is also divided into parts, for the waterfall.
 */
#include "report/compare/compare.h"

#include "base/log.h"
#include "base/memory.h"
#include "findings/formats/formats.h"
#include "findings/idle.h"
#include "input/rocprof/rocprof.h"
#include "os/paths.h"
#include "output/file.h"
#include "report/report.h"
#include "schema/sheets.h"

/* ---- is it a trace? ---- */

/* SQLite files are not among the traces here: a report may be one, too. */
static bool is_trace_format(gt_trace_format format)
{
    return format == GT_FORMAT_KINETO_JSON || format == GT_FORMAT_ROCPROF_JSON ||
           format == GT_FORMAT_ROCPROF_CSV || format == GT_FORMAT_XPLANE || format == GT_FORMAT_PERFETTO;
}

bool gt_compare_is_trace(const char *path)
{
    gt_error error;
    gt_trace_format format = GT_FORMAT_UNKNOWN;
    if (gt_path_is_folder(path)) {
        char *sheet = gt_format("%s/%s.csv", path, GT_SHEET_GPU_TIMELINE.name);
        bool is_report = gt_path_is_file(sheet);
        gt_free(sheet);
        return !is_report && gt_rocprof_is_folder(path);
    }
    gt_stream *stream = gt_path_is_file(path) ? gt_stream_open(path, &error) : NULL;
    bool known = stream && gt_detect(stream, &format, &error);
    gt_stream_close(stream);
    return known && is_trace_format(format);
}

/* ---- traces ---- */

/* NULL if there is nothing to schedule. */
static gt_schedule *schedule_of(const gt_report *report)
{
    switch (report->kind) {
    case GT_TRACE_PYTORCH:
        return gt_schedule_new(gt_report_events(report));
    case GT_TRACE_ROCPROF:
        return gt_schedule_of_rocprof(report->trace.rocprof);
    default:
        return report->trace.jax->count ? gt_schedule_of_jax(report->trace.jax) : NULL;
    }
}

/* A PyTorch trace without GPU events is a mistake of the user; of others, sheets may be compared. */
static bool divide_step(gt_compare_report *to, const gt_report *report, gt_error *error)
{
    gt_schedule *schedule = schedule_of(report);
    bool has_ops = schedule && schedule->op_count > 0;
    if (has_ops) {
        gt_idle *idle = gt_idle_find(schedule);
        to->parts = gt_step_parts_new(schedule, idle);
        gt_idle_free(idle);
    }
    gt_schedule_free(schedule);
    return has_ops || report->kind != GT_TRACE_PYTORCH ||
           gt_fail(error, "%s: no GPU events to compare; profile with ProfilerActivity.CUDA", to->path);
}

static void keep_sheets(gt_compare_report *to, const gt_table_list *tables)
{
    gt_file text;
    gt_file_begin_memory(&text, false);
    for (size_t i = 0; i < tables->count; i++) {
        text.used = 0;
        gt_csv_write_lines(&text, tables->items[i], "\n");
        gt_perf_sheets_add(to->sheets, gt_sheet_named(tables->items[i]->name),
                           (gt_str){text.buffer, text.used});
    }
    gt_file_end_memory(&text);
}

static const gt_trace_origin origins[] = {
    [GT_TRACE_PYTORCH] = GT_BY_PYTORCH, [GT_TRACE_ROCPROF] = GT_BY_ROCPROF, [GT_TRACE_JAX] = GT_BY_JAX};

static bool read_trace(gt_compare_report *to, gt_trace_kind kind, gt_stream *stream, bool with_sheets,
                       const gt_read_options *read, gt_error *error)
{
    gt_report_options options = gt_report_options_best();
    gt_report report;
    options.read = *read;
    options.read.index = NULL; /* an index may have the sheets without the trace */
    options.pytorch.kernel_summary = true;
    bool ok = gt_report_read(&report, kind, stream, to->path, &options, error);
    to->origin = origins[kind];
    ok = ok && divide_step(to, &report, error);
    ok = ok && (!with_sheets || gt_report_make_tables(&report, error));
    if (ok) keep_sheets(to, &report.tables);
    gt_report_free(&report);
    gt_report_options_free(&options);
    return ok;
}

static bool open_trace(gt_compare_report *to, bool with_sheets, const gt_read_options *read, gt_error *error)
{
    gt_trace_kind kind = GT_TRACE_ROCPROF;
    to->sheets = gt_perf_sheets_memory(to->path);
    if (gt_path_is_folder(to->path)) return read_trace(to, kind, NULL, with_sheets, read, error);
    gt_stream *stream = gt_stream_open(to->path, error);
    bool ok = stream && gt_report_detect(stream, &kind, error) &&
              read_trace(to, kind, stream, with_sheets, read, error);
    gt_stream_close(stream);
    return ok;
}

/* ---- reports ---- */

/* Sheets that only reports of these traces have. */
static gt_trace_origin origin_of(const gt_perf_sheets *sheets)
{
    if (gt_perf_sheets_has(sheets, GT_SHEET_KERNEL_SUMMARY_BY_CATEGORY)) return GT_BY_ROCPROF;
    if (gt_perf_sheets_has(sheets, GT_SHEET_GPU_EVENTS_AVERAGES)) return GT_BY_JAX;
    return GT_BY_PYTORCH;
}

static bool open_report(gt_compare_report *report, gt_error *error)
{
    report->sheets = gt_perf_sheets_open(report->path, error);
    if (report->sheets) report->origin = origin_of(report->sheets);
    return report->sheets != NULL;
}

bool gt_compare_open(gt_compare_report *report, bool with_sheets, const gt_read_options *read,
                     gt_error *error)
{
    if (!report->is_trace) return open_report(report, error);
    const char *about = gt_log_about(report->path);
    bool ok = open_trace(report, with_sheets, read, error);
    gt_log_about(about);
    return ok;
}

void gt_compare_close(gt_compare_report *report)
{
    gt_perf_sheets_close(report->sheets);
    gt_step_parts_free(report->parts);
}
