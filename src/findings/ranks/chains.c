/* Finds the chains of a rank's collectives (chains.h), and walks along them.
 *
 * Collectives are looked at in order of time. From each, the way goes back over ops and points of the
 * schedule until an end of a collective, the beginning of the window, or an op or point that the chain of an
 * earlier collective has: so each op and point is visited once. */
#include "findings/ranks/chains.h"

/* Pieces of a link; the smallest ones become "other". */
enum { PIECES_MAX = 12 };

const char *gt_chain_kind_name(gt_chain_kind kind)
{
    static const char *const names[GT_CHAIN_KINDS] = {[GT_CHAIN_COMPUTE] = "compute",
                                                      [GT_CHAIN_HOST] = "host",
                                                      [GT_CHAIN_DATA] = "data",
                                                      [GT_CHAIN_COMMUNICATION] = "communication",
                                                      [GT_CHAIN_IDLE] = "idle"};
    return names[kind];
}

/* ---- the pieces of one link ---- */

typedef struct piece {
    int64_t ns;
    uint32_t name; /* place in piece_names */
    uint32_t count;
    gt_chain_kind kind;
} piece;

typedef struct walk {
    const gt_schedule *s;
    gt_rank_facts *facts;
    const uint32_t *number, *before;
    uint32_t *link_of_op, *link_of_point; /* GT_NONE: on no chain yet */
    size_t piece_capacity;
    uint32_t *name_of; /* by string of the schedule: its place in piece_names; GT_NONE: not asked for yet */
    gt_map places_of_own; /* the same by string of the facts */
    uint32_t other;       /* that of "other" */
    /* The link that is being made: */
    gt_rank_link link;
    uint32_t index;
    int64_t at; /* everything after this is in its pieces */
    piece *pieces;
    size_t count, capacity;
    gt_map places; /* (link, name and kind) to the place of a piece */
} walk;

/* The place of a string of the facts in piece_names. */
static uint32_t place_of(walk *w, uint32_t string)
{
    gt_rank_facts *f = w->facts;
    uint32_t *place = gt_map_put(&w->places_of_own, string, 0);
    if (*place == GT_MAP_NONE) {
        if (f->piece_name_count == 1U << GT_PIECE_NAME_BITS) return *place = w->other;
        *place = (uint32_t)f->piece_name_count;
        GT_PUSH(f->piece_names, f->piece_name_count, f->piece_name_capacity, string);
    }
    return *place;
}

static uint32_t keep_cstr(walk *w, const char *text)
{
    return place_of(w, gt_interner_add_cstr(w->facts->strings, text));
}

static uint32_t keep_name(walk *w, uint32_t name)
{
    if (name == GT_STR_NONE) return w->other;
    if (w->name_of[name] == GT_NONE) {
        gt_str text = gt_interner_get(w->s->strings, name);
        w->name_of[name] = place_of(w, gt_interner_add(w->facts->strings, text.bytes, text.len));
    }
    return w->name_of[name];
}

/* Gives the time from `start` until w->at to a piece. */
static void take(walk *w, int64_t start, gt_chain_kind kind, uint32_t name)
{
    if (start < w->s->window.start_ns) start = w->s->window.start_ns;
    if (start >= w->at) return;
    uint32_t *place = gt_map_put(&w->places, w->index, (uint64_t)name * GT_CHAIN_KINDS + kind);
    if (*place == GT_MAP_NONE) {
        piece new = {.name = name, .kind = kind};
        *place = (uint32_t)w->count;
        GT_PUSH(w->pieces, w->count, w->capacity, new);
    }
    w->pieces[*place].ns += w->at - start;
    w->pieces[*place].count++;
    w->at = start;
}

static void take_cause(walk *w, int64_t start, gt_cause cause)
{
    bool is_device = cause >= GT_CAUSE_DEVICE_GAP;
    take(w, start,
         is_device                ? GT_CHAIN_IDLE
         : cause == GT_CAUSE_DATA ? GT_CHAIN_DATA
                                  : GT_CHAIN_HOST,
         keep_cstr(w, gt_cause_name(cause)));
}

/* Pieces that are shorter than the largest PIECES_MAX - 1 become one. */
static void limit_pieces(walk *w)
{
    if (w->count <= PIECES_MAX) return;
    int64_t *sizes = gt_alloc(w->count * sizeof *sizes);
    for (size_t i = 0; i < w->count; i++) sizes[i] = w->pieces[i].ns;
    qsort(sizes, w->count, sizeof *sizes, gt_by_i64);
    int64_t least = sizes[w->count - (PIECES_MAX - 1)];
    piece rest = {.name = w->other, .kind = GT_CHAIN_COMPUTE};
    size_t kept = 0;
    int64_t longest_ns = 0;
    for (size_t i = 0; i < w->count; i++) {
        if (w->pieces[i].ns >= least && kept < PIECES_MAX - 1) {
            w->pieces[kept++] = w->pieces[i];
            continue;
        }
        if (w->pieces[i].ns > longest_ns) rest.kind = w->pieces[i].kind, longest_ns = w->pieces[i].ns;
        rest.ns += w->pieces[i].ns;
        rest.count += w->pieces[i].count;
    }
    w->pieces[kept++] = rest;
    w->count = kept;
    gt_free(sizes);
}

/* The link ends at w->at. Pieces were found from the end to the beginning. */
static void finish_link(walk *w, gt_chain_joins joins, uint32_t parent)
{
    const uint64_t most_ns = (1ULL << GT_PIECE_NS_BITS) - 1, most = (1U << GT_PIECE_COUNT_BITS) - 1;
    gt_rank_facts *f = w->facts;
    limit_pieces(w);
    w->link.from_ns = w->at;
    w->link.joins = joins;
    w->link.parent = parent;
    w->link.first_piece = (uint32_t)f->piece_count;
    for (size_t i = w->count; i-- > 0;) {
        const piece *p = &w->pieces[i];
        uint64_t ns = (uint64_t)p->ns < most_ns ? (uint64_t)p->ns : most_ns;
        uint64_t packed = ns | (uint64_t)p->name << GT_PIECE_NS_BITS |
                          (uint64_t)p->kind << (GT_PIECE_NS_BITS + GT_PIECE_NAME_BITS) |
                          (p->count < most ? p->count : most) << (64 - GT_PIECE_COUNT_BITS);
        GT_PUSH(f->pieces, f->piece_count, w->piece_capacity, packed);
    }
    w->link.piece_count = (uint32_t)w->count;
    f->links[w->index] = w->link;
    w->count = 0;
}

/* ---- the way back ---- */

/* Where the way goes on: after an op or at a point of the host; neither: nothing is known. */
typedef struct place {
    uint32_t op, point;
    bool is_launch; /* the op starts because of this point: its own wait does not matter */
} place;

static const place nowhere = {GT_NONE, GT_NONE, false};

static place start_of(const gt_gpu_op *op)
{
    switch (op->begins) {
    case GT_START_HOST:
        return (place){GT_NONE, op->point, true};
    case GT_START_QUEUE:
        return (place){op->previous, GT_NONE, false};
    case GT_START_DEPENDENCY:
        return (place){op->dependency, GT_NONE, false};
    default:
        return nowhere;
    }
}

static bool is_copy(const gt_gpu_op *op)
{
    return op->kind != GT_KIND_KERNEL;
}

static uint32_t name_of_op(walk *w, const gt_gpu_op *op)
{
    bool has_op = !op->communicates && !is_copy(op) && op->host_op != GT_NONE;
    return keep_name(w, has_op ? w->s->events[op->host_op].name : op->name);
}

/* Whether this can be the parent. Two collectives that start at the same time are not ordered, so that
 * neither can be the parent of the other. */
static bool can_join(const walk *w, uint32_t link)
{
    const gt_rank_facts *f = w->facts;
    return link != GT_NONE && (w->index == f->collective_count ||
                               f->collectives[link].start_ns < f->collectives[w->index].start_ns);
}

/* The op, and why it started. True if the link ends here. */
static bool pass_op(walk *w, place *next, gt_cause gap)
{
    const gt_gpu_op *op = &w->s->ops[next->op];
    take_cause(w, op->end_ns, gap);
    if (can_join(w, w->number[next->op])) {
        finish_link(w, GT_JOINS_END, w->number[next->op]);
        return true;
    }
    if (can_join(w, w->link_of_op[next->op])) {
        finish_link(w, GT_JOINS_CHAIN, w->link_of_op[next->op]);
        return true;
    }
    if (w->link_of_op[next->op] != GT_NONE || w->number[next->op] != GT_NONE) {
        *next = nowhere;
        return false;
    }
    w->link_of_op[next->op] = w->index;
    take(w, op->start_ns, op->communicates ? GT_CHAIN_COMMUNICATION : GT_CHAIN_COMPUTE, name_of_op(w, op));
    *next = start_of(op);
    return false;
}

/* A launch may wait for room in the queue, but not while it decides when an op starts. */
static void take_call(walk *w, const gt_host_point *point, bool is_launch)
{
    take_cause(w, point->base_ns, is_launch ? GT_CAUSE_LAUNCH : gt_cause_of_call(point->kind));
}

static void take_piece(walk *w, const gt_piece *part)
{
    bool is_named = part->label == GT_CAUSE_DATA || part->label == GT_CAUSE_CPU_OP ||
                    part->label == GT_CAUSE_PYTHON || part->label == GT_CAUSE_WAIT;
    take_cause(w, part->end_ns, GT_CAUSE_LAUNCH);
    if (is_named && part->event != GT_NONE)
        take(w, part->start_ns, part->label == GT_CAUSE_DATA ? GT_CHAIN_DATA : GT_CHAIN_HOST,
             keep_name(w, w->s->events[part->event].name));
    else
        take_cause(w, part->start_ns, (gt_cause)part->label);
}

/* The host's time before and in a point. True if the link ends here. */
static bool pass_point(walk *w, place *next)
{
    const gt_host_point *point = &w->s->points[next->point];
    bool waits = !next->is_launch && point->awaited != GT_NONE && point->wait_ns > 0 &&
                 w->s->ops[point->awaited].end_ns >= point->base_ns;
    if (waits) {
        take_cause(w, w->s->ops[point->awaited].end_ns, gt_cause_of_call(point->kind));
        *next = (place){point->awaited, GT_NONE, false};
        return false;
    }
    take_call(w, point, next->is_launch);
    if (can_join(w, w->link_of_point[next->point])) {
        finish_link(w, GT_JOINS_CHAIN, w->link_of_point[next->point]);
        return true;
    }
    if (w->link_of_point[next->point] != GT_NONE) {
        *next = nowhere;
        return false;
    }
    w->link_of_point[next->point] = w->index;
    for (uint32_t k = point->piece_count; k-- > 0;) take_piece(w, &w->s->pieces[point->first_piece + k]);
    *next = (place){GT_NONE, next->point ? next->point - 1 : GT_NONE, false};
    return false;
}

static void make_link(walk *w, size_t index, int64_t ready_ns, place from, gt_cause gap)
{
    w->index = (uint32_t)index;
    w->at = ready_ns;
    w->link = (gt_rank_link){0};
    while (w->at > w->s->window.start_ns && (from.op != GT_NONE || from.point != GT_NONE)) {
        bool of_op = from.op != GT_NONE;
        if (of_op ? pass_op(w, &from, gap) : pass_point(w, &from)) return;
        gap = GT_CAUSE_DEVICE_GAP;
    }
    finish_link(w, GT_JOINS_NOTHING, GT_NONE);
}

/* ---- all collectives ---- */

/* As in find_ready of facts.c. */
static place ready_after(const walk *w, const gt_gpu_op *op, const gt_rank_collective *c)
{
    const gt_schedule *s = w->s;
    if (c->ready_ns == c->start_ns || op->point == GT_NONE) return start_of(op);
    uint32_t compute = w->before[op->point];
    if (compute != GT_NONE && s->ops[compute].end_ns == c->ready_ns) return (place){compute, GT_NONE, false};
    return (place){GT_NONE, op->point, true};
}

static void make_links(walk *w)
{
    const gt_schedule *s = w->s;
    gt_rank_facts *f = w->facts;
    for (size_t i = 0; i < s->op_count; i++) {
        uint32_t number = w->number[i];
        if (number == GT_NONE) continue;
        const gt_rank_collective *c = &f->collectives[number];
        place from = c->start_ns < s->window.end_ns ? ready_after(w, &s->ops[i], c) : nowhere;
        make_link(w, number, c->ready_ns, from,
                  s->ops[i].begins == GT_START_DEPENDENCY ? GT_CAUSE_DEPENDENCY : GT_CAUSE_DEVICE_GAP);
    }
    /* The window ends with the first op of the last step; without steps, with the op that ends last. */
    place end = nowhere;
    if (s->window.end_op != GT_NONE && s->window.end_op < s->op_count)
        end = start_of(&s->ops[s->window.end_op]);
    for (uint32_t i = 0; s->window.end_op == GT_NONE && i < s->op_count; i++)
        if (s->ops[i].end_ns <= s->window.end_ns &&
            (end.op == GT_NONE || s->ops[i].end_ns >= s->ops[end.op].end_ns))
            end.op = i;
    make_link(w, f->collective_count, s->window.end_ns, end, GT_CAUSE_DEVICE_GAP);
}

void gt_rank_chains_find(gt_rank_facts *facts, const gt_schedule *schedule, const uint32_t *number,
                         const uint32_t *before)
{
    walk w = {.s = schedule,
              .facts = facts,
              .number = number,
              .before = before,
              .link_of_op = gt_no_events(schedule->op_count),
              .link_of_point = gt_no_events(schedule->point_count),
              .name_of = gt_no_events(gt_interner_count(schedule->strings))};
    w.other = keep_cstr(&w, "other");
    facts->link_count = facts->collective_count + 1;
    facts->links = gt_alloc(facts->link_count * sizeof *facts->links);
    for (size_t i = 0; i < facts->collective_count; i++)
        facts->links[i] = (gt_rank_link){.from_ns = facts->collectives[i].ready_ns, .parent = GT_NONE};
    make_links(&w);
    gt_free_all(w.link_of_op, w.link_of_point, w.name_of, w.pieces);
    gt_map_free(&w.places);
    gt_map_free(&w.places_of_own);
}

/* ---- walking along a chain ---- */

int64_t gt_rank_link_end(const gt_rank_facts *facts, size_t link)
{
    const double most_ns = 0x1p62; /* a loaded time may be anything */
    if (link < facts->collective_count) return facts->collectives[link].ready_ns;
    return fabs(facts->end_ns) < most_ns ? (int64_t)facts->end_ns : 0;
}

/* Where the walk is, and down to where it goes. */
typedef struct stroll {
    int64_t at, from_ns, above; /* what is later than `above` is not wanted */
    gt_chain_taker *take;
    void *context;
} stroll;

static void go_to(stroll *s, int64_t to, gt_chain_kind kind, uint32_t name, uint32_t count,
                  uint32_t collective, uint32_t link)
{
    if (to < s->from_ns) to = s->from_ns;
    if (to >= s->at) return;
    int64_t end = s->at < s->above ? s->at : s->above;
    s->at = to;
    if (to >= end) return;
    s->take(s->context, &(gt_chain_piece){to, end, kind, name, count, collective, link});
}

void gt_rank_chain_walk(const gt_rank_facts *facts, size_t link, int64_t from_ns, int64_t to_ns,
                        gt_chain_taker *taker, void *context)
{
    stroll s = {.from_ns = from_ns, .above = to_ns, .take = taker, .context = context};
    s.at = gt_rank_link_end(facts, link);
    if (s.at < to_ns) s.at = to_ns;
    while (s.at > from_ns && facts->links) {
        const gt_rank_link *l = &facts->links[link];
        int64_t end = gt_rank_link_end(facts, link); /* after it, the chain of another link was followed */
        go_to(&s, end, GT_CHAIN_IDLE, GT_STR_NONE, 1, GT_NONE, (uint32_t)link);
        for (uint32_t i = l->piece_count; i-- > 0 && end > l->from_ns;) {
            uint64_t packed = facts->pieces[l->first_piece + i];
            end = end - gt_piece_ns(packed) > l->from_ns ? end - gt_piece_ns(packed) : l->from_ns;
            go_to(&s, end, gt_piece_kind(packed), facts->piece_names[gt_piece_name(packed)],
                  gt_piece_count(packed), GT_NONE, (uint32_t)link);
        }
        go_to(&s, l->from_ns, GT_CHAIN_IDLE, GT_STR_NONE, 1, GT_NONE, (uint32_t)link);
        if (l->joins == GT_JOINS_NOTHING) break;
        if (l->joins == GT_JOINS_END) {
            const gt_rank_collective *c = &facts->collectives[l->parent];
            go_to(&s, c->start_ns, GT_CHAIN_COMMUNICATION, GT_STR_NONE, 1, l->parent, (uint32_t)link);
            go_to(&s, c->ready_ns, GT_CHAIN_IDLE, GT_STR_NONE, 1, GT_NONE, (uint32_t)link);
        }
        link = l->parent;
    }
    go_to(&s, from_ns, GT_CHAIN_IDLE, GT_STR_NONE, 1, GT_NONE, (uint32_t)link);
}
