/* Elementwise ops with one or two input tensors: copies, activations, padding, sums, products, quantization.
 *
 * They read each input once and write their output once. Most perform one operation per element of the
 * output; they differ in which arguments have the shape and the type of the output. Two inputs are broadcast:
 * their shapes are aligned at the last axis, and an axis of size 1 matches any other. */
#include "model/family.h"

/* ==== one input ==== */

static void add_unary_parameters(gt_reader *r, const gt_value *shape, const gt_value *in, const gt_value *out,
                                 gt_value stride_in, gt_value stride_out)
{
    gt_add_tuple(r, "op_shape", shape);
    gt_add_values(r, "dtype_in_out", (gt_value[]){*in, *out}, 2);
    gt_add_value(r, "stride_input", stride_in);
    gt_add_value(r, "stride_output", stride_out);
    gt_set_precision(r, gt_type_precision(in));
}

/* ---- an output of the same size ---- */

/* An output of type None has the type of the input. */
static void set_unary_cost(gt_reader *r, gt_int elements, const gt_value *in, const gt_value *out)
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
    gt_value stride_in = gt_read_stride(r, 0);
    gt_value stride_out = has_output ? gt_read_stride(r, 1) : gt_value_none;
    add_unary_parameters(r, shape, in, out, stride_in, stride_out);
    set_unary_cost(r, gt_shape_size(r, shape), in, out);
}

static void quantize_fp8(gt_reader *r, const void *variant)
{
    (void)variant;
    const gt_value *shape = gt_read_dims(r, 0), *in = gt_read_type(r, 0);
    gt_value out = gt_value_cstr("c10::Float8_e4m3fnuz");
    add_unary_parameters(r, shape, in, &out, gt_stride_or_none(r, 0), gt_value_none);
    set_unary_cost(r, gt_shape_size(r, shape), in, &out);
}

/* ---- an output of a different size ---- */

/* Input and output have the same type, which must be known. */
static void add_resized(gt_reader *r, const gt_value *shape_in, const gt_value *shape_out)
{
    const gt_value *type = gt_read_type(r, 0);
    gt_int size_in = gt_shape_size(r, shape_in), size_out = gt_shape_size(r, shape_out);
    add_unary_parameters(r, shape_out, type, type, gt_read_stride(r, 0), gt_value_none);
    gt_set_flops(r, size_out);
    gt_set_bytes(r, GT_PRODUCT(r, GT_SUM(r, size_in, size_out), gt_require_type_bytes(r, type)));
}

/* The shape after padding: the first pair of the padding extends the last axis, the second pair the one
 * before it, and so on. */
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

/* The first two axes, batch and channels, are unchanged; the others are arguments. */
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

/* ---- gated activations: the input has values and gates, twice the elements of the output ---- */

typedef struct activation {
    int flops; /* per element of the output */
} activation;

static void gated_activation(gt_reader *r, const void *variant)
{
    const activation *act = variant;
    const gt_value *shape = gt_read_dims(r, 0), *in = gt_read_type(r, 1), *out = gt_read_type(r, 0);
    gt_int elements = gt_shape_size(r, shape);
    add_unary_parameters(r, shape, in, out, gt_read_stride(r, 1), gt_read_stride(r, 0));
    gt_set_flops(r, GT_PRODUCT(r, act->flops, elements));
    int bytes_in = gt_require_type_bytes(r, in);
    /* An output of type None has the type of the input; traces always have a type. */
    int bytes_out = out->type == GT_VALUE_NONE ? bytes_in : gt_require_type_bytes(r, out);
    gt_set_bytes(r, GT_PRODUCT(r, elements, 2 * bytes_in + bytes_out));
}

/* ---- quantization to 4 bits: half a byte per element and one byte of scale per block of 32 ---- */

enum { BLOCK = 32 };

/* The outputs are quantized along the rows and along the columns. */
static void quantize_mxfp4_dual(gt_reader *r, const void *variant)
{
    (void)variant;
    const gt_value *shape = gt_read_dims(r, 0), *in = gt_read_type(r, 0);
    gt_value out = gt_value_cstr("c10::Float4_e2m1fn_x2");
    gt_require(r, shape->count == 2);
    gt_int M = gt_shape_dim(r, shape, 0), N = gt_shape_dim(r, shape, 1), elements = GT_PRODUCT(r, M, N);
    int bytes_in = gt_type_bytes(in);
    add_unary_parameters(r, shape, in, &out, gt_stride_or_none(r, 0), gt_value_none);
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
    gt_value stride = quant->has_stride ? gt_read_stride(r, quant->input) : gt_value_none;
    int bytes_in = gt_type_bytes(in);
    add_unary_parameters(r, shape, in, in, stride, gt_value_none);
    gt_set_flops(r, GT_PRODUCT(r, 2, elements));
    if (bytes_in)
        gt_set_bytes_real(r, (double)GT_PRODUCT(r, elements, bytes_in) + (double)elements * 0.5 +
                                 (double)(elements / BLOCK));
}

/* ---- sampling: for each row, the token with the largest quotient of logit and noise ---- */

static void sample_exponential(gt_reader *r, const void *variant)
{
    (void)variant;
    static const gt_value bf16 = GT_STRING_VALUE("c10::bfloat16"), fp32 = GT_STRING_VALUE("float");
    const gt_value *logits = gt_read_dims(r, 1);
    gt_int T = logits->count >= 1 ? gt_shape_dim(r, logits, 0) : 1;
    gt_int V = logits->count >= 2 ? gt_shape_dim(r, logits, 1) : 1;
    gt_require(r, gt_value_is_list(r->types));
    const gt_value *type = gt_type_or(r, 1, &bf16), *noise = gt_type_or(r, 2, &fp32);
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

/* ==== two inputs ==== */

typedef struct operand {
    const gt_value *shape, *type;
    gt_value stride;
} operand;

static operand read_operand(gt_reader *r, int i)
{
    return (operand){gt_read_dims(r, i), gt_read_type(r, i), gt_read_stride(r, i)};
}

static void add_types_and_strides(gt_reader *r, const operand *in1, const operand *in2, const operand *out)
{
    gt_add_values(r, "dtype_in1_in2_out", (gt_value[]){*in1->type, *in2->type, *out->type}, 3);
    gt_add_value(r, "stride_input1", in1->stride);
    gt_add_value(r, "stride_input2", in2->stride);
    gt_add_value(r, "stride_output", out->stride);
}

static gt_int broadcast_size(gt_reader *r, const gt_value *a, const gt_value *b)
{
    uint32_t rank = a->count > b->count ? a->count : b->count;
    gt_int size = 1;
    for (uint32_t i = 1; i <= rank; i++) {
        gt_int dim_a = i <= a->count ? gt_shape_dim(r, a, -(int)i) : 1,
               dim_b = i <= b->count ? gt_shape_dim(r, b, -(int)i) : 1;
        gt_require(r, dim_a == dim_b || dim_a == 1 || dim_b == 1);
        size = GT_PRODUCT(r, size, dim_a > dim_b ? dim_a : dim_b);
    }
    return size;
}

/* Bytes per element of the result; 0: unknown. Two tensors have a result of the larger type; a tensor and a
 * scalar, one of the first type. */
static int result_bytes(const operand *in1, const operand *in2, const operand *out)
{
    int bytes1 = gt_type_bytes(in1->type), bytes2 = gt_type_bytes(in2->type);
    if (out->type->type != GT_VALUE_NONE) return gt_type_bytes(out->type);
    if (!bytes1 || !bytes2) return 0;
    bool both_tensors = in1->shape->count && in2->shape->count;
    return both_tensors && bytes2 > bytes1 ? bytes2 : bytes1;
}

/* An argument that is not a tensor; a tensor without axes has a type. Reports count it as a tensor. */
static bool is_number(gt_reader *r, const operand *in)
{
    return r->exact && !in->shape->count &&
           (gt_value_is_empty(in->type) || gt_value_equals_cstr(in->type, "Scalar"));
}

static void add_binary(gt_reader *r, const operand *in1, const operand *in2, const operand *out)
{
    gt_int size1 = gt_shape_size(r, in1->shape), size2 = gt_shape_size(r, in2->shape),
           size_out = broadcast_size(r, in1->shape, in2->shape);
    int bytes1 = gt_type_bytes(in1->type), bytes2 = gt_type_bytes(in2->type),
        bytes_out = result_bytes(in1, in2, out);
    const operand *tensor = in1;
    if (is_number(r, in1) !=
        is_number(r, in2)) { /* it moves no bytes, and the result has the tensor's type */
        tensor = is_number(r, in1) ? in2 : in1;
        bytes1 = bytes2 = gt_type_bytes(tensor->type);
        if (out->type->type == GT_VALUE_NONE) bytes_out = bytes1;
        *(tensor == in1 ? &size2 : &size1) = 0;
    }
    gt_add_tuple(r, "shape_in1", in1->shape);
    gt_add_tuple(r, "shape_in2", in2->shape);
    add_types_and_strides(r, in1, in2, out);
    gt_set_precision(r, gt_type_precision(tensor->type));
    gt_set_flops(r, size_out);
    if (bytes1 && bytes2 && bytes_out)
        gt_set_bytes(r, GT_SUM(r, GT_PRODUCT(r, size1, bytes1), GT_PRODUCT(r, size2, bytes2),
                               GT_PRODUCT(r, size_out, bytes_out)));
}

static const operand no_output = {NULL, &gt_value_none, {.type = GT_VALUE_NONE}};

static void aten_binary(gt_reader *r, const void *variant)
{
    (void)variant;
    operand in1 = read_operand(r, 0), in2 = read_operand(r, 1);
    operand out = gt_has_dims(r, 2) ? read_operand(r, 2) : no_output;
    add_binary(r, &in1, &in2, &out);
}

static void silu_mul(gt_reader *r, const void *variant)
{
    (void)variant;
    operand in1 = read_operand(r, 0), in2 = read_operand(r, 1);
    add_binary(r, &in1, &in2, &no_output);
}

/* ---- quantization ---- */

/* Arguments: output, input and scales; nothing is broadcast. Finds the largest magnitude of each group, then
 * scales each element. */
static void group_quantize(gt_reader *r, const void *variant)
{
    (void)variant;
    static const double flops_per_element = 2.59375;
    operand out = read_operand(r, 0), in1 = read_operand(r, 1), in2 = read_operand(r, 2);
    gt_int size_out = gt_shape_size(r, out.shape), size1 = gt_shape_size(r, in1.shape),
           size2 = gt_shape_size(r, in2.shape);
    gt_add_tuple(r, "shape_in1", in1.shape);
    gt_add_tuple(r, "shape_in2", in2.shape);
    gt_add_tuple(r, "shape_out", out.shape);
    add_types_and_strides(r, &in1, &in2, &out);
    gt_set_precision(r, gt_type_precision(in1.type));
    gt_set_flops_real(r, (double)size_out * flops_per_element);
    gt_set_bytes(r, GT_SUM(r, GT_PRODUCT(r, size_out, gt_require_type_bytes(r, out.type)),
                           GT_PRODUCT(r, size1, gt_require_type_bytes(r, in1.type)),
                           GT_PRODUCT(r, size2, gt_require_type_bytes(r, in2.type))));
}

/* C[1]; 128 if it is not a number. */
static gt_int group_size(gt_reader *r)
{
    gt_int size = 128;
    gt_parse_int(gt_concrete_or_missing(r, 1), &size);
    return size;
}

/* The rows of x are divided into groups; the output has fp8 elements and one float scale per group. */
static void token_group_quantize(gt_reader *r, const void *variant)
{
    (void)variant;
    static const gt_value scalar = {.type = GT_VALUE_TUPLE}, no_type = GT_STRING_VALUE("");
    bool has_input = gt_dims_or_missing(r, 0)->type != GT_VALUE_MISSING;
    const gt_value *x = has_input ? gt_read_dims(r, 0) : &scalar;
    const gt_value *type = gt_type_or(r, 0, &no_type);
    gt_int M = x->count >= 2 ? gt_shape_dim(r, x, 0) : 1;
    gt_int N = x->count >= 2 ? gt_shape_dim(r, x, 1) : x->count == 1 ? gt_shape_dim(r, x, 0) : 1;
    gt_int group = group_size(r), groups = gt_ceil_div(r, N, group), elements = GT_PRODUCT(r, M, N);
    if (groups < 1) groups = 1;
    gt_shape_size(r, x); /* other axes are not counted, but must be valid */
    gt_add_int(r, "M", M);
    gt_add_int(r, "N", N);
    gt_add_int(r, "group_size", group);
    gt_add_int(r, "num_groups", groups);
    gt_add_tuple(r, "shape_x", x);
    gt_add_value(r, "dtype_x", *type);
    gt_add_tuple(r, "shape_in1", x);
    gt_add_tuple(r, "shape_in2", &scalar);
    gt_add_tuple(r, "shape_out", x);
    gt_value fp8 = gt_value_cstr("c10::float8_e4m3fn");
    operand in1 = {x, type, gt_value_none}, out = {x, &fp8, gt_value_none};
    add_types_and_strides(r, &in1, &no_output, &out);
    gt_set_precision(r, gt_type_precision(type));
    gt_set_flops(r, GT_PRODUCT(r, 6, elements));
    int bytes_in = gt_type_bytes(type);
    if (bytes_in)
        gt_set_bytes(r, GT_SUM(r, GT_PRODUCT(r, elements, bytes_in + 1), GT_PRODUCT(r, 4, M, groups)));
}

/* ---- appends the experts that every token uses to the list of those chosen ---- */

static void append_shared_experts(gt_reader *r, const void *variant)
{
    (void)variant;
    static const gt_value int_type = GT_STRING_VALUE("int"), float_type = GT_STRING_VALUE("float");
    gt_require(r, gt_value_is_list(r->types));
    operand ids = {gt_read_dims(r, 0), gt_type_or(r, 0, &int_type), gt_value_none};
    operand weights = {gt_has_dims(r, 1) ? gt_read_dims(r, 1) : ids.shape, gt_type_or(r, 1, &float_type),
                       gt_value_none};
    gt_int ids_size = gt_shape_size(r, ids.shape), weights_size = gt_shape_size(r, weights.shape);
    broadcast_size(r, ids.shape, weights.shape); /* the shapes must match */
    gt_add_tuple(r, "shape_in1", ids.shape);
    gt_add_tuple(r, "shape_in2", weights.shape);
    add_types_and_strides(r, &ids, &weights, &weights);
    gt_set_precision(r, gt_type_precision(weights.type));
    gt_set_flops(r, ids_size);
    gt_set_bytes(r, GT_SUM(r, GT_PRODUCT(r, 2, ids_size, gt_type_bytes_or(ids.type, 4)),
                           GT_PRODUCT(r, 2, weights_size, gt_type_bytes_or(weights.type, 4))));
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
#define BINARY(name, category, evaluate)                                                                     \
    {                                                                                                        \
        name, GT_FAMILY_BINARY_ELEMENTWISE, category, NULL, GT_BACKWARD_FAIL, "vector", evaluate, NULL, 0    \
    }

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
    BINARY("aten::div", "elementwise", aten_binary),
    BINARY("aten::div_", "elementwise", aten_binary),
    BINARY("aten::mul", "elementwise", aten_binary),
    BINARY("aten::mul_", "elementwise", aten_binary),
    BINARY("aten::add", "elementwise", aten_binary),
    BINARY("aten::add_", "elementwise", aten_binary),
    BINARY("aten::sigmoid_backward", "elementwise", aten_binary),
    BINARY("aten::threshold_backward", "elementwise", aten_binary),
    BINARY("LigerSiLUMulFunction", "elementwise", silu_mul),
    BINARY("aiter::dynamic_per_token_scaled_quant", "GroupQuant", group_quantize),
    BINARY("aiter::dynamic_per_group_scaled_quant", "GroupQuant", group_quantize),
    BINARY("aiter::dynamic_per_tensor_quant", "GroupQuant", group_quantize),
    BINARY("vllm::triton_per_token_group_quant_fp8", "GroupQuant", token_group_quantize),
    {"sglang_profiler::fused_moe_triton_kernels_fused_append_shared_experts", GT_FAMILY_MOE_AUX, "MoE_aux",
     NULL, GT_BACKWARD_FAIL, "vector", append_shared_experts, NULL, 0},
};

const gt_model_rows gt_elementwise_models = {rows, GT_LENGTH(rows)};
