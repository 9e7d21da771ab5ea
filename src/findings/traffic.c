/* What does a pointwise kernel move?
 *
 *     aten::mul [16, 1024, 512] float, [512] float      reads both, writes 16 x 1024 x 512 floats
 *     aten::copy_ [a] bfloat16, [a] float               reads the second, writes the first
 *     aten::sum [a] float                               reads it, writes nothing that matters
 *     aten::cat [[a], [b]]                              reads and writes a + b
 *
 * An output has the shape to which the inputs are broadcast, and the widest of their floating types. */
#include "findings/traffic.h"

static bool is_one_of(gt_str name, const char *const names[], size_t count)
{
    static const char prefix[] = "aten::";
    size_t skip = strlen(prefix);
    return gt_str_starts_with(name, prefix) &&
           gt_str_is_one_of((gt_str){name.bytes + skip, name.len - skip}, names, count);
}

static bool op_reduces(gt_str name)
{
    static const char *const names[] = {
        "sum", "mean", "amax", "amin",      "max",    "min", "var", "var_mean",
        "std", "norm", "prod", "logsumexp", "argmax", "any", "all", "linalg_vector_norm"};
    return is_one_of(name, names, GT_LENGTH(names));
}

static bool op_compares(gt_str name)
{
    static const char *const names[] = {"ge",          "gt",         "le",          "lt",
                                        "eq",          "ne",         "isnan",       "isfinite",
                                        "logical_and", "logical_or", "logical_not", "bitwise_not"};
    return is_one_of(name, names, GT_LENGTH(names));
}

static bool op_is_neutral(gt_str name)
{
    static const char *const names[] = {
        "gather",           "scatter",           "scatter_",          "arange",
        "nll_loss_forward", "nll_loss_backward", "nll_loss2d_forward"};
    return is_one_of(name, names, GT_LENGTH(names));
}

static bool op_fills(gt_str name)
{
    static const char *const names[] = {"fill_", "zero_"};
    return is_one_of(name, names, GT_LENGTH(names));
}

/* ---- the tensors of an op ---- */

enum { RANK_MAX = 16 };

typedef struct tensor_list {
    gt_tensor_size *items;
    size_t count, capacity;
    double shape[RANK_MAX]; /* to which all are broadcast, from the innermost dimension on */
    double row;             /* the last dimension of the first one */
    bool any_list;          /* one is a list of tensors, whose types are not recorded */
} tensor_list;

static void add_tensor(tensor_list *list, const gt_value *dims, uint8_t element)
{
    gt_tensor_size size = {1, element};
    uint32_t rank = dims->count < RANK_MAX ? dims->count : RANK_MAX;
    for (uint32_t i = 0; i < rank; i++) {
        const gt_value *item = gt_value_at(dims, -1 - (int64_t)i);
        double length = item->type == GT_VALUE_INT && item->integer > 0 ? (double)item->integer : 0;
        size.elements *= length;
        if (length > list->shape[i]) list->shape[i] = length;
        if (i == 0 && list->row == 0) list->row = length;
    }
    GT_PUSH(list->items, list->count, list->capacity, size);
}

static void read_tensors(tensor_list *list, const gt_value *dims, const gt_value *types)
{
    for (uint32_t i = 0; gt_value_is_list(dims) && i < dims->count; i++) {
        const gt_value *d = &dims->items[i], *type = gt_value_at(types, i);
        bool is_tensor = type->type == GT_VALUE_STRING && type->text.len &&
                         !gt_value_equals_cstr(type, "Scalar") && !gt_value_equals_cstr(type, "ScalarList");
        if (!is_tensor || !gt_value_is_list(d)) continue;
        bool is_list = d->count > 0 && gt_value_is_list(&d->items[0]);
        list->any_list |= is_list;
        if (!is_list) add_tensor(list, d, gt_element_of(type));
        for (uint32_t k = 0; is_list && k < d->count; k++)
            if (gt_value_is_list(&d->items[k]) && d->items[k].count) add_tensor(list, &d->items[k], 0);
    }
}

static double broadcast_size(const tensor_list *list)
{
    double size = 1;
    for (size_t i = 0; i < RANK_MAX; i++)
        if (list->shape[i] > 1) size *= list->shape[i];
    return size;
}

/* The widest floating type; if there is none, the first type. Tensors of one element do not count. */
static uint8_t widest_type(const tensor_list *list)
{
    uint8_t widest = 0;
    double most = -1;
    for (int all = 0; all < 2 && most < 0; all++)
        for (size_t i = 0; i < list->count; i++) {
            if (!all && !(list->items[i].elements > 1)) continue;
            uint8_t element = list->items[i].element;
            double bytes = gt_element_is_whole(element) ? 0 : gt_element_bytes(element);
            if (bytes > most) widest = element;
            if (bytes > most) most = bytes;
        }
    return widest;
}

static bool has_types(const tensor_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].element) return true;
    return list->any_list;
}

/* ---- one op ---- */

static void set_output(gt_traffic *traffic, const tensor_list *list, gt_str name)
{
    if (gt_str_equals(name, "aten::copy_") && list->count == 2) {
        traffic->output = list->items[0].elements;
        traffic->output_element = list->items[0].element;
        traffic->is_copy = list->items[0].element == list->items[1].element;
        traffic->inputs++;
        traffic->input_count--;
    } else if (op_fills(name)) {
        traffic->input_count = 0;
        traffic->output = list->count ? list->items[0].elements : 1;
        traffic->output_element = list->count ? list->items[0].element : 0;
    } else if (gt_str_equals(name, "aten::cat")) {
        for (size_t i = 0; i < list->count; i++) traffic->output += list->items[i].elements;
    } else if (!traffic->reduces && !traffic->is_neutral) {
        traffic->output = broadcast_size(list);
        traffic->output_element = op_compares(name) ? GT_ELEMENT_BOOL : widest_type(list);
    }
}

static void set_largest(gt_traffic *traffic)
{
    traffic->largest = fmax(traffic->output, 1);
    for (size_t i = 0; i < traffic->input_count; i++)
        traffic->largest = fmax(traffic->largest, traffic->inputs[i].elements);
}

gt_traffic gt_traffic_of(const gt_shapes *shapes, uint32_t shape, gt_str name, gt_arena *arena)
{
    tensor_list list = {0};
    read_tensors(&list, gt_shapes_dims(shapes, shape), gt_shapes_types(shapes, shape));
    gt_tensor_size *inputs = gt_arena_alloc(arena, (list.count + 1) * sizeof *inputs);
    if (list.count) memcpy(inputs, list.items, list.count * sizeof *inputs);
    gt_traffic traffic = {.inputs = inputs,
                          .input_count = list.count,
                          .row = list.row,
                          .is_known = list.count > 0 && has_types(&list),
                          .is_neutral = op_is_neutral(name),
                          .reduces = op_reduces(name)};
    set_output(&traffic, &list, name);
    set_largest(&traffic);
    gt_free(list.items);
    return traffic;
}

gt_traffic gt_traffic_reduce(gt_traffic traffic)
{
    traffic.reduces = true;
    if (traffic.is_copy || traffic.output == 0) return traffic;
    traffic.output = 0;
    set_largest(&traffic);
    return traffic;
}

double gt_traffic_bytes(const gt_traffic *traffic)
{
    double bytes = traffic->output * gt_element_bytes(traffic->output_element);
    for (size_t i = 0; i < traffic->input_count; i++)
        bytes += traffic->inputs[i].elements * gt_element_bytes(traffic->inputs[i].element);
    return bytes;
}
