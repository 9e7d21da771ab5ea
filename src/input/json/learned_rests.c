/* The rests of records: their last values, looked up as one text.
 *
 * Each kernel dispatch has times of its own, but the sizes of one of a few hundred dispatches before it:
 *
 *     {"start": 410, "end": 478, "kernel": 8, "block": {"x": 512, "y": 1, "z": 1}, "grid": {"x": 4096, ...}}
 *
 * So after one of its values, the rest of the record is looked up by its bytes and compared as a whole, which
 * gives all fields in it at once. Otherwise each number is read, and how many digits it has is a branch that
 * is often mispredicted. Of the 44,000 dispatches of a rocprofv3 trace, 98 % are found; the report takes 3 %
 * less time (Neoverse-N1).
 *
 * Where the rest begins is found by trying: after the first value from which on the text is short enough, and
 * if too few rests are found there, after the next one. Only records whose values are all integers have
 * rests: a string is looked up by itself. */
#include "input/json/learned_tree.h"
#include "json/number.h"

/* WAIT: records; until then, what is constant has become a part of the text. VALUES and SHORTEST: the values
 * and bytes that a rest must have to be worth looking up. Sanitizer and fuzz builds look for rests in small
 * inputs, too. */
#ifdef GT_SMALL_GRAINS
enum { WAIT = 2, VALUES = 1, SHORTEST = 8 };
#else
enum { WAIT = 64, VALUES = 3, SHORTEST = 48 };
#endif
enum {
    WAIT_MOST = WAIT << 10, /* records; then they are not looked for any longer */
    FIRST_MISSES = 64,      /* when most rests are still new: there must have been a few hits */
    FIRST_HITS = 2,
    MISSES = 512,      /* each time: there must have been half as many hits */
    HASHED_MOST = 128, /* bytes of a rest that decide where it is kept */
    HASHED_STEP = 16,
};

/* The values of a record, in their order. */
typedef struct int_path {
    gt_learned_node *nodes[GT_STORE_MAX_COLUMNS];
    const uint8_t *ends[GT_STORE_MAX_COLUMNS];
    size_t count;
    bool whole; /* these are all: all values are integers, and there are not too many */
} int_path;

void gt_learned_begin_rests(gt_learned *learned)
{
    learned->rest_wait = WAIT;
}

uint64_t gt_learned_rest_hits(const gt_learned *learned)
{
    return learned->rests ? learned->rests->hits : 0;
}

/* The longest edge whose text is at p: an edge with a folded value begins like the one it was made of. */
static const gt_learned_edge *edge_at(const gt_learned_node *from, const uint8_t *p, const uint8_t *end)
{
    const gt_learned_edge *found = NULL;
    for (size_t i = 0; i < from->edge_count; i++) {
        const gt_learned_edge *e = from->edges[i];
        if (e->len <= (size_t)(end - p) && memcmp(p, e->text, e->len) == 0 && (!found || e->len > found->len))
            found = e;
    }
    return found;
}

static int_path find_path(const gt_learned *learned, const uint8_t *p, const uint8_t *end)
{
    int_path path = {.count = 0};
    const gt_learned_node *from = learned->root;
    for (const gt_learned_edge *e; path.count < GT_LENGTH(path.nodes) && (e = edge_at(from, p, end));) {
        gt_learned_node *n = e->to;
        p += e->len;
        path.whole = !n && p == end;
        if (!n || (n->op != GT_STEP_INT && n->op != GT_STEP_SKIP_NUMBER)) break;
        p = gt_scan_number_end(p); /* at the latest at the bracket that closes the record */
        path.nodes[path.count] = n;
        path.ends[path.count++] = p;
        from = n;
    }
    return path;
}

/* The first node after which rests were not looked for yet; NULL if there is none. */
static gt_learned_node *find_node(const gt_learned *learned, const uint8_t *record, const uint8_t *end,
                                  size_t *len)
{
    int_path path = find_path(learned, record, end);
    for (size_t i = 0; path.whole && i + VALUES < path.count; i++) {
        *len = (size_t)(end - path.ends[i]);
        if (*len <= GT_REST_MAX && *len >= SHORTEST && !path.nodes[i]->had_rests) return path.nodes[i];
    }
    return NULL;
}

/* Begins with rests of this length. */
static void begin_with(gt_learned_rests *rests, size_t len)
{
    rests->hashed = (len < HASHED_MOST ? len : HASHED_MOST) / HASHED_STEP * HASHED_STEP;
    for (size_t i = 0; i < GT_LENGTH(rests->slots); i++)
        if (rests->slots[i]) rests->slots[i]->len = 0;
}

static void look_after(gt_learned *learned, gt_learned_node *n, size_t len)
{
    if (!learned->rests) {
        learned->rests = gt_arena_alloc(&learned->arena, sizeof *learned->rests);
        *learned->rests = (gt_learned_rests){.hashed = 0};
    }
    gt_learned_rests *rests = learned->rests;
    begin_with(rests, len);
    rests->counted = rests->hits;
    rests->misses = 0;
    rests->is_new = true;
    n->rests = rests;
    n->had_rests = true;
}

/* One record is not enough: what was constant for long has become text, and may vary later. */
void gt_learned_seek_rests(gt_learned *learned, const uint8_t *record, const uint8_t *end)
{
    if (--learned->rest_wait) return;
    size_t len;
    gt_learned_node *n = find_node(learned, record, end, &len);
    if (n) {
        look_after(learned, n, len);
        return;
    }
    learned->rest_waited = learned->rest_waited ? 2 * learned->rest_waited : WAIT;
    learned->rest_wait = learned->rest_waited < WAIT_MOST ? learned->rest_waited : 0;
}

void gt_learned_drop_rests(gt_learned *learned, gt_learned_node *after)
{
    after->rests = NULL;
    learned->rest_wait = 1; /* the next record shows which value is next */
}

/* Whether so few rests were found that looking for them costs more than it saves. */
static bool are_of_no_use(gt_learned_rests *rests)
{
    if (++rests->misses < (rests->is_new ? FIRST_MISSES : MISSES)) return false;
    bool too_few = rests->hits - rests->counted < (rests->is_new ? FIRST_HITS : MISSES / 2);
    rests->counted = rests->hits;
    rests->misses = 0;
    rests->is_new = false;
    return too_few;
}

void gt_learned_keep_rest(gt_learned *learned, gt_learned_node *after, gt_str text, uint64_t present,
                          const gt_store_cell *cells)
{
    gt_learned_rests *rests = after->rests;
    if (!rests) return; /* its value was folded just now */
    if (are_of_no_use(rests)) {
        gt_learned_drop_rests(learned, after);
        return;
    }
    if (text.len > GT_REST_MAX || text.len < SHORTEST || __builtin_popcountll(present) > GT_REST_FIELDS)
        return;
    if (text.len < rests->hashed) begin_with(rests, text.len); /* what follows the record must not count */
    gt_learned_rest **slot = &rests->slots[gt_learned_rest_slot(rests, (const uint8_t *)text.bytes)];
    if (!*slot) *slot = gt_arena_alloc(&learned->arena, sizeof **slot);
    gt_learned_rest *rest = *slot;
    *rest = (gt_learned_rest){.len = (uint8_t)text.len, .present = present};
    memcpy(rest->text, text.bytes, text.len);
    for (uint64_t left = present; left; left &= left - 1) {
        size_t field = (size_t)__builtin_ctzll(left);
        rest->fields[rest->count] = (uint8_t)field;
        rest->cells[rest->count++] = cells[field];
    }
}
