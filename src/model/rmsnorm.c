/* Root-mean-square norms of inference libraries, alone or fused with what comes before (adding the residual)
 * and after (quantising, padding).
 *
 * x has n elements in M rows of N. The norm alone takes a square and a sum for each element, two operations a
 * row and two more an element; whatever is fused adds its own. */
#include "base/length.h"
#include "model/family.h"

#include <math.h>

typedef struct rmsnorm {
    int input;    /* D[input], T[input], S[input] */
    int weight;   /* N is D[weight][0] */
    int setting;  /* C[setting]: the size of a group, or what rows are padded to */
    bool has_add; /* of a residual, which is read, and written with x added */
} rmsnorm;

typedef struct norm_cost {
    gt_int elements, rows, channels, type_bytes;
    double flops;       /* of the norm alone */
    gt_int input_bytes; /* x and the weight, read once */
} norm_cost;

static norm_cost add_rmsnorm(gt_reader *r, const rmsnorm *op)
{
    const gt_value *shape = gt_read_dims(r, op->input), *type = gt_read_type(r, op->input);
    gt_int n = gt_shape_size(r, shape), N = gt_read_dim(r, op->weight, 0), e = gt_need_type_bytes(r, type);
    gt_add_tuple(r, "op_shape", shape);
    gt_add_values(r, "dtype_in_out", (gt_value[]){*type, gt_value_none}, 2);
    gt_add_value(r, "stride_input", gt_strict_stride(r, op->input));
    gt_add_none(r, "stride_output");
    gt_add_int(r, "num_channels", N);
    gt_add_bool(r, "has_bias", false);
    gt_add_bool(r, "is_affine", true);
    gt_add_bool(r, "is_training", false);
    gt_set_precision(r, gt_type_precision(type));
    if (!gt_require(r, N > 0)) return (norm_cost){0};
    return (norm_cost){.elements = n,
                       .rows = n / N,
                       .channels = N,
                       .type_bytes = e,
                       .flops = (double)n / (double)N * (double)GT_SUM(r, GT_PRODUCT(r, 2, N), 2) +
                                (double)GT_PRODUCT(r, 2, n),
                       .input_bytes = GT_PRODUCT(r, GT_SUM(r, n, N), e)};
}

static void norm_only(gt_reader *r, const void *variant)
{
    norm_cost c = add_rmsnorm(r, variant);
    gt_set_flops_real(r, c.flops);
    gt_set_bytes(r, GT_SUM(r, c.input_bytes, GT_PRODUCT(r, c.elements, c.type_bytes)));
}

/* Writes x with the residual added, too. */
static void norm_add(gt_reader *r, const void *variant)
{
    norm_cost c = add_rmsnorm(r, variant);
    gt_set_flops_real(r, (double)c.elements + c.flops);
    gt_set_bytes(r, GT_SUM(r, c.input_bytes, GT_PRODUCT(r, 3, c.elements, c.type_bytes)));
}

/* ---- fused with quantisation ---- */

/* To fp8, with a float scale for each group of a row. */
static void say_fp8_quantized(gt_reader *r, const rmsnorm *op, const norm_cost *c, gt_int groups_per_row)
{
    gt_int residual_bytes = op->has_add ? GT_PRODUCT(r, 2, c->elements, c->type_bytes) : 0;
    gt_set_flops_real(r, c->flops + (double)GT_PRODUCT(r, op->has_add ? 3 : 2, c->elements));
    gt_set_bytes(
        r, GT_SUM(r, c->input_bytes, residual_bytes, c->elements, GT_PRODUCT(r, 4, c->rows, groups_per_row)));
}

static void norm_row_quantize(gt_reader *r, const void *variant)
{
    norm_cost c = add_rmsnorm(r, variant);
    say_fp8_quantized(r, variant, &c, 1);
}

static void norm_group_quantize(gt_reader *r, const void *variant)
{
    const rmsnorm *op = variant;
    norm_cost c = add_rmsnorm(r, op);
    gt_int group = gt_read_int(r, gt_read_concrete(r, op->setting));
    if (gt_require(r, group > 0)) say_fp8_quantized(r, op, &c, gt_ceil_div(r, c.channels, group));
}

/* A group is the whole row where its size is not given or no size. */
static void norm_optional_group_quantize(gt_reader *r, const void *variant)
{
    const rmsnorm *op = variant;
    norm_cost c = add_rmsnorm(r, op);
    gt_int group = 0;
    bool is_grouped = gt_parse_int(gt_concrete_or_missing(r, op->setting), &group) && group > 0;
    say_fp8_quantized(r, op, &c, is_grouped ? gt_ceil_div(r, c.channels, group) : 1);
}

static bool is_matrix(gt_reader *r, int i)
{
    const gt_value *dims = gt_dims_or_missing(r, i);
    return gt_value_is_list(dims) && dims->count == 2;
}

/* To fp4, with a byte of scale for each 32 elements; a residual (D6) and a second tensor, which is only
 * normalised (D3), may be there. */
static void norm_mxfp4_quantize(gt_reader *r, const void *variant)
{
    norm_cost c = add_rmsnorm(r, variant);
    bool has_second = is_matrix(r, 3), has_residual = is_matrix(r, 6);
    double flops = c.flops, bytes = (double)c.input_bytes;
    bytes += (double)c.elements * 0.5;
    bytes += (double)(c.elements / 32);
    if (has_residual) {
        double residual_bytes = (double)GT_PRODUCT(r, c.elements, c.type_bytes);
        flops += (double)GT_PRODUCT(r, c.rows, c.channels);
        bytes += residual_bytes;
        bytes += residual_bytes;
    }
    if (has_second) {
        gt_int columns = gt_read_dim(r, 3, 1), elements = GT_PRODUCT(r, c.rows, columns);
        double second_bytes = (double)GT_PRODUCT(r, elements, c.type_bytes);
        flops += trunc(c.flops * (double)elements / (double)(c.elements > 1 ? c.elements : 1));
        bytes += second_bytes;
        bytes += (double)GT_PRODUCT(r, columns, c.type_bytes);
        bytes += second_bytes;
    }
    gt_set_flops_real(r, flops + (double)GT_PRODUCT(r, 2, c.elements));
    gt_set_bytes_real(r, bytes);
}

/* ---- fused with padding of the rows ---- */

static void norm_add_pad(gt_reader *r, const void *variant)
{
    const rmsnorm *op = variant;
    norm_cost c = add_rmsnorm(r, op);
    gt_int multiple = gt_read_int(r, gt_read_concrete(r, op->setting));
    gt_int padded = multiple > 0 ? GT_PRODUCT(r, gt_ceil_div(r, c.channels, multiple), multiple) : c.channels;
    gt_set_flops_real(r, (double)c.elements + c.flops);
    gt_set_bytes(r, GT_SUM(r, c.input_bytes, GT_PRODUCT(r, c.elements, c.type_bytes),
                           GT_PRODUCT(r, c.rows, padded, c.type_bytes),
                           GT_PRODUCT(r, c.rows, c.channels, c.type_bytes)));
}

/* ---- the ops ---- */

#define RMSNORM(name, evaluate, ...)                                                                         \
    {                                                                                                        \
        name, GT_FAMILY_RMSNORM, "RMSNorm", NULL, GT_BACKWARD_SKIP, "vector", evaluate,                      \
            &(const rmsnorm){__VA_ARGS__}, 0                                                                 \
    }

static const gt_model rows[] = {
    RMSNORM("aiter::rms_norm", norm_only, .input = 0, .weight = 1),
    RMSNORM("aiter::rmsnorm2d_fwd_ck", norm_only, .input = 0, .weight = 1),
    RMSNORM("aiter::rmsnorm", norm_only, .input = 1, .weight = 2),
    RMSNORM("aiter::rmsnorm2d_fwd_with_add_ck", norm_add, .input = 1, .weight = 4),
    RMSNORM("aiter::add_rmsnorm", norm_add, .input = 1, .weight = 4),
    RMSNORM("aiter::rmsnorm2d_fwd_with_dynamicquant_ck", norm_row_quantize, .input = 1, .weight = 3),
    RMSNORM("aiter::rmsnorm_quant", norm_optional_group_quantize, .input = 1, .weight = 3, .setting = 5),
    RMSNORM("vllm::rocm_aiter_rmsnorm_fp8_group_quant", norm_group_quantize, .input = 0, .weight = 1,
            .setting = 3),
    RMSNORM("vllm::rocm_aiter_rmsnorm_with_add_fp8_group_quant", norm_group_quantize, .input = 0, .weight = 2,
            .setting = 4, .has_add = true),
    RMSNORM("sglang_profiler::fused_mxfp4_quant_fused_rms_mxfp4_quant", norm_mxfp4_quantize, .input = 0,
            .weight = 1),
    RMSNORM("aiter::_fuse_rmsnorm_fp4_quant", norm_mxfp4_quantize, .input = 0, .weight = 1),
    RMSNORM("vllm::rocm_aiter_triton_add_rmsnorm_pad", norm_add_pad, .input = 0, .weight = 1, .setting = 4),
    RMSNORM("aiter::fused_add_rmsnorm_pad_", norm_add_pad, .input = 0, .weight = 1, .setting = 4),
};

const gt_model_rows gt_rmsnorm_models = {rows, GT_LENGTH(rows)};
