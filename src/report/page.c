/* The page of a report: its answers, facts, sheets and the tables of schema/page.h as one HTML document. */
#include "report/report.h"

#include "base/memory.h"
#include "os/paths.h"
#include "page/front.h"
#include "page/page.h"
#include "report/answers.h"

#include <stdlib.h>
#include <string.h>

static const char *const frameworks[] = {[GT_TRACE_ROCPROF] = "rocprofv3",
                                         [GT_TRACE_PYTORCH] = "PyTorch",
                                         [GT_TRACE_JAX] = "JAX",
                                         [GT_TRACE_NSYS] = "Nsight Systems"};

/* ---- messages ---- */

typedef struct message_list {
    char **items;
    size_t count, capacity;
} message_list;

/* Without the folder of the trace: pages do not say where files were. */
static char *without_folder(const char *text, const char *path)
{
    size_t len = (size_t)(gt_path_name(path) - path);
    gt_buffer out = {0};
    while (*text) {
        if (len > 1 && strncmp(text, path, len) == 0)
            text += len;
        else
            gt_buffer_add(&out, text++, 1);
    }
    char *result = gt_strdup(gt_buffer_str(&out).bytes);
    gt_buffer_free(&out);
    return result;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Each message once, in the order of their texts: which comes first may depend on threads. */
static message_list find_messages(const gt_report *report)
{
    message_list all = {0};
    const gt_buffer *messages = &report->messages;
    for (size_t at = 0; at < messages->len; at += strlen(messages->bytes + at) + 1)
        GT_PUSH(all.items, all.count, all.capacity, without_folder(messages->bytes + at, report->title));
    if (all.count) qsort(all.items, all.count, sizeof *all.items, by_text);
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

static void free_messages(message_list *messages)
{
    for (size_t i = 0; i < messages->count; i++) gt_free(messages->items[i]);
    gt_free(messages->items);
}

/* ---- the page ---- */

void gt_report_add_page(const gt_report *report, const char *command, gt_buffer *html)
{
    const gt_answers answers = {.trace = report->title, .tables = &report->tables, .omit_sheets = true};
    gt_str trace = gt_answers_trace(&answers);
    char *name = gt_format("%.*s", (int)trace.len, trace.bytes);
    const gt_page_source source = {.label = name, .sheets = &report->tables, .work = &report->page};
    gt_buffer answers_json = {0}, facts = {0};
    message_list messages = find_messages(report);
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
    free_messages(&messages);
    gt_buffer_free(&answers_json);
    gt_buffer_free(&facts);
    gt_free(name);
}
