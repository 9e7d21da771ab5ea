/* unfused_attention: attention that runs as several simple ops (attention.c finds them). A fused kernel never
 * writes the scores to memory. The edit shrinks all ops of an attention so that together they take what a
 * fused kernel needs. Head sizes that no fused kernel supports are left to odd_shapes. */
#include "findings/rules/gpu_rules.h"

static void write_attention(const gt_shapes *shapes, const gt_schedule *schedule, uint32_t shape,
                            gt_buffer *out)
{
    const gt_op_shape *op = gt_shapes_get(shapes, shape);
    bool is_math = op->kind == GT_WORK_ATTENTION_MATH;
    gt_buffer_add_cstr(out, is_math ? gt_interner_get(schedule->strings, op->name).bytes
                                    : "bmm + softmax + bmm on");
    if (!op->has_dims) return;
    gt_buffer_add_cstr(out, " ");
    gt_shapes_add_dims(shapes, shape, 0, 1, out);
}

static void describe(const gt_rule_input *input, gt_finding *finding, const double *times)
{
    const gt_schedule *schedule = input->schedule;
    const gt_gpu_facts *facts = input->facts;
    gt_tally names = {0}, kinds = {0};
    gt_shape_labels labels = {0};
    size_t edited = 0, attentions = 0;
    for (size_t i = 0; i < facts->attention_count; i++) {
        const gt_attention *attention = &facts->attentions[i];
        if (!attention->is_slow || attention->is_odd) continue;
        attentions++;
        gt_tally_add(&kinds, gt_shape_label(&labels, input, attention->shape, write_attention), 1);
    }
    for (size_t i = 0; i < schedule->op_count; i++) {
        if (times[i] < 0) continue;
        edited++;
        if (gt_window_has(&schedule->window, schedule->ops[i].start_ns))
            gt_tally_add(&names, schedule->events[gt_op_event(input, i)].name,
                         (double)gt_op_ns(&schedule->ops[i]));
    }
    gt_tally_sort(&kinds);
    for (size_t i = 0; i < kinds.item_count && i < 2; i++)
        gt_rule_evidence(finding, "%.0f x %s", kinds.items[i].sum,
                         gt_interner_get(schedule->strings, kinds.items[i].text).bytes);
    gt_rule_evidence_sums(input, finding, &names, 4);
    gt_rule_evidence(finding, "%s per attention instead of 1 or 2",
                     gt_rule_count((double)(edited / attentions), "kernel", "kernels").text);
    gt_shape_labels_free(&labels);
    gt_tally_free(&kinds);
    gt_tally_free(&names);
}

/* The first attention that has GPU ops. */
static const gt_attention *first_attention(const gt_gpu_facts *facts)
{
    for (size_t i = 0; i < facts->attention_count; i++)
        if (facts->attentions[i].op_count) return &facts->attentions[i];
    return NULL;
}

bool gt_rule_unfused_attention(const gt_rule_input *input, gt_finding *finding)
{
    const gt_schedule *schedule = input->schedule;
    const gt_gpu_facts *facts = input->facts;
    bool found = false;
    if (!facts->attention_count || input->gpu->half_flops <= 0) return false;
    double *times = gt_new_times(schedule);
    for (size_t i = 0; i < schedule->op_count; i++) {
        const gt_attention *attention = gt_gpu_facts_attention(facts, i);
        if (!attention || attention->is_odd) continue;
        times[i] = (double)gt_op_ns(&schedule->ops[i]) * attention->fused_ns / (double)attention->total_ns;
        found = true;
    }
    if (found) {
        finding->id = "unfused_attention";
        finding->is_gpu = true;
        finding->confidence = GT_CONFIDENCE_HIGH;
        double recorded_ns = gt_new_times_apply(times, schedule, finding);
        finding->title = gt_rule_text("Attention runs unfused: %.2f ms per %s",
                                      gt_rule_ms(input, recorded_ns), input->per);
        finding->where = gt_rule_string(input, gt_site_of(schedule, first_attention(facts)->event));
        describe(input, finding, times);
        finding->advice = gt_rule_text(
            "Use torch.nn.functional.scaled_dot_product_attention with a flash, cuDNN or memory-efficient "
            "backend: bf16 or fp16 inputs, no dense mask, a head size that is a multiple of 8.");
    }
    gt_free(times);
    return found;
}
