/* The table of GPUs: figures, sets of figures and names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/memory.h"
#include "model/arch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* TFLOP/s without sparsity, GB/s and GB as the vendors state them in their data sheets and white papers,
 * typed from there and not from the table of the program. Figures stated only with sparsity are written as
 * such and halved here. 0: not stated. */
#define SPARSE(tflops) ((tflops) / 2.0)
static const struct {
    const char *name;
    double gb_per_s, gb;
    double fp64, fp32;                /* without matrix units */
    double m64, m32, m16, m8, m4, i8; /* matrix units: fp64; fp32 or TF32; fp16; fp8; fp4; int8 */
} stated[] = {
    {"A10", 600, 24, 0, 31.2, 0, 62.5, 125, 0, 0, 250},
    {"A100", 2039, 80, 9.7, 19.5, 19.5, 156, 312, 0, 0, 624},
    {"A100_40GB", 1555, 40, 9.7, 19.5, 19.5, 156, 312, 0, 0, 624},
    {"A100_PCIE", 1935, 80, 9.7, 19.5, 19.5, 156, 312, 0, 0, 624},
    {"A800", 2039, 80, 9.7, 19.5, 19.5, SPARSE(312), SPARSE(624), 0, 0, SPARSE(1248)},
    {"A800_PCIE", 1935, 80, 9.7, 19.5, 19.5, SPARSE(312), SPARSE(624), 0, 0, SPARSE(1248)},
    {"B200", 7700, 180, 37, 75, 37, SPARSE(2200), SPARSE(4500), SPARSE(9000), SPARSE(18000), SPARSE(9000)},
    {"B300", 8000, 288, 1.25, 75, 1.25, SPARSE(2250), SPARSE(4500), SPARSE(9000), 13125, 0},
    {"GH200", 4000, 96, 34, 67, 67, SPARSE(989), SPARSE(1979), SPARSE(3958), 0, SPARSE(3958)},
    {"GH200_144GB", 4900, 144, 34, 67, 67, SPARSE(989), SPARSE(1979), SPARSE(3958), 0, SPARSE(3958)},
    {"H100", 3350, 80, 34, 67, 67, SPARSE(989), SPARSE(1979), SPARSE(3958), 0, SPARSE(3958)},
    {"H100_PCIE", 2000, 80, 26, 51, 51, SPARSE(756), SPARSE(1513), SPARSE(3026), 0, SPARSE(3026)},
    {"H20", 4000, 96, 1, 44, 0, 74, 148, 296, 0, 296},
    {"H200", 4800, 141, 34, 67, 67, SPARSE(989), SPARSE(1979), SPARSE(3958), 0, SPARSE(3958)},
    {"H800", 3350, 80, 1, 67, 1, SPARSE(989), SPARSE(1979), SPARSE(3958), 0, SPARSE(3958)},
    {"L4", 300, 24, 0, 30.3, 0, SPARSE(120), SPARSE(242), SPARSE(485), 0, SPARSE(485)},
    {"L40", 864, 48, 0, 90.5, 0, 90.5, 181.05, 362, 0, 362},
    {"L40S", 864, 48, 0, 91.6, 0, 183, 362.05, 733, 0, 733},
    {"MI210", 1600, 64, 22.6, 22.6, 45.3, 45.3, 181, 0, 0, 181},
    {"MI250X", 3200, 128, 47.9, 47.9, 95.7, 95.7, 383, 0, 0, 383},
    {"MI250X_GCD", 1600, 64, 23.9, 23.9, 47.9, 47.9, 191.5, 0, 0, 191.5},
    {"MI300A", 5300, 128, 61.3, 122.6, 122.6, 122.6, 980.6, 1961.2, 0, 1961.2},
    {"MI300X", 5300, 192, 81.7, 163.4, 163.4, 163.4, 1307.4, 2614.9, 0, 2614.9},
    {"MI325X", 6000, 256, 81.7, 163.4, 163.4, 163.4, 1307.4, 2614.9, 0, 2614.9},
    {"MI350X", 8000, 288, 72.1, 144.2, 72.1, 144.2, 2300, 4600, 9200, 4600},
    {"MI355X", 8000, 288, 78.6, 157.3, 78.6, 157.3, 2500, 5000, 10000, 5000},
    {"RTX_3090", 936, 24, 0.56, 35.6, 0, 35.6, 71, 0, 0, 284},
    {"RTX_4090", 1008, 24, 1.29, 82.6, 0, 82.6, 165.2, 330.3, 0, 660.6},
    {"RTX_5090", 1792, 32, 1.64, 104.8, 0, 104.8, 209.5, 419, SPARSE(3352), 838},
    {"RTX_6000_ADA", 960, 48, 0, 91.1, 0, SPARSE(364.2), SPARSE(728.5), SPARSE(1457), 0, SPARSE(1457)},
    {"RTX_A6000", 768, 48, 0, 38.7, 0, SPARSE(154.8), SPARSE(309.7), 0, 0, SPARSE(619.3)},
    {"RTX_PRO_6000", 1792, 96, 0, 125, 0, 251.9, 503.8, 1007.6, SPARSE(4030), 1007.6},
    {"RX_7900_XTX", 960, 24, 0, 61.4, 0, 0, 122.8, 0, 0, 122.8},
    {"T4", 300, 16, 0, 8.1, 0, 0, 65, 0, 0, 130},
    {"V100", 900, 32, 7.8, 15.7, 0, 0, 125, 0, 0, 0},
    {"V100_PCIE", 900, 32, 7, 14, 0, 0, 112, 0, 0, 0},
    {"W7900", 864, 48, 0, 61.3, 0, 0, 122.6, 0, 0, 122.6},
};

/* Documents of one GPU round differently: 67 and 66.9, 2.5 P and 2516.6, 3.2 TB/s and 3276.8. */
static void expect_figure(const char *gpu, const char *what, double expected, double found)
{
    if (expected > 0 && !(fabs(found / expected - 1) < 0.025))
        fail_msg("%s, %s: %g instead of %g", gpu, what, found, expected);
}

static void figures_are_those_of_the_vendors(void **state)
{
    (void)state;
    size_t count;
    const gt_gpu_arch *gpus = gt_gpu_archs(&count);
    assert_int_equal(count, GT_LENGTH(stated));
    for (size_t i = 0; i < count; i++) {
        const gt_gpu_arch *gpu = &gpus[i];
        const char *name = gpu->name;
        assert_string_equal(name, stated[i].name); /* sorted */
        expect_figure(name, "GB/s", stated[i].gb_per_s, gpu->mem_bw_gbps);
        expect_figure(name, "GB", stated[i].gb, gpu->memory_gb);
        expect_figure(name, "vector_fp64", stated[i].fp64, gt_gpu_arch_peak(gpu, "vector_fp64"));
        expect_figure(name, "vector_fp32", stated[i].fp32, gt_gpu_arch_peak(gpu, "vector_fp32"));
        expect_figure(name, "matrix_fp64", stated[i].m64, gt_gpu_arch_peak(gpu, "matrix_fp64"));
        expect_figure(name, "matrix_fp32", stated[i].m32, gt_gpu_arch_peak(gpu, "matrix_fp32"));
        expect_figure(name, "matrix_fp16", stated[i].m16, gt_gpu_arch_peak(gpu, "matrix_fp16"));
        expect_figure(name, "matrix_fp8", stated[i].m8, gt_gpu_arch_peak(gpu, "matrix_fp8"));
        expect_figure(name, "matrix_fp4", stated[i].m4, gt_gpu_arch_peak(gpu, "matrix_fp4"));
        expect_figure(name, "matrix_int8", stated[i].i8, gt_gpu_arch_peak(gpu, "matrix_int8"));
        /* a type that no document states has no rate */
        assert_true(stated[i].m8 > 0 || isnan(gt_gpu_arch_peak(gpu, "matrix_fp8")));
        assert_true(stated[i].m4 > 0 || isnan(gt_gpu_arch_peak(gpu, "matrix_fp4")));
        assert_true(stated[i].i8 > 0 || isnan(gt_gpu_arch_peak(gpu, "matrix_int8")));
        assert_true(stated[i].fp64 > 0 || isnan(gt_gpu_arch_peak(gpu, "vector_fp64")));
    }
}

static bool is_known_spec(const char *spec)
{
    static const char *const specs[] = {"matrix_fp64", "matrix_fp32", "matrix_fp16", "matrix_bf16",
                                        "matrix_fp8",  "matrix_fp4",  "matrix_int8", "vector_fp64",
                                        "vector_fp32", "vector_fp16", "vector_bf16"};
    for (size_t i = 0; i < GT_LENGTH(specs); i++)
        if (strcmp(specs[i], spec) == 0) return true;
    return false;
}

static void check_list(const gt_peak *peaks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_true(is_known_spec(peaks[i].spec));
        assert_true(peaks[i].tflops > 0);
        assert_true(peaks[i].source && strlen(peaks[i].source) > 10);
        for (size_t j = 0; j < i; j++) assert_string_not_equal(peaks[i].spec, peaks[j].spec);
    }
}

/* bf16 as fast as fp16, narrower types at least as fast, achievable rates below peaks. */
static void figures_are_consistent(void **state)
{
    (void)state;
    size_t count;
    const gt_gpu_arch *gpus = gt_gpu_archs(&count);
    static const char *const order[] = {"matrix_fp64", "matrix_fp32", "matrix_fp16", "matrix_fp8",
                                        "matrix_fp4"};
    for (size_t i = 0; i < count; i++) {
        const gt_gpu_arch *gpu = &gpus[i];
        check_list(gpu->peaks, gpu->peaks_count);
        check_list(gpu->achievable, gpu->achievable_count);
        check_list(gpu->tracelens, gpu->tracelens_count);
        assert_true(gpu->memory_source && gpu->set == GT_PEAKS_PEAK);
        double bf16 = gt_gpu_arch_peak(gpu, "matrix_bf16"), before = 0;
        assert_true(isnan(bf16) || bf16 == gt_gpu_arch_peak(gpu, "matrix_fp16"));
        assert_true(gt_gpu_arch_peak(gpu, "matrix_fp16") > gt_gpu_arch_peak(gpu, "vector_fp32"));
        for (size_t k = 0; k < GT_LENGTH(order); k++) {
            double rate = gt_gpu_arch_peak(gpu, order[k]);
            if (isnan(rate)) continue;
            assert_true(rate >= before);
            before = rate;
        }
        for (size_t k = 0; k < gpu->achievable_count; k++)
            assert_true(gpu->achievable[k].tflops < gt_gpu_arch_peak(gpu, gpu->achievable[k].spec));
    }
}

static void expect_set(const char *name, gt_peak_set set, const char *description, double bf16, double fp64,
                       double vector_fp32, double int8)
{
    gt_arena arena = {0};
    gt_gpu_arch own;
    const gt_gpu_arch *chosen;
    gt_error error;
    gt_buffer text = {0};
    assert_true(gt_gpu_arch_choose(name, NULL, set, &arena, &own, &chosen, &error));
    gt_gpu_arch_describe(chosen, &text);
    assert_string_equal(gt_buffer_str(&text).bytes, description);
    assert_true(gt_gpu_arch_peak(chosen, "matrix_bf16") == bf16);
    assert_true(gt_gpu_arch_peak(chosen, "matrix_fp64") == fp64);
    assert_true(gt_gpu_arch_peak(chosen, "vector_fp32") == vector_fp32);
    assert_true(gt_gpu_arch_peak(chosen, "matrix_int8") == int8);
    gt_buffer_free(&text);
    gt_arena_free(&arena);
}

static void sets_of_figures(void **state)
{
    (void)state;
    const char *some = ", achievable rates of matrix_fp16, matrix_bf16, matrix_fp8; peak rates of the rest";
    char text[200];
    expect_set("MI300X", GT_PEAKS_PEAK, "MI300X, peak rates", 1307.4, 163.4, 163.4, 2614.9);
    expect_set("MI325X", GT_PEAKS_PEAK, "MI325X, peak rates", 1307.4, 163.4, 163.4, 2614.9);
    snprintf(text, sizeof text, "MI300X%s", some);
    expect_set("MI300X", GT_PEAKS_ACHIEVABLE, text, 708, 163.4, 163.4, 2614.9);
    snprintf(text, sizeof text, "MI325X%s", some);
    expect_set("MI325X", GT_PEAKS_ACHIEVABLE, text, 843, 163.4, 163.4, 2614.9);
    expect_set("MI300X", GT_PEAKS_TRACELENS, "MI300X, rates of TraceLens", 708, 81, 81, 2600);
    expect_set("MI325X", GT_PEAKS_TRACELENS, "MI325X, rates of TraceLens", 843, 97, 97, 3094);
    expect_set("H100", GT_PEAKS_TRACELENS, "H100, peak rates", 989.4, 66.9, 66.9, 1978.9);

    gt_gpu_arch own;
    const gt_gpu_arch *chosen;
    gt_error error;
    gt_arena arena = {0};
    assert_false(gt_gpu_arch_choose("H100", NULL, GT_PEAKS_ACHIEVABLE, &arena, &own, &chosen, &error));
    assert_string_equal(error.text, "no achievable rates are known for H100, only peak rates");
    assert_true(gt_gpu_arch_choose(NULL, NULL, GT_PEAKS_ACHIEVABLE, &arena, &own, &chosen, &error));
    assert_null(chosen);
    gt_arena_free(&arena);

    gt_peak_set set;
    assert_true(gt_peak_set_parse("achievable", &set) && set == GT_PEAKS_ACHIEVABLE);
    assert_false(gt_peak_set_parse("", &set) || gt_peak_set_parse("Peak", &set));
}

/* Names as users type them, and as torch.cuda.get_device_name() gives them. */
static void names_are_matched(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"mi300x", "MI300X"},
        {"AMD Instinct MI300X", "MI300X"},
        {"AMD Instinct MI300X OAM", "MI300X"},
        {"AMD Instinct MI300X VF", "MI300X"},
        {"AMD Instinct(TM) MI325X", "MI325X"},
        {"amd_instinct_mi355x", "MI355X"},
        {"AMD Instinct MI250X", "MI250X"},
        {"AMD Instinct MI250X / MI250", "MI250X_GCD"},
        {"MI250X GCD", "MI250X_GCD"},
        {"AMD Instinct MI210", "MI210"},
        {"AMD Instinct MI300A", "MI300A"},
        {"H100", "H100"},
        {"h100-sxm", "H100"},
        {"NVIDIA H100 80GB HBM3", "H100"},
        {"H100 PCIe", "H100_PCIE"},
        {"NVIDIA H100 PCIe", "H100_PCIE"},
        {"h200", "H200"},
        {"NVIDIA H200", "H200"},
        {"NVIDIA GH200 480GB", "GH200"},
        {"NVIDIA GH200 144G HBM3e", "GH200_144GB"},
        {"NVIDIA H20", "H20"},
        {"NVIDIA H800", "H800"},
        {"NVIDIA B200", "B200"},
        {"NVIDIA B300 SXM6 AC", "B300"},
        {"NVIDIA A100-SXM4-80GB", "A100"},
        {"NVIDIA A100-SXM4-40GB", "A100_40GB"},
        {"A100-PCIE-40GB", "A100_40GB"},
        {"NVIDIA A100 80GB PCIe", "A100_PCIE"},
        {"NVIDIA A800-SXM4-80GB", "A800"},
        {"NVIDIA A800 80GB PCIe", "A800_PCIE"},
        {"NVIDIA A10", "A10"},
        {"Tesla T4", "T4"},
        {"Tesla V100-SXM2-16GB", "V100"},
        {"Tesla V100-PCIE-32GB", "V100_PCIE"},
        {"NVIDIA L4", "L4"},
        {"NVIDIA L40", "L40"},
        {"l40s", "L40S"},
        {"RTX 4090", "RTX_4090"},
        {"rtx4090", "RTX_4090"},
        {"RTX_4090", "RTX_4090"},
        {"rtx-4090", "RTX_4090"},
        {"4090", "RTX_4090"},
        {"NVIDIA GeForce RTX 4090", "RTX_4090"},
        {"GeForce RTX 3090", "RTX_3090"},
        {" NVIDIA GeForce RTX 5090 GPU ", "RTX_5090"},
        {"NVIDIA RTX 6000 Ada Generation", "RTX_6000_ADA"},
        {"NVIDIA RTX A6000", "RTX_A6000"},
        {"RTX PRO 6000", "RTX_PRO_6000"},
        {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "RTX_PRO_6000"},
        {"AMD Radeon RX 7900 XTX", "RX_7900_XTX"},
        {"7900xtx", "RX_7900_XTX"},
        {"AMD Radeon PRO W7900", "W7900"},
        {"w7900", "W7900"},
    };
    /* Other models are slower or faster. */
    static const char *const others[] = {
        "",
        "NVIDIA",
        "GeForce",
        "NVIDIA A10G",
        "A1000",
        "MI300",
        "NVIDIA H100 NVL",
        "NVIDIA H200 NVL",
        "GB200",
        "NVIDIA L40G",
        "NVIDIA H20-3e",
        "NVIDIA H800 PCIe",
        "NVIDIA A800 40GB Active",
        "Quadro RTX 6000",
        "NVIDIA GeForce RTX 4090 D",
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA GeForce RTX 3090 Ti",
        "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        "AMD Radeon RX 7900 XT",
        "Tesla V100S-PCIE-32GB",
        ("H100 H100 H100 H100 H100 H100 H100 H100 H100 H100 H100 H100 H100 H100 "
         "H100 H100 H100 H100 H100")};
    for (size_t i = 0; i < GT_LENGTH(names); i++) {
        const gt_gpu_arch *found = gt_gpu_arch_match(names[i][0]);
        if (!found || strcmp(found->name, names[i][1]) != 0)
            fail_msg("'%s' is %s, not %s", names[i][0], found ? found->name : "unknown", names[i][1]);
    }
    for (size_t i = 0; i < GT_LENGTH(others); i++)
        if (gt_gpu_arch_match(others[i]))
            fail_msg("'%s' is taken for %s", others[i], gt_gpu_arch_match(others[i])->name);

    size_t count;
    gt_error error;
    const gt_gpu_arch *gpus = gt_gpu_archs(&count);
    assert_null(gt_gpu_arch_find("MI1", &error));
    assert_non_null(strstr(error.text, "unknown GPU 'MI1'"));
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(gt_gpu_arch_find(gpus[i].name, &error), &gpus[i]);
        assert_non_null(strstr(error.text, gpus[i].name));
    }
}

/* ---- GPUs without a name ---- */

/* What HIP reports, in bytes: that of MI300X is from a trace, others are the GiB of AMD's table less a
 * little.
 */
#define GIB(gib) ((uint64_t)(gib) << 30)
static const struct {
    gt_amd_properties gpu;
    const char *name; /* NULL: unknown */
    const char *arch; /* NULL: no rates */
} unnamed[] = {
    {{9, 4, 304, 0, 206141652992}, "AMD Instinct MI300X", "MI300X"},
    {{9, 4, 304, 2100, GIB(192)}, "AMD Instinct MI300X", "MI300X"},
    {{9, 4, 304, 0, GIB(256) - 1}, "AMD Instinct MI325X", "MI325X"},
    {{9, 4, 304, 0, 0}, "AMD Instinct MI300X or MI325X", NULL},
    {{9, 4, 304, 0, GIB(96)}, NULL, NULL},
    {{9, 4, 228, 0, GIB(126)}, "AMD Instinct MI300A", "MI300A"},
    {{9, 4, 38, 0, GIB(192)}, NULL, NULL},  /* CPX */
    {{9, 4, 152, 0, GIB(192)}, NULL, NULL}, /* DPX */
    {{9, 4, 80, 0, GIB(192)}, NULL, NULL},
    {{9, 5, 256, 0, GIB(288) - 1}, "AMD Instinct MI350X or MI355X", NULL},
    {{9, 5, 256, 2200, GIB(288) - 1}, "AMD Instinct MI350X", "MI350X"},
    {{9, 5, 256, 2400, GIB(288) - 1}, "AMD Instinct MI355X", "MI355X"},
    {{9, 0, 110, 0, 68702699520}, "AMD Instinct MI250X GCD", "MI250X_GCD"},
    {{9, 0, 104, 0, 68702699520}, "AMD Instinct MI210 or MI250 GCD", NULL},
    {{9, 0, 120, 0, 34342961152}, "AMD Instinct MI100", NULL},
    {{9, 0, 132, 0, 85000000000}, NULL, NULL}, /* that of an H100 */
    {{0, 0, 0, 0, 0}, NULL, NULL},
    {{9, 4, 304, 0, UINT64_MAX}, NULL, NULL},
};

static void unnamed_gpus_are_known_by_properties(void **state)
{
    (void)state;
    for (size_t i = 0; i < GT_LENGTH(unnamed); i++) {
        gt_buffer name = {0};
        bool found = gt_amd_gpu_add_name(&unnamed[i].gpu, &name);
        assert_int_equal(found, unnamed[i].name != NULL);
        assert_string_equal(gt_buffer_str(&name).bytes, found ? unnamed[i].name : "");
        const gt_gpu_arch *arch = gt_gpu_arch_match(gt_buffer_str(&name).bytes);
        assert_string_equal(arch ? arch->name : "", unnamed[i].arch ? unnamed[i].arch : "");
        gt_buffer_free(&name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_of_the_vendors),
        cmocka_unit_test(figures_are_consistent),
        cmocka_unit_test(sets_of_figures),
        cmocka_unit_test(names_are_matched),
        cmocka_unit_test(unnamed_gpus_are_known_by_properties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
