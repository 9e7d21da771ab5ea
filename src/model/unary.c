/* Ops that take one tensor and give one: copies, activations, padding, quantisation.
 *
 * All of them read their input once and write their output once. Most do one operation an element; what
 * differs is where the shape of the output stands and how large its elements are. */
#include "base/length.h"
#include "model/family.h"

/* ---- what they share ---- */

static void add_parameters(gt_reader *r, const gt_value *shape, const gt_value *in, const gt_value *out,
                           gt_value stride_in, gt_value stride_out)
{
    gt_add_tuple(r, "op_shape", shape);
    gt_add_values(r, "dtype_in_out", (gt_value[]){*in, *out}, 2);
    gt_add_value(r, "stride_input", stride_in);
    gt_add_value(r, "stride_output", stride_out);
    gt_set_precision(r, gt_type_precision(in));
}

/* ---- one output element for each of the input ---- */

/* An output of type None has the type of the input. */
static void set_work(gt_reader *r, gt_int elements, const gt_value *in, const gt_value *out)
{
    int bytes_in = gt_type_bytes(in), bytes_out = out->type == GT_VALUE_NONE ? bytes_in : gt_type_bytes(out);
    gt_set_flops(r, elements);
    if (bytes_in && bytes_out) gt_set_bytes(r, GT_PRODUCT(r, elements, bytes_in + bytes_out));
}

static void aten_unary(gt_reader *r, const void *variant)
{
    (void)variant;
    bool has_output = gt_has_dims(r, 1);
    const gt_value *shape = gt_read_dims(r, 0), *in = gt_read_type(r, 0);
    const gt_value *out = has_output ? gt_read_type(r, 1) : &gt_value_none;
    gt_value stride_in = gt_strict_stride(r, 0);
    gt_value stride_out = has_output ? gt_strict_stride(r, 1) : gt_value_none;
    add_parameters(r, shape, in, out, stride_in, stride_out);
    set_work(r, gt_shape_size(r, shape), in, out);
}

static void quantize_fp8(gt_reader *r, const void *variant)
{
    (void)variant;
    const gt_value *shape = gt_read_dims(r, 0), *in = gt_read_type(r, 0);
    gt_value out = gt_value_cstr("c10::Float8_e4m3fnuz");
    add_parameters(r, shape, in, &out, gt_soft_stride(r, 0), gt_value_none);
    set_work(r, gt_shape_size(r, shape), in, &out);
}

/* ---- an output of another size ---- */

/* Element types of input and output are the same, and must be known. */
static void add_resized(gt_reader *r, const gt_value *shape_in, const gt_value *shape_out)
{
    const gt_value *type = gt_read_type(r, 0);
    gt_int size_in = gt_shape_size(r, shape_in), size_out = gt_shape_size(r, shape_out);
    add_parameters(r, shape_out, type, type, gt_strict_stride(r, 0), gt_value_none);
    gt_set_flops(r, size_out);
    gt_set_bytes(r, GT_PRODUCT(r, GT_SUM(r, size_in, size_out), gt_need_type_bytes(r, type)));
}

/* A copy of the shape with the last axis longer by the first pair of the padding, the one before by the
 * second. */
static gt_value padded_shape(gt_reader *r, const gt_value *shape, const gt_value *padding)
{
    gt_value *dims = gt_arena_alloc(r->arena, shape->count * sizeof *dims);
    gt_require(r, padding->count / 2 <= shape->count);
    for (uint32_t i = 0; i < shape->count; i++) {
        uint32_t pair = 2 * (shape->count - 1 - i);
        gt_int dim = gt_shape_dim(r, shape, (int)i);
        if (pair + 1 < padding->count)
            dim = GT_SUM(r, dim, gt_read_int(r, &padding->items[pair]),
                         gt_read_int(r, &padding->items[pair + 1]));
        dims[i] = gt_value_int(gt_require(r, dim >= 0 && dim <= INT64_MAX) ? (int64_t)dim : 0);
    }
    return (gt_value){.type = GT_VALUE_TUPLE, .count = shape->count, .items = dims};
}

static void replication_pad(gt_reader *r, const void *variant)
{
    (void)variant;
    const gt_value *shape = gt_read_dims(r, 0);
    gt_value padding = gt_read_list(r, gt_read_concrete(r, 1));
    gt_require(r, padding.count > 0);
    gt_value padded = padded_shape(r, shape, &padding);
    gt_add_tuple(r, "input_shape", shape);
    gt_add_value(r, "output_shape", padded);
    gt_add_value(r, "padding", padding);
    add_resized(r, shape, &padded);
}

/* The first two axes, batch and channels, stay; the others are given. */
static gt_value upsampled_shape(gt_reader *r, const gt_value *shape, const gt_value *spatial)
{
    uint32_t kept = shape->count < 2 ? shape->count : 2;
    gt_value *dims = gt_arena_alloc(r->arena, ((size_t)kept + spatial->count) * sizeof *dims);
    for (uint32_t i = 0; i < kept; i++) dims[i] = shape->items[i];
    for (uint32_t i = 0; i < spatial->count; i++) dims[kept + i] = spatial->items[i];
    return (gt_value){.type = GT_VALUE_TUPLE, .count = kept + spatial->count, .items = dims};
}

static void upsample_nearest(gt_reader *r, const void *variant)
{
    (void)variant;
    const gt_value *shape = gt_read_dims(r, 0);
    gt_value spatial = gt_read_list(r, gt_read_concrete(r, 1));
    gt_value upsampled = upsampled_shape(r, shape, &spatial);
    gt_add_tuple(r, "input_shape", shape);
    gt_add_value(r, "output_shape", upsampled);
    add_resized(r, shape, &upsampled);
}

/* ---- activations that halve: the input holds values and gates side by side ---- */

typedef struct activation {
    int flops; /* an element of the output */
} activation;

static void gated_activation(gt_reader *r, const void *variant)
{
    const activation *act = variant;
    const gt_value *shape = gt_read_dims(r, 0), *in = gt_read_type(r, 1), *out = gt_read_type(r, 0);
    gt_int elements = gt_shape_size(r, shape);
    add_parameters(r, shape, in, out, gt_strict_stride(r, 1), gt_strict_stride(r, 0));
    gt_set_flops(r, GT_PRODUCT(r, act->flops, elements));
    int bytes_in = gt_need_type_bytes(r, in);
    /* An output type of None would count as the input's; the trace always has one. */
    int bytes_out = out->type == GT_VALUE_NONE ? bytes_in : gt_need_type_bytes(r, out);
    gt_set_bytes(r, GT_PRODUCT(r, elements, 2 * bytes_in + bytes_out));
}

/* ---- quantisation to 4 bits: half a byte an element, and a byte of scale for each block of 32 ---- */

enum { BLOCK = 32 };

/* Quantised along the rows and, as a second output, along the columns. */
static void quantize_mxfp4_dual(gt_reader *r, const void *variant)
{
    (void)variant;
    const gt_value *shape = gt_read_dims(r, 0), *in = gt_read_type(r, 0);
    gt_value out = gt_value_cstr("c10::Float4_e2m1fn_x2");
    gt_require(r, shape->count == 2);
    gt_int M = gt_shape_dim(r, shape, 0), N = gt_shape_dim(r, shape, 1), elements = GT_PRODUCT(r, M, N);
    int bytes_in = gt_type_bytes(in);
    add_parameters(r, shape, in, &out, gt_soft_stride(r, 0), gt_value_none);
    gt_set_flops(r, elements);
    if (bytes_in)
        gt_set_bytes(r, GT_SUM(r, GT_PRODUCT(r, elements, bytes_in),
                               GT_PRODUCT(r, 2, gt_ceil_div(r, elements, 2)),
                               GT_PRODUCT(r, M, gt_ceil_div(r, N, BLOCK)),
                               GT_PRODUCT(r, N, gt_ceil_div(r, M, BLOCK))));
}

typedef struct quantization {
    int input; /* D[input], T[input] */
    bool has_stride;
} quantization;

static void quantize_mxfp4(gt_reader *r, const void *variant)
{
    const quantization *quant = variant;
    const gt_value *shape = gt_read_dims(r, quant->input), *in = gt_read_type(r, quant->input);
    gt_int elements = gt_shape_size(r, shape);
    gt_value stride = quant->has_stride ? gt_strict_stride(r, quant->input) : gt_value_none;
    int bytes_in = gt_type_bytes(in);
    add_parameters(r, shape, in, in, stride, gt_value_none);
    gt_set_flops(r, GT_PRODUCT(r, 2, elements));
    if (bytes_in)
        gt_set_bytes_real(r, (double)GT_PRODUCT(r, elements, bytes_in) + (double)elements * 0.5 +
                                 (double)(elements / BLOCK));
}

/* ---- sampling: the token with the largest logit over noise, for each row ---- */

static void sample_exponential(gt_reader *r, const void *variant)
{
    (void)variant;
    static const gt_value bf16 = {.type = GT_VALUE_STRING, .text = {"c10::bfloat16", 13}},
                          fp32 = {.type = GT_VALUE_STRING, .text = {"float", 5}};
    const gt_value *logits = gt_read_dims(r, 1);
    gt_int T = logits->count >= 1 ? gt_shape_dim(r, logits, 0) : 1;
    gt_int V = logits->count >= 2 ? gt_shape_dim(r, logits, 1) : 1;
    gt_require(r, gt_value_is_list(r->types));
    const gt_value *type = gt_type_or_default(r, 1, &bf16), *noise = gt_type_or_default(r, 2, &fp32);
    gt_add_int(r, "T", T);
    gt_add_int(r, "V", V);
    gt_add_value(r, "dtype_logits", *type);
    gt_add_value(r, "dtype_noise", *noise);
    gt_set_precision(r, gt_type_precision(type));
    gt_set_flops(r, GT_PRODUCT(r, 2, T, V));
    int bytes_logit = gt_type_bytes(type), bytes_noise = gt_type_bytes(noise);
    if (bytes_logit && bytes_noise)
        gt_set_bytes(r, GT_SUM(r, GT_PRODUCT(r, T, V, bytes_logit + bytes_noise), GT_PRODUCT(r, 4, T)));
}

/* ---- the ops ---- */

#define UNARY(name, evaluate, variant)                                                                       \
    {                                                                                                        \
        name, GT_FAMILY_UNARY_ELEMENTWISE, "elementwise", NULL, GT_BACKWARD_FAIL, "vector", evaluate,        \
            variant, 0                                                                                       \
    }
#define QUANTIZE(name, category, ...)                                                                        \
    {                                                                                                        \
        name, GT_FAMILY_GROUP_QUANT, category, NULL, GT_BACKWARD_FAIL, "vector", quantize_mxfp4,             \
            &(const quantization){__VA_ARGS__}, 0                                                            \
    }

static const activation silu = {5}, gelu = {8}, gelu_tanh = {10};

static const gt_model rows[] = {
    UNARY("aten::copy", aten_unary, NULL),
    UNARY("aten::copy_", aten_unary, NULL),
    UNARY("aten::clamp_min", aten_unary, NULL),
    UNARY("aten::clamp_min_", aten_unary, NULL),
    UNARY("aten::clamp_max", aten_unary, NULL),
    UNARY("aten::clamp_max_", aten_unary, NULL),
    UNARY("aten::sigmoid", aten_unary, NULL),
    UNARY("aten::rsqrt", aten_unary, NULL),
    UNARY("aten::silu", aten_unary, NULL),
    UNARY("aten::neg", aten_unary, NULL),
    UNARY("aten::pow", aten_unary, NULL),
    UNARY("aten::replication_pad1d", replication_pad, NULL),
    UNARY("aten::replication_pad2d", replication_pad, NULL),
    UNARY("aten::replication_pad3d", replication_pad, NULL),
    UNARY("aten::upsample_nearest1d", upsample_nearest, NULL),
    UNARY("aten::upsample_nearest2d", upsample_nearest, NULL),
    UNARY("aten::upsample_nearest3d", upsample_nearest, NULL),
    UNARY("primus_turbo_cpp_extension::quantize_fp8_tensorwise", quantize_fp8, NULL),
    UNARY("primus_turbo::quantize_fp8_tensorwise", quantize_fp8, NULL),
    UNARY("primus_turbo_cpp_extension::quantize_mxfp4_dual", quantize_mxfp4_dual, NULL),
    UNARY("primus_turbo::quantize_mxfp4_dual", quantize_mxfp4_dual, NULL),
    UNARY("primus::quantize_mxfp4_dual", quantize_mxfp4_dual, NULL),
    UNARY("aiter::silu_and_mul", gated_activation, &silu),
    UNARY("_C::silu_and_mul", gated_activation, &silu),
    UNARY("sgl_kernel::silu_and_mul", gated_activation, &silu),
    UNARY("aiter::gelu_and_mul", gated_activation, &gelu),
    UNARY("aiter::gelu_tanh_and_mul", gated_activation, &gelu_tanh),
    QUANTIZE("sglang_profiler::fused_mxfp4_quant_fused_flatten_mxfp4_quant", "GroupQuant", 0, true),
    QUANTIZE("aiter::fused_dynamic_mx_quant_moe_sort_hip", "GroupQuant", 2, true),
    QUANTIZE("sglang_profiler::quant_dynamic_mxfp4_quant", "GroupQuant", 0, false),
    QUANTIZE("aiter::fused_dynamic_mxfp4_quant_moe_sort_hip", "MoE_aux", 2, false),
    QUANTIZE("aiter::dynamic_per_group_scaled_quant_fp4", "GroupQuant", 1, false),
    {"aiter::mixed_sample_outer_exponential", GT_FAMILY_ELEMENTWISE, "elementwise", NULL, GT_BACKWARD_FAIL,
     "vector", sample_exponential, NULL, 0},
};

const gt_model_rows gt_unary_models = {rows, GT_LENGTH(rows)};
