/* Kernels that torch.compile made. The name has the fused ops joined by underscores: it is cut into names of
 * PyTorch ops, and each op costs so many flops an element. Bytes are those of the tensors. */
#include "model/triton.h"

#include "base/length.h"
#include "model/family.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const char *const op_names[] = {
#include "model/aten_names.inc"
};
/* clang-format on */

enum { MAX_TOKENS_OF_A_NAME = 10, MAX_TOKENS = 1024 };

static const struct {
    const char *name;
    int flops; /* an element */
} costs[] = {
    {"add", 1}, {"sub", 1},  {"mul", 1},  {"div", 1},     {"relu", 1}, {"mean", 1},
    {"sum", 1}, {"abs", 1},  {"neg", 1},  {"ne", 1},      {"eq", 1},   {"lt", 1},
    {"gt", 1},  {"pow", 2},  {"sqrt", 2}, {"rsqrt", 2},   {"var", 2},  {"exp", 4},
    {"log", 4}, {"tanh", 4}, {"silu", 4}, {"sigmoid", 4}, {"gelu", 8}, {"reciprocal", 2},
};

/* Only these types count; the profiler's other names for types do not. */
static const struct {
    const char *name;
    int bytes;
    const char *precision;
} dtypes[] = {
    {"c10::BFloat16", 2, "bfloat16"}, {"c10::Half", 2, "half"}, {"c10::Float", 4, "float"},
    {"c10::Double", 8, "double"},     {"c10::Byte", 1, "byte"}, {"c10::Char", 1, "char"},
    {"c10::Int", 4, "int"},           {"c10::Long", 8, "long"},
};

static const char *const prefixes[] = {"triton_poi_", "triton_red_", "triton_per_"};
enum { PREFIX_LEN = 11, POINTWISE = 0 };

/* Which prefix the name has, -1 where none. */
static int prefix_of(gt_str name)
{
    for (int i = 0; i < (int)GT_LENGTH(prefixes); i++)
        if (name.len >= PREFIX_LEN && memcmp(name.bytes, prefixes[i], PREFIX_LEN) == 0) return i;
    return -1;
}

bool gt_triton_is_kernel(gt_str name)
{
    return prefix_of(name) >= 0;
}

/* ---- sizes: the last integers among the arguments ---- */

typedef struct extent {
    size_t count;
    gt_int last[2]; /* the second last and the last */
} extent;

static extent read_extent(const gt_value *concrete)
{
    extent found = {0};
    for (uint32_t i = 0; i < concrete->count; i++) {
        gt_int integer;
        if (!gt_parse_int(&concrete->items[i], &integer)) continue;
        found.count++;
        found.last[0] = found.last[1];
        found.last[1] = integer;
    }
    return found;
}

bool gt_triton_is_usable(const gt_value *dims, const gt_value *types, const gt_value *concrete)
{
    bool lists = gt_value_is_list(dims) && gt_value_is_list(types) && gt_value_is_list(concrete);
    return lists && dims->count && types->count && read_extent(concrete).count > 0;
}

/* ---- the fused ops ---- */

static int compare_name(const void *key, const void *item)
{
    gt_str name = *(const gt_str *)key;
    const char *other = *(const char *const *)item;
    return gt_str_compare(name, (gt_str){other, strlen(other)});
}

static bool is_op(gt_str name)
{
    return bsearch(&name, op_names, GT_LENGTH(op_names), sizeof *op_names, compare_name) != NULL;
}

/* What stands between "triton_poi_fused_" and the number at the end; empty where the name is not of that
 * form. */
static gt_str fused_part(gt_str name)
{
    static const char fused[] = "fused_";
    size_t begin = PREFIX_LEN + strlen(fused), end = name.len;
    if (name.len <= begin || memcmp(name.bytes + PREFIX_LEN, fused, strlen(fused)) != 0)
        return (gt_str){"", 0};
    while (end > begin && name.bytes[end - 1] >= '0' && name.bytes[end - 1] <= '9') end--;
    if (end == name.len || end <= begin + 1 || name.bytes[end - 1] != '_') return (gt_str){"", 0};
    return (gt_str){name.bytes + begin, end - 1 - begin};
}

/* A text cut at its underscores: token i is what stands before the underscore at ends[i]. */
typedef struct tokens {
    gt_str text;
    size_t ends[MAX_TOKENS];
    size_t count;
} tokens;

static bool cut(tokens *t, gt_str text)
{
    *t = (tokens){.text = text};
    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && text.bytes[i] != '_') continue;
        if (t->count == MAX_TOKENS) return false;
        t->ends[t->count++] = i;
    }
    return text.len > 0;
}

static gt_str joined(const tokens *t, size_t first, size_t end)
{
    size_t begin = first ? t->ends[first - 1] + 1 : 0;
    return (gt_str){t->text.bytes + begin, t->ends[end - 1] - begin};
}

/* Cuts the tokens into names of ops: first[i] is where the longest op that ends before token i begins, of
 * those that leave a beginning that can be cut too. False where there is no way. */
static bool segment(const tokens *t, size_t first[MAX_TOKENS + 1])
{
    bool reachable[MAX_TOKENS + 1] = {true};
    for (size_t end = 1; end <= t->count; end++) {
        size_t begin = end > MAX_TOKENS_OF_A_NAME ? end - MAX_TOKENS_OF_A_NAME : 0;
        for (; begin < end && !reachable[end]; begin++) {
            if (!reachable[begin] || !is_op(joined(t, begin, end))) continue;
            reachable[end] = true;
            first[end] = begin;
        }
    }
    return reachable[t->count];
}

static int cost_of(gt_str op)
{
    for (size_t i = 0; i < GT_LENGTH(costs); i++)
        if (gt_str_equals(op, costs[i].name)) return costs[i].flops;
    return 0;
}

/* Adds the parameter "aten.mul, aten.silu" and returns the flops an element. */
static int read_ops(gt_reader *r)
{
    tokens t;
    size_t first[MAX_TOKENS + 1], begins[MAX_TOKENS], count = 0;
    int flops = 0;
    gt_buffer names = {0};
    if (cut(&t, fused_part(r->name)) && segment(&t, first))
        for (size_t end = t.count; end; end = first[end]) begins[count++] = first[end];
    while (count--) {
        gt_str op = joined(&t, begins[count], count ? begins[count - 1] : t.count);
        gt_buffer_add_cstr(&names, names.len ? ", aten." : "aten.");
        gt_buffer_add(&names, op.bytes, op.len);
        flops += cost_of(op);
    }
    gt_add_string(r, "fused_ops", gt_arena_bytes(r->arena, names.bytes, names.len));
    gt_buffer_free(&names);
    return flops;
}

/* ---- bytes ---- */

static void read_tensors(gt_reader *r, gt_int pointwise_elements)
{
    gt_int bytes = 0;
    int first_size = -1;
    for (uint32_t i = 0; i < r->dims->count && i < r->types->count; i++) {
        const gt_value *shape = &r->dims->items[i], *type = &r->types->items[i];
        int size = 0;
        if (gt_value_equals_cstr(type, "Scalar") || gt_value_is_empty(shape)) continue;
        for (size_t d = 0; d < GT_LENGTH(dtypes); d++) {
            if (!gt_value_equals_cstr(type, dtypes[d].name)) continue;
            size = dtypes[d].bytes;
            if (!r->precision) gt_set_precision(r, dtypes[d].precision);
        }
        if (first_size < 0) first_size = size;
        bytes = GT_SUM(r, bytes, GT_PRODUCT(r, gt_shape_size(r, shape), size));
    }
    if (first_size < 0) first_size = 0;
    gt_set_bytes_real(r, (double)bytes + (double)GT_PRODUCT(r, first_size, pointwise_elements));
}

static void evaluate(gt_reader *r, const void *variant)
{
    (void)variant;
    int prefix = prefix_of(r->name);
    extent found = read_extent(r->concrete);
    gt_require(r, gt_triton_is_usable(r->dims, r->types, r->concrete));
    bool reduces = prefix != POINTWISE && found.count >= 2;
    gt_int elements = reduces ? found.last[0] : found.last[1], reduced = reduces ? found.last[1] : 1;
    gt_require(r, elements >= 0 && reduced >= 0);
    gt_set_flops(r, GT_PRODUCT(r, read_ops(r), elements, reduced));
    read_tensors(r, prefix == POINTWISE ? elements : 0);
    gt_add_int(r, "xnumel", elements);
    gt_add_int(r, "rnumel", reduced);
}

const gt_model gt_triton_model = {.name = "triton_*",
                                  .category = "triton",
                                  .backward = GT_BACKWARD_SKIP,
                                  .maf = "vector",
                                  .evaluate = evaluate};
