/* Names of GEMM kernels, of AMD's Tensile (Cijk_Ailk_Bljk_...) and of NVIDIA's nvjet (nvjet_..._TNT). */
#include "model/gemm_kernel.h"

#include <string.h>

static bool three_letters(const char *at, char first)
{
    return at[0] == first && at[1] >= 'a' && at[1] <= 'z' && at[2] >= 'a' && at[2] <= 'z' && at[3] >= 'a' &&
           at[3] <= 'z';
}

/* Cijk_Ailk_Bljk with any letters for the axes. */
static bool is_tensile(gt_str name)
{
    for (size_t i = 0; i + 14 <= name.len; i++) {
        const char *at = name.bytes + i;
        if (three_letters(at, 'C') && at[4] == '_' && three_letters(at + 5, 'A') && at[9] == '_' &&
            three_letters(at + 10, 'B'))
            return !memchr(name.bytes, '\n', name.len - 1);
    }
    return false;
}

static gt_value either(gt_str name, const char *no, const char *yes)
{
    return gt_str_contains(name, no)    ? gt_value_bool(false)
           : gt_str_contains(name, yes) ? gt_value_bool(true)
                                        : gt_value_none;
}

bool gt_gemm_transpose(gt_str name, gt_value transpose[2])
{
    if (is_tensile(name)) {
        transpose[0] = either(name, "_Ailk_", "_Alik_");
        transpose[1] = either(name, "_Bljk_", "_Bjlk_");
        return true;
    }
    if (name.len < 5 || memcmp(name.bytes, "nvjet", 5) != 0) return false;
    const char *last = memrchr(name.bytes, '_', name.len);
    const char *letters = last ? last + 1 : name.bytes;
    if (name.bytes + name.len - letters < 2) return false;
    transpose[0] = gt_value_bool(letters[0] == 'T');
    transpose[1] = gt_value_bool(letters[1] == 'T');
    return true;
}
