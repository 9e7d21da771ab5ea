/* The tree of learned text. It contains only text that was parsed in full before, so following it is safe:
 * whatever is not compared byte by byte is read by a step that checks it as strictly as full parsing does.
 *
 * Three habits of traces make it fast:
 *
 * - Values that stay the same for many records (process and thread ids) are folded into the text: two edges
 * and the value between them become one edge. After 24 records with "pid": 5, the edges `"pid": ` and `,
 * "tid": ` become the one edge `"pid": 5, "tid": `. It is dropped again if it fails 1,024 times in a row.
 * - Strings follow each other in the same order again and again (a launch follows its op), so each string is
 * first compared with the one that came after its predecessor last time.
 * - Of several edges at a node, the one used last is tried first. */
#include "input/json/learned.h"
#include "base/memory.h"
#include "json/number.h"
#include "json/string.h"
#include "json/scan.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_EDGES = 12,        /* at a node */
    MAX_EDGE_TEXT = 2048,  /* bytes; a record with longer constant text is not learned */
    MAX_FOLDED_TEXT = 256, /* most bytes of an edge with folded values */
    MAX_NODES = 8192,      /* in total, so that hostile input cannot make the tree grow without end */
    FOLD_AFTER = 24,       /* a value seen this often in a row counts as constant */
    UNFOLD_AFTER = 1024,   /* after failing this often in a row, it no longer does */
    WATCH_VALUES = 250,    /* this many values are watched; then the value counts as varying */
    GUESSES = 256,         /* remembered successors of strings at a node; a power of two */
};

typedef struct effect {
    uint8_t field;
    bool mistyped;
    gt_store_cell cell;
} effect;

typedef struct edge {
    uint8_t *text; /* padded to a multiple of 16 */
    uint32_t len;
    uint32_t effect_count;
    effect *effects;
    struct node *to; /* NULL at the record's end */
    int64_t last;    /* the last value seen after this edge */
    uint16_t same;   /* how often in a row it was the same */
    uint16_t watch;  /* how many values are still to be watched */
    uint16_t misses; /* of a folded edge: failed comparisons since it last matched */
    bool folded;
    bool dropping; /* the record is not wanted, whatever follows */
} edge;

typedef struct node {
    gt_step_op op;
    int field;
    unsigned depth;
    bool mistyped;
    uint8_t edge_count;
    edge *edges[MAX_EDGES];
    uint32_t *guesses;
} node;

struct gt_learned {
    gt_json_interner *strings, *values;
    gt_arena arena;
    node *root;
    size_t nodes;
    uint32_t before; /* the raw id of the last string */
};

static node *new_node(gt_learned *learned, const gt_step *step)
{
    node *n = gt_arena_alloc(&learned->arena, sizeof *n);
    *n = (node){.op = step->op, .field = step->field, .depth = step->depth, .mistyped = step->mistyped};
    if (n->op == GT_STEP_TEXT || n->op == GT_STEP_JSON) {
        n->guesses = gt_arena_alloc(&learned->arena, GUESSES * sizeof *n->guesses);
        memset(n->guesses, 0, GUESSES * sizeof *n->guesses);
    }
    learned->nodes++;
    return n;
}

gt_learned *gt_learned_new(gt_json_interner *strings, gt_json_interner *values)
{
    gt_learned *learned = gt_alloc_zero(1, sizeof *learned);
    learned->strings = strings;
    learned->values = values;
    learned->root = new_node(learned, &(gt_step){.op = GT_STEP_CONSTANT, .field = -1});
    return learned;
}

void gt_learned_free(gt_learned *learned)
{
    if (!learned) return;
    gt_arena_free(&learned->arena);
    gt_free(learned);
}

/* ---- learning ---- */

/* Whether values read by this step may be folded into the text around them. */
static inline bool may_fold(gt_step_op op)
{
    return op == GT_STEP_INT || op == GT_STEP_JSON || op == GT_STEP_SKIP_NUMBER || op == GT_STEP_SKIP_STRING;
}

static edge *new_edge(gt_learned *learned, size_t len, const effect *effects, size_t effect_count, node *to)
{
    edge *e = gt_arena_alloc(&learned->arena, sizeof *e);
    size_t effect_bytes = effect_count * sizeof *effects;
    *e = (edge){.len = (uint32_t)len, .effect_count = (uint32_t)effect_count, .to = to};
    if (to && may_fold(to->op)) e->watch = WATCH_VALUES;
    e->text = gt_arena_alloc(&learned->arena, (len + 15) & ~(size_t)15);
    e->effects = gt_arena_alloc(&learned->arena, effect_bytes);
    if (effect_bytes) memcpy(e->effects, effects, effect_bytes);
    return e;
}

/* Puts the edge first; if there are too many, the last one is dropped. */
static void put_edge(node *from, edge *e)
{
    size_t moved = from->edge_count < MAX_EDGES ? from->edge_count++ : MAX_EDGES - 1;
    memmove(from->edges + 1, from->edges, moved * sizeof *from->edges);
    from->edges[0] = e;
}

static edge *find_edge(const node *from, const uint8_t *text, size_t len)
{
    for (size_t i = 0; i < from->edge_count; i++) {
        edge *e = from->edges[i];
        if (!e->folded && e->len == len && memcmp(e->text, text, len) == 0) return e;
    }
    return NULL;
}

static bool same_value(const node *to, const gt_step *step)
{
    return step ? to && to->op == step->op && to->field == step->field && to->mistyped == step->mistyped
                : !to;
}

/* The edge with this text to this step (NULL: the end), created if needed. NULL if the same text already
 * leads to a value that is read in another way: the text alone must determine how to continue. */
static edge *grow_edge(gt_learned *learned, node *from, const uint8_t *text, size_t len,
                       const effect *effects, size_t effect_count, const gt_step *step)
{
    edge *e = find_edge(from, text, len);
    if (e) return same_value(e->to, step) ? e : NULL;
    node *to = step ? new_node(learned, step) : NULL;
    e = new_edge(learned, len, effects, effect_count, to);
    memcpy(e->text, text, len);
    put_edge(from, e);
    return e;
}

void gt_learned_add(gt_learned *learned, const uint8_t *text, size_t len, const gt_step *steps, size_t count,
                    size_t decided)
{
    effect effects[GT_RECORD_MAX_FIELDS];
    size_t effect_count = 0, from = 0;
    node *at = learned->root;
    if (learned->nodes + count > MAX_NODES) return;
    for (size_t i = 0; i <= count; i++) {
        const gt_step *step = i < count ? &steps[i] : NULL;
        if (step && step->op == GT_STEP_CONSTANT) {
            if (step->field < 0) continue;
            if (effect_count == GT_RECORD_MAX_FIELDS) return;
            effects[effect_count++] = (effect){(uint8_t)step->field, step->mistyped, step->cell};
            continue;
        }
        size_t to = step ? step->begin : len;
        if (to - from > MAX_EDGE_TEXT) return;
        edge *e = grow_edge(learned, at, text + from, to - from, effects, effect_count, step);
        if (!e) return;
        if (i == decided) e->dropping = true;
        at = e->to;
        from = step ? step->end : len;
        effect_count = 0;
    }
}

/* The value between two edges has stayed the same for long: joins the edges before and after it into one. */
static void fold(gt_learned *learned, node *from, const edge *before, const edge *after, gt_str value_text,
                 effect value)
{
    size_t len = before->len + value_text.len + after->len;
    size_t count = before->effect_count + after->effect_count;
    if (len > MAX_FOLDED_TEXT || count >= GT_RECORD_MAX_FIELDS || learned->nodes >= MAX_NODES) return;
    effect effects[GT_RECORD_MAX_FIELDS];
    memcpy(effects, before->effects, before->effect_count * sizeof *effects);
    count = before->effect_count;
    if (before->to->field >= 0) effects[count++] = value;
    memcpy(effects + count, after->effects, after->effect_count * sizeof *effects);
    count += after->effect_count;
    edge *e = new_edge(learned, len, effects, count, after->to);
    memcpy(e->text, before->text, before->len);
    memcpy(e->text + before->len, value_text.bytes, value_text.len);
    memcpy(e->text + before->len + value_text.len, after->text, after->len);
    e->folded = true;
    put_edge(from, e);
    learned->nodes++;
}

static void drop_edge(node *from, size_t index)
{
    from->edge_count--;
    memmove(from->edges + index, from->edges + index + 1, (from->edge_count - index) * sizeof *from->edges);
}

/* ---- reading ---- */

/* The closing quote of the string whose first byte is p, NULL if it is not closed or has an invalid escape.
 */
static inline const uint8_t *skip_string(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *close = gt_scan_quote(p, end);
    if (close < end && *close == '"') return close;
    close = gt_scan_string(p, end);
    if (close == end || gt_json_string_bad_escape((gt_str){(const char *)p, (size_t)(close - p)}))
        return NULL;
    return close;
}

/* The end of the container whose first byte after the bracket is p, NULL if it is invalid. */
static const uint8_t *skip_container(const uint8_t *p, const gt_json *outer, unsigned depth)
{
    const uint8_t *close = gt_scan_container(p, outer->end);
    if (!close) return NULL;
    gt_json json;
    gt_json_begin_str(&json, (gt_str){(const char *)p - 1, (size_t)(close - p) + 1});
    json.depth = outer->depth + depth;
    return gt_json_skip(&json) && gt_json_finish(&json) ? close : NULL;
}

/* The string or value at p as an interned string: the guessed successor first, then a lookup. NULL if it is
 * invalid. */
static inline const uint8_t *read_text(gt_learned *learned, node *n, const uint8_t *p, const uint8_t *end,
                                       uint64_t *meaning)
{
    bool is_string = n->op == GT_STEP_TEXT;
    gt_json_interner *intern = is_string ? learned->strings : learned->values;
    uint32_t *guess = &n->guesses[learned->before % GUESSES];
    if (*guess) {
        gt_str raw = gt_json_interner_raw(intern, *guess);
        if (raw.len < (size_t)(end - p) && gt_scan_same(p, (const uint8_t *)raw.bytes, raw.len) &&
            (is_string ? p[raw.len] == '"' : gt_scan_number_end(p + raw.len) == p + raw.len)) {
            learned->before = *guess;
            *meaning = gt_json_interner_decoded(intern, *guess);
            return p + raw.len;
        }
    }
    const uint8_t *close;
    if (is_string)
        close = gt_scan_string(p, end);
    else if (*p == '"')
        close = gt_scan_string(p + 1, end) + 1;
    else if (*p == '[' || *p == '{')
        close = gt_scan_container(p + 1, end);
    else
        close = gt_scan_number_end(p);
    if (!close || close >= end) return NULL;
    uint32_t id = gt_json_interner_add(intern, (gt_str){(const char *)p, (size_t)(close - p)});
    if (!id) return NULL;
    learned->before = *guess = id;
    *meaning = gt_json_interner_decoded(intern, id);
    return close;
}

static void set_cell(gt_record *record, int field, gt_store_cell cell)
{
    record->cells[field] = cell;
    record->present |= UINT64_C(1) << field;
}

/* Distinguishes strings well enough to notice a value that never changes. */
static int64_t fingerprint(const uint8_t *p, const uint8_t *end)
{
    uint64_t head;
    memcpy(&head, p, 8);
    return (int64_t)(head ^ ((uint64_t)(end - p) << 56));
}

/* Equal for equal values of a node, and almost never for different ones. */
static inline int64_t fingerprint_of(const node *n, const uint8_t *value, const uint8_t *end,
                                     const gt_store_cell *cell)
{
    return n->op == GT_STEP_INT || n->op == GT_STEP_JSON ? cell->integer : fingerprint(value, end);
}

/* Reads the value of a node into the record and `*read`; NULL if it has another form. */
static inline const uint8_t *read_value(gt_learned *learned, node *n, const uint8_t *p, const gt_json *json,
                                        gt_record *record, gt_store_cell *read)
{
    gt_store_cell cell = {0};
    const uint8_t *end = json->end, *from = p;
    switch (n->op) {
    case GT_STEP_INT:
        p = gt_scan_int(p, &cell.integer);
        break;
    case GT_STEP_TIME: {
        bool integral = false;
        p = gt_scan_time(p, &cell.time, &integral);
        record->integral |= (uint64_t)integral << n->field;
        break;
    }
    case GT_STEP_TEXT:
    case GT_STEP_JSON:
        p = read_text(learned, n, p, end, &cell.text);
        break;
    case GT_STEP_VIEW:
        p = skip_string(p, end);
        if (!p) return NULL;
        record->views[n->field].begin = (uint32_t)(from - json->at);
        record->views[n->field].len = (uint32_t)(p - from);
        record->present |= UINT64_C(1) << n->field;
        return p;
    case GT_STEP_SKIP_STRING:
        p = skip_string(p, end);
        break;
    case GT_STEP_SKIP_NUMBER:
        p = gt_scan_number(p);
        break;
    case GT_STEP_SKIP_CONTAINER:
        p = skip_container(p, json, n->depth);
        break;
    case GT_STEP_CONSTANT:
        return NULL;
    }
    if (!p || p >= end) return NULL;
    if (n->field >= 0) {
        if (n->mistyped)
            record->mistyped |= UINT64_C(1) << n->field;
        else
            set_cell(record, n->field, cell);
    }
    *read = cell;
    return p;
}

static inline void apply(const edge *e, gt_record *record)
{
    for (size_t i = 0; i < e->effect_count; i++) {
        const effect *f = &e->effects[i];
        if (f->mistyped)
            record->mistyped |= UINT64_C(1) << f->field;
        else
            set_cell(record, f->field, f->cell);
    }
}

/* The end of the record, from the end of an edge on; NULL if it is not in the current block. The edge's text
 * may end with the quote or bracket that opens the next value. */
static const uint8_t *pass_rest(const edge *e, const uint8_t *p, const uint8_t *end)
{
    uint8_t last = e->text[e->len - 1];
    if (last == '"') {
        p = gt_scan_string(p, end);
        if (p == end) return NULL;
        p++;
    } else if (last == '[' || last == '{') {
        p = gt_scan_container(p, end);
        if (!p) return NULL;
    }
    return gt_scan_long_container(p, end);
}

/* The edge that matches the text at p, NULL if none does. */
static inline edge *follow(node *from, const uint8_t *p, const uint8_t *end)
{
    for (size_t i = 0; i < from->edge_count; i++) {
        edge *e = from->edges[i];
        if (e->len <= (size_t)(end - p) && gt_scan_same(p, e->text, e->len)) {
            if (i) { /* moves one place to the front */
                from->edges[i] = from->edges[i - 1];
                from->edges[i - 1] = e;
            }
            e->misses = 0;
            return e;
        }
        if (e->folded && ++e->misses > UNFOLD_AFTER) drop_edge(from, i--);
    }
    return NULL;
}

/* Counts how often the value after an edge stays the same. True when it should be folded. */
static inline bool is_constant(edge *before, int64_t seen)
{
    if (before->last != seen) {
        before->last = seen;
        before->same = 0;
    }
    before->watch--;
    if (++before->same < FOLD_AFTER) return false;
    before->same = 0;
    return true;
}

bool gt_learned_read(gt_learned *learned, gt_json *json, gt_record *record)
{
    const uint8_t *p = json->at, *end = json->end;
    node *from = NULL, *n = learned->root; /* from: the node before n */
    edge *before = NULL;                   /* between the two */
    const uint8_t *value = NULL;           /* n's value */
    gt_store_cell cell = {0};
    for (;;) {
        edge *e = follow(n, p, end);
        if (!e) return false;
        if (before && before->watch && is_constant(before, fingerprint_of(n, value, p, &cell))) {
            effect constant = {(uint8_t)n->field, n->mistyped, cell};
            fold(learned, from, before, e, (gt_str){(const char *)value, (size_t)(p - value)}, constant);
        }
        p += e->len;
        apply(e, record);
        if (e->dropping) {
            if (e->to && !(p = pass_rest(e, p, end))) return false;
            record->dropped = true;
            break;
        }
        if (!e->to) break;
        from = n;
        before = e;
        n = e->to;
        value = p;
        p = read_value(learned, n, p, json, record, &cell);
        if (!p) return false;
    }
    json->at = p;
    json->first = false;
    return true;
}
