/* The page of a report: its answers, facts, sheets and the tables of schema/page.h as one HTML document. */
#include "report/report.h"

#include "base/memory.h"
#include "page/front.h"
#include "page/page.h"
#include "report/answers.h"

static const char *const frameworks[] = {
    [GT_TRACE_ROCPROF] = "rocprofv3", [GT_TRACE_PYTORCH] = "PyTorch", [GT_TRACE_JAX] = "JAX"};

void gt_report_add_page(const gt_report *report, const char *command, gt_buffer *html)
{
    const gt_answers answers = {.trace = report->title, .tables = &report->tables, .omit_sheets = true};
    gt_str trace = gt_answers_trace(&answers);
    char *name = gt_format("%.*s", (int)trace.len, trace.bytes);
    const gt_page_source source = {.label = name, .sheets = &report->tables, .work = &report->page};
    gt_buffer answers_json = {0}, facts = {0};
    gt_answers_json(&answers, &answers_json);
    gt_page_add_facts(&source, &facts);
    const gt_page page = {.kind = GT_PAGE_TRACE,
                          .title = name,
                          .framework = frameworks[report->kind],
                          .command = command,
                          .answers = gt_buffer_str(&answers_json).bytes,
                          .facts = gt_buffer_str(&facts).bytes,
                          .sources = &source,
                          .source_count = 1};
    gt_page_make(&page, html);
    gt_buffer_free(&answers_json);
    gt_buffer_free(&facts);
    gt_free(name);
}
