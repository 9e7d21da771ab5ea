/* Which dimension is which: the configuration of the call names the one that both factors share (K); what is
 * left of each factor is M or N. The names go by how the product lies in memory: of one that lies row by row,
 * M is what is left of the second factor. */
#include "analysis/jax/gemm.h"
#include "base/length.h"
#include "base/memory.h"
#include "json/values.h"

#include <string.h>

enum { DIMS_MAX = 3, FACTORS_MAX = 4 };
static const char CONFIG_KEY[] = "backend_config=";
static const char *const product_types[] = {"bf16", "f16", "f32", "f8", "fp8"};

typedef struct sizes {
    int64_t items[DIMS_MAX];
    size_t count;
} sizes;

typedef struct config {
    bool has_bias_epilogue, beta;
    unsigned left_dim, right_dim; /* the one that both factors share */
} config;

/* ---- the configuration ---- */

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

static bool read_config(gt_str text, config *c, gt_error *error)
{
    size_t key_len = strlen(CONFIG_KEY);
    if (text.len <= key_len) return gt_fail(error, "it has no backend_config");
    text = (gt_str){text.bytes + key_len, text.len - key_len};
    gt_arena arena = {0};
    const gt_value *json = gt_value_parse(&arena, text);
    bool is_object = json->type == GT_VALUE_DICT;
    const gt_value *epilogue = gt_value_get(gt_value_get(json, "gemm_backend_config"), "epilogue");
    c->has_bias_epilogue = is_object && gt_value_equals_cstr(epilogue, "BIAS");
    gt_arena_free(&arena);
    if (!is_object) return gt_fail(error, "its backend_config cannot be read");
    c->beta = memmem(text.bytes, text.len, "\"beta\":1,", 9) != NULL;
    return (read_dim(text, "\"lhs_contracting_dimensions\":", &c->left_dim) &&
            read_dim(text, "\"rhs_contracting_dimensions\":", &c->right_dim)) ||
           gt_fail(error, "its factors share other than one dimension");
}

/* ---- shapes ---- */

static bool is_lower_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool read_sizes(gt_str list, sizes *s)
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

/* The product: the first member of the output of a type that products have, which is no scalar. *is_column:
 * it lies column by column. */
static bool find_product(gt_str output, sizes *product, bool *is_column)
{
    for (size_t i = 0; i < output.len; i++) {
        if (output.bytes[i] != '[') continue;
        size_t begin = i, end = i + 1, layout_end;
        while (begin && is_lower_or_digit(output.bytes[begin - 1])) begin--;
        while (end < output.len && output.bytes[end] != ']') end++;
        if (end == output.len) return false;
        bool fits = false;
        for (size_t t = 0; t < GT_LENGTH(product_types); t++) {
            size_t len = strlen(product_types[t]);
            fits |= i - begin >= len && memcmp(output.bytes + begin, product_types[t], len) == 0;
        }
        if (!fits || end == i + 1) continue;
        for (layout_end = end + 1; layout_end < output.len && output.bytes[layout_end] != '}';) layout_end++;
        bool has_layout = end + 1 < output.len && output.bytes[end + 1] == '{';
        *is_column = has_layout && memmem(output.bytes + end + 1, layout_end - end - 1, "0,1", 3);
        return read_sizes((gt_str){output.bytes + i + 1, end - i - 1}, product);
    }
    return false;
}

/* Operands that are no scalars. */
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

static bool take_out(sizes *s, int64_t value)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->items[i] == value) {
            memmove(&s->items[i], &s->items[i + 1], (s->count - i - 1) * sizeof *s->items);
            s->count--;
            return true;
        }
    return false;
}

static bool name_dims(sizes left, sizes right, const sizes *product, const config *c, bool is_column,
                      gt_jax_gemm *gemm, gt_error *error)
{
    if (c->left_dim >= left.count || c->right_dim >= right.count ||
        left.items[c->left_dim] != right.items[c->right_dim])
        return gt_fail(error, "its factors do not fit together");
    gemm->k = left.items[c->left_dim];
    take_out(&left, gemm->k);
    take_out(&right, gemm->k);
    gemm->batch = product->count == DIMS_MAX ? product->items[0] : 1;
    if (product->count == DIMS_MAX && (!take_out(&left, gemm->batch) || !take_out(&right, gemm->batch)))
        return gt_fail(error, "its factors are not batched as the product is");
    int64_t of_left = left.count ? left.items[0] : 1, of_right = right.count ? right.items[0] : 1;
    gemm->m = is_column ? of_left : of_right;
    gemm->n = is_column ? of_right : of_left;
    return true;
}

bool gt_jax_gemm_of(const gt_jax *trace, const gt_hlo_record *record, gt_jax_gemm *gemm, gt_error *error)
{
    config c = {0};
    gt_str factors[FACTORS_MAX + 1];
    sizes left, right, product;
    bool is_column;
    if (record->gemm_type == GT_STR_NONE)
        return gt_fail(error, "its operands are of different or unknown types");
    if (!read_config(gt_interner_get(trace->strings, record->backend_config), &c, error)) return false;
    size_t count = find_factors(trace, record, factors);
    if (count < 2 || count > FACTORS_MAX || (count == FACTORS_MAX && !c.has_bias_epilogue))
        return gt_fail(error, "it has %zu operands that are no scalars", count);
    if (!read_sizes(factors[0], &left) || !read_sizes(factors[1], &right) ||
        !find_product(gt_interner_get(trace->strings, record->output), &product, &is_column))
        return gt_fail(error, "its shapes are none of a product of matrices");
    gemm->beta = c.beta;
    gemm->type = gt_interner_get(trace->strings, record->gemm_type);
    return name_dims(left, right, &product, &c, is_column, gemm, error);
}
