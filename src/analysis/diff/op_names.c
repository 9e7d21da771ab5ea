/* Common names: under each common call, the ops of one trace are held against those of the other.
 *
 * As many ops on both sides belong together one by one; else the first two with a common name do. A common
 * name is, of what stands behind the last "::", the one that is part of the other, both if they begin alike,
 * or the only module that both are in. */
#include "analysis/diff/op_names.h"

#include "base/map.h"
#include "base/memory.h"
#include "base/buffer.h"
#include "schema/columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIKE_CHARACTERS = 20, /* names that begin with so many alike belong together */
    TRIES_MAX = 1 << 24,   /* pairs of names that are tried, all together */
};

/* An op under a common call, in one trace. */
typedef struct use {
    uint32_t call, side, place; /* calls and uses are numbered in the order of the rows */
    uint32_t op;
} use;

/* The modules that an op is in, in one trace. */
typedef struct op_modules {
    uint32_t op, side;
    uint32_t module; /* the first */
    bool several;
} op_modules;

typedef struct naming {
    gt_interner *strings;
    use *uses; /* in the order of the common calls, sides and rows */
    size_t use_count, use_capacity;
    gt_map module_at; /* op to its place in ... */
    op_modules *modules;
    size_t module_count, module_capacity;
    gt_map visited; /* ops that were held against others */
    gt_map names;   /* op to its common name */
    gt_row_list left[2];
    gt_buffer buffer;
    size_t tries;
} naming;

/* ---- what diff_stats says ---- */

static int by_call_and_side(const void *left, const void *right)
{
    const use *a = left, *b = right;
    if (a->call != b->call) return a->call < b->call ? -1 : 1;
    if (a->side != b->side) return a->side < b->side ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static bool call_id(const gt_column *ids, size_t row, uint32_t *id)
{
    if (gt_column_is_null(ids, row)) return false;
    *id = ids->type == GT_TYPE_INT ? (uint32_t)ids->ints[row] : (uint32_t)ids->floats[row];
    return true;
}

/* The different ops of each common call and side, as they come. */
static void list_uses(naming *n, const gt_diff_stats *stats)
{
    const gt_column *ids = gt_table_column(stats->table, GT_COL_LOWEST_COMMON_ANCESTOR_ID);
    const uint32_t *ops = gt_table_column(stats->table, GT_COL_CPU_OP_NAME)->texts;
    gt_map places = {0}, seen = {0};
    uint32_t calls = 0, id;
    for (size_t row = 0; row < stats->table->row_count; row++) {
        if (!call_id(ids, row, &id)) continue;
        uint32_t *place = gt_map_put(&places, id, 0);
        if (*place == GT_MAP_NONE) *place = calls++;
        use u = {*place, stats->sides[row], (uint32_t)n->use_count, ops[row]};
        uint32_t *known = gt_map_put(&seen, (uint64_t)u.call << 1 | u.side, u.op);
        if (*known != GT_MAP_NONE) continue;
        *known = 1;
        GT_PUSH(n->uses, n->use_count, n->use_capacity, u);
    }
    if (n->use_count) qsort(n->uses, n->use_count, sizeof *n->uses, by_call_and_side);
    gt_map_free(&places);
    gt_map_free(&seen);
}

/* Of an op that both traces have, the second one's modules count. */
static void list_modules(naming *n, const gt_diff_stats *stats)
{
    const uint32_t *ops = gt_table_column(stats->table, GT_COL_CPU_OP_NAME)->texts;
    const uint32_t *modules = gt_table_column(stats->table, GT_COL_NN_MODULE_PARENT)->texts;
    for (size_t row = 0; row < stats->table->row_count; row++) {
        uint32_t *at = gt_map_put(&n->module_at, ops[row], 0);
        op_modules new = {ops[row], stats->sides[row], modules[row], false};
        if (*at == GT_MAP_NONE) {
            *at = (uint32_t)n->module_count;
            GT_PUSH(n->modules, n->module_count, n->module_capacity, new);
            continue;
        }
        op_modules *known = &n->modules[*at];
        if (known->side < new.side)
            *known = new;
        else if (known->side == new.side)
            known->several |= known->module != new.module;
    }
}

/* ---- names ---- */

static gt_str behind_colons(gt_str name)
{
    for (size_t at = name.len; at >= 2; at--)
        if (name.bytes[at - 1] == ':' && name.bytes[at - 2] == ':')
            return (gt_str){name.bytes + at, name.len - at};
    return name;
}

static bool has_part(gt_str name, gt_str part)
{
    return part.len == 0 || memmem(name.bytes, name.len, part.bytes, part.len) != NULL;
}

/* Its first characters, at most ALIKE_CHARACTERS. */
static gt_str beginning(gt_str name)
{
    const char *at = name.bytes, *end = name.bytes + name.len;
    for (size_t i = 0; i < ALIKE_CHARACTERS && at < end; i++) gt_utf8_next(&at, end);
    name.len = (size_t)(at - name.bytes);
    return name;
}

static uint32_t without_spaces(naming *n, uint32_t text)
{
    gt_str from = gt_interner_get(n->strings, text);
    if (!memchr(from.bytes, ' ', from.len)) return text;
    n->buffer.len = 0;
    for (size_t i = 0; i < from.len; i++)
        if (from.bytes[i] != ' ') gt_buffer_add(&n->buffer, from.bytes + i, 1);
    return gt_interner_add(n->strings, gt_buffer_str(&n->buffer).bytes, n->buffer.len);
}

static uint32_t only_module(const naming *n, uint32_t op)
{
    const op_modules *modules = &n->modules[gt_map_get(&n->module_at, op, 0)];
    return modules->several ? GT_STR_NONE : modules->module;
}

/* A text id, GT_STR_NONE where the ops have nothing in common. */
static uint32_t common_name(naming *n, uint32_t first, uint32_t second)
{
    gt_str a = behind_colons(gt_interner_get(n->strings, first));
    gt_str b = behind_colons(gt_interner_get(n->strings, second));
    if (has_part(b, a)) return gt_interner_add(n->strings, a.bytes, a.len);
    if (has_part(a, b)) return gt_interner_add(n->strings, b.bytes, b.len);
    if (gt_str_compare(beginning(a), beginning(b)) == 0) {
        n->buffer.len = 0;
        gt_buffer_add(&n->buffer, a.bytes, a.len);
        gt_buffer_add_cstr(&n->buffer, "/");
        gt_buffer_add(&n->buffer, b.bytes, b.len);
        return gt_interner_add(n->strings, n->buffer.bytes, n->buffer.len);
    }
    uint32_t module = only_module(n, first);
    return module != GT_STR_NONE && module == only_module(n, second) ? without_spaces(n, module)
                                                                     : GT_STR_NONE;
}

/* Gives both ops their common name, if they have one. */
static bool name_both(naming *n, uint32_t first, uint32_t second)
{
    uint32_t name = common_name(n, first, second);
    if (name == GT_STR_NONE) return false;
    *gt_map_put(&n->names, second, 0) = name;
    *gt_map_put(&n->names, first, 0) = name;
    return true;
}

/* ---- the ops of one common call ---- */

static bool all_visited(const naming *n, const use *uses, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (gt_map_get(&n->visited, uses[i].op, 0) == GT_MAP_NONE) return false;
    return true;
}

static void list_unequal(naming *n, size_t side, const use *uses, size_t count, const use *others,
                         size_t other_count)
{
    gt_map theirs = {0};
    for (size_t i = 0; i < other_count; i++) *gt_map_put(&theirs, others[i].op, 0) = 1;
    n->left[side].count = 0;
    for (size_t i = 0; i < count; i++)
        if (gt_map_get(&theirs, uses[i].op, 0) == GT_MAP_NONE)
            GT_PUSH(n->left[side].items, n->left[side].count, n->left[side].capacity, uses[i].op);
    gt_map_free(&theirs);
}

/* Each op of the first trace gets the first one left of the second that has a common name with it. */
static void name_unequal(naming *n, const use *first, size_t first_count, const use *second,
                         size_t second_count)
{
    list_unequal(n, 0, first, first_count, second, second_count);
    list_unequal(n, 1, second, second_count, first, first_count);
    gt_row_list *others = &n->left[1];
    for (size_t i = 0; i < n->left[0].count; i++)
        for (size_t j = 0; j < others->count && n->tries < TRIES_MAX; j++) {
            n->tries++;
            if (!name_both(n, n->left[0].items[i], others->items[j])) continue;
            memmove(others->items + j, others->items + j + 1,
                    (others->count - j - 1) * sizeof *others->items);
            others->count--;
            break;
        }
}

static void name_uses(naming *n, const use *uses, size_t count)
{
    size_t firsts = 0;
    while (firsts < count && uses[firsts].side == 0) firsts++;
    if (!firsts || firsts == count || all_visited(n, uses, count)) return;
    for (size_t i = 0; i < count; i++) *gt_map_put(&n->visited, uses[i].op, 0) = 1;
    if (2 * firsts != count) {
        name_unequal(n, uses, firsts, uses + firsts, count - firsts);
        return;
    }
    for (size_t i = 0; i < firsts; i++)
        if (uses[i].op != uses[firsts + i].op) name_both(n, uses[i].op, uses[firsts + i].op);
}

void gt_diff_name_ops(gt_table *summary, const gt_diff_stats *stats)
{
    naming n = {.strings = summary->strings};
    list_uses(&n, stats);
    list_modules(&n, stats);
    for (size_t begin = 0, end; begin < n.use_count; begin = end) {
        for (end = begin; end < n.use_count && n.uses[end].call == n.uses[begin].call;) end++;
        name_uses(&n, n.uses + begin, end - begin);
    }
    uint32_t *ops = gt_table_column(summary, GT_COL_CPU_OP_NAME)->texts;
    uint32_t *modules = gt_table_column(summary, GT_COL_NN_MODULE_PARENT)->texts;
    for (size_t row = 0; row < summary->row_count; row++) {
        uint32_t name = gt_map_get(&n.names, ops[row], 0);
        if (name != GT_MAP_NONE) ops[row] = name;
        modules[row] = without_spaces(&n, modules[row]);
    }
    gt_map_free(&n.module_at);
    gt_map_free(&n.visited);
    gt_map_free(&n.names);
    gt_free(n.uses);
    gt_free(n.modules);
    gt_free(n.left[0].items);
    gt_free(n.left[1].items);
    gt_buffer_free(&n.buffer);
}
