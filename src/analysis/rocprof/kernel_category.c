/* Kernel categories by parts of the name, in upper or lower case: the first rule of the table that has a part
 * in the name wins. The parts are crude: an AllReduce_Sum kernel is a Reduction and a convert kernel a
 * Convolution. They are those of the reports that users have, so that figures can be compared. */
#include "analysis/rocprof/kernel_category.h"
#include "base/length.h"

enum { PARTS_MAX = 4 };

static const struct {
    const char *category;
    const char *parts[PARTS_MAX]; /* the unused ones are NULL */
} rules[] = {
    {"GEMM", {"gemm", "matmul", "cijk"}}, {"Elementwise", {"elementwise"}},
    {"Reduction", {"reduce", "sum"}},     {"Convolution", {"conv"}},
    {"Normalization", {"norm"}},          {"Attention", {"flash", "attn", "fmha"}},
    {"Memory", {"copy", "memcpy"}},       {"COMM", {"rccl", "nccl"}},
};

const char *gt_kernel_category(gt_str name)
{
    for (size_t i = 0; i < GT_LENGTH(rules); i++)
        for (size_t j = 0; j < PARTS_MAX && rules[i].parts[j]; j++)
            if (gt_str_contains_nocase(name, rules[i].parts[j])) return rules[i].category;
    return "Other";
}
