/* slack: by how much could an op of a rank be longer before the step is longer?
 *
 * In the model (model.h) a collective can end later until something that depends on it would: an entry that
 * has it as base or comes after it on the stream, and at last the end of the run. Going backwards over all
 * collectives gives the latest time at which each may end, and so how much later each entry may be ready:
 *
 *     rank 0   |coll 1|== work ==|ready  waits ....... |coll 2|     slack of this work: the wait
 *     rank 1   |coll 1|== work ============ |ready     |coll 2|     slack 0: it decides when coll 2 begins
 *
 * An op has the least slack of the entries whose chains contain it. An op that is in two chains has the slack
 * of the tighter one. Of a link that another chain joins in the middle, all ops count as contained: their
 * slack is at least what is said. */
#include "findings/ranks/across.h"

#include "schema/columns.h"

/* ---- the recorded run ---- */

double gt_rank_entry_ready(const gt_rank_entry *entry, const double *ends)
{
    return (entry->base == GT_NONE ? 0 : ends[entry->base]) + entry->work_ns;
}

double gt_rank_entry_start(const gt_rank_entry *entry, const double *ends)
{
    double ready = gt_rank_entry_ready(entry, ends);
    return (entry->previous == GT_NONE ? ready : fmax(ready, ends[entry->previous])) + entry->lag_ns;
}

/* Places in model->ends from `begin` on that have the same base; returns the end of them. */
static size_t end_of_base(const gt_rank_model *model, size_t begin)
{
    size_t end = begin;
    while (end < model->end_count && model->ends[end].base == model->ends[begin].base) end++;
    return end;
}

gt_rank_times gt_rank_times_new(const gt_rank_model *model)
{
    gt_rank_times t = {.ends = gt_alloc(model->count * sizeof *t.ends),
                       .last = gt_alloc(model->count * sizeof *t.last),
                       .window_ns = gt_alloc(model->end_count * sizeof *t.window_ns)};
    for (size_t k = 0; k < model->count; k++) {
        size_t c = model->order[k], last = model->begins[c];
        double latest = -INFINITY;
        for (size_t i = model->begins[c]; i < model->begins[c + 1]; i++) {
            double start = gt_rank_entry_start(&model->entries[i], t.ends);
            if (start <= latest) continue;
            latest = start;
            last = i;
        }
        t.ends[c] = latest + model->transfer_ns[c];
        t.last[c] = (uint32_t)last;
    }
    for (size_t begin = 0, end; begin < model->end_count; begin = end) {
        double latest = -INFINITY;
        end = end_of_base(model, begin);
        for (size_t i = begin; i < end; i++)
            latest = fmax(latest, gt_rank_entry_ready(&model->ends[i], t.ends));
        for (size_t i = begin; i < end; i++) t.window_ns[i] = latest;
    }
    return t;
}

void gt_rank_times_free(gt_rank_times *times)
{
    gt_free_all(times->ends, times->last, times->window_ns);
    *times = (gt_rank_times){0};
}

/* ---- the latest times ---- */

/* Whether the rank has collectives after its window, which show what waits for the end of the window. */
static bool goes_on(const gt_rank_model *model, size_t rank)
{
    size_t begin = model->rank_begins[rank], end = model->rank_begins[rank + 1];
    return end > begin && !model->entries[model->rank_entries[end - 1]].in_window;
}

/* By collective: the latest end that does not delay the end of the run. */
static double *latest_ends(const gt_rank_model *model, const gt_rank_times *t)
{
    double *latest = gt_alloc(model->count * sizeof *latest), end = -INFINITY;
    for (size_t c = 0; c < model->count; c++) end = fmax(end, t->ends[c]);
    for (size_t i = 0; i < model->end_count; i++) end = fmax(end, t->window_ns[i]);
    for (size_t c = 0; c < model->count; c++) latest[c] = end;
    for (size_t i = 0; i < model->end_count; i++) {
        const gt_rank_entry *e = &model->ends[i];
        if (!goes_on(model, e->rank)) latest[e->base] = fmin(latest[e->base], t->window_ns[i] - e->work_ns);
    }
    for (size_t k = model->count; k-- > 0;) {
        size_t c = model->order[k];
        for (size_t i = model->begins[c]; i < model->begins[c + 1]; i++) {
            const gt_rank_entry *e = &model->entries[i];
            double start = latest[c] - model->transfer_ns[c] - e->lag_ns;
            if (e->base != GT_NONE) latest[e->base] = fmin(latest[e->base], start - e->work_ns);
            if (e->previous != GT_NONE) latest[e->previous] = fmin(latest[e->previous], start);
        }
    }
    return latest;
}

/* ---- the links of one rank ---- */

typedef struct started {
    int64_t start_ns;
    uint32_t link;
} started;

GT_ORDER_BY(later_first, started, GT_DOWN(start_ns) GT_DOWN(link))

/* A delay of what a link joins is a delay of the link, too. Parents start earlier than their children. Of a
 * collective of the model, the delay is in the model. */
static void pass_on(const gt_rank_facts *f, const bool *in_model, double *slack)
{
    size_t count = f->collective_count;
    started *order = gt_alloc((count + 1) * sizeof *order);
    for (uint32_t i = 0; i < count; i++) order[i] = (started){f->collectives[i].start_ns, i};
    if (count) qsort(order, count, sizeof *order, later_first);
    for (size_t i = 0; i <= count; i++) {
        uint32_t link = i ? order[i - 1].link : (uint32_t)count;
        const gt_rank_link *l = &f->links[link];
        if (l->joins == GT_JOINS_NOTHING || (l->joins == GT_JOINS_END && in_model[l->parent])) continue;
        slack[l->parent] = fmin(slack[l->parent], slack[link]);
    }
    gt_free(order);
}

/* By link: the slack of its entry. */
static void fill_slack(const gt_rank_model *model, const gt_rank_times *t, const double *latest, size_t rank,
                       bool *in_model, double *slack, size_t count)
{
    for (size_t i = 0; i <= count; i++) {
        slack[i] = INFINITY;
        in_model[i] = false;
    }
    const gt_rank_entry *end = model->end_of[rank] == GT_NONE ? NULL : &model->ends[model->end_of[rank]];
    for (size_t i = 0; i < gt_rank_entry_count(model, rank); i++) {
        const gt_rank_entry *e = gt_rank_entry_at(model, rank, i);
        double allowed = latest[e->collective] - model->transfer_ns[e->collective] - e->lag_ns;
        slack[e->number] = fmax(0, allowed - gt_rank_entry_ready(e, t->ends));
        in_model[e->number] = true;
        /* What comes after the window begins where the window ends. */
        if (end && !e->in_window && e->base == end->base) slack[count] = fmin(slack[count], slack[e->number]);
    }
    if (end && !goes_on(model, rank))
        slack[count] = fmax(0, t->window_ns[model->end_of[rank]] - gt_rank_entry_ready(end, t->ends));
}

/* ---- ops ---- */

typedef struct adder {
    gt_op_times *times;
    gt_interner *strings;
    gt_map places;     /* of one rank: name in piece_names and kind to the place in the list */
    uint32_t *names;   /* by place in piece_names: string of nccl_long; GT_NONE: not asked for yet */
    size_t name_count; /* room for */
} adder;

static uint32_t translate(adder *a, const gt_rank_facts *f, uint32_t name)
{
    if (a->names[name] == GT_NONE) {
        gt_str text = gt_interner_get(f->strings, f->piece_names[name]);
        a->names[name] = gt_interner_add(a->strings, text.bytes, text.len);
    }
    return a->names[name];
}

static bool is_own(gt_chain_kind kind)
{
    return kind == GT_CHAIN_COMPUTE || kind == GT_CHAIN_HOST || kind == GT_CHAIN_DATA;
}

static void add_link(adder *a, const gt_rank_facts *f, uint32_t rank, const gt_rank_link *l, double slack)
{
    for (uint32_t i = 0; i < l->piece_count; i++) {
        uint64_t piece = f->pieces[l->first_piece + i];
        gt_chain_kind kind = gt_piece_kind(piece);
        if (!is_own(kind)) continue;
        uint32_t name = gt_piece_name(piece), *place = gt_map_put(&a->places, name, kind);
        if (*place == GT_MAP_NONE) {
            gt_op_time new = {
                .rank = rank, .name = translate(a, f, name), .kind = kind, .slack_ns = INFINITY};
            *place = (uint32_t)a->times->count;
            GT_PUSH(a->times->items, a->times->count, a->times->capacity, new);
        }
        gt_op_time *op = &a->times->items[*place];
        op->ns += (double)gt_piece_ns(piece) / (double)f->steps;
        op->slack_ns = fmin(op->slack_ns, slack);
    }
}

static void add_rank(adder *a, const gt_rank_model *model, const gt_rank_times *t, const double *latest,
                     const gt_rank_facts *f, uint32_t rank)
{
    size_t count = f->collective_count, names = f->piece_name_count;
    double *slack = gt_alloc((count + 1) * sizeof *slack);
    bool *in_model = gt_alloc((count + 1) * sizeof *in_model);
    if (names > a->name_count) a->names = gt_grow(a->names, &a->name_count, names, sizeof *a->names);
    for (size_t i = 0; i < names; i++) a->names[i] = GT_NONE;
    fill_slack(model, t, latest, rank, in_model, slack, count);
    pass_on(f, in_model, slack);
    for (size_t i = 0; i <= count; i++)
        if (i == count || f->collectives[i].in_window) add_link(a, f, rank, &f->links[i], slack[i]);
    gt_map_free(&a->places);
    gt_free_all(slack, in_model);
}

GT_ORDER_BY(by_name, gt_op_time, GT_UP(name) GT_UP(kind) GT_UP(rank))

/* Ranks that do not have the op need no time for it. */
static void find_usual(gt_op_times *times, const gt_rank_findings *found)
{
    gt_rank_value *values = gt_alloc((found->rank_count + 1) * sizeof *values);
    size_t known = 0;
    for (size_t r = 0; r < found->rank_count; r++) known += found->ranks[r].known;
    for (size_t begin = 0, end; begin < times->count; begin = end) {
        const gt_op_time *first = &times->items[begin];
        size_t count = 0;
        for (end = begin; end < times->count && times->items[end].name == first->name &&
                          times->items[end].kind == first->kind;)
            end++;
        if (4 * (end - begin) < known) continue; /* it is usual to have none (gt_rank_usual) */
        for (size_t r = 0, at = begin; r < found->rank_count; r++) {
            bool has = at < end && times->items[at].rank == r;
            if (found->ranks[r].known)
                values[count++] = (gt_rank_value){found->ranks[r].node, has ? times->items[at].ns : 0};
            at += has;
        }
        double usual = gt_rank_usual(values, count);
        for (size_t i = begin; i < end; i++) times->items[i].usual_ns = usual;
    }
    gt_free(values);
}

gt_op_times gt_op_times_new(const gt_rank_findings *found, const gt_ranks_input *input,
                            const gt_rank_model *model, const gt_rank_times *t)
{
    gt_op_times times = {0};
    adder a = {.times = &times, .strings = input->sync->matches->events->strings};
    double *latest = latest_ends(model, t);
    for (uint32_t r = 0; r < found->rank_count; r++)
        if (found->ranks[r].known && input->facts[r]->links)
            add_rank(&a, model, t, latest, input->facts[r], r);
    if (times.count) qsort(times.items, times.count, sizeof *times.items, by_name);
    find_usual(&times, found);
    gt_free_all(a.names, latest);
    return times;
}

void gt_op_times_free(gt_op_times *times)
{
    gt_free(times->items);
    *times = (gt_op_times){0};
}

gt_op_time *gt_op_times_find(const gt_op_times *times, uint32_t rank, uint32_t name, gt_chain_kind kind)
{
    const gt_op_time key = {.rank = rank, .name = name, .kind = kind};
    return times->count ? bsearch(&key, times->items, times->count, sizeof key, by_name) : NULL;
}

/* ---- the sheet ---- */

enum { RANK, NODE, KIND, OP, MS, SLACK, CRITICAL, ON_PATH };

static const gt_column_head columns[] = {
    [RANK] = {GT_COL_RANK, GT_TYPE_INT},
    [NODE] = {GT_COL_NODE, GT_TYPE_STRING},
    [KIND] = {GT_COL_KIND, GT_TYPE_STRING},
    [OP] = {GT_COL_OP, GT_TYPE_STRING},
    [MS] = {GT_COL_MS, GT_TYPE_FLOAT},
    [SLACK] = {GT_COL_SLACK_MS, GT_TYPE_FLOAT},
    [CRITICAL] = {GT_COL_CRITICAL_MS, GT_TYPE_FLOAT},
    [ON_PATH] = {GT_COL_ON_CRITICAL_PATH, GT_TYPE_BOOL},
};

/* Ranks in order; in a rank, the longest first. */
static int by_rank(const void *a, const void *b)
{
    const gt_op_time *x = *(const gt_op_time *const *)a, *y = *(const gt_op_time *const *)b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
    return by_name(x, y);
}

gt_table *gt_slack_sheet(const gt_rank_findings *found, const gt_op_times *times, gt_interner *strings)
{
    gt_table *sheet = gt_table_new(GT_SHEET_SLACK, strings);
    const gt_op_time **order = gt_alloc(times->count * sizeof *order);
    for (size_t i = 0; i < times->count; i++) order[i] = &times->items[i];
    if (times->count) qsort(order, times->count, sizeof *order, by_rank);
    gt_table_add_columns(sheet, columns, GT_LENGTH(columns));
    for (size_t i = 0; i < times->count; i++) {
        const gt_op_time *op = order[i];
        size_t row = gt_table_add_row(sheet);
        gt_table_set_int(sheet, RANK, row, op->rank);
        gt_rank_set_node(found, op->rank, sheet, NODE, row);
        gt_table_set_cstr(sheet, KIND, row, gt_chain_kind_name(op->kind));
        gt_table_set_string(sheet, OP, row, op->name);
        gt_table_set_float(sheet, MS, row, op->ns / 1e6);
        if (isfinite(op->slack_ns)) gt_table_set_float(sheet, SLACK, row, op->slack_ns / 1e6);
        gt_table_set_float(sheet, CRITICAL, row, op->critical_ns / 1e6);
        gt_table_set_bool(sheet, ON_PATH, row, op->critical_ns > 0);
    }
    gt_free(order);
    return sheet;
}
