/* Ops that take two tensors and give one: sums, products, quantisation with scales.
 *
 * Shapes are broadcast as usual: aligned at the last axis, and an axis of 1 fits any other. One operation for
 * each element of the result; each tensor is read or written once. */
#include "base/length.h"
#include "model/family.h"

/* ---- what they share ---- */

typedef struct operand {
    const gt_value *shape, *type;
    gt_value stride;
} operand;

static operand read_operand(gt_reader *r, int i)
{
    return (operand){gt_read_dims(r, i), gt_read_type(r, i), gt_strict_stride(r, i)};
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

/* ---- elementwise ---- */

/* Bytes an element of the result; 0: not known. Two tensors give the larger type, a tensor and a scalar that
 * of the first. */
static int result_bytes(const operand *in1, const operand *in2, const operand *out)
{
    int bytes1 = gt_type_bytes(in1->type), bytes2 = gt_type_bytes(in2->type);
    if (out->type->type != GT_VALUE_NONE) return gt_type_bytes(out->type);
    if (!bytes1 || !bytes2) return 0;
    bool both_tensors = in1->shape->count && in2->shape->count;
    return both_tensors && bytes2 > bytes1 ? bytes2 : bytes1;
}

static void add_elementwise(gt_reader *r, const operand *in1, const operand *in2, const operand *out)
{
    gt_int size1 = gt_shape_size(r, in1->shape), size2 = gt_shape_size(r, in2->shape),
           size_out = broadcast_size(r, in1->shape, in2->shape);
    int bytes1 = gt_type_bytes(in1->type), bytes2 = gt_type_bytes(in2->type),
        bytes_out = result_bytes(in1, in2, out);
    gt_add_tuple(r, "shape_in1", in1->shape);
    gt_add_tuple(r, "shape_in2", in2->shape);
    add_types_and_strides(r, in1, in2, out);
    gt_set_precision(r, gt_type_precision(in1->type));
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
    add_elementwise(r, &in1, &in2, &out);
}

static void silu_mul(gt_reader *r, const void *variant)
{
    (void)variant;
    operand in1 = read_operand(r, 0), in2 = read_operand(r, 1);
    add_elementwise(r, &in1, &in2, &no_output);
}

/* ---- quantisation ---- */

/* Output, input and scales; nothing is broadcast. The largest magnitude of a group, then a scaling of each
 * element. */
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
    gt_set_bytes(r, GT_SUM(r, GT_PRODUCT(r, size_out, gt_need_type_bytes(r, out.type)),
                           GT_PRODUCT(r, size1, gt_need_type_bytes(r, in1.type)),
                           GT_PRODUCT(r, size2, gt_need_type_bytes(r, in2.type))));
}

/* C1, where it is a number. */
static gt_int group_size(gt_reader *r)
{
    gt_int size = 128;
    gt_parse_int(gt_concrete_or_missing(r, 1), &size);
    return size;
}

/* Each row of x in groups: fp8 elements and a float scale for each group. */
static void token_group_quantize(gt_reader *r, const void *variant)
{
    (void)variant;
    static const gt_value scalar = {.type = GT_VALUE_TUPLE},
                          no_type = {.type = GT_VALUE_STRING, .text = {"", 0}};
    bool has_input = gt_dims_or_missing(r, 0)->type != GT_VALUE_MISSING;
    const gt_value *x = has_input ? gt_read_dims(r, 0) : &scalar;
    const gt_value *type = gt_type_or_default(r, 0, &no_type);
    gt_int M = x->count >= 2 ? gt_shape_dim(r, x, 0) : 1;
    gt_int N = x->count >= 2 ? gt_shape_dim(r, x, 1) : x->count == 1 ? gt_shape_dim(r, x, 0) : 1;
    gt_int group = group_size(r), groups = gt_ceil_div(r, N, group), elements = GT_PRODUCT(r, M, N);
    if (groups < 1) groups = 1;
    gt_shape_size(r, x); /* further axes count for nothing, but must be sizes */
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

/* ---- experts that every token goes to, appended to the list of those chosen ---- */

static void append_shared_experts(gt_reader *r, const void *variant)
{
    (void)variant;
    static const gt_value int_type = {.type = GT_VALUE_STRING, .text = {"int", 3}},
                          float_type = {.type = GT_VALUE_STRING, .text = {"float", 5}};
    gt_require(r, gt_value_is_list(r->types));
    operand ids = {gt_read_dims(r, 0), gt_type_or_default(r, 0, &int_type), gt_value_none};
    operand weights = {gt_has_dims(r, 1) ? gt_read_dims(r, 1) : ids.shape,
                       gt_type_or_default(r, 1, &float_type), gt_value_none};
    gt_int ids_size = gt_shape_size(r, ids.shape), weights_size = gt_shape_size(r, weights.shape);
    int ids_bytes = gt_type_bytes(ids.type), weights_bytes = gt_type_bytes(weights.type);
    broadcast_size(r, ids.shape, weights.shape);
    gt_add_tuple(r, "shape_in1", ids.shape);
    gt_add_tuple(r, "shape_in2", weights.shape);
    add_types_and_strides(r, &ids, &weights, &weights);
    gt_set_precision(r, gt_type_precision(weights.type));
    gt_set_flops(r, ids_size);
    gt_set_bytes(r, GT_SUM(r, GT_PRODUCT(r, 2, ids_size, ids_bytes ? ids_bytes : 4),
                           GT_PRODUCT(r, 2, weights_size, weights_bytes ? weights_bytes : 4)));
}

/* ---- the ops ---- */

#define BINARY(name, category, evaluate)                                                                     \
    {                                                                                                        \
        name, GT_FAMILY_BINARY_ELEMENTWISE, category, NULL, GT_BACKWARD_FAIL, "vector", evaluate, NULL, 0    \
    }

static const gt_model rows[] = {
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

const gt_model_rows gt_binary_models = {rows, GT_LENGTH(rows)};
