/* The step of one trace as parts: exclusive time by op and kernel, exposed communication by collective,
 * exposed copies by direction, idle time by cause. Together they are the window, each instant once.
 *
 * A window of n steps is divided by n. So that the quotients still add up, the running sum is divided and
 * rounded, and a part gets the difference to the sum before it. */
#include "findings/waterfall/waterfall.h"

#include "analysis/pytorch/op_category.h"
#include "base/buffer.h"
#include "base/map.h"
#include "base/memory.h"
#include "findings/exclusive.h"
#include "findings/shapes.h"
#include "findings/schedule/sites.h"

#include <string.h>

/* ---- names ---- */

static bool is_hex_letter(char c)
{
    return c >= 'a' && c <= 'f';
}

/* Whether the last word of a name ("_" separates words) is a hash: at least 8 hexadecimal digits, of which
 * some are letters and some are not. */
static bool is_hash(gt_str word)
{
    size_t digits = 0, letters = 0;
    for (size_t i = 0; i < word.len; i++) {
        digits += gt_is_digit(word.bytes[i]);
        letters += is_hex_letter(word.bytes[i]);
    }
    return word.len >= 8 && digits && letters && digits + letters == word.len;
}

/* Triton's specialisation of arguments: "0d1d2de3c". */
static bool is_specialisation(gt_str word)
{
    size_t marks = 0;
    if (!word.len || !gt_is_digit(word.bytes[0])) return false;
    for (size_t i = 0; i < word.len; i++) {
        if (!gt_is_digit(word.bytes[i]) && !strchr("dec", word.bytes[i])) return false;
        marks += word.bytes[i] == 'd';
    }
    return marks >= 2;
}

static bool is_number(gt_str word)
{
    for (size_t i = 0; i < word.len; i++)
        if (!gt_is_digit(word.bytes[i])) return false;
    return word.len > 0;
}

/* Length without the last words that differ from run to run. */
static size_t stable_length(gt_str name)
{
    bool inductor = gt_str_starts_with(name, "triton_");
    size_t len = name.len;
    for (;;) {
        size_t begin = len;
        while (begin && name.bytes[begin - 1] != '_') begin--;
        gt_str word = {name.bytes + begin, len - begin};
        if (begin < 2 || !((inductor && is_number(word)) || is_specialisation(word) || is_hash(word)))
            return len;
        len = begin - 1;
    }
}

/* Tensile names a GEMM "Cijk_Ailk_Bljk_HHS_BH_MT128x64x32_...": the problem, then the solution. */
static size_t problem_length(gt_str name)
{
    for (const char *at = name.bytes; (at = strstr(at, "_MT")) != NULL; at++)
        if (gt_is_digit(at[3])) return (size_t)(at - name.bytes);
    return name.len;
}

uint32_t gt_kernel_normal_name(gt_interner *strings, uint32_t name)
{
    gt_str text = gt_interner_get(strings, name);
    size_t len = gt_str_starts_with(text, "Cijk_") ? problem_length(text) : stable_length(text);
    return len == text.len ? name : gt_interner_add(strings, text.bytes, len);
}

/* "AllReduce" for "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)": algorithm, type and version of the library
 * are not what is compared. "Memcpy HtoD" for "Memcpy HtoD (Pageable -> Device)". */
static uint32_t short_name(gt_interner *strings, gt_part_kind kind, gt_str name)
{
    static const char *const collectives[] = {"AllReduce", "ReduceScatter", "AllGather", "AllToAll",
                                              "SendRecv",  "Broadcast",     "Reduce"};
    for (size_t i = 0; kind == GT_PART_COMMUNICATION && i < GT_LENGTH(collectives); i++)
        if (gt_str_contains_nocase(name, collectives[i]))
            return gt_interner_add_cstr(strings, collectives[i]);
    const char *end = memchr(name.bytes, '(', name.len);
    size_t len = end && end > name.bytes ? (size_t)(end - name.bytes) : name.len;
    while (len && name.bytes[len - 1] == ' ') len--;
    return gt_interner_add(strings, name.bytes, len);
}

static bool contains_any(gt_str text, const char *const *parts)
{
    for (; *parts; parts++)
        if (gt_str_contains_nocase(text, *parts)) return true;
    return false;
}

/* "GEMM" for both aten::mm and a kernel without an op whose name says so; NULL: neither says. */
static const char *work_of(gt_str op, gt_str kernel)
{
    static const struct {
        const char *category;
        gt_work_kind of_op;
        const char *of_kernel[5];
    } rows[] = {
        {"attention", GT_WORK_ATTENTION, {"flash", "fmha", "attn", "sdpa"}},
        {"convolution", GT_WORK_CONVOLUTION, {"convolve", "conv2d", "conv_fwd", "conv_bwd"}},
        {"GEMM", GT_WORK_GEMM, {"gemm", "nvjet", "cijk_", "matmul"}},
    };
    gt_work_kind kind = gt_work_kind_of(op);
    for (size_t i = 0; i < GT_LENGTH(rows); i++)
        if (op.len ? kind == rows[i].of_op : contains_any(kernel, rows[i].of_kernel)) return rows[i].category;
    return NULL;
}

/* Categories in which one kernel can do what another one did. In "elementwise" or "other" it cannot. */
static uint32_t category_of(gt_interner *strings, gt_str op, gt_str kernel)
{
    static const char *const vague[] = {"other",  "elementwise",        "reduce",
                                        "triton", "multi_tensor_apply", "record_param_comms"};
    static const char *const backward[] = {"backward", "bwd", "bprop", NULL};
    const char *work = work_of(op, kernel);
    if (work) {
        bool is_backward = contains_any(op.len ? op : kernel, backward);
        char *name = gt_format("%s%s", work, is_backward ? " backward" : "");
        uint32_t id = gt_interner_add_cstr(strings, name);
        gt_free(name);
        return id;
    }
    const char *category = op.len ? gt_op_category(op, kernel) : vague[0];
    for (size_t i = 0; i < GT_LENGTH(vague); i++)
        if (strcmp(category, vague[i]) == 0) return GT_STR_NONE;
    return gt_interner_add_cstr(strings, category);
}

/* ---- collecting ---- */

typedef struct collector {
    gt_step_parts *parts;
    const gt_schedule *schedule;
    gt_map by_trace;          /* kind, op and name, as string ids of the trace, to the part */
    gt_map by_name;           /* the same with string ids of the parts */
    gt_map shapes;            /* part, dims and strides to the shape */
    uint32_t *dims, *strides; /* by row of the trace; NULL: it has no rows */
    size_t row_count;
    uint8_t *op_is_counted; /* by host event */
} collector;

static uint32_t find_part(collector *c, gt_part_kind kind, uint32_t op, uint32_t name)
{
    gt_step_parts *parts = c->parts;
    uint32_t *place = gt_map_put(&c->by_name, (uint64_t)kind << 32 | op, name);
    if (*place == GT_MAP_NONE) {
        gt_step_part part = {.kind = (uint8_t)kind, .op = op, .name = name};
        *place = (uint32_t)parts->count;
        GT_PUSH(parts->items, parts->count, parts->capacity, part);
    }
    return *place;
}

static uint32_t copy_string(const collector *c, uint32_t id)
{
    gt_str text = gt_interner_get(c->schedule->strings, id);
    return gt_interner_add(c->parts->strings, text.bytes, text.len);
}

static uint32_t new_part(collector *c, gt_part_kind kind, uint32_t op, uint32_t name)
{
    gt_interner *strings = c->parts->strings;
    if (kind != GT_PART_KERNEL)
        return find_part(c, kind, GT_STR_EMPTY,
                         short_name(strings, kind, gt_interner_get(c->schedule->strings, name)));
    uint32_t own_op = copy_string(c, op), own_name = copy_string(c, name);
    uint32_t place = find_part(c, kind, own_op, own_name);
    gt_step_part *part = &c->parts->items[place];
    part->normal_name = gt_kernel_normal_name(strings, own_name);
    part->category =
        category_of(strings, gt_interner_get(strings, own_op), gt_interner_get(strings, own_name));
    return place;
}

static uint32_t part_of(collector *c, const gt_gpu_op *op)
{
    static const gt_part_kind kinds[] = {[GT_OPS_COMPUTE] = GT_PART_KERNEL,
                                         [GT_OPS_COMMUNICATION] = GT_PART_COMMUNICATION,
                                         [GT_OPS_MEMORY] = GT_PART_COPY};
    gt_part_kind kind = kinds[gt_op_class_of(op)];
    uint32_t op_name = GT_STR_EMPTY;
    if (kind == GT_PART_KERNEL && op->host_op != GT_NONE) op_name = c->schedule->events[op->host_op].name;
    uint32_t *known = gt_map_put(&c->by_trace, (uint64_t)kind << 32 | op_name, op->name);
    if (*known == GT_MAP_NONE) *known = new_part(c, kind, op_name, op->name);
    return *known;
}

static gt_part_shape *shape_of(collector *c, uint32_t part, const gt_gpu_op *op)
{
    uint32_t row = op->host_op == GT_NONE ? GT_NONE : c->schedule->events[op->host_op].row;
    bool has_row = row < c->row_count;
    uint32_t dims = has_row ? c->dims[row] : GT_STR_NONE, strides = has_row ? c->strides[row] : GT_STR_NONE;
    gt_step_parts *parts = c->parts;
    uint32_t *place = gt_map_put(&c->shapes, part, (uint64_t)dims << 32 | strides);
    if (*place == GT_MAP_NONE) {
        gt_interner *strings = c->schedule->strings;
        char *text =
            gt_format("%s%s", gt_interner_get(strings, dims).bytes, gt_interner_get(strings, strides).bytes);
        gt_part_shape new = {.part = part, .shape = gt_interner_add_cstr(parts->strings, text)};
        *place = (uint32_t)parts->shape_count;
        GT_PUSH(parts->shapes, parts->shape_count, parts->shape_capacity, new);
        gt_free(text);
    }
    return &parts->shapes[*place];
}

/* How much of an op lies in the window. */
static int64_t inside_ns(const gt_step_window *window, const gt_gpu_op *op)
{
    int64_t start = op->start_ns > window->start_ns ? op->start_ns : window->start_ns;
    int64_t end = op->end_ns < window->end_ns ? op->end_ns : window->end_ns;
    return end > start ? end - start : 0;
}

static void collect_kernel(collector *c, uint32_t place, const gt_gpu_op *op, int64_t ns, bool starts)
{
    gt_part_shape *shape = shape_of(c, place, op);
    bool first = starts && (op->host_op == GT_NONE || !c->op_is_counted[op->host_op]);
    if (op->host_op != GT_NONE) c->op_is_counted[op->host_op] = 1;
    c->parts->items[place].op_calls += first;
    shape->ns += ns;
    shape->calls += starts;
    shape->op_calls += first;
}

static void collect_ops(collector *c)
{
    const gt_schedule *schedule = c->schedule;
    int64_t *exclusive_ns = gt_ops_exclusive_ns(schedule);
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        int64_t ns = inside_ns(&schedule->window, op);
        bool starts = gt_window_has(&schedule->window, op->start_ns);
        if (!ns && !starts) continue;
        uint32_t place = part_of(c, op);
        gt_step_part *part = &c->parts->items[place];
        part->ns += exclusive_ns[i];
        part->hidden_ns += ns - exclusive_ns[i];
        part->calls += starts;
        if (part->kind == GT_PART_KERNEL) collect_kernel(c, place, op, ns, starts);
    }
    gt_free(exclusive_ns);
}

/* Where in the program does most idle time of each cause come from? */
static void find_sites(collector *c, const gt_idle *idle, uint32_t *sites)
{
    gt_tally tallies[GT_CAUSES] = {{0}};
    uint32_t unknown = gt_site_of(c->schedule, GT_NONE);
    for (size_t i = 0; i < idle->piece_count; i++) {
        const gt_idle_piece *piece = &idle->pieces[i];
        uint32_t site = gt_site_of_idle(c->schedule, piece->cause, piece->event);
        if (site != unknown)
            gt_tally_add(&tallies[piece->cause], site, (double)(piece->end_ns - piece->start_ns));
    }
    for (gt_cause cause = 0; cause < GT_CAUSES; cause++) {
        gt_tally_sort(&tallies[cause]);
        sites[cause] = tallies[cause].item_count ? copy_string(c, tallies[cause].items[0].text) : GT_STR_NONE;
        gt_tally_free(&tallies[cause]);
    }
}

static void collect_idle(collector *c, const gt_idle *idle)
{
    uint32_t sites[GT_CAUSES];
    find_sites(c, idle, sites);
    for (gt_cause cause = 0; cause < GT_CAUSES; cause++) {
        if (!idle->cause_ns[cause]) continue;
        uint32_t name = gt_interner_add_cstr(c->parts->strings, gt_cause_name(cause));
        uint32_t place = find_part(c, GT_PART_IDLE, GT_STR_EMPTY, name); /* may move the parts */
        c->parts->items[place].ns += idle->cause_ns[cause];
        c->parts->items[place].site = sites[cause];
    }
}

/* ---- per step ---- */

static int64_t divide(int64_t ns, int64_t steps)
{
    return ns / steps + (ns % steps * 2 >= steps);
}

void gt_step_parts_divide(gt_step_parts *parts, int64_t window_ns)
{
    int64_t steps = (int64_t)parts->steps, sum = 0;
    for (size_t i = 0; i < parts->count; i++) {
        gt_step_part *part = &parts->items[i];
        int64_t before = divide(sum, steps);
        sum += part->ns;
        part->ns = divide(sum, steps) - before;
        part->hidden_ns = divide(part->hidden_ns, steps);
    }
    parts->step_ns = divide(window_ns, steps);
}

gt_step_parts *gt_step_parts_new(const gt_schedule *schedule, const gt_idle *idle)
{
    gt_step_parts *parts = gt_alloc_zero(1, sizeof *parts);
    parts->strings = gt_interner_new();
    parts->steps = schedule->window.steps ? schedule->window.steps : 1;
    parts->has_steps = schedule->used_step_count > 0;
    parts->has_calls = true;
    collector c = {.parts = parts, .schedule = schedule};
    c.op_is_counted = gt_alloc_zero(schedule->event_count, 1);
    if (schedule->trace) {
        c.row_count = gt_store_count(schedule->trace->store);
        c.dims = gt_store_string_ids(schedule->trace->store, GT_EVENT_INPUT_DIMS);
        c.strides = gt_store_string_ids(schedule->trace->store, GT_EVENT_INPUT_STRIDES);
    }
    collect_ops(&c);
    collect_idle(&c, idle);
    gt_step_parts_divide(parts, schedule->window.end_ns - schedule->window.start_ns);
    gt_map_free(&c.by_trace);
    gt_map_free(&c.by_name);
    gt_map_free(&c.shapes);
    gt_free(c.op_is_counted);
    gt_free(c.dims);
    gt_free(c.strides);
    return parts;
}

void gt_step_parts_free(gt_step_parts *parts)
{
    if (!parts) return;
    gt_interner_free(parts->strings);
    gt_free(parts->items);
    gt_free(parts->shapes);
    gt_free(parts);
}
