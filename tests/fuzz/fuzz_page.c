/* Fuzzes the page: any PyTorch trace, and limits so small that the page leaves most of it out. Two bytes
 * before the trace are the limits of events of GPUs and of the host. The commands (fuzz_command_report) make
 * pages, too, but no input of theirs is large enough for the limits.
 *
 * Whatever the trace contains, a page has the same elements. */
#include "findings/findings.h"
#include "input/chrome/kineto.h"
#include "page/front.h"
#include "page/page.h"
#include "page/work.h"
#include "quiet.h"
#include "sound_table.h"

#include <string.h>

/* How often a page has the begin of a tag of scripts. */
static size_t count_scripts(const gt_buffer *html)
{
    static const char tag[] = "script";
    size_t count = 0;
    for (const char *at = html->bytes;
         (at = memmem(at, (size_t)(html->bytes + html->len - at), tag, strlen(tag))); at += strlen(tag))
        count += at[-1] == '<' || at[-1] == '/';
    return count;
}

static void make_page(const gt_table_list *sheets, const gt_table_list *work)
{
    static size_t usual;
    const gt_page_source source = {.label = "trace", .sheets = sheets, .work = work};
    gt_buffer facts = {0}, html = {0};
    gt_page_add_facts(&source, &facts);
    const gt_page page = {.kind = GT_PAGE_TRACE,
                          .title = "trace",
                          .facts = gt_buffer_str(&facts).bytes,
                          .sources = &source,
                          .source_count = 1};
    gt_page_make(&page, &html);
    size_t scripts = count_scripts(&html);
    if (!usual) usual = scripts;
    if (scripts != usual) abort();
    gt_buffer_free(&facts);
    gt_buffer_free(&html);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    gt_error error = {{0}};
    gt_kineto_options keep = {.python_functions = true, .frames = true, .memory = true};
    gt_read_options read = {.threads = 1};
    gt_stream *stream = gt_stream_memory(data + 2, size - 2, 0, &error);
    if (!stream) return 0;
    gt_pytorch_read *events = gt_kineto_read_stream(stream, keep, &read, &error);
    gt_stream_close(stream);
    if (!events) return 0;
    const gt_findings_options options = {0};
    const gt_page_limits limits = {.gpu_events = data[0], .host_events = data[1]};
    gt_findings *findings = gt_findings_find(gt_pytorch_read_view(events), &options);
    gt_table_list sheets = {0}, work = {0};
    gt_findings_add_sheets(findings, &sheets);
    gt_page_add_work(findings, &limits, &work);
    gt_findings_free(findings);
    for (size_t i = 0; i < sheets.count; i++) check_table(sheets.items[i]);
    for (size_t i = 0; i < work.count; i++) check_table(work.items[i]);
    make_page(&sheets, &work);
    gt_table_list_free(&sheets);
    gt_table_list_free(&work);
    gt_pytorch_read_free(events);
    return 0;
}
