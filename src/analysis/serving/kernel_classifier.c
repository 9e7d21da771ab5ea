#include "analysis/serving/kernel_classifier.h"

/* ---- classes ---- */

static const char *const class_names[GT_KERNEL_CLASSES] = {
    [GT_CLASS_COPY] = "copy",           [GT_CLASS_COMM] = "comm",
    [GT_CLASS_MOE_ROUTE] = "moe_route", [GT_CLASS_MOE_GEMM] = "moe_gemm",
    [GT_CLASS_KV_CACHE] = "kv_cache",   [GT_CLASS_ATTENTION] = "attention",
    [GT_CLASS_GEMM] = "gemm",           [GT_CLASS_CONV] = "conv",
    [GT_CLASS_NORM] = "norm",           [GT_CLASS_QUANT] = "quant",
    [GT_CLASS_ROPE] = "rope",           [GT_CLASS_ACTIVATION] = "activation",
    [GT_CLASS_SAMPLING] = "sampling",   [GT_CLASS_SOFTMAX] = "softmax",
    [GT_CLASS_EMBEDDING] = "embedding", [GT_CLASS_ELEMENTWISE] = "elementwise",
    [GT_CLASS_REDUCE] = "reduce",       [GT_CLASS_OTHER] = "other",
};

const char *gt_kernel_class_name(gt_kernel_class class)
{
    return class_names[class];
}

/* The first class with a pattern that the name, in lower case, contains. Patterns are separated by spaces:
 *
 *     a*b    b anywhere after a
 *     ^a     a at the start
 *     #      one digit or more
 *     a~b    a without b right after it */
static const char *const patterns[GT_CLASS_OTHER] = {
    [GT_CLASS_COPY] = "^memcpy ^memset __amd_rocclr_copy __amd_rocclr_fill fillbuffer copybuffer",
    [GT_CLASS_COMM] = "nccl rccl msccl cross_device_reduce allreduce all_reduce allgather all_gather "
                      "reducescatter reduce_scatter alltoall all_toall allto_all all_to_all quickreduce "
                      "nvshmem deepep deep_ep internode::dispatch internode::combine intranode::dispatch "
                      "intranode::combine low_latency::dispatch low_latency::combine ^dispatch_kernel "
                      "::dispatch_kernel ^combine_kernel ::combine_kernel multimem symm_mem one_shot "
                      "two_shot lamport",
    [GT_CLASS_MOE_ROUTE] =
        "topkgating topk_gating topkforward topk_forward topksoftmax topk_softmax _topk moe*topk topk*moe "
        "moe_align moe_sum moe_sorting moe_fused_gate moe_scatter moe_gather moe_permute moe_unpermute "
        "moe_reduce moesorting combined_routing sum_bitmatrix expert_map expert_offset "
        "count_and_sort_expert expandinputrows finalizemoe finalize_matmul routingindices routing_kernel "
        "routingmain silu_mul_masked ep_scatter ep_gather doactivation biased_grouped moe_forward "
        "compute_expert permute_kernel unpermute",
    [GT_CLASS_MOE_GEMM] =
        "matmul_ogs fused_moe moe_gemm moegemm moe_mm moe*gemm moe*matmul moe*stage1 moe*stage2 moe*mlp "
        "moe*ck gemm*moe matmul*moe groupedgemm grouped_gemm groupgemm group_gemm m_grouped mgrouped "
        "gemmgrouped ptrarray fmoe kernel_moe marlin_moe",
    [GT_CLASS_KV_CACHE] =
        "reshape_and_cache storecache store_cache storekvcache store_kvcache storekv_cache store_kv_cache "
        "kvindices kv_indices kvcache_update kvcache_copy kvcache_store concat_and_cache set_mla_kv updatekv "
        "update_kv appendpaged append_paged copy_blocks swap_blocks gather_cache cache_kernel write_kv "
        "index_put_kernel indices_and_cache cp_gather set_kv_buffer kv_buffer fused_qk_norm_rope_cache",
    [GT_CLASS_ATTENTION] =
        "attention attn fmha flash_fwd flash_bwd flash_fprop flashinfer flash_infer flashdecod flash:: sdpa "
        "mha_ _mha mla_ _mla xqa batchprefill batch_prefill batchdecode batch_decode decodewithpaged "
        "decode_withpaged decodewith_paged decode_with_paged prefillwith prefill_with lean_reduction "
        "reduce_segments _fwd_kernel fwd_grouped_kernel _stage1_ _stage2_ merge_state splitkv "
        "flash_*combine mergestate persistentvariable singleprefill singledecode chunk_delta "
        "chunk_gated_delta gated_delta fused_recurrent selective_scan ssd_ mamba causal_conv1d",
    [GT_CLASS_GEMM] =
        "nvjet cijk gemm gemv cublas cutlass*tensorop cutlass*s# cutlass_#_ matmul splitk wvsplit llmm1 "
        "_mm_kernel scaled_mm xmma tensorop s16816 s1688 dot_kernel marlin machete awq gptq exllama qmm bmm_ "
        "_bmm fp8_blockwise mxfp4 streamk rocblas hipblas tgv skinny",
    [GT_CLASS_CONV] = "convolution conv2d conv3d conv_ implicit_gemm winograd im2col miopen nchwtonhwc "
                      "nhwctonchw batched_transpose",
    [GT_CLASS_NORM] =
        "rmsnorm rms_norm layernorm layer_norm groupnorm group_norm batchnorm batch_norm rowwisemoments "
        "l2norm _norm_ norm_kernel norm2d triton_red_fused*rsqrt triton_red_fused*norm "
        "triton_red_fused*pow_mean triton_red_fused*mean_mul triton_red_fused*mean_pow "
        "triton_per_fused*rsqrt triton_per_fused*norm triton_per_fused*mean",
    [GT_CLASS_QUANT] = "quant~ile fp8_cast cvt_fp to_fp4 to_fp8 per_token_group per_token_cast scaled_fp8 "
                       "block_scale",
    [GT_CLASS_ROPE] = "rotary rope fused_qk_norm",
    [GT_CLASS_ACTIVATION] = "act_and_mul silu gelu swiglu relu sigmoid swish tanh_kernel softplus",
    [GT_CLASS_SAMPLING] = "argmax argmin sampl topk top_k topp top_p multinomial gumbel penalt radixfind "
                          "radixselect radixsort bitonicsort logit_ logits_ exponential random rejection "
                          "greedy token_ids min_p philox distribution_",
    [GT_CLASS_SOFTMAX] = "softmax",
    [GT_CLASS_EMBEDDING] = "embedding indexselect gather_kernel vectorized_gather vocab lookup",
    [GT_CLASS_ELEMENTWISE] =
        "elementwise pointwise fillfunctor fill_functor functor where_kernel unrolled catarray "
        "multi_tensor_apply compare triton_ _add_ arange index_kernel scatter clamp position transpose "
        "permute fused_add add_kernel mul_kernel copy_kernel",
    [GT_CLASS_REDUCE] = "reduce scan rocprim cub:: cumsum sort sum_kernel mean",
};

/* Whether `text` begins with a part of a pattern; sets *after to what follows it. */
static bool begins_with(gt_str text, gt_str part, const char **after)
{
    const char *at = text.bytes, *end = text.bytes + text.len;
    for (size_t i = 0; i < part.len; i++) {
        if (part.bytes[i] == '#') {
            if (at == end || !gt_is_digit(*at)) return false;
            while (at < end && gt_is_digit(*at)) at++;
        } else if (at == end || *at++ != part.bytes[i]) {
            return false;
        }
    }
    *after = at;
    return true;
}

/* The first place from which a part is found, which is not empty and begins with no digit. */
static const char *find_part(gt_str text, gt_str part, gt_str unless)
{
    const char *end = text.bytes + text.len, *after, *at = text.bytes;
    for (; at < end && (at = memchr(at, part.bytes[0], (size_t)(end - at))); at++) {
        if (!begins_with((gt_str){at, (size_t)(end - at)}, part, &after)) continue;
        if (!unless.len || (size_t)(end - after) < unless.len || memcmp(after, unless.bytes, unless.len) != 0)
            return after;
    }
    return NULL;
}

/* The text up to a character, which *rest passes. */
static gt_str cut_off(gt_str *rest, char separator)
{
    const char *at = memchr(rest->bytes, separator, rest->len);
    gt_str before = {rest->bytes, at ? (size_t)(at - rest->bytes) : rest->len};
    size_t used = before.len + (at != NULL);
    *rest = (gt_str){rest->bytes + used, rest->len - used};
    return before;
}

static bool matches(gt_str text, gt_str pattern)
{
    gt_str body = pattern, part = cut_off(&body, '~'), unless = body;
    const char *after;
    if (part.bytes[0] == '^') return begins_with(text, (gt_str){part.bytes + 1, part.len - 1}, &after);
    while (part.len) {
        after = find_part(text, cut_off(&part, '*'), unless);
        if (!after) return false;
        text = (gt_str){after, (size_t)(text.bytes + text.len - after)};
    }
    return true;
}

static bool matches_any(gt_str text, const char *list)
{
    gt_str rest = {list, strlen(list)};
    while (rest.len)
        if (matches(text, cut_off(&rest, ' '))) return true;
    return false;
}

static gt_str lower_case(gt_str name, gt_buffer *buffer)
{
    buffer->len = 0;
    char *out = gt_buffer_reserve(buffer, name.len + 1);
    for (size_t i = 0; i < name.len; i++)
        out[i] = name.bytes[i] >= 'A' && name.bytes[i] <= 'Z' ? (char)(name.bytes[i] + 32) : name.bytes[i];
    buffer->len = name.len;
    return gt_buffer_str(buffer);
}

static gt_kernel_class class_of_lower(gt_str name)
{
    for (gt_kernel_class class = 0; class < GT_CLASS_OTHER; class ++)
        if (matches_any(name, patterns[class])) return class;
    return GT_CLASS_OTHER;
}

gt_kernel_class gt_kernel_class_of(gt_str name)
{
    gt_buffer buffer = {0};
    gt_kernel_class class = class_of_lower(lower_case(name, &buffer));
    gt_buffer_free(&buffer);
    return class;
}

/* ---- stems ---- */

static bool contains(gt_str text, const char *word)
{
    return gt_str_contains(text, word);
}

static const char *gemm_library(gt_str lower)
{
    static const char *const libraries[] = {"nvjet",   "cutlass", "cijk", "cublas", "gemv",
                                            "wvsplit", "triton",  "ck",   "marlin", "deep_gemm"};
    for (size_t i = 0; i < GT_LENGTH(libraries); i++)
        if (contains(lower, libraries[i])) return libraries[i];
    return "other";
}

static bool is_word_char(char c)
{
    return gt_is_letter(c) || gt_is_digit(c) || c == '_' || (c & 0x80);
}

/* Identifiers of PyTorch's kernels that say how a kernel loops, not what it computes. */
static bool is_generic(gt_str word)
{
    static const char *const whole[] = {"reduce_kernel",
                                        "gpu_index_kernel",
                                        "index_elementwise_kernel",
                                        "BinaryFunctor",
                                        "UnaryFunctor",
                                        "AUnaryFunctor",
                                        "BUnaryFunctor",
                                        "ReduceOp",
                                        "func_wrapper_t",
                                        "trampoline_kernel",
                                        "multi_tensor_apply_kernel"};
    return gt_str_starts_with(word, "gpu_kernel_impl") || gt_str_starts_with(word, "opmath_gpu_kernel") ||
           contains(word, "elementwise_kernel") || gt_str_is_one_of(word, whole, GT_LENGTH(whole));
}

/* The part of an identifier that may say what a kernel computes; empty if there is none. */
static gt_str telling_part(gt_str word)
{
    const char *kernel = memmem(word.bytes, word.len, "_kernel", strlen("_kernel"));
    if (kernel == word.bytes && word.len > 1)
        kernel = memmem(word.bytes + 1, word.len - 1, "_kernel", strlen("_kernel"));
    if (kernel || contains(word, "Functor") || contains(word, "Ops") || contains(word, "indexSelect") ||
        contains(word, "CatArray"))
        return word;
    const char *softmax = memmem(word.bytes, word.len, "softmax", strlen("softmax"));
    if (!softmax) return (gt_str){word.bytes, 0};
    return (gt_str){softmax, (size_t)(word.bytes + word.len - softmax)};
}

static void remove_all(gt_buffer *text, size_t from, const char *word)
{
    size_t len = strlen(word);
    if (from == text->len) return;
    for (char *at; (at = memmem(text->bytes + from, text->len - from, word, len));) {
        size_t place = (size_t)(at - text->bytes);
        memmove(at, at + len, text->len - place - len);
        text->len -= len;
        from = place;
    }
}

static void add_with_marks(gt_buffer *out, gt_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        bool is_digit = gt_is_digit(text.bytes[i]);
        if (is_digit && i && gt_is_digit(text.bytes[i - 1])) continue;
        gt_buffer_add(out, is_digit ? "#" : &text.bytes[i], 1);
    }
}

/* The stem of a kernel of PyTorch or of a library that it contains; false if no identifier tells anything. */
static bool add_functor(gt_buffer *out, gt_str name)
{
    static const char *const noise[] = {"vectorized_", "unrolled_", "_manual_unroll", "_nocast"};
    for (size_t at = 0; at < name.len;) {
        size_t end = at;
        while (end < name.len && is_word_char(name.bytes[end])) end++;
        gt_str word = telling_part((gt_str){name.bytes + at, end - at});
        at = end > at ? end : at + 1;
        if (!word.len || is_generic(word)) continue;
        gt_buffer plain = {0};
        gt_buffer_add(&plain, word.bytes, word.len);
        for (size_t i = 0; i < GT_LENGTH(noise); i++) remove_all(&plain, 0, noise[i]);
        bool copies = contains(gt_buffer_str(&plain), "copy_kernel");
        add_with_marks(out, copies ? (gt_str){"copy", 4} : gt_buffer_str(&plain));
        gt_buffer_free(&plain);
        return true;
    }
    return false;
}

/* A name up to its arguments. */
static void add_function(gt_buffer *out, gt_str name)
{
    enum { STEM_MAX = 80 };
    gt_buffer plain = {0};
    gt_buffer_add(&plain, name.bytes, name.len);
    remove_all(&plain, 0, "(anonymous namespace)::");
    gt_str rest = gt_buffer_str(&plain);
    const char *at = memmem(rest.bytes, rest.len, "void ", strlen("void "));
    if (at) {
        size_t place = (size_t)(at - rest.bytes);
        memmove(plain.bytes + place, plain.bytes + place + 5, plain.len - place - 5);
        plain.len -= 5;
        rest = gt_buffer_str(&plain);
    }
    rest.len = strcspn(rest.bytes, "<(");
    size_t begin = out->len;
    add_with_marks(out, rest);
    if (out->len > begin + STEM_MAX) out->len = begin + STEM_MAX;
    gt_buffer_free(&plain);
}

static void add_stem(gt_buffer *out, gt_str name, gt_kernel_class class, gt_str lower)
{
    if (class == GT_CLASS_GEMM) {
        bool reduces = contains(lower, "splitkreduce") || contains(lower, "splitk_reduce");
        gt_buffer_add_cstr(out, "gemm ");
        gt_buffer_add_cstr(out, reduces ? "reduce" : gemm_library(lower));
        return;
    }
    bool is_library = contains(name, "at::native") || contains(name, "cub::") || contains(name, "rocprim");
    if (!is_library || !add_functor(out, name)) add_function(out, name);
}

/* ---- names ---- */

enum { UNKNOWN = UINT8_MAX };

struct gt_kernel_classifier {
    const gt_interner *strings;
    uint8_t *classes; /* by string id; UNKNOWN: not looked at yet */
    uint32_t *stems;  /* by string id: a string id of `texts`; GT_STR_NONE: not looked at yet */
    size_t count;
    gt_interner *texts;
    gt_buffer lower, stem;
};

gt_kernel_classifier *gt_kernel_classifier_new(const gt_interner *strings)
{
    gt_kernel_classifier *names = gt_alloc_zero(1, sizeof *names);
    names->strings = strings;
    names->texts = gt_interner_new();
    return names;
}

void gt_kernel_classifier_use_strings(gt_kernel_classifier *names, const gt_interner *strings)
{
    names->strings = strings;
}

void gt_kernel_classifier_free(gt_kernel_classifier *names)
{
    if (!names) return;
    gt_free_all(names->classes, names->stems);
    gt_interner_free(names->texts);
    gt_buffer_free(&names->lower);
    gt_buffer_free(&names->stem);
    gt_free(names);
}

static void make_room(gt_kernel_classifier *names, uint32_t name)
{
    if (name < names->count) return;
    size_t count = gt_interner_count(names->strings);
    names->classes = gt_realloc(names->classes, count);
    names->stems = gt_realloc(names->stems, count * sizeof *names->stems);
    memset(names->classes + names->count, UNKNOWN, count - names->count);
    memset(names->stems + names->count, 0, (count - names->count) * sizeof *names->stems);
    names->count = count;
}

gt_kernel_class gt_kernel_classifier_class(gt_kernel_classifier *names, uint32_t name)
{
    make_room(names, name);
    if (names->classes[name] == UNKNOWN)
        names->classes[name] =
            (uint8_t)class_of_lower(lower_case(gt_interner_get(names->strings, name), &names->lower));
    return (gt_kernel_class)names->classes[name];
}

uint32_t gt_kernel_classifier_stem(gt_kernel_classifier *names, uint32_t name)
{
    gt_kernel_class class = gt_kernel_classifier_class(names, name);
    if (!names->stems[name]) {
        gt_str text = gt_interner_get(names->strings, name);
        names->stem.len = 0;
        add_stem(&names->stem, text, class, lower_case(text, &names->lower));
        names->stems[name] = gt_interner_add(names->texts, names->stem.bytes, names->stem.len);
    }
    return names->stems[name] - GT_STR_EMPTY;
}

gt_str gt_kernel_classifier_stem_text(const gt_kernel_classifier *names, uint32_t stem)
{
    return gt_interner_get(names->texts, stem + GT_STR_EMPTY);
}
