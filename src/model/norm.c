/* Normalisation: batch, layer, group, instance and root mean square, forward and backward.
 *
 * All normalise n elements in c channels; most have the same cost, and differ in where the arguments say what
 * c is, whether there are weights and a bias, and whether statistics are computed (training) or given. An
 * absent tensor is
 * [] in a trace, which is not the same as null, so most ops count as having weights and a bias. */
#include "base/length.h"
#include "model/family.h"

typedef struct norm {
    int input; /* D[input], T[input], S[input] */
    gt_int channels;
    double channels_per_group; /* group norm's backward pass only, where it stands for the channels; else 0 */
    bool has_bias, is_affine, is_training;
    bool stride_may_be_absent;
    gt_value output_mask; /* which gradients are wanted: a list of bools; MISSING for forward ops */
} norm;

/* What a norm's cost is computed from. */
typedef struct sizes {
    gt_int elements, channels;
    gt_int type_bytes;
} sizes;

/* ---- arguments ---- */

/* Of a tensor that the op may be called without. */
static bool is_not_null(gt_reader *r, int i)
{
    const gt_value *dims = gt_dims_or_missing(r, i);
    gt_require(r, dims->type != GT_VALUE_MISSING);
    return dims->type != GT_VALUE_NONE;
}

/* C[i] is not empty: "False" counts as true. */
static bool is_given(gt_reader *r, int i)
{
    return !gt_value_is_empty(gt_read_concrete(r, i));
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
    const gt_value *wanted = gt_value_at(&n->output_mask, i);
    gt_require(r, wanted->type == GT_VALUE_BOOL);
    return wanted->type == GT_VALUE_BOOL && wanted->boolean;
}

static sizes add_norm(gt_reader *r, const norm *n)
{
    const gt_value *shape = gt_read_dims(r, n->input), *type = gt_read_type(r, n->input);
    gt_add_tuple(r, "op_shape", shape);
    gt_add_values(r, "dtype_in_out", (gt_value[]){*type, gt_value_none}, 2);
    gt_add_value(r, "stride_input",
                 n->stride_may_be_absent ? gt_soft_stride(r, n->input) : gt_strict_stride(r, n->input));
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
    return (sizes){gt_shape_size(r, shape), n->channels, gt_need_type_bytes(r, type)};
}

/* ---- costs that most share ---- */

static void say_forward(gt_reader *r, const norm *n)
{
    sizes s = add_norm(r, n);
    int flops_per_element = n->is_training ? 5 : 2;
    /* Mean and variance, which training also writes; weight; bias. */
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

static void say_backward(gt_reader *r, const norm *n)
{
    sizes s = add_norm(r, n);
    set_backward_flops(r, n, &s);
    set_backward_bytes(r, n, &s);
}

/* ---- the norms ---- */

static void batch_norm(gt_reader *r, const void *variant)
{
    (void)variant;
    say_forward(r, &(norm){.input = 0,
                           .channels = gt_read_dim(r, 0, 1),
                           .has_bias = true,
                           .is_affine = is_not_null(r, 2),
                           .is_training = is_given(r, 5)});
}

static void batch_norm_backward(gt_reader *r, const void *variant)
{
    (void)variant;
    gt_value wanted = gt_value_bool(is_not_null(r, 0));
    say_backward(r, &(norm){.input = 1,
                            .channels = gt_read_dim(r, 1, 1),
                            .has_bias = true,
                            .is_affine = is_not_null(r, 2),
                            .is_training = is_given(r, 7),
                            .output_mask = list_of(r, &wanted, 1)});
}

/* The vendors' own: the input comes first, and statistics count as given. */
static void vendor_batch_norm_backward(gt_reader *r, const void *variant)
{
    (void)variant;
    gt_value wanted = gt_value_bool(true);
    say_backward(r, &(norm){.input = 0,
                            .channels = gt_read_dim(r, 0, 1),
                            .has_bias = true,
                            .is_affine = is_not_null(r, 2),
                            .output_mask = list_of(r, &wanted, 1)});
}

static void layer_norm(gt_reader *r, const void *variant)
{
    (void)variant;
    say_forward(r, &(norm){.input = 0,
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
    say_backward(r, &n);
}

static void group_norm(gt_reader *r, const void *variant)
{
    (void)variant;
    say_forward(r, &(norm){.input = 0,
                           .channels = gt_read_dim(r, 0, 1),
                           .has_bias = true,
                           .is_affine = is_not_null(r, 2),
                           .is_training = true});
}

static void group_norm_backward(gt_reader *r, const void *variant)
{
    (void)variant;
    gt_int channels = gt_read_dim(r, 1, 1), groups = gt_read_int(r, gt_read_concrete(r, 8));
    gt_require(r, channels > 0 && groups > 0);
    say_backward(r, &(norm){.input = 1,
                            .channels = channels,
                            .channels_per_group = groups > 0 ? (double)channels / (double)groups : 0,
                            .has_bias = true,
                            .is_affine = is_not_null(r, 5),
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

/* ---- layer norm with a scale and a shift for each image of the batch, as in diffusion transformers ---- */

typedef struct modulation {
    int flops;         /* an element */
    int tensors;       /* of the size of x, read and written */
    int scales_shifts; /* of a row for each image, read and written */
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
    /* A mean and a deviation for each row are floats. */
    gt_set_bytes(r, GT_SUM(r, GT_PRODUCT(r, m->tensors, s.elements, s.type_bytes),
                           GT_PRODUCT(r, m->scales_shifts, B, s.channels, s.type_bytes),
                           GT_PRODUCT(r, 8, T, B)));
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

/* Each under the general name and those of the libraries that do it. */
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

static const gt_model rows[] = {
    FORWARD_4("batch_norm", batch_norm),
    FORWARD_4("layer_norm", layer_norm),
    FORWARD_4("group_norm", group_norm),
    FORWARD_4("instance_norm", batch_norm), /* the arguments stand in the same places */
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
};

const gt_model_rows gt_norm_models = {rows, GT_LENGTH(rows)};
