/* One input of a comparison: a report on disk, or a trace. The report of a trace is made in memory, as
 * `gputally report` would write it, and read back as if from CSV files. So comparing two traces gives the
 * same sheets as comparing their reports. The step of a trace is also divided into parts, for the waterfall.
 */
#include "report/compare/compare.h"

#include "analysis/serving/sheets.h"
#include "findings/findings.h"
#include "findings/formats/formats.h"
#include "input/nsys/nsys.h"
#include "input/rocprof/rocprof.h"
#include "os/paths.h"
#include "output/file.h"
#include "report/report.h"

/* ---- is it a trace? ---- */

/* SQLite files are not among these: a report may be one, too. Their tables tell. */
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
    if (known && format == GT_FORMAT_SQLITE) {
        gt_database_kind kind = gt_database_kind_of(path);
        return kind == GT_DATABASE_NSYS || kind == GT_DATABASE_ROCPD;
    }
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
    case GT_TRACE_NSYS:
        return gt_schedule_of_rocprof(report->trace.rocprof, false);
    default:
        return report->trace.jax->count ? gt_schedule_of_jax(report->trace.jax, false) : NULL;
    }
}

/* Without a report there are no findings, but the verdict and the steps of a server are wanted: makes their
 * sheets. */
static void judge(gt_report *report, gt_schedule *schedule, gt_compare_report *to)
{
    const gt_trace_facts *facts = report->kind == GT_TRACE_PYTORCH ? gt_report_events(report)->facts : NULL;
    bool is_cut_off = (facts && facts->is_cut_off) ||
                      (report->kind == GT_TRACE_ROCPROF && report->trace.rocprof->is_cut_off);
    gt_findings *findings =
        gt_findings_of_schedule(schedule, &(gt_findings_options){.is_cut_off = is_cut_off});
    to->parts = gt_step_parts_new(schedule, findings->idle);
    gt_findings_add_sheets(findings, &report->tables);
    if (schedule->listed) {
        gt_table *steps = gt_serving_steps(schedule->listed, gt_schedule_listed_rows(schedule));
        gt_table_use_strings(steps, schedule->strings);
        gt_table_list_add(&report->tables, steps);
    }
    gt_findings_free(findings);
}

/* A PyTorch trace without GPU events is a mistake of the user; of others, sheets may be compared. */
static bool divide_step(gt_compare_report *to, gt_report *report, bool with_sheets, gt_error *error)
{
    gt_schedule *schedule = schedule_of(report);
    bool has_ops = schedule && schedule->op_count > 0;
    if (has_ops && !with_sheets) {
        judge(report, schedule, to);
    } else if (has_ops) {
        gt_idle *idle = gt_idle_find(schedule);
        to->parts = gt_step_parts_new(schedule, idle);
        gt_idle_free(idle);
    }
    if (!has_ops || with_sheets) gt_schedule_free(schedule);
    return has_ops || report->kind != GT_TRACE_PYTORCH ||
           gt_fail(error, "%s: no GPU events to compare; profile with ProfilerActivity.CUDA", to->path);
}

static void keep_sheets(gt_compare_report *to, const gt_table_list *tables)
{
    gt_file text;
    gt_file_begin_memory(&text, true); /* so that what is read from it is the same */
    for (size_t i = 0; i < tables->count; i++) {
        text.used = 0;
        gt_csv_write_lines(&text, tables->items[i], "\n");
        gt_perf_sheets_add(to->sheets, gt_sheet_named(tables->items[i]->name),
                           (gt_str){text.buffer, text.used});
    }
    gt_file_end_memory(&text);
}

static const gt_trace_origin origins[] = {[GT_TRACE_PYTORCH] = GT_BY_PYTORCH,
                                          [GT_TRACE_ROCPROF] = GT_BY_ROCPROF,
                                          [GT_TRACE_JAX] = GT_BY_JAX,
                                          [GT_TRACE_NSYS] = GT_BY_NSYS};

static bool read_trace(gt_compare_report *to, gt_trace_kind kind, gt_stream *stream, gt_compare_wanted wanted,
                       const gt_read_options *read, gt_error *error)
{
    gt_report_options options = gt_report_options_best();
    gt_report *report = gt_alloc_zero(1, sizeof *report);
    options.read = *read;
    options.read.index = NULL; /* an index may have the sheets without the trace */
    options.pytorch.kernel_summary = true;
    options.page = wanted.page;
    bool ok = gt_report_read(report, kind, stream, to->path, &options, error);
    to->origin = origins[kind];
    ok = ok && divide_step(to, report, wanted.sheets, error);
    ok = ok && (!wanted.sheets || gt_report_make_tables(report, error));
    if (ok) keep_sheets(to, &report->tables);
    if (ok && wanted.page) {
        to->kept = report;
    } else {
        gt_report_free(report);
        gt_free(report);
    }
    gt_report_options_free(&options);
    return ok;
}

static bool open_trace(gt_compare_report *to, gt_compare_wanted wanted, const gt_read_options *read,
                       gt_error *error)
{
    gt_trace_kind kind = GT_TRACE_ROCPROF;
    to->sheets = gt_perf_sheets_memory(to->path);
    if (gt_path_is_folder(to->path)) return read_trace(to, kind, NULL, wanted, read, error);
    gt_stream *stream = gt_stream_open(to->path, error);
    bool ok =
        stream && gt_report_detect(stream, &kind, error) && read_trace(to, kind, stream, wanted, read, error);
    gt_stream_close(stream);
    return ok;
}

/* ---- reports ---- */

/* Sheets that only reports of these traces have. */
static gt_trace_origin origin_of(const gt_perf_sheets *sheets)
{
    if (gt_perf_sheets_has(sheets, GT_SHEET_CUDA_API_SUMMARY)) return GT_BY_NSYS;
    if (gt_perf_sheets_has(sheets, GT_SHEET_KERNEL_SUMMARY_BY_CATEGORY)) return GT_BY_ROCPROF;
    if (gt_perf_sheets_has(sheets, GT_SHEET_GPU_EVENTS_AVERAGES)) return GT_BY_JAX;
    return GT_BY_PYTORCH;
}

/* Other files have reports as well (JSON, SQLite), but are not read. */
static bool may_be_report(const char *path, gt_error *error)
{
    gt_error ignored;
    gt_trace_format format;
    if (!gt_path_is_file(path)) return true;
    gt_stream *stream = gt_stream_open(path, &ignored);
    bool is_other = stream && gt_detect(stream, &format, &ignored) && format != GT_FORMAT_ZIP;
    gt_stream_close(stream);
    return !is_other ||
           gt_fail(error,
                   "%s: %s, which cannot be compared; give a trace, a workbook or a folder of CSV files",
                   path, gt_format_name(format));
}

/* A folder of other files than CSV has no report; mostly it has the traces of all ranks. */
static bool has_other_files_only(const char *folder)
{
    gt_folder_list names = gt_list_folder(folder);
    bool has_csv = false;
    for (size_t i = 0; i < names.count && !has_csv; i++) {
        size_t len = strlen(names.items[i]);
        has_csv = len > 4 && strcmp(names.items[i] + len - 4, ".csv") == 0;
    }
    bool has_others = names.count > 0 && !has_csv;
    gt_folder_list_free(&names);
    return has_others;
}

static bool open_report(gt_compare_report *report, gt_error *error)
{
    if (gt_path_is_folder(report->path) && has_other_files_only(report->path))
        return gt_fail(
            error,
            "%s: no CSV files of a report in this folder; of a folder with one trace per rank, give "
            "the trace of one rank",
            report->path);
    if (!may_be_report(report->path, error)) return false;
    report->sheets = gt_perf_sheets_open(report->path, error);
    if (report->sheets) report->origin = origin_of(report->sheets);
    return report->sheets != NULL;
}

/* ---- trust ---- */

static char *print_cell(gt_table *sheet, gt_col column, size_t row)
{
    size_t at = gt_table_find(sheet, column);
    gt_cell cell = at == SIZE_MAX ? (gt_cell){.is_null = true} : gt_table_cell(sheet, at, row);
    if (cell.is_null) return NULL;
    return cell.type == GT_TYPE_STRING  ? gt_strdup(cell.text.bytes)
           : cell.type == GT_TYPE_FLOAT ? gt_format("%.15g", cell.number)
                                        : NULL;
}

/* The text, or without one the value, in the first row that has `value` in the column `key`, which the caller
 * frees; NULL if there is none. */
static char *find_text(const gt_compare_report *report, gt_sheet name, gt_col key, const char *value)
{
    gt_error ignored;
    gt_interner *strings = gt_interner_new();
    gt_table *sheet = gt_perf_sheets_has(report->sheets, name)
                          ? gt_perf_sheets_read(report->sheets, name, strings, &ignored)
                          : NULL;
    size_t keys = sheet ? gt_table_find(sheet, key) : SIZE_MAX;
    char *found = NULL;
    for (size_t row = 0; keys != SIZE_MAX && row < sheet->row_count && !found; row++) {
        gt_cell of_key = gt_table_cell(sheet, keys, row);
        if (of_key.type != GT_TYPE_STRING) break;
        if (of_key.is_null || !gt_str_equals(of_key.text, value)) continue;
        found = print_cell(sheet, GT_COL_TEXT, row);
        if (!found) found = print_cell(sheet, GT_COL_VALUE, row);
    }
    gt_table_free(sheet);
    gt_interner_free(strings);
    return found;
}

char *gt_compare_fact(const gt_compare_report *report, const char *name)
{
    return find_text(report, GT_SHEET_OVERVIEW, GT_COL_NAME, name);
}

static void find_verdict(gt_compare_report *report)
{
    report->judged = gt_compare_fact(report, "judged_device");
    report->verdict = gt_compare_fact(report, "verdict");
    if (!report->verdict || strcmp(report->verdict, gt_trust_verdict(GT_TRUST_FAIL)) != 0) return;
    report->distrust = find_text(report, GT_SHEET_TRUST, GT_COL_LEVEL, gt_trust_level_name(GT_TRUST_FAIL));
    if (!report->distrust) report->distrust = gt_strdup("the report does not say why");
}

void gt_compare_warn(const gt_compare_report *reports, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (reports[i].judged && reports[0].judged && strcmp(reports[i].judged, reports[0].judged) != 0)
            gt_warn("the step of %s is that of %s, its busiest device, but the step of %s that of %s",
                    reports[i].path, reports[i].judged, reports[0].path, reports[0].judged);
    for (size_t i = 0; i < count; i++)
        if (reports[i].distrust) gt_warn("%s: do not trust it: %s", reports[i].path, reports[i].distrust);
}

/* ---- both ---- */

bool gt_compare_open(gt_compare_report *report, gt_compare_wanted wanted, const gt_read_options *read,
                     gt_error *error)
{
    const char *about = report->is_trace ? gt_log_about(report->path) : NULL;
    bool ok = report->is_trace ? open_trace(report, wanted, read, error) : open_report(report, error);
    if (report->is_trace) gt_log_about(about);
    if (ok) find_verdict(report);
    if (ok) report->served = gt_compare_find_served(report);
    return ok;
}

void gt_compare_close(gt_compare_report *report)
{
    gt_perf_sheets_close(report->sheets);
    gt_step_parts_free(report->parts);
    if (report->kept) gt_report_free(report->kept);
    gt_free(report->kept);
    gt_table_list_free(&report->loaded.sheets);
    gt_table_list_free(&report->loaded.page);
    gt_interner_free(report->loaded.strings);
    gt_interner_free(report->saved);
    gt_free_all(report->verdict, report->judged, report->distrust);
    *report = (gt_compare_report){.tag = report->tag, .path = report->path, .is_trace = report->is_trace};
}
