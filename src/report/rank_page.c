/* The page of all ranks: who waits for whom at which collective, and how long a step takes on each rank.
 *
 * The kernels of one collective end together, so a rank waits for as long as its kernel is longer than the
 * shortest one, which is that of the rank that came last. These are durations within one trace: clocks of
 * ranks need not agree. A page holds up to CELLS_MAX waits; of more collectives it has those with the most
 * waiting, in their order, and of very many ranks the ones that wait or are waited for the most. */
#include "report/collective.h"

#include "page/page.h"
#include "page/words.h"
#include "report/report.h"
#include "schema/page.h"

enum { CELLS_MAX = 512 * 512, RANKS_MAX = 1024 };

/* ---- waits ---- */

typedef struct rank_sums {
    int64_t wait_ns, blame_ns; /* for others; of others */
    int64_t last;              /* collectives at which it came last */
    bool is_kept;
} rank_sums;

typedef struct waits {
    const gt_table *events; /* nccl_long, and two of its columns */
    const gt_column *durations, *event_ranks;
    gt_collective_matches matches;
    gt_collective_sync sync;
    int64_t *collective_ns; /* by place in sync: all waiting */
    rank_sums *ranks;       /* of matches.ranks */
    size_t kept_ranks;
} waits;

static int64_t whole_ns(double us)
{
    return fabs(us) < 1e15 ? (int64_t)llround(us * 1e3) : 0; /* NaN: 0 */
}

static int64_t ns_of(const waits *w, uint32_t row)
{
    return whole_ns(gt_column_number(w->durations, row));
}

static size_t rank_of(const waits *w, uint32_t row)
{
    return (size_t)gt_column_number(w->event_ranks, row);
}

/* The row with the shortest kernel. */
static uint32_t last_row(const waits *w, const uint32_t *rows, size_t count)
{
    uint32_t found = rows[0];
    for (size_t i = 1; i < count; i++)
        if (ns_of(w, rows[i]) < ns_of(w, found)) found = rows[i];
    return found;
}

static const uint32_t *rows_of(const waits *w, size_t place, size_t *count)
{
    size_t collective = w->sync.collectives[place], begin = w->matches.begins[collective];
    *count = w->matches.begins[collective + 1] - begin;
    return w->matches.rows + begin;
}

static void add_collective(waits *w, size_t place)
{
    size_t count;
    const uint32_t *rows = rows_of(w, place, &count);
    if (count < 2) return;
    uint32_t last = last_row(w, rows, count);
    for (size_t i = 0; i < count; i++) {
        int64_t wait_ns = ns_of(w, rows[i]) - ns_of(w, last);
        w->ranks[rank_of(w, rows[i])].wait_ns += wait_ns;
        w->collective_ns[place] += wait_ns;
    }
    if (!w->collective_ns[place]) return; /* all came at once */
    w->ranks[rank_of(w, last)].blame_ns += w->collective_ns[place];
    w->ranks[rank_of(w, last)].last++;
}

/* Places with the largest numbers, at most `most`, ascending. The caller frees them. */
static uint32_t *largest(const int64_t *numbers, size_t count, size_t most, size_t *kept)
{
    uint32_t *order = gt_order_new(count);
    gt_order_by_ints(order, count, numbers, NULL, true);
    *kept = count < most ? count : most;
    bool *is_kept = gt_alloc_zero(count, sizeof *is_kept);
    for (size_t i = 0; i < *kept; i++) is_kept[order[i]] = true;
    for (size_t i = 0, at = 0; i < count; i++)
        if (is_kept[i]) order[at++] = (uint32_t)i;
    gt_free(is_kept);
    return order;
}

static void choose_ranks(waits *w)
{
    size_t count = (size_t)w->matches.ranks;
    int64_t *weights = gt_alloc(count * sizeof *weights);
    for (size_t i = 0; i < count; i++) weights[i] = w->ranks[i].wait_ns + w->ranks[i].blame_ns;
    uint32_t *kept = largest(weights, count, RANKS_MAX, &w->kept_ranks);
    for (size_t i = 0; i < w->kept_ranks; i++) w->ranks[kept[i]].is_kept = true;
    gt_free_all(kept, weights);
}

/* False if there are no collectives at which ranks wait. */
static bool find_waits(waits *w, const gt_table_list *sheets)
{
    gt_error ignored;
    const gt_table *sync = gt_table_list_find(sheets, GT_SHEET_NCCL_IMPLICIT_SYNC);
    *w = (waits){.events = gt_table_list_find(sheets, GT_SHEET_NCCL_LONG)};
    if (!w->events || !w->events->row_count || !sync || !sync->row_count) return false;
    w->durations = gt_table_column(w->events, GT_COL_DUR);
    w->event_ranks = gt_table_column(w->events, GT_COL_RANK);
    w->matches = gt_collective_match(w->events);
    gt_collective_sync_find(&w->sync, &w->matches, false, GT_MISMATCH_SKIP, &ignored);
    if (!w->sync.count) /* the sheet has collectives that only their order tells */
        gt_collective_sync_find(&w->sync, &w->matches, true, GT_MISMATCH_SKIP, &ignored);
    w->ranks = gt_alloc_zero((size_t)w->matches.ranks, sizeof *w->ranks);
    w->collective_ns = gt_alloc_zero(w->sync.count, sizeof *w->collective_ns);
    for (size_t i = 0; i < w->sync.count; i++) add_collective(w, i);
    choose_ranks(w);
    return true;
}

static void free_waits(waits *w)
{
    gt_collective_sync_free(&w->sync);
    if (w->events) gt_collective_matches_free(&w->matches);
    gt_free_all(w->collective_ns, w->ranks);
}

/* ---- tables ---- */

enum { W_RANK, W_COLLECTIVE, W_NAME, W_START, W_NS, W_WAIT };

static double first_start_us(const waits *w)
{
    const gt_column *starts = gt_table_column(w->events, GT_COL_TS);
    double first = INFINITY;
    for (size_t row = 0; row < w->events->row_count; row++)
        first = fmin(first, gt_column_number(starts, row));
    return first;
}

static void add_waits(const waits *w, gt_interner *strings, gt_table_list *tables)
{
    static const gt_column_head heads[] = {
        {GT_COL_PAGE_RANK, GT_TYPE_INT},    {GT_COL_PAGE_COLLECTIVE, GT_TYPE_INT},
        {GT_COL_PAGE_NAME, GT_TYPE_STRING}, {GT_COL_PAGE_START, GT_TYPE_INT},
        {GT_COL_PAGE_NS, GT_TYPE_INT},      {GT_COL_PAGE_WAIT, GT_TYPE_INT}};
    const gt_column *starts = gt_table_column(w->events, GT_COL_TS);
    const gt_column *names = gt_table_column(w->events, GT_COL_COLLECTIVE_NAME);
    double first_us = first_start_us(w);
    gt_table *table = gt_table_new(GT_SHEET_PAGE_RANK_WAITS, strings);
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    size_t kept;
    size_t most = w->kept_ranks ? CELLS_MAX / w->kept_ranks : 0;
    uint32_t *places = largest(w->collective_ns, w->sync.count, most, &kept);
    for (size_t p = 0; p < kept; p++) {
        size_t count;
        const uint32_t *rows = rows_of(w, places[p], &count);
        int64_t shortest = ns_of(w, last_row(w, rows, count));
        for (size_t i = 0; i < count; i++) {
            if (!w->ranks[rank_of(w, rows[i])].is_kept) continue;
            size_t row = gt_table_add_row(table);
            double start_us = gt_column_number(starts, rows[i]) - first_us;
            gt_table_set_int(table, W_RANK, row, (int64_t)rank_of(w, rows[i]));
            gt_table_set_int(table, W_COLLECTIVE, row, places[p]);
            if (names && names->type == GT_TYPE_STRING && !gt_column_is_null(names, rows[i]))
                gt_table_set_cstr(table, W_NAME, row,
                                  gt_interner_get(w->events->strings, names->texts[rows[i]]).bytes);
            if (isfinite(start_us)) gt_table_set_int(table, W_START, row, whole_ns(start_us));
            gt_table_set_int(table, W_NS, row, ns_of(w, rows[i]));
            gt_table_set_int(table, W_WAIT, row, ns_of(w, rows[i]) - shortest);
        }
    }
    gt_free(places);
    gt_table_list_add(tables, table);
}

enum { S_RANK, S_STEP, S_BUSY, S_IDLE, S_EXPOSED, S_EXPOSED_WAIT, S_LATE, S_WAIT, S_LAST, S_BLAME, S_PAGE };

/* A time of the sheet rank_causes, if that has the rank. */
static void copy_ms(gt_table *table, size_t column, size_t row, const gt_table *causes, gt_col name,
                    size_t from)
{
    double ms =
        causes && from < causes->row_count ? gt_column_number(gt_table_column(causes, name), from) : NAN;
    if (isfinite(ms)) gt_table_set_int(table, column, row, whole_ns(ms * 1e3));
}

static void add_steps(const waits *w, const gt_ranks_page *page, gt_interner *strings, gt_table_list *tables)
{
    static const gt_column_head heads[] = {
        {GT_COL_PAGE_RANK, GT_TYPE_INT},       {GT_COL_PAGE_STEP_NS, GT_TYPE_INT},
        {GT_COL_PAGE_BUSY_NS, GT_TYPE_INT},    {GT_COL_PAGE_IDLE_NS, GT_TYPE_INT},
        {GT_COL_PAGE_EXPOSED_NS, GT_TYPE_INT}, {GT_COL_PAGE_EXPOSED_WAIT_NS, GT_TYPE_INT},
        {GT_COL_PAGE_LATE_NS, GT_TYPE_INT},    {GT_COL_PAGE_WAIT_NS, GT_TYPE_INT},
        {GT_COL_PAGE_LAST, GT_TYPE_INT},       {GT_COL_PAGE_BLAME_NS, GT_TYPE_INT},
        {GT_COL_PAGE_PAGE, GT_TYPE_STRING}};
    const gt_table *causes = gt_table_list_find(page->sheets, GT_SHEET_RANK_CAUSES);
    gt_table *table = gt_table_new(GT_SHEET_PAGE_RANK_STEPS, strings);
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    size_t count = (size_t)w->matches.ranks;
    size_t *from = gt_alloc(count * sizeof *from);
    for (size_t rank = 0; rank < count; rank++) from[rank] = SIZE_MAX;
    for (size_t row = 0; causes && row < causes->row_count; row++) {
        double rank = gt_column_number(gt_table_column(causes, GT_COL_RANK), row);
        if (rank >= 0 && rank < (double)count) from[(size_t)rank] = row;
    }
    for (size_t rank = 0; rank < count; rank++) {
        if (!w->ranks[rank].is_kept) continue;
        size_t row = gt_table_add_row(table);
        gt_table_set_int(table, S_RANK, row, (int64_t)rank);
        copy_ms(table, S_STEP, row, causes, GT_COL_STEP_MS, from[rank]);
        copy_ms(table, S_BUSY, row, causes, GT_COL_COMPUTE_MS, from[rank]);
        copy_ms(table, S_IDLE, row, causes, GT_COL_IDLE_MS, from[rank]);
        copy_ms(table, S_EXPOSED, row, causes, GT_COL_EXPOSED_COMM_MS, from[rank]);
        copy_ms(table, S_EXPOSED_WAIT, row, causes, GT_COL_EXPOSED_WAIT_MS, from[rank]);
        copy_ms(table, S_LATE, row, causes, GT_COL_LATE_MS, from[rank]);
        gt_table_set_int(table, S_WAIT, row, w->ranks[rank].wait_ns);
        gt_table_set_int(table, S_LAST, row, w->ranks[rank].last);
        gt_table_set_int(table, S_BLAME, row, w->ranks[rank].blame_ns);
        if (rank < page->rank_count && page->pages && page->pages[rank])
            gt_table_set_cstr(table, S_PAGE, row, page->pages[rank]);
    }
    gt_free(from);
    gt_table_list_add(tables, table);
}

static void add_facts_table(const waits *w, gt_interner *strings, gt_table_list *tables)
{
    static const gt_column_head heads[] = {{GT_COL_PAGE_NAME, GT_TYPE_STRING},
                                           {GT_COL_PAGE_VALUE, GT_TYPE_INT}};
    gt_table *table = gt_table_new(GT_SHEET_PAGE_FACTS, strings);
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    const struct {
        const char *name;
        int64_t value;
    } facts[] = {{"collectives", (int64_t)w->sync.count}, {"ranks", w->matches.ranks}};
    for (size_t i = 0; i < GT_LENGTH(facts); i++) {
        size_t row = gt_table_add_row(table);
        gt_table_set_cstr(table, 0, row, facts[i].name);
        gt_table_set_int(table, 1, row, facts[i].value);
    }
    gt_table_list_add(tables, table);
}

/* ---- the first screen ---- */

/* The verdict of the sheet overview; otherwise who came last, by the waits. */
static void add_sentence(const waits *w, const gt_ranks_page *page, gt_buffer *out)
{
    const gt_table *overview = gt_table_list_find(page->sheets, GT_SHEET_OVERVIEW);
    for (size_t row = 0; overview && row < overview->row_count; row++) {
        if (!gt_str_equals(gt_answers_cell(overview, GT_COL_NAME, row), "all_ranks")) continue;
        gt_str text = gt_answers_cell(overview, GT_COL_TEXT, row);
        for (size_t i = 0; i < text.len; i++)
            if (text.bytes[i] != '*') gt_buffer_add(out, &text.bytes[i], 1);
        if (out->len && out->bytes[out->len - 1] != '.') gt_buffer_add_cstr(out, ".");
        if (!out->len) break;
        if (out->bytes[0] >= 'a' && out->bytes[0] <= 'z') out->bytes[0] -= 'a' - 'A';
        return;
    }
    size_t worst = 0;
    int64_t all_ns = 0;
    for (size_t rank = 0; w->ranks && rank < (size_t)w->matches.ranks; rank++) {
        all_ns += w->ranks[rank].wait_ns;
        if (w->ranks[rank].blame_ns > w->ranks[worst].blame_ns) worst = rank;
    }
    if (!all_ns) {
        gt_buffer_add_cstr(out, "No rank waits for another at a collective.");
        return;
    }
    gt_buffer_add_format(out, "The ranks wait the most for *rank %zu*: *", worst);
    gt_words_add_share(out, (double)w->ranks[worst].blame_ns, (double)all_ns);
    gt_buffer_add_cstr(out, "* of all waiting at collectives. It comes last at ");
    gt_words_add_count(out, (uint64_t)w->ranks[worst].last);
    gt_buffer_add_cstr(out, " of ");
    gt_words_add_count(out, w->sync.count);
    gt_buffer_add_cstr(out, ".");
}

static double overview_value(const gt_table *overview, const char *name)
{
    for (size_t row = 0; overview && row < overview->row_count; row++)
        if (gt_str_equals(gt_answers_cell(overview, GT_COL_NAME, row), name))
            return gt_column_number(gt_table_column(overview, GT_COL_VALUE), row);
    return NAN;
}

static void add_tile(gt_json_writer *json, const char *id, const char *label, double ms, const char *detail)
{
    if (!isfinite(ms)) return;
    gt_time_unit unit = gt_words_time_unit(ms > 0 ? ms * 1e6 : 1e6);
    gt_json_open(json, '{');
    gt_json_put_cstr(json, "id", id);
    gt_json_put_cstr(json, "label", label);
    gt_json_put_real(json, "value", ms * 1e6 / unit.ns);
    gt_json_put_cstr(json, "unit", unit.name);
    gt_json_put_cstr(json, "detail", detail);
    gt_json_close(json, '}');
}

/* Figures of the sheets overview and rank_causes, if whole traces were read. */
static void add_tiles(const gt_ranks_page *page, gt_json_writer *json)
{
    const gt_table *overview = gt_table_list_find(page->sheets, GT_SHEET_OVERVIEW);
    const gt_table *causes = gt_table_list_find(page->sheets, GT_SHEET_RANK_CAUSES);
    double late_ms = NAN;
    size_t latest = 0;
    for (size_t row = 0; causes && row < causes->row_count; row++) {
        double ms = gt_column_number(gt_table_column(causes, GT_COL_LATE_MS), row);
        if (ms <= late_ms || isnan(ms)) continue;
        late_ms = ms;
        latest = (size_t)gt_column_number(gt_table_column(causes, GT_COL_RANK), row);
    }
    char *which = gt_format("rank %zu, against the median rank", latest);
    gt_json_put_open(json, "tiles", '[');
    add_tile(json, "step", "step time", overview_value(overview, "step_ms"), "mean of ranks");
    add_tile(json, "busy", "GPU busy", overview_value(overview, "busy_ms"), "mean of ranks");
    add_tile(json, "waiting", "waiting for ranks", overview_value(overview, "wait_ms"),
             "mean of ranks, per step");
    add_tile(json, "late", "latest rank", late_ms, which);
    add_tile(json, "fixed", "step time if repaired", overview_value(overview, "all_fixed_ms"),
             "estimate with all findings repaired, mean of ranks");
    gt_json_close(json, ']');
    gt_free(which);
}

static void add_note(const waits *w, gt_json_writer *json)
{
    size_t most = w->kept_ranks ? CELLS_MAX / w->kept_ranks : 0;
    gt_json_put_open(json, "notes", '[');
    if (w->sync.count > most) {
        gt_buffer note = {0};
        gt_buffer_add_cstr(&note, "The heat map has the ");
        gt_words_add_count(&note, most);
        gt_buffer_add_cstr(&note, " collectives with the most waiting, of ");
        gt_words_add_count(&note, w->sync.count);
        gt_buffer_add_cstr(&note, ". Sums of ranks are those of all collectives.");
        gt_json_add_cstr(json, gt_buffer_str(&note).bytes);
        gt_buffer_free(&note);
    }
    if (w->kept_ranks < (size_t)w->matches.ranks)
        gt_json_add_cstr(json, "Only the 1,024 ranks that wait or are waited for the most are drawn.");
    gt_json_close(json, ']');
}

static void add_facts(const waits *w, const gt_ranks_page *page, gt_buffer *out)
{
    gt_buffer sentence = {0};
    gt_json_writer json = {0};
    add_sentence(w, page, &sentence);
    gt_json_open(&json, '{');
    gt_json_put_cstr(&json, "sentence", gt_buffer_str(&sentence).bytes);
    add_tiles(page, &json);
    add_note(w, &json);
    gt_json_close(&json, '}');
    gt_buffer_add(out, json.text.bytes, json.text.len);
    gt_json_writer_free(&json);
    gt_buffer_free(&sentence);
}

/* ---- sheets ---- */

/* Sheets of many ranks can have thousands of columns, rank_0_ts and so on, of which the page needs none: a
 * copy without them; NULL if the sheet is small enough. */
static gt_table *without_rank_columns(const gt_table *sheet)
{
    if (!sheet->row_count || sheet->column_count <= CELLS_MAX / sheet->row_count) return NULL;
    size_t *columns = gt_alloc(sheet->column_count * sizeof *columns);
    size_t count = 0;
    for (size_t c = 0; c < sheet->column_count; c++)
        if (strncmp(sheet->columns[c].name, "rank_", strlen("rank_")) != 0) columns[count++] = c;
    gt_table *copy = NULL;
    if (count < sheet->column_count) {
        copy = gt_table_copy(sheet);
        gt_table_arrange(copy, columns, count);
    }
    gt_free(columns);
    return copy;
}

/* The sheets for the page; `copies` owns those that are not the caller's. */
static gt_table_list sheets_of_page(const gt_table_list *sheets, gt_table_list *copies)
{
    gt_table_list list = {0};
    for (size_t i = 0; i < sheets->count; i++) {
        gt_table *copy = without_rank_columns(sheets->items[i]);
        if (copy) gt_table_list_add(copies, copy);
        gt_table_list_add(&list, copy ? copy : sheets->items[i]);
    }
    return list;
}

/* Files by their names, and the folder by its own. */
static gt_messages find_messages(const gt_ranks_page *ranks)
{
    char *inside = gt_format("%s/", ranks->folder);
    size_t len = strchr(ranks->folder, '/') ? strlen(ranks->folder) : 0;
    const gt_message_rename renames[] = {{inside, strlen(inside), ""}, {ranks->folder, len, ranks->title}};
    gt_buffer shown = {0};
    gt_log_add_shown(&shown);
    gt_messages messages = gt_messages_of(&shown, renames, GT_LENGTH(renames));
    gt_buffer_free(&shown);
    gt_free(inside);
    return messages;
}

void gt_ranks_add_page(const gt_ranks_page *ranks, gt_buffer *html)
{
    const gt_table_list none = {0};
    const gt_answers answers = {.trace = ranks->title, .tables = ranks->sheets, .sheets = &none};
    gt_interner *strings = gt_interner_new();
    gt_table_list work = {0}, copies = {0};
    gt_table_list sheets = sheets_of_page(ranks->sheets, &copies);
    gt_buffer answers_json = {0}, facts = {0};
    waits w;
    bool has_waits = find_waits(&w, ranks->sheets);
    if (has_waits) {
        add_waits(&w, strings, &work);
        add_steps(&w, ranks, strings, &work);
        add_facts_table(&w, strings, &work);
    }
    if (gt_answers_exist(ranks->sheets)) gt_answers_json(&answers, &answers_json);
    add_facts(&w, ranks, &facts);
    gt_messages messages = find_messages(ranks);
    const gt_page_source source = {.label = ranks->title, .sheets = &sheets, .work = &work};
    const gt_page page = {.kind = GT_PAGE_RANKS,
                          .title = ranks->title,
                          .framework = "PyTorch",
                          .command = ranks->command,
                          .answers = answers_json.len ? gt_buffer_str(&answers_json).bytes : NULL,
                          .facts = gt_buffer_str(&facts).bytes,
                          .sources = &source,
                          .source_count = 1,
                          .messages = (const char *const *)messages.items,
                          .message_count = messages.count};
    gt_page_make(&page, html);
    gt_messages_free(&messages);
    free_waits(&w);
    gt_buffer_free(&answers_json);
    gt_buffer_free(&facts);
    gt_table_list_free(&work);
    gt_table_list_free(&copies);
    gt_free(sheets.items);
    gt_interner_free(strings);
}
