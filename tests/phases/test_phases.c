/* Phases of the ops of a small trace by each method, and of frequent and rare ops. Expected values come from
 * TraceLens. */
#include "pytorch_trace.h"

#include "analysis/phases/phases.h"

/* Letters: P prefill, D decode, M neither; by kernel_names, framework_apis, attention_patterns and
 * gemm_params with threshold 10, as TraceLens's code and as its documentation define them. */
static const struct {
    const char *op, *kernels[2], *dims, *as_reference, *as_documented;
} rows[] = {
    {"aten::mm",
     {"Cijk_Alik_Bljk_BBS_BH_ULSGRO0_USL1_UIOFGRO0"},
     "[[4096,1024],[1024,4096]]",
     "DMMP",
     "DMMP"},
    {"aten::mm", {"ampere_bf16_s16816gemm"}, "[[1,1024],[1024,4096]]", "MMMD", "MMMD"},
    {"aten::addmm", {"sm80_gemm"}, "[[4096],[1,1024],[1024,4096],[],[]]", "MMMP", "MMMD"},
    {"aten::bmm", {"sm80_gemm"}, "[[1,32,1],[1,1,559]]", "MMMD", "MMMP"},
    {"_rocm_C::paged_attention",
     {"paged_attention_ll4mi_QKV_mfma16_kernel"},
     "[[17,32,128],[1],[2]]",
     "DMDP",
     "DMDP"},
    {"_C_cache_ops::reshape_and_cache_flash",
     {"vllm::reshape_and_cache_flash_kernel"},
     "[[17,8,128],[17,8,128],[1]]",
     "DDMP",
     "DDDP"},
    {"prefix_cache_update", {"k"}, "[[1],[2]]", "MDMD", "MDMD"},
    {"continuous_batch_step", {"k"}, "[[1],[2]]", "DMMD", "DMMD"},
    {"tgi::encode_step", {"k"}, "[[1],[2]]", "MPMD", "MPMD"},
    {"TGI::encode_step", {"k"}, "[[1],[2]]", "MMMD", "MMMD"},
    {"aiter::mha_batch_prefill", {"k"}, "[[1],[2]]", "PPMP", "PPPP"},
    {"mlp_context", {"k"}, "[[1],[2]]", "PPMD", "PPMD"},
    {"myop", {"fmha_fwd_sl512_hd128"}, "[[1],[2]]", "PMMD", "PMMD"},
    {"myop", {"fmha_seqlen_8"}, "[[1],[2]]", "MMMD", "MMMD"},
    {"myop", {"fmha_seqlen_0_sl1"}, "[[1],[2]]", "DMMD", "DMMD"},
    {"myop", {"a_sl1", "b_sl21"}, "[[1],[2]]", "PMMD", "PMMD"},
    {"myop", {"seqlen", "18446744073709551617999"}, "[[1],[2]]", "PMMD", "PMMD"},
    {"prefill_decode_mixed", {"k"}, "[[1],[2]]", "PMMM", "PMMM"},
    {"chunked_prefill_attn", {"k"}, NULL, "PMPP", "PMPP"},
    {NULL, {"k"}, NULL, "MMMM", "MMMM"}, /* a call alone */
    /* no shape, one input, no extent above 0, a number instead of a shape */
    {"myop", {"k"}, "[[],[2]]", "MMMM", "MMMM"},
    {"myop", {"k"}, "[[64]]", "MMMM", "MMMM"},
    {"myop", {"k"}, "[[0],[2]]", "MMMM", "MMMM"},
    {"myop", {"k"}, "[4,[2]]", "MMMM", "MMMM"},
    {"myop", {"k"}, "[[11],[2]]", "MMMP", "MMMP"},
    {"aten::_scaled_dot_product_flash_attention",
     {"k"},
     "[[2,8,1,64],[2,8,512,64],[2,8,512,64],[],[],[],[]]",
     "MMMD",
     "MMDD"},
    {"aten::_scaled_dot_product_flash_attention",
     {"k"},
     "[[2,8,11,64],[2,8,512,64],[2,8,512,64],[],[],[],[]]",
     "MMMD",
     "MMPD"},
};
enum { ROWS = sizeof rows / sizeof *rows };

static const gt_phase_method methods[] = {GT_PHASES_KERNEL_NAMES, GT_PHASES_FRAMEWORK_APIS,
                                          GT_PHASES_ATTENTION_PATTERNS, GT_PHASES_GEMM_PARAMS};
static const char letters[] = {[GT_PHASE_MIXED] = 'M', [GT_PHASE_PREFILL] = 'P', [GT_PHASE_DECODE] = 'D'};

static void add_op(trace_text *t, const char *name, double start, const char *dims)
{
    char args[512];
    snprintf(
        args, sizeof args,
        "\"Input Dims\":%s,\"Input type\":[\"float\",\"float\",\"float\",\"Scalar\",\"Scalar\",\"\",\"\"],"
        "\"Input Strides\":[[1,1,1],[1,1,1],[1,1,1],[],[],[],[]],"
        "\"Concrete Inputs\":[\"\",\"\",\"\",\"0.\",\"False\",\"\",\"\"]",
        dims ? dims : "[]");
    host(t, "cpu_op", name, start, 90, dims ? args : "");
}

static gt_pytorch_linked *trace_of_rows(void)
{
    trace_text t = new_trace();
    for (int i = 0; i < ROWS; i++) {
        double start = 1000 + 100 * i;
        if (rows[i].op) add_op(&t, rows[i].op, start, rows[i].dims);
        for (int k = 0; k < 2 && rows[i].kernels[k]; k++)
            launch(&t, rows[i].kernels[k], start + 10 + 10 * k, 5, start + 50 + 10 * k, 5, 10 * i + k + 1);
    }
    return read_trace(&t, false);
}

static void methods_give_the_expected_phases(void **unused)
{
    (void)unused;
    gt_pytorch_linked *linked = trace_of_rows();
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_launchers launchers = gt_launchers_find(trace);
    assert_int_equal(launchers.count, ROWS);
    for (int as_reference = 0; as_reference < 2; as_reference++)
        for (size_t m = 0; m < 4; m++) {
            gt_phase_options options = {methods[m], 10, as_reference};
            gt_phases *phases = gt_phases_find(trace, &launchers, options);
            for (size_t i = 0; i < ROWS; i++) {
                char expected = (as_reference ? rows[i].as_reference : rows[i].as_documented)[m];
                char found = letters[gt_phases_of_launcher(phases, i)];
                if (found != expected)
                    fail_msg("row %zu, %s: %c, not %c", i, gt_phase_method_name(methods[m]), found, expected);
            }
            gt_phases_free(phases);
        }
    gt_launchers_free(&launchers);
    gt_pytorch_linked_free(linked);
}

/* M of the last row but two is 11. */
static void the_threshold_itself_is_decode(void **unused)
{
    (void)unused;
    gt_pytorch_linked *linked = trace_of_rows();
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_launchers launchers = gt_launchers_find(trace);
    const struct {
        int64_t threshold;
        char letter;
    } cases[] = {{10, 'P'}, {11, 'D'}, {12, 'D'}, {0, 'P'}, {-5, 'P'}, {INT64_MAX, 'D'}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gt_phase_options options = {GT_PHASES_GEMM_PARAMS, cases[i].threshold, false};
        gt_phases *phases = gt_phases_find(trace, &launchers, options);
        assert_int_equal(letters[gt_phases_of_launcher(phases, ROWS - 3)], cases[i].letter);
        gt_phases_free(phases);
    }
    gt_launchers_free(&launchers);
    gt_pytorch_linked_free(linked);
}

/* ---- frequency ---- */

/* Ops a, b, c, ... with these counts; returns the phases of a, b, c, ... */
static void expect_frequencies(const int *counts, gt_phase_method method, const char *expected)
{
    trace_text t = new_trace();
    int id = 0;
    for (int op = 0; counts[op]; op++)
        for (int i = 0; i < counts[op]; i++) {
            char name[] = {(char)('a' + op), 0};
            double start = 1000 + 100 * ++id;
            host(&t, "cpu_op", name, start, 90, "");
            launch(&t, "k", start + 10, 5, start + 50, 5, id);
        }
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_launchers launchers = gt_launchers_find(trace);
    gt_phases *phases = gt_phases_find(trace, &launchers, (gt_phase_options){method, 10, false});
    for (size_t i = 0; i < launchers.count; i++) {
        char name = gt_event_name(&trace->events, launchers.items[i].row).bytes[0];
        assert_int_equal(letters[gt_phases_of_launcher(phases, i)], expected[name - 'a']);
    }
    gt_phases_free(phases);
    gt_launchers_free(&launchers);
    gt_pytorch_linked_free(linked);
}

static void rare_ops_are_prefill(void **unused)
{
    (void)unused;
    const gt_phase_method frequency = GT_PHASES_OPERATION_FREQUENCY;
    expect_frequencies((const int[]){1, 10, 10, 10, 100, 0}, frequency, "PDDDD");
    expect_frequencies((const int[]){1, 2, 3, 0}, frequency, "PDD");
    expect_frequencies((const int[]){1, 1, 5, 9, 0}, frequency, "DDDD");
    expect_frequencies((const int[]){5, 0}, frequency, "D");
    expect_frequencies((const int[]){1, 2, 3, 0}, GT_PHASES_HYBRID, "PDD");
    /* quantiles 0.3 and 0.7: 1.6 and 2.4; of the second 10 and 10 */
    expect_frequencies((const int[]){1, 2, 3, 0}, GT_PHASES_UNION, "PMD");
    expect_frequencies((const int[]){1, 10, 10, 10, 100, 0}, GT_PHASES_UNION, "PMMMD");
}

static void no_ops_at_all(void **unused)
{
    (void)unused;
    for (int m = 0; m < GT_PHASE_METHODS; m++) expect_frequencies((const int[]){0}, (gt_phase_method)m, "");
}

/* ---- kernels ---- */

static void kernels_have_the_phase_of_their_launcher_or_of_their_name(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    host(&t, "cpu_op", "first_token", 1000, 90, "");
    launch(&t, "any", 1010, 5, 1100, 5, 1);
    launch(&t, "nccl_decode", 1020, 5, 1110, 5, 2); /* communication has no launcher */
    gpu(&t, "kernel", "unlinked_prompt", 1200, 5, 7, 0);
    gpu(&t, "kernel", "unlinked", 1300, 5, 8, 0);
    gpu(&t, "gpu_memcpy", "decode", 1400, 5, 9, 0);
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_launchers launchers = gt_launchers_find(trace);
    const struct {
        const char *name;
        char with_launchers, without;
    } expected[] = {{"any", 'P', 'M'},
                    {"nccl_decode", 'D', 'D'},
                    {"unlinked_prompt", 'P', 'P'},
                    {"unlinked", 'M', 'M'},
                    {"decode", 'M', 'M'}};
    for (int with = 0; with < 2; with++) {
        gt_phases *phases =
            gt_phases_find(trace, with ? &launchers : NULL, (gt_phase_options){GT_PHASES_HYBRID, 10, false});
        uint8_t *kernels = gt_phases_of_kernels(phases);
        size_t seen = 0;
        for (uint32_t row = 0; row < trace->count; row++)
            for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
                if (gt_kind_is_gpu(trace->kind[row]) &&
                    strcmp(gt_event_name(&trace->events, row).bytes, expected[i].name) == 0) {
                    seen++;
                    assert_int_equal(letters[kernels[row]],
                                     with ? expected[i].with_launchers : expected[i].without);
                }
        assert_int_equal(seen, 5);
        free(kernels);
        gt_phases_free(phases);
    }
    gt_launchers_free(&launchers);
    gt_pytorch_linked_free(linked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_give_the_expected_phases),
        cmocka_unit_test(the_threshold_itself_is_decode),
        cmocka_unit_test(rare_ops_are_prefill),
        cmocka_unit_test(no_ops_at_all),
        cmocka_unit_test(kernels_have_the_phase_of_their_launcher_or_of_their_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
