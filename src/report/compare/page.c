/* The page of a comparison: sources 0 and 1 are the two traces, source 2 is the comparison itself. Reports
 * have no timeline, so their sources are empty. */
#include "report/compare/compare.h"

#include "os/paths.h"
#include "page/front.h"
#include "report/report.h"

static gt_page_source source_of(const gt_compare_report *report)
{
    if (report->loaded.strings)
        return (gt_page_source){
            .label = report->tag, .sheets = &report->loaded.sheets, .work = &report->loaded.page};
    return (gt_page_source){.label = report->tag,
                            .sheets = report->kept ? &report->kept->tables : NULL,
                            .work = report->kept ? &report->kept->page : NULL};
}

static void add_facts(const gt_compare_report reports[2], const gt_page_source *sources,
                      const gt_table_list *tables, const gt_compare_options *options, const char *why_not,
                      gt_buffer *json)
{
    const char **conditions = gt_alloc(options->gate_count * sizeof *conditions);
    for (size_t i = 0; i < options->gate_count; i++) conditions[i] = options->gates[i].condition;
    const gt_page_comparison comparison = {.names = {reports[0].tag, reports[1].tag},
                                           .distrust = {reports[0].distrust, reports[1].distrust},
                                           .sources = sources,
                                           .sheets = tables,
                                           .conditions = conditions,
                                           .condition_count = options->gate_count,
                                           .why_no_waterfall = why_not};
    gt_page_add_compare_facts(&comparison, json);
    gt_free(conditions);
}

/* The page calls a file by its tag. A path without folder may be part of other words, and stays. */
static gt_message_rename rename_of(const gt_compare_report *report)
{
    size_t len = gt_path_name(report->path) > report->path ? strlen(report->path) : 0;
    return (gt_message_rename){report->path, len, report->tag};
}

void gt_compare_add_page(const gt_compare_report reports[2], const gt_table_list *tables,
                         const gt_compare_options *options, const char *command, gt_buffer *html)
{
    static const char *const frameworks[] = {[GT_BY_PYTORCH] = "PyTorch",
                                             [GT_BY_ROCPROF] = "rocprofv3",
                                             [GT_BY_JAX] = "JAX",
                                             [GT_BY_NSYS] = "Nsight Systems"};
    const gt_page_source sources[] = {
        source_of(&reports[0]), source_of(&reports[1]), {.label = "comparison", .sheets = tables}};
    const gt_message_rename renames[] = {rename_of(&reports[0]), rename_of(&reports[1])};
    const char *why_not = options->why_no_waterfall ? *options->why_no_waterfall : NULL;
    char *reason = why_not ? gt_message_rename_all(why_not, renames, GT_LENGTH(renames)) : NULL;
    gt_buffer shown = {0};
    gt_log_add_shown(&shown);
    gt_messages messages = gt_messages_of(&shown, renames, GT_LENGTH(renames));
    char *title = gt_format("%s \u2192 %s", reports[0].tag, reports[1].tag);
    gt_buffer answers = {0}, facts = {0};
    gt_compare_json(reports, 2, tables, &(gt_table_list){0}, NULL, &answers);
    add_facts(reports, sources, tables, options, reason, &facts);
    bool is_same = reports[0].origin == reports[1].origin;
    const gt_page page = {.kind = GT_PAGE_COMPARE,
                          .title = title,
                          .framework = is_same ? frameworks[reports[0].origin] : NULL,
                          .command = command,
                          .answers = gt_buffer_str(&answers).bytes,
                          .facts = gt_buffer_str(&facts).bytes,
                          .sources = sources,
                          .source_count = GT_LENGTH(sources),
                          .messages = (const char *const *)messages.items,
                          .message_count = messages.count};
    gt_page_make(&page, html);
    gt_buffer_free(&answers);
    gt_buffer_free(&facts);
    gt_buffer_free(&shown);
    gt_messages_free(&messages);
    gt_free_all(reason, title);
}
