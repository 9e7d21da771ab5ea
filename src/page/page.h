/* The page: one HTML file that answers first and can be explored, without network or server.
 *
 *     gt_page page = {.kind = GT_PAGE_TRACE, .title = "train.json.gz", .answers = json, ...};
 *     gt_page_make(&page, &html);
 *
 * The program of the page is in web/ and is embedded in gputally; this layer gives it data: the front, a JSON
 * object that the first screen is drawn from, and packs of tables (pack.h), which the browser unpacks
 * afterwards. Texts of a trace are only ever data: they reach the page through packs and escaped JSON, and
 * the page shows them as text.
 *
 * Files: page (the document), pack (tables as compressed columns), work (the tables of a
 * schedule), and what work is made of: lanes, gpu, kernels, calls (paths), sums, bins, host; idle,
 * steps, copies, memory, evidence, peaks; categories. */
#pragma once

#include "table/table_list.h"

#define GT_PAGE_SCHEMA "gputally-page/1"

typedef enum gt_page_kind {
    GT_PAGE_TRACE,   /* one trace of any format */
    GT_PAGE_RANKS,   /* one trace per rank */
    GT_PAGE_COMPARE, /* two traces or reports: sources 0 and 1 */
    GT_PAGE_BATCH,
    GT_PAGE_SWEEP,
} gt_page_kind;

/* The tables of one trace or report. */
typedef struct gt_page_source {
    const char *label;           /* as displayed: "train.json.gz", "rank 3" */
    const gt_table_list *sheets; /* those of the workbook */
    const gt_table_list *work;   /* those of schema/page.h; NULL: none */
} gt_page_source;

/* Borrows everything. Texts may be NULL where there is nothing to say. */
typedef struct gt_page {
    gt_page_kind kind;
    const char *title;     /* the file or folder */
    const char *framework; /* "PyTorch", "rocprofv3", "JAX" */
    const char *command;   /* the command line */
    const char *answers;   /* a JSON object: docs/json.md without the sheets */
    const char *facts;     /* a JSON object with more for the first screen; see web/README.md */
    const gt_page_source *sources;
    size_t source_count;
    const char *const *messages; /* warnings about the trace */
    size_t message_count;
    /* HTML that stands in the file next to the data, for readers that run no program: escaped by the caller,
     * without scripts and styles. Sections of the page take its parts (`data-part`) over. Such a page has its
     * title as it is. */
    const char *document;
} gt_page;

/* Adds the whole HTML document. */
void gt_page_make(const gt_page *page, gt_buffer *html);
