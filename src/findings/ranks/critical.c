/* critical_path, critical_path_steps: what decided when the run was done?
 *
 * The way goes back from the end of the run. The last collective could end when the data had moved after the
 * last rank had come; that rank worked since another collective ended; and so on until the window begins:
 *
 *     rank 0   |coll 1|== work ==|........|coll 2|=== work ===|coll 3|   <- the path: rank 1's work, coll 2,
 *     rank 1   |coll 1|== work ==========||coll 2|== work =|..|coll 3|      rank 0's work, coll 3
 *
 * What the rank did in that time is the chain of its collective (chains.h). What is after the window of the
 * rank on which the way comes to it is dropped. The path has no gaps and no overlaps, and begins with the
 * window of the rank on which it ends, so its segments add up to the time of that window. A rank that loads
 * data for 20 ms in every step has done so before its own window begins, too: a path that began with the
 * first op of any rank would have these 20 ms once too often.
 *
 * If no collective is after the windows, the way begins at the end of the window that ends last. Then the
 * windows are all of the traces, with one step or none, and the path begins with the first op of any rank.
 *
 * A step of the path ends where the rank that it is on starts the first op of the next step.
 *
 * Ops of one name between two collectives are one piece of a chain, so that segments of one collective's work
 * are in the order of the last op of each name, not exactly where they ran. */
#include "findings/ranks/across.h"

#include "schema/columns.h"

enum { SEGMENTS_SHOWN = 20000 };

/* Segments are found from the last to the first. */
typedef struct search {
    const gt_ranks_input *input;
    const gt_rank_model *model;
    const gt_rank_times *times;
    gt_interner *strings;
    size_t *first_rows; /* by rank: its first row of nccl_long */
    gt_critical_path path;
    double at_ns;    /* everything after this is in the path */
    double start_ns; /* where the path begins */
    int64_t step;    /* that of the last segment that was found */
    /* While the work of a rank is added: */
    uint32_t rank;
    double shift_ns; /* time of the model - time of the rank */
} search;

/* ---- segments ---- */

/* The step that a rank is in just before a time. */
static const gt_rank_step *step_before(const gt_rank_facts *f, double ns)
{
    size_t next;
    GT_BISECT(next, 1, f->step_count, (double)f->step_times[next].start_ns < ns);
    return f->step_count ? &f->step_times[next - 1] : NULL;
}

static void push(search *s, uint32_t rank, gt_chain_kind kind, uint32_t name, uint32_t count, double from_ns)
{
    gt_path_segment *next = s->path.count ? &s->path.items[s->path.count - 1] : NULL;
    if (next && next->rank == rank && next->kind == kind && next->name == name && next->step == s->step) {
        next->from_ns = from_ns;
        next->count += count;
    } else {
        gt_path_segment new = {s->step, rank, name, count, kind, from_ns, s->at_ns};
        GT_PUSH(s->path.items, s->path.count, s->path.capacity, new);
    }
    s->at_ns = from_ns;
}

/* Gives the time from `from_ns` until s->at_ns to a rank, and divides it where a step of this rank begins. A
 * later rank may be in an earlier step already; steps of the path only go back. */
static void add(search *s, uint32_t rank, double shift_ns, gt_chain_kind kind, uint32_t name, uint32_t count,
                double from_ns)
{
    const gt_rank_facts *f = s->input->facts[rank];
    if (from_ns < s->start_ns) from_ns = s->start_ns;
    while (s->at_ns > from_ns) {
        const gt_rank_step *step = step_before(f, s->at_ns - shift_ns);
        double begin = from_ns;
        if (step && step->number < s->step) s->step = step->number;
        if (step && step != f->step_times && step->number == s->step)
            begin = fmax(begin, (double)step->start_ns + shift_ns);
        if (!(begin < s->at_ns)) begin = from_ns;
        push(s, rank, kind, name, count, begin);
    }
}

/* ---- the work of a rank ---- */

static uint32_t name_of_collective(const search *s, size_t row)
{
    const gt_table *events = s->input->sync->matches->events;
    if (row >= events->row_count) return GT_STR_NONE;
    uint32_t name = gt_table_column(events, GT_COL_COLLECTIVE_NAME)->texts[row];
    return name != GT_STR_NONE ? name : gt_interner_add_cstr(s->strings, "collective");
}

static void take_piece(void *context, const gt_chain_piece *piece)
{
    search *s = context;
    const gt_rank_facts *f = s->input->facts[s->rank];
    uint32_t name = GT_STR_NONE;
    if (piece->collective != GT_NONE)
        name = name_of_collective(s, s->first_rows[s->rank] + piece->collective);
    else if (piece->name != GT_STR_NONE) {
        gt_str text = gt_interner_get(f->strings, piece->name);
        name = gt_interner_add(s->strings, text.bytes, text.len);
    }
    if (name == GT_STR_NONE) name = gt_interner_add_cstr(s->strings, gt_cause_name(GT_CAUSE_UNKNOWN));
    add(s, s->rank, s->shift_ns, piece->kind, name, piece->count, (double)piece->from_ns + s->shift_ns);
}

/* From `from_ns` until now the rank worked for a link. */
static void add_work(search *s, uint32_t rank, size_t link, double from_ns)
{
    const gt_rank_facts *f = s->input->facts[rank];
    int64_t to = gt_rank_link_end(f, link);
    double length = s->at_ns - from_ns;
    s->rank = rank;
    s->shift_ns = s->at_ns - (double)to;
    if (!(length > 0)) return;
    if (f->links && length < 0x1p61) gt_rank_chain_walk(f, link, to - llround(length), to, take_piece, s);
    uint32_t unknown = gt_interner_add_cstr(s->strings, gt_cause_name(GT_CAUSE_UNKNOWN));
    add(s, rank, s->shift_ns, GT_CHAIN_IDLE, unknown, 1, from_ns); /* what rounding leaves */
}

/* ---- the path ---- */

static double shift_of(const search *s, const gt_rank_entry *e, double start_ns)
{
    return start_ns - (double)s->input->facts[e->rank]->collectives[e->number].start_ns;
}

/* A collective: its transfer, and the work of the rank that came last, unless its stream was busy with
 * another collective. Returns the collective before. */
static uint32_t pass_collective(search *s, uint32_t c)
{
    const gt_rank_entry *e = &s->model->entries[s->times->last[c]];
    double start = gt_rank_entry_start(e, s->times->ends);
    double shift = shift_of(s, e, start);
    add(s, e->rank, shift, GT_CHAIN_COMMUNICATION, name_of_collective(s, s->model->rows[c]), 1, start);
    uint32_t wait = gt_interner_add_cstr(s->strings, gt_cause_name(GT_CAUSE_DEVICE_WAIT));
    add(s, e->rank, shift, GT_CHAIN_IDLE, wait, 1, start - e->lag_ns);
    if (e->previous != GT_NONE && s->times->ends[e->previous] >= gt_rank_entry_ready(e, s->times->ends))
        return e->previous;
    add_work(s, e->rank, e->number, e->base == GT_NONE ? s->start_ns : s->times->ends[e->base]);
    return e->base;
}

/* The window that ends last. */
static size_t find_end(const search *s)
{
    size_t best = SIZE_MAX;
    double latest = -INFINITY;
    for (size_t i = 0; i < s->model->end_count; i++) {
        double at = gt_rank_entry_ready(&s->model->ends[i], s->times->ends);
        if (at <= latest) continue;
        latest = at;
        best = i;
    }
    return best;
}

/* The entry whose work comes out of the window on the way back from the end of the run, and *at_ns, when its
 * window ends. NULL: there is none. */
static const gt_rank_entry *find_exit(const search *s, double *at_ns)
{
    const gt_rank_model *model = s->model;
    const double *ends = s->times->ends;
    uint32_t c = GT_NONE;
    for (uint32_t i = 0; i < model->count; i++)
        if (c == GT_NONE || ends[i] > ends[c]) c = i;
    while (c != GT_NONE) {
        const gt_rank_entry *e = &model->entries[s->times->last[c]];
        const gt_rank_facts *f = s->input->facts[e->rank];
        double ready = gt_rank_entry_ready(e, ends), begin = e->base == GT_NONE ? 0 : ends[e->base];
        if (e->previous != GT_NONE && ends[e->previous] >= ready) {
            c = e->previous;
            continue;
        }
        *at_ns = ready - ((double)f->collectives[e->number].ready_ns - f->end_ns);
        if (*at_ns >= ready) return NULL;
        if (*at_ns > begin) return e;
        c = e->base;
    }
    return NULL;
}

static void find_first_rows(search *s)
{
    const gt_table *events = s->input->sync->matches->events;
    const int64_t *ranks = gt_table_column(events, GT_COL_RANK)->ints;
    s->first_rows = gt_alloc_zero(s->input->rank_count, sizeof *s->first_rows);
    for (size_t row = events->row_count; row-- > 0;)
        if (ranks[row] >= 0 && (size_t)ranks[row] < s->input->rank_count) s->first_rows[ranks[row]] = row;
}

static void reverse(gt_critical_path *path)
{
    for (size_t i = 0; i < path->count / 2; i++) {
        gt_path_segment swapped = path->items[i];
        path->items[i] = path->items[path->count - 1 - i];
        path->items[path->count - 1 - i] = swapped;
    }
}

gt_critical_path gt_critical_path_find(const gt_ranks_input *input, const gt_rank_model *model,
                                       const gt_rank_times *times)
{
    search s = {.input = input,
                .model = model,
                .times = times,
                .strings = input->sync->matches->events->strings,
                .step = INT64_MAX};
    const gt_rank_entry *last = find_exit(&s, &s.at_ns);
    if (last) {
        const gt_rank_facts *own = input->facts[last->rank];
        s.start_ns = s.at_ns - (own->end_ns - own->start_ns);
    } else {
        size_t end = find_end(&s);
        if (end == SIZE_MAX) return s.path;
        last = &model->ends[end];
        s.at_ns = gt_rank_entry_ready(last, times->ends);
        s.start_ns = model->start_ns;
    }
    const gt_rank_facts *f = input->facts[last->rank];
    find_first_rows(&s);
    s.path.steps = model->steps[last->rank];
    s.path.is_known = f->has_steps;
    uint32_t c = last->base;
    add_work(&s, last->rank, f->collective_count, c == GT_NONE ? s.start_ns : times->ends[c]);
    while (c != GT_NONE && s.at_ns > s.start_ns) c = pass_collective(&s, c);
    reverse(&s.path);
    gt_free(s.first_rows);
    return s.path;
}

void gt_critical_path_free(gt_critical_path *path)
{
    gt_free(path->items);
    *path = (gt_critical_path){0};
}

/* ---- sums per rank and op ---- */

GT_ORDER_BY(by_op, gt_path_segment, GT_UP(rank) GT_UP(kind) GT_UP(name))

/* One segment per rank, kind and op; from 0 to its time per step. */
static gt_path_segment *sum_up(const gt_critical_path *path, size_t *count)
{
    gt_path_segment *sums = gt_alloc(path->count * sizeof *sums);
    for (size_t i = 0; i < path->count; i++) {
        sums[i] = path->items[i];
        sums[i].to_ns = (path->items[i].to_ns - path->items[i].from_ns) / path->steps;
        sums[i].from_ns = 0;
    }
    if (path->count) qsort(sums, path->count, sizeof *sums, by_op);
    *count = 0;
    for (size_t i = 0; i < path->count; i++) {
        if (*count && by_op(&sums[*count - 1], &sums[i]) == 0)
            sums[*count - 1].to_ns += sums[i].to_ns;
        else
            sums[(*count)++] = sums[i];
    }
    return sums;
}

static int longest_first(const void *a, const void *b)
{
    const gt_path_segment *x = a, *y = b;
    if (x->to_ns != y->to_ns) return x->to_ns > y->to_ns ? -1 : 1;
    return by_op(a, b);
}

/* ---- the sheets ---- */

enum { RANK, NODE, KIND, OP, MS, SHARE, LONGER };

static const gt_column_head sum_columns[] = {
    [RANK] = {GT_COL_RANK, GT_TYPE_INT},
    [NODE] = {GT_COL_NODE, GT_TYPE_STRING},
    [KIND] = {GT_COL_KIND, GT_TYPE_STRING},
    [OP] = {GT_COL_OP, GT_TYPE_STRING},
    [MS] = {GT_COL_MS, GT_TYPE_FLOAT},
    [SHARE] = {GT_COL_SHARE_PCT, GT_TYPE_FLOAT},
    [LONGER] = {GT_COL_LONGER_MS, GT_TYPE_FLOAT},
};

enum { S_STEP, S_RANK, S_NODE, S_KIND, S_OP, S_FROM, S_TO, S_MS, S_OPS };

static const gt_column_head segment_columns[] = {
    [S_STEP] = {GT_COL_STEP, GT_TYPE_INT},    [S_RANK] = {GT_COL_RANK, GT_TYPE_INT},
    [S_NODE] = {GT_COL_NODE, GT_TYPE_STRING}, [S_KIND] = {GT_COL_KIND, GT_TYPE_STRING},
    [S_OP] = {GT_COL_OP, GT_TYPE_STRING},     [S_FROM] = {GT_COL_FROM_MS, GT_TYPE_FLOAT},
    [S_TO] = {GT_COL_TO_MS, GT_TYPE_FLOAT},   [S_MS] = {GT_COL_MS, GT_TYPE_FLOAT},
    [S_OPS] = {GT_COL_OPS, GT_TYPE_INT},
};

static gt_table *segments_sheet(const gt_rank_findings *found, const gt_critical_path *path,
                                gt_interner *strings)
{
    gt_table *sheet = gt_table_new(GT_SHEET_CRITICAL_PATH_STEPS, strings);
    gt_table_add_columns(sheet, segment_columns, GT_LENGTH(segment_columns));
    for (size_t i = 0; i < path->count && i < SEGMENTS_SHOWN; i++) {
        const gt_path_segment *segment = &path->items[i];
        size_t row = gt_table_add_row(sheet);
        if (path->is_known)
            gt_table_set_int(sheet, S_STEP, row, segment->step);
        else
            gt_table_set_null(sheet, S_STEP, row);
        gt_table_set_int(sheet, S_RANK, row, segment->rank);
        gt_rank_set_node(found, segment->rank, sheet, S_NODE, row);
        gt_table_set_cstr(sheet, S_KIND, row, gt_chain_kind_name(segment->kind));
        gt_table_set_string(sheet, S_OP, row, segment->name);
        gt_table_set_float(sheet, S_FROM, row, (segment->from_ns - path->items[0].from_ns) / 1e6);
        gt_table_set_float(sheet, S_TO, row, (segment->to_ns - path->items[0].from_ns) / 1e6);
        gt_table_set_float(sheet, S_MS, row, (segment->to_ns - segment->from_ns) / 1e6);
        gt_table_set_int(sheet, S_OPS, row, segment->count);
    }
    return sheet;
}

/* Bytes of a name that a sentence has: whole characters. */
static int length_shown(gt_str name)
{
    enum { MOST = 200 };
    size_t length = name.len < MOST ? name.len : MOST;
    while (length < name.len && length > 0 && ((unsigned char)name.bytes[length] & 0xc0) == 0x80) length--;
    return (int)length;
}

/* The entry with most time; the transfers of one kind of collective are summed up over ranks. `sums` are in
 * the order of time. */
static gt_path_segment find_longest(const gt_path_segment *sums, size_t count, bool *is_of_several)
{
    gt_path_segment longest = {0};
    gt_map places = {0}; /* name to the first entry of its transfers */
    double *times = gt_alloc_zero(count, sizeof *times);
    size_t *ranks = gt_alloc_zero(count, sizeof *ranks);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *place = sums[i].kind == GT_CHAIN_COMMUNICATION ? gt_map_put(&places, sums[i].name, 0) : &i;
        if (*place == GT_MAP_NONE) *place = i;
        times[*place] += sums[i].to_ns;
        ranks[*place]++;
        if (times[*place] <= longest.to_ns) continue;
        longest = sums[*place];
        longest.to_ns = times[*place];
        *is_of_several = ranks[*place] > 1;
    }
    gt_free_all(ranks, times);
    gt_map_free(&places);
    return longest;
}

/* "rank 3, aten::mm", "communication (allreduce)", "rank 3, idle (unknown)". */
static char *name_entry(const gt_path_segment *entry, bool is_of_several, gt_interner *strings)
{
    gt_str name = gt_interner_get(strings, entry->name);
    char *who = is_of_several ? gt_strdup("") : gt_format("rank %u, ", entry->rank);
    bool has_kind = entry->kind == GT_CHAIN_COMMUNICATION || entry->kind == GT_CHAIN_IDLE;
    char *text = gt_format("%s%s%s%.*s%s", who, has_kind ? gt_chain_kind_name(entry->kind) : "",
                           has_kind ? " (" : "", length_shown(name), name.bytes, has_kind ? ")" : "");
    gt_free(who);
    return text;
}

/* ", 5.01 ms more than on the median rank". If not all of that is on the path, all that the rank has of it
 * comes before: ", of 17.30 ms in all, 5.01 ms more than on the median rank". */
static char *longer_than_usual(const gt_op_time *op, double on_path_ns)
{
    double longer = op->ns - op->usual_ns;
    char *all = longer > on_path_ns ? gt_format(", of %.2f ms in all", op->ns / 1e6) : gt_strdup("");
    char *text = gt_format("%s, %.2f ms more than on the median rank", all, longer / 1e6);
    gt_free(all);
    return text;
}

/* "rank 3, aten::mm: 15.30 ms of the critical path of 29.07 ms per step, 5.01 ms more than on the median
 * rank". The op of which most on the path is longer than usual; if none is, what has most time. */
static char *sentence(const gt_rank_findings *found, const gt_path_segment *sums, size_t count,
                      const gt_op_times *ops, double total_ns, gt_interner *strings)
{
    bool is_of_several = false;
    gt_path_segment best = find_longest(sums, count, &is_of_several);
    const gt_op_time *longest = NULL;
    double best_longer = 0.01 * total_ns;
    if (!(best.to_ns > 0)) return NULL;
    for (size_t i = 0; i < count; i++) {
        const gt_op_time *op = gt_op_times_find(ops, sums[i].rank, sums[i].name, sums[i].kind);
        double longer = op ? fmin(op->ns - op->usual_ns, sums[i].to_ns) : 0;
        if (longer <= best_longer) continue;
        best_longer = longer;
        longest = op;
        best = sums[i];
        is_of_several = false;
    }
    char *more = longest ? longer_than_usual(longest, best.to_ns) : gt_strdup("");
    char *entry = name_entry(&best, is_of_several, strings);
    char *text = gt_format("%s: %.2f ms of the critical path of %.2f ms per %s%s", entry, best.to_ns / 1e6,
                           total_ns / 1e6, found->per, more);
    gt_free_all(entry, more);
    return text;
}

void gt_critical_path_add_sheets(gt_rank_findings *found, const gt_critical_path *path, gt_op_times *ops,
                                 gt_interner *strings, gt_table_list *tables)
{
    size_t count;
    gt_path_segment *sums = sum_up(path, &count);
    double total =
        path->count ? (path->items[path->count - 1].to_ns - path->items[0].from_ns) / path->steps : 0;
    gt_table *sheet = gt_table_new(GT_SHEET_CRITICAL_PATH, strings);
    gt_table_add_columns(sheet, sum_columns, GT_LENGTH(sum_columns));
    if (count) qsort(sums, count, sizeof *sums, longest_first);
    for (size_t i = 0; i < count; i++) {
        gt_op_time *op = gt_op_times_find(ops, sums[i].rank, sums[i].name, sums[i].kind);
        size_t row = gt_table_add_row(sheet);
        gt_table_set_int(sheet, RANK, row, sums[i].rank);
        gt_rank_set_node(found, sums[i].rank, sheet, NODE, row);
        gt_table_set_cstr(sheet, KIND, row, gt_chain_kind_name(sums[i].kind));
        gt_table_set_string(sheet, OP, row, sums[i].name);
        gt_table_set_float(sheet, MS, row, sums[i].to_ns / 1e6);
        gt_table_set_float(sheet, SHARE, row, total > 0 ? 100 * sums[i].to_ns / total : NAN);
        if (!op) continue;
        op->critical_ns += sums[i].to_ns;
        gt_table_set_float(sheet, LONGER, row, (op->ns - op->usual_ns) / 1e6);
    }
    found->critical = sentence(found, sums, count, ops, total, strings);
    found->segments_left_out = path->count > SEGMENTS_SHOWN ? path->count - SEGMENTS_SHOWN : 0;
    gt_table_list_add(tables, sheet);
    gt_table_list_add(tables, segments_sheet(found, path, strings));
    gt_free(sums);
}
