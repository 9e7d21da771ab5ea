/* The table of ops, and reading their inputs.
 *
 * Only ops whose inputs are known are in the table: a wrong input would be a wrong bound. Ops that multiply
 * activations (aten::bmm) are not in it. */
#include "analysis/graphs/op_reads.h"

typedef enum input_use {
    WEIGHT,  /* the input is a matrix of weights */
    EXPERTS, /* the input and the next one are the weights of all experts; two further on, each token's */
    KEYS, /* the input and the next one are keys and values, or the two parts of a latent cache: ... x heads x
             dim, or tokens x elements */
    HEADS_FIRST, /* the same: batch x heads x tokens x dim */
    CACHED,      /* as KEYS, but they are copied to a cache, the next input, which has another type */
} input_use;

static const struct {
    const char *op;
    input_use use;
    uint8_t input;
} ops[] = {
    {"aten::mm", WEIGHT, 1},
    {"aten::addmm", WEIGHT, 2},
    {"aten::linear", WEIGHT, 1},
    {"aten::_int_mm", WEIGHT, 1},
    {"aten::_scaled_mm", WEIGHT, 1},
    {"vllm::rocm_unquantized_gemm", WEIGHT, 1},
    {"aiter::gemm_a16w16", WEIGHT, 1},
    {"aiter::gemm_a8w8", WEIGHT, 1},
    {"_C::cutlass_scaled_mm", WEIGHT, 2},
    {"sgl_kernel::fp8_scaled_mm", WEIGHT, 1},
    {"sgl_kernel::fp8_blockwise_scaled_mm", WEIGHT, 1},
    {"vllm::inplace_fused_experts", EXPERTS, 1},
    {"vllm::outplace_fused_experts", EXPERTS, 1},
    {"sglang::inplace_fused_experts", EXPERTS, 1},
    {"sglang::outplace_fused_experts", EXPERTS, 1},
    {"aiter::fused_moe_", EXPERTS, 1},
    {"vllm::rocm_aiter_fused_moe", EXPERTS, 1},
    {"vllm::unified_attention", KEYS, 1},
    {"vllm::unified_attention_with_output", KEYS, 1},
    {"vllm::unified_mla_attention", KEYS, 1},
    {"vllm::unified_mla_attention_with_output", KEYS, 1},
    {"sglang::unified_attention_with_output", KEYS, 1},
    {"_vllm_fa2_C::varlen_fwd", KEYS, 1},
    {"_vllm_fa3_C::fwd", KEYS, 1},
    {"sgl_kernel::fwd", KEYS, 1},
    {"flash_attn_3::fwd", KEYS, 1},
    {"flash_attn::_flash_attn_forward", KEYS, 1},
    {"flash_attn::_flash_attn_varlen_forward", KEYS, 1},
    {"aiter::mha_varlen_fwd", KEYS, 1},
    {"aiter::mha_batch_prefill", KEYS, 1},
    {"aiter::fmha_v3_varlen_fwd", KEYS, 1},
    {"aten::_flash_attention_forward", KEYS, 1},
    {"aten::_efficient_attention_forward", KEYS, 1},
    {"aten::_scaled_dot_product_flash_attention", HEADS_FIRST, 1},
    {"aten::_scaled_dot_product_efficient_attention", HEADS_FIRST, 1},
    {"aten::_scaled_dot_product_cudnn_attention", HEADS_FIRST, 1},
    {"_C_cache_ops::reshape_and_cache", CACHED, 0},
    {"_C_cache_ops::reshape_and_cache_flash", CACHED, 0},
    {"_C_cache_ops::concat_and_cache_mla", CACHED, 0},
    {"sglang::store_cache", CACHED, 0},
};

/* ---- inputs ---- */

static double size_of_type(const gt_value *type)
{
    static const struct {
        const char *part;
        double bytes;
    } sizes[] = {{"float8", 1}, {"char", 1},     {"float4", 1}, {"bfloat16", 2}, {"half", 2},
                 {"short", 2},  {"long int", 8}, {"double", 8}, {"float", 4},    {"int", 4}};
    for (size_t i = 0; type->type == GT_VALUE_STRING && i < GT_LENGTH(sizes); i++)
        if (gt_str_contains_nocase(type->text, sizes[i].part)) return sizes[i].bytes;
    return 0;
}

/* The product of the dimensions [first, end) of a shape; 0 if it has not so many. */
static double product(const gt_value *shape, size_t first, size_t end)
{
    double elements = 1;
    for (size_t i = first; i < end; i++) {
        const gt_value *dim = gt_value_at(shape, (int64_t)i);
        if (dim->type != GT_VALUE_INT || dim->integer <= 0) return 0;
        elements *= (double)dim->integer;
    }
    return end > first ? elements : 0;
}

static size_t rank_of(const gt_value *shape)
{
    return gt_value_is_list(shape) ? shape->count : 0;
}

/* The elements of keys or values that belong to one token. */
static double elements_per_token(const gt_value *shape, input_use use)
{
    size_t rank = rank_of(shape);
    if (use == HEADS_FIRST) return rank == 4 ? product(shape, 1, 2) * product(shape, 3, 4) : 0;
    return rank >= 3 ? product(shape, rank - 2, rank) : rank == 2 ? product(shape, 1, 2) : 0;
}

/* One token uses so many experts, and any larger number of tokens at least as many. */
static double bytes_of_experts(const gt_value *dims, const gt_value *types, size_t input)
{
    const gt_value *first = gt_value_at(dims, (int64_t)input),
                   *second = gt_value_at(dims, (int64_t)input + 1);
    const gt_value *choice = gt_value_at(dims, (int64_t)input + 2);
    if (rank_of(first) != 3 || rank_of(second) != 3 || rank_of(choice) != 2) return 0;
    double experts = product(first, 0, 1), chosen = product(choice, 1, 2);
    if (product(second, 0, 1) != experts || chosen > experts) return 0;
    return chosen * (product(first, 1, 3) * size_of_type(gt_value_at(types, (int64_t)input)) +
                     product(second, 1, 3) * size_of_type(gt_value_at(types, (int64_t)input + 1)));
}

static double bytes_of_weight(const gt_value *dims, const gt_value *types, size_t input)
{
    const gt_value *shape = gt_value_at(dims, (int64_t)input);
    return rank_of(shape) == 2 ? product(shape, 0, 2) * size_of_type(gt_value_at(types, (int64_t)input)) : 0;
}

static double bytes_per_token(const gt_value *dims, const gt_value *types, size_t input, input_use use)
{
    double keys = elements_per_token(gt_value_at(dims, (int64_t)input), use);
    double values = elements_per_token(gt_value_at(dims, (int64_t)input + 1), use);
    size_t typed = use == CACHED ? input + 2 : input;
    return keys > 0 && values > 0 ? (keys + values) * size_of_type(gt_value_at(types, (int64_t)typed)) : 0;
}

/* Its place in the table; the length of the table if it is not there. */
static size_t find_op(gt_str name)
{
    size_t i = 0;
    while (i < GT_LENGTH(ops) && !gt_str_equals(name, ops[i].op)) i++;
    return i;
}

static void read_inputs(size_t i, const gt_value *dims, const gt_value *types, gt_op_reads *reads)
{
    size_t input = ops[i].input;
    input_use use = ops[i].use;
    if (use == WEIGHT)
        reads->weight_bytes = bytes_of_weight(dims, types, input);
    else if (use == EXPERTS)
        reads->weight_bytes = bytes_of_experts(dims, types, input);
    else
        reads->kv_bytes = bytes_per_token(dims, types, input, use);
    reads->is_cached = use == CACHED;
}

gt_op_reads gt_op_reads_around(const gt_linked_view *trace, const gt_interner *strings, gt_values *values,
                               uint32_t call)
{
    gt_op_reads reads = {.op = GT_NO_EVENT};
    for (uint32_t op = gt_pytorch_cpu_op_above(trace, call); op != GT_NO_EVENT;
         op = gt_pytorch_cpu_op_above(trace, op)) {
        size_t place = find_op(gt_interner_get(strings, trace->events.name[op]));
        if (place == GT_LENGTH(ops)) continue;
        uint32_t dims, types;
        gt_store_string_ids_at(trace->store, GT_EVENT_INPUT_DIMS, &op, 1, &dims);
        gt_store_string_ids_at(trace->store, GT_EVENT_INPUT_TYPES, &op, 1, &types);
        read_inputs(place, gt_values_get(values, dims), gt_values_get(values, types), &reads);
        if (reads.weight_bytes > 0 || reads.kv_bytes > 0) {
            reads.op = op;
            break;
        }
    }
    return reads;
}
