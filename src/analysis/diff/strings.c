/* Strings for the sheets of a diff. All sheets use the interner of the first trace; strings of the second are
 * copied there once, and a table maps their ids. */
#include "analysis/diff/strings.h"

#include "compat/python_literal.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define MODULE_PREFIX "nn.Module:"
enum {
    MODULES_MAX = 1000, /* innermost modules shown in a stack */
    CALLS_MAX = 1000,   /* innermost calls shown in a call stack */
};

static const size_t argument_columns[GT_DIFF_ARGUMENTS] = {
    [GT_DIFF_DIMS] = GT_EVENT_INPUT_DIMS,
    [GT_DIFF_STRIDES] = GT_EVENT_INPUT_STRIDES,
    [GT_DIFF_TYPES] = GT_EVENT_INPUT_TYPES,
    [GT_DIFF_CONCRETE] = GT_EVENT_CONCRETE_INPUTS,
};

typedef struct side_strings {
    const gt_diff_side *side;
    gt_python_literals *literals;
    uint32_t *mapped; /* by string id: the id in the first trace; GT_STR_NONE: not copied yet */
    size_t mapped_count;
    uint32_t *arguments[GT_DIFF_ARGUMENTS]; /* by row: JSON; NULL: not loaded yet */
    uint32_t *module; /* by row: the innermost module that contains it; NULL: no Python functions */
    gt_map stacks;    /* from a module to the string of its stack */
    uint32_t null_text;
} side_strings;

struct gt_diff_strings {
    gt_interner *strings;
    side_strings sides[2];
    gt_buffer buffer;
    gt_row_list rows;
};

/* ---- strings of either trace ---- */

uint32_t gt_diff_text(gt_diff_strings *t, size_t side, uint32_t id)
{
    side_strings *s = &t->sides[side];
    if (side == 0 || id <= GT_STR_EMPTY) return id;
    if (id >= s->mapped_count) { /* interned since */
        size_t before = s->mapped_count;
        s->mapped_count = gt_interner_count(s->side->trace->strings) + 1024;
        s->mapped = gt_realloc(s->mapped, s->mapped_count * sizeof *s->mapped);
        memset(s->mapped + before, 0, (s->mapped_count - before) * sizeof *s->mapped);
    }
    if (!s->mapped[id]) {
        gt_str text = gt_interner_get(s->side->trace->strings, id);
        s->mapped[id] = gt_interner_add(t->strings, text.bytes, text.len);
    }
    return s->mapped[id];
}

uint32_t gt_diff_argument(gt_diff_strings *t, size_t side, uint32_t row, size_t which)
{
    side_strings *s = &t->sides[side];
    if (!s->arguments[which])
        s->arguments[which] = gt_store_string_ids(s->side->trace->store, argument_columns[which]);
    uint32_t json = s->arguments[which][row];
    if (json == GT_STR_NONE || json == s->null_text) return GT_STR_EMPTY;
    return gt_diff_text(t, side, gt_python_literals_of(s->literals, json));
}

static gt_str shown(const gt_diff_side *side, uint32_t row)
{
    return gt_interner_get(side->trace->strings, gt_diff_shown_name(side, row));
}

/* ---- modules ---- */

static bool is_module(const gt_linked_view *trace, uint32_t row)
{
    gt_str name = gt_event_name(&trace->events, row);
    return trace->kind[row] == GT_KIND_PYTHON && name.len >= sizeof MODULE_PREFIX - 1 &&
           memcmp(name.bytes, MODULE_PREFIX, sizeof MODULE_PREFIX - 1) == 0;
}

/* The module's name without "_12" at the end. */
static gt_str module_name(const gt_linked_view *trace, uint32_t row)
{
    gt_str name = gt_event_name(&trace->events, row);
    size_t end = name.len;
    while (end && name.bytes[end - 1] >= '0' && name.bytes[end - 1] <= '9') end--;
    if (end < name.len && end && name.bytes[end - 1] == '_') name.len = end - 1;
    return name;
}

/* A caller's preorder number is less than those of its calls, so one pass finds the modules of all events. */
static uint32_t *find_modules(const gt_diff_side *side)
{
    const gt_linked_view *trace = side->trace;
    uint32_t *module = gt_alloc(trace->count * sizeof *module);
    memset(module, 0xFF, trace->count * sizeof *module);
    for (uint32_t n = 0; n < trace->numbered; n++) {
        uint32_t caller = side->calls->caller[n];
        if (caller == GT_NO_EVENT) continue;
        uint32_t outer = side->calls->row_of[caller];
        module[side->calls->row_of[n]] = is_module(trace, outer) ? outer : module[outer];
    }
    return module;
}

static uint32_t stack_of(gt_diff_strings *t, side_strings *s, uint32_t module)
{
    uint32_t *known = gt_map_put(&s->stacks, module, 0);
    if (*known != GT_MAP_NONE) return *known;
    t->rows.count = t->buffer.len = 0;
    for (uint32_t row = module; row != GT_NO_EVENT && t->rows.count < MODULES_MAX; row = s->module[row])
        GT_PUSH(t->rows.items, t->rows.count, t->rows.capacity, row);
    for (size_t i = t->rows.count; i-- > 0;) {
        gt_str name = module_name(s->side->trace, t->rows.items[i]);
        gt_buffer_add(&t->buffer, name.bytes, name.len);
        if (i) gt_buffer_add(&t->buffer, ";", 1);
    }
    *known = gt_interner_add(t->strings, t->buffer.bytes, t->buffer.len);
    return *known;
}

gt_diff_modules gt_diff_modules_of(gt_diff_strings *t, size_t side, uint32_t row)
{
    side_strings *s = &t->sides[side];
    if (row >= s->side->trace->recorded)
        return (gt_diff_modules){GT_STR_EMPTY, GT_STR_EMPTY}; /* a pseudo-op */
    uint32_t module = s->module ? s->module[row] : GT_NO_EVENT;
    if (module == GT_NO_EVENT) {
        uint32_t root = gt_interner_add_cstr(t->strings, "root");
        return (gt_diff_modules){root, root};
    }
    gt_str name = module_name(s->side->trace, module);
    return (gt_diff_modules){stack_of(t, s, module), gt_interner_add(t->strings, name.bytes, name.len)};
}

/* ---- calls ---- */

/* Appends a string without "(12)" in it. */
static void add_without_numbers(gt_buffer *buffer, gt_str text)
{
    for (size_t at = 0; at < text.len;) {
        size_t end = at + 1;
        while (text.bytes[at] == '(' && end < text.len && text.bytes[end] >= '0' && text.bytes[end] <= '9')
            end++;
        if (text.bytes[at] == '(' && end > at + 1 && end < text.len && text.bytes[end] == ')') {
            at = end + 1;
        } else {
            gt_buffer_add(buffer, text.bytes + at, 1);
            at++;
        }
    }
}

uint32_t gt_diff_call_name(gt_diff_strings *t, const gt_diff_node *node, size_t side)
{
    t->buffer.len = 0;
    add_without_numbers(&t->buffer, shown(t->sides[side].side, node->rows[side]));
    return gt_interner_add(t->strings, gt_buffer_str(&t->buffer).bytes, t->buffer.len);
}

uint32_t gt_diff_common_name(gt_diff_strings *t, const gt_diff_node *node)
{
    uint32_t first = gt_diff_call_name(t, node, 0), second = gt_diff_call_name(t, node, 1);
    if (first == second) return first;
    gt_str a = gt_interner_get(t->strings, first), b = gt_interner_get(t->strings, second);
    t->buffer.len = 0;
    gt_buffer_add(&t->buffer, a.bytes, a.len);
    gt_buffer_add_cstr(&t->buffer, " | ");
    gt_buffer_add(&t->buffer, b.bytes, b.len);
    return gt_interner_add(t->strings, t->buffer.bytes, t->buffer.len);
}

static uint32_t join_names(gt_diff_strings *t, size_t side, bool backwards, const char *between)
{
    t->buffer.len = 0;
    for (size_t i = 0; i < t->rows.count; i++) {
        gt_str name = shown(t->sides[side].side, t->rows.items[backwards ? t->rows.count - 1 - i : i]);
        if (i) gt_buffer_add_cstr(&t->buffer, between);
        gt_buffer_add(&t->buffer, name.bytes, name.len);
    }
    return gt_interner_add(t->strings, gt_buffer_str(&t->buffer).bytes, t->buffer.len);
}

uint32_t gt_diff_child_names(gt_diff_strings *t, size_t side, uint32_t row)
{
    t->rows.count = 0;
    if (row != GT_NO_EVENT) gt_diff_gpu_children(t->sides[side].side, row, &t->rows);
    return join_names(t, side, false, "; ");
}

uint32_t gt_diff_call_stack(gt_diff_strings *t, size_t side, uint32_t row)
{
    const gt_diff_side *s = t->sides[side].side;
    t->rows.count = 0;
    for (row = gt_diff_parent(s, row); row != GT_NO_EVENT && t->rows.count < CALLS_MAX;
         row = gt_diff_parent(s, row))
        if (s->trace->name[row] > GT_STR_EMPTY) GT_PUSH(t->rows.items, t->rows.count, t->rows.capacity, row);
    return join_names(t, side, true, ", ");
}

/* ---- creating and freeing ---- */

gt_diff_strings *gt_diff_strings_new(const gt_diff_tree *merged)
{
    gt_diff_strings *t = gt_alloc_zero(1, sizeof *t);
    t->strings = merged->sides[0]->trace->strings;
    for (size_t i = 0; i < 2; i++) {
        side_strings *s = &t->sides[i];
        s->side = merged->sides[i];
        s->literals = gt_python_literals_new(s->side->trace->strings, GT_PYTHON_TUPLES);
        s->null_text = gt_interner_find(s->side->trace->strings, "null", 4);
        if (s->side->trace->has_python) s->module = find_modules(s->side);
    }
    return t;
}

void gt_diff_strings_free(gt_diff_strings *t)
{
    if (!t) return;
    for (size_t i = 0; i < 2; i++) {
        side_strings *s = &t->sides[i];
        gt_python_literals_free(s->literals);
        gt_free(s->mapped);
        for (size_t a = 0; a < GT_DIFF_ARGUMENTS; a++) gt_free(s->arguments[a]);
        gt_free(s->module);
        gt_map_free(&s->stacks);
    }
    gt_buffer_free(&t->buffer);
    gt_free(t->rows.items);
    gt_free(t);
}
