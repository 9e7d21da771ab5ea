/* Reads shapes from the strings of HLO ops.
 *
 * The record of an op has its operands, its output and its configuration as XLA prints them:
 *
 *     operands         bf16[8,2]{1,0}   and   bf16[2,4]{1,0}
 *     output           (bf16[8,4]{1,0},s8[1024]{0})
 *     backend_config   backend_config={"gemm_backend_config":{"beta":0,"dot_dimension_numbers":{
 *                          "lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"],...}}}
 *
 * A shape is a type, the dimensions in brackets, and the layout in braces: the dimensions from the fastest
 * varying to the slowest, so {1,0} is row-major and {0,1} column-major.
 *
 * There are three readers because the columns made from them follow different rules: shapes for Input Dims
 * and the models, bytes for total_input_bytes, and sizes of matrix products. */
#include "analysis/jax/models.h"

/* ---- shapes ---- */

/* The length of the list of digits and commas at `at`. */
static size_t span_list(gt_str text, size_t at)
{
    size_t end = at;
    while (end < text.len && (gt_is_digit(text.bytes[end]) || text.bytes[end] == ',')) end++;
    return end - at;
}

/* The numbers of a list such as "8,16". A number that overflows becomes a very large one. */
static size_t read_numbers(gt_str list, int64_t *numbers)
{
    size_t count = 0;
    for (size_t i = 0; i < list.len; i++) {
        if (!gt_is_digit(list.bytes[i])) continue;
        int64_t number = 0;
        for (; i < list.len && gt_is_digit(list.bytes[i]); i++)
            if (__builtin_mul_overflow(number, 10, &number) ||
                __builtin_add_overflow(number, (int64_t)(list.bytes[i] - '0'), &number))
                number = INT64_MAX / 16; /* too large for any size */
        numbers[count++] = number;
    }
    return count;
}

/* Reads the shape whose dimensions begin at this bracket. */
static bool tensor_at(gt_str text, size_t bracket, gt_arena *arena, gt_jax_tensor *tensor)
{
    size_t begin = bracket;
    while (begin && gt_is_digit(text.bytes[begin - 1])) begin--;
    size_t letters_end = begin;
    while (begin && gt_is_letter(text.bytes[begin - 1])) begin--;
    if (letters_end == bracket || begin == letters_end) return false;
    size_t dims_len = span_list(text, bracket + 1), layout = bracket + 1 + dims_len + 2;
    if (!dims_len || layout > text.len || memcmp(text.bytes + layout - 2, "]{", 2) != 0) return false;
    size_t layout_len = span_list(text, layout);
    if (!layout_len || layout + layout_len >= text.len || text.bytes[layout + layout_len] != '}')
        return false;
    int64_t *dims = gt_arena_alloc(arena, (dims_len + 1) * sizeof *dims);
    tensor->type = (gt_str){text.bytes + begin, bracket - begin};
    tensor->dim_count = read_numbers((gt_str){text.bytes + bracket + 1, dims_len}, dims);
    tensor->dims = dims;
    return true;
}

bool gt_jax_tensor_of(gt_str text, gt_arena *arena, gt_jax_tensor *tensor)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.bytes[i] == '[' && tensor_at(text, i, arena, tensor)) return true;
    return false;
}

gt_jax_tensors gt_jax_operands_of(const gt_jax *trace, const gt_hlo_record *record, gt_arena *arena)
{
    gt_jax_tensors tensors = {gt_arena_alloc(arena, (record->operand_count + 1) * sizeof(gt_jax_tensor)), 0};
    for (size_t i = 0; i < record->operand_count; i++)
        if (gt_jax_tensor_of(gt_interner_get(trace->strings, record->operands[i]), arena,
                             &tensors.items[tensors.count]))
            tensors.count++;
    return tensors;
}

void gt_jax_add_dims(gt_buffer *out, const gt_jax_tensor *tensor)
{
    gt_buffer_add_cstr(out, "(");
    for (size_t i = 0; i < tensor->dim_count; i++) {
        if (i) gt_buffer_add_cstr(out, ", ");
        gt_buffer_add_int(out, tensor->dims[i]);
    }
    gt_buffer_add_cstr(out, tensor->dim_count == 1 ? ",)" : ")");
}

/* ---- bytes of operands ---- */

/* Bytes per element. */
static const struct {
    const char *type;
    int64_t bytes;
} type_sizes[] = {
    {"f32", 4}, {"bf16", 2}, {"s32", 4},  {"fp16", 2},     {"u32", 4},
    {"f16", 2}, {"u64", 8},  {"pred", 1}, {"f8e4m3fn", 1}, {"f8e4m3fnuz", 1},
};

static int64_t element_bytes(gt_str type)
{
    for (size_t i = 0; i < GT_LENGTH(type_sizes); i++)
        if (gt_str_equals(type, type_sizes[i].type)) return type_sizes[i].bytes;
    return type.len >= 2 && (memcmp(type.bytes, "f8", 2) == 0 || memcmp(type.bytes, "s8", 2) == 0);
}

/* The bytes of one operand; 0 if it is a scalar, not a shape, or (*is_unknown) of an unknown type. */
static int64_t operand_bytes(gt_str text, bool *is_unknown)
{
    size_t type_len = 0;
    while (type_len < text.len && (gt_is_letter(text.bytes[type_len]) || gt_is_digit(text.bytes[type_len]) ||
                                   text.bytes[type_len] == '_'))
        type_len++;
    *is_unknown = false;
    if (!type_len || type_len == text.len || text.bytes[type_len] != '[') return 0;
    size_t end = type_len + 1 + span_list(text, type_len + 1);
    if (end == type_len + 1 || end == text.len || text.bytes[end] != ']') return 0;
    int64_t bytes = element_bytes((gt_str){text.bytes, type_len});
    *is_unknown = !bytes;
    for (size_t i = type_len + 1; i < end;) {
        size_t len = 0;
        while (i + len < end && gt_is_digit(text.bytes[i + len])) len++;
        int64_t dim = 1;
        if (len) read_numbers((gt_str){text.bytes + i, len}, &dim);
        if (__builtin_mul_overflow(bytes, dim, &bytes)) return 0;
        i += len + 1;
    }
    return bytes;
}

int64_t gt_jax_input_bytes(const gt_jax *trace, const gt_hlo_record *record, size_t *unknown)
{
    int64_t sum = 0;
    for (size_t i = 0; i < record->operand_count; i++) {
        bool is_unknown;
        int64_t bytes = operand_bytes(gt_interner_get(trace->strings, record->operands[i]), &is_unknown);
        *unknown += is_unknown;
        if (__builtin_add_overflow(sum, bytes, &sum)) sum = INT64_MAX;
    }
    return sum;
}

/* ---- sizes of matrix products ----
 *
 * The configuration names the dimension that both factors share, K; what remains of the factors are M and N.
 * Libraries compute column-major products, so if the output is row-major, they compute its transpose and M is
 * what remains of the second factor. In the example above K is 2 and the output is row-major: M is 4, N is 8.
 */

enum { DIMS_MAX = 3, FACTORS_MAX = 4 };
static const char CONFIG_KEY[] = "backend_config=";
static const char *const product_types[] = {"bf16", "f16", "f32", "f8", "fp8"};

typedef struct gemm_dims {
    int64_t items[DIMS_MAX];
    size_t count;
} gemm_dims;

typedef struct gemm_config {
    bool has_bias_epilogue, beta;
    unsigned left_dim, right_dim; /* the contracted dimension of each factor */
} gemm_config;

/* Reads the only number of a list such as "lhs_contracting_dimensions":["1"]. */
static bool read_dim(gt_str text, const char *key, unsigned *dim)
{
    const char *at = memmem(text.bytes, text.len, key, strlen(key));
    if (!at) return false;
    at += strlen(key);
    size_t left = (size_t)(text.bytes + text.len - at);
    if (left < 5 || memcmp(at, "[\"", 2) != 0 || at[2] < '0' || at[2] > '2' || memcmp(at + 3, "\"]", 2) != 0)
        return false;
    *dim = (unsigned)(at[2] - '0');
    return true;
}

static bool read_config(gt_str text, gemm_config *c, gt_error *error)
{
    size_t key_len = strlen(CONFIG_KEY);
    if (text.len <= key_len) return gt_fail(error, "no backend_config");
    text = (gt_str){text.bytes + key_len, text.len - key_len};
    gt_arena arena = {0};
    const gt_value *json = gt_value_parse(&arena, text);
    bool is_object = json->type == GT_VALUE_DICT;
    const gt_value *epilogue = gt_value_get(gt_value_get(json, "gemm_backend_config"), "epilogue");
    c->has_bias_epilogue = is_object && gt_value_equals_cstr(epilogue, "BIAS");
    gt_arena_free(&arena);
    if (!is_object) return gt_fail(error, "backend_config is not a JSON object");
    c->beta = memmem(text.bytes, text.len, "\"beta\":1,", 9) != NULL;
    return (read_dim(text, "\"lhs_contracting_dimensions\":", &c->left_dim) &&
            read_dim(text, "\"rhs_contracting_dimensions\":", &c->right_dim)) ||
           gt_fail(error, "the factors do not share exactly one dimension");
}

static bool is_lower_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool read_dims(gt_str list, gemm_dims *s)
{
    s->count = 0;
    for (size_t i = 0; i <= list.len;) {
        int64_t number = 0;
        size_t digits = 0;
        for (; i < list.len && list.bytes[i] >= '0' && list.bytes[i] <= '9'; i++, digits++)
            if (__builtin_mul_overflow(number, 10, &number) ||
                __builtin_add_overflow(number, (int64_t)(list.bytes[i] - '0'), &number))
                return false;
        if (!digits || s->count == DIMS_MAX || (i < list.len && list.bytes[i] != ',')) return false;
        s->items[s->count++] = number;
        i++;
    }
    return true;
}

/* Finds the product: the first member of the output that has dimensions and one of product_types. *is_column:
 * its layout is column-major. */
static bool find_product(gt_str output, gemm_dims *product, bool *is_column)
{
    for (size_t i = 0; i < output.len; i++) {
        if (output.bytes[i] != '[') continue;
        size_t begin = i, end = i + 1, layout_end;
        while (begin && is_lower_or_digit(output.bytes[begin - 1])) begin--;
        while (end < output.len && output.bytes[end] != ']') end++;
        if (end == output.len) return false;
        bool is_product = false;
        for (size_t t = 0; t < GT_LENGTH(product_types); t++) {
            size_t len = strlen(product_types[t]);
            is_product |= i - begin >= len && memcmp(output.bytes + begin, product_types[t], len) == 0;
        }
        if (!is_product || end == i + 1) continue;
        for (layout_end = end + 1; layout_end < output.len && output.bytes[layout_end] != '}';) layout_end++;
        bool has_layout = end + 1 < output.len && output.bytes[end + 1] == '{';
        *is_column = has_layout && memmem(output.bytes + end + 1, layout_end - end - 1, "0,1", 3);
        return read_dims((gt_str){output.bytes + i + 1, end - i - 1}, product);
    }
    return false;
}

/* Finds the operands that are not scalars. */
static size_t find_factors(const gt_jax *trace, const gt_hlo_record *record, gt_str factors[FACTORS_MAX + 1])
{
    size_t count = 0;
    for (size_t i = 0; i < record->operand_count && count <= FACTORS_MAX; i++) {
        gt_str text = gt_interner_get(trace->strings, record->operands[i]);
        const char *open = memchr(text.bytes, '[', text.len);
        const char *close = open ? memchr(open, ']', text.len - (size_t)(open - text.bytes)) : NULL;
        if (close && close > open + 1) factors[count++] = (gt_str){open + 1, (size_t)(close - open - 1)};
    }
    return count;
}

/* Removes the first dimension of this size; false if there is none. */
static bool remove_dim(gemm_dims *s, int64_t value)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->items[i] == value) {
            memmove(&s->items[i], &s->items[i + 1], (s->count - i - 1) * sizeof *s->items);
            s->count--;
            return true;
        }
    return false;
}

/* Decides which dimension is which. */
static bool assign_dims(gemm_dims left, gemm_dims right, const gemm_dims *product, const gemm_config *c,
                        bool is_column, gt_jax_gemm *gemm, gt_error *error)
{
    if (c->left_dim >= left.count || c->right_dim >= right.count ||
        left.items[c->left_dim] != right.items[c->right_dim])
        return gt_fail(error, "the contracted dimensions of the factors differ");
    gemm->k = left.items[c->left_dim];
    remove_dim(&left, gemm->k);
    remove_dim(&right, gemm->k);
    gemm->batch = product->count == DIMS_MAX ? product->items[0] : 1;
    if (product->count == DIMS_MAX && (!remove_dim(&left, gemm->batch) || !remove_dim(&right, gemm->batch)))
        return gt_fail(error, "a factor lacks the batch dimension of the product");
    int64_t of_left = left.count ? left.items[0] : 1, of_right = right.count ? right.items[0] : 1;
    gemm->m = is_column ? of_left : of_right;
    gemm->n = is_column ? of_right : of_left;
    return true;
}

bool gt_jax_gemm_of(const gt_jax *trace, const gt_hlo_record *record, gt_jax_gemm *gemm, gt_error *error)
{
    gemm_config c = {0};
    gt_str factors[FACTORS_MAX + 1];
    gemm_dims left, right, product;
    bool is_column;
    if (record->gemm_type == GT_STR_NONE) return gt_fail(error, "operands of different or unknown types");
    if (!read_config(gt_interner_get(trace->strings, record->backend_config), &c, error)) return false;
    size_t count = find_factors(trace, record, factors);
    if (count < 2 || count > FACTORS_MAX || (count == FACTORS_MAX && !c.has_bias_epilogue))
        return gt_fail(error, "%zu operands are not scalars, expected 2 or 3 (4 with a bias epilogue)",
                       count);
    if (!read_dims(factors[0], &left) || !read_dims(factors[1], &right) ||
        !find_product(gt_interner_get(trace->strings, record->output), &product, &is_column))
        return gt_fail(error, "shapes are not those of a matrix product");
    gemm->beta = c.beta;
    gemm->type = gt_interner_get(trace->strings, record->gemm_type);
    return assign_dims(left, right, &product, &c, is_column, gemm, error);
}
