/* Collectives that inference libraries implement in their own kernels, alone or fused with a norm.
 *
 * The bytes are those that one GPU reads from and writes to its memory. The transfer between GPUs is not
 * modelled, so there is no compute spec and no roofline. */
#include "model/family.h"

typedef struct collective {
    int input;  /* D[input], T[input], S[input] */
    int weight; /* of the norm; D[weight][0] is the number of channels */
    int output; /* D[output] */
} collective;

static void add_input(gt_reader *r, const collective *op, const gt_value *shape, const gt_value *type)
{
    gt_add_tuple(r, "op_shape", shape);
    gt_add_value(r, "dtype_in", *type);
    gt_add_value(r, "stride_input", gt_read_stride(r, op->input));
}

/* All-reduce, addition of the residual, and RMS norm; writes the sum and the normalized result. */
static void allreduce_rmsnorm(gt_reader *r, const void *variant)
{
    const collective *op = variant;
    const gt_value *shape = gt_read_dims(r, op->input), *type = gt_read_type(r, op->input);
    gt_int n = gt_shape_size(r, shape), c = gt_read_dim(r, op->weight, 0), e = gt_require_type_bytes(r, type);
    add_input(r, op, shape, type);
    gt_add_int(r, "num_channels", c);
    gt_int flops_per_row = GT_SUM(r, GT_PRODUCT(r, 2, c), 2);
    gt_set_flops(r, GT_SUM(r, GT_PRODUCT(r, 3, n), GT_PRODUCT(r, gt_floor_div(r, n, c), flops_per_row)));
    gt_set_bytes(r, GT_SUM(r, GT_PRODUCT(r, 4, n, e), GT_PRODUCT(r, c, e)));
}

static void allreduce(gt_reader *r, const void *variant)
{
    const collective *op = variant;
    const gt_value *shape = gt_read_dims(r, op->input), *type = gt_read_type(r, op->input);
    add_input(r, op, shape, type);
    gt_set_bytes(r, GT_PRODUCT(r, 2, gt_shape_size(r, shape), gt_require_type_bytes(r, type)));
}

static gt_int moved_bytes(gt_reader *r, const gt_value *in, const gt_value *out, const gt_value *type)
{
    gt_int elements = GT_SUM(r, gt_shape_size(r, in), gt_shape_size(r, out));
    return GT_PRODUCT(r, elements, gt_require_type_bytes(r, type));
}

/* Reduce-scatter and all-gather: the output has a different size. */
static void scatter_or_gather(gt_reader *r, const void *variant)
{
    const collective *op = variant;
    const gt_value *in = gt_read_dims(r, op->input), *out = gt_read_dims(r, op->output);
    const gt_value *type = gt_read_type(r, op->input);
    gt_add_tuple(r, "op_shape", in);
    gt_add_tuple(r, "out_shape", out);
    gt_add_value(r, "dtype_in", *type);
    gt_add_value(r, "stride_input", gt_read_stride(r, op->input));
    gt_set_bytes(r, moved_bytes(r, in, out, type));
}

static void all_gather_into(gt_reader *r, const void *variant)
{
    const collective *op = variant;
    const gt_value *in = gt_read_dims(r, op->input), *out = gt_read_dims(r, op->output);
    const gt_value *type = gt_read_type(r, op->output);
    gt_add_tuple(r, "out_shape", out);
    gt_add_tuple(r, "op_shape", in);
    gt_add_value(r, "dtype_in", *type);
    gt_set_bytes(r, moved_bytes(r, in, out, type));
}

/* ---- the ops ---- */

#define COLLECTIVE(name, evaluate, ...)                                                                      \
    {                                                                                                        \
        name, GT_FAMILY_CUSTOM_COLLECTIVE, "CustomCollective", NULL, GT_BACKWARD_FAIL, NULL, evaluate,       \
            &(const collective){__VA_ARGS__}, 0                                                              \
    }

static const gt_model rows[] = {
    COLLECTIVE("aiter::fused_allreduce_rmsnorm", allreduce_rmsnorm, .input = 2, .weight = 6),
    COLLECTIVE("aiter::fused_allreduce_rmsnorm_", allreduce_rmsnorm, .input = 0, .weight = 2),
    COLLECTIVE("_C_custom_ar::all_reduce", allreduce, .input = 1),
    COLLECTIVE("_C_custom_ar::qr_all_reduce", allreduce, .input = 1),
    COLLECTIVE("sgl_kernel::all_reduce_reg", allreduce, .input = 1),
    COLLECTIVE("sgl_kernel::qr_all_reduce", allreduce, .input = 1),
    COLLECTIVE("aiter::reduce_scatter", scatter_or_gather, .input = 1, .output = 2),
    COLLECTIVE("aiter::all_gather_reg", scatter_or_gather, .input = 1, .output = 2),
    COLLECTIVE("sglang::reg_all_gather_into_tensor", all_gather_into, .input = 1, .output = 0),
};

const gt_model_rows gt_collective_models = {rows, GT_LENGTH(rows)};
