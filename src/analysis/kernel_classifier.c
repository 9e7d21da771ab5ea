#include "analysis/kernel_classifier.h"

#include "base/keywords.h"

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
    [GT_CLASS_REDUCE] = "reduce",       [GT_CLASS_OPTIMIZER] = "optimizer",
    [GT_CLASS_OTHER] = "other",
};

const char *gt_kernel_class_name(gt_kernel_class class)
{
    return class_names[class];
}

/* The first row decides of which the name contains a word of `words` and, if there are any, one of `with`, in
 * any case. Kernels that are templates have their arguments in their names, and fused ones the ops that they
 * were made of. So rows that say for certain what a kernel is come first, words that may also occur in
 * arguments late, and the vaguest last. */
static const struct {
    gt_kernel_class class;
    const char *words, *with;
} rules[] = {
    {GT_CLASS_COPY, "__amd_rocclr_ fillbuffer copybuffer", NULL},
    /* Inductor's: pointwise kernels, reductions, and those for lists of tensors. Templates ("triton_tem_")
     * are found by their op. */
    {GT_CLASS_OPTIMIZER, "triton_for_", NULL},
    {GT_CLASS_ACTIVATION, "triton_poi_", "silu gelu relu sigmoid swiglu"},
    {GT_CLASS_ROPE, "triton_poi_", "rope rotary"},
    {GT_CLASS_QUANT, "triton_poi_", "quant to_fp8"},
    {GT_CLASS_ELEMENTWISE, "triton_poi_", NULL},
    {GT_CLASS_NORM, "triton_red_ triton_per_ triton_mix_", "rsqrt norm pow_mean mean_mul mean_pow"},
    {GT_CLASS_NORM, "triton_per_", "mean"},
    {GT_CLASS_SOFTMAX, "triton_red_ triton_per_ triton_mix_", "softmax"},
    {GT_CLASS_REDUCE, "triton_red_ triton_per_ triton_mix_", NULL},
    {GT_CLASS_COMM,
     "nccl rccl msccl cross_device_reduce all_reduce allreduce all_gather allgather reduce_scatter "
     "reducescatter all_to_all alltoall all_toall allto_all quickreduce nvshmem deepep deep_ep "
     "internode::dispatch internode::combine intranode::dispatch intranode::combine low_latency::dispatch "
     "low_latency::combine ::dispatch_kernel ::combine_kernel multimem symm_mem one_shot two_shot lamport",
     NULL},
    /* mixtures of experts */
    {GT_CLASS_MOE_ROUTE,
     "topkgating topk_gating topkforward topk_forward topksoftmax topk_softmax _topk moe_align moe_sum "
     "moe_sorting moe_fused_gate moe_scatter moe_gather moe_permute moe_unpermute moe_reduce moesorting "
     "combined_routing sum_bitmatrix expert_map expert_offset count_and_sort_expert expandinputrows "
     "finalizemoe finalize_matmul routingindices routing_kernel routingmain silu_mul_masked ep_scatter "
     "ep_gather doactivation biased_grouped moe_forward compute_expert permute_kernel unpermute",
     NULL},
    {GT_CLASS_MOE_ROUTE, "moe", "topk"},
    {GT_CLASS_MOE_GEMM,
     "matmul_ogs fused_moe moe_mm groupedgemm grouped_gemm groupgemm group_gemm m_grouped mgrouped "
     "gemmgrouped "
     "ptrarray fmoe kernel_moe marlin_moe",
     NULL},
    {GT_CLASS_MOE_GEMM, "moe", "gemm matmul stage1 stage2 mlp ck"},
    {GT_CLASS_KV_CACHE,
     "reshape_and_cache storecache store_cache storekvcache store_kvcache storekv_cache store_kv_cache "
     "kvindices kv_indices kvcache_update kvcache_copy kvcache_store concat_and_cache set_mla_kv updatekv "
     "update_kv appendpaged append_paged copy_blocks swap_blocks gather_cache cache_kernel write_kv "
     "index_put_kernel indices_and_cache cp_gather set_kv_buffer kv_buffer fused_qk_norm_rope_cache",
     NULL},
    /* PyTorch's own templates, and cuDNN's */
    {GT_CLASS_OPTIMIZER,
     "multi_tensor_apply multitensorapply fused_adam fusedadam adam_cuda adamw fused_lamb fusedlamb "
     "fused_sgd "
     "fusedsgd adagrad koptimizer",
     NULL},
    {GT_CLASS_SAMPLING, "argmaxops argminops", NULL},
    {GT_CLASS_REDUCE, "native::reduce_kernel", NULL},
    {GT_CLASS_NORM, "elementwise_kernel", "batch_norm groupnorm"},
    {GT_CLASS_ACTIVATION, "elementwise_kernel", "silu gelu relu sigmoid tanh_kernel softplus"},
    {GT_CLASS_SAMPLING, "elementwise_kernel elementwise_grid_stride", "exponential multinomial"},
    {GT_CLASS_ELEMENTWISE,
     "elementwise_kernel elementwise_grid_stride dropout op_generic_tensor nchwtonhwckernel nhwctonchwkernel "
     "nhwcaddpadding upsample "
     "interpolat",
     NULL},
    {GT_CLASS_NORM,
     "layernorm layer_norm rmsnorm rms_norm batchnorm batch_norm groupnorm group_norm instancenorm "
     "instance_norm l2norm norm2d bn_fw bn_bw ln_fwd ln_bwd gammabeta rowwisemoments cucomputegradinput "
     "computeinternalgradients fusedparams welford",
     NULL},
    {GT_CLASS_SAMPLING, "sampling", NULL}, /* flashinfer::sampling */
    {GT_CLASS_ATTENTION,
     "attention attn fmha flash_ flash:: flashmla flashdecod sdpa mha_ _mha mla_ _mla xqa pagedkv "
     "batchprefill "
     "batch_prefill batchdecode batch_decode decodewithpaged decode_withpaged decodewith_paged "
     "decode_with_paged prefillwith prefill_with lean_reduction reduce_segments fwd_grouped_kernel "
     "merge_state mergestate splitkv persistentvariable singleprefill singledecode compute_dot_do_o "
     "convert_dq "
     "chunk_delta chunk_gated_delta gated_delta fused_recurrent selective_scan ssd_ mamba causal_conv1d",
     NULL},
    {GT_CLASS_CONV,
     "convolution convolve conv1d conv2d conv3d conv_ convfwd convbwd convwrw asmconv miopenconv "
     "implicit_gemm "
     "implicitgemm igemm_ fprop dgrad wgrad winograd scudnn im2col im2d2col col2im depthwise fft2d_r2c "
     "fft2d_c2r flip_filter bwd_weight",
     NULL},
    {GT_CLASS_QUANT, "mxfp4 nvfp4", "quant"},
    {GT_CLASS_GEMM,
     "gemm gemv nvjet cijk matmul xmma cublas cutlass splitk wvsplit llmm1 _mm_ scaled_mm addmm bmm s16816 "
     "s1688 "
     "dot_kernel marlin machete awq gptq exllama qmm fp8_blockwise mxfp4 streamk rocblas hipblas tgv skinny "
     "triton_tem_",
     NULL},
    {GT_CLASS_NORM, "add_norm qk_norm norm_rope norm_quant _norm_ norm_kernel normkernel", NULL},
    {GT_CLASS_OTHER, "quantile", NULL},
    {GT_CLASS_QUANT,
     "quant fp8_cast cvt_fp to_fp4 to_fp8 per_token_group per_token_cast scaled_fp8 block_scale", NULL},
    {GT_CLASS_ROPE, "rotary rope", NULL},
    {GT_CLASS_ACTIVATION, "act_and_mul silu gelu swiglu relu sigmoid swish tanh_kernel softplus", NULL},
    {GT_CLASS_REDUCE, "nll_loss nllloss cross_entropy crossentropy", NULL},
    {GT_CLASS_SAMPLING,
     "argmax argmin sampl topk top_k topp top_p multinomial gumbel penalt radixfind radixselect radixsort "
     "bitonicsort logit_ logits_ exponential random rejection greedy token_ids min_p philox",
     NULL},
    {GT_CLASS_SOFTMAX, "softmax logsumexp", NULL},
    {GT_CLASS_EMBEDDING, "embedding indexselect gather_kernel vectorized_gather vocab lookup", NULL},
    {GT_CLASS_ATTENTION, "_fwd_kernel _stage1_ _stage2_ flashinfer flash_infer", NULL},
    {GT_CLASS_MOE_ROUTE, "moe expert", NULL},
    {GT_CLASS_KV_CACHE, "cache slot_mapping block_table req_to_token kv_pool", NULL},
    {GT_CLASS_REDUCE, "reduce sum_kernel mean_kernel cumsum scan rocprim cub::", NULL},
    {GT_CLASS_ELEMENTWISE,
     "elementwise pointwise functor where_kernel unrolled catarray fill copy cast convert compare triton_ "
     "_add_ "
     "fused_add add_kernel mul_kernel arange index_kernel scatter clamp position transpose permute "
     "activation "
     "tanh subtensorop optensor op1dtensor op2dtensor op3dtensor op4dtensor op5dtensor scalepackedtensor "
     "tensortransform curand distribution masked triu tril concatenate broadcast",
     NULL},
    {GT_CLASS_REDUCE, "sort mean", NULL},
    {GT_CLASS_NORM, "norm", NULL},
    {GT_CLASS_ELEMENTWISE, "loop_ wrapped_ fusion", NULL}, /* XLA's */
    {GT_CLASS_CONV, "conv", NULL},
};

/* Names that begin like these. */
static const struct {
    gt_kernel_class class;
    const char *beginning;
} beginnings[] = {{GT_CLASS_COPY, "memcpy"},
                  {GT_CLASS_COPY, "memset"},
                  {GT_CLASS_COMM, "dispatch_kernel"},
                  {GT_CLASS_COMM, "combine_kernel"}};

/* ---- stems ---- */

static bool contains(gt_str text, const char *word)
{
    return gt_str_contains(text, word);
}

static const char *gemm_library(gt_str name)
{
    static const char *const libraries[] = {"nvjet",   "cutlass", "cijk", "cublas", "gemv",
                                            "wvsplit", "triton",  "ck",   "marlin", "deep_gemm"};
    for (size_t i = 0; i < GT_LENGTH(libraries); i++)
        if (gt_str_contains_nocase(name, libraries[i])) return libraries[i];
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

static void add_stem(gt_buffer *out, gt_str name, gt_kernel_class class)
{
    if (class == GT_CLASS_GEMM) {
        bool reduces =
            gt_str_contains_nocase(name, "splitkreduce") || gt_str_contains_nocase(name, "splitk_reduce");
        gt_buffer_add_cstr(out, "gemm ");
        gt_buffer_add_cstr(out, reduces ? "reduce" : gemm_library(name));
        return;
    }
    bool is_library = contains(name, "at::native") || contains(name, "cub::") || contains(name, "rocprim");
    if (!is_library || !add_functor(out, name)) add_function(out, name);
}

/* ---- names ---- */

enum { UNKNOWN = UINT8_MAX };

struct gt_kernel_classifier {
    const gt_interner *strings;
    gt_keywords *words;
    gt_keyword_set sets[GT_LENGTH(rules)], with[GT_LENGTH(rules)];
    uint8_t *classes; /* by string id; UNKNOWN: not looked at yet */
    uint32_t *stems;  /* by string id: a string id of `texts`; GT_STR_NONE: not looked at yet */
    size_t class_count, stem_count;
    gt_interner *texts;
    gt_buffer stem;
};

gt_kernel_classifier *gt_kernel_classifier_new(const gt_interner *strings)
{
    gt_kernel_classifier *names = gt_alloc_zero(1, sizeof *names);
    names->strings = strings;
    names->texts = gt_interner_new();
    names->words = gt_keywords_new();
    for (size_t i = 0; i < GT_LENGTH(rules); i++) {
        names->sets[i] = gt_keywords_add(names->words, rules[i].words);
        if (rules[i].with) names->with[i] = gt_keywords_add(names->words, rules[i].with);
    }
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
    gt_keywords_free(names->words);
    gt_interner_free(names->texts);
    gt_buffer_free(&names->stem);
    gt_free(names);
}

static gt_kernel_class find_class(const gt_kernel_classifier *names, gt_str name)
{
    for (size_t i = 0; i < GT_LENGTH(beginnings); i++)
        if (strncasecmp(name.bytes, beginnings[i].beginning, strlen(beginnings[i].beginning)) == 0)
            return beginnings[i].class;
    gt_keyword_set found = gt_keywords_find(names->words, name);
    for (size_t i = 0; i < GT_LENGTH(rules); i++)
        if (gt_keyword_sets_intersect(&found, &names->sets[i]) &&
            (!rules[i].with || gt_keyword_sets_intersect(&found, &names->with[i])))
            return rules[i].class;
    return GT_CLASS_OTHER;
}

gt_kernel_class gt_kernel_classifier_class(gt_kernel_classifier *names, uint32_t name)
{
    size_t count = names->class_count;
    if (name >= count) {
        names->class_count = gt_interner_count(names->strings);
        names->classes = gt_realloc(names->classes, names->class_count);
        memset(names->classes + count, UNKNOWN, names->class_count - count);
    }
    if (names->classes[name] == UNKNOWN)
        names->classes[name] = (uint8_t)find_class(names, gt_interner_get(names->strings, name));
    return (gt_kernel_class)names->classes[name];
}

uint32_t gt_kernel_classifier_stem(gt_kernel_classifier *names, uint32_t name)
{
    gt_kernel_class class = gt_kernel_classifier_class(names, name);
    size_t count = names->stem_count;
    if (name >= count) {
        names->stem_count = gt_interner_count(names->strings);
        names->stems = gt_realloc(names->stems, names->stem_count * sizeof *names->stems);
        memset(names->stems + count, 0, (names->stem_count - count) * sizeof *names->stems);
    }
    if (!names->stems[name]) {
        names->stem.len = 0;
        add_stem(&names->stem, gt_interner_get(names->strings, name), class);
        names->stems[name] = gt_interner_add(names->texts, names->stem.bytes, names->stem.len);
    }
    return names->stems[name] - GT_STR_EMPTY;
}

gt_str gt_kernel_classifier_stem_text(const gt_kernel_classifier *names, uint32_t stem)
{
    return gt_interner_get(names->texts, stem + GT_STR_EMPTY);
}
