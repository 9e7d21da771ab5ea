/* Categories of kernels of inference engines, from their names: first by the start of the name, then by words
 * anywhere in it, in any case. The first rule that fits decides, and within it the first case that fits.
 *
 * The words are crude ("min" is in many names, and an AllReduce kernel is a Reduce), but they are those of
 * TraceLens, so reports stay comparable. Words that can never decide, because an earlier rule or another word
 * of the same rule always does, are not listed. */
#include "analysis/phases/phases.h"

#include "base/keywords.h"

enum { CASES_MAX = 12 };

typedef struct rule {
    const char *words;
    struct {
        const char *words; /* "": the last case, which always fits */
        const char *category;
    } cases[CASES_MAX];
} rule;

/* ---- by the start: a word followed by '_', a space or the end ---- */

#define OF_GEMM(category)                                                                                    \
    {                                                                                                        \
        {"splitk", "GEMM-SplitK"}, {"fp4 int4 f4", "GEMM-FP4"}, {"fp8 int8 f8", "GEMM-FP8"},                 \
        {                                                                                                    \
            "", category                                                                                     \
        }                                                                                                    \
    }
#define OF_ATTENTION(kind)                                                                                   \
    {                                                                                                        \
        {"fwd forward", kind "-Forward"}, {"bwd backward", kind "-Backward"},                                \
        {                                                                                                    \
            "", kind "-Generic"                                                                              \
        }                                                                                                    \
    }

static const rule beginnings[] = {
    {"cijk", OF_GEMM("GEMM-CK")},
    {"sgemm dgemm hgemm gemm", OF_GEMM("GEMM-Generic")},
    {"cutlass", OF_GEMM("GEMM-CUTLASS")},
    {"cublas", OF_GEMM("GEMM-cuBLAS")},
    {"rocblas hipblas", OF_GEMM("GEMM-ROCm")},
    {"fmha flash", OF_ATTENTION("Attention")},
    {"paged pagedattention", OF_ATTENTION("PagedAttention")},
    {"softmax", {{"", "Activation-Softmax"}}},
    {"gelu", {{"", "Activation-GELU"}}},
    {"silu", {{"", "Activation-SiLU"}}},
    {"rmsnorm", {{"", "Norm-RMS"}}},
    {"layernorm", {{"", "Norm-Layer"}}},
    {"batchnorm", {{"", "Norm-Batch"}}},
    {"rope rotary", {{"", "RoPE-Generic"}}},
    {"transpose", {{"", "Memory-Transpose"}}},
    {"memcpy", {{"", "Memory-Copy"}}},
    {"memset", {{"", "Memory-Set"}}},
    {"triton", {{"", "Triton-Custom"}}},
};

/* ---- by words anywhere ---- */

/* Stands for the category of cache kernels of the kernel's framework. */
static const char of_framework[] = "KVCache-Generic";

static const rule rules[] = {
    {"paged_attention pagedattention",
     {{"reduce", "PagedAttention-Reduce"},
      {"qkv kernel prefill decode", "PagedAttention-Compute"},
      {"", "PagedAttention-Generic"}}},
    {"chunked_prefill continuous_batch batch_decode", {{"", "InferenceBatching"}}},
    {"gemm cijk matmul cublas nvjet mfma wmma tensor_op cutlass rocblas hipblas matrix_multiply",
     {{"f4gemm fp4 int4", "GEMM-FP4"},
      {"f8gemm fp8 int8", "GEMM-FP8"},
      {"cijk", "GEMM-CK"},
      {"cublas", "GEMM-cuBLAS"},
      {"cutlass", "GEMM-CUTLASS"},
      {"rocblas hipblas", "GEMM-ROCm"},
      {"nvjet", "GEMM-NVJET"},
      {"mfma", "GEMM-MFMA"},
      {"wmma", "GEMM-WMMA"},
      {"splitk", "GEMM-SplitK"},
      {"tensor_op", "GEMM-TensorOp"},
      {"", "GEMM-Generic"}}},
    {"attention fmha flash attn sdpa scaled_dot_product",
     {{"fwd forward fprop", "Attention-Forward"},
      {"bwd backward bprop", "Attention-Backward"},
      {"", "Attention-Generic"}}},
    {"conv winograd im2col fillbuffer",
     {{"fwd forward", "Conv-Forward"}, {"bwd backward", "Conv-Backward"}, {"", "Conv-Generic"}}},
    {"fused",
     {{"add norm", "Fused-AddNorm"},
      {"qk rope cache", "Fused-QKRoPECache"},
      {"mlp ffn", "Fused-MLP"},
      {"", "Fused-Generic"}}},
    {"norm", {{"rms", "Norm-RMS"}, {"layer", "Norm-Layer"}, {"batch", "Norm-Batch"}, {"", "Norm-Generic"}}},
    {"relu gelu silu swish sigmoid tanh softmax act_and_mul activation",
     {{"act_and_mul", "Activation-Gated"},
      {"silu swish", "Activation-SiLU"},
      {"gelu", "Activation-GELU"},
      {"softmax", "Activation-Softmax"},
      {"", "Activation-Generic"}}},
    {"elementwise pointwise add mul div sub scalar", {{"", "Elementwise"}}},
    {"reduce sum mean max min", {{"", "Reduce"}}},
    {"transpose permute", {{"", "Memory-Transpose"}}},
    {"copy memcpy data_transfer", {{"", "Memory-Copy"}}},
    {"memset fill_buffer", {{"", "Memory-Set"}}},
    {"reshape cast", {{"", "Memory-Reshape"}}},
    {"nccl rccl msccl allgather send recv barrier alltoall",
     {{"allgather", "Comm-AllGather"},
      {"alltoall", "Comm-AllToAll"},
      {"send", "Comm-Send"},
      {"recv", "Comm-Recv"},
      {"barrier", "Comm-Barrier"},
      {"", "Comm-Generic"}}},
    {"quant fp8 int8 int4 fp4 scale per_group per_channel",
     {{"per_group per_channel", "Quant-PerGroup"},
      {"dynamic", "Quant-Dynamic"},
      {"dequant", "Dequant"},
      {"weight", "Quant-Weight"},
      {"act", "Quant-Activation"},
      {"", "Quant-Generic"}}},
    {"rope rotary", {{"cached", "RoPE-Cached"}, {"gqa grouped", "RoPE-GQA"}, {"", "RoPE-Generic"}}},
    {"cache",
     {{"paged", NULL}, /* continue with the next rule */
      {"append update", "KVCache-Update"},
      {"compress prune", "KVCache-Compression"},
      {"", of_framework}}},
    {"embedding lookup gather scatter index",
     {{"gather", "Indexing-Gather"}, {"scatter", "Indexing-Scatter"}, {"", "Indexing-Generic"}}},
    {"sample topk topp beam sampling select choice greedy nucleus",
     {{"topk top_k", "Sampling-TopK"},
      {"topp top_p nucleus", "Sampling-TopP"},
      {"greedy", "Sampling-ArgMax"},
      {"beam", "Sampling-Beam"},
      {"", "Sampling-Generic"}}},
    {"speculative draft verify_tokens", {{"", "SpeculativeDecoding"}}},
    {"radix prefix_cache", {{"", "PrefixCaching"}}},
    {"logits token_gen next_token", {{"", "TokenGeneration"}}},
    {"triton", {{"", "Triton-Custom"}}},
};

/* ---- if no word decides ---- */

/* Case-sensitive. */
static const struct {
    const char *beginning, *category;
} generic_kernels[] = {{"_fwd_kernel", "Kernel-Forward"}, {"_bwd_kernel", "Kernel-Backward"}};

/* By words before the first "::". */
static const struct {
    const char *words, *of_cache, *of_others;
} frameworks[] = {
    {"vllm", "KVCache-vLLM", "vLLM-Custom"},
    {"sgl", "KVCache-SGLang", "SGLang-Custom"},
    {"tgi text_generation", "KVCache-TGI", "TGI-Custom"},
    {"transformers hf huggingface", "KVCache-HuggingFace", "HuggingFace-Custom"},
    {"tensorrt trt", "KVCache-TensorRT", "TensorRT-Custom"},
    {"onnx ort", "KVCache-ONNX", "ONNX-Custom"},
    {"deepspeed ds", of_framework, "DeepSpeed-Custom"},
    {"megatron mcore", of_framework, "Megatron-Custom"},
    {"fair", of_framework, "FairScale-Custom"},
};

/* ---- the tables as sets of keywords ---- */

typedef struct ready_rule {
    gt_keyword_set words, cases[CASES_MAX];
} ready_rule;

struct gt_inference_categories {
    gt_keywords *words;
    ready_rule beginnings[GT_LENGTH(beginnings)], rules[GT_LENGTH(rules)];
    gt_keyword_set frameworks[GT_LENGTH(frameworks)];
};

static void prepare(gt_keywords *words, const rule *source, size_t count, ready_rule *ready)
{
    for (size_t i = 0; i < count; i++) {
        ready[i].words = gt_keywords_add(words, source[i].words);
        for (size_t c = 0; source[i].cases[c].words[0]; c++)
            ready[i].cases[c] = gt_keywords_add(words, source[i].cases[c].words);
    }
}

gt_inference_categories *gt_inference_categories_new(void)
{
    gt_inference_categories *c = gt_alloc_zero(1, sizeof *c);
    c->words = gt_keywords_new();
    prepare(c->words, beginnings, GT_LENGTH(beginnings), c->beginnings);
    prepare(c->words, rules, GT_LENGTH(rules), c->rules);
    for (size_t i = 0; i < GT_LENGTH(frameworks); i++)
        c->frameworks[i] = gt_keywords_add(c->words, frameworks[i].words);
    return c;
}

void gt_inference_categories_free(gt_inference_categories *c)
{
    if (!c) return;
    gt_keywords_free(c->words);
    gt_free(c);
}

/* ---- looking up ---- */

static const char *case_of(const rule *source, const ready_rule *ready, const gt_keyword_set *found)
{
    size_t c = 0;
    while (source->cases[c].words[0] && !gt_keyword_sets_intersect(&ready->cases[c], found)) c++;
    return source->cases[c].category;
}

/* The part before the first '_', else before the first space, else all of it. */
static gt_str beginning_of(gt_str name)
{
    const char *end = memchr(name.bytes, '_', name.len);
    if (!end) end = memchr(name.bytes, ' ', name.len);
    return (gt_str){name.bytes, end ? (size_t)(end - name.bytes) : name.len};
}

static bool is_one_of(gt_str text, const char *list)
{
    for (const char *word = list; *word; word += strspn(word, " ")) {
        size_t len = strcspn(word, " ");
        if (len == text.len && strncasecmp(word, text.bytes, len) == 0) return true;
        word += len;
    }
    return false;
}

static const char *by_beginning(const gt_inference_categories *c, gt_str name, const gt_keyword_set *found)
{
    gt_str beginning = beginning_of(name);
    for (size_t i = 0; i < GT_LENGTH(beginnings); i++)
        if (gt_keyword_sets_intersect(&c->beginnings[i].words, found) &&
            is_one_of(beginning, beginnings[i].words))
            return case_of(&beginnings[i], &c->beginnings[i], found);
    return NULL;
}

static const char *by_words(const gt_inference_categories *c, const gt_keyword_set *found)
{
    for (size_t i = 0; i < GT_LENGTH(rules); i++) {
        if (!gt_keyword_sets_intersect(&c->rules[i].words, found)) continue;
        const char *category = case_of(&rules[i], &c->rules[i], found);
        if (category) return category;
    }
    return NULL;
}

/* Index of the framework, GT_LENGTH(frameworks) if it is unknown. */
static size_t framework_of(gt_inference_categories *c, gt_str name)
{
    size_t i = GT_LENGTH(frameworks);
    const char *end = memmem(name.bytes, name.len, "::", 2);
    if (!end) return i;
    gt_keyword_set found = gt_keywords_find(c->words, (gt_str){name.bytes, (size_t)(end - name.bytes)});
    for (i = 0; i < GT_LENGTH(frameworks); i++)
        if (gt_keyword_sets_intersect(&c->frameworks[i], &found)) break;
    return i;
}

static const char *by_framework(gt_inference_categories *c, gt_str name, bool is_cache)
{
    size_t framework = framework_of(c, name);
    if (framework == GT_LENGTH(frameworks)) return is_cache ? of_framework : "Uncategorized";
    return is_cache ? frameworks[framework].of_cache : frameworks[framework].of_others;
}

const char *gt_inference_category(gt_inference_categories *c, gt_str name)
{
    gt_keyword_set found = gt_keywords_find(c->words, name);
    const char *category = by_beginning(c, name, &found);
    if (!category) category = by_words(c, &found);
    if (category == of_framework) return by_framework(c, name, true);
    for (size_t i = 0; !category && i < GT_LENGTH(generic_kernels); i++) {
        size_t len = strlen(generic_kernels[i].beginning);
        if (name.len >= len && memcmp(name.bytes, generic_kernels[i].beginning, len) == 0)
            category = generic_kernels[i].category;
    }
    return category ? category : by_framework(c, name, false);
}
