/* What the rules about GPU time share: new durations, roofline times, sums as evidence, labels. */
#include "findings/rules/gpu_rules.h"

#include "findings/chains.h"
#include "findings/traffic.h"

double *gt_new_times(const gt_schedule *schedule)
{
    double *times = gt_alloc(schedule->op_count * sizeof *times);
    for (size_t i = 0; i < schedule->op_count; i++) times[i] = -1;
    return times;
}

double gt_new_times_apply(const double *times, const gt_schedule *schedule, gt_finding *finding)
{
    int64_t recorded_ns = 0;
    for (size_t i = 0; i < schedule->op_count; i++) {
        if (times[i] < 0) continue;
        gt_edit_op_add(&finding->edit, (uint32_t)i, times[i]);
        if (gt_window_has(&schedule->window, schedule->ops[i].start_ns))
            recorded_ns += gt_op_ns(&schedule->ops[i]);
    }
    return (double)recorded_ns;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

double gt_gemm_ns(const gt_op_shape *shape, const gt_gpu_rates *gpu, double rate, double element)
{
    return larger(shape->flops / (GT_REACH_GEMM * rate),
                  shape->elements * element / (GT_REACH_MEMORY * gpu->bytes));
}

double gt_convolution_ns(const gt_op_shape *shape, const gt_gpu_rates *gpu, double rate, double element)
{
    return larger(shape->flops / (GT_REACH_CONVOLUTION * rate),
                  shape->elements * element / (GT_REACH_MEMORY * gpu->bytes));
}

double gt_kernel_peak_ns(const gt_gpu_facts *facts, const gt_schedule *schedule, const gt_gpu_rates *gpu,
                         size_t op, gt_arena *arena)
{
    const gt_op_source *source = &facts->sources[facts->op_source[op]];
    const gt_op_shape *shape = gt_shapes_get(facts->shapes, source->shape);
    if (shape->is_known) {
        bool is_half = gt_operand_is_half(shape->type);
        double rate = is_half ? gpu->half_flops : gpu->tf32_flops;
        double ns = rate > 0 ? shape->flops / rate : 0;
        if (gpu->bytes > 0) ns = fmax(ns, shape->elements * (is_half ? 2 : 4) / gpu->bytes);
        return ns / source->op_count;
    }
    gt_str name = gt_interner_get(schedule->strings, schedule->ops[op].name);
    bool is_triton = gt_str_starts_with(name, "triton_");
    bool is_known = is_triton || facts->names[op] & GT_KERNEL_FUSABLE;
    if (!is_known || source->op_count != 1 || gpu->bytes <= 0) return 0;
    gt_str op_name = gt_interner_get(schedule->strings, shape->name);
    gt_traffic traffic = gt_traffic_of(facts->shapes, source->shape, op_name, arena);
    if (is_triton || facts->names[op] & GT_KERNEL_REDUCES) traffic = gt_traffic_reduce(traffic);
    return traffic.is_neutral ? 0 : gt_traffic_bytes(&traffic) / gpu->bytes;
}

double gt_window_ns(const gt_schedule *schedule)
{
    return (double)(schedule->window.end_ns - schedule->window.start_ns);
}

bool gt_op_is_sourced_kernel(const gt_rule_input *input, size_t op)
{
    return input->schedule->ops[op].kind == GT_KIND_KERNEL && input->facts->op_source[op] != GT_NONE;
}

uint32_t gt_op_event(const gt_rule_input *input, size_t op)
{
    return input->facts->sources[input->facts->op_source[op]].event;
}

double gt_tally_total(const gt_tally *tally)
{
    double total = 0;
    for (size_t i = 0; i < tally->item_count; i++) total += tally->items[i].sum;
    return total;
}

void gt_rule_evidence_sums(const gt_rule_input *input, gt_finding *finding, gt_tally *tally, size_t count)
{
    gt_tally_sort(tally);
    for (size_t i = 0;
         i < tally->item_count && i < count && gt_rule_shows(gt_rule_ms(input, tally->items[i].sum)); i++)
        gt_rule_evidence(finding, "%s: %.2f ms",
                         gt_interner_get(input->schedule->strings, tally->items[i].text).bytes,
                         gt_rule_ms(input, tally->items[i].sum));
}

char *gt_tally_first(const gt_rule_input *input, gt_tally *tally)
{
    gt_tally_sort(tally);
    if (!tally->item_count) return NULL;
    return gt_strdup(gt_interner_get(input->schedule->strings, tally->items[0].text).bytes);
}

/* ---- labels ---- */

uint32_t gt_shape_label(gt_shape_labels *labels, const gt_rule_input *input, uint32_t shape,
                        gt_shape_writer *write)
{
    if (shape >= labels->capacity) {
        size_t old = labels->capacity;
        labels->ids = gt_grow(labels->ids, &labels->capacity, (size_t)shape + 1, sizeof *labels->ids);
        memset(labels->ids + old, 0, (labels->capacity - old) * sizeof *labels->ids);
    }
    if (labels->ids[shape] == GT_STR_NONE) {
        gt_buffer text = {0};
        write(input->facts->shapes, input->schedule, shape, &text);
        gt_str written = gt_buffer_str(&text);
        labels->ids[shape] = gt_interner_add(input->schedule->strings, written.bytes, written.len);
        gt_buffer_free(&text);
    }
    return labels->ids[shape];
}

void gt_shape_labels_free(gt_shape_labels *labels)
{
    gt_free(labels->ids);
    *labels = (gt_shape_labels){0};
}

void gt_write_gemm(const gt_shapes *shapes, const gt_schedule *schedule, uint32_t index, gt_buffer *out)
{
    const gt_op_shape *shape = gt_shapes_get(shapes, index);
    gt_buffer_add_cstr(out, gt_interner_get(schedule->strings, shape->name).bytes);
    gt_buffer_add_cstr(out, " [");
    if (shape->batch != 1) gt_buffer_add_format(out, "%.0f, ", shape->batch);
    gt_buffer_add_format(out, "%.0f, %.0f, %.0f]", shape->m, shape->n, shape->k);
}

uint32_t gt_short_kernel_name(const gt_schedule *schedule, uint32_t name, size_t max)
{
    static const char prefix[] = "void ", hidden[] = "(anonymous namespace)::";
    gt_str text = gt_interner_get(schedule->strings, name);
    if (gt_str_starts_with(text, prefix)) {
        text.bytes += strlen(prefix);
        text.len -= strlen(prefix);
    }
    gt_buffer out = {0};
    while (text.len && out.len <= max) {
        const char *at = memmem(text.bytes, text.len, hidden, strlen(hidden));
        size_t part = at ? (size_t)(at - text.bytes) : text.len;
        gt_buffer_add(&out, text.bytes, part);
        part += at ? strlen(hidden) : 0;
        text.bytes += part;
        text.len -= part;
    }
    if (out.len > max) {
        out.len = max - 3;
        while (out.len && ((unsigned char)out.bytes[out.len] & 0xC0) == 0x80)
            out.len--; /* whole characters */
        gt_buffer_add_cstr(&out, "...");
    }
    gt_str written = gt_buffer_str(&out);
    uint32_t id = gt_interner_add(schedule->strings, written.bytes, written.len);
    gt_buffer_free(&out);
    return id;
}

/* ---- copies ---- */

gt_copy_change gt_copy_change_of(const gt_rule_input *input, size_t op)
{
    const gt_gpu_op *gpu_op = &input->schedule->ops[op];
    if (!gt_op_is_judged(input->schedule, gpu_op) || gt_gpu_facts_attention(input->facts, op) ||
        gt_chains_have(input->chains, op))
        return GT_CHANGE_UNKNOWN;
    if (gpu_op->kind == GT_KIND_MEMCPY)
        return gt_str_contains(gt_interner_get(input->schedule->strings, gpu_op->name), "DtoD")
                   ? GT_CHANGE_LAYOUT
                   : GT_CHANGE_UNKNOWN;
    if (gpu_op->kind != GT_KIND_KERNEL) return GT_CHANGE_UNKNOWN;
    uint8_t name = input->facts->names[op];
    if (name & GT_KERNEL_LAYOUT) return GT_CHANGE_LAYOUT;
    const gt_op_shape *shape = gt_gpu_facts_shape(input->facts, op);
    if (!shape || shape->kind != GT_WORK_COPY) return GT_CHANGE_UNKNOWN;
    if (shape->copy == GT_CHANGE_UNKNOWN && name & GT_KERNEL_COPY) return GT_CHANGE_LAYOUT;
    return shape->copy;
}

uint32_t gt_copy_label(const gt_rule_input *input, size_t op, gt_map *labels)
{
    const gt_schedule *schedule = input->schedule;
    const gt_gpu_facts *facts = input->facts;
    uint32_t source = facts->op_source[op];
    if (source == GT_NONE) return gt_short_kernel_name(schedule, schedule->ops[op].name, 50);
    uint32_t site = gt_site_of_op(schedule, facts->sources[source].event);
    uint32_t *label = gt_map_put(labels, site, facts->sources[source].shape);
    if (*label != GT_MAP_NONE) return *label;
    gt_buffer text = {0};
    gt_buffer_add_cstr(&text, gt_interner_get(schedule->strings, site).bytes);
    if (gt_shapes_get(facts->shapes, facts->sources[source].shape)->has_dims) {
        gt_buffer_add_cstr(&text, " ");
        gt_shapes_add_dims(facts->shapes, facts->sources[source].shape, 0, 1, &text);
    }
    gt_str written = gt_buffer_str(&text);
    *label = gt_interner_add(schedule->strings, written.bytes, written.len);
    gt_buffer_free(&text);
    return *label;
}
