/* The sheets of one trace for a query; see queried.h. */
#include "cli/queried.h"

#include "analysis/ncu/sheets.h"
#include "os/paths.h"
#include "table/image.h"

/* ---- reading ---- */

typedef struct reading {
    gt_queried *to;
    const char *path;
    const gt_report_options *options;
    bool (*keeps)(const void *context, const char *sheet);
    const void *context;
} reading;

/* The tables get strings of their own, so that the trace can be freed. */
static void keep_tables(const reading *r, const gt_table_list *tables)
{
    gt_queried *q = r->to;
    q->strings = gt_interner_new();
    for (size_t i = 0; i < tables->count; i++) {
        const gt_table *table = tables->items[i];
        bool keeps = r->keeps(r->context, table->name);
        gt_table *copy = keeps ? gt_table_copy(table) : gt_table_copy_rows(table, NULL, 0);
        gt_table_use_strings(copy, q->strings);
        gt_table_list_add(&q->tables, copy);
    }
}

static bool read_ncu(const reading *r, gt_stream *stream, gt_error *error)
{
    gt_ncu *trace = gt_ncu_read(stream, error);
    r->to->kind = GT_QUERIED_NCU;
    if (!trace) return false;
    gt_table_list tables = {0};
    gt_ncu_tables(trace, &tables);
    keep_tables(r, &tables);
    gt_table_list_free(&tables);
    gt_ncu_free(trace);
    return true;
}

/* Findings take a third of the time of a report. They have no influence on other sheets. */
static bool keeps_findings(const reading *r)
{
    static const gt_sheet sheets[] = {GT_SHEET_OVERVIEW,    GT_SHEET_FINDINGS,   GT_SHEET_TRUST,
                                      GT_SHEET_IDLE_CAUSES, GT_SHEET_IDLE_CALLS, GT_SHEET_IDLE_GAPS,
                                      GT_SHEET_BALANCE,     GT_SHEET_WHAT_IF};
    for (size_t i = 0; i < GT_LENGTH(sheets); i++)
        if (r->keeps(r->context, sheets[i].name)) return true;
    return false;
}

/* A folder is a rocprofv3 run, and has no stream: see gt_report_find_traces. */
static bool read_report(const reading *r, gt_stream *stream, gt_error *error)
{
    gt_trace_kind kind = GT_TRACE_ROCPROF;
    if (stream && !gt_report_detect(stream, &kind, error)) return false;
    r->to->kind = kind;
    gt_report report;
    bool ok = gt_report_read(&report, kind, stream, r->path, r->options, error);
    /* An index has all sheets, or gets them. */
    if (ok && !gt_kept_is_found(&report.kept) && !gt_kept_wants(&report.kept))
        report.options.findings = report.options.findings && keeps_findings(r);
    ok = ok && gt_report_make_tables(&report, error);
    if (ok) keep_tables(r, &report.tables);
    gt_report_free(&report);
    return ok;
}

static bool read_trace(const reading *r, gt_error *error)
{
    gt_trace_format format;
    if (gt_path_is_folder(r->path)) return read_report(r, NULL, error);
    if (strcmp(r->path, "-") != 0 && !gt_path_is_file(r->path))
        return gt_fail(error, "%s: no such file or folder", r->path);
    gt_stream *stream = gt_stream_open(r->path, error);
    bool ok = stream && gt_detect(stream, &format, error) &&
              (format == GT_FORMAT_NCU_CSV ? read_ncu(r, stream, error) : read_report(r, stream, error));
    gt_stream_close(stream);
    return ok;
}

void gt_queried_read(gt_queried *q, const char *path, const gt_report_options *options,
                     bool (*keeps)(const void *context, const char *sheet), const void *context)
{
    const reading r = {q, path, options, keeps, context};
    gt_error error = {""};
    *q = (gt_queried){.kind = GT_QUERIED_UNKNOWN};
    if (!read_trace(&r, &error)) q->error = gt_strdup(error.text);
}

const char *gt_queried_format(const gt_queried *q)
{
    static const char *const names[] = {[GT_TRACE_ROCPROF] = "rocprof",
                                        [GT_TRACE_PYTORCH] = "pytorch",
                                        [GT_TRACE_JAX] = "jax",
                                        [GT_TRACE_NSYS] = "nsys"};
    if (q->kind == GT_QUERIED_NCU) return "ncu";
    return q->kind >= 0 && q->kind < (int64_t)GT_LENGTH(names) ? names[q->kind] : NULL;
}

void gt_queried_free(gt_queried *q)
{
    gt_table_list_free(&q->tables);
    gt_interner_free(q->strings);
    gt_interner_free(q->saved);
    gt_free(q->error);
    *q = (gt_queried){0};
}

/* ---- images ---- */

static const char owner[] = "queried";

void gt_queried_save(gt_queried *q, gt_image *image)
{
    gt_image_add_numbers(image, owner, "kind", &q->kind, 1);
    gt_image_add_text(image, owner, "error", q->error);
    q->saved = gt_interner_new();
    gt_tables_save(q->tables.items, q->tables.count, q->saved, image);
    gt_strings_save(q->saved, image);
}

static void add_table(void *list, gt_table *table)
{
    gt_table_list_add(list, table);
}

bool gt_queried_load(gt_queried *q, const gt_image *image)
{
    const int64_t *kind = gt_image_get_all(image, owner, "kind", sizeof *kind, 1);
    *q = (gt_queried){.kind = kind ? *kind : GT_QUERIED_UNKNOWN};
    bool sound = kind && (*kind == GT_QUERIED_UNKNOWN || gt_queried_format(q)) &&
                 gt_image_get_text(image, owner, "error", &q->error) &&
                 (q->strings = gt_strings_load(image)) != NULL &&
                 gt_tables_load(image, q->strings, add_table, &q->tables) &&
                 (q->error || *kind != GT_QUERIED_UNKNOWN);
    if (!sound) gt_queried_free(q);
    return sound;
}

bool gt_queried_is_failure(const gt_image *image)
{
    size_t len;
    return gt_image_get(image, owner, "error", 1, &len) != NULL;
}
