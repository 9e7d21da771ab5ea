/* The GEMM simulator, replaced by a shell script that prints Time=S.25, where S is the sum of the given
 * sizes, and logs its command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/memory.h"
#include "model/model.h"
#include "trace/events.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char script[] = "echo \"$@\" >>log\n"
                             "[ \"$6\" = 13 ] && exit 1\n"
                             "echo starting Time=soon\n"
                             "echo \"took Time=$(($2 + $4 + $6 + $8)).25 us, Time=9.9\"\n";

static const gt_gpu_arch arch = {.name = "mi300x",
                                 .mem_bw_gbps = 5000,
                                 .freq_mhz = 2000.5,
                                 .num_cus = 100,
                                 .l1_bw_gbps = 40000,
                                 .gemm_units_per_cu = 4};

typedef struct setting {
    char folder[64];
    gt_interner *strings;
    gt_models *models;
    gt_simulator *simulator;
} setting;

static void in_folder(const setting *s, const char *name, char path[128])
{
    snprintf(path, 128, "%s/%s", s->folder, name);
}

static setting begin(void)
{
    setting s = {.folder = "/tmp/gputally-simulator-XXXXXX", .strings = gt_interner_new()};
    char path[128];
    assert_non_null(mkdtemp(s.folder));
    in_folder(&s, "simulate.sh", path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(script, file);
    fclose(file);
    setenv("GEMM_SIMULATOR_PATH", path, 1);
    s.models = gt_models_new(s.strings);
    s.simulator = gt_simulator_new(&arch, "/bin/sh", 0);
    assert_non_null(s.simulator);
    return s;
}

static void end(setting *s)
{
    char path[128];
    static const char *const names[] = {"simulate.sh", "log"};
    for (size_t i = 0; i < 2; i++) {
        in_folder(s, names[i], path);
        unlink(path);
    }
    rmdir(s->folder);
    unsetenv("GEMM_SIMULATOR_PATH");
    gt_simulator_free(s->simulator);
    gt_models_free(s->models);
    gt_interner_free(s->strings);
}

static bool simulate(setting *s, const char *op, const char *dims, const char *types, const char *concrete,
                     bool backward, double *simulated_us)
{
    gt_model_event event = {.name = gt_interner_add_cstr(s->strings, op),
                            .dims = gt_interner_add_cstr(s->strings, dims),
                            .types = gt_interner_add_cstr(s->strings, types),
                            .strides = gt_interner_add_cstr(s->strings, "[[1],[1],[1],[1]]"),
                            .concrete = gt_interner_add_cstr(s->strings, concrete),
                            .sequence = GT_EVENT_NONE};
    const gt_model *model = gt_model_find(s->models, &event);
    const gt_model_result *result = gt_model_evaluate(s->models, model, &event, backward);
    assert_int_equal(result->outcome, GT_MODEL_VALUE);
    return gt_simulator_time(s->simulator, model, result, backward, simulated_us);
}

static void assert_log(const setting *s, const char *expected)
{
    char path[128], text[1000] = "";
    in_folder(s, "log", path);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    assert_string_equal(text, expected);
}

static void assert_near(double actual, double expected)
{
    if (!(fabs(actual - expected) <= 1e-12 * fabs(expected)))
        fail_msg("%.17g is not %.17g", actual, expected);
}

/* B + M + N + K; the same sizes are requested only once. */
static void test_gemm(void **state)
{
    (void)state;
    setting s = begin();
    double us;
    for (int i = 0; i < 3; i++) {
        assert_true(simulate(&s, "aten::mm", "[[10,20],[20,30]]", "[\"float\",\"float\"]", "[]", false, &us));
        assert_near(us, 1 + 10 + 30 + 20 + 0.25);
    }
    assert_log(&s, "-b 1 -m 10 -n 30 -k 20 --dtype fp32 -d 1 -a mi300x --freq_mhz 2000.5 --hbm_bw 5000\n");
    end(&s);
}

static void test_no_answer(void **state)
{
    (void)state;
    setting s = begin();
    double us;
    /* N = 13: the script fails; a type without a precision; the simulator is not used for other families. */
    assert_false(simulate(&s, "aten::mm", "[[10,20],[20,13]]", "[\"float\",\"float\"]", "[]", false, &us));
    assert_false(simulate(&s, "aten::mm", "[[10,20],[20,30]]", "[\"int\",\"int\"]", "[]", false, &us));
    assert_true(simulate(&s, "aten::add", "[[10],[10]]", "[\"float\",\"float\"]", "[]", false, &us));
    assert_true(isnan(us));
    end(&s);
}

static void test_no_script(void **state)
{
    (void)state;
    setting s = begin();
    double us;
    gt_simulator_free(s.simulator);
    setenv("GEMM_SIMULATOR_PATH", "/no/such/script", 1);
    s.simulator = gt_simulator_new(&arch, NULL, 0);
    assert_false(simulate(&s, "aten::mm", "[[10,20],[20,30]]", "[\"float\",\"float\"]", "[]", false, &us));
    assert_null(gt_simulator_new(NULL, NULL, 0));
    unsetenv("GEMM_SIMULATOR_PATH");
    assert_null(gt_simulator_new(&arch, NULL, 0));
    end(&s);
}

/* B 1, H 4, N 256, d 64: two tiles of 128 queries per head are 8 tiles, one wave on 100 units. Q K^T: M 128,
 * N 256, K 64; P V: M 128, N 64, K 256; softmax: 2 * 128 * 256 * 2 bytes from L1 take longer than its flops.
 */
static void test_attention(void **state)
{
    (void)state;
    setting s = begin();
    static const char dims[] = "[[1,256,4,64],[1,256,4,64],[1,256,4,64]]";
    static const char types[] = "[\"c10::Half\",\"c10::Half\",\"c10::Half\"]";
    static const char concrete[] = "[\"\",\"\",\"\",\"0.0\",\"\",\"False\"]";
    double us, gemms_us = 2 * (1 + 128 + 256 + 64 + 0.25);
    assert_true(simulate(&s, "FlashAttnFunc", dims, types, concrete, false, &us));
    double compute_us = 3 * 128 * 256 / (4 * 256.0) / 2000.5, l1_us = 2 * 128 * 256 * 2 / 40e6;
    double bytes = 256 * 4 * 128 * 2 * 2; /* q and the output, k and v, two bytes each */
    assert_near(us, gemms_us + fmax(compute_us, l1_us) + bytes / 256 / 256 * 128 * 256 / 5e6);
    assert_log(
        &s, "-b 1 -m 128 -n 256 -k 64 --dtype fp16 -d 1 -a mi300x --freq_mhz 2000.5 --cus 1 --hbm_bw 400\n"
            "-b 1 -m 128 -n 64 -k 256 --dtype fp16 -d 1 -a mi300x --freq_mhz 2000.5 --cus 1 --hbm_bw 400\n");
    /* Backward along 128 keys: the GEMMs once more, then one and three of them; updates: 1 global and 128
     * local. */
    assert_true(simulate(&s, "FlashAttnFunc", dims, types, concrete, true, &us));
    gemms_us = 6 * (1 + 256 + 128 + 64 + 0.25);
    bytes = (256 * 4 * 192 + 2 * 256 * 4 * 128) * 2;
    assert_near(us, gemms_us + fmax(compute_us, l1_us) + (400 + 40 * 128) / 1e3 +
                        bytes / 256 / 256 * 256 * 128 / 5e6);
    end(&s);
}

static void test_rates(void **state)
{
    (void)state;
    const gt_model_result result = {.flops = 2e9, .bytes = 4e6};
    gt_metrics m = gt_metrics_of(&result, 50, NULL);
    assert_true(isnan(m.simulated_us) && isnan(m.simulated_tflops_per_s) && isnan(m.pct_simulated));
    gt_metrics_add_simulation(&m, &result, 50, 10);
    assert_near(m.simulated_us, 10);
    assert_near(m.simulated_tflops_per_s, 200); /* 2e9 flops in 10 us */
    assert_near(m.simulated_tb_per_s, 0.4);
    assert_near(m.pct_simulated, 20);
}

/* A process that has ended may wait for its parent for some time. */
static bool is_running(int pid)
{
    char path[64], state = 'X';
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    bool known = fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
    fclose(file);
    return known && state != 'Z' && state != 'X';
}

/* A run that takes too long is ended with all that it started, and there is no second one. */
static void test_time_limit(void **state)
{
    (void)state;
    setting s = begin();
    char path[128];
    double time_us;
    in_folder(&s, "simulate.sh", path);
    FILE *file = fopen(path, "w");
    fputs("sleep 1000 &\necho $! >>log\nsleep 1000\n", file);
    fclose(file);
    gt_simulator_free(s.simulator);
    s.simulator = gt_simulator_new(&arch, "/bin/sh", 1);
    for (int i = 0; i < 2; i++) {
        const char *dims = i ? "[[2,3],[3,5]]" : "[[2,3],[3,4]]";
        assert_false(simulate(&s, "aten::mm", dims, "[\"float\",\"float\"]", "[\"\",\"\"]", false, &time_us));
    }
    in_folder(&s, "log", path);
    file = fopen(path, "r");
    int runs = 0, left = 0;
    for (int number; fscanf(file, "%d", &number) == 1; runs++) left = number;
    fclose(file);
    assert_int_equal(runs, 1);
    bool runs_on = true;
    for (int i = 0; i < 500 && (runs_on = is_running(left)); i++) usleep(20000);
    assert_false(runs_on);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm),      cmocka_unit_test(test_no_answer), cmocka_unit_test(test_no_script),
        cmocka_unit_test(test_attention), cmocka_unit_test(test_rates),     cmocka_unit_test(test_time_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
