/* Names of logs and images of models, and the GPU of a machine. Expected names are the check cases of the
 * specification. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "run/models/models.h"

static gt_arena arena;

static const gt_value *model(const char *name)
{
    return gt_settings_with(&arena, &gt_value_missing, "name", gt_settings_copy_string(&arena, name));
}

static void names_of_logs(void **state)
{
    (void)state;
    static const struct {
        const char *model, *image, *log;
    } cases[] = {
        {"dummy_prof", "ci-dummy_prof_dummy.ubuntu.amd", "dummy_prof_dummy.ubuntu.amd.run.live.log"},
        {"scope/M1", "reg.io/x/y:ci-scope_m1_d.ubuntu.amd", "scope_M1_d.ubuntu.amd.run.live.log"},
        {"m", "rocm/pytorch:latest", "m_rocm_pytorch_latest.run.live.log"},
        {"m", "rocm/pytorch@sha256:12ab", "m_rocm_pytorch.run.live.log"},
        {"m", NULL, "m.run.live.log"},
    };
    for (size_t i = 0; i < GT_LENGTH(cases); i++)
        assert_string_equal(gt_model_log_name(&arena, model(cases[i].model), cases[i].image, ".run"),
                            cases[i].log);
}

static void names_of_images(void **state)
{
    (void)state;
    assert_string_equal(gt_image_name(&arena, model("Scope/M1"), "d.ubuntu.amd", NULL),
                        "ci-scope_m1_d.ubuntu.amd");
    assert_string_equal(gt_image_name(&arena, model("m"), "d", "gfx942"), "ci-m_d_gfx942");
    const gt_value *none = &gt_value_missing;
    assert_string_equal(gt_registry_image(&arena, "ci-m", "localhost:5000", none), "localhost:5000/ci-m");
    assert_string_equal(gt_registry_image(&arena, "ci-m", "docker.io", none), "ci-m");
}

static void excluded_gpus(void **state)
{
    (void)state;
    gt_host host = {.vendor = "NVIDIA", .architecture = "NVIDIA A100-SXM4-40GB", .gpus = 1};
    const gt_value *excluded =
        gt_settings_with(&arena, model("m"), "skip_gpu_arch", gt_value_cstr("gfx90a, A100"));
    const gt_value *other = gt_settings_with(&arena, model("m"), "skip_gpu_arch", gt_value_cstr("A10,H100"));
    assert_true(gt_host_is_skipped(&arena, &host, excluded));
    assert_false(gt_host_is_skipped(&arena, &host, other));
    assert_false(gt_host_is_skipped(&arena, &(gt_host){0}, excluded));
    const gt_value *image = gt_settings_with(&arena, &gt_value_missing, "gpu_vendor", gt_value_cstr("AMD"));
    assert_string_equal(gt_host_mismatch(&arena, &host, image), "GPU vendor mismatch (AMD != NVIDIA)");
    assert_null(gt_host_mismatch(&arena, &(gt_host){0}, image));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_of_logs), cmocka_unit_test(names_of_images),
                                       cmocka_unit_test(excluded_gpus)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    gt_arena_free(&arena);
    return failed;
}
