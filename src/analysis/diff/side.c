/* One side of a diff: its tree of calls, its roots, its wrappers, and the names by which calls are compared.
 *
 * Answers are computed once per event or name and cached. */
#include "analysis/diff/side.h"

#include "base/length.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/buffer.h"

#include <stdlib.h>
#include <string.h>

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
    if (!has_name(s, row)) return number_as_text(s->names, s->trace->uid[row]);
    return compared_by(s, s->trace->name[row], loose);
}

uint32_t gt_diff_shown_name(const gt_diff_side *s, uint32_t row)
{
    return has_name(s, row) ? s->trace->name[row] : number_as_text(s->trace->strings, s->trace->uid[row]);
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
    uint32_t number = trace->preorder[row];
    for (uint32_t i = s->calls->begin[number]; i < s->calls->begin[number + 1]; i++)
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

uint32_t gt_diff_parent(const gt_diff_side *s, uint32_t row)
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
    size_t low = 0, high = tops->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (s->trace->preorder[tops->items[middle]] <= s->trace->preorder[row])
            low = middle;
        else
            high = middle;
    }
    return tops->items[low];
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
    for (uint32_t n = 0; n < s->trace->numbered; n++)
        if (s->calls->caller[n] == GT_NO_EVENT)
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
    gt_free(tops.items);
    gt_free(ops.items);
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
    void *arrays[] = {s->normal, s->loose, s->roots.items, s->wrapped, s->branches, s->spare.items};
    for (size_t i = 0; i < GT_LENGTH(arrays); i++) gt_free(arrays[i]);
    gt_free(s);
}
