/* Convolution in one, two or three dimensions, including transposed convolution.
 *
 * Each element of the output (of the input, if transposed) takes 2 |w[1:]| flops; w[1] is already the number
 * of channels of one group. Bytes: input, weight, bias and output once. The backward pass computes the
 * gradients of input, weight and bias; gputally model leaves out those that the output mask excludes. */
#include "model/family.h"

enum { MAX_RANK = 5, MAX_SPATIAL = MAX_RANK - 2 };

typedef struct convolution {
    const gt_value *input, *weight; /* shapes */
    gt_value dtypes[2], strides[2];
    gt_value bias; /* as shown in the parameter */
    gt_value stride, padding, dilation, output_padding;
    gt_value transposed;
    gt_value groups;
    bool no_input_gradient, no_weight_gradient; /* of the backward pass */
    int spatial;                                /* number of spatial dimensions */
    gt_int output[MAX_RANK];                    /* shape: spatial + 2 dims */
} convolution;

typedef struct variant {
    void (*read)(gt_reader *r, convolution *c);
    bool backward; /* the op is a backward op */
    /* A forward op saves its arguments under this name, and its backward op uses them; NULL: neither. */
    const char *forward_op;
} variant;

/* ---- formulas ---- */

static gt_int output_size(gt_reader *r, const convolution *c, int from)
{
    gt_int size = 1;
    for (int i = from; i < c->spatial + 2; i++) size = GT_PRODUCT(r, size, c->output[i]);
    return size;
}

static gt_int size_from(gt_reader *r, const gt_value *shape, int from)
{
    gt_int size = 1;
    for (int i = from; i < (int)shape->count; i++) size = GT_PRODUCT(r, size, gt_shape_dim(r, shape, i));
    return size;
}

static void set_forward(gt_reader *r, const convolution *c, bool bias, int size)
{
    gt_int in = gt_shape_size(r, c->input), out = output_size(r, c, 0), weight = gt_shape_size(r, c->weight);
    gt_int computed = gt_value_is_empty(&c->transposed) ? out : in;
    gt_set_flops(r, GT_SUM(r, GT_PRODUCT(r, 2, size_from(r, c->weight, 1), computed), bias ? out : 0));
    if (size) gt_set_bytes(r, GT_PRODUCT(r, size, GT_SUM(r, in, weight, out, bias ? c->output[1] : 0)));
}

static void set_backward(gt_reader *r, const convolution *c, bool bias, int size)
{
    bool transposed = !gt_value_is_empty(&c->transposed);
    gt_int in = gt_shape_size(r, c->input), out = output_size(r, c, 0), weight = gt_shape_size(r, c->weight);
    gt_int computed = transposed ? in : out;
    gt_int positions = transposed ? GT_PRODUCT(r, gt_shape_dim(r, c->input, 0), size_from(r, c->input, 2))
                                  : GT_PRODUCT(r, c->output[0], output_size(r, c, 2));
    gt_int input_gradient = GT_PRODUCT(r, 2, size_from(r, c->weight, 1), computed);
    gt_int weight_gradient = GT_PRODUCT(r, 2, positions, weight);
    int gradients = !c->no_input_gradient + !c->no_weight_gradient;
    gt_set_flops(r, GT_SUM(r, c->no_input_gradient ? 0 : input_gradient,
                           c->no_weight_gradient ? 0 : weight_gradient, bias ? out : 0));
    gt_int bias_bytes = bias ? GT_SUM(r, out, c->output[1]) : 0; /* one byte per element, as in TraceLens */
    if (r->exact) /* the output is counted already, unless it is read for the bias alone */
        bias_bytes = GT_PRODUCT(r, size, bias ? GT_SUM(r, c->output[1], gradients ? 0 : out) : 0);
    /* Each gradient reads two of the three and writes the third. */
    if (size)
        gt_set_bytes(r, GT_SUM(r, GT_PRODUCT(r, gradients, size, GT_SUM(r, in, weight, out)), bias_bytes));
}

/* ---- shape of the output ---- */

static gt_int signed_item(gt_reader *r, const gt_value *list, int i)
{
    const gt_value *item = gt_value_at(list, i);
    return gt_require(r, item->type == GT_VALUE_INT) ? item->integer : 0;
}

/* A division of doubles, rounded towards zero; so integers above 2^53, which are not exact, FAIL. */
static gt_int regular_dim(gt_reader *r, gt_int reach, gt_int stride)
{
    const gt_int exact = (gt_int)1 << 53;
    if (!gt_require(r, stride != 0 && reach > -exact && reach < exact)) return 0;
    double dim = (double)reach / (double)stride + 1;
    return gt_require(r, dim > -1) ? (gt_int)dim : 0;
}

static gt_int output_dim(gt_reader *r, const convolution *c, int i)
{
    gt_int x = gt_shape_dim(r, c->input, i + 2), kernel = gt_shape_dim(r, c->weight, i + 2);
    gt_int stride = signed_item(r, &c->stride, i), padding = signed_item(r, &c->padding, i);
    gt_int spread = GT_PRODUCT(r, signed_item(r, &c->dilation, i), GT_SUM(r, kernel, -1));
    gt_int padded = GT_PRODUCT(r, 2, padding);
    if (gt_value_is_empty(&c->transposed))
        return regular_dim(r, GT_SUM(r, x, padded, GT_PRODUCT(r, spread, -1), -1), stride);
    gt_int dim = GT_SUM(r, GT_PRODUCT(r, GT_SUM(r, x, -1), stride), GT_PRODUCT(r, padded, -1), spread,
                        signed_item(r, &c->output_padding, i), 1);
    return gt_require(r, dim >= 0) ? dim : 0;
}

static void read_output(gt_reader *r, convolution *c)
{
    if (!gt_require(r, c->input->count >= 3 && c->input->count <= MAX_RANK)) return;
    c->output[0] = gt_shape_dim(r, c->input, 0);
    c->output[1] = gt_shape_dim(r, c->weight, gt_value_is_empty(&c->transposed) ? 0 : 1);
    if (r->exact && !gt_value_is_empty(&c->transposed))
        c->output[1] = GT_PRODUCT(r, c->output[1], c->groups.integer); /* the weight has those of one group */
    for (int i = 0; i < c->spatial; i++) c->output[i + 2] = output_dim(r, c, i);
}

/* ---- reading ---- */

static void read_tensors(gt_reader *r, convolution *c, int first)
{
    c->input = gt_read_dims(r, first);
    c->weight = gt_read_dims(r, first + 1);
    c->spatial = c->input->count >= 3 && c->input->count <= MAX_RANK ? (int)c->input->count - 2 : 0;
    c->dtypes[0] = *gt_read_type(r, first);
    c->dtypes[1] = *gt_read_type(r, first + 1);
    const gt_value *a = &c->dtypes[0], *b = &c->dtypes[1];
    gt_require(r,
               a->type == b->type && (a->type != GT_VALUE_STRING || gt_str_compare(a->text, b->text) == 0));
}

/* The same number for each dimension. */
static gt_value repeated(gt_reader *r, const convolution *c, gt_value number)
{
    const gt_value numbers[MAX_SPATIAL] = {number, number, number};
    return gt_value_tuple(r->arena, numbers, (size_t)c->spatial);
}

/* "[2, 2]", or "[2]" for all dimensions; "" means `fallback`. */
static gt_value read_per_dimension(gt_reader *r, const convolution *c, int i, int fallback)
{
    const gt_value *text = gt_read_concrete(r, i);
    if (gt_value_equals_cstr(text, "")) return repeated(r, c, gt_value_int(fallback));
    gt_value numbers = gt_read_tuple(r, text);
    return numbers.count == 1 ? repeated(r, c, numbers.items[0]) : numbers;
}

static gt_value int_value(gt_reader *r, const gt_value *text)
{
    gt_int integer = gt_read_int(r, text);
    return gt_require(r, integer >= INT64_MIN && integer <= INT64_MAX) ? gt_value_int((int64_t)integer)
                                                                       : gt_value_none;
}

/* The arguments that describe how the window moves, starting with `first`. */
static void read_window(gt_reader *r, convolution *c, int first)
{
    c->stride = read_per_dimension(r, c, first, 1);
    c->padding = read_per_dimension(r, c, first + 1, 0);
    c->dilation = read_per_dimension(r, c, first + 2, 1);
    c->transposed = gt_read_literal(r, gt_read_concrete(r, first + 3));
    c->output_padding = read_per_dimension(r, c, first + 4, 0);
    c->groups = int_value(r, gt_read_concrete(r, first + 5));
}

/* The weight has the channels of the input, those of one group unless it is transposed. */
static void require_same_channels(gt_reader *r, const convolution *c)
{
    bool transposed = !gt_value_is_empty(&c->transposed);
    gt_int channels = gt_shape_dim(r, c->weight, transposed ? 0 : 1);
    if (!transposed) channels = GT_PRODUCT(r, channels, c->groups.integer);
    gt_require_fit(r, c->input->count == c->weight->count && gt_shape_dim(r, c->input, 1) == channels);
}

static void read_aten(gt_reader *r, convolution *c)
{
    read_tensors(r, c, 0);
    gt_read_stride_pair(r, 0, 1, c->strides);
    read_window(r, c, 3);
    if (r->exact) require_same_channels(r, c);
    c->bias = gt_value_bool(r->exact ? gt_has_dims(r, 2) : r->dims->count == 3);
}

/* The sizes of the bias are a list of integers, not a tensor. PyTorch passes [0] if there is no bias. */
static bool has_bias_sizes(gt_reader *r)
{
    if (gt_has_dims(r, 3)) return true;
    const gt_value *text = gt_concrete_or_missing(r, 3);
    if (gt_value_is_empty(text) || gt_value_equals_cstr(text, "None")) return false;
    gt_value sizes = gt_read_list(r, text);
    return sizes.count && !(sizes.items[0].type == GT_VALUE_INT && sizes.items[0].integer == 0);
}

/* Which gradients are computed: of input, weight and bias. An empty list if this is not recorded. */
static gt_value read_output_mask(gt_reader *r)
{
    const gt_value *text = gt_concrete_or_missing(r, 10);
    if (gt_value_is_empty(text)) return (gt_value){.type = GT_VALUE_LIST};
    gt_value mask = gt_read_list(r, text);
    gt_require(r, mask.count == 3);
    return mask;
}

static bool is_excluded(const gt_value *mask, int i)
{
    return (int)mask->count > i && gt_value_is_empty(&mask->items[i]);
}

static void read_aten_backward(gt_reader *r, convolution *c)
{
    read_tensors(r, c, 1);
    gt_read_stride_pair(r, 1, 2, c->strides);
    read_window(r, c, 4);
    if (r->exact) require_same_channels(r, c);
    const gt_value *bias = gt_dims_or_missing(r, 3);
    if (r->exact) {
        const gt_value mask = read_output_mask(r);
        c->no_input_gradient = is_excluded(&mask, 0);
        c->no_weight_gradient = is_excluded(&mask, 1);
        c->bias = gt_value_bool(has_bias_sizes(r) && !is_excluded(&mask, 2));
        return;
    }
    c->bias = bias->type == GT_VALUE_MISSING ? gt_value_bool(false)
              : gt_value_is_empty(bias)      ? *bias
                                             : gt_value_bool(true);
}

/* One number for all dimensions; `fallback` if it is absent or "". */
static gt_value read_for_all_dimensions(gt_reader *r, const convolution *c, int i, int fallback)
{
    const gt_value *text = gt_concrete_or_missing(r, i);
    bool absent = text->type == GT_VALUE_MISSING || gt_value_equals_cstr(text, "");
    return repeated(r, c, absent ? gt_value_int(fallback) : int_value(r, text));
}

static void read_fused(gt_reader *r, convolution *c)
{
    read_tensors(r, c, 0);
    gt_stride_pair_or_none(r, 0, 1, c->strides);
    gt_require(r, gt_value_is_list(r->concrete));
    c->stride = read_for_all_dimensions(r, c, 3, 1);
    c->padding = read_for_all_dimensions(r, c, 4, 0);
    c->dilation = repeated(r, c, gt_value_int(1));
    c->transposed = gt_value_bool(false);
    c->output_padding = repeated(r, c, gt_value_int(0));
    c->groups = gt_value_int(1);
    c->bias = gt_value_bool(true);
}

/* ---- evaluating ---- */

static void add_parameters(gt_reader *r, const convolution *c)
{
    static const char *const names[] = {"", "conv1d", "conv2d", "conv3d"};
    gt_add_string(r, "convNd", names[c->spatial]);
    gt_add_tuple(r, "input_shape", c->input);
    gt_add_tuple(r, "filter_shape", c->weight);
    gt_add_values(r, "dtype_input_weight", c->dtypes, 2);
    gt_add_value(r, "input_stride", c->strides[0]);
    gt_add_value(r, "weight_stride", c->strides[1]);
    gt_add_value(r, "bias", c->bias);
    gt_add_value(r, "stride", c->stride);
    gt_add_value(r, "padding", c->padding);
    gt_add_value(r, "dilation", c->dilation);
    gt_add_value(r, "transposed_conv", c->transposed);
    gt_add_value(r, "output_padding", c->output_padding);
    gt_add_value(r, "groups", c->groups);
}

static void evaluate(gt_reader *r, const void *data)
{
    const variant *v = data;
    convolution c = {0};
    if (v->forward_op && v->backward) gt_recall_arguments(r, v->forward_op);
    v->read(r, &c);
    read_output(r, &c);
    if (v->forward_op && !v->backward && r->outcome == GT_MODEL_VALUE)
        gt_remember_arguments(r, v->forward_op);
    bool bias = !gt_value_is_empty(&c.bias);
    int size = gt_type_bytes(&c.dtypes[0]);
    if (v->backward || r->backward)
        set_backward(r, &c, bias, size);
    else
        set_forward(r, &c, bias, size);
    gt_set_precision(r, gt_type_precision(&c.dtypes[0]));
    add_parameters(r, &c);
}

/* ---- the ops ---- */

static const variant aten = {read_aten, false, NULL}, aten_backward = {read_aten_backward, true, NULL},
                     bias = {read_fused, false, "ConvBias_"}, bias_backward = {read_fused, true, "ConvBias_"},
                     bias_relu = {read_fused, false, "ConvBiasReLU_"},
                     bias_relu_backward = {read_fused, true, "ConvBiasReLU_"};

#define CONVOLUTION(name, category, variant, uses)                                                           \
    {                                                                                                        \
        name, GT_FAMILY_CONV, category, "CONV_bwd", GT_BACKWARD_KNOWN, "matrix", evaluate, &variant, uses    \
    }

static const gt_model rows[] = {
    CONVOLUTION("aten::convolution", "CONV_fwd", aten, 0),
    CONVOLUTION("aten::convolution_backward", "CONV_bwd", aten_backward, 0),
    CONVOLUTION("ConvBias_", "CONV_fwd", bias, GT_USES_SEQUENCE),
    CONVOLUTION("ConvBias_Backward", "CONV_bwd", bias_backward, GT_USES_SEQUENCE),
    CONVOLUTION("ConvBiasReLU_", "CONV_fwd", bias_relu, GT_USES_SEQUENCE),
    CONVOLUTION("ConvBiasReLU_Backward", "CONV_bwd", bias_relu_backward, GT_USES_SEQUENCE),
};

const gt_model_rows gt_convolution_models = {rows, GT_LENGTH(rows)};
