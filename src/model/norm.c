/* Normalization: batch, layer, group, instance and RMS norm of PyTorch, forward and backward; and the RMS
 * norms of inference libraries.
 *
 * PyTorch's norms normalize n elements in c channels. Most have the same cost; they differ in which arguments
 * give c, whether there are weights and a bias, and whether statistics are computed (training) or given. In a
 * trace, an absent tensor is [], which is not null, so most ops count as having weights and a bias. */
#include "model/family.h"

typedef struct norm {
    int input; /* D[input], T[input], S[input] */
    gt_int channels;
    double channels_per_group; /* backward pass of group norm: used instead of channels; else 0 */
    bool has_bias, is_affine, is_training;
    bool stride_may_be_absent;
    gt_value output_mask; /* which gradients to compute, a list of bools; MISSING in forward ops */
} norm;

typedef struct sizes {
    gt_int elements, channels;
    gt_int type_bytes;
} sizes;

/* ---- arguments ---- */

/* Whether D[i], an optional tensor, is not null. FAIL if it is absent. Exact: whether there is a tensor. */
static bool is_not_null(gt_reader *r, int i)
{
    if (r->exact) return gt_has_dims(r, i);
    const gt_value *dims = gt_dims_or_missing(r, i);
    gt_require(r, dims->type != GT_VALUE_MISSING);
    return dims->type != GT_VALUE_NONE;
}

/* Whether C[i] is not empty: "False" counts as true. Exact: whether it is true. */
static bool is_not_empty(gt_reader *r, int i)
{
    if (r->exact) return gt_parse_bool(gt_read_concrete(r, i));
    return !gt_value_is_empty(gt_read_concrete(r, i));
}

/* Whether there is a tensor; `usual` if arguments are read as in TraceLens. */
static bool has_tensor(gt_reader *r, int i, bool usual)
{
    return r->exact ? gt_has_dims(r, i) : usual;
}

/* The product of the sizes in C[i], such as "[16, 768]". */
static gt_int read_normalized_size(gt_reader *r, int i)
{
    gt_value list = gt_read_list(r, gt_read_concrete(r, i));
    gt_int size = 1;
    for (uint32_t j = 0; j < list.count; j++) {
        gt_int dim = gt_read_int(r, &list.items[j]);
        size = GT_PRODUCT(r, size, gt_require(r, dim >= 0) ? dim : 0);
    }
    return size;
}

static gt_value list_of(gt_reader *r, const gt_value *items, size_t count)
{
    gt_value list = gt_value_tuple(r->arena, items, count);
    list.type = GT_VALUE_LIST;
    return list;
}

enum { MAX_MASK = 8 };

static gt_value read_mask(gt_reader *r, int i)
{
    gt_value given = gt_read_list(r, gt_read_concrete(r, i)), mask[MAX_MASK];
    if (!gt_require(r, given.count <= MAX_MASK)) given.count = 0;
    for (uint32_t j = 0; j < given.count; j++) mask[j] = gt_value_bool(!gt_value_is_empty(&given.items[j]));
    return list_of(r, mask, given.count);
}

static bool mask_at(gt_reader *r, const norm *n, int i)
{
    const gt_value *is_computed = gt_value_at(&n->output_mask, i);
    gt_require(r, is_computed->type == GT_VALUE_BOOL);
    return is_computed->type == GT_VALUE_BOOL && is_computed->boolean;
}

static sizes add_norm(gt_reader *r, const norm *n)
{
    const gt_value *shape = gt_read_dims(r, n->input), *type = gt_read_type(r, n->input);
    gt_add_tuple(r, "op_shape", shape);
    gt_add_values(r, "dtype_in_out", (gt_value[]){*type, gt_value_none}, 2);
    gt_add_value(r, "stride_input",
                 n->stride_may_be_absent ? gt_stride_or_none(r, n->input) : gt_read_stride(r, n->input));
    gt_add_none(r, "stride_output");
    if (n->channels_per_group > 0)
        gt_add_float(r, "num_channels", n->channels_per_group);
    else
        gt_add_int(r, "num_channels", n->channels);
    gt_add_bool(r, "has_bias", n->has_bias);
    gt_add_bool(r, "is_affine", n->is_affine);
    gt_add_bool(r, "is_training", n->is_training);
    if (n->output_mask.type != GT_VALUE_MISSING) gt_add_value(r, "output_mask", n->output_mask);
    gt_set_precision(r, gt_type_precision(type));
    return (sizes){gt_shape_size(r, shape), n->channels, gt_require_type_bytes(r, type)};
}

/* ---- the cost of most norms ---- */

static void set_forward_cost(gt_reader *r, const norm *n)
{
    sizes s = add_norm(r, n);
    int flops_per_element = n->is_training ? 5 : 2;
    /* Reads mean, variance, weight and bias; training also writes mean and variance. */
    int vectors = 2 + (n->is_affine ? 1 + n->has_bias : 0) + (n->is_training ? 2 : 0);
    gt_set_flops(r, GT_SUM(r, GT_PRODUCT(r, 6, s.channels), GT_PRODUCT(r, flops_per_element, s.elements)));
    gt_set_bytes(r, GT_SUM(r, GT_PRODUCT(r, 2, s.elements, s.type_bytes),
                           GT_PRODUCT(r, vectors, s.channels, s.type_bytes)));
}

static void set_backward_flops(gt_reader *r, const norm *n, const sizes *s)
{
    double channels = n->channels_per_group > 0 ? n->channels_per_group : (double)s->channels;
    if (!gt_require(r, channels > 0)) return;
    double elements_per_channel = (double)s->elements / channels;
    double flops_per_channel = n->is_training ? 0 : 3;
    flops_per_channel += 4 * elements_per_channel;
    if (!mask_at(r, n, 0))
        flops_per_channel += 2 * elements_per_channel;
    else if (n->is_training)
        flops_per_channel += 5 * elements_per_channel;
    gt_set_flops_real(r, channels * flops_per_channel);
}

static void set_backward_bytes(gt_reader *r, const norm *n, const sizes *s)
{
    int tensors = mask_at(r, n, 0) && n->is_training ? 3 : 2;
    gt_int tensor_bytes = GT_PRODUCT(r, tensors, s->elements, s->type_bytes);
    int saved = n->is_training, weights = n->is_affine,
        gradients = n->is_affine && n->is_training ? 1 + n->has_bias : 0;
    if (n->channels_per_group > 0) {
        double vector_bytes = n->channels_per_group * (double)s->type_bytes, bytes = (double)tensor_bytes;
        bytes += saved * vector_bytes;
        bytes += weights * vector_bytes;
        bytes += vector_bytes * gradients;
        gt_set_bytes_real(r, bytes);
        return;
    }
    gt_set_bytes(
        r, GT_SUM(r, tensor_bytes, GT_PRODUCT(r, saved + weights + gradients, s->channels, s->type_bytes)));
}

static void set_backward_cost(gt_reader *r, const norm *n)
{
    sizes s = add_norm(r, n);
    set_backward_flops(r, n, &s);
    set_backward_bytes(r, n, &s);
}

/* ---- the norms ---- */

static void batch_norm(gt_reader *r, const void *variant)
{
    (void)variant;
    set_forward_cost(r,
                     &(norm){.input = 0,
                             .channels = gt_read_dim(r, 0, 1),
                             .has_bias = has_tensor(r, 2, true),
                             .is_affine = is_not_null(r, r->exact ? 1 : 2), /* 1 is the weight, 2 the bias */
                             .is_training = is_not_empty(r, 5)});
}

static void batch_norm_backward(gt_reader *r, const void *variant)
{
    (void)variant;
    gt_value is_computed = gt_value_bool(is_not_null(r, 0));
    set_backward_cost(r, &(norm){.input = 1,
                                 .channels = gt_read_dim(r, 1, 1),
                                 .has_bias = true,
                                 .is_affine = is_not_null(r, 2),
                                 .is_training = is_not_empty(r, 7),
                                 .output_mask = list_of(r, &is_computed, 1)});
}

/* Of the vendors' libraries: the input is the first argument, and statistics count as given. */
static void vendor_batch_norm_backward(gt_reader *r, const void *variant)
{
    (void)variant;
    gt_value is_computed = gt_value_bool(true);
    set_backward_cost(r, &(norm){.input = 0,
                                 .channels = gt_read_dim(r, 0, 1),
                                 .has_bias = true,
                                 .is_affine = is_not_null(r, 2),
                                 .output_mask = list_of(r, &is_computed, 1)});
}

static void layer_norm(gt_reader *r, const void *variant)
{
    (void)variant;
    set_forward_cost(r, &(norm){.input = 0,
                                .channels = read_normalized_size(r, 1),
                                .has_bias = is_not_null(r, 3),
                                .is_affine = is_not_null(r, 2),
                                .is_training = true});
}

static void layer_norm_backward(gt_reader *r, const void *variant)
{
    (void)variant;
    norm n = {.input = 1,
              .channels = read_normalized_size(r, 2),
              .is_training = true,
              .output_mask = read_mask(r, 7)};
    n.is_affine = mask_at(r, &n, 1);
    n.has_bias = mask_at(r, &n, 2);
    set_backward_cost(r, &n);
}

static void group_norm(gt_reader *r, const void *variant)
{
    (void)variant;
    /* group_norm has the number of groups before the weight, native_group_norm after the bias. */
    int weight = r->exact && gt_str_contains(r->name, "native_") ? 1 : 2;
    set_forward_cost(r, &(norm){.input = 0,
                                .channels = gt_read_dim(r, 0, 1),
                                .has_bias = has_tensor(r, weight + 1, true),
                                .is_affine = is_not_null(r, weight),
                                .is_training = true});
}

static void group_norm_backward(gt_reader *r, const void *variant)
{
    (void)variant;
    gt_int channels = gt_read_dim(r, 1, 1), groups = gt_read_int(r, gt_read_concrete(r, 8));
    gt_require(r, channels > 0 && groups > 0);
    set_backward_cost(r, &(norm){.input = 1,
                                 .channels = channels,
                                 .channels_per_group = groups > 0 ? (double)channels / (double)groups : 0,
                                 .has_bias = true,
                                 .is_affine = is_not_null(r, r->exact ? 4 : 5), /* 4 is the weight */
                                 .is_training = true,
                                 .output_mask = read_mask(r, 9)});
}

static void instance_norm_backward(gt_reader *r, const void *variant)
{
    (void)variant;
    gt_read_skip(r);
}

static void rms_norm(gt_reader *r, const void *variant)
{
    (void)variant;
    norm n = {.input = 0, .channels = read_normalized_size(r, 1), .is_affine = is_not_null(r, 2)};
    sizes s = add_norm(r, &n);
    if (!gt_require(r, s.channels > 0)) return;
    double rows = (double)s.elements / (double)s.channels;
    double flops = rows * (double)GT_SUM(r, GT_PRODUCT(r, 2, s.channels), 2);
    gt_set_flops_real(r, flops + (double)GT_PRODUCT(r, n.is_affine ? 2 : 1, s.elements));
    gt_set_bytes(r, GT_SUM(r, GT_PRODUCT(r, 2, s.elements, s.type_bytes),
                           n.is_affine ? GT_PRODUCT(r, s.channels, s.type_bytes) : 0));
}

static void rms_norm_backward(gt_reader *r, const void *variant)
{
    (void)variant;
    norm n = {.input = 1,
              .channels = read_normalized_size(r, 2),
              .is_affine = is_not_null(r, 4),
              .output_mask = read_mask(r, 5)};
    sizes s = add_norm(r, &n);
    if (!gt_require(r, s.channels > 0)) return;
    int per_element = 1 + n.is_affine;
    if (mask_at(r, &n, 0)) per_element += 6;
    if (mask_at(r, &n, 1) && n.is_affine) per_element += s.elements > s.channels ? 2 : 1;
    gt_set_flops(r, GT_PRODUCT(r, per_element, s.elements));
    gt_set_bytes(r, GT_SUM(r, GT_PRODUCT(r, 3, s.elements, s.type_bytes),
                           n.is_affine ? GT_PRODUCT(r, 2, s.channels, s.type_bytes) : 0));
}

/* ---- layer norm with a scale and a shift per image of the batch, as in diffusion transformers ---- */

typedef struct modulation {
    int flops;         /* per element */
    int tensors;       /* read and written, of the size of x */
    int scales_shifts; /* read and written, one row per image */
    bool is_backward;
} modulation;

static void layer_norm_modulate(gt_reader *r, const void *variant)
{
    const modulation *m = variant;
    gt_value all[] = {gt_value_bool(true), gt_value_bool(true), gt_value_bool(true)};
    norm n = {.input = 0,
              .channels = gt_read_dim(r, 0, 2),
              .has_bias = true,
              .is_affine = true,
              .is_training = true,
              .stride_may_be_absent = true,
              .output_mask = m->is_backward ? list_of(r, all, 3) : gt_value_missing};
    sizes s = add_norm(r, &n);
    gt_int T = gt_read_dim(r, 0, 0), B = gt_read_dim(r, 0, 1);
    gt_set_flops(r, GT_PRODUCT(r, m->flops, s.elements));
    /* The mean and the deviation of each row are floats. */
    gt_set_bytes(r, GT_SUM(r, GT_PRODUCT(r, m->tensors, s.elements, s.type_bytes),
                           GT_PRODUCT(r, m->scales_shifts, B, s.channels, s.type_bytes),
                           GT_PRODUCT(r, 8, T, B)));
}

/* ==== RMS norms of inference libraries ====
 *
 * They run alone or fused with the op before (adding the residual) and after (quantization, padding). x has n
 * elements in M rows of N. The norm alone takes a square and a sum per element, two operations per row and
 * two more per element; a fused op adds its own. */

typedef struct rmsnorm {
    int input;    /* D[input], T[input], S[input] */
    int weight;   /* N is D[weight][0] */
    int setting;  /* C[setting]: the size of a group, or the number to whose multiples rows are padded */
    bool has_add; /* adds a residual, which is read and written */
} rmsnorm;

typedef struct norm_cost {
    gt_int elements, rows, channels, type_bytes;
    double flops;       /* of the norm alone */
    gt_int input_bytes; /* x and the weight, read once */
} norm_cost;

static norm_cost add_rmsnorm(gt_reader *r, const rmsnorm *op)
{
    const gt_value *shape = gt_read_dims(r, op->input), *type = gt_read_type(r, op->input);
    gt_int n = gt_shape_size(r, shape), N = gt_read_dim(r, op->weight, 0), e = gt_require_type_bytes(r, type);
    gt_add_tuple(r, "op_shape", shape);
    gt_add_values(r, "dtype_in_out", (gt_value[]){*type, gt_value_none}, 2);
    gt_add_value(r, "stride_input", gt_read_stride(r, op->input));
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

/* Also writes the sum of x and the residual. */
static void norm_add(gt_reader *r, const void *variant)
{
    norm_cost c = add_rmsnorm(r, variant);
    gt_set_flops_real(r, (double)c.elements + c.flops);
    gt_set_bytes(r, GT_SUM(r, c.input_bytes, GT_PRODUCT(r, 3, c.elements, c.type_bytes)));
}

/* ---- fused with quantization ---- */

/* To fp8, with one float scale per group of a row. */
static void set_fp8_quantized_cost(gt_reader *r, const rmsnorm *op, const norm_cost *c, gt_int groups_per_row)
{
    gt_int residual_bytes = op->has_add ? GT_PRODUCT(r, 2, c->elements, c->type_bytes) : 0;
    gt_set_flops_real(r, c->flops + (double)GT_PRODUCT(r, op->has_add ? 3 : 2, c->elements));
    gt_set_bytes(
        r, GT_SUM(r, c->input_bytes, residual_bytes, c->elements, GT_PRODUCT(r, 4, c->rows, groups_per_row)));
}

static void norm_row_quantize(gt_reader *r, const void *variant)
{
    norm_cost c = add_rmsnorm(r, variant);
    set_fp8_quantized_cost(r, variant, &c, 1);
}

static void norm_group_quantize(gt_reader *r, const void *variant)
{
    const rmsnorm *op = variant;
    norm_cost c = add_rmsnorm(r, op);
    gt_int group = gt_read_int(r, gt_read_concrete(r, op->setting));
    if (gt_require(r, group > 0)) set_fp8_quantized_cost(r, op, &c, gt_ceil_div(r, c.channels, group));
}

/* If the size of a group is absent or not positive, a group is a whole row. */
static void norm_optional_group_quantize(gt_reader *r, const void *variant)
{
    const rmsnorm *op = variant;
    norm_cost c = add_rmsnorm(r, op);
    gt_int group = 0;
    bool is_grouped = gt_parse_int(gt_concrete_or_missing(r, op->setting), &group) && group > 0;
    set_fp8_quantized_cost(r, op, &c, is_grouped ? gt_ceil_div(r, c.channels, group) : 1);
}

static bool is_matrix(gt_reader *r, int i)
{
    const gt_value *dims = gt_dims_or_missing(r, i);
    return gt_value_is_list(dims) && dims->count == 2;
}

/* To fp4, with one byte of scale per 32 elements. There may be a residual (D[6]) and a second tensor (D[3]),
 * which is only normalized. */
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

#define FORWARD(name, evaluate, variant)                                                                     \
    {                                                                                                        \
        name, GT_FAMILY_NORMALIZATION, "NORM_fwd", "NORM_bwd", GT_BACKWARD_SKIP, "vector", evaluate,         \
            variant, 0                                                                                       \
    }
#define BACKWARD(name, evaluate)                                                                             \
    {                                                                                                        \
        name, GT_FAMILY_NORMALIZATION, "NORM_bwd", "NORM_bwd", GT_BACKWARD_KNOWN, "vector", evaluate, NULL,  \
            0                                                                                                \
    }

/* Each op has a general name and those of the libraries that implement it. */
#define FORWARD_4(name, evaluate)                                                                            \
    FORWARD("aten::" name, evaluate, NULL), FORWARD("aten::native_" name, evaluate, NULL),                   \
        FORWARD("aten::miopen_" name, evaluate, NULL), FORWARD("aten::cudnn_" name, evaluate, NULL)
#define BACKWARD_4(name, evaluate)                                                                           \
    BACKWARD("aten::" name "_backward", evaluate), BACKWARD("aten::native_" name "_backward", evaluate),     \
        BACKWARD("aten::miopen_" name "_backward", evaluate),                                                \
        BACKWARD("aten::cudnn_" name "_backward", evaluate)

static const modulation modulate = {.flops = 12, .tensors = 2, .scales_shifts = 2},
                        modulate_backward = {
                            .flops = 15, .tensors = 3, .scales_shifts = 3, .is_backward = true};

#define RMSNORM(name, evaluate, ...)                                                                         \
    {                                                                                                        \
        name, GT_FAMILY_RMSNORM, "RMSNorm", NULL, GT_BACKWARD_SKIP, "vector", evaluate,                      \
            &(const rmsnorm){__VA_ARGS__}, 0                                                                 \
    }

static const gt_model rows[] = {
    FORWARD_4("batch_norm", batch_norm),
    FORWARD_4("layer_norm", layer_norm),
    FORWARD_4("group_norm", group_norm),
    FORWARD_4("instance_norm", batch_norm), /* same positions of the arguments */
    FORWARD("aiter::_groupnorm_run", group_norm, NULL),
    FORWARD("aten::_fused_rms_norm", rms_norm, NULL),
    FORWARD("primus::fused_ln_modulate", layer_norm_modulate, &modulate),
    BACKWARD("aten::batch_norm_backward", batch_norm_backward),
    BACKWARD("aten::native_batch_norm_backward", batch_norm_backward),
    BACKWARD("aten::miopen_batch_norm_backward", vendor_batch_norm_backward),
    BACKWARD("aten::cudnn_batch_norm_backward", vendor_batch_norm_backward),
    BACKWARD_4("layer_norm", layer_norm_backward),
    BACKWARD_4("group_norm", group_norm_backward),
    BACKWARD_4("instance_norm", instance_norm_backward),
    BACKWARD_4("rms_norm", rms_norm_backward),
    BACKWARD("aten::_fused_rms_norm_backward", rms_norm_backward),
    {"primus::fused_ln_modulate_backward", GT_FAMILY_NORMALIZATION, "NORM_bwd", "NORM_bwd", GT_BACKWARD_SKIP,
     "vector", layer_norm_modulate, &modulate_backward, 0},
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

const gt_model_rows gt_norm_models = {rows, GT_LENGTH(rows)};
