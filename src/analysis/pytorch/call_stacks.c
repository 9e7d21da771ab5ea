/* Call stacks of ops and kernels.
 *
 * A stack is a node of one tree: its outer stack and its innermost frame. Equal stacks are the same node, so
 * stacks are compared by number, and the stack of each event is computed once. For example
 *
 *     node 1: (0, "train.py(10): main")    node 2: (1, "nn.Module: Linear")    node 3: (2, "aten::addmm")
 *
 * makes node 3 the stack ['train.py(10): main', 'nn.Module: Linear', 'aten::addmm']. The innermost FRAMES_MAX
 * frames of a stack are shown: more than that is a broken trace or endless recursion, where printing all
 * frames of all stacks would take quadratic time. */
#include "analysis/pytorch/unified_details.h"

#include "compat/python_repr.h"

/* ---- entry points ---- */

/* Some ops are implemented by a Python function with the op's name, which is inside the op in the stack: that
 * is the entry point. Otherwise it is the nearest frame outside the op that is in a Python file and is not
 * one of PyTorch's wrappers. */

static const char *const wrapper_beginnings[] = {"<built-in", "pybind11_builtins", "nn.Module:"};

static const char *const wrapper_files[] = {
    "torch/_ops.py",       "torch/nn/modules/module.py",
    "torch/_tensor.py",    "torch/utils/_contextlib.py",
    "torch/functional.py", "torch/utils/_device.py",
    "torch/overrides.py",  "torch/_inductor/",
    "torch/_functorch/",   "torch/distributed/c10d_logger.py",
    "triton/backends/",
};

static const char *const wrapper_functions[] = {
    "__torch_function__", "_call_impl",    "_wrapped_call_impl",    "decorate_context",
    "dispatch_wrapper",   "wrapper",       "handle_torch_function", "custom_wrapper",
    "wrapper_custom",     "outer_wrapper",
};

static bool equal(gt_str a, gt_str b)
{
    return a.len == b.len && memcmp(a.bytes, b.bytes, a.len) == 0;
}

static bool contains_ignoring_case(gt_str text, gt_str word)
{
    for (size_t i = 0; i + word.len <= text.len; i++)
        if (strncasecmp(text.bytes + i, word.bytes, word.len) == 0) return true;
    return false;
}

/* The part after the last separator; false if there is none. */
static bool after_last(gt_str text, const char *separator, gt_str *rest)
{
    size_t len = strlen(separator);
    for (size_t i = text.len; i-- > 0;) {
        if (i + len > text.len || memcmp(text.bytes + i, separator, len) != 0) continue;
        *rest = (gt_str){text.bytes + i + len, text.len - i - len};
        return true;
    }
    return false;
}

static bool is_wrapper(gt_str frame)
{
    for (size_t i = 0; i < GT_LENGTH(wrapper_beginnings); i++)
        if (strncmp(frame.bytes, wrapper_beginnings[i], strlen(wrapper_beginnings[i])) == 0) return true;
    for (size_t i = 0; i < GT_LENGTH(wrapper_files); i++)
        if (gt_str_contains(frame, wrapper_files[i])) return true;
    gt_str function;
    if (!after_last(frame, "): ", &function)) return false;
    for (size_t i = 0; i < GT_LENGTH(wrapper_functions); i++)
        if (strcmp(function.bytes, wrapper_functions[i]) == 0) return true;
    return false;
}

static size_t last_equal(gt_str name, const gt_str *frames, size_t count)
{
    for (size_t i = count; i-- > 0;)
        if (equal(frames[i], name)) return i;
    return SIZE_MAX;
}

/* Frames have no numbers after underscores (call_stacks.c), so the op's frame may lack the op's number. */
static gt_str without_number(gt_str name)
{
    size_t len = name.len;
    while (len && name.bytes[len - 1] >= '0' && name.bytes[len - 1] <= '9') len--;
    bool numbered = len < name.len && len && name.bytes[len - 1] == '_';
    return (gt_str){name.bytes, numbered ? len - 1 : name.len};
}

size_t gt_entry_point(gt_str op_name, const gt_str *frames, size_t count)
{
    size_t op = last_equal(op_name, frames, count);
    if (op == SIZE_MAX) op = last_equal(without_number(op_name), frames, count);
    if (op == SIZE_MAX) return SIZE_MAX;
    gt_str local = op_name;
    after_last(op_name, "::", &local);
    for (size_t i = op + 1; i < count; i++) {
        gt_str function = frames[i];
        after_last(frames[i], "): ", &function);
        if (gt_str_contains(frames[i], ".py") && contains_ignoring_case(function, local)) return i;
    }
    for (size_t i = op; i-- > 0;)
        if (gt_str_contains(frames[i], ".py") && !is_wrapper(frames[i])) return i;
    return SIZE_MAX;
}

/* ---- stacks ---- */

typedef struct node {
    uint32_t outer, frame; /* frame: a string id */
    uint32_t depth;        /* number of frames */
    uint32_t text;         /* GT_STR_NONE: not printed yet */
} node;

struct gt_call_stacks {
    const gt_calls *calls;
    uint32_t *callers; /* gt_calls_callers */
    const gt_linked_view *trace;
    node *nodes; /* nodes[0] has no frames */
    size_t count, capacity;
    gt_map places;       /* from (outer, frame) to a node */
    uint32_t *of_number; /* by preorder number: the event's node; GT_NO_EVENT: not computed yet */
    uint32_t *below_row; /* by preorder number: the event below which below_stack is its node */
    uint32_t *below_stack;
    uint32_t *frames; /* by name: its frame; GT_STR_NONE: not computed yet */
    size_t name_count;
    gt_row_list path; /* scratch */
    gt_buffer buffer;
};

gt_call_stacks *gt_call_stacks_new(const gt_calls *calls)
{
    gt_call_stacks *s = gt_alloc_zero(1, sizeof *s);
    s->calls = calls;
    s->trace = calls->trace;
    s->callers = gt_calls_callers(calls);
    s->of_number = gt_alloc(s->trace->numbered * sizeof *s->of_number);
    memset(s->of_number, 0xFF, s->trace->numbered * sizeof *s->of_number);
    s->below_row = gt_no_events(s->trace->numbered);
    s->below_stack = gt_alloc(s->trace->numbered * sizeof *s->below_stack);
    s->name_count = gt_interner_count(s->trace->strings);
    s->frames = gt_alloc_zero(s->name_count, sizeof *s->frames);
    GT_PUSH(s->nodes, s->count, s->capacity, (node){0});
    return s;
}

void gt_call_stacks_free(gt_call_stacks *s)
{
    if (!s) return;
    gt_free(s->nodes);
    gt_map_free(&s->places);
    gt_free_all(s->callers, s->of_number, s->below_row, s->below_stack, s->frames, s->path.items);
    gt_buffer_free(&s->buffer);
    gt_free(s);
}

/* ---- frames ---- */

static bool is_frame(const gt_linked_view *trace, uint32_t row)
{
    if (trace->kind[row] == GT_KIND_CPU_OP) return true;
    gt_str name = gt_event_name(&trace->events, row);
    return memchr(name.bytes, '/', name.len) || gt_str_contains(name, "::") ||
           gt_str_contains(name, "nn.Module");
}

void gt_add_without_numbers(gt_buffer *out, gt_str text)
{
    for (size_t i = 0; i < text.len;) {
        size_t digits = i + 1;
        while (text.bytes[i] == '_' && digits < text.len && gt_is_digit(text.bytes[digits])) digits++;
        if (digits == i + 1) gt_buffer_add(out, text.bytes + i, 1);
        i = digits;
    }
}

static uint32_t frame_of_name(gt_call_stacks *s, uint32_t name)
{
    if (s->frames[name] != GT_STR_NONE) return s->frames[name];
    s->buffer.len = 0;
    gt_add_without_numbers(&s->buffer, gt_interner_get(s->trace->strings, name));
    gt_str text = gt_buffer_str(&s->buffer);
    return s->frames[name] = gt_interner_add(s->trace->strings, text.bytes, text.len);
}

static uint32_t push_frame(gt_call_stacks *s, uint32_t outer, uint32_t row)
{
    if (!is_frame(s->trace, row)) return outer;
    uint32_t frame = frame_of_name(s, s->trace->name[row]);
    uint32_t *place = gt_map_put(&s->places, outer, frame);
    if (*place == GT_MAP_NONE) {
        node inner = {.outer = outer, .frame = frame, .depth = s->nodes[outer].depth + 1};
        *place = (uint32_t)s->count;
        GT_PUSH(s->nodes, s->count, s->capacity, inner);
    }
    return *place;
}

uint32_t gt_call_stack_of(gt_call_stacks *s, uint32_t row, uint32_t root)
{
    uint32_t n = s->trace->preorder[row], first = s->trace->preorder[root], stack = 0;
    s->path.count = 0;
    while (s->of_number[n] == GT_NO_EVENT) {
        GT_PUSH(s->path.items, s->path.count, s->path.capacity, n);
        if (n == first) break;
        n = s->callers[n];
    }
    if (s->of_number[n] != GT_NO_EVENT) stack = s->of_number[n];
    for (size_t i = s->path.count; i-- > 0;) {
        n = s->path.items[i];
        s->of_number[n] = stack = push_frame(s, stack, s->calls->row_of[n]);
    }
    return stack;
}

uint32_t gt_call_stack_to_kernel(gt_call_stacks *s, uint32_t stack, uint32_t row, uint32_t kernel)
{
    s->path.count = 0;
    for (uint32_t r = s->trace->parent[kernel]; r != row && r != GT_NO_EVENT; r = s->trace->parent[r]) {
        uint32_t number = s->trace->preorder[r];
        if (number != GT_NO_EVENT && s->below_row[number] == row) { /* found for an earlier kernel */
            stack = s->below_stack[number];
            break;
        }
        GT_PUSH(s->path.items, s->path.count, s->path.capacity, r);
    }
    for (size_t i = s->path.count; i-- > 0;) {
        uint32_t number = s->trace->preorder[s->path.items[i]];
        stack = push_frame(s, stack, s->path.items[i]);
        if (number == GT_NO_EVENT) continue;
        s->below_row[number] = row;
        s->below_stack[number] = stack;
    }
    return stack;
}

/* ---- printing ---- */

enum { FRAMES_MAX = 1000 };

static size_t shown_frames(const gt_call_stacks *s, uint32_t stack)
{
    return s->nodes[stack].depth < FRAMES_MAX ? s->nodes[stack].depth : FRAMES_MAX;
}

/* Writes the shown frames of a stack, outermost first, to `frames`. */
static void list_frames(const gt_call_stacks *s, uint32_t stack, uint32_t *frames)
{
    for (size_t left = shown_frames(s, stack); left; stack = s->nodes[stack].outer)
        frames[--left] = s->nodes[stack].frame;
}

static void print_list(gt_call_stacks *s, const uint32_t *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i) gt_buffer_add_cstr(&s->buffer, ", ");
        gt_python_add_repr(&s->buffer, gt_interner_get(s->trace->strings, texts[i]));
    }
}

uint32_t gt_call_stack_text(gt_call_stacks *s, uint32_t stack)
{
    if (s->nodes[stack].text == GT_STR_NONE) {
        size_t count = shown_frames(s, stack);
        uint32_t *frames = gt_alloc(count * sizeof *frames);
        list_frames(s, stack, frames);
        s->buffer.len = 0;
        gt_buffer_add_cstr(&s->buffer, "[");
        print_list(s, frames, count);
        gt_buffer_add_cstr(&s->buffer, "]");
        s->nodes[stack].text = gt_interner_add(s->trace->strings, s->buffer.bytes, s->buffer.len);
        gt_free(frames);
    }
    return s->nodes[stack].text;
}

/* ---- many kernels ---- */

/* The chain of each kernel: its frames and then its name. Chain i is texts[ends[i - 1]] to texts[ends[i] -
 * 1]. */
typedef struct chains {
    gt_row_list texts;
    size_t *ends, count;
} chains;

static size_t chain_begin(const chains *c, size_t i)
{
    return i ? c->ends[i - 1] : 0;
}

static chains list_chains(const gt_call_stacks *s, const gt_kernel_detail *kernels, size_t count)
{
    chains c = {.ends = gt_alloc(count * sizeof *c.ends), .count = count};
    for (size_t i = 0; i < count; i++) {
        uint32_t stack = kernels[i].call_stack ? kernels[i].call_stack - 1 : 0;
        size_t depth = shown_frames(s, stack), begin = c.texts.count;
        c.texts.items = gt_grow(c.texts.items, &c.texts.capacity, begin + depth + 1, sizeof *c.texts.items);
        list_frames(s, stack, c.texts.items + begin);
        c.texts.items[begin + depth] = kernels[i].name;
        c.ends[i] = c.texts.count = begin + depth + 1;
    }
    return c;
}

static size_t shared_length(const chains *c)
{
    size_t shared = c->ends[0];
    for (size_t i = 1; i < c->count; i++) {
        const uint32_t *chain = c->texts.items + chain_begin(c, i);
        size_t length = c->ends[i] - chain_begin(c, i), same = 0;
        while (same < shared && same < length && chain[same] == c->texts.items[same]) same++;
        shared = same;
    }
    return shared;
}

/* Prints the frames that all chains share, and then the rest of each chain as a list of its own, equal ones
 * once. From the chains
 *
 *     main, forward, linear, gemm
 *     main, forward, relu, relu_kernel
 *
 * it makes [main, forward, [linear, gemm], [relu, relu_kernel]]. A single chain is one list. Also appends
 * everything that was printed to `flat`, in order. */
static uint32_t print_chains(gt_call_stacks *s, const chains *c, gt_row_list *flat)
{
    gt_interner *seen = gt_interner_new();
    size_t shared = c->count == 1 ? c->ends[0] : shared_length(c);
    bool empty_seen = false;
    s->buffer.len = 0;
    gt_buffer_add_cstr(&s->buffer, "[");
    print_list(s, c->texts.items, shared);
    for (size_t i = 0; i < shared; i++) GT_PUSH(flat->items, flat->count, flat->capacity, c->texts.items[i]);
    for (size_t i = 0; c->count > 1 && i < c->count; i++) {
        const uint32_t *rest = c->texts.items + chain_begin(c, i) + shared;
        size_t length = c->ends[i] - chain_begin(c, i) - shared;
        uint32_t known = gt_interner_count(seen), id = gt_interner_add(seen, rest, length * sizeof *rest);
        if (id == GT_STR_EMPTY ? empty_seen : id != known) continue;
        empty_seen |= id == GT_STR_EMPTY;
        gt_buffer_add_cstr(&s->buffer, shared || i ? ", [" : "[");
        print_list(s, rest, length);
        gt_buffer_add_cstr(&s->buffer, "]");
        for (size_t t = 0; t < length; t++) GT_PUSH(flat->items, flat->count, flat->capacity, rest[t]);
    }
    gt_buffer_add_cstr(&s->buffer, "]");
    gt_interner_free(seen);
    return gt_interner_add(s->trace->strings, s->buffer.bytes, s->buffer.len);
}

static uint32_t find_entry_point(const gt_call_stacks *s, uint32_t op_name, const gt_row_list *flat)
{
    gt_str *frames = gt_alloc(flat->count * sizeof *frames);
    for (size_t i = 0; i < flat->count; i++) frames[i] = gt_interner_get(s->trace->strings, flat->items[i]);
    size_t place = gt_entry_point(gt_interner_get(s->trace->strings, op_name), frames, flat->count);
    gt_free(frames);
    return place == SIZE_MAX ? gt_interner_add_cstr(s->trace->strings, "Not found") : flat->items[place];
}

gt_call_stack_paths gt_call_stack_paths_of(gt_call_stacks *s, uint32_t op_name,
                                           const gt_kernel_detail *kernels, size_t count)
{
    gt_call_stack_paths paths;
    if (!count) {
        paths.full = paths.entry_point = gt_interner_add_cstr(s->trace->strings, "Not found");
        return paths;
    }
    gt_row_list flat = {0};
    chains c = list_chains(s, kernels, count);
    paths.full = print_chains(s, &c, &flat);
    paths.entry_point = find_entry_point(s, op_name, &flat);
    gt_free_all(flat.items, c.texts.items, c.ends);
    return paths;
}
