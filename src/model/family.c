/* Reading the arguments of an op and setting its result. Every access is checked; the first problem becomes
 * the op's outcome. Strings are read as Python reads them. */
#include "model/family.h"

#include "compat/number.h"

static const gt_value empty_list = {.type = GT_VALUE_LIST};

/* ---- outcomes ---- */

void gt_read_fail(gt_reader *r)
{
    if (r->outcome == GT_MODEL_VALUE) r->outcome = GT_MODEL_FAIL;
}

void gt_read_skip(gt_reader *r)
{
    if (r->outcome == GT_MODEL_VALUE) r->outcome = GT_MODEL_SKIP;
}

bool gt_require(gt_reader *r, bool condition)
{
    if (!condition) gt_read_fail(r);
    return condition;
}

void gt_require_fit(gt_reader *r, bool condition)
{
    if (!condition && r->outcome == GT_MODEL_VALUE) r->misfits = true;
    gt_require(r, condition);
}

/* The same for a condition on an element of a list of arguments. If the event does not have the list at all,
 * this is noted as the reason: then the trace is incomplete, not the model. */
static bool require_argument(gt_reader *r, const gt_value *list, bool condition)
{
    if (!condition && r->outcome == GT_MODEL_VALUE && list->type == GT_VALUE_MISSING)
        r->lacks_arguments = true;
    return gt_require(r, condition);
}

/* For strings in Concrete Inputs: a MISSING value may come from a missing list. */
static bool require_concrete(gt_reader *r, const gt_value *v, bool condition)
{
    return v->type == GT_VALUE_MISSING ? require_argument(r, r->concrete, condition)
                                       : gt_require(r, condition);
}

/* ---- arguments ---- */

const gt_value *gt_dims_or_missing(gt_reader *r, int i)
{
    return gt_value_at(r->dims, i);
}

const gt_value *gt_read_dims(gt_reader *r, int i)
{
    const gt_value *dims = gt_value_at(r->dims, i);
    return gt_require(r, gt_value_is_list(dims)) ? dims : &empty_list;
}

bool gt_has_dims(gt_reader *r, int i)
{
    const gt_value *dims = gt_value_at(r->dims, i);
    return gt_value_is_list(dims) && dims->count > 0;
}

gt_int gt_shape_dim(gt_reader *r, const gt_value *shape, int j)
{
    const gt_value *dim = gt_value_at(shape, j);
    return gt_require(r, dim->type == GT_VALUE_INT && dim->integer >= 0) ? dim->integer : 0;
}

gt_int gt_read_dim(gt_reader *r, int i, int j)
{
    return gt_shape_dim(r, gt_read_dims(r, i), j);
}

bool gt_can_broadcast(gt_reader *r, int i, const gt_int *shape, int rank)
{
    const gt_value *dims = gt_read_dims(r, i);
    if ((int)dims->count > rank) return false;
    for (int j = 1; j <= (int)dims->count; j++) {
        gt_int dim = gt_shape_dim(r, dims, -j);
        if (dim != 1 && dim != shape[rank - j]) return false;
    }
    return true;
}

gt_int gt_shape_size(gt_reader *r, const gt_value *shape)
{
    if (!gt_require(r, gt_value_is_list(shape))) return 0;
    gt_int size = 1;
    for (uint32_t j = 0; j < shape->count; j++) size = GT_PRODUCT(r, size, gt_shape_dim(r, shape, (int)j));
    return size;
}

gt_int gt_read_size(gt_reader *r, int i)
{
    return gt_shape_size(r, gt_read_dims(r, i));
}

const gt_value *gt_read_type(gt_reader *r, int i)
{
    const gt_value *type = gt_value_at(r->types, i);
    return require_argument(r, r->types, type->type != GT_VALUE_MISSING) ? type : &gt_value_none;
}

const gt_value *gt_nonempty_type_or(gt_reader *r, int i, const gt_value *fallback)
{
    const gt_value *type = gt_value_at(r->types, i);
    return gt_value_is_empty(type) ? fallback : type;
}

const gt_value *gt_type_or(gt_reader *r, int i, const gt_value *fallback)
{
    const gt_value *type = gt_value_at(r->types, i);
    return type->type == GT_VALUE_MISSING ? fallback : type;
}

gt_value gt_read_stride(gt_reader *r, int i)
{
    const gt_value *stride = gt_value_at(r->strides, i);
    return require_argument(r, r->strides, gt_value_is_list(stride)) ? gt_value_as_tuple(stride)
                                                                     : gt_value_none;
}

void gt_read_stride_pair(gt_reader *r, int i, int j, gt_value strides[2])
{
    bool present = r->strides->type != GT_VALUE_MISSING;
    strides[0] = present ? gt_read_stride(r, i) : gt_value_none;
    strides[1] = present ? gt_read_stride(r, j) : gt_value_none;
}

void gt_stride_pair_or_none(gt_reader *r, int i, int j, gt_value strides[2])
{
    strides[0] = gt_stride_or_none(r, i);
    strides[1] = gt_stride_or_none(r, j);
    if (strides[0].type == GT_VALUE_NONE || strides[1].type == GT_VALUE_NONE)
        strides[0] = strides[1] = gt_value_none;
}

gt_value gt_stride_or_none(gt_reader *r, int i)
{
    const gt_value *stride = gt_value_at(r->strides, i);
    return gt_value_is_list(stride) ? gt_value_as_tuple(stride) : gt_value_none;
}

const gt_value *gt_concrete_or_missing(gt_reader *r, int i)
{
    return gt_value_at(r->concrete, i);
}

const gt_value *gt_read_concrete(gt_reader *r, int i)
{
    const gt_value *concrete = gt_value_at(r->concrete, i);
    require_argument(r, r->concrete, concrete->type != GT_VALUE_MISSING);
    return concrete;
}

const gt_value *gt_extra_or_missing(gt_reader *r, const char *key)
{
    return gt_value_get(r->extra, key);
}

/* ---- strings ---- */

enum { MAX_ITEMS = 4096 };

static gt_str text_or_empty(const gt_value *v)
{
    return v->type == GT_VALUE_STRING ? v->text : (gt_str){"", 0};
}

static gt_str trim(gt_str text)
{
    while (text.len && gt_is_blank(text.bytes[0])) text.bytes++, text.len--;
    while (text.len && gt_is_blank(text.bytes[text.len - 1])) text.len--;
    return text;
}

bool gt_parse_int(const gt_value *v, gt_int *out)
{
    switch (v->type) {
    case GT_VALUE_INT:
        *out = v->integer;
        return true;
    case GT_VALUE_BOOL:
        *out = v->boolean;
        return true;
    case GT_VALUE_STRING:
        return gt_python_parse_int(v->text, out) == GT_PYTHON_PARSED;
    default:
        return false;
    }
}

gt_int gt_read_int(gt_reader *r, const gt_value *v)
{
    gt_int value = 0;
    require_concrete(r, v, gt_parse_int(v, &value));
    return value;
}

static bool parse_float(const gt_value *v, double *out)
{
    switch (v->type) {
    case GT_VALUE_INT:
        *out = (double)v->integer;
        return true;
    case GT_VALUE_BOOL:
        *out = v->boolean;
        return true;
    case GT_VALUE_FLOAT:
        *out = v->number;
        return true;
    case GT_VALUE_STRING:
        return gt_python_parse_float(v->text, out);
    default:
        return false;
    }
}

double gt_optional_float(const gt_value *v)
{
    double value;
    return parse_float(v, &value) ? value : 0.0;
}

double gt_read_float(gt_reader *r, const gt_value *v)
{
    double value = 0;
    require_concrete(r, v, parse_float(v, &value));
    return value;
}

bool gt_is_true_string(const gt_value *v)
{
    return gt_str_equals_nocase(text_or_empty(v), "true");
}

bool gt_parse_bool(const gt_value *v)
{
    if (v->type != GT_VALUE_STRING) return !gt_value_is_empty(v);
    gt_str text = trim(v->text);
    return text.len && !gt_str_equals_nocase(text, "false") && !gt_str_equals(text, "0");
}

/* An integer that fits 64 bits. */
static bool parse_int_item(gt_str text, gt_value *out)
{
    gt_int integer;
    if (gt_python_parse_int(text, &integer) != GT_PYTHON_PARSED || integer < INT64_MIN || integer > INT64_MAX)
        return false;
    *out = gt_value_int((int64_t)integer);
    return true;
}

static bool parse_literal(gt_str text, gt_value *out)
{
    double number;
    if (gt_str_equals(text, "True") || gt_str_equals(text, "False"))
        *out = gt_value_bool(text.bytes[0] == 'T');
    else if (gt_str_equals(text, "None"))
        *out = gt_value_none;
    else if (parse_int_item(text, out))
        return true;
    else if (text.len && !isalpha((unsigned char)text.bytes[text.len - 1]) &&
             gt_python_parse_float(text, &number))
        *out = gt_value_float(number);
    else
        return false;
    return true;
}

gt_value gt_read_literal(gt_reader *r, const gt_value *v)
{
    gt_value value = gt_value_none;
    require_concrete(r, v, v->type == GT_VALUE_STRING && parse_literal(trim(v->text), &value));
    return value;
}

/* ---- strings that are lists ---- */

typedef bool item_parser(gt_str text, gt_value *out);

static size_t count_items(gt_str text)
{
    size_t count = 1;
    const char *end = text.bytes + text.len;
    for (const char *at = text.bytes; (at = memchr(at, ',', (size_t)(end - at))); at++) count++;
    return count;
}

/* The parts of a text between commas. They are not collected on the stack, which may be small in a thread of
 * a program that uses the library. */
static bool parse_items(gt_reader *r, gt_str text, item_parser *parse, gt_value *out)
{
    size_t count = count_items(text);
    if (count > MAX_ITEMS) return false;
    gt_value *items = gt_arena_alloc(r->arena, count * sizeof *items);
    const char *place = text.bytes, *end = place + text.len;
    for (size_t i = 0; i < count; i++) {
        const char *comma = memchr(place, ',', (size_t)(end - place));
        const char *part_end = comma ? comma : end;
        if (!parse(trim((gt_str){place, (size_t)(part_end - place)}), &items[i])) return false;
        place = part_end + 1;
    }
    *out = gt_value_tuple(r->arena, items, count);
    return true;
}

gt_value gt_read_tuple(gt_reader *r, const gt_value *v)
{
    gt_str text = text_or_empty(v);
    gt_value tuple = {.type = GT_VALUE_TUPLE};
    if (!require_concrete(r, v, text.len >= 2)) return tuple;
    gt_str inside = {text.bytes + 1, text.len - 2};
    gt_require(r, parse_items(r, inside, parse_int_item, &tuple));
    return tuple;
}

static bool parse_int_or_bool(gt_str text, gt_value *out)
{
    return parse_literal(text, out) && (out->type == GT_VALUE_INT || out->type == GT_VALUE_BOOL);
}

gt_value gt_read_list(gt_reader *r, const gt_value *v)
{
    gt_str text = trim(text_or_empty(v));
    gt_value list = {.type = GT_VALUE_LIST};
    if (!require_concrete(r, v, text.len >= 2 && text.bytes[0] == '[' && text.bytes[text.len - 1] == ']'))
        return list;
    gt_str inside = trim((gt_str){text.bytes + 1, text.len - 2});
    if (!inside.len) return list;
    gt_require(r, parse_items(r, inside, parse_int_or_bool, &list));
    list.type = GT_VALUE_LIST;
    return list;
}

/* ---- arithmetic ---- */

gt_int gt_product_of(gt_reader *r, const gt_int *factors, size_t count)
{
    gt_int product = 1;
    for (size_t i = 0; i < count; i++)
        if (!gt_require(r, gt_multiply(product, factors[i], &product))) return 0;
    return product;
}

gt_int gt_sum_of(gt_reader *r, const gt_int *terms, size_t count)
{
    gt_int sum = 0;
    for (size_t i = 0; i < count; i++)
        if (!gt_require(r, !__builtin_add_overflow(sum, terms[i], &sum))) return 0;
    return sum;
}

gt_int gt_floor_div(gt_reader *r, gt_int a, gt_int b)
{
    if (!gt_require(r, b != 0)) return 0;
    if (b == -1) return GT_PRODUCT(r, a, -1);
    gt_int quotient = a / b;
    return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

gt_int gt_ceil_div(gt_reader *r, gt_int a, gt_int b)
{
    return GT_PRODUCT(r, gt_floor_div(r, GT_PRODUCT(r, a, -1), b), -1);
}

/* ---- the result ---- */

void gt_set_flops(gt_reader *r, gt_int flops)
{
    r->flops = (double)flops;
}

void gt_set_bytes(gt_reader *r, gt_int bytes)
{
    r->bytes = (double)bytes;
}

void gt_set_flops_real(gt_reader *r, double flops)
{
    r->flops = flops;
}

void gt_set_bytes_real(gt_reader *r, double bytes)
{
    r->bytes = bytes;
}

void gt_set_precision(gt_reader *r, const char *precision)
{
    r->precision = precision;
}

void gt_add_value(gt_reader *r, const char *name, gt_value value)
{
    if (!gt_require(r, r->parameter_count < GT_MODEL_MAX_PARAMETERS)) return;
    if (value.type == GT_VALUE_MISSING) value = gt_value_none;
    r->parameters[r->parameter_count++] = (gt_parameter){name, value};
}

void gt_add_int(gt_reader *r, const char *name, gt_int integer)
{
    if (!gt_require(r, integer >= INT64_MIN && integer <= INT64_MAX)) integer = 0;
    gt_add_value(r, name, gt_value_int((int64_t)integer));
}

void gt_add_float(gt_reader *r, const char *name, double number)
{
    gt_add_value(r, name, gt_value_float(number));
}

void gt_add_bool(gt_reader *r, const char *name, bool boolean)
{
    gt_add_value(r, name, gt_value_bool(boolean));
}

void gt_add_string(gt_reader *r, const char *name, const char *text)
{
    gt_add_value(r, name, gt_value_cstr(text));
}

void gt_add_tuple(gt_reader *r, const char *name, const gt_value *list)
{
    gt_require(r, gt_value_is_list(list));
    gt_add_value(r, name, gt_value_as_tuple(list));
}

void gt_add_none(gt_reader *r, const char *name)
{
    gt_add_value(r, name, gt_value_none);
}

void gt_add_values(gt_reader *r, const char *name, const gt_value *values, size_t count)
{
    gt_add_value(r, name, gt_value_tuple(r->arena, values, count));
}
