/* Mixture of experts: multiplies M tokens with the weights of the k experts that each token is routed to.
 * Also the ops around it that choose the experts and sort the tokens.
 *
 * K is the hidden size, N the inner size, E the number of experts. Flops are those of k experts per token.
 * Bytes include the weights of each expert in use once; with random routing, the expected number of experts
 * in use is E (1 - ((E - k) / E)^M). A gated first layer has twice the weights. */
#include "model/family.h"

typedef struct moe {
    gt_int tokens, hidden, inner, experts, topk; /* M, K, N, E, k */
    gt_value gated;                              /* MISSING: not a parameter of this op */
    const gt_value *input, *weight, *output;     /* types; NULL: not a parameter of this op */
    double input_bytes, weight_bytes, output_bytes;
} moe;

typedef enum layer { FUSED, UP, DOWN } layer;

typedef struct variant {
    void (*read)(gt_reader *r, moe *m);
    layer layer;
} variant;

/* ---- formulas ---- */

/* The expected number of experts that have at least one token. */
static double active_experts(gt_reader *r, gt_int experts, gt_int topk, gt_int tokens)
{
    if (!gt_require(r, experts > 0)) return 0;
    double idle = pow((double)(experts - topk) / (double)experts, (double)tokens);
    if (!gt_require(r, isfinite(idle))) return 0;
    return (double)experts * (1 - idle);
}

static int gate_factor(const moe *m)
{
    return gt_value_is_empty(&m->gated) ? 1 : 2;
}

static void set_up(gt_reader *r, const moe *m)
{
    double active = active_experts(r, m->experts, m->topk, m->tokens);
    gt_set_flops(r, GT_PRODUCT(r, 2, m->tokens, m->hidden, m->inner, m->topk, gate_factor(m)));
    double bytes = (double)GT_PRODUCT(r, m->tokens, m->hidden) * m->input_bytes;
    bytes += active * gate_factor(m) * (double)m->hidden * (double)m->inner * m->weight_bytes;
    bytes += (double)GT_PRODUCT(r, m->tokens, m->inner, m->topk) * m->output_bytes;
    gt_set_bytes_real(r, bytes);
}

static void set_down(gt_reader *r, const moe *m)
{
    double active = active_experts(r, m->experts, m->topk, m->tokens);
    gt_set_flops(r, GT_PRODUCT(r, 2, m->tokens, m->inner, m->hidden, m->topk));
    double bytes = (double)GT_PRODUCT(r, m->tokens, m->inner, m->topk) * m->input_bytes;
    bytes += active * (double)m->inner * (double)m->hidden * m->weight_bytes;
    bytes += (double)GT_PRODUCT(r, m->tokens, m->hidden) * m->output_bytes;
    gt_set_bytes_real(r, bytes);
}

/* Both layers and the weighted sum of the experts' outputs. Intermediate results stay on the chip. */
static void set_fused(gt_reader *r, const moe *m)
{
    gt_int gate = gate_factor(m), k = m->topk, token_elements = GT_PRODUCT(r, m->tokens, m->hidden);
    gt_int weighted_sum = GT_PRODUCT(r, token_elements, GT_SUM(r, GT_PRODUCT(r, 2, k), -1));
    gt_set_flops(r, GT_SUM(r, GT_PRODUCT(r, 2, token_elements, m->inner, k, gate + 1), weighted_sum));
    double active = active_experts(r, m->experts, k, m->tokens);
    double layer_bytes = active * (double)m->inner * (double)m->hidden * m->weight_bytes;
    double bytes = (double)token_elements * m->input_bytes;
    bytes += layer_bytes * (double)gate;
    bytes += layer_bytes;
    bytes += (double)token_elements * m->output_bytes;
    gt_set_bytes_real(r, bytes);
}

static void evaluate(gt_reader *r, const void *data)
{
    static void (*const set[])(gt_reader * r,
                               const moe *m) = {[FUSED] = set_fused, [UP] = set_up, [DOWN] = set_down};
    const variant *v = data;
    moe m = {0};
    v->read(r, &m);
    gt_add_int(r, "num_tokens", m.tokens);
    gt_add_int(r, "hidden_dim", m.hidden);
    gt_add_int(r, "inter_dim", m.inner);
    gt_add_int(r, "num_experts", m.experts);
    gt_add_int(r, "topk", m.topk);
    if (m.gated.type != GT_VALUE_MISSING) gt_add_value(r, "gated", m.gated);
    gt_add_value(r, "input_dtype", *m.input);
    if (m.weight) gt_add_value(r, "weight_dtype", *m.weight);
    if (m.output) gt_add_value(r, "output_dtype", *m.output);
    set[v->layer](r, &m);
}

/* ---- arguments ---- */

static const gt_value *read_shape(gt_reader *r, int i, uint32_t rank)
{
    const gt_value *shape = gt_read_dims(r, i);
    gt_require(r, shape->count == rank);
    return shape;
}

static void read_types(gt_reader *r, moe *m, int input, int weight)
{
    m->input = gt_read_type(r, input);
    m->weight = gt_read_type(r, weight);
    m->input_bytes = gt_moe_type_bytes(m->input, 2);
    m->weight_bytes = gt_moe_type_bytes(m->weight, 1);
    m->output_bytes = m->input_bytes;
    gt_set_precision(r, gt_type_precision(m->input));
}

static void read_output_type(gt_reader *r, moe *m, int output)
{
    m->output = gt_read_type(r, output);
    m->output_bytes = gt_moe_type_bytes(m->output, 2);
}

/* N, from its value in the second layer's weights, if the elements of the first layer's weights contain
 * several values each. */
static gt_int unpacked(gt_reader *r, gt_int inner, gt_int hidden, const gt_value *first_weights)
{
    return GT_PRODUCT(r, inner, gt_floor_div(r, hidden, gt_shape_dim(r, first_weights, -1)));
}

static gt_value is_gated(gt_reader *r, const moe *m, const gt_value *first_weights)
{
    return gt_value_bool(gt_shape_dim(r, first_weights, 1) == GT_PRODUCT(r, 2, m->inner));
}

/* The weights of both layers: (E, N or 2 N, K) and (E, K, N). */
static void read_weights(gt_reader *r, moe *m, int first, int second)
{
    const gt_value *w1 = read_shape(r, first, 3), *w2 = read_shape(r, second, 3);
    m->experts = gt_shape_dim(r, w1, 0);
    m->hidden = gt_shape_dim(r, w2, 1);
    m->inner = unpacked(r, gt_shape_dim(r, w2, 2), m->hidden, w1);
    m->gated = is_gated(r, m, w1);
}

static void read_fused(gt_reader *r, moe *m)
{
    m->tokens = gt_read_dim(r, 0, 0);
    read_weights(r, m, 1, 2);
    m->topk = gt_read_dim(r, 3, 1);
    read_types(r, m, 0, 1);
}

static void read_flydsl(gt_reader *r, moe *m)
{
    read_fused(r, m);
    gt_set_precision(r, gt_type_precision(m->weight));
}

static void read_fmoe(gt_reader *r, moe *m)
{
    m->tokens = gt_read_dim(r, 0, 0);
    read_weights(r, m, 2, 3);
    m->topk = gt_read_int(r, gt_read_concrete(r, 8));
    gt_require(r, m->topk >= 0);
    read_types(r, m, 1, 2);
    read_output_type(r, m, 0);
    m->input_bytes = gt_moe_type_bytes(m->input, 1);
    if (gt_value_equals_cstr(m->input, "bf16")) gt_set_precision(r, "fp8");
}

/* k, which the pass that creates these pseudo ops has stored. */
static void read_stored_topk(gt_reader *r, moe *m)
{
    const gt_value *topk = gt_extra_or_missing(r, "MoE topk");
    gt_require(r, topk->type == GT_VALUE_INT && topk->integer >= 0);
    m->topk = gt_read_int(r, topk);
}

/* The type of the weights from the name of the first kernel, since it is not in the arguments. */
static const gt_value *weight_type_of_kernel(gt_reader *r)
{
    static const gt_value fp4 = GT_STRING_VALUE("FP4"), fp8 = GT_STRING_VALUE("FP8");
    if (!gt_require(r, r->event->kernel_count > 0)) return &gt_value_none;
    gt_str kernel = gt_read_kernel(r, 0);
    if (gt_str_contains_nocase(kernel, "fp4")) return &fp4;
    if (gt_str_contains_nocase(kernel, "fp8") || gt_str_contains_nocase(kernel, "e4m3")) return &fp8;
    return &gt_value_none;
}

/* The inner size is unknown; the hidden size is used. */
static void read_triton(gt_reader *r, moe *m)
{
    m->tokens = gt_read_dim(r, 0, 0);
    m->inner = m->hidden = gt_read_dim(r, 0, 1);
    m->experts = gt_read_dim(r, 1, 1);
    read_stored_topk(r, m);
    m->gated = *gt_extra_or_missing(r, "MoE GEMM gated");
    gt_require(r, m->gated.type != GT_VALUE_MISSING);
    gt_read_type(r, 1);
    m->input = gt_read_type(r, 0);
    m->weight = weight_type_of_kernel(r);
    m->output_bytes = m->input_bytes = gt_moe_type_bytes(m->input, 0);
    m->weight_bytes = gt_moe_type_bytes(m->weight, 0);
    gt_require(r, m->input_bytes > 0 && m->weight_bytes > 0);
    gt_set_precision(r, gt_type_precision(m->weight));
}

static void read_cktile_up(gt_reader *r, moe *m)
{
    const gt_value *x = read_shape(r, 0, 2), *w1 = read_shape(r, 1, 3), *out = read_shape(r, 2, 3);
    m->tokens = gt_shape_dim(r, x, 0);
    m->hidden = gt_shape_dim(r, x, 1);
    m->experts = gt_shape_dim(r, w1, 0);
    m->topk = gt_shape_dim(r, out, 1);
    m->inner = gt_shape_dim(r, out, 2);
    m->gated = is_gated(r, m, w1);
    read_types(r, m, 0, 1);
    read_output_type(r, m, 2);
}

static void read_cktile_down(gt_reader *r, moe *m)
{
    const gt_value *x = read_shape(r, 0, 3), *w2 = read_shape(r, 1, 3);
    m->tokens = gt_shape_dim(r, x, 0);
    m->topk = gt_shape_dim(r, x, 1);
    m->inner = gt_shape_dim(r, x, 2);
    m->experts = gt_shape_dim(r, w2, 0);
    m->hidden = gt_shape_dim(r, w2, 1);
    read_types(r, m, 0, 1);
    read_output_type(r, m, 2);
}

static void read_ck_up(gt_reader *r, moe *m)
{
    const gt_value *w1 = gt_read_dims(r, 1), *w2 = read_shape(r, 2, 3);
    m->tokens = gt_read_dim(r, 0, 0);
    m->experts = gt_shape_dim(r, w2, 0);
    m->hidden = gt_shape_dim(r, w2, 1);
    m->inner = unpacked(r, gt_shape_dim(r, w2, 2), m->hidden, w1);
    m->topk = gt_read_dim(r, 6, 1);
    m->gated = is_gated(r, m, w1);
    read_types(r, m, 0, 1);
}

static void read_ck_down(gt_reader *r, moe *m)
{
    const gt_value *x = read_shape(r, 0, 3), *w1 = gt_read_dims(r, 1), *w2 = read_shape(r, 2, 3);
    m->tokens = gt_shape_dim(r, x, 0);
    m->topk = gt_shape_dim(r, x, 1);
    m->experts = gt_shape_dim(r, w2, 0);
    m->hidden = gt_shape_dim(r, w2, 1);
    m->inner = gt_shape_dim(r, x, 2);
    if (w1->count) m->inner = unpacked(r, m->inner, m->hidden, w1);
    read_types(r, m, 0, 2);
}

/* The weights have 4 bits; only the type of the tokens is a parameter. */
static void read_int4_types(gt_reader *r, moe *m)
{
    static const gt_value bf16 = GT_STRING_VALUE("BFloat16");
    m->input = r->types->type == GT_VALUE_MISSING ? &bf16 : gt_read_type(r, 0);
    m->output_bytes = m->input_bytes = gt_moe_type_bytes(m->input, 2);
    m->weight_bytes = 0.5;
    gt_set_precision(r, gt_type_precision(m->input));
}

static void read_int4_up(gt_reader *r, moe *m)
{
    const gt_value *gated = gt_extra_or_missing(r, "MoE GEMM gated");
    m->gated = gated->type == GT_VALUE_MISSING ? gt_value_bool(true) : *gated;
    m->tokens = gt_read_dim(r, 0, 0);
    m->hidden = gt_read_dim(r, 0, 1);
    m->experts = gt_read_dim(r, 1, 0);
    m->inner = gt_read_dim(r, 1, 1) / gate_factor(m);
    read_stored_topk(r, m);
    read_int4_types(r, m);
}

static void read_int4_down(gt_reader *r, moe *m)
{
    m->tokens = gt_read_dim(r, 0, 0);
    m->hidden = gt_read_dim(r, 0, 1);
    m->experts = gt_read_dim(r, 2, 0);
    m->inner = GT_PRODUCT(r, 2, gt_read_dim(r, 2, 2));
    read_stored_topk(r, m);
    read_int4_types(r, m);
}

/* ---- a single matrix multiplication of either layer, with k rows per token ---- */

static void single_gemm(gt_reader *r, const void *data)
{
    (void)data;
    const gt_value *weights = read_shape(r, 1, 3), *choices = read_shape(r, 8, 2);
    gt_int E = gt_shape_dim(r, weights, 0), N = gt_shape_dim(r, weights, 1), K = gt_shape_dim(r, weights, 2);
    gt_int M = gt_shape_dim(r, choices, 0), k = gt_shape_dim(r, choices, 1), rows = GT_PRODUCT(r, M, k);
    const gt_value *in = gt_type_or(r, 0, &gt_value_none), *out = gt_nonempty_type_or(r, 3, in),
                   *weight = gt_type_or(r, 1, &gt_value_none);
    gt_add_int(r, "m_work", rows);
    gt_add_int(r, "num_tokens", M);
    gt_add_int(r, "topk", k);
    gt_add_int(r, "N", N);
    gt_add_int(r, "K", K);
    gt_add_int(r, "num_experts", E);
    gt_add_value(r, "input_dtype", *in);
    gt_add_value(r, "weight_dtype", *weight);
    gt_add_value(r, "output_dtype", *out);
    gt_set_precision(r, gt_type_precision(weight));
    gt_set_flops(r, GT_PRODUCT(r, 2, rows, N, K));
    double active = E > 0 ? active_experts(r, E, k, M) : 0;
    double bytes = (double)GT_PRODUCT(r, rows, K) * gt_moe_type_bytes(in, 2);
    bytes += active * (double)N * (double)K * gt_moe_type_bytes(weight, 1);
    bytes += (double)GT_PRODUCT(r, rows, N) * gt_moe_type_bytes(out, 2);
    gt_set_bytes_real(r, bytes);
}

/* ---- routing: choosing the experts of each token, and sorting tokens by expert ----
 *
 * The algorithms are not modelled: each tensor is read or written once, and the largest tensor takes one
 * operation per element. */

typedef struct routing {
    bool needs_dims;
} routing;

/* Neither a scalar nor a list of tensors. */
static bool is_shape(const gt_value *dims)
{
    if (!gt_value_is_list(dims) || !dims->count) return false;
    for (uint32_t i = 0; i < dims->count; i++)
        if (dims->items[i].type != GT_VALUE_INT && dims->items[i].type != GT_VALUE_BIG) return false;
    return true;
}

static void route(gt_reader *r, const void *data)
{
    const routing *op = data;
    uint32_t count = gt_value_is_list(r->dims) ? r->dims->count : 0, operand_count = 0;
    gt_value *operands = gt_arena_alloc(r->arena, count * sizeof *operands);
    gt_int largest = 0, bytes = 0;
    gt_require(r, !op->needs_dims || r->dims->type != GT_VALUE_MISSING);
    for (uint32_t i = 0; i < count; i++) {
        const gt_value *dims = &r->dims->items[i], *type = gt_type_or(r, (int)i, &gt_value_none);
        if (!is_shape(dims)) continue;
        gt_int size = gt_shape_size(r, dims);
        if (!operand_count || size > largest) {
            largest = size;
            gt_set_precision(r, gt_type_precision(type));
        }
        bytes = GT_SUM(r, bytes, GT_PRODUCT(r, size, gt_type_bytes(type)));
        operands[operand_count++] = gt_value_tuple(r->arena, (gt_value[]){gt_value_as_tuple(dims), *type}, 2);
    }
    gt_add_value(r, "operands", (gt_value){.type = GT_VALUE_LIST, .count = operand_count, .items = operands});
    gt_set_flops(r, largest);
    if (bytes > 0) gt_set_bytes(r, bytes);
}

/* Finds the k best of E experts for each of M tokens and writes their indices and weights, 4 bytes each. */
static void topk_softplus(gt_reader *r, const void *data)
{
    (void)data;
    static const gt_value bf16 = GT_STRING_VALUE("c10::BFloat16");
    const gt_value *type = gt_type_or(r, 2, &bf16);
    gt_int M = gt_read_dim(r, 2, 0), E = gt_read_dim(r, 2, 1), k = gt_read_dim(r, 0, 1);
    gt_add_int(r, "M", M);
    gt_add_int(r, "n", 1);
    gt_add_int(r, "C", E);
    gt_add_int(r, "E", E);
    gt_add_int(r, "topk", k);
    gt_add_value(r, "dtype_in", *type);
    gt_set_precision(r, gt_type_precision(type));
    gt_set_flops(r, GT_PRODUCT(r, 6, M, E));
    int bytes = gt_type_bytes(type);
    if (bytes)
        gt_set_bytes(r, GT_SUM(r, GT_PRODUCT(r, M, E, bytes), GT_PRODUCT(r, 4, E), GT_PRODUCT(r, 8, M, k)));
}

/* ---- the ops ---- */

static const variant aiter_fused = {read_fused, FUSED}, fmoe = {read_fmoe, FUSED},
                     triton_up = {read_triton, UP}, triton_down = {read_triton, DOWN},
                     cktile_up = {read_cktile_up, UP}, cktile_down = {read_cktile_down, DOWN},
                     ck_up = {read_ck_up, UP}, ck_down = {read_ck_down, DOWN}, flydsl_up = {read_flydsl, UP},
                     flydsl_down = {read_flydsl, DOWN}, int4_up = {read_int4_up, UP},
                     int4_down = {read_int4_down, DOWN};

#define WHOLE(name, variant)                                                                                 \
    {                                                                                                        \
        name, GT_FAMILY_MOE_FUSED, "MoE_fused", NULL, GT_BACKWARD_SKIP, "matrix", evaluate, &variant, 0      \
    }
#define PART(name, variant, uses)                                                                            \
    {                                                                                                        \
        name, GT_FAMILY_MOE_UNFUSED, "MoE_unfused", NULL, GT_BACKWARD_SKIP, "matrix", evaluate, &variant,    \
            uses                                                                                             \
    }

static const routing topk = {.needs_dims = true}, sorting = {.needs_dims = false};

#define ROUTING(name, backward, evaluate, variant)                                                           \
    {                                                                                                        \
        name, GT_FAMILY_MOE_AUX, "MoE_aux", NULL, backward, "vector", evaluate, variant, 0                   \
    }

static const gt_model rows[] = {
    WHOLE("pseudo_op::moe_aiter_fused_1stage", aiter_fused),
    WHOLE("aiter::fmoe_fp8_blockscale_g1u1", fmoe),
    WHOLE("aiter::fmoe_g1u1", fmoe),
    PART("pseudo_op::moe_triton_unfused_up", triton_up, GT_USES_KERNELS),
    PART("pseudo_op::moe_triton_unfused_down", triton_down, GT_USES_KERNELS),
    PART("aiter::moe_cktile2stages_gemm1_ck", cktile_up, 0),
    PART("aiter::moe_cktile2stages_gemm2_ck", cktile_down, 0),
    PART("aiter::ck_moe_stage1", ck_up, 0),
    PART("aiter::ck_moe_stage2", ck_down, 0),
    PART("pseudo_op::moe_flydsl_stage1", flydsl_up, 0),
    PART("pseudo_op::moe_flydsl_stage2", flydsl_down, 0),
    PART("pseudo_op::moe_gptq_awq_up", int4_up, 0),
    PART("pseudo_op::moe_gptq_awq_down", int4_down, 0),
    {"sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel", GT_FAMILY_MOE_UNFUSED,
     "MoE_unfused", NULL, GT_BACKWARD_SKIP, "matrix", single_gemm, NULL, 0},
    ROUTING("aiter::biased_grouped_topk_hip", GT_BACKWARD_SKIP, route, &topk),
    ROUTING("aiter::moe_sorting_fwd", GT_BACKWARD_SKIP, route, &sorting),
    ROUTING("aiter::mxfp4_moe_sort_hip", GT_BACKWARD_SKIP, route, &sorting),
    ROUTING("aiter::topk_softplus", GT_BACKWARD_FAIL, topk_softplus, NULL),
};

const gt_model_rows gt_moe_models = {rows, GT_LENGTH(rows)};
