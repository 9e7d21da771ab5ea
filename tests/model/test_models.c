/* Performance models: the cases of model_cases.txt, then arguments that no valid trace has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/memory.h"
#include "compat/python_repr.h"
#include "base/buffer.h"
#include "model/model.h"
#include "trace/events.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KERNELS = 8, MAX_EXPECTED = 64 };

typedef struct setting {
    gt_interner *strings;
    gt_models *models, *exact; /* as in reports, as in gputally model */
} setting;

static setting begin(void)
{
    gt_interner *strings = gt_interner_new();
    setting s = {strings, gt_models_new(strings), gt_models_new(strings)};
    gt_models_be_exact(s.exact);
    return s;
}

static void end(setting *s)
{
    gt_models_free(s->models);
    gt_models_free(s->exact);
    gt_interner_free(s->strings);
}

/* ---- cases from the file ---- */

typedef struct expectation {
    char *key, *value;
    int line;
} expectation;

typedef struct model_case {
    gt_model_event event;
    uint32_t kernels[MAX_KERNELS];
    bool backward, exact;
    expectation expected[MAX_EXPECTED];
    int expected_count;
} model_case;

/* The field of the event for a key; NULL if the key is unknown. */
static uint32_t *argument_of(gt_model_event *event, const char *key)
{
    const struct {
        const char *key;
        uint32_t *place;
    } arguments[] = {
        {"op", &event->name},
        {"dims", &event->dims},
        {"types", &event->types},
        {"strides", &event->strides},
        {"extra", &event->extra},
        {"concrete", &event->concrete},
        {"annotation", &event->annotation},
    };
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
        if (strcmp(arguments[i].key, key) == 0) return arguments[i].place;
    return NULL;
}

static void take_line(setting *s, model_case *c, char *text, int line)
{
    char *key = strtok(text, " "), *value = strtok(NULL, "");
    value = value ? value + strspn(value, " ") : text + strlen(text);
    uint32_t *argument = argument_of(&c->event, key);
    if (argument)
        *argument = gt_interner_add_cstr(s->strings, value);
    else if (strcmp(key, "sequence") == 0)
        c->event.sequence = strtoll(value, NULL, 10);
    else if (strcmp(key, "backward") == 0)
        c->backward = true;
    else if (strcmp(key, "exact") == 0)
        c->exact = true;
    else if (strcmp(key, "kernel") == 0)
        c->kernels[c->event.kernel_count++] = gt_interner_add_cstr(s->strings, value);
    else
        c->expected[c->expected_count++] = (expectation){gt_strdup(key), gt_strdup(value), line};
}

static const char *outcome_name(const gt_model_result *result)
{
    static const char *const names[] = {"VALUE", "FAIL", "SKIP"};
    return result ? names[result->outcome] : "NONE";
}

static void print_parameter(gt_buffer *buffer, const gt_model_result *result, const char *name)
{
    for (size_t i = 0; i < result->parameter_count; i++)
        if (strcmp(result->parameters[i].name, name) == 0)
            gt_python_add_value(buffer, &result->parameters[i].value);
}

/* The value of the result for an expectation of the file; compared as text. */
static void print_actual(gt_buffer *buffer, const gt_model_result *result, expectation *e)
{
    char number[64];
    if (strcmp(e->key, "outcome") == 0) {
        gt_buffer_add_cstr(buffer, outcome_name(result));
    } else if (!result || result->outcome != GT_MODEL_VALUE) {
        gt_buffer_add_cstr(buffer, "no value");
    } else if (strcmp(e->key, "flops") == 0 || strcmp(e->key, "bytes") == 0) {
        double actual = e->key[0] == 'f' ? result->flops : result->bytes;
        snprintf(number, sizeof number, "%.17g", actual);
        if (isnan(actual))
            strcpy(number, "unknown");
        else if (strtod(e->value, NULL) == actual)
            snprintf(number, sizeof number, "%s", e->value);
        gt_buffer_add_cstr(buffer, number);
    } else if (strcmp(e->key, "spec") == 0) {
        gt_buffer_add_cstr(buffer, result->compute_spec);
    } else if (strcmp(e->key, "names") == 0) {
        for (size_t i = 0; i < result->parameter_count; i++) {
            gt_buffer_add_cstr(buffer, i ? " " : "");
            gt_buffer_add_cstr(buffer, result->parameters[i].name);
        }
    } else if (strcmp(e->key, "all") == 0) {
        gt_model_print_parameters(buffer, result);
    } else {
        print_parameter(buffer, result, e->key);
    }
}

static int check_case(setting *s, model_case *c)
{
    int wrong = 0;
    c->event.kernels = c->kernels;
    gt_models *models = c->exact ? s->exact : s->models;
    const gt_model *model = gt_model_find(models, &c->event);
    const gt_model_result *result = model ? gt_model_evaluate(models, model, &c->event, c->backward) : NULL;
    for (int i = 0; i < c->expected_count; i++) {
        expectation *e = &c->expected[i];
        gt_buffer actual = {0};
        print_actual(&actual, result, e);
        if (strcmp(gt_buffer_str(&actual).bytes, e->value) != 0) {
            print_error("model_cases.txt:%d: %s: expected %s, got %s\n", e->line, e->key, e->value,
                        actual.bytes);
            wrong++;
        }
        gt_buffer_free(&actual);
        free(e->key);
        free(e->value);
    }
    return wrong;
}

static void test_cases(void **state)
{
    (void)state;
    FILE *file = fopen(GT_TESTS "/model/model_cases.txt", "r");
    assert_non_null(file);
    setting s = begin();
    model_case c = {.event.sequence = GT_EVENT_NONE};
    char *text = NULL;
    size_t room = 0;
    int line = 0, wrong = 0, cases = 0;
    bool more = true;
    while (more) {
        more = getline(&text, &room, file) >= 0;
        line++;
        if (more) text[strcspn(text, "\n")] = 0;
        if (more && text[0] == '#') continue;
        if (more && text[0]) {
            take_line(&s, &c, text, line);
            continue;
        }
        if (c.event.name != GT_STR_NONE) {
            if (!c.expected_count)
                print_error("model_cases.txt:%d: the case expects nothing\n", line), wrong++;
            wrong += check_case(&s, &c);
            cases++;
        }
        c = (model_case){.event.sequence = GT_EVENT_NONE};
    }
    assert_true(cases > 0);
    assert_int_equal(wrong, 0);
    free(text);
    fclose(file);
    end(&s);
}

/* ---- every model with arguments that no valid trace has ---- */

/* Lists for dims, types, strides and concrete inputs; an empty string: the argument is absent. */
static const char *const hostile[] = {
    "",
    "null",
    "0",
    "\"text\"",
    "{}",
    "[]",
    "[[]]",
    "[null,null,null,null]",
    "[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]]",
    "[[-1,-1],[-1,-1],[-1,-1],[-1,-1]]",
    "[[0,0,0,0],[0,0,0,0],[0,0,0,0],[0,0,0,0],[0,0,0,0],[0,0,0,0]]",
    "[[9223372036854775807,9223372036854775807,9223372036854775807],[9223372036854775807,9223372036854775807,"
    "9223372036854775807],[9223372036854775807,9223372036854775807,9223372036854775807]]",
    "[[9223372036854775808,2],[2,9223372036854775808],[340282366920938463463374607431768211456,1]]",
    "[[1.5,2.5],[true,false],[\"4\",\"5\"]]",
    "[[[[[[[[[[1,2]]]]]]]]],[[[[[[[[[3,4]]]]]]]]]]",
    "[\"c10::BFloat16\",\"c10::BFloat16\",\"c10::BFloat16\",\"c10::BFloat16\",\"c10::BFloat16\",\"c10::"
    "BFloat16\"]",
    "[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"]",
    "[\"-9223372036854775808\",\"1e400\",\"nan\",\"[9223372036854775807, 2]\",\"(\",\"True\",\"0x10\",\"1\"]",
    "[[1,2],[3,4]",
};

static void check_sound(const gt_model_result *result)
{
    if (result->outcome != GT_MODEL_VALUE) return;
    assert_true(isfinite(result->flops) && result->flops >= 0);
    assert_true(isnan(result->bytes) || (isfinite(result->bytes) && result->bytes >= 0));
    gt_buffer buffer = {0};
    gt_model_print_parameters(&buffer, result);
    gt_buffer_free(&buffer);
}

static uint32_t hostile_text(setting *s, size_t i)
{
    const char *text = hostile[i % (sizeof hostile / sizeof *hostile)];
    return *text ? gt_interner_add_cstr(s->strings, text) : (uint32_t)GT_STR_NONE;
}

static void test_hostile_arguments(void **state)
{
    (void)state;
    const size_t count = sizeof hostile / sizeof *hostile;
    size_t model_count;
    const gt_model *const *models = gt_op_list(&model_count);
    setting s = begin();
    for (size_t m = 0; m < model_count; m++) {
        if (!models[m]->evaluate) continue;
        gt_model_event event = {.name = gt_interner_add_cstr(s.strings, models[m]->name), .sequence = 1};
        event.annotation = gt_interner_add_cstr(
            s.strings,
            "execute_1_context_1(sq99999999999999999999999sk1sqsq1sqsk1)_generation_1(sq1sk1sqsq1sqsk1)");
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j < count; j++) {
                event.dims = hostile_text(&s, i);
                event.types = hostile_text(&s, j);
                event.strides = hostile_text(&s, i + j);
                event.concrete = hostile_text(&s, i * 3 + j);
                check_sound(gt_model_evaluate(s.models, models[m], &event, (i + j) % 2));
                check_sound(gt_model_evaluate(s.exact, models[m], &event, (i + j) % 2));
            }
    }
    end(&s);
}

static void test_nesting_is_limited(void **state)
{
    (void)state;
    enum { DEEP = 100000 };
    setting s = begin();
    char *text = gt_alloc(2 * DEEP + 1);
    memset(text, '[', DEEP);
    memset(text + DEEP, ']', DEEP);
    text[2 * DEEP] = 0;
    gt_model_event event = {.name = gt_interner_add_cstr(s.strings, "primus_turbo::grouped_gemm"),
                            .dims = gt_interner_add_cstr(s.strings, text)};
    const gt_model *model = gt_model_find(s.models, &event);
    assert_int_equal(gt_model_evaluate(s.models, model, &event, false)->outcome, GT_MODEL_FAIL);
    free(text);
    end(&s);
}

/* ---- cached results ---- */

static void test_same_arguments_same_result(void **state)
{
    (void)state;
    setting s = begin();
    uint32_t kernel = gt_interner_add_cstr(s.strings, "Cijk_Ailk_Bljk_BBS");
    gt_model_event event = {.name = gt_interner_add_cstr(s.strings, "aten::mm"),
                            .dims = gt_interner_add_cstr(s.strings, "[[4,8],[8,2]]"),
                            .types = gt_interner_add_cstr(s.strings, "[\"float\",\"float\"]"),
                            .sequence = 1};
    const gt_model *model = gt_model_find(s.models, &event);
    const gt_model_result *first = gt_model_evaluate(s.models, model, &event, false);
    event.sequence = 2;
    assert_ptr_equal(gt_model_evaluate(s.models, model, &event, false), first);
    event.kernels = &kernel;
    event.kernel_count = 1;
    const gt_model_result *with_kernel = gt_model_evaluate(s.models, model, &event, false);
    assert_ptr_not_equal(with_kernel, first);
    assert_int_equal(with_kernel->parameter_count, first->parameter_count + 1);
    assert_ptr_not_equal(gt_model_evaluate(s.models, model, &event, true), with_kernel);
    end(&s);
}

/* ---- rates and roofline ---- */

static void assert_double(double actual, double expected)
{
    if (actual != expected) fail_msg("%.17g is not %.17g", actual, expected);
}

/* A bf16 GEMM of M=8944 N=2816 K=1024: 2 M N K = 51581550592 flops; (M K + K N + M N) 2 bytes. */
static const gt_model_result gemm = {.flops = 51581550592.0,
                                     .bytes = (8944.0 * 1024 + 1024.0 * 2816 + 8944.0 * 2816) * 2,
                                     .compute_spec = "matrix_bf16"};

static void test_roofline(void **state)
{
    (void)state;
    gt_error error;
    gt_arena arena = {0};
    gt_gpu_arch own;
    const gt_gpu_arch *arch;
    assert_true(gt_gpu_arch_choose("MI300X", NULL, GT_PEAKS_TRACELENS, &arena, &own, &arch, &error));
    gt_metrics m = gt_metrics_of(&gemm, 100, arch);
    assert_double(m.gflops, 51.581550592);
    assert_double(m.roofline_us, 72.85529744632768); /* 51.58e9 / 708e12 s */
    assert_int_equal(m.bound, GT_BOUND_COMPUTE);
    assert_string_equal(gt_bound_name(m.bound), "COMPUTE_BOUND");
    assert_double(m.pct_roofline, 72.85529744632768);
    assert_double(m.tflops_per_s, 51.581550592 / 1e3 / (100 / 1e6));
    /* float to bf16, 16 x 559 x 1024 elements: 6 bytes each at 5300e9 bytes per second */
    const gt_model_result copy = {.flops = 9158656, .bytes = 9158656 * 6, .compute_spec = "vector_fp32"};
    m = gt_metrics_of(&copy, 0, arch);
    assert_double(m.roofline_us, 10.368289811320754);
    assert_int_equal(m.bound, GT_BOUND_MEMORY);
    assert_true(isnan(m.pct_roofline) && isnan(m.tflops_per_s) && isnan(m.tb_per_s));
    gt_arena_free(&arena);
}

static void test_no_roofline(void **state)
{
    (void)state;
    gt_error error;
    const gt_gpu_arch *a100 = gt_gpu_arch_find("A100", &error);
    gt_model_result result = gemm;
    assert_int_equal(gt_metrics_of(&result, 1, NULL).bound, GT_BOUND_UNKNOWN);
    strcpy(result.compute_spec, "matrix_fp4"); /* not available on this GPU */
    assert_int_equal(gt_metrics_of(&result, 1, a100).bound, GT_BOUND_UNKNOWN);
    result = gemm;
    result.bytes = (double)NAN;
    gt_metrics m = gt_metrics_of(&result, 1, a100);
    assert_int_equal(m.bound, GT_BOUND_UNKNOWN);
    assert_true(isnan(m.data_moved_mb) && isnan(m.flops_per_byte) && isnan(m.tb_per_s));
    result = gemm;
    result.flops = 0;
    assert_int_equal(gt_metrics_of(&result, 1, a100).bound, GT_BOUND_UNKNOWN);
}

/* ---- GPUs ---- */

static bool parse_arch(const char *json, gt_arena *arena, gt_gpu_arch *arch, gt_error *error)
{
    return gt_gpu_arch_parse((gt_str){json, strlen(json)}, arena, arch, error);
}

static void test_arch_of_user(void **state)
{
    (void)state;
    gt_arena arena = {0};
    gt_gpu_arch arch;
    gt_error error;
    assert_true(parse_arch(
        "{\n \"name\": \"mine\", \"mem_bw_gbps\": 1e3, \"other\": [1, {\"a\": null}],\n"
        " \"max_achievable_tflops\": {\"matrix_bf16\": 1, \"vector_fp32\": \"no\", \"matrix_bf16\": 20.5}}\n",
        &arena, &arch, &error));
    assert_string_equal(arch.name, "mine");
    assert_double(arch.mem_bw_gbps, 1000);
    assert_double(gt_gpu_arch_peak(&arch, "matrix_bf16"), 20.5);
    assert_true(isnan(gt_gpu_arch_peak(&arch, "vector_fp32")) &&
                isnan(gt_gpu_arch_peak(&arch, "matrix_fp8")));
    assert_true(isnan(arch.memory_gb));
    assert_int_equal(gt_metrics_of(&gemm, 1, &arch).bound, GT_BOUND_COMPUTE);
    assert_true(parse_arch("{}", &arena, &arch, &error));
    assert_int_equal(gt_metrics_of(&gemm, 1, &arch).bound, GT_BOUND_UNKNOWN);
    assert_false(parse_arch("[1]", &arena, &arch, &error));
    assert_false(parse_arch("{\"name\": ", &arena, &arch, &error));
    assert_false(gt_gpu_arch_read("/no/such/file.json", &arena, &arch, &error));
    assert_non_null(strstr(error.text, "/no/such/file.json"));
    gt_arena_free(&arena);
}

/* ---- the documentation ---- */

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    gt_buffer text = {0};
    size_t got;
    assert_non_null(file);
    while ((got = fread(gt_buffer_reserve(&text, 4096), 1, 4096, file)) > 0) text.len += got;
    gt_buffer_add(&text, "", 1);
    fclose(file);
    return text.bytes;
}

static void test_documented(void **state)
{
    (void)state;
    char *document = read_file(GT_TESTS "/../docs/models.md");
    size_t count, models = 0;
    const gt_model *const *rows = gt_op_list(&count);
    for (size_t i = 0; i < count; i++) {
        if (!rows[i]->evaluate) continue;
        char *quoted = gt_format("`%s`", rows[i]->name);
        if (!strstr(document, quoted)) fail_msg("docs/models.md does not name %s", quoted);
        free(quoted);
        models++;
    }
    assert_true(models >= 245);
    free(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_hostile_arguments),
        cmocka_unit_test(test_nesting_is_limited),
        cmocka_unit_test(test_same_arguments_same_result),
        cmocka_unit_test(test_roofline),
        cmocka_unit_test(test_no_roofline),
        cmocka_unit_test(test_arch_of_user),
        cmocka_unit_test(test_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
