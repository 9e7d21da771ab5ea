/* One side of a diff: its tree of calls, its roots, its wrappers, and the names by which calls are compared.
 *
 * Answers are computed once per event or name and cached. Also the strings of sheets:
 * all sheets use the interner of trace1, and strings of trace2 are copied there once. */
#include "analysis/diff/internal.h"

#include "compat/python_literal.h"

/* ---- names ---- */

static bool is_hex_digit(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f');
}

/* Length of "0x7f..." at the start of a string, 0 if there is none. */
static size_t address_length(gt_str text)
{
    size_t len = 2;
    if (text.len < 3 || text.bytes[0] != '0' || text.bytes[1] != 'x') return 0;
    while (len < text.len && is_hex_digit(text.bytes[len])) len++;
    return len > 2 ? len : 0;
}

/* Length of ".py(12):" at the start of a string, 0 if there is none. */
static size_t line_length(gt_str text)
{
    size_t len = 4;
    if (text.len < 7 || memcmp(text.bytes, ".py(", 4) != 0) return 0;
    while (len < text.len && gt_is_digit(text.bytes[len])) len++;
    return len > 4 && len + 1 < text.len && text.bytes[len] == ')' && text.bytes[len + 1] == ':' ? len + 2
                                                                                                 : 0;
}

typedef size_t pattern(gt_str text);

static void replace(gt_str text, pattern *find, const char *by, gt_buffer *out)
{
    out->len = 0;
    for (size_t at = 0; at < text.len;) {
        size_t len = find((gt_str){text.bytes + at, text.len - at});
        if (len)
            gt_buffer_add_cstr(out, by);
        else
            gt_buffer_add(out, text.bytes + at, 1);
        at += len ? len : 1;
    }
}

/* Removes ": word" from the end. */
static gt_str drop_last_word(gt_str text)
{
    size_t word = text.len;
    while (word && !is_space(text.bytes[word - 1])) word--;
    size_t colon = word;
    while (colon && is_space(text.bytes[colon - 1])) colon--;
    if (word < text.len && colon < word && colon && text.bytes[colon - 1] == ':') text.len = colon - 1;
    return text;
}

/* Removes the folder of a path that ends in ".py". */
static gt_str drop_folder(gt_str text)
{
    size_t file = text.len;
    while (file && text.bytes[file - 1] != '/') file--;
    bool is_python = text.len - file > 3 && memcmp(text.bytes + text.len - 3, ".py", 3) == 0;
    return file && is_python ? (gt_str){text.bytes + file, text.len - file} : text;
}

static uint32_t normalize(gt_interner *names, gt_str name, bool loose)
{
    static const char *const launches[] = {"hipModuleLaunchKernel", "cuLaunchKernel"};
    gt_buffer without_addresses = {0}, without_lines = {0};
    replace(name, address_length, "0xXXXX", &without_addresses);
    replace(gt_buffer_str(&without_addresses), line_length, ".py:", &without_lines);
    gt_str text = gt_buffer_str(&without_lines);
    if (loose) text = drop_folder(drop_last_word(text));
    uint32_t id = gt_interner_add(names, text.bytes, text.len);
    for (size_t i = 0; i < GT_LENGTH(launches); i++)
        if (gt_str_equals(text, launches[i])) id = gt_interner_add_cstr(names, "__kernel_launch__");
    gt_buffer_free(&without_addresses);
    gt_buffer_free(&without_lines);
    return id;
}

static uint32_t compared_by(gt_diff_side *s, uint32_t name, bool loose)
{
    uint32_t *known = loose ? s->loose : s->normal;
    if (known[name] == GT_NO_EVENT)
        known[name] = normalize(s->names, gt_interner_get(s->trace->strings, name), loose);
    return known[name];
}

static bool has_name(const gt_diff_side *s, uint32_t row)
{
    return s->trace->name[row] > GT_STR_EMPTY;
}

uint32_t gt_diff_name(gt_diff_side *s, uint32_t row)
{
    return has_name(s, row) ? compared_by(s, s->trace->name[row], false) : GT_STR_NONE;
}

static uint32_t number_as_text(gt_interner *strings, uint32_t uid)
{
    char digits[GT_NUMBER_MAX];
    return gt_interner_add(strings, digits, gt_print_int(digits, uid));
}

uint32_t gt_diff_align_name(gt_diff_side *s, uint32_t row, bool loose)
{
    if (!has_name(s, row)) return number_as_text(s->names, gt_event_uid(&s->trace->events, row));
    return compared_by(s, s->trace->name[row], loose);
}

uint32_t gt_diff_shown_name(const gt_diff_side *s, uint32_t row)
{
    return has_name(s, row) ? s->trace->name[row]
                            : number_as_text(s->trace->strings, gt_event_uid(&s->trace->events, row));
}

/* ---- the tree ---- */

bool gt_diff_is_graph_launch(const gt_diff_side *s, uint32_t row)
{
    uint32_t name = s->trace->name[row];
    return name != GT_STR_NONE && (name == s->graph_launches[0] || name == s->graph_launches[1]);
}

bool gt_diff_is_runtime(const gt_diff_side *s, uint32_t row)
{
    uint8_t kind = s->trace->kind[row];
    return (kind == GT_KIND_RUNTIME || kind == GT_KIND_DRIVER) && !gt_diff_is_graph_launch(s, row);
}

bool gt_diff_is_kernel(const gt_diff_side *s, uint32_t row)
{
    return s->trace->kind[row] == GT_KIND_KERNEL || s->trace->kind[row] == GT_KIND_MEMCPY;
}

bool gt_diff_uses_gpu(const gt_diff_side *s, uint32_t row)
{
    return gt_kind_is_gpu(s->trace->kind[row]) || gt_calls_use_gpu(s->calls, row);
}

static void add_children(const gt_diff_side *s, uint32_t row, bool gpu_only, gt_row_list *list)
{
    uint32_t below = gt_map_get(&s->children_of, row, 0);
    if (below != GT_MAP_NONE) row = below;
    const gt_linked_view *trace = s->trace;
    if (gt_kind_is_gpu(trace->kind[row]) || trace->preorder[row] == GT_NO_EVENT) return;
    for (uint32_t c = gt_calls_first(s->calls, row); c != GT_NO_EVENT; c = gt_calls_next(s->calls, row, c))
        if (!gpu_only || gt_calls_use_gpu(s->calls, c)) GT_PUSH(list->items, list->count, list->capacity, c);
    uint32_t begin = gt_calls_begin(s->calls, trace->preorder[row]),
             end = gt_calls_begin(s->calls, trace->preorder[row] + 1);
    for (uint32_t i = begin; i < end; i++)
        GT_PUSH(list->items, list->count, list->capacity, trace->link_gpu[s->calls->links[i]]);
}

void gt_diff_children(const gt_diff_side *s, uint32_t row, gt_row_list *list)
{
    add_children(s, row, false, list);
}

void gt_diff_gpu_children(const gt_diff_side *s, uint32_t row, gt_row_list *list)
{
    add_children(s, row, true, list);
}

/* GT_NO_EVENT at roots. */
static uint32_t parent_of(const gt_diff_side *s, uint32_t row)
{
    uint32_t parent = s->trace->parent[row];
    uint32_t outermost = parent == GT_NO_EVENT ? GT_MAP_NONE : gt_map_get(&s->parent_of, parent, 0);
    return outermost == GT_MAP_NONE ? parent : outermost;
}

/* ---- roots ---- */

/* The outermost event that contains a row. `tops` is in preorder, so it is the last one whose number is not
 * greater than the row's. */
static uint32_t outermost(const gt_diff_side *s, const gt_row_list *tops, uint32_t row)
{
    size_t next;
    GT_BISECT(next, 1, tops->count, s->trace->preorder[tops->items[next]] <= s->trace->preorder[row]);
    return tops->items[next - 1];
}

/* The only child of an event, GT_NO_EVENT if it has several or none. */
static uint32_t only_child(gt_diff_side *s, uint32_t row)
{
    s->spare.count = 0;
    gt_diff_children(s, row, &s->spare);
    return s->spare.count == 1 ? s->spare.items[0] : GT_NO_EVENT;
}

static bool is_not_wrapper(const gt_diff_side *s, uint32_t row)
{
    return gt_diff_is_runtime(s, row) ||
           (s->trace->kind[row] == GT_KIND_CPU_OP && !gt_diff_is_graph_launch(s, row));
}

/* Goes down from an outermost event through events with a single child; the first event that does more than
 * call one other becomes the root. */
static uint32_t root_below(gt_diff_side *s, uint32_t top)
{
    uint32_t row = top;
    for (;;) {
        uint32_t child = only_child(s, row);
        if (child == GT_NO_EVENT || is_not_wrapper(s, child)) break;
        row = child;
    }
    if (row != top) {
        *gt_map_put(&s->children_of, top, 0) = row;
        *gt_map_put(&s->parent_of, row, 0) = top;
    }
    return row;
}

/* Finds the roots: per outermost event, the one that root_below finds. If a second op without a cpu_op above
 * it is in an outermost event, that event becomes a root too, as in TraceLens. */
static void find_roots(gt_diff_side *s)
{
    gt_row_list tops = {0}, ops = gt_calls_cpu_roots(s->calls);
    for (uint32_t n = 0; n < s->trace->numbered; n = s->trace->subtree_end[s->calls->row_of[n]])
        GT_PUSH(tops.items, tops.count, tops.capacity, s->calls->row_of[n]);
    gt_map seen = {0};
    for (size_t i = 0; i < ops.count; i++) {
        uint32_t top = outermost(s, &tops, ops.items[i]);
        uint32_t *times = gt_map_put(&seen, top, 0);
        if (*times == GT_MAP_NONE) {
            *times = 1;
            GT_PUSH(s->roots.items, s->roots.count, s->roots.capacity, root_below(s, top));
        } else if (*times == 1) {
            *times = 2;
            if (gt_map_get(&s->children_of, top, 0) != GT_MAP_NONE)
                GT_PUSH(s->roots.items, s->roots.count, s->roots.capacity, top);
        }
    }
    gt_map_free(&seen);
    gt_free_all(tops.items, ops.items);
}

/* ---- wrappers ---- */

static bool launches_itself(gt_diff_side *s, uint32_t row)
{
    if (s->trace->kind[row] != GT_KIND_CPU_OP) return false;
    s->spare.count = 0;
    gt_diff_children(s, row, &s->spare);
    for (size_t i = 0; i < s->spare.count; i++)
        if (gt_diff_is_runtime(s, s->spare.items[i])) return true;
    return false;
}

/* The one event that a wrapper wraps. GT_NO_EVENT if the row is not a wrapper; then *branches says whether it
 * leads to GPU events in several ways. */
static uint32_t wrapped_by(gt_diff_side *s, uint32_t row, bool *branches)
{
    *branches = false;
    if (gt_diff_is_runtime(s, row) || launches_itself(s, row)) return GT_NO_EVENT;
    s->spare.count = 0;
    gt_diff_gpu_children(s, row, &s->spare);
    *branches = s->spare.count > 1;
    return s->spare.count == 1 ? s->spare.items[0] : GT_NO_EVENT;
}

uint32_t gt_diff_unwrap(gt_diff_side *s, uint32_t row)
{
    uint32_t end = row;
    while (s->wrapped[end] == GT_NO_EVENT) {
        bool branches;
        uint32_t inside = wrapped_by(s, end, &branches);
        if (inside == GT_NO_EVENT) {
            s->wrapped[end] = end;
            s->branches[end] = branches ? 2 : 1;
        } else {
            s->wrapped[end] = inside; /* one step; the last loop shortens the path to the end */
            end = inside;
        }
    }
    while (s->wrapped[end] != end) end = s->wrapped[end];
    while (row != end) {
        uint32_t next = s->wrapped[row];
        s->wrapped[row] = end;
        row = next;
    }
    return end;
}

bool gt_diff_branches(const gt_diff_side *s, uint32_t end)
{
    return s->branches[end] == 2;
}

/* ---- creating and freeing ---- */

gt_diff_side *gt_diff_side_new(const gt_linked_view *trace, gt_interner *names)
{
    gt_diff_side *s = gt_alloc_zero(1, sizeof *s);
    s->trace = trace;
    s->names = names;
    s->calls = gt_calls_new(trace);
    s->normal = gt_no_events(gt_interner_count(trace->strings));
    s->loose = gt_no_events(gt_interner_count(trace->strings));
    s->graph_launches[0] = gt_interner_find(trace->strings, "cudaGraphLaunch", 15);
    s->graph_launches[1] = gt_interner_find(trace->strings, "hipGraphLaunch", 14);
    s->wrapped = gt_no_events(trace->count);
    s->branches = gt_alloc_zero(trace->count, 1);
    find_roots(s);
    return s;
}

void gt_diff_side_free(gt_diff_side *s)
{
    if (!s) return;
    gt_calls_free(s->calls);
    gt_map_free(&s->children_of);
    gt_map_free(&s->parent_of);
    gt_free_all(s->normal, s->loose, s->roots.items, s->wrapped, s->branches, s->spare.items);
    gt_free(s);
}

/* ---- strings for the sheets ---- */

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
    uint32_t *module = gt_alloc(trace->count * sizeof *module), *callers = gt_calls_callers(side->calls);
    memset(module, 0xFF, trace->count * sizeof *module);
    for (uint32_t n = 0; n < trace->numbered; n++) {
        if (callers[n] == GT_NO_EVENT) continue;
        uint32_t outer = side->calls->row_of[callers[n]];
        module[side->calls->row_of[n]] = is_module(trace, outer) ? outer : module[outer];
    }
    gt_free(callers);
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
    const uint8_t *grafted = s->side->trace->grafted;
    if (row >= s->side->trace->recorded && !(grafted && grafted[row]))
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
    for (row = parent_of(s, row); row != GT_NO_EVENT && t->rows.count < CALLS_MAX; row = parent_of(s, row))
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
    gt_free_all(t->rows.items, t);
}
