/* odd_shapes: matrices whose rows do not start at multiples of 16 bytes. Tensor cores are fed by loads of 16
 * bytes; kernels for other matrices load smaller parts and are several times slower.
 *
 * Looks at matrix products whose leading dimensions or N are odd, half-precision convolutions whose channels
 * are no multiple of 8, and attention whose head size no fused kernel supports. The edit gives them their
 * roofline time. If they matter, memory-bound kernels on tensors with such rows become faster too: to what
 * the memory allows, but at most twice as fast. */
#include "findings/rules/gpu_rules.h"

typedef struct odd_search {
    const gt_rule_input *input;
    double *times;
    gt_tally kernels, sites; /* in the window */
    gt_shape_labels labels;
    bool found;
} odd_search;

static double op_ns(const odd_search *search, size_t op)
{
    return (double)gt_op_ns(&search->input->schedule->ops[op]);
}

static void change(odd_search *search, size_t op, double ns)
{
    search->times[op] = ns;
    search->found = true;
}

static bool in_window(const odd_search *search, size_t op)
{
    return gt_window_has(&search->input->schedule->window, search->input->schedule->ops[op].start_ns);
}

static void write_typed_gemm(const gt_shapes *shapes, const gt_schedule *schedule, uint32_t shape,
                             gt_buffer *out)
{
    gt_write_gemm(shapes, schedule, shape, out);
    gt_buffer_add_format(out, " %s", gt_operand_name(gt_shapes_get(shapes, shape)->type));
}

static void write_weight(const gt_shapes *shapes, const gt_schedule *schedule, uint32_t shape, gt_buffer *out)
{
    gt_str name = gt_interner_get(schedule->strings, gt_shapes_get(shapes, shape)->name);
    gt_buffer_add_format(out, "%s weight ", name.bytes);
    gt_shapes_add_dims(shapes, shape, gt_str_equals(name, "aten::convolution_backward") ? 2 : 1, 1, out);
}

static uint32_t op_label(odd_search *search, size_t op, gt_shape_writer *write)
{
    const gt_gpu_facts *facts = search->input->facts;
    return gt_shape_label(&search->labels, search->input, facts->sources[facts->op_source[op]].shape, write);
}

static void judge_gemm(odd_search *search, size_t op, const gt_op_shape *shape)
{
    const gt_gpu_rates *gpu = search->input->gpu;
    bool is_half = gt_operand_is_half(shape->type);
    const gt_attention *attention = gt_gpu_facts_attention(search->input->facts, op);
    if (!is_half && shape->type != GT_OPERAND_FLOAT) return;
    if (attention && !attention->is_odd) return; /* unfused_attention replaces it */
    if (fmin(fmin(shape->m, shape->n), shape->k) < 64 || shape->is_aligned || shape->flops <= 1e7) return;
    double ns = gt_gemm_ns(shape, gpu, is_half ? gpu->half_flops : gpu->tf32_flops, is_half ? 2 : 4);
    if (op_ns(search, op) <= 1.3 * ns) return;
    change(search, op, ns);
    if (!in_window(search, op)) return;
    gt_tally_add(&search->kernels, op_label(search, op, write_typed_gemm), op_ns(search, op));
    gt_tally_add(&search->sites, gt_site_of_op(search->input->schedule, gt_op_event(search->input, op)),
                 op_ns(search, op));
}

/* Without shapes the kernel's name tells how it loads matrices. */
static void judge_name(odd_search *search, size_t op, const gt_op_shape *shape)
{
    if ((shape && shape->has_dims) || !(search->input->facts->names[op] & GT_KERNEL_NARROW)) return;
    change(search, op, 0.5 * op_ns(search, op));
    const gt_schedule *schedule = search->input->schedule;
    if (in_window(search, op))
        gt_tally_add(&search->kernels, gt_short_kernel_name(schedule, schedule->ops[op].name, 70),
                     op_ns(search, op));
}

static void judge_convolution(odd_search *search, size_t op, const gt_op_shape *shape)
{
    const gt_gpu_facts *facts = search->input->facts;
    if (!shape->is_known || !gt_operand_is_half(shape->type)) return;
    bool is_odd = fmod(shape->out_channels, 8) != 0 || fmod(shape->in_channels, 8) != 0;
    if (!is_odd || shape->in_channels <= 4) return; /* images have few channels anyway */
    double all_ns = (double)facts->sources[facts->op_source[op]].kernel_ns;
    double ratio =
        all_ns > 0 ? gt_convolution_ns(shape, search->input->gpu, search->input->gpu->half_flops, 2) / all_ns
                   : 1;
    if (ratio > 0.8) return;
    change(search, op, op_ns(search, op) * ratio);
    if (in_window(search, op))
        gt_tally_add(&search->kernels, op_label(search, op, write_weight), op_ns(search, op));
}

static void judge_attention(odd_search *search, size_t op)
{
    const gt_attention *attention = gt_gpu_facts_attention(search->input->facts, op);
    if (!attention || !attention->is_odd) return;
    double ns = op_ns(search, op) * attention->fused_ns / (double)attention->total_ns;
    if (search->times[op] < 0 || ns < search->times[op]) change(search, op, ns);
}

static void judge_memory(odd_search *search, size_t op, const gt_op_shape *shape)
{
    const gt_schedule *schedule = search->input->schedule;
    const gt_attention *attention = gt_gpu_facts_attention(search->input->facts, op);
    if (search->times[op] >= 0 || (attention && !attention->is_odd) || shape->odd_bytes <= 0) return;
    if (schedule->points[schedule->ops[op].point].flags & GT_HOST_OPTIMIZER) return;
    uint32_t launches = schedule->events[gt_op_event(search->input, op)].launches;
    double ns =
        shape->odd_bytes / (GT_REACH_MEMORY * search->input->gpu->bytes) / (launches > 1 ? launches : 1);
    ns = fmax(ns, 0.5 * op_ns(search, op));
    if (op_ns(search, op) > 1.3 * ns) change(search, op, ns);
}

static void judge_all(odd_search *search)
{
    const gt_schedule *schedule = search->input->schedule;
    for (size_t i = 0; i < schedule->op_count; i++) {
        if (gt_op_is_sourced_kernel(search->input, i)) {
            const gt_op_shape *shape = gt_gpu_facts_shape(search->input->facts, i);
            if (shape->kind == GT_WORK_GEMM && shape->is_known)
                judge_gemm(search, i, shape);
            else
                judge_name(search, i, shape);
            if (shape->kind == GT_WORK_CONVOLUTION) judge_convolution(search, i, shape);
        } else if (schedule->origin != GT_BY_PYTORCH && schedule->ops[i].kind == GT_KIND_KERNEL) {
            judge_name(search, i, NULL);
        }
        judge_attention(search, i);
    }
    if (gt_tally_total(&search->kernels) <= 0.02 * gt_window_ns(schedule)) return;
    for (size_t i = 0; i < schedule->op_count; i++)
        if (gt_op_is_sourced_kernel(search->input, i))
            judge_memory(search, i, gt_gpu_facts_shape(search->input->facts, i));
}

static void describe(odd_search *search, gt_finding *finding)
{
    const gt_rule_input *input = search->input;
    finding->id = "odd_shapes";
    finding->is_gpu = true;
    finding->confidence =
        input->schedule->origin == GT_BY_PYTORCH ? GT_CONFIDENCE_HIGH : GT_CONFIDENCE_MEDIUM;
    double recorded_ns = gt_new_times_apply(search->times, input->schedule, finding);
    finding->title =
        gt_rule_text("Matrix sizes that are not multiples of 8 keep %.2f ms of kernels per %s off "
                     "the fast tensor-core paths",
                     gt_rule_ms(input, recorded_ns), input->per);
    finding->where = gt_tally_first(input, &search->sites);
    gt_rule_evidence_sums(input, finding, &search->kernels, 3);
    for (size_t i = 0; i < input->facts->attention_count; i++) {
        const gt_attention *attention = &input->facts->attentions[i];
        if (!attention->is_slow || !attention->is_odd) continue;
        gt_rule_evidence(finding, "attention head size %.0f (not a multiple of 8) rules out fused attention",
                         attention->head);
        break;
    }
    finding->advice =
        gt_rule_text("Pad hidden, head, vocabulary or channel sizes to a multiple of 8, better 64.");
}

bool gt_rule_odd_shapes(const gt_rule_input *input, gt_finding *finding)
{
    if (input->gpu->half_flops <= 0) return false;
    odd_search search = {.input = input, .times = gt_new_times(input->schedule)};
    judge_all(&search);
    bool found = search.found && gt_tally_total(&search.kernels) > 0.005 * gt_window_ns(input->schedule);
    if (found) describe(&search, finding);
    gt_free(search.times);
    gt_tally_free(&search.kernels);
    gt_tally_free(&search.sites);
    gt_shape_labels_free(&search.labels);
    return found;
}
