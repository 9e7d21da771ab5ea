/* fp32_gemm: matrix products, convolutions and attention that compute in FP32 or TF32 on a GPU whose matrix
 * units are several times faster in half precision.
 *
 * The edit gives products and attention their roofline time in half precision. Convolutions: a TF32 kernel
 * becomes twice as fast, another one as the ratio of the peak rates says. Other kernels that work on float
 * tensors only move half of the bytes. The optimizer keeps its precision, and so do floats inside unfused
 * half-precision attention, which are a symptom of that. */
#include "findings/rules/gpu_rules.h"

typedef enum float_work { WORK_NONE, WORK_MATRIX, WORK_OTHER } float_work;

/* A kernel of a convolution in half precision: `ns` as the ratio of the peak rates says, but not faster than
 * its share of the roofline time. */
static double convolution_ns(const gt_rule_input *input, size_t op, double ns)
{
    const gt_op_source *source = &input->facts->sources[input->facts->op_source[op]];
    const gt_op_shape *shape = gt_shapes_get(input->facts->shapes, source->shape);
    if (!shape->is_known || source->kernel_ns <= 0) return ns;
    double share = (double)gt_op_ns(&input->schedule->ops[op]) / (double)source->kernel_ns;
    double roofline = share * gt_convolution_ns(shape, input->gpu, input->gpu->half_flops, 2);
    return ns > roofline ? ns : roofline;
}

/* Whether an op works on FP32 values, and its time in half precision. */
static float_work judge(const gt_rule_input *input, size_t op, double *ns)
{
    const gt_gpu_rates *gpu = input->gpu;
    const gt_op_shape *shape = gt_gpu_facts_shape(input->facts, op);
    uint8_t name = input->facts->names[op];
    double old_ns = (double)gt_op_ns(&input->schedule->ops[op]);
    double rate = name & GT_KERNEL_TF32 ? gpu->tf32_flops : gpu->float_flops;
    if (!shape || !shape->has_types) { /* the kernel's name decides */
        *ns = old_ns * rate / gpu->half_flops;
        return name & GT_KERNEL_MATRIX ? WORK_MATRIX : WORK_NONE;
    }
    bool is_float = shape->is_known && shape->type == GT_OPERAND_FLOAT;
    switch (shape->kind) {
    case GT_WORK_GEMM:
        if (!shape->is_known) break;
        *ns = gt_gemm_ns(shape, gpu, gpu->half_flops, 2);
        return is_float ? WORK_MATRIX : WORK_NONE;
    case GT_WORK_ATTENTION:
    case GT_WORK_ATTENTION_MATH:
        *ns = shape->flops / (GT_REACH_ATTENTION * gpu->half_flops);
        return is_float ? WORK_MATRIX : WORK_NONE;
    case GT_WORK_CONVOLUTION:
        *ns = convolution_ns(input, op,
                             old_ns * (name & GT_KERNEL_TF32 ? 0.5 : gpu->float_flops / gpu->half_flops));
        return is_float ? WORK_MATRIX : WORK_NONE;
    default:
        break;
    }
    *ns = 0.5 * old_ns;
    return shape->is_all_float ? WORK_OTHER : WORK_NONE;
}

typedef struct float_search {
    const gt_rule_input *input;
    double *times;
    gt_tally names;                     /* matrix ops in the window */
    double tf32_ns, float_ns, other_ns; /* in the window: matrix kernels of both kinds, other kernels */
} float_search;

static bool is_judged(const gt_rule_input *input, size_t op)
{
    const gt_schedule *schedule = input->schedule;
    if (schedule->origin != GT_BY_PYTORCH) return schedule->ops[op].kind == GT_KIND_KERNEL;
    if (!gt_op_is_sourced_kernel(input, op)) return false;
    if (schedule->points[schedule->ops[op].point].flags & GT_HOST_OPTIMIZER) return false;
    const gt_attention *attention = gt_gpu_facts_attention(input->facts, op);
    return !attention || !gt_operand_is_half(attention->type);
}

/* What evidence calls an op: the framework's op, or else the kernel. */
static uint32_t op_name(const gt_rule_input *input, size_t op)
{
    const gt_schedule *schedule = input->schedule;
    if (input->facts->op_source[op] == GT_NONE)
        return gt_short_kernel_name(schedule, schedule->ops[op].name, 60);
    return schedule->events[gt_op_event(input, op)].name;
}

static void search_ops(float_search *search)
{
    const gt_schedule *schedule = search->input->schedule;
    for (size_t i = 0; i < schedule->op_count; i++) {
        double ns = 0, old_ns = (double)gt_op_ns(&schedule->ops[i]);
        if (!is_judged(search->input, i)) continue;
        float_work work = judge(search->input, i, &ns);
        if (work == WORK_NONE || old_ns <= ns) continue;
        search->times[i] = ns;
        if (!gt_window_has(&schedule->window, schedule->ops[i].start_ns)) continue;
        if (work == WORK_OTHER)
            search->other_ns += old_ns;
        else if (search->input->facts->names[i] & GT_KERNEL_TF32)
            search->tf32_ns += old_ns;
        else
            search->float_ns += old_ns;
        if (work == WORK_MATRIX) gt_tally_add(&search->names, op_name(search->input, i), old_ns);
    }
}

/* Where most of the matrix work is. */
static char *find_site(float_search *search)
{
    const gt_schedule *schedule = search->input->schedule;
    gt_tally sites = {0};
    for (size_t i = 0; i < schedule->op_count; i++) {
        double ns;
        if (search->times[i] >= 0 && search->input->facts->op_source[i] != GT_NONE &&
            gt_window_has(&schedule->window, schedule->ops[i].start_ns) &&
            judge(search->input, i, &ns) == WORK_MATRIX)
            gt_tally_add(&sites, gt_site_of_op(schedule, gt_op_event(search->input, i)),
                         (double)gt_op_ns(&schedule->ops[i]));
    }
    char *site = gt_tally_first(search->input, &sites);
    gt_tally_free(&sites);
    return site;
}

static void describe(float_search *search, gt_finding *finding, double matrix_ns)
{
    const gt_rule_input *input = search->input;
    bool is_tf32 = search->tf32_ns > search->float_ns;
    bool is_old = input->gpu->compute_major >= 0 && input->gpu->compute_major < 8; /* neither bf16 nor TF32 */
    finding->id = "fp32_gemm";
    finding->is_gpu = true;
    finding->confidence = matrix_ns > 0.2 * gt_window_ns(input->schedule) && input->facts->has_types
                              ? GT_CONFIDENCE_HIGH
                              : GT_CONFIDENCE_MEDIUM;
    gt_new_times_apply(search->times, input->schedule, finding);
    finding->title = gt_rule_text("Matrix work runs in %s: %.2f ms per %s", is_tf32 ? "FP32/TF32" : "FP32",
                                  gt_rule_ms(input, matrix_ns), input->per);
    finding->where = find_site(search);
    gt_rule_evidence_sums(input, finding, &search->names, 3);
    gt_rule_evidence(
        finding,
        "TF32 tensor-core kernels %.2f ms, other FP32 matrix kernels %.2f ms; other kernels on FP32 "
        "tensors, which would move half of the bytes, %.2f ms",
        gt_rule_ms(input, search->tf32_ns), gt_rule_ms(input, search->float_ns),
        gt_rule_ms(input, search->other_ns));
    if (input->schedule->origin == GT_BY_JAX)
        finding->advice =
            gt_rule_text("Use bfloat16 for parameters and activations, or at least "
                         "jax.default_matmul_precision(\"tensorfloat32\"). Check the accuracy.");
    else
        finding->advice =
            gt_rule_text("%s%s. Check the accuracy.",
                         is_old ? "Use fp16: torch.autocast(\"cuda\", dtype=torch.float16) with a GradScaler"
                                : "Use bf16: torch.autocast(\"cuda\", dtype=torch.bfloat16)",
                         is_tf32 || is_old ? "" : "; at least torch.set_float32_matmul_precision(\"high\")");
}

bool gt_rule_fp32_gemm(const gt_rule_input *input, gt_finding *finding)
{
    if (input->gpu->half_flops <= 0 || !gt_gpu_has_matrix_units(input->gpu)) return false;
    float_search search = {.input = input, .times = gt_new_times(input->schedule)};
    search_ops(&search);
    double matrix_ns = search.tf32_ns + search.float_ns;
    bool found = matrix_ns > 0.02 * gt_window_ns(input->schedule);
    if (found) describe(&search, finding, matrix_ns);
    gt_free(search.times);
    gt_tally_free(&search.names);
    return found;
}
