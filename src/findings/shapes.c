/* Shapes of ops: from the JSON texts of Input Dims, Input type, Input Strides and Concrete Inputs to sizes.
 *
 * Formulas, with M x K times K x N for a matrix product:
 *
 *     GEMM          flops 2 B M N K, elements B (M K + K N + M N)
 *     convolution   flops 2 * batch * output positions * |weight|, elements |input| + |weight| + |output|;
 *                   the output is not recorded: its positions are those of the input divided by the stride.
 *                   The backward pass has twice of both, with the output's gradient instead
 *     attention     flops 4 B H S Sk D; the backward pass 2.5 times as many
 *     batch norm    elements 3 |input|: it reads the input twice. The backward pass: 5 |input|, because
 *                   it reads two tensors twice
 *
 * A shape that the formulas do not fit (absent, negative, nested, absurdly large) is unknown, never an
 * error. */
#include "findings/shapes.h"

/* ---- names ---- */

gt_work_kind gt_work_kind_of(gt_str name)
{
    static const struct {
        const char *name;
        gt_work_kind kind;
    } names[] = {
        {"aten::mm", GT_WORK_GEMM},
        {"aten::addmm", GT_WORK_GEMM},
        {"aten::bmm", GT_WORK_GEMM},
        {"aten::_grouped_mm", GT_WORK_GEMM},
        {"aten::baddbmm", GT_WORK_GEMM},
        {"aten::_addmm_activation", GT_WORK_GEMM},
        {"aten::cudnn_convolution", GT_WORK_CONVOLUTION},
        {"aten::cudnn_convolution_relu", GT_WORK_CONVOLUTION},
        {"aten::cudnn_convolution_add_relu", GT_WORK_CONVOLUTION},
        {"aten::miopen_convolution", GT_WORK_CONVOLUTION},
        {"aten::convolution_backward", GT_WORK_CONVOLUTION},
        {"aten::_convolution", GT_WORK_CONVOLUTION},
        {"aten::convolution", GT_WORK_CONVOLUTION},
        {"aten::slow_conv2d_forward", GT_WORK_CONVOLUTION},
        {"aten::_scaled_dot_product_attention_math", GT_WORK_ATTENTION_MATH},
        {"aten::_softmax", GT_WORK_SOFTMAX},
        {"aten::copy_", GT_WORK_COPY},
        {"aten::native_batch_norm", GT_WORK_BATCH_NORM},
        {"aten::native_batch_norm_backward", GT_WORK_BATCH_NORM},
        {"aten::_native_batch_norm_legit", GT_WORK_BATCH_NORM},
        {"aten::cudnn_batch_norm", GT_WORK_BATCH_NORM},
        {"aten::cudnn_batch_norm_backward", GT_WORK_BATCH_NORM},
        {"aten::miopen_batch_norm", GT_WORK_BATCH_NORM},
        {"aten::miopen_batch_norm_backward", GT_WORK_BATCH_NORM},
    };
    static const char *const attention[] = {"aten::_efficient_attention", "aten::_flash_attention",
                                            "aten::_cudnn_attention", "aten::_scaled_dot_product"};
    if (!gt_str_starts_with(name, "aten::")) return GT_WORK_OTHER;
    for (size_t i = 0; i < GT_LENGTH(names); i++)
        if (gt_str_equals(name, names[i].name)) return names[i].kind;
    for (size_t i = 0; i < GT_LENGTH(attention); i++)
        if (gt_str_starts_with(name, attention[i])) return GT_WORK_ATTENTION;
    return GT_WORK_OTHER;
}

static gt_operand_type operand_type(const gt_value *type)
{
    if (type->type != GT_VALUE_STRING || !type->text.len) return GT_OPERAND_NONE;
    return gt_value_equals_cstr(type, "float")           ? GT_OPERAND_FLOAT
           : gt_value_equals_cstr(type, "c10::BFloat16") ? GT_OPERAND_BFLOAT16
           : gt_value_equals_cstr(type, "c10::Half")     ? GT_OPERAND_HALF
                                                         : GT_OPERAND_OTHER;
}

const char *gt_operand_name(gt_operand_type type)
{
    static const char *const names[] = {[GT_OPERAND_NONE] = "",
                                        [GT_OPERAND_FLOAT] = "float",
                                        [GT_OPERAND_BFLOAT16] = "BFloat16",
                                        [GT_OPERAND_HALF] = "Half",
                                        [GT_OPERAND_OTHER] = "other"};
    return names[type];
}

/* Types of elements by PyTorch's names: their numbers count from 1. */
static const struct {
    const char *name;
    double bytes;
    bool is_whole;
} elements[] = {{"bool", 1, true},
                {"float", 4, false},
                {"double", 8, false},
                {"c10::BFloat16", 2, false},
                {"c10::Half", 2, false},
                {"long int", 8, true},
                {"long", 8, true},
                {"int", 4, true},
                {"signed char", 1, false},
                {"unsigned char", 1, false},
                {"c10::Float8_e4m3fn", 1, false},
                {"c10::Float8_e5m2", 1, false}};

uint8_t gt_element_of(const gt_value *type)
{
    for (size_t i = 0; i < GT_LENGTH(elements); i++)
        if (gt_value_equals_cstr(type, elements[i].name)) return (uint8_t)(i + 1);
    return 0;
}

double gt_element_bytes(uint8_t element)
{
    return element ? elements[element - 1].bytes : 0;
}

bool gt_element_is_whole(uint8_t element)
{
    return element && elements[element - 1].is_whole;
}

/* ---- values ---- */

/* The arguments of one op. */
typedef struct arguments {
    const gt_value *dims, *types, *strides, *concrete;
} arguments;

enum { RANK_MAX = 16 };
static const double size_max = 1LL << 48;

/* The dimensions of a tensor. */
typedef struct tensor_dims {
    size_t rank;
    double d[RANK_MAX];
} tensor_dims;

/* False if the value is no list of sizes that a tensor can have. */
static bool read_dims(const gt_value *value, tensor_dims *dims)
{
    *dims = (tensor_dims){0};
    if (!gt_value_is_list(value) || value->count > RANK_MAX) return false;
    for (uint32_t i = 0; i < value->count; i++) {
        const gt_value *item = &value->items[i];
        if (item->type != GT_VALUE_INT || item->integer < 0 || (double)item->integer > size_max) return false;
        dims->d[dims->rank++] = (double)item->integer;
    }
    return true;
}

static bool read_argument(const arguments *args, int64_t i, tensor_dims *dims)
{
    return read_dims(gt_value_at(args->dims, i), dims);
}

static double product(const tensor_dims *dims, size_t first)
{
    double result = 1;
    for (size_t i = first; i < dims->rank; i++) result *= dims->d[i];
    return result;
}

/* ---- matrix products ---- */

/* The distance between rows or columns of an argument in elements: the larger of its last two strides. False
 * if they are not recorded. */
static bool leading_dimension(const arguments *args, int64_t i, int64_t *leading)
{
    const gt_value *strides = gt_value_at(args->strides, i);
    if (!gt_value_is_list(strides) || strides->count < 2) return false;
    const gt_value *a = gt_value_at(strides, -1), *b = gt_value_at(strides, -2);
    if (a->type != GT_VALUE_INT || b->type != GT_VALUE_INT) return false;
    *leading = a->integer > b->integer ? a->integer : b->integer;
    return true;
}

static void read_gemm(gt_op_shape *shape, gt_str name, const arguments *args)
{
    bool is_plain = gt_str_equals(name, "aten::mm") || gt_str_equals(name, "aten::bmm");
    int64_t first = is_plain || gt_str_equals(name, "aten::_grouped_mm") ? 0 : 1;
    tensor_dims a, b;
    const gt_value *type = gt_value_at(args->types, first);
    if (type->type == GT_VALUE_MISSING || !read_argument(args, first, &a) ||
        !read_argument(args, first + 1, &b))
        return;
    /* Grouped products multiply parts of a matrix by one matrix each. */
    size_t batched = a.rank == 2 ? 0 : 1, stacked = b.rank == 2 ? 0 : 1;
    if (a.rank < 2 + batched || b.rank < 2 + stacked) return;
    shape->batch = batched ? a.d[0] : 1;
    shape->m = a.d[batched];
    shape->k = a.d[batched + 1];
    shape->n = b.d[stacked + 1];
    shape->type = operand_type(type);
    shape->flops = 2 * shape->batch * shape->m * shape->n * shape->k;
    shape->elements = shape->batch * shape->m * (shape->k + shape->n) +
                      (stacked ? (double)b.d[0] : shape->batch) * shape->k * shape->n;
    shape->is_known = true;
    int64_t unit = shape->type == GT_OPERAND_FLOAT ? 4 : 8; /* elements in 16 bytes */
    int64_t leading_a, leading_b;
    if (!leading_dimension(args, first, &leading_a) || !leading_dimension(args, first + 1, &leading_b)) {
        leading_a = (int64_t)shape->k;
        leading_b = (int64_t)shape->n;
    }
    shape->is_aligned = leading_a % unit == 0 && leading_b % unit == 0 && (int64_t)shape->n % unit == 0;
}

/* ---- convolutions ---- */

/* Whether a concrete input is a list of numbers, "[1, 1]"; *first becomes its first one. */
static bool is_number_list(const gt_value *value, int64_t *first)
{
    if (value->type != GT_VALUE_STRING || value->text.len < 3) return false;
    const char *at = value->text.bytes, *end = at + value->text.len - 1;
    if (*at++ != '[' || *end != ']') return false;
    for (bool is_first = true;; is_first = false) {
        int64_t number = 0;
        const char *digits = at;
        for (; at < end && gt_is_digit(*at); at++)
            if (number < INT32_MAX) number = number * 10 + (*at - '0');
        if (at == digits) return false;
        if (is_first) *first = number;
        if (at == end) return true;
        if (end - at < 3 || at[0] != ',' || at[1] != ' ') return false;
        at += 2;
    }
}

/* The first stride of a forward convolution; 1 if it is not recorded. The lists of numbers among the inputs
 * are stride, padding and dilation; cuDNN and MIOpen have padding first. */
static double read_stride(gt_str name, const arguments *args)
{
    bool padding_first = gt_str_starts_with(name, "aten::cudnn") || gt_str_starts_with(name, "aten::miopen");
    int64_t found[2] = {1, 1};
    size_t count = 0;
    for (uint32_t i = 0; gt_value_is_list(args->concrete) && i < args->concrete->count && count < 2; i++)
        count += is_number_list(&args->concrete->items[i], &found[count]);
    if (count < 2) return 1;
    int64_t stride = found[padding_first];
    return stride > 0 ? (double)stride : 1;
}

/* Whether an image has its channels outside of its rows: its strides say so, or they are not recorded. */
static bool is_channels_first(const arguments *args, int64_t i)
{
    const gt_value *strides = gt_value_at(args->strides, i);
    tensor_dims dims;
    if (!read_argument(args, i, &dims) || dims.rank < 4) return false;
    if (!gt_value_is_list(strides) || strides->count != dims.rank) return true;
    const gt_value *channel = gt_value_at(strides, 1);
    return channel->type == GT_VALUE_INT && channel->integer != 1;
}

static void read_convolution_backward(gt_op_shape *shape, const arguments *args)
{
    tensor_dims out, in, weight;
    const gt_value *type = gt_value_at(args->types, 1);
    if (type->type == GT_VALUE_MISSING || !read_argument(args, 0, &out) || !read_argument(args, 1, &in) ||
        !read_argument(args, 2, &weight) || !out.rank || weight.rank < 2)
        return;
    shape->type = operand_type(type);
    shape->flops = 4 * out.d[0] * product(&out, 2) * product(&weight, 0);
    shape->elements = 2 * (product(&out, 0) + product(&in, 0) + product(&weight, 0));
    shape->out_channels = weight.d[0];
    shape->in_channels = weight.d[1];
    shape->is_channels_first = is_channels_first(args, 1);
    shape->is_known = true;
}

static void read_convolution(gt_op_shape *shape, gt_str name, const arguments *args)
{
    tensor_dims in, weight;
    const gt_value *type = gt_value_at(args->types, 0);
    if (type->type == GT_VALUE_MISSING || !read_argument(args, 0, &in) || !read_argument(args, 1, &weight) ||
        in.rank < 3 || weight.rank != in.rank)
        return;
    double stride = read_stride(name, args), positions = 1;
    for (size_t i = 2; i < in.rank; i++) positions *= fmax(1, floor(in.d[i] / stride));
    shape->type = operand_type(type);
    shape->flops = 2 * in.d[0] * positions * product(&weight, 0);
    shape->elements = product(&in, 0) + product(&weight, 0) + in.d[0] * weight.d[0] * positions;
    shape->out_channels = weight.d[0];
    shape->in_channels = weight.d[1];
    shape->is_channels_first = is_channels_first(args, 0);
    shape->is_known = true;
}

/* ---- attention ---- */

static void read_attention(gt_op_shape *shape, gt_str name, const arguments *args)
{
    bool backward = gt_str_contains(name, "backward");
    int64_t first = backward && args->dims->count > 2 ? 1 : 0; /* the output's gradient comes first */
    int64_t typed = backward && args->types->count > 1 ? 1 : 0;
    tensor_dims q, k;
    const gt_value *type = gt_value_at(args->types, typed);
    if (type->type == GT_VALUE_MISSING || !read_argument(args, first, &q) ||
        !read_argument(args, first + 1, &k) || q.rank != 4)
        return;
    /* The inner ops have the sequence before the heads, those that PyTorch selects a backend with have it
     * after them. */
    size_t sequence = !gt_str_contains(name, "scaled") && (gt_str_contains(name, "efficient_attention") ||
                                                           gt_str_contains(name, "_flash_attention"))
                          ? 1
                          : 2;
    if (k.rank <= sequence) return;
    shape->type = operand_type(type);
    shape->flops = 4 * product(&q, 0) * k.d[sequence] * (backward ? 2.5 : 1);
    shape->head = q.d[3];
    shape->is_known = true;
}

/* Attention of simple ops: without shapes it counts as one of half precision with a head of normal size. */
static void read_math_attention(gt_op_shape *shape, const arguments *args)
{
    tensor_dims q, k;
    shape->type = GT_OPERAND_BFLOAT16;
    shape->head = 8;
    if (!read_argument(args, 0, &q) || !read_argument(args, 1, &k) || q.rank < 3 || k.rank < 2) return;
    shape->type = operand_type(gt_value_at(args->types, 0));
    shape->flops = 4 * product(&q, 0) * k.d[k.rank - 2];
    shape->head = q.d[q.rank - 1];
    shape->is_known = true;
}

/* ---- other ops ---- */

static void read_batch_norm(gt_op_shape *shape, gt_str name, const arguments *args)
{
    tensor_dims in;
    const gt_value *type = gt_value_at(args->types, 0);
    if (type->type == GT_VALUE_MISSING || !read_argument(args, 0, &in) || in.rank < 2) return;
    shape->type = operand_type(type);
    shape->elements = (gt_str_contains(name, "backward") ? 5 : 3) * product(&in, 0);
    shape->is_channels_first = is_channels_first(args, 0);
    shape->is_known = true;
}

static bool has_equal_strides(const arguments *args)
{
    const gt_value *a = gt_value_at(args->strides, 0), *b = gt_value_at(args->strides, 1);
    if (!gt_value_is_list(a) || !gt_value_is_list(b) || a->count != b->count) return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->items[i].type != GT_VALUE_INT || b->items[i].type != GT_VALUE_INT ||
            a->items[i].integer != b->items[i].integer)
            return false;
    return true;
}

/* How many arguments have dimensions. */
static uint8_t count_tensors(const gt_value *dims)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < dims->count; i++)
        count += gt_value_is_list(&dims->items[i]) && dims->items[i].count > 0;
    return (uint8_t)(count < UINT8_MAX ? count : UINT8_MAX);
}

static gt_copy_change read_copy(const arguments *args)
{
    const gt_value *to = gt_value_at(args->types, 0), *from = gt_value_at(args->types, 1);
    if (to->type != GT_VALUE_STRING || from->type != GT_VALUE_STRING || !to->text.len || !from->text.len)
        return GT_CHANGE_UNKNOWN;
    return to->text.len == from->text.len && memcmp(to->text.bytes, from->text.bytes, to->text.len) == 0
               ? GT_CHANGE_LAYOUT
               : GT_CHANGE_TYPE;
}

static bool are_all_float(const gt_value *types)
{
    static const char *const allowed[] = {"float",      "",     "Scalar",  "ScalarList",
                                          "TensorList", "bool", "long int"};
    if (!gt_value_is_list(types) || !types->count || !gt_value_equals_cstr(&types->items[0], "float"))
        return false;
    for (uint32_t i = 0; i < types->count; i++) {
        bool is_allowed = false;
        for (size_t k = 0; k < GT_LENGTH(allowed) && !is_allowed; k++)
            is_allowed = gt_value_equals_cstr(&types->items[i], allowed[k]);
        if (!is_allowed) return false;
    }
    return true;
}

/* See gt_op_shape.odd_bytes. */
static double read_odd_bytes(const arguments *args)
{
    tensor_dims first, dims;
    if (!gt_operand_is_half(operand_type(gt_value_at(args->types, 0))) || !read_argument(args, 0, &first) ||
        first.rank < 2)
        return 0;
    const gt_value *strides = gt_value_at(args->strides, 0);
    if (!gt_value_is_list(strides) || strides->count != first.rank) return 0;
    size_t inner = 0;
    while (inner < first.rank &&
           !(strides->items[inner].type == GT_VALUE_INT && strides->items[inner].integer == 1))
        inner++;
    if (inner == first.rank || fmod(first.d[inner], 8) == 0 || first.d[inner] < 16) return 0;
    double bytes = product(&first, 0) * 2;
    for (uint32_t i = 0; i < args->dims->count && i < args->types->count; i++)
        if (read_dims(&args->dims->items[i], &dims) && dims.rank)
            bytes += product(&dims, 0) * gt_element_bytes(gt_element_of(&args->types->items[i]));
    return isfinite(bytes) ? bytes : 0;
}

/* ---- one combination ---- */

static const gt_value *list_or_empty(const gt_value *value)
{
    static const gt_value empty = {.type = GT_VALUE_LIST};
    return gt_value_is_list(value) ? value : &empty;
}

static gt_op_shape read_shape(gt_str name, const arguments *args)
{
    gt_op_shape shape = {.kind = gt_work_kind_of(name),
                         .has_dims = args->dims->count > 0,
                         .has_types = args->types->count > 0,
                         .is_all_float = are_all_float(args->types)};
    tensor_dims first;
    if (read_argument(args, 0, &first) && first.rank) {
        shape.size = product(&first, 0);
        shape.last = first.d[first.rank - 1];
        shape.rank = (uint8_t)first.rank;
    }
    shape.tensors = count_tensors(args->dims);
    switch (shape.kind) {
    case GT_WORK_GEMM:
        read_gemm(&shape, name, args);
        break;
    case GT_WORK_CONVOLUTION:
        if (gt_str_equals(name, "aten::convolution_backward"))
            read_convolution_backward(&shape, args);
        else
            read_convolution(&shape, name, args);
        break;
    case GT_WORK_ATTENTION:
        read_attention(&shape, name, args);
        break;
    case GT_WORK_ATTENTION_MATH:
        read_math_attention(&shape, args);
        break;
    case GT_WORK_COPY:
        shape.copy = read_copy(args);
        shape.keeps_strides = has_equal_strides(args);
        break;
    case GT_WORK_BATCH_NORM:
        read_batch_norm(&shape, name, args);
        break;
    default:
        break;
    }
    if (!(shape.kind == GT_WORK_GEMM && shape.is_known) && shape.kind != GT_WORK_CONVOLUTION)
        shape.odd_bytes = read_odd_bytes(args);
    if (!isfinite(shape.flops) || !isfinite(shape.elements)) shape.is_known = false;
    if (!shape.is_known) shape.flops = shape.elements = 0;
    if (!isfinite(shape.size)) shape.size = 0;
    return shape;
}

gt_op_shape gt_op_shape_parse(gt_str name, gt_str dims, gt_str types, gt_str strides, gt_str concrete)
{
    gt_arena arena = {0};
    arguments args = {
        list_or_empty(gt_value_parse(&arena, dims)), list_or_empty(gt_value_parse(&arena, types)),
        list_or_empty(gt_value_parse(&arena, strides)), list_or_empty(gt_value_parse(&arena, concrete))};
    gt_op_shape shape = read_shape(name, &args);
    gt_arena_free(&arena);
    return shape;
}

/* ---- all of a trace ---- */

struct gt_shapes {
    const gt_event_view *trace;
    gt_values *values;
    gt_map pairs, indexes; /* (name, dims) and (types, strides) to numbers; these and concrete to an index */
    gt_map halves;
    uint32_t pair_count, half_count;
    uint8_t *kinds; /* gt_work_kind + 1 by string id; 0: not looked up yet */
    size_t kind_count;
    gt_op_shape *items;
    size_t item_count, item_capacity;
};

gt_shapes *gt_shapes_new(const gt_event_view *trace)
{
    gt_shapes *shapes = gt_alloc_zero(1, sizeof *shapes);
    shapes->trace = trace;
    shapes->values = gt_values_new(trace->strings);
    shapes->kind_count = gt_interner_count(trace->strings);
    shapes->kinds = gt_alloc_zero(shapes->kind_count, sizeof *shapes->kinds);
    return shapes;
}

void gt_shapes_free(gt_shapes *shapes)
{
    if (!shapes) return;
    gt_values_free(shapes->values);
    gt_map_free(&shapes->pairs);
    gt_map_free(&shapes->halves);
    gt_map_free(&shapes->indexes);
    gt_free_all(shapes->kinds, shapes->items, shapes);
}

static gt_work_kind kind_of(gt_shapes *shapes, uint32_t name)
{
    gt_str text = gt_interner_get(shapes->trace->strings, name);
    if (name >= shapes->kind_count) return gt_work_kind_of(text);
    if (!shapes->kinds[name]) shapes->kinds[name] = (uint8_t)(gt_work_kind_of(text) + 1);
    return (gt_work_kind)(shapes->kinds[name] - 1);
}

/* A small number for a pair of ids: equal pairs have equal ones. */
static uint32_t number_of(gt_map *map, uint32_t *count, uint32_t a, uint32_t b)
{
    uint32_t *number = gt_map_put(map, a, b);
    if (*number == GT_MAP_NONE) *number = (*count)++;
    return *number;
}

static uint32_t find_one(gt_shapes *shapes, uint32_t name, uint32_t dims, uint32_t types, uint32_t strides,
                         uint32_t concrete)
{
    uint32_t a = number_of(&shapes->pairs, &shapes->pair_count, name, dims);
    uint32_t b = number_of(&shapes->halves, &shapes->half_count, types, strides);
    uint32_t *index = gt_map_put(&shapes->indexes, (uint64_t)a << 32 | b, concrete);
    if (*index != GT_MAP_NONE) return *index;
    *index = (uint32_t)shapes->item_count;
    arguments args = {list_or_empty(gt_values_get(shapes->values, dims)),
                      list_or_empty(gt_values_get(shapes->values, types)),
                      list_or_empty(gt_values_get(shapes->values, strides)),
                      list_or_empty(gt_values_get(shapes->values, concrete))};
    gt_op_shape shape = read_shape(gt_interner_get(shapes->trace->strings, name), &args);
    shape.name = name;
    shape.dims = dims;
    shape.types = types;
    GT_PUSH(shapes->items, shapes->item_count, shapes->item_capacity, shape);
    return (uint32_t)shapes->item_count - 1;
}

void gt_shapes_find(gt_shapes *shapes, const uint32_t *rows, size_t count, uint32_t *found)
{
    enum { COLUMNS = 4 };
    static const size_t columns[COLUMNS] = {GT_EVENT_INPUT_DIMS, GT_EVENT_INPUT_TYPES, GT_EVENT_INPUT_STRIDES,
                                            GT_EVENT_CONCRETE_INPUTS};
    if (!count) return;
    uint32_t *cells = gt_alloc(COLUMNS * count * sizeof *cells);
    for (size_t c = 0; c < COLUMNS; c++)
        gt_store_string_ids_at(shapes->trace->store, columns[c], rows, count, cells + c * count);
    for (size_t i = 0; i < count; i++) {
        uint32_t name = shapes->trace->name[rows[i]], dims = cells[i], types = cells[count + i];
        /* Only convolutions read their concrete inputs, which differ more than shapes do. */
        bool reads_concrete = kind_of(shapes, name) == GT_WORK_CONVOLUTION;
        found[i] = find_one(shapes, name, dims, types, cells[2 * count + i],
                            reads_concrete ? cells[3 * count + i] : GT_STR_NONE);
    }
    gt_free(cells);
}

const gt_op_shape *gt_shapes_get(const gt_shapes *shapes, uint32_t index)
{
    return &shapes->items[index];
}

const gt_value *gt_shapes_dims(const gt_shapes *shapes, uint32_t index)
{
    return gt_values_get(shapes->values, shapes->items[index].dims);
}

const gt_value *gt_shapes_types(const gt_shapes *shapes, uint32_t index)
{
    return gt_values_get(shapes->values, shapes->items[index].types);
}

/* ---- text ---- */

enum { TEXT_MAX = 120 };

static void add_value(gt_buffer *out, const gt_value *value, size_t limit, int depth)
{
    if (value->type == GT_VALUE_INT)
        gt_buffer_add_int(out, value->integer);
    else if (gt_value_is_list(value) && depth < 4) {
        gt_buffer_add_cstr(out, "[");
        for (uint32_t i = 0; i < value->count; i++) {
            if (i) gt_buffer_add_cstr(out, ", ");
            if (out->len > limit) {
                gt_buffer_add_cstr(out, "...");
                break;
            }
            add_value(out, &value->items[i], limit, depth + 1);
        }
        gt_buffer_add_cstr(out, "]");
    } else
        gt_buffer_add_cstr(out, "?");
}

void gt_shapes_add_dims(const gt_shapes *shapes, uint32_t index, uint32_t first, uint32_t count,
                        gt_buffer *out)
{
    const gt_value *dims = list_or_empty(gt_shapes_dims(shapes, index));
    size_t limit = out->len + TEXT_MAX;
    if (count == 1) {
        if (first < dims->count) add_value(out, &dims->items[first], limit, 0);
        return;
    }
    gt_value part = {.type = GT_VALUE_LIST};
    if (first < dims->count) {
        part.items = dims->items + first;
        part.count = dims->count - first < count ? dims->count - first : count;
    }
    add_value(out, &part, limit, 0);
}
