/* Follows the tree of learned text. This file is the code of the learned_<set>.c files, each of which
 * compiles it for one instruction set: every loop over bytes is inlined into it, so the set is chosen once
 * per record and not in a loop. In addition to the vectors, x86-64 gains from BMI2 (shifts by a variable
 * amount) and from POPCNT.
 *
 * GT_LEARNED_SET is the name of the gt_learned_set that it defines. */
#pragma once

#include "input/json/learned_tree.h"
#include "json/scan.h"
#include "json/string.h"

enum {
    FOLD_AFTER = 24,     /* a value seen this often in a row counts as constant */
    UNFOLD_AFTER = 1024, /* after failing this often in a row, it no longer does */
};

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
    const uint8_t *close = gt_json_skip_text(p - 1, outer->end, outer->depth + depth);
    if (close) return close;
    close = gt_scan_long_containers(p, outer->end, 1, false);
    if (!close) return NULL;
    gt_json json;
    gt_json_begin_str(&json, (gt_str){(const char *)p - 1, (size_t)(close - p) + 1});
    json.depth = outer->depth + depth;
    return gt_json_skip(&json) && gt_json_finish(&json) ? close : NULL;
}

/* Whether the text at p is the one with this raw id, with nothing of the value after it. */
static inline bool is_text(const gt_json_raw *raw, bool is_string, const uint8_t *p, const uint8_t *end)
{
    if (raw->len >= (size_t)(end - p) || !gt_scan_same(p, (const uint8_t *)raw->bytes, raw->len))
        return false;
    const uint8_t *after = p + raw->len;
    return is_string ? *after == '"' : *after == ',' || gt_scan_number_end(after) == after;
}

/* Makes the string a part of the context of the next one. */
static inline void note_string(gt_learned *learned, uint32_t id)
{
    if (learned->has_first) {
        learned->context = learned->context * 31 + id;
        return;
    }
    learned->has_first = true;
    learned->next_context = (learned->second * 40503 ^ learned->first) * 7919 + id;
    learned->context = learned->next_context;
    learned->second = learned->first;
    learned->first = id;
}

/* The end of the string or value at p, NULL if it is not before `end`. */
static inline const uint8_t *end_of_text(bool is_string, const uint8_t *p, const uint8_t *end)
{
    const uint8_t *close;
    if (is_string)
        close = gt_scan_string(p, end);
    else if (*p == '"')
        close = gt_scan_string(p + 1, end) + 1;
    else if (*p == '[' || *p == '{')
        close = gt_scan_long_containers(p + 1, end, 1, false);
    else
        close = gt_scan_number_end(p);
    return close && close < end ? close : NULL;
}

/* Where the text was kept when it was last read. The bytes are from its two ends and its middle: names of
 * functions begin with the name of their file and end with their own. */
static inline uint32_t *recent_of(gt_learned_strings *strings, const uint8_t *p, size_t len)
{
    uint64_t head, middle, tail;
    memcpy(&head, p, 8);
    memcpy(&middle, p + len / 2 - 4, 8);
    memcpy(&tail, p + len - 8, 8);
    uint64_t hash = (head + len) * 0x9E3779B97F4A7C15u ^ middle * 0xD6E8FEB86659FD93u;
    hash ^= tail * 0xC2B2AE3D27D4EB4Fu;
    return &strings->seen->recent[hash >> (64 - GT_LEARNED_RECENT_BITS)];
}

/* The raw id of a text, found by some of its bytes if it is long enough for this to be cheaper. */
static inline uint32_t look_up(gt_learned_strings *strings, const uint8_t *p, size_t len)
{
    gt_json_interner *intern = strings->intern;
    gt_str text = {(const char *)p, len};
    if (len < 8) return gt_json_interner_add(intern, text);
    uint32_t *recent = recent_of(strings, p, len);
    if (*recent) {
        const gt_json_raw *raw = &intern->items[*recent];
        if (raw->len == len && gt_scan_same(p, (const uint8_t *)raw->bytes, len)) return *recent;
    }
    return *recent = gt_json_interner_add(intern, text);
}

/* The string or value at p as an interned string: the two that came after the same strings before are
 * compared first, then it is looked up. NULL if it is invalid. */
static inline const uint8_t *read_text(gt_learned *learned, gt_learned_node *n, const uint8_t *p,
                                       const uint8_t *end, uint64_t *meaning)
{
    bool is_string = n->op == GT_STEP_TEXT;
    gt_learned_strings *strings = is_string ? &learned->strings : &learned->values;
    uint32_t hash = (learned->context ^ n->salt) * 0x9E3779B1u >> (32 - GT_LEARNED_GUESS_BITS);
    uint32_t *guess = strings->seen->guesses[hash];
    for (int i = 0; i < 2 && guess[i]; i++) {
        const gt_json_raw *raw = &strings->intern->items[guess[i]];
        if (!is_text(raw, is_string, p, end)) continue;
        uint32_t id = guess[i];
        if (i) {
            guess[1] = guess[0];
            guess[0] = id;
        }
        note_string(learned, id);
        *meaning = raw->decoded;
        return p + raw->len;
    }
    const uint8_t *close = end_of_text(is_string, p, end);
    if (!close) return NULL;
    uint32_t id = look_up(strings, p, (size_t)(close - p));
    if (!id) return NULL;
    guess[1] = guess[0];
    guess[0] = id;
    note_string(learned, id);
    *meaning = gt_json_interner_decoded(strings->intern, id);
    return close;
}

/* Distinguishes strings well enough to notice a value that never changes. */
static int64_t fingerprint(const uint8_t *p, const uint8_t *end)
{
    uint64_t head;
    memcpy(&head, p, 8);
    return (int64_t)(head ^ ((uint64_t)(end - p) << 56));
}

/* Equal for equal values of a node, and almost never for different ones. */
static inline int64_t fingerprint_of(const gt_learned_node *n, const uint8_t *value, const uint8_t *end,
                                     const gt_store_cell *cell)
{
    return n->op == GT_STEP_INT || n->op == GT_STEP_JSON ? cell->integer : fingerprint(value, end);
}

/* Reads the value of a node into the record and `*cell`; NULL if it has another form. What the record gets is
 * meaningless if the value is at the end of the block. */
static inline const uint8_t *read_value(gt_learned *learned, gt_learned_node *n, const uint8_t *p,
                                        const gt_json *json, gt_record *record, gt_store_cell *cell)
{
    const uint8_t *from = p;
    uint64_t field = UINT64_C(1) << (n->field & 63);
    if (n->op == GT_STEP_TEXT || n->op == GT_STEP_JSON) {
        p = read_text(learned, n, p, json->end, &cell->text);
        record->cells[n->field] = *cell;
        record->present |= field;
        return p;
    }
    if (n->op == GT_STEP_TIME) {
        bool integral = false;
        p = gt_scan_time(p, &cell->time, &integral);
        record->integral |= (uint64_t)integral << n->field;
        record->cells[n->field] = *cell;
        record->present |= field;
        return p;
    }
    cell->integer = 0;
    switch (n->op) {
    case GT_STEP_SKIP_NUMBER:
        p = gt_scan_number(p);
        break;
    case GT_STEP_SKIP_STRING:
        p = skip_string(p, json->end);
        break;
    case GT_STEP_SKIP_CONTAINER:
        p = skip_container(p, json, n->depth);
        break;
    case GT_STEP_VIEW:
        p = skip_string(p, json->end);
        if (!p) return NULL;
        record->views[n->field].begin = (uint32_t)(from - json->at);
        record->views[n->field].len = (uint32_t)(p - from);
        record->present |= field;
        return p;
    default: /* read_record reads integers, and constants are no nodes */
        return NULL;
    }
    if (n->mistyped) record->mistyped |= field;
    return p;
}

/* Returns the fields that it sets. */
static inline uint64_t apply(const gt_learned_edge *e, gt_record *record)
{
    if (e->mistyped) record->mistyped |= e->mistyped;
    for (size_t i = 0; i < e->effect_count; i++) record->cells[e->effects[i].field] = e->effects[i].cell;
    return e->present;
}

/* The end of the record, from the end of an edge on; NULL if it is not in the current block. The edge's text
 * may end with the quote or bracket that opens the next value. */
static const uint8_t *pass_rest(const gt_learned_edge *e, const uint8_t *p, const uint8_t *end)
{
    uint8_t last = e->text[e->len - 1];
    bool opens = last == '[' || last == '{';
    return gt_scan_long_containers(p, end, e->to->depth + opens, last == '"');
}

static inline bool is_at(const gt_learned_edge *e, const uint8_t *p, const uint8_t *end)
{
    return e->len <= (size_t)(end - p) && gt_scan_same(p, e->text, e->len);
}

/* Whether a folded edge has failed too often to be useful. */
static inline bool fails_often(gt_learned_edge *e)
{
    return e->folded && ++e->misses > UNFOLD_AFTER;
}

/* The edge that matches the text at p, NULL if none does. The first one does not. */
static gt_learned_edge *follow_other(gt_learned_node *from, const uint8_t *p, const uint8_t *end)
{
    size_t i = 1;
    if (from->edge_count && fails_often(from->edges[0])) gt_learned_drop_edge(from, --i);
    for (; i < from->edge_count; i++) {
        gt_learned_edge *e = from->edges[i];
        if (is_at(e, p, end)) {
            if (i) { /* moves one place to the front */
                from->edges[i] = from->edges[i - 1];
                from->edges[i - 1] = e;
            }
            e->misses = 0;
            return e;
        }
        if (fails_often(e)) gt_learned_drop_edge(from, i--);
    }
    return NULL;
}

static inline gt_learned_edge *follow(gt_learned_node *from, const uint8_t *p, const uint8_t *end)
{
    gt_learned_edge *first = from->edges[0]; /* NULL if there are none */
    if (!first || !is_at(first, p, end)) return follow_other(from, p, end);
    first->misses = 0;
    return first;
}

/* Counts how often the value after an edge stays the same. True when it should be folded. */
static inline bool is_constant(gt_learned_edge *before, int64_t seen)
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

static bool read_record(gt_learned *learned, gt_json *json, gt_record *record)
{
    const uint8_t *p = json->at, *end = json->end;
    gt_learned_node *from = NULL, *n = learned->root; /* from: the node before n */
    gt_learned_edge *watched = NULL; /* the edge between the two, if its values are watched */
    const uint8_t *value = NULL;     /* n's value */
    gt_store_cell cell = {0};
    uint64_t present = 0; /* the fields that were read */
    learned->has_first = false;
    learned->context = learned->next_context;
    for (;;) {
        gt_learned_edge *e = follow(n, p, end);
        if (!e) return false;
        if (watched && is_constant(watched, fingerprint_of(n, value, p, &cell))) {
            gt_learned_effect constant = {(uint8_t)n->field, n->mistyped, cell};
            gt_learned_fold(learned, from, watched, e, (gt_str){(const char *)value, (size_t)(p - value)},
                            constant);
        }
        p += e->len;
        watched = NULL;
        if (!e->is_plain) {
            if (!e->dropping) present |= apply(e, record);
            if (e->dropping || e->ending) {
                if (e->to && !(p = pass_rest(e, p, end))) return false;
                record->dropped = e->dropping;
                break;
            }
            if (!e->to) break;
            if (e->watch) watched = e;
            e->is_plain = !e->watch && !e->effect_count && !e->mistyped;
        }
        from = n;
        n = e->to;
        value = p;
        if (n->op == GT_STEP_INT) { /* most values */
            int field = n->field;
            p = gt_scan_int_before(p, &cell.integer);
            if (!p || p >= end) return false;
            present |= UINT64_C(1) << field;
            record->cells[field] = cell;
        } else if (n->op == GT_STEP_SKIP_NUMBER && n->field < 0) {
            p = gt_scan_number(p);
            if (!p || p >= end) return false;
        } else {
            p = read_value(learned, n, p, json, record, &cell);
            if (!p || p >= end) return false;
        }
    }
    record->present |= present;
    json->at = p;
    json->first = false;
    return true;
}

/* The edge that follow would return. The tree stays as it is, because the record may still be read. */
static inline gt_learned_edge *find_edge(const gt_learned_node *from, const uint8_t *p, const uint8_t *end)
{
    for (size_t i = 0; i < from->edge_count; i++)
        if (is_at(from->edges[i], p, end)) return from->edges[i];
    return NULL;
}

static size_t skip_records(gt_learned *learned, gt_json *json, gt_str separator, const uint8_t *limit)
{
    const uint8_t *p = json->at, *end = json->end;
    gt_learned_node *root = learned->root;
    size_t count = 0;
    while (p < limit) {
        gt_learned_edge *e = find_edge(root, p, end);
        if (!e || !e->dropping || !e->to) break;
        const uint8_t *after = pass_rest(e, p + e->len, end);
        if (!after || separator.len >= (size_t)(end - after) ||
            !gt_scan_same(after, (const uint8_t *)separator.bytes, separator.len) ||
            after[separator.len] != '{')
            break;
        if (e == root->edges[0])
            e->misses = 0;
        else
            follow(root, p, end);
        p = after + separator.len;
        count++;
    }
    json->at = p;
    return count;
}

static const gt_scan_loops loops = {gt_scan_quote,      gt_scan_string,          gt_scan_space,
                                    gt_scan_container,  gt_scan_long_containers, gt_scan_same,
                                    gt_scan_same_length};

const gt_learned_set GT_LEARNED_SET = {read_record, skip_records, &loops};
