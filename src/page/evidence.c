/* What are the findings about? The edit of a finding (findings/replay.h) names the GPU ops and the host time
 * that it would change:
 *
 *     ops      GPU work: sums by call and kernel, those with the most time
 *     points   stretches of host time: the call itself if it would cost nothing or not wait, and what would
 *              be removed before it. Stretches that touch are one; the longest are kept */
#include "page/work_parts.h"

#include "schema/page.h"

enum { STRETCHES_MAX = 200, PAIRS_MAX = 1000 }; /* per finding */

typedef struct stretch {
    int64_t start_ns, end_ns;
} stretch;

typedef struct evidence {
    const gt_page_work *work;
    gt_table *table;
    int64_t *count, *ns; /* by row of page_sums, of the present finding */
    uint32_t *touched;   /* those that are not 0 */
    uint32_t *seen;      /* by op: the rank of the last finding that has it; an edit may have an op twice */
    uint32_t *head;      /* by point: its last entry of the edit; GT_NONE */
    stretch *items;      /* in order, disjoint */
    size_t item_count, item_capacity;
    int64_t *values; /* of items or touched */
    size_t value_capacity;
} evidence;

enum { FINDING, CALL, KERNEL, START, NS, COUNT };

static int64_t *values_for(evidence *e, size_t count)
{
    e->values = gt_grow(e->values, &e->value_capacity, count, sizeof *e->values);
    return e->values;
}

/* ---- GPU work ---- */

static size_t sum_ops(evidence *e, uint32_t finding, const gt_edit *edit)
{
    const gt_page_work *w = e->work;
    size_t touched = 0;
    for (size_t i = 0; i < edit->op_count; i++) {
        uint32_t op = edit->ops[i].op, sum = w->op_sum[op];
        if (e->seen[op] == finding) continue;
        e->seen[op] = finding;
        if (!e->count[sum]) e->touched[touched++] = sum;
        e->count[sum]++;
        e->ns[sum] = gt_page_add_ns(e->ns[sum], gt_op_ns(&w->schedule->ops[op]));
    }
    return touched;
}

static void add_pairs(evidence *e, int64_t rank, const gt_edit *edit)
{
    size_t touched = sum_ops(e, (uint32_t)rank, edit);
    int64_t *times = values_for(e, touched);
    for (size_t i = 0; i < touched; i++) times[i] = e->ns[e->touched[i]];
    gt_page_largest largest = gt_page_largest_find(times, touched, PAIRS_MAX);
    for (size_t i = 0; i < touched; i++) {
        const gt_page_sum *sum = &e->work->sums[e->touched[i]];
        if (gt_page_largest_keeps(&largest, times[i])) {
            size_t row = gt_table_add_row(e->table);
            gt_table_set_int(e->table, FINDING, row, rank);
            if (sum->call != GT_NONE) gt_table_set_int(e->table, CALL, row, sum->call);
            gt_table_set_int(e->table, KERNEL, row, sum->kernel);
            gt_table_set_int(e->table, NS, row, times[i]);
            gt_table_set_int(e->table, COUNT, row, e->count[e->touched[i]]);
        }
        e->count[e->touched[i]] = e->ns[e->touched[i]] = 0;
    }
}

/* ---- host time ---- */

static void add_stretch(evidence *e, int64_t start_ns, int64_t end_ns)
{
    stretch *last = e->item_count ? &e->items[e->item_count - 1] : NULL;
    if (end_ns <= start_ns) return;
    if (!last || start_ns > last->end_ns)
        GT_PUSH(e->items, e->item_count, e->item_capacity, ((stretch){start_ns, end_ns}));
    else if (end_ns > last->end_ns)
        last->end_ns = end_ns;
}

/* The label whose pieces are what is removed before a point; GT_CAUSES: no single one. */
static gt_cause label_removed(const gt_schedule *schedule, const gt_host_point *point, double before_ns)
{
    int64_t sums[GT_CAUSES] = {0};
    for (uint32_t k = 0; k < point->piece_count; k++) {
        const gt_piece *piece = &schedule->pieces[point->first_piece + k];
        sums[piece->label] += piece->end_ns - piece->start_ns;
    }
    for (int label = 0; label < GT_CAUSES; label++)
        if (sums[label] > 0 && fabs((double)sums[label] - before_ns) < 1) return (gt_cause)label;
    return GT_CAUSES;
}

/* What the entries of a point remove before it: the pieces with some labels, or else the time right before
 * the call. */
typedef struct removed_time {
    uint32_t labels; /* bits */
    int64_t ns;
} removed_time;

static void add_before(evidence *e, const gt_host_point *point, removed_time removed)
{
    int64_t from_ns = point->start_ns - removed.ns;
    for (uint32_t k = 0; k < point->piece_count; k++) {
        const gt_piece *piece = &e->work->schedule->pieces[point->first_piece + k];
        bool whole = removed.labels >> piece->label & 1 || piece->start_ns >= from_ns;
        add_stretch(e, whole ? piece->start_ns : from_ns, piece->end_ns);
    }
}

static void add_point(evidence *e, const gt_edit *edit, const uint32_t *next, uint32_t index)
{
    const gt_schedule *schedule = e->work->schedule;
    const gt_host_point *point = &schedule->points[index];
    removed_time removed = {0};
    uint8_t flags = 0;
    for (uint32_t i = e->head[index]; i != GT_NONE; i = next[i]) {
        double before_ns = edit->points[i].before_ns;
        flags |= edit->points[i].flags;
        if (!(before_ns > 0)) continue;
        gt_cause label = label_removed(schedule, point, before_ns);
        int64_t ns = before_ns < (double)point->before_ns ? (int64_t)before_ns : point->before_ns;
        if (label != GT_CAUSES)
            removed.labels |= 1u << label;
        else if (ns > removed.ns)
            removed.ns = ns;
    }
    if (removed.labels || removed.ns) add_before(e, point, removed);
    if (flags) add_stretch(e, point->start_ns, point->end_ns);
    e->head[index] = GT_NONE;
}

/* Fills `items`. Points are in order of time, so their entries are put in order first. */
static void find_stretches(evidence *e, const gt_edit *edit)
{
    uint32_t *next =
        gt_alloc(edit->point_count * sizeof *next); /* by entry: the one before it of its point */
    uint32_t first = GT_NONE, last = 0;
    e->item_count = 0;
    for (uint32_t i = 0; i < edit->point_count; i++) {
        uint32_t point = edit->points[i].point;
        next[i] = e->head[point];
        e->head[point] = i;
        if (point < first) first = point;
        if (point > last) last = point;
    }
    for (uint32_t point = first; point <= last && point != GT_NONE; point++)
        if (e->head[point] != GT_NONE) add_point(e, edit, next, point);
    gt_free(next);
}

static void add_stretches(evidence *e, int64_t rank, const gt_edit *edit)
{
    if (!edit->point_count) return;
    find_stretches(e, edit);
    int64_t *lengths = values_for(e, e->item_count);
    for (size_t i = 0; i < e->item_count; i++) lengths[i] = e->items[i].end_ns - e->items[i].start_ns;
    gt_page_largest longest = gt_page_largest_find(lengths, e->item_count, STRETCHES_MAX);
    for (size_t i = 0; i < e->item_count; i++) {
        if (!gt_page_largest_keeps(&longest, lengths[i])) continue;
        size_t row = gt_table_add_row(e->table);
        gt_table_set_int(e->table, FINDING, row, rank);
        gt_table_set_int(e->table, START, row, gt_page_time(e->work, e->items[i].start_ns));
        gt_table_set_int(e->table, NS, row, lengths[i]);
    }
}

/* ---- all of it ---- */

void gt_page_add_evidence(const gt_page_work *w, gt_table_list *tables)
{
    static const gt_column_head heads[] = {
        [FINDING] = {GT_COL_PAGE_FINDING, GT_TYPE_INT}, [CALL] = {GT_COL_PAGE_CALL, GT_TYPE_INT},
        [KERNEL] = {GT_COL_PAGE_KERNEL, GT_TYPE_INT},   [START] = {GT_COL_PAGE_START, GT_TYPE_INT},
        [NS] = {GT_COL_PAGE_NS, GT_TYPE_INT},           [COUNT] = {GT_COL_PAGE_COUNT, GT_TYPE_INT},
    };
    const gt_finding_list *list = w->findings->list;
    if (!list->shown) return;
    size_t points = w->schedule->point_count;
    evidence e = {.work = w,
                  .table = gt_table_new(GT_SHEET_PAGE_EVIDENCE, w->schedule->strings),
                  .count = gt_alloc_zero(w->sum_count, sizeof *e.count),
                  .ns = gt_alloc_zero(w->sum_count, sizeof *e.ns),
                  .touched = gt_alloc(w->sum_count * sizeof *e.touched),
                  .seen = gt_alloc_zero(w->schedule->op_count, sizeof *e.seen),
                  .head = gt_alloc(points * sizeof *e.head)};
    memset(e.head, 0xff, points * sizeof *e.head); /* GT_NONE */
    gt_table_add_columns(e.table, heads, GT_LENGTH(heads));
    for (size_t i = 0; i < list->shown; i++) {
        add_pairs(&e, (int64_t)list->items[i].rank, &list->items[i].edit);
        add_stretches(&e, (int64_t)list->items[i].rank, &list->items[i].edit);
    }
    if (e.table->row_count)
        gt_table_list_add(tables, e.table);
    else
        gt_table_free(e.table);
    gt_free_all(e.count, e.ns, e.touched, e.seen, e.head, e.items, e.values);
}
