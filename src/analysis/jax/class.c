/* Words to classes: the first word that is found decides, so their order matters. */
#include "analysis/jax/class.h"
#include "base/length.h"

static const char *const names[GT_JAX_CLASSES] = {
    [GT_JAX_CLASS_GEMM] = "GEMM",
    [GT_JAX_CLASS_FA_BWD] = "FA BWD",
    [GT_JAX_CLASS_FA_FWD] = "FA FWD",
    [GT_JAX_CLASS_FA_V3] = "FA V3",
    [GT_JAX_CLASS_CONV] = "Conv",
    [GT_JAX_CLASS_TE] = "TE",
    [GT_JAX_CLASS_COMMUNICATION] = "Communication rccl/nccl",
    [GT_JAX_CLASS_XLA] = "Uncategorized Events/XLA",
};

static const struct {
    const char *word;
    gt_jax_class class;
} words[] = {
    {"Cijk", GT_JAX_CLASS_GEMM},
    {"gemm", GT_JAX_CLASS_GEMM},
    {"nvjet", GT_JAX_CLASS_GEMM},
    {"cublasLt", GT_JAX_CLASS_GEMM},
    {"FmhaBwd", GT_JAX_CLASS_FA_BWD},
    {"flash_bprop", GT_JAX_CLASS_FA_BWD},
    {"ck_fused_attn::dk_dv_reduce_thd", GT_JAX_CLASS_FA_BWD},
    {"fmha_bwd", GT_JAX_CLASS_FA_BWD},
    {"FmhaFwd", GT_JAX_CLASS_FA_FWD},
    {"flash_fprop", GT_JAX_CLASS_FA_FWD},
    {"fmha_fwd", GT_JAX_CLASS_FA_FWD},
    {"kernel_func", GT_JAX_CLASS_FA_V3},
    {"conv_", GT_JAX_CLASS_CONV},
    {"conv.", GT_JAX_CLASS_CONV},
    {"conv-", GT_JAX_CLASS_CONV},
    {"transformer_engine", GT_JAX_CLASS_TE},
    {"te_fused_attn", GT_JAX_CLASS_TE},
    {"rccl", GT_JAX_CLASS_COMMUNICATION},
    {"nccl", GT_JAX_CLASS_COMMUNICATION},
};

const char *gt_jax_class_name(gt_jax_class class)
{
    return names[class];
}

gt_jax_class gt_jax_class_of_text(gt_str text)
{
    for (size_t i = 0; i < GT_LENGTH(words); i++)
        if (gt_str_contains(text, words[i].word)) return words[i].class;
    return GT_JAX_CLASS_XLA;
}

gt_jax_class gt_jax_class_joined(gt_jax_class kernel, gt_jax_class op)
{
    if (kernel == GT_JAX_CLASS_FA_BWD || kernel == GT_JAX_CLASS_FA_FWD || kernel == GT_JAX_CLASS_FA_V3)
        return kernel;
    return op == GT_JAX_CLASS_XLA ? kernel : op;
}

gt_jax_class gt_jax_class_of(gt_str kernel, gt_str hlo_op)
{
    return gt_jax_class_joined(gt_jax_class_of_text(kernel), gt_jax_class_of_text(hlo_op));
}
