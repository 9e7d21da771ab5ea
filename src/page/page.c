/* The document: the frame, with style, program, front and packs in their places.
 *
 * Nothing of a trace may become HTML. The title is escaped, the front is JSON without any character that HTML
 * interprets, and packs are base64. */
#include "page/page.h"

#include "base/raise.h"
#include "base/team.h"
#include "json/string.h"
#include "json/writer.h"
#include "output/text.h"
#include "page/pack.h"
#include "page/program.h"
#include "page/words.h"
#include "table/operations.h"

enum { SHEET_ROWS_MAX = 20000, STRING_BYTES_MAX = 4000 };

/* What the page leaves out, as sentences. */
typedef struct gt_page_notes {
    char **items;
    size_t count, capacity;
} gt_page_notes;

static void add_note(gt_page_notes *notes, char *sentence)
{
    GT_PUSH(notes->items, notes->count, notes->capacity, sentence);
}

/* ---- packs ---- */

/* Whether a column has the times by which rows are worth showing. */
static bool is_time(const gt_column *column)
{
    static const char *const not_these[] = {"start", "mean", "median", "std", "min", "max", "ercent"};
    gt_str name = {column->name, strlen(column->name)};
    if (column->type != GT_TYPE_INT && column->type != GT_TYPE_FLOAT) return false;
    for (size_t i = 0; i < GT_LENGTH(not_these); i++)
        if (gt_str_contains(name, not_these[i])) return false;
    return gt_str_contains(name, "dur") || gt_str_contains_nocase(name, "time") ||
           gt_str_equals(name, "ns") || gt_str_equals(name, "ms");
}

static const gt_column *time_of(const gt_table *sheet)
{
    for (size_t c = 0; c < sheet->column_count; c++)
        if (is_time(&sheet->columns[c])) return &sheet->columns[c];
    return NULL;
}

/* The rows with the most time, in the order of the sheet; without times the first ones. */
static gt_table *cut_sheet(const gt_table *sheet)
{
    const gt_column *time = time_of(sheet);
    if (!time) return gt_table_copy_rows(sheet, NULL, SHEET_ROWS_MAX);
    uint32_t *rows = gt_order_new(sheet->row_count);
    gt_order_by_column(rows, sheet->row_count, time, sheet->strings, true);
    uint32_t *places = gt_order_by_numbers(rows, SHEET_ROWS_MAX);
    uint32_t *kept = gt_alloc(SHEET_ROWS_MAX * sizeof *kept);
    for (size_t i = 0; i < SHEET_ROWS_MAX; i++) kept[i] = rows[places[i]];
    gt_table *cut = gt_table_copy_rows(sheet, kept, SHEET_ROWS_MAX);
    gt_free_all(kept, places, rows);
    return cut;
}

static void note_cut_sheet(gt_page_notes *notes, const gt_table *sheet)
{
    gt_buffer note = {0};
    gt_buffer_add_format(&note, "The sheet %s has ", sheet->name);
    gt_words_add_count(&note, sheet->row_count);
    gt_buffer_add_cstr(&note, time_of(sheet) ? " rows; the page has the " : " rows; the page has the first ");
    gt_words_add_count(&note, SHEET_ROWS_MAX);
    gt_buffer_add_cstr(&note, time_of(sheet) ? " with the most time." : ".");
    add_note(notes, gt_buffer_take(&note));
}

typedef struct page_packs {
    gt_table_list cut;           /* sheets that were too long */
    size_t cut_sheets, cut_work; /* strings that were too long */
    gt_page_notes notes;
    gt_buffer sheets, work; /* base64 */
} page_packs;

/* Returns how many strings were cut. */
static size_t write_pack(gt_pack *pack, gt_buffer *out)
{
    gt_pack_write(pack, out);
    size_t cut = gt_pack_cut_count(pack);
    gt_pack_free(pack);
    return cut;
}

static void pack_sheets(const gt_page *page, page_packs *packs)
{
    gt_pack *pack = gt_pack_new(STRING_BYTES_MAX);
    for (size_t source = 0; source < page->source_count; source++) {
        const gt_table_list *sheets = page->sources[source].sheets;
        for (size_t i = 0; sheets && i < sheets->count; i++) {
            const gt_table *sheet = sheets->items[i];
            if (sheet->row_count > SHEET_ROWS_MAX) {
                note_cut_sheet(&packs->notes, sheet);
                gt_table_list_add(&packs->cut, cut_sheet(sheet));
                sheet = packs->cut.items[packs->cut.count - 1];
            }
            gt_pack_add(pack, source, sheet);
        }
    }
    packs->cut_sheets = write_pack(pack, &packs->sheets);
}

static void pack_work(const gt_page *page, page_packs *packs)
{
    gt_pack *pack = gt_pack_new(STRING_BYTES_MAX);
    for (size_t source = 0; source < page->source_count; source++) {
        const gt_table_list *work = page->sources[source].work;
        for (size_t i = 0; work && i < work->count; i++) gt_pack_add(pack, source, work->items[i]);
    }
    packs->cut_work = write_pack(pack, &packs->work);
}

/* Sheets and work at the same time. */
typedef struct packing {
    const gt_page *page;
    page_packs *packs;
} packing;

static void pack_half(void *context, size_t index)
{
    const packing *job = context;
    if (index == 0)
        pack_sheets(job->page, job->packs);
    else
        pack_work(job->page, job->packs);
}

static void free_packs(page_packs *packs)
{
    gt_table_list_free(&packs->cut);
    for (size_t i = 0; i < packs->notes.count; i++) gt_free(packs->notes.items[i]);
    gt_free(packs->notes.items);
    gt_buffer_free(&packs->sheets);
    gt_buffer_free(&packs->work);
}

/* ---- the front ---- */

static const char *const kind_names[] = {[GT_PAGE_TRACE] = "trace",
                                         [GT_PAGE_RANKS] = "ranks",
                                         [GT_PAGE_COMPARE] = "compare",
                                         [GT_PAGE_BATCH] = "batch",
                                         [GT_PAGE_SWEEP] = "sweep"};

/* A JSON object of the caller, without white space. */
static void put_object(gt_json_writer *w, const char *key, const char *json)
{
    gt_buffer compact = {0};
    if (json)
        gt_json_add_compact(&compact, (gt_str){json, strlen(json)});
    else
        gt_buffer_add_cstr(&compact, "{}");
    gt_json_key(w, key);
    gt_json_add_raw(w, gt_buffer_str(&compact));
    gt_buffer_free(&compact);
}

static void write_front(const gt_page *page, const gt_page_notes *notes, gt_json_writer *w)
{
    gt_json_open(w, '{');
    gt_json_put_cstr(w, "schema", GT_PAGE_SCHEMA);
    gt_json_put_cstr(w, "version", GT_VERSION);
    gt_json_put_cstr(w, "kind", kind_names[page->kind]);
    gt_json_put_cstr(w, "title", page->title);
    gt_json_put_cstr(w, "framework", page->framework);
    gt_json_put_cstr(w, "command", page->command);
    gt_json_put_open(w, "sources", '[');
    for (size_t i = 0; i < page->source_count; i++) gt_json_add_cstr(w, page->sources[i].label);
    gt_json_close(w, ']');
    gt_json_put_cstrs(w, "notes", (const char *const *)notes->items, notes->count);
    gt_json_put_cstrs(w, "messages", page->messages, page->message_count);
    put_object(w, "answers", page->answers);
    put_object(w, "facts", page->facts);
    gt_json_close(w, '}');
}

/* Adds JSON with the characters escaped that HTML interprets, and the line ends that only JavaScript has. In
 * JSON they occur in strings alone, where an escape means the same. */
static void add_safe_json(gt_buffer *html, gt_str json)
{
    const char *end = json.bytes + json.len;
    for (const char *at = json.bytes; at < end; at++) {
        bool is_line_end =
            end - at >= 3 && memcmp(at, "\xE2\x80", 2) == 0 && ((unsigned char)at[2] & 0xFE) == 0xA8;
        if (is_line_end) {
            gt_buffer_add_format(html, "\\u%04x", 0x2028 + (at[2] & 1));
            at += 2;
        } else if (*at == '<' || *at == '>' || *at == '&') {
            gt_buffer_add_format(html, "\\u%04x", (unsigned)*at);
        } else {
            gt_buffer_add(html, at, 1);
        }
    }
}

static void add_front(const gt_page *page, const gt_page_notes *notes, gt_buffer *html)
{
    gt_json_writer w = {0};
    write_front(page, notes, &w);
    gt_buffer compact = {0};
    gt_json_add_compact(&compact, gt_buffer_str(&w.text));
    add_safe_json(html, gt_buffer_str(&compact));
    gt_buffer_free(&compact);
    gt_json_writer_free(&w);
}

/* ---- the document ---- */

static void add_pack(gt_buffer *html, const gt_buffer *base64)
{
    gt_buffer_add_cstr(html, "<script type=\"application/octet-stream\">");
    gt_buffer_add(html, base64->bytes, base64->len);
    gt_buffer_add_cstr(html, "</script>\n");
}

static void add_str(gt_buffer *html, gt_str text)
{
    gt_buffer_add(html, text.bytes, text.len);
}

/* Puts in what stands for @NAME@. */
static void add_part(const gt_page *page, const page_packs *packs, gt_str name, gt_buffer *html)
{
    if (gt_str_equals(name, "CSP")) {
        gt_page_add_policy(html);
    } else if (gt_str_equals(name, "TITLE")) {
        gt_html_add_text(html, page->title ? page->title : "gputally");
        if (page->title && !page->document) gt_buffer_add_cstr(html, " \u2013 gputally");
    } else if (gt_str_equals(name, "DOCUMENT")) {
        if (page->document) gt_buffer_add_cstr(html, page->document);
    } else if (gt_str_equals(name, "STYLE")) {
        add_str(html, gt_page_style());
    } else if (gt_str_equals(name, "PROGRAM")) {
        add_str(html, gt_page_program());
    } else if (gt_str_equals(name, "FRONT")) {
        add_front(page, &packs->notes, html);
    } else if (gt_str_equals(name, "PACKS")) {
        add_pack(html, &packs->sheets);
        add_pack(html, &packs->work);
    } else {
        gt_raise_internal("the page has no part %.*s", (int)name.len, name.bytes);
    }
}

static void fill_frame(const gt_page *page, const page_packs *packs, gt_buffer *html)
{
    gt_str frame = gt_page_frame();
    const char *at = frame.bytes, *end = frame.bytes + frame.len;
    for (;;) {
        const char *begin = memchr(at, '@', (size_t)(end - at));
        if (!begin) break;
        const char *close = memchr(begin + 1, '@', (size_t)(end - begin - 1));
        GT_CHECK(close);
        gt_buffer_add(html, at, (size_t)(begin - at));
        add_part(page, packs, (gt_str){begin + 1, (size_t)(close - begin - 1)}, html);
        at = close + 1;
    }
    gt_buffer_add(html, at, (size_t)(end - at));
}

void gt_page_make(const gt_page *page, gt_buffer *html)
{
    page_packs packs = {0};
    packing job = {page, &packs};
    gt_parallel_each(2, pack_half, &job);
    if (packs.cut_sheets || packs.cut_work)
        add_note(&packs.notes, gt_strdup("Strings of more than 4,000 bytes are cut."));
    gt_buffer_reserve(html, gt_page_style().len + gt_page_program().len + packs.sheets.len + packs.work.len);
    fill_frame(page, &packs, html);
    free_packs(&packs);
}
