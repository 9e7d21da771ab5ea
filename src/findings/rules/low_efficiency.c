/* low_efficiency: kernels that take more than twice the time that they should, and that no other finding
 * changes: half-precision matrix kernels by the roofline; normalisations, reductions and Triton's kernels by
 * the share of the memory's rate that the best of their class reach in this trace, at most that of the
 * roofline. A hint: what small or unusual shapes can reach is not known. */
#include "findings/rules/gpu_rules.h"

#include "table/stats.h"

static const double shortest_ns = 5000; /* below this a kernel's fixed cost counts, not its rate */

static bool *find_claimed(const gt_rule_input *input)
{
    bool *claimed = gt_alloc_zero(input->schedule->op_count, sizeof *claimed);
    for (size_t i = 0; i < input->found_count; i++)
        for (size_t k = 0; k < input->found[i].edit.op_count; k++)
            claimed[input->found[i].edit.ops[k].op] = true;
    return claimed;
}

/* Roofline time of a kernel; 0: unknown. The kernels of a convolution share its time. */
static double roofline_ns(const gt_rule_input *input, size_t op)
{
    const gt_gpu_rates *gpu = input->gpu;
    const gt_op_shape *shape = gt_gpu_facts_shape(input->facts, op);
    if (!shape->is_known || !gt_operand_is_half(shape->type)) return 0;
    switch (shape->kind) {
    case GT_WORK_GEMM:
        return fmax(gt_gemm_ns(shape, gpu, gpu->half_flops, 2), shortest_ns);
    case GT_WORK_ATTENTION:
    case GT_WORK_ATTENTION_MATH:
        return fmax(shape->flops / (GT_REACH_ATTENTION * gpu->half_flops), shortest_ns);
    case GT_WORK_CONVOLUTION: {
        const gt_op_source *source = &input->facts->sources[input->facts->op_source[op]];
        uint32_t launches = input->schedule->events[source->event].launches;
        uint32_t kernels = launches <= 4 ? source->op_count : launches;
        return fmax(gt_convolution_ns(shape, gpu, gpu->half_flops, 2), shortest_ns) / (kernels ? kernels : 1);
    }
    default:
        return 0;
    }
}

/* ---- kernels that only move data ---- */

enum { NORMALISATION = 1, REDUCTION, TRITON, CLASSES, OTHER = CLASSES };

static uint8_t class_of(gt_str name, uint8_t bits)
{
    if (gt_str_starts_with(name, "triton_")) return TRITON;
    if (!(bits & GT_KERNEL_FUSABLE)) return OTHER;
    if (gt_str_contains(name, "norm") || gt_str_contains(name, "Norm") || gt_str_contains(name, "Moments"))
        return NORMALISATION;
    return bits & GT_KERNEL_REDUCES || gt_str_contains(name, "oft") ? REDUCTION : OTHER; /* "softmax" */
}

/* By op: what a kernel of these classes takes at the rate of the best of its class; 0: unknown, or of none.
 * The caller frees it. */
static double *find_moving_ns(const gt_rule_input *input)
{
    enum { FEWEST = 5 };
    static const double long_ns = 10000, least = 0.4, usual = 0.65;
    const gt_schedule *schedule = input->schedule;
    double *ns = gt_alloc_zero(schedule->op_count, sizeof *ns), best[CLASSES];
    double *shares = gt_alloc(schedule->op_count * sizeof *shares);
    uint8_t *classes = gt_alloc_zero(schedule->op_count, 1);
    uint8_t *known = gt_alloc_zero(gt_interner_count(schedule->strings), 1); /* by name */
    gt_arena arena = {0};
    for (size_t i = 0; i < schedule->op_count; i++) {
        if ((double)gt_op_ns(&schedule->ops[i]) < long_ns || !gt_op_is_sourced_kernel(input, i)) continue;
        uint32_t name = schedule->ops[i].name;
        if (!known[name])
            known[name] = class_of(gt_interner_get(schedule->strings, name), input->facts->names[i]);
        classes[i] = known[name];
        if (classes[i] < CLASSES) ns[i] = gt_kernel_peak_ns(input->facts, schedule, input->gpu, i, &arena);
    }
    for (int class = 1; class < CLASSES; class ++) {
        size_t count = 0;
        for (size_t i = 0; i < schedule->op_count; i++)
            if (classes[i] == class && ns[i] > 0)
                shares[count++] = ns[i] / (double)gt_op_ns(&schedule->ops[i]);
        best[class] = count >= FEWEST ? gt_select(shares, count, count * 9 / 10) : usual;
        best[class] = fmin(fmax(best[class], least), GT_REACH_MEMORY);
    }
    for (size_t i = 0; i < schedule->op_count; i++)
        if (ns[i] > 0) ns[i] = fmax(ns[i] / best[classes[i]], shortest_ns);
    gt_free(shares);
    gt_free(classes);
    gt_free(known);
    gt_arena_free(&arena);
    return ns;
}

static void write_label(const gt_shapes *shapes, const gt_schedule *schedule, uint32_t index, gt_buffer *out)
{
    const gt_op_shape *shape = gt_shapes_get(shapes, index);
    if (shape->kind == GT_WORK_GEMM) {
        gt_write_gemm(shapes, schedule, index, out);
        return;
    }
    gt_buffer_add_cstr(out, gt_interner_get(schedule->strings, shape->name).bytes);
    if (shape->kind != GT_WORK_CONVOLUTION) return;
    gt_buffer_add_cstr(out, " ");
    gt_shapes_add_dims(shapes, index, 0, 2, out);
}

bool gt_rule_low_efficiency(const gt_rule_input *input, gt_finding *finding)
{
    const gt_schedule *schedule = input->schedule;
    const gt_gpu_facts *facts = input->facts;
    if (input->gpu->half_flops <= 0) return false;
    bool *claimed = find_claimed(input);
    double *times = gt_new_times(schedule), *moving_ns = find_moving_ns(input);
    gt_tally excess = {0};
    gt_shape_labels labels = {0};
    for (size_t i = 0; i < schedule->op_count; i++) {
        if (claimed[i] || !gt_op_is_sourced_kernel(input, i)) continue;
        double ns = roofline_ns(input, i), old_ns = (double)gt_op_ns(&schedule->ops[i]);
        if (ns <= 0) ns = moving_ns[i];
        if (ns <= 0 || old_ns <= 2 * ns) continue;
        times[i] = ns;
        if (gt_window_has(&schedule->window, schedule->ops[i].start_ns))
            gt_tally_add(
                &excess,
                gt_shape_label(&labels, input, facts->sources[facts->op_source[i]].shape, write_label),
                old_ns - ns);
    }
    bool found = gt_tally_total(&excess) > 0.02 * gt_window_ns(schedule);
    if (found) {
        finding->id = "low_efficiency";
        finding->is_gpu = true;
        finding->confidence = GT_CONFIDENCE_LOW;
        double recorded_ns = gt_new_times_apply(times, schedule, finding);
        finding->title =
            gt_rule_text("Kernels that reach less than half of the achievable rate take %.2f ms per %s",
                         gt_rule_ms(input, recorded_ns), input->per);
        gt_tally_sort(&excess);
        for (size_t i = 0; i < excess.item_count && i < 4; i++)
            gt_rule_evidence(finding, "%s: %.2f ms above the roofline time",
                             gt_interner_get(schedule->strings, excess.items[i].text).bytes,
                             gt_rule_ms(input, excess.items[i].sum));
        finding->advice = gt_rule_text(
            "Use larger batches or merge small matrices; try torch.compile(mode=\"max-autotune\") or "
            "another library (cuBLASLt, hipBLASLt tuning).");
    }
    gt_free_all(claimed, times, moving_ns);
    gt_tally_free(&excess);
    gt_shape_labels_free(&labels);
    return found;
}
