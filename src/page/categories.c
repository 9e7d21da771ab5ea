/* What kind of work is it? The page has a colour for each of a few categories; here the many names that
 * traces use are mapped to them. The first that says something decides:
 *
 *     what it is         copies and memsets, kernels of collectives
 *     who asked for it   anything that Optimizer.step launched
 *     the op             its category of analysis/pytorch/op_category.h: "GEMM", "SDPA_fwd", ...
 *     the kernel         words in its name, from the most telling to the vaguest
 *     the op             the same words in its name
 *     the trace          what rocprofv3's report says of the kernel, which is cruder than the words here
 *
 * Only copies and memsets are GT_PAGE_COPY, and only kernels of collectives GT_PAGE_COMMUNICATION: as in the
 * sheet balance, their time counts after that of other kernels. So a kernel that copies is elementwise.
 *
 * A kernel that an op launches for something else than its main work counts as its op does: the reduction of
 * a split matrix product is part of the product. */
#include "page/work_parts.h"

#include "analysis/pytorch/op_category.h"
#include "base/keywords.h"
#include "base/memory.h"

const char *gt_page_category_name(gt_page_category category)
{
    static const char *const names[GT_PAGE_CATEGORIES] = {
        [GT_PAGE_GEMM] = "GEMM",
        [GT_PAGE_ATTENTION] = "attention",
        [GT_PAGE_CONVOLUTION] = "convolution",
        [GT_PAGE_NORMALISATION] = "normalisation",
        [GT_PAGE_ELEMENTWISE] = "elementwise",
        [GT_PAGE_REDUCTION] = "reduction",
        [GT_PAGE_OPTIMIZER] = "optimizer",
        [GT_PAGE_OTHER] = "other",
        [GT_PAGE_COMMUNICATION] = "communication",
        [GT_PAGE_COPY] = "copy",
    };
    return names[category];
}

/* ---- categories of ops and traces ---- */

typedef struct named_category {
    const char *name;
    gt_page_category category;
} named_category;

/* Categories of model/model.h and analysis/pytorch/op_category.h. Those that say little about the kernels,
 * such as "triton", "other" and "MoE_aux", are not listed. */
static const named_category op_categories[] = {
    {"GEMM", GT_PAGE_GEMM},
    {"GroupedGEMM_fwd", GT_PAGE_GEMM},
    {"GroupedGEMM_bwd", GT_PAGE_GEMM},
    {"MoE_fused", GT_PAGE_GEMM},
    {"MoE_unfused", GT_PAGE_GEMM},
    {"SDPA_fwd", GT_PAGE_ATTENTION},
    {"SDPA_bwd", GT_PAGE_ATTENTION},
    {"InferenceAttention", GT_PAGE_ATTENTION},
    {"CONV_fwd", GT_PAGE_CONVOLUTION},
    {"CONV_bwd", GT_PAGE_CONVOLUTION},
    {"NORM_fwd", GT_PAGE_NORMALISATION},
    {"NORM_bwd", GT_PAGE_NORMALISATION},
    {"RMSNorm", GT_PAGE_NORMALISATION},
    {"elementwise", GT_PAGE_ELEMENTWISE},
    {"GroupQuant", GT_PAGE_ELEMENTWISE},
    {"RoPE_fwd", GT_PAGE_ELEMENTWISE},
    {"RoPE_bwd", GT_PAGE_ELEMENTWISE},
    {"FusedRoPE", GT_PAGE_ELEMENTWISE},
    {"reduce", GT_PAGE_REDUCTION},
    {"CrossEntropy_fwd", GT_PAGE_REDUCTION},
    {"CrossEntropy_bwd", GT_PAGE_REDUCTION},
    {"multi_tensor_apply", GT_PAGE_OPTIMIZER},
    /* JAX: analysis/jax/kernels.c */
    {"FA BWD", GT_PAGE_ATTENTION},
    {"FA FWD", GT_PAGE_ATTENTION},
    {"FA V3", GT_PAGE_ATTENTION},
    {"Conv", GT_PAGE_CONVOLUTION},
};

/* rocprofv3: analysis/rocprof/kernels.c. */
static const named_category rocprof_categories[] = {
    {"Elementwise", GT_PAGE_ELEMENTWISE}, {"Reduction", GT_PAGE_REDUCTION},
    {"Convolution", GT_PAGE_CONVOLUTION}, {"Normalization", GT_PAGE_NORMALISATION},
    {"Attention", GT_PAGE_ATTENTION},     {"Memory", GT_PAGE_ELEMENTWISE},
};

/* Parts of the sheet balance that are no category of ops. */
static const named_category balance_parts[] = {
    {"communication", GT_PAGE_COMMUNICATION},
    {"copies", GT_PAGE_COPY},
};

/* The category of a name; GT_PAGE_CATEGORIES if it is not listed. */
static gt_page_category look_up(const named_category *names, size_t count, gt_str name)
{
    for (size_t i = 0; i < count; i++)
        if (gt_str_equals(name, names[i].name)) return names[i].category;
    return GT_PAGE_CATEGORIES;
}

gt_page_category gt_page_category_of_part(gt_str part)
{
    gt_page_category found = look_up(balance_parts, GT_LENGTH(balance_parts), part);
    if (found == GT_PAGE_CATEGORIES) found = look_up(op_categories, GT_LENGTH(op_categories), part);
    if (found == GT_PAGE_CATEGORIES) found = look_up(rocprof_categories, GT_LENGTH(rocprof_categories), part);
    return found == GT_PAGE_CATEGORIES ? GT_PAGE_OTHER : found;
}

/* ---- names of kernels ---- */

/* The first row with a word that the name contains, in any case, decides. Kernels that are templates have
 * their arguments in their names, so words of frameworks that say for certain what the template is come
 * first, and words that may also occur in arguments come late. */
static const struct {
    gt_page_category category;
    const char *words;
} rules[] = {
    /* PyTorch's own templates, and cuDNN's. */
    {GT_PAGE_OPTIMIZER, "multi_tensor_apply multitensorapply"},
    {GT_PAGE_ELEMENTWISE,
     "elementwise_kernel op_generic_tensor nchwtonhwckernel nhwctonchwkernel nhwcaddpadding"},
    {GT_PAGE_REDUCTION, "native::reduce_kernel"},
    /* Inductor's: the names of fused ops follow, which must not decide. First pointwise kernels, then those
     * for lists of tensors; templates ("triton_tem_") are found by their op. */
    {GT_PAGE_ELEMENTWISE, "triton_poi_"},
    {GT_PAGE_OPTIMIZER, "triton_for_"},
    {GT_PAGE_OPTIMIZER,
     "fused_adam fusedadam adam_cuda adamw fused_lamb fusedlamb fused_sgd fusedsgd adagrad "
     "koptimizer"},
    {GT_PAGE_NORMALISATION, "layernorm layer_norm rmsnorm rms_norm batchnorm batch_norm groupnorm group_norm "
                            "instancenorm instance_norm bn_fw bn_bw ln_fwd ln_bwd gammabeta rowwisemoments "
                            "cucomputegradinput computeinternalgradients welford add_norm qk_norm norm_rope "
                            "norm_quant norm_kernel normkernel"},
    {GT_PAGE_REDUCTION, "triton_red_ triton_per_ triton_mix_"},
    {GT_PAGE_ATTENTION, "attention attn fmha sdpa flash_ flash:: flashmla pagedkv batchprefill batchdecode "
                        "singleprefill singledecode mla_decode mla_prefill mla_reduce mha_fwd mha_bwd "
                        "mha_varlen compute_dot_do_o convert_dq"},
    {GT_PAGE_CONVOLUTION,
     "convolution convolve conv1d conv2d conv3d conv_ convfwd convbwd convwrw asmconv "
     "miopenconv implicit_gemm implicitgemm igemm_ fprop dgrad wgrad winograd scudnn im2col "
     "im2d2col col2im depthwise fft2d_r2c fft2d_c2r flip_filter bwd_weight"},
    {GT_PAGE_GEMM,
     "gemm gemv nvjet cijk_ matmul xmma cublas splitk hipblas rocblas cutlass marlin machete gptq "
     "llmm1 fused_moe ck_moe _mm_ bmm addmm dot_kernel triton_tem_"},
    {GT_PAGE_REDUCTION, "reduce softmax logsumexp argmax argmin nll_loss nllloss cross_entropy crossentropy "
                        "sum_kernel mean_kernel moe_sum"},
    {GT_PAGE_ELEMENTWISE, "rotary"}, /* "rotary_embedding" looks nothing up */
    {GT_PAGE_OTHER,
     "radix sort topk top_k scan sampl scatter gather index embedding cache histogram interpolat "
     "pool nonzero cub:: rocprim"},
    {GT_PAGE_ELEMENTWISE,
     "elementwise pointwise fill copy cast convert quant rope gelu silu relu swiglu "
     "sigmoid tanh act_and_mul activation dropout transpose permute nchwtonhwc nhwctonchw "
     "subtensorop optensor op1dtensor op2dtensor op3dtensor op4dtensor op5dtensor "
     "scalepackedtensor tensortransform curand distribution masked triu tril concatenate broadcast "
     "add_kernel mul_kernel"},
    {GT_PAGE_NORMALISATION, "norm"},
    /* XLA's: loops over all elements. */
    {GT_PAGE_ELEMENTWISE, "loop_ wrapped_ fusion"},
};

struct gt_page_categories {
    gt_interner *strings;
    gt_op_categories *of_ops;
    gt_keywords *words;
    gt_keyword_set sets[GT_LENGTH(rules)];
};

gt_page_categories *gt_page_categories_new(gt_interner *strings)
{
    gt_page_categories *c = gt_alloc_zero(1, sizeof *c);
    c->strings = strings;
    c->of_ops = gt_op_categories_new(strings, NULL);
    c->words = gt_keywords_new();
    for (size_t i = 0; i < GT_LENGTH(rules); i++) c->sets[i] = gt_keywords_add(c->words, rules[i].words);
    return c;
}

void gt_page_categories_free(gt_page_categories *c)
{
    if (!c) return;
    gt_op_categories_free(c->of_ops);
    gt_keywords_free(c->words);
    gt_free(c);
}

/* GT_PAGE_CATEGORIES if no word decides. */
static gt_page_category by_words(gt_page_categories *c, gt_str name)
{
    gt_keyword_set found = gt_keywords_find(c->words, name);
    for (size_t i = 0; i < GT_LENGTH(rules); i++)
        if (gt_keyword_sets_intersect(&found, &c->sets[i])) return rules[i].category;
    return GT_PAGE_CATEGORIES;
}

gt_page_category gt_page_categories_find(gt_page_categories *c, uint32_t op, uint32_t category,
                                         const gt_page_kernel *kernel, bool in_optimizer)
{
    gt_str name = gt_interner_get(c->strings, kernel->name);
    if (kernel->kind != GT_KIND_KERNEL) return GT_PAGE_COPY;
    if (kernel->communicates) return GT_PAGE_COMMUNICATION;
    if (in_optimizer) return GT_PAGE_OPTIMIZER;
    if (category == GT_STR_NONE && op != GT_STR_NONE)
        category = gt_op_categories_of(c->of_ops, op, kernel->name);
    gt_str said = gt_interner_get(c->strings, category);
    gt_page_category found = look_up(op_categories, GT_LENGTH(op_categories), said);
    if (found == GT_PAGE_CATEGORIES) found = by_words(c, name);
    if (found == GT_PAGE_CATEGORIES) found = by_words(c, gt_interner_get(c->strings, op));
    if (found == GT_PAGE_CATEGORIES) found = look_up(rocprof_categories, GT_LENGTH(rocprof_categories), said);
    return found == GT_PAGE_CATEGORIES ? GT_PAGE_OTHER : found;
}
