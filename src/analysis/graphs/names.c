/* Helpers, ops by the names of their kernels, and classes of ops: tables, and how they are looked up. */
#include "analysis/graphs/names.h"

/* ---- words in names ---- */

/* Where a word begins in a text; NULL: it is not in it. */
static const char *find_word(gt_str text, const char *word)
{
    return memmem(text.bytes, text.len, word, strlen(word));
}

/* A text in lower case; ASCII only. */
static gt_str lower(gt_str text, gt_buffer *spare)
{
    spare->len = 0;
    gt_buffer_add(spare, text.bytes, text.len);
    for (size_t i = 0; i < spare->len; i++)
        if (spare->bytes[i] >= 'A' && spare->bytes[i] <= 'Z') spare->bytes[i] += 'a' - 'A';
    return gt_buffer_str(spare);
}

/* ---- helpers ---- */

/* Words of second kernels, in lower case; with `then` this word comes after the first. */
static const struct {
    const char *word, *then;
} helper_words[] = {
    {"splitkreduce", NULL},    {"splitk_reduce", NULL},   {"lean_reduction", NULL},
    {"reduce_segments", NULL}, {"_reduce_kernel<", NULL}, {"paged_attention", "reduce"},
    {"flash", "combine"},      {"merge_state", NULL},     {"fwd_kernel_stage2", NULL},
};

static bool is_helper(gt_str lower_name)
{
    for (size_t i = 0; i < GT_LENGTH(helper_words); i++) {
        const char *at = find_word(lower_name, helper_words[i].word), *then = helper_words[i].then;
        if (!at) continue;
        at += strlen(helper_words[i].word);
        gt_str rest = {at, lower_name.len - (size_t)(at - lower_name.bytes)};
        if (!then || gt_str_contains(rest, then)) return true;
    }
    return false;
}

/* ---- ops by the names of their kernels ---- */

typedef enum word_place { ANYWHERE, AT_START, AT_END, WHOLE } word_place;

static bool has_word(gt_str text, const char *word, word_place place)
{
    switch (place) {
    case AT_START:
        return gt_str_starts_with(text, word);
    case AT_END:
        return gt_str_ends_with(text, word);
    case WHOLE:
        return gt_str_equals(text, word);
    case ANYWHERE:
        break;
    }
    return gt_str_contains(text, word);
}

/* The first row that applies. Functors of comparisons are not here: le, lt and others share one. */
static const struct {
    const char *word;
    word_place place;
    const char *op;
} ops_of_kernels[] = {
    {"index_put_kernel", ANYWHERE, "aten::_index_put_impl_"},
    {"indexSelect", ANYWHERE, "aten::index_select"},
    {"vectorized_gather_kernel", ANYWHERE, "aten::gather"},
    {"where_kernel_impl", ANYWHERE, "aten::where"},
    {"FillFunctor", ANYWHERE, "aten::fill_"},
    {"silu_kernel", ANYWHERE, "aten::silu"},
    {"gelu", ANYWHERE, "aten::gelu"},
    {"MulFunctor", ANYWHERE, "aten::mul"},
    {"DivFunctor", ANYWHERE, "aten::div"},
    {"CUDAFunctorOnSelf_add", ANYWHERE, "aten::add_"},
    {"CUDAFunctor_add", ANYWHERE, "aten::add"},
    {"direct_copy_kernel", ANYWHERE, "aten::copy_"},
    {"bfloat16_copy_kernel", ANYWHERE, "aten::copy_"},
    {"copy_kernel_cuda", ANYWHERE, "aten::copy_"},
    {"CopyFunctor", ANYWHERE, "aten::copy_"},
    {"ArgMaxOps", ANYWHERE, "aten::argmax"},
    {"softmax", ANYWHERE, "aten::_softmax"},
    {"layer_norm", ANYWHERE, "aten::native_layer_norm"}, /* or its other form, see op_of_kernel */
    {"CatArray", ANYWHERE, "aten::cat"},
    {"MeanOps", ANYWHERE, "aten::mean"},
    {"neg_kernel", ANYWHERE, "aten::neg"},
    {"rsqrt_kernel", ANYWHERE, "aten::rsqrt"},
    {"pow_tensor_scalar", ANYWHERE, "aten::pow"},
    {"arange", ANYWHERE, "aten::arange"},
    {"Memcpy", AT_START, "aten::copy_"},
    {"Memset", AT_START, "aten::zero_"},
    {"reshape_and_cache_flash", ANYWHERE, "_C_cache_ops::reshape_and_cache_flash"},
    {"rotary_embedding", ANYWHERE, "_C::rotary_embedding"},
    {"act_and_mul", ANYWHERE, "_C::silu_and_mul"},
};

/* layer_norm_kernel<..., true> computes an RMS norm. */
static bool is_rms_norm(gt_str name)
{
    static const char kernel[] = "layer_norm_kernel<";
    const char *end = name.bytes + name.len;
    for (gt_str rest = name;;) {
        const char *at = find_word(rest, kernel);
        if (!at) return false;
        at += sizeof kernel - 1;
        const char *close = memchr(at, '>', (size_t)(end - at));
        if (!close) return false;
        if (gt_str_ends_with((gt_str){at, (size_t)(close - at)}, "true")) return true;
        rest = (gt_str){at, (size_t)(end - at)};
    }
}

static const char *op_of_kernel(gt_str name)
{
    size_t i = 0;
    while (i < GT_LENGTH(ops_of_kernels) && !has_word(name, ops_of_kernels[i].word, ops_of_kernels[i].place))
        i++;
    if (i == GT_LENGTH(ops_of_kernels)) return NULL;
    if (strcmp(ops_of_kernels[i].word, "layer_norm") == 0 && is_rms_norm(name))
        return "aten::_fused_rms_norm";
    return ops_of_kernels[i].op;
}

/* ---- classes of ops ---- */

static const struct {
    const char *word;
    word_place place;
    uint8_t class;
} classes_of_ops[] = {
    {"aten::mm", WHOLE, GT_CLASS_GEMM},
    {"aten::addmm", WHOLE, GT_CLASS_GEMM},
    {"aten::bmm", WHOLE, GT_CLASS_GEMM},
    {"aten::baddbmm", WHOLE, GT_CLASS_GEMM},
    {"aten::linear", WHOLE, GT_CLASS_GEMM},
    {"aten::matmul", WHOLE, GT_CLASS_GEMM},
    {"aten::_scaled_mm", WHOLE, GT_CLASS_GEMM},
    {"aten::addmv", WHOLE, GT_CLASS_GEMM},
    {"aten::mv", WHOLE, GT_CLASS_GEMM},
    {"gemm", ANYWHERE, GT_CLASS_GEMM},
    {"_mm", AT_END, GT_CLASS_GEMM},
    {"attention", ANYWHERE, GT_CLASS_ATTENTION},
    {"flash", ANYWHERE, GT_CLASS_ATTENTION},
    {"sdpa", ANYWHERE, GT_CLASS_ATTENTION},
    {"fmha", ANYWHERE, GT_CLASS_ATTENTION},
    {"mha", ANYWHERE, GT_CLASS_ATTENTION},
    {"norm", ANYWHERE, GT_CLASS_NORM},
    {"Memcpy", AT_START, GT_OP_CLASS_COPY},
    {"copy_", AT_END, GT_OP_CLASS_COPY},
    {"clone", ANYWHERE, GT_OP_CLASS_COPY},
    {"_to_copy", ANYWHERE, GT_OP_CLASS_COPY},
    {"moe", ANYWHERE, GT_CLASS_MOE_GEMM},
    {"rotary", ANYWHERE, GT_CLASS_ROPE},
    {"rope", ANYWHERE, GT_CLASS_ROPE},
    {"index_put", ANYWHERE, GT_CLASS_KV_CACHE},
    {"cache", ANYWHERE, GT_CLASS_KV_CACHE},
    {"silu", ANYWHERE, GT_CLASS_ACTIVATION},
    {"gelu", ANYWHERE, GT_CLASS_ACTIVATION},
    {"relu", ANYWHERE, GT_CLASS_ACTIVATION},
    {"softmax", ANYWHERE, GT_CLASS_SOFTMAX},
    {"argmax", ANYWHERE, GT_CLASS_SAMPLING},
    {"topk", ANYWHERE, GT_CLASS_SAMPLING},
    {"multinomial", ANYWHERE, GT_CLASS_SAMPLING},
    {"index_select", ANYWHERE, GT_CLASS_EMBEDDING},
    {"embedding", ANYWHERE, GT_CLASS_EMBEDDING},
    {"gather", ANYWHERE, GT_CLASS_EMBEDDING},
};

static uint8_t class_of_op(gt_str op)
{
    for (size_t i = 0; i < GT_LENGTH(classes_of_ops); i++)
        if (has_word(op, classes_of_ops[i].word, classes_of_ops[i].place)) return classes_of_ops[i].class;
    return GT_OP_CLASS_NONE;
}

/* ---- all names ---- */

gt_graph_names gt_graph_names_new(gt_interner *strings)
{
    return (gt_graph_names){.strings = strings, .classes = gt_kernel_classifier_new(strings)};
}

void gt_graph_names_free(gt_graph_names *names)
{
    gt_kernel_classifier_free(names->classes);
    gt_free(names->kernels);
    gt_map_free(&names->kernel_of);
    gt_map_free(&names->op_of);
    *names = (gt_graph_names){0};
}

static gt_kernel_name describe(gt_graph_names *names, uint32_t name)
{
    gt_str text = gt_interner_get(names->strings, name);
    gt_buffer spare = {0};
    const char *op = op_of_kernel(text);
    gt_kernel_name made = {.class = (uint8_t)gt_kernel_classifier_class(names->classes, name),
                           .stem = gt_kernel_classifier_stem(names->classes, name),
                           .is_helper = is_helper(lower(text, &spare)),
                           .op = op ? gt_interner_add_cstr(names->strings, op) : (uint32_t)GT_STR_NONE};
    gt_buffer_free(&spare);
    return made;
}

gt_kernel_name gt_graph_kernel_name(gt_graph_names *names, uint32_t name)
{
    uint32_t place = gt_map_get(&names->kernel_of, name, 0);
    if (place != GT_MAP_NONE) return names->kernels[place];
    gt_kernel_name made = describe(names, name);
    *gt_map_put(&names->kernel_of, name, 0) = (uint32_t)names->kernel_count;
    GT_PUSH(names->kernels, names->kernel_count, names->kernel_capacity, made);
    return made;
}

uint8_t gt_graph_op_class(gt_graph_names *names, uint32_t op)
{
    uint32_t *known = gt_map_put(&names->op_of, op, 0);
    if (*known == GT_MAP_NONE) *known = class_of_op(gt_interner_get(names->strings, op));
    return (uint8_t)*known;
}

bool gt_class_is_strong(uint8_t class)
{
    switch (class) {
    case GT_CLASS_GEMM:
    case GT_CLASS_ATTENTION:
    case GT_CLASS_NORM:
    case GT_CLASS_ROPE:
    case GT_CLASS_MOE_GEMM:
    case GT_CLASS_MOE_ROUTE:
    case GT_CLASS_COMM:
    case GT_CLASS_SAMPLING:
    case GT_CLASS_SOFTMAX:
    case GT_CLASS_ACTIVATION:
    case GT_CLASS_CONV:
    case GT_CLASS_QUANT:
    case GT_CLASS_KV_CACHE:
    case GT_CLASS_EMBEDDING:
        return true;
    default:
        return false;
    }
}

bool gt_class_is_skeleton(uint8_t class)
{
    return class == GT_CLASS_NORM || class == GT_CLASS_ATTENTION || class == GT_CLASS_GEMM ||
           class == GT_CLASS_MOE_GEMM;
}
