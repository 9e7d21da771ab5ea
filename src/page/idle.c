/* When was the judged device idle, and why? Pieces of a gap that have the same cause and touch are one row,
 * which has the site of its longest piece. Beyond ROWS_MAX rows the shortest are left out. */
#include "page/work_parts.h"

#include "schema/page.h"

enum { ROWS_MAX = 50000 };

typedef struct stretch {
    int64_t start_ns, end_ns, longest_ns;
    uint32_t event; /* of the longest piece; GT_NONE */
    uint8_t cause;
} stretch;

static int64_t length_of(const stretch *s)
{
    return s->end_ns - s->start_ns;
}

/* The stretches of all gaps; their number is *count. */
static stretch *join_pieces(const gt_idle *idle, size_t *count)
{
    stretch *joined = gt_alloc(idle->piece_count * sizeof *joined);
    uint32_t gap = GT_NONE; /* of the last stretch */
    *count = 0;
    for (size_t i = 0; i < idle->piece_count; i++) {
        const gt_idle_piece *piece = &idle->pieces[i];
        stretch *last = *count ? &joined[*count - 1] : NULL;
        int64_t ns = piece->end_ns - piece->start_ns;
        if (!last || piece->gap != gap || piece->cause != last->cause || piece->start_ns != last->end_ns) {
            joined[(*count)++] = (stretch){piece->start_ns, piece->end_ns, ns, piece->event, piece->cause};
            gap = piece->gap;
            continue;
        }
        last->end_ns = piece->end_ns;
        if (ns <= last->longest_ns) continue;
        last->longest_ns = ns;
        last->event = piece->event;
    }
    return joined;
}

/* Keeps the longest; of those with the same length the first. Returns the time of the others. */
static int64_t drop_shortest(stretch *items, size_t *count)
{
    if (*count <= ROWS_MAX) return 0;
    int64_t *lengths = gt_alloc(*count * sizeof *lengths), dropped_ns = 0;
    for (size_t i = 0; i < *count; i++) lengths[i] = length_of(&items[i]);
    gt_page_largest longest = gt_page_largest_find(lengths, *count, ROWS_MAX);
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        if (gt_page_largest_keeps(&longest, lengths[i]))
            items[kept++] = items[i];
        else
            dropped_ns += lengths[i];
    }
    *count = kept;
    gt_free(lengths);
    return dropped_ns;
}

/* Where in the program; GT_STR_NONE if it is unknown. */
static uint32_t site_of(const gt_schedule *schedule, const stretch *s)
{
    if (s->event == GT_NONE) return GT_STR_NONE;
    uint32_t site = gt_site_of_idle(schedule, s->cause, s->event);
    return gt_site_is_known(schedule, site) ? site : GT_STR_NONE;
}

int64_t gt_page_add_idle(const gt_page_work *w, gt_table_list *tables)
{
    enum { START, NS, CAUSE, SITE };
    static const gt_column_head heads[] = {
        [START] = {GT_COL_PAGE_START, GT_TYPE_INT},
        [NS] = {GT_COL_PAGE_NS, GT_TYPE_INT},
        [CAUSE] = {GT_COL_PAGE_CAUSE, GT_TYPE_STRING},
        [SITE] = {GT_COL_PAGE_SITE, GT_TYPE_STRING},
    };
    const gt_schedule *schedule = w->schedule;
    size_t count;
    stretch *items = join_pieces(w->findings->idle, &count);
    int64_t dropped_ns = drop_shortest(items, &count);
    uint32_t causes[GT_CAUSES];
    for (int i = 0; i < GT_CAUSES; i++)
        causes[i] = gt_interner_add_cstr(schedule->strings, gt_cause_name((gt_cause)i));
    if (count) {
        gt_table *table = gt_table_new(GT_SHEET_PAGE_IDLE, schedule->strings);
        gt_table_add_columns(table, heads, GT_LENGTH(heads));
        gt_table_add_rows(table, count);
        for (size_t row = 0; row < count; row++) {
            table->columns[START].ints[row] = gt_page_time(w, items[row].start_ns);
            table->columns[NS].ints[row] = length_of(&items[row]);
            table->columns[CAUSE].texts[row] = causes[items[row].cause];
            table->columns[SITE].texts[row] = site_of(schedule, &items[row]);
        }
        gt_table_list_add(tables, table);
    }
    gt_free(items);
    return dropped_ns;
}
