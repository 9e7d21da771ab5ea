/* The key under which sheets are kept differs whenever an option does that changes a report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/memory.h"
#include "cli/commands/commands.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

/* NULL: there is no key. The caller frees it. */
static char *key_of(const gt_report_options *options, gt_trace_kind kind)
{
    gt_buffer text = {0};
    char *key =
        gt_report_options_describe(options, kind, &text) ? gt_strdup(gt_buffer_str(&text).bytes) : NULL;
    gt_buffer_free(&text);
    return key;
}

/* Values of options that do not take any string; others get "true", "7" or "x". */
static const struct {
    const char *name, *value;
} values[] = {
    {"comm_kernels", "all"},         {"gpu_peaks", "achievable"}, {"phase_detection_method", "union"},
    {"gpu_arch_platform", "MI300X"}, {"comm_kernel_regex", "x+"}, {"max_memory", "1G"},
    {"kernel_names", "mangled"},
};
/* These change no sheet. */
static const char *const without_effect[] = {"threads",     "max_memory",  "csv_safe",
                                             "no_csv_safe", "python_path", "extension_timeout"};
/* With these a report depends on other files, and is not kept. */
static const char *const with_files[] = {"gpu_arch_json_path", "comparison_json_path", "extension_file",
                                         "eager_trace",        "capture_folder",       "serving"};

static bool is_in(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

static const char *value_for(const gt_option *option)
{
    for (size_t i = 0; i < GT_LENGTH(values); i++)
        if (strcmp(values[i].name, option->name) == 0) return values[i].value;
    return option->kind == GT_OPTION_FLAG ? "true" : option->kind == GT_OPTION_INT ? "7" : "x";
}

static void check_option(const gt_option *option)
{
    static const gt_trace_kind kinds[] = {GT_TRACE_ROCPROF, GT_TRACE_PYTORCH, GT_TRACE_JAX, GT_TRACE_NSYS};
    gt_error error;
    size_t different = 0, none = 0;
    for (size_t i = 0; i < 2 * GT_LENGTH(kinds); i++) { /* an option may say what one of the defaults is */
        gt_report_options usual = i & 1 ? gt_report_options_best() : gt_report_options_default(),
                          changed = usual;
        assert_true(gt_report_options_set(&changed, option->name, value_for(option), &error));
        char *before = key_of(&usual, kinds[i / 2]), *after = key_of(&changed, kinds[i / 2]);
        assert_non_null(before);
        none += after == NULL;
        different += after && strcmp(before, after) != 0;
        gt_free(before);
        gt_free(after);
        gt_report_options_free(&changed);
    }
    if (is_in(option->name, with_files, GT_LENGTH(with_files)))
        assert_int_equal(none, 2 * GT_LENGTH(kinds));
    else if (!is_in(option->name, without_effect, GT_LENGTH(without_effect)) && !different)
        fail_msg("--%s does not change the key", option->name);
}

static void every_option_changes_the_key(void **state)
{
    (void)state;
    static const gt_syntax *const syntaxes[] = {&gt_report_syntax, &gt_pytorch_syntax, &gt_rocprof_syntax,
                                                &gt_nsys_syntax, &gt_jax_syntax};
    size_t checked = 0;
    unsetenv("GEMM_SIMULATOR_PATH");
    for (size_t s = 0; s < GT_LENGTH(syntaxes); s++)
        for (size_t g = 0; g < GT_OPTION_GROUPS_MAX && syntaxes[s]->groups[g]; g++)
            for (size_t i = 0; i < syntaxes[s]->groups[g]->count; i++) {
                const gt_option *option = &syntaxes[s]->groups[g]->options[i];
                if (!gt_report_option_exists(option->name) || option->unused) continue;
                check_option(option);
                checked++;
            }
    assert_true(checked > 80);
}

static void defaults_differ_between_commands_and_kinds(void **state)
{
    (void)state;
    gt_report_options usual = gt_report_options_default(), best = gt_report_options_best();
    char *keys[] = {key_of(&usual, GT_TRACE_PYTORCH), key_of(&best, GT_TRACE_PYTORCH),
                    key_of(&usual, GT_TRACE_ROCPROF), key_of(&best, GT_TRACE_ROCPROF),
                    key_of(&usual, GT_TRACE_JAX),     key_of(&usual, GT_TRACE_NSYS)};
    for (size_t i = 0; i < GT_LENGTH(keys); i++)
        for (size_t j = 0; j < i; j++) assert_string_not_equal(keys[i], keys[j]);
    for (size_t i = 0; i < GT_LENGTH(keys); i++) gt_free(keys[i]);
}

static void lists_of_strings_are_not_confused(void **state)
{
    (void)state;
    gt_error error;
    gt_report_options one = gt_report_options_default(), two = gt_report_options_default();
    assert_true(gt_report_options_set(&one, "comm_kernel_regex", "a regex=1:b", &error));
    assert_true(gt_report_options_set(&two, "comm_kernel_regex", "a", &error));
    assert_true(gt_report_options_set(&two, "comm_kernel_regex", "b", &error));
    char *left = key_of(&one, GT_TRACE_PYTORCH), *right = key_of(&two, GT_TRACE_PYTORCH);
    assert_string_not_equal(left, right);
    gt_free(left);
    gt_free(right);
    gt_report_options_free(&one);
    gt_report_options_free(&two);
}

static void simulated_times_are_not_kept(void **state)
{
    (void)state;
    gt_report_options options = gt_report_options_default();
    setenv("GEMM_SIMULATOR_PATH", "/nowhere", 1);
    assert_null(key_of(&options, GT_TRACE_PYTORCH));
    unsetenv("GEMM_SIMULATOR_PATH");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_changes_the_key),
        cmocka_unit_test(defaults_differ_between_commands_and_kinds),
        cmocka_unit_test(lists_of_strings_are_not_confused),
        cmocka_unit_test(simulated_times_are_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
