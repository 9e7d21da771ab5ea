/* Reductions: one operation per element of the input; the input is read once, the output written once.
 *
 * The size of the output depends on the reduced axes. Only axes that are a JSON list or number are used, but
 * PyTorch's profiler writes them as strings; so with real traces, the output of a reduction has one element.
 */
#include "model/family.h"

enum { MAX_AXES = 64 }; /* per tensor, as in PyTorch */

/* The last bool of the arguments says whether the reduced axes are kept with size 1; the last integer or list
 * of integers is the reduced axes. */
typedef struct reduction {
    const gt_value *axes; /* an integer or a list; NULL: all */
    bool keeps_axes;
} reduction;

static bool is_axes(const gt_value *v)
{
    if (v->type == GT_VALUE_INT) return true;
    if (!gt_value_is_list(v)) return false;
    for (uint32_t i = 0; i < v->count; i++)
        if (v->items[i].type != GT_VALUE_INT) return false;
    return true;
}

/* Where the ops have their axes: after the order of a norm, otherwise after the input. */
static const struct {
    const char *name;
    int axes;
} places[] = {{"norm", 2}, {"", 1}};

/* An argument as a value: traces have "[1]", the command line also [1]. */
static const gt_value *argument(gt_reader *r, int i)
{
    const gt_value *given = gt_concrete_or_missing(r, i);
    if (given->type != GT_VALUE_STRING || !given->text.len) return given;
    const gt_value *parsed = gt_value_parse(r->arena, given->text);
    return parsed->type == GT_VALUE_MISSING ? given : parsed;
}

/* NULL: all. Whether the reduced axes are kept with size 1 does not change the number of elements. */
static const gt_value *read_exact_axes(gt_reader *r)
{
    size_t op = 0;
    while (!gt_str_contains(r->name, places[op].name)) op++;
    const gt_value *axes = argument(r, places[op].axes);
    return is_axes(axes) ? axes : NULL;
}

/* The elements of the output; axes that the shape does not have are an error, as in PyTorch. */
static gt_int exact_output_size(gt_reader *r, const gt_value *shape, const gt_value *axes)
{
    if (!axes || (gt_value_is_list(axes) && !axes->count)) return 1;
    bool reduced[MAX_AXES] = {0};
    int64_t rank = shape->count;
    gt_int size = 1;
    if (!gt_require(r, rank <= MAX_AXES)) return 0;
    for (uint32_t i = 0; i < (gt_value_is_list(axes) ? axes->count : 1); i++) {
        int64_t axis = gt_value_is_list(axes) ? axes->items[i].integer : axes->integer;
        if (!gt_require(r, axis >= -rank && axis < rank)) return 0;
        reduced[axis < 0 ? axis + rank : axis] = true;
    }
    for (int i = 0; i < rank; i++)
        if (!reduced[i]) size = GT_PRODUCT(r, size, gt_shape_dim(r, shape, i));
    return size;
}

static reduction read_reduction(gt_reader *r)
{
    reduction found = {0};
    bool has_flag = false;
    uint32_t count = gt_value_is_list(r->concrete) ? r->concrete->count : 0;
    for (uint32_t i = count; i-- > 1;) {
        const gt_value *v = &r->concrete->items[i];
        if (v->type == GT_VALUE_BOOL && !has_flag) {
            has_flag = true;
            found.keeps_axes = v->boolean;
        } else if (!found.axes && is_axes(v)) {
            found.axes = v;
        }
    }
    return found;
}

/* How often an axis occurs in the list; negative ones count from the end. */
static uint32_t count_axis(const gt_value *axes, int64_t axis, int64_t rank)
{
    if (axes->type == GT_VALUE_INT) return axes->integer == axis || axes->integer == axis - rank;
    uint32_t times = 0;
    for (uint32_t i = 0; i < axes->count; i++) {
        int64_t named = axes->items[i].integer;
        times += named == axis || named == axis - rank;
    }
    return times;
}

static gt_int output_size(gt_reader *r, const gt_value *shape, reduction reduced)
{
    if (!reduced.axes || (gt_value_is_list(reduced.axes) && !reduced.axes->count)) return 1;
    if (!gt_require(r, shape->count <= MAX_AXES)) return 0;
    gt_int dims[MAX_AXES];
    uint32_t count = shape->count;
    for (uint32_t i = 0; i < count; i++) dims[i] = gt_shape_dim(r, shape, (int)i);
    for (uint32_t axis = shape->count; axis-- > 0;)
        for (uint32_t times = count_axis(reduced.axes, axis, shape->count); times > 0 && axis < count;
             times--) {
            if (reduced.keeps_axes) {
                dims[axis] = 1;
                break;
            }
            /* An axis that occurs twice also removes the axis after it. */
            memmove(&dims[axis], &dims[axis + 1], (--count - axis) * sizeof *dims);
        }
    return gt_product_of(r, dims, count);
}

static bool name_has(const gt_reader *r, const char *part)
{
    return gt_str_contains(r->name, part);
}

static const char *reduce_type(const gt_reader *r)
{
    static const char *const types[] = {"mean", "max", "min", "norm"};
    for (size_t i = 0; i < GT_LENGTH(types); i++)
        if (name_has(r, types[i])) return types[i];
    return "sum";
}

/* Without shapes nothing is known, but this is not a failure. */
static void add_unknown(gt_reader *r)
{
    gt_add_int(r, "num_input_elems", 0);
    gt_add_int(r, "num_output_elems", 0);
    gt_add_values(r, "dtype_in_out", (gt_value[]){gt_value_none, gt_value_none}, 2);
    gt_set_flops(r, 0);
}

static void reduce(gt_reader *r, const void *variant)
{
    (void)variant;
    if (gt_value_is_empty(r->dims) || gt_dims_or_missing(r, 0)->type == GT_VALUE_NONE) {
        add_unknown(r);
        return;
    }
    const gt_value *shape = gt_read_dims(r, 0), *in = gt_type_or(r, 0, &gt_value_none),
                   *out = gt_value_at(gt_extra_or_missing(r, "Output type"), 0);
    bool is_running = name_has(r, "cumsum") || name_has(r, "cumprod");
    gt_int size_in = gt_shape_size(r, shape), size_out = is_running ? size_in
                                                         : r->exact
                                                             ? exact_output_size(r, shape, read_exact_axes(r))
                                                             : output_size(r, shape, read_reduction(r));
    if (out->type == GT_VALUE_MISSING) out = &gt_value_none;
    gt_add_int(r, "num_input_elems", size_in);
    gt_add_int(r, "num_output_elems", size_out);
    gt_add_values(r, "dtype_in_out", (gt_value[]){*in, *out}, 2);
    gt_add_string(r, "reduce_type", reduce_type(r));
    gt_set_precision(r, gt_type_precision(in));
    gt_set_flops(r, size_in);
    int bytes_in = gt_type_bytes(in), bytes_out = out->type == GT_VALUE_NONE ? bytes_in : gt_type_bytes(out);
    if (bytes_in && bytes_out)
        gt_set_bytes(r, GT_SUM(r, GT_PRODUCT(r, size_in, bytes_in), GT_PRODUCT(r, size_out, bytes_out)));
}

/* ---- the ops; the backward pass, which distributes the gradient, has the same cost ---- */

#define REDUCE(name)                                                                                         \
    {                                                                                                        \
        name, GT_FAMILY_REDUCE, "reduce", NULL, GT_BACKWARD_KNOWN, "vector", reduce, NULL, 0                 \
    }

static const gt_model rows[] = {
    REDUCE("aten::sum"),    REDUCE("aten::mean"),    REDUCE("aten::max"),         REDUCE("aten::min"),
    REDUCE("aten::norm"),   REDUCE("aten::std"),     REDUCE("aten::linalg_norm"), REDUCE("aten::var"),
    REDUCE("aten::cumsum"), REDUCE("aten::cumprod"), REDUCE("aten::logsumexp"),   REDUCE("aten::amin"),
    REDUCE("aten::amax"),
};

const gt_model_rows gt_reduce_models = {rows, GT_LENGTH(rows)};
