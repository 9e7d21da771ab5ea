/* The page of a report: its answers, facts, sheets and the tables of schema/page.h as one HTML document. */
#include "report/report.h"

#include "os/paths.h"
#include "page/front.h"

static const char *const frameworks[] = {[GT_TRACE_ROCPROF] = "rocprofv3",
                                         [GT_TRACE_PYTORCH] = "PyTorch",
                                         [GT_TRACE_JAX] = "JAX",
                                         [GT_TRACE_NSYS] = "Nsight Systems"};

/* ---- messages ---- */

char *gt_message_rename_all(const char *text, const gt_message_rename *renames, size_t count)
{
    gt_buffer out = {0};
    while (*text) {
        size_t i = 0;
        while (i < count && (renames[i].len < 2 || strncmp(text, renames[i].from, renames[i].len) != 0)) i++;
        if (i < count) {
            gt_buffer_add_cstr(&out, renames[i].to);
            text += renames[i].len;
        } else {
            gt_buffer_add(&out, text++, 1);
        }
    }
    return gt_buffer_take(&out);
}

gt_messages gt_messages_of(const gt_buffer *texts, const gt_message_rename *renames, size_t rename_count)
{
    gt_messages all = {0};
    for (size_t at = 0; at < texts->len; at += strlen(texts->bytes + at) + 1)
        GT_PUSH(all.items, all.count, all.capacity,
                gt_message_rename_all(texts->bytes + at, renames, rename_count));
    if (all.count) qsort(all.items, all.count, sizeof *all.items, gt_by_cstr);
    size_t kept = 0;
    for (size_t i = 0; i < all.count; i++) {
        if (kept && strcmp(all.items[i], all.items[kept - 1]) == 0)
            gt_free(all.items[i]);
        else
            all.items[kept++] = all.items[i];
    }
    all.count = kept;
    return all;
}

void gt_messages_free(gt_messages *messages)
{
    for (size_t i = 0; i < messages->count; i++) gt_free(messages->items[i]);
    gt_free(messages->items);
}

/* ---- the page ---- */

void gt_report_add_page(const gt_report *report, const char *command, gt_buffer *html)
{
    const gt_table_list none = {0};
    const gt_answers answers = {.trace = report->title, .tables = &report->tables, .sheets = &none};
    gt_str trace = gt_answers_trace(&answers);
    char *name = gt_format("%.*s", (int)trace.len, trace.bytes);
    const gt_page_source source = {.label = name, .sheets = &report->tables, .work = &report->page};
    gt_buffer answers_json = {0}, facts = {0};
    const gt_message_rename folder = {report->title, (size_t)(gt_path_name(report->title) - report->title),
                                      ""};
    gt_messages messages = gt_messages_of(&report->messages, &folder, 1);
    gt_answers_json(&answers, &answers_json);
    gt_page_add_facts(&source, &facts);
    const gt_page page = {.kind = GT_PAGE_TRACE,
                          .title = name,
                          .framework = frameworks[report->kind],
                          .command = command,
                          .answers = gt_buffer_str(&answers_json).bytes,
                          .facts = gt_buffer_str(&facts).bytes,
                          .sources = &source,
                          .source_count = 1,
                          .messages = (const char *const *)messages.items,
                          .message_count = messages.count};
    gt_page_make(&page, html);
    gt_messages_free(&messages);
    gt_buffer_free(&answers_json);
    gt_buffer_free(&facts);
    gt_free(name);
}
