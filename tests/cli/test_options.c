/* The command line: options are accepted and rejected as by Python's argparse, with its messages (taken from
 * a run of argparse); names of outputs; suggestions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/commands/commands.h"
#include "cli/common.h"
#include "cli/options.h"
#include "analysis/phases/phases.h"
#include "model/arch.h"
#include "output/figure/figure.h"
#include "report/compare/compare.h"

#include <stdio.h>
#include <stdlib.h>

enum { WORDS_MAX = 12 };

static int split(char *line, char **words)
{
    int count = 0;
    for (char *word = strtok(line, " "); word && count < WORDS_MAX; word = strtok(NULL, " "))
        words[count++] = word;
    return count;
}

/* Parses arguments, separated by spaces, by the options of `gputally rocprof`. */
static bool parse(gt_arguments *arguments, char *line, gt_error *error)
{
    static char *words[WORDS_MAX];
    int count = split(line, words);
    return gt_arguments_parse(arguments, &gt_rocprof_syntax, count, words, error);
}

#define ACCEPT(name, line)                                                                                   \
    char name##_line[] = line;                                                                               \
    gt_arguments name;                                                                                       \
    gt_error name##_error = {""};                                                                            \
    if (!parse(&name, name##_line, &name##_error)) fail_msg("refused: %s", name##_error.text)

static void refuses(const char *line, const char *message)
{
    char copy[256];
    strcpy(copy, line);
    gt_arguments arguments;
    gt_error error = {""};
    if (parse(&arguments, copy, &error)) fail_msg("accepted: %s", line);
    assert_string_equal(error.text, message);
    gt_arguments_free(&arguments);
}

static void has_the_defaults_of_tracelens(void **state)
{
    (void)state;
    ACCEPT(a, "--profile_json_path t.json");
    assert_string_equal(gt_arguments_string(&a, "profile_json_path"), "t.json");
    assert_null(gt_arguments_string(&a, "output_xlsx_path"));
    assert_null(gt_arguments_string(&a, "output_csvs_dir"));
    assert_false(gt_arguments_flag(&a, "disable_kernel_summary"));
    assert_false(gt_arguments_flag(&a, "kernel_details"));
    assert_false(gt_arguments_flag(&a, "short_kernel_study"));
    assert_int_equal(gt_arguments_int(&a, "short_kernel_threshold_us"), 10);
    assert_int_equal(gt_arguments_int(&a, "short_kernel_histogram_bins"), 100);
    assert_false(gt_arguments_value(&a, "topk_kernels")->given);
    gt_arguments_free(&a);
}

static void accepts_every_way_of_writing(void **state)
{
    (void)state;
    ACCEPT(a, "--profile-json-path=t.json --short-kernel_threshold_us=20 --topk_kernels -5 --kernel-details "
              "--kernel_details --output_csvs_dir= --output-db=a=b.db");
    assert_string_equal(gt_arguments_string(&a, "profile_json_path"), "t.json");
    assert_int_equal(gt_arguments_int(&a, "short_kernel_threshold_us"), 20);
    assert_int_equal(gt_arguments_int(&a, "topk_kernels"), -5);
    assert_true(gt_arguments_flag(&a, "kernel_details"));
    assert_null(gt_arguments_string(&a, "output_csvs_dir")); /* empty, as with an unset shell variable */
    assert_string_equal(gt_arguments_string(&a, "output_db"), "a=b.db");
    gt_arguments_free(&a);
    ACCEPT(b, "--prof t.json --topk +1_000 --topk 7 --short_kernel_h 3");
    assert_int_equal(gt_arguments_int(&b, "topk_kernels"), 7);
    assert_int_equal(gt_arguments_int(&b, "short_kernel_histogram_bins"), 3);
    gt_arguments_free(&b);
}

static void accepts_the_trace_without_an_option(void **state)
{
    (void)state;
    ACCEPT(a, "--kernel_details t.json --topk_kernels 3");
    assert_string_equal(gt_arguments_string(&a, "profile_json_path"), "t.json");
    gt_arguments_free(&a);
    ACCEPT(b, "--kernel_details -- --odd.json");
    assert_string_equal(gt_arguments_string(&b, "profile_json_path"), "--odd.json");
    gt_arguments_free(&b);
    ACCEPT(c, "-");
    assert_string_equal(gt_arguments_string(&c, "profile_json_path"), "-");
    gt_arguments_free(&c);
    refuses("a.json b.json", "unrecognized arguments: b.json");
    refuses("a.json --profile_json_path b.json",
            "argument --profile_json_path: given twice: 'b.json' and 'a.json'");
}

static void rejects_with_the_messages_of_argparse(void **state)
{
    (void)state;
    refuses("", "the following arguments are required: --profile_json_path");
    refuses("t.json --topk_kernels abc", "argument --topk_kernels: invalid int value: 'abc'");
    refuses("t.json --topk_kernels=", "argument --topk_kernels: invalid int value: ''");
    refuses("t.json --topk_kernels 1.5", "argument --topk_kernels: invalid int value: '1.5'");
    refuses("t.json --topk_kernels 1__0", "argument --topk_kernels: invalid int value: '1__0'");
    refuses("t.json --topk_kernels 0x10", "argument --topk_kernels: invalid int value: '0x10'");
    refuses("t.json --topk_kernels", "argument --topk_kernels: expected one argument");
    refuses("t.json --output_csvs_dir --kernel_details", "argument --output_csvs_dir: expected one argument");
    refuses("t.json --kernel_details=yes", "argument --kernel_details: ignored explicit argument 'yes'");
    refuses("t.json --short_kernel_", "ambiguous option: --short_kernel_ could match --short_kernel_study, "
                                      "--short_kernel_threshold_us, --short_kernel_histogram_bins");
    refuses("t.json --frobnicate 3", "unrecognized arguments: --frobnicate");
    refuses("t.json -x", "unrecognized arguments: -x");
}

static void rejects_numbers_beyond_64_bits(void **state)
{
    (void)state;
    ACCEPT(a, "t.json --topk_kernels 9223372036854775807");
    assert_int_equal(gt_arguments_int(&a, "topk_kernels"), INT64_MAX);
    gt_arguments_free(&a);
    refuses("t.json --topk_kernels 9223372036854775808",
            "argument --topk_kernels: value out of range: '9223372036854775808'");
}

static void suggests_the_nearest_option(void **state)
{
    (void)state;
    refuses("t.json --kernal_details",
            "unrecognized arguments: --kernal_details (did you mean --kernel_details?)");
    refuses("t.json --topk-kernles=3",
            "unrecognized arguments: --topk-kernles=3 (did you mean --topk_kernels?)");
    refuses("t.json --output_csv_dir out",
            "unrecognized arguments: --output_csv_dir (did you mean --output_csvs_dir?)");
}

static void help_wins_over_missing_arguments(void **state)
{
    (void)state;
    ACCEPT(a, "--kernel_details --help --topk_kernels abc");
    assert_true(a.help);
    gt_arguments_free(&a);
    ACCEPT(b, "-h");
    assert_true(b.help);
    gt_arguments_free(&b);
}

static void edit_distances_are_correct(void **state)
{
    (void)state;
    assert_int_equal(gt_edit_distance("", ""), 0);
    assert_int_equal(gt_edit_distance("", "abc"), 3);
    assert_int_equal(gt_edit_distance("kitten", "sitting"), 3);
    assert_int_equal(gt_edit_distance("rocrpof", "rocprof"), 1); /* neighbours swapped */
    assert_int_equal(gt_edit_distance("a-b", "a_b"), 0);
    char long_a[200], long_b[200];
    memset(long_a, 'a', sizeof long_a);
    memset(long_b, 'b', sizeof long_b);
    long_a[199] = long_b[199] = 0;
    assert_int_equal(gt_edit_distance(long_a, long_b), 63); /* only the first letters are compared */
    const char *const names[] = {"report", "rocprof"};
    assert_string_equal(gt_nearest("rocrpof", names, 2), "rocprof");
    assert_string_equal(gt_nearest("reprot", names, 2), "report");
    assert_null(gt_nearest("x", names, 2));
    assert_null(gt_nearest("pytorch", names, 2));
}

static void check_name(const char *trace, const char *expected)
{
    char *path = gt_default_xlsx_path(trace);
    assert_string_equal(path, expected);
    free(path);
}

static void workbooks_are_named_after_the_trace(void **state)
{
    (void)state;
    check_name("908_results.json", "908_perf_report.xlsx"); /* these four as TraceLens names them */
    check_name("run/host/908_results.json", "run/host/908_perf_report.xlsx");
    check_name("t.json", "t_perf_report.xlsx");
    check_name("908_results.json.gz", "908_results_perf_report.xlsx");
    check_name("a_results.json/t.json.zst", "a_results.json/t_perf_report.xlsx");
    check_name("a.json.b.json", "a.json.b_perf_report.xlsx");
    check_name("trace", "trace_perf_report.xlsx");
    check_name("run.1/trace", "run.1/trace_perf_report.xlsx");
    check_name("trace.gz", "trace_perf_report.xlsx");
    check_name("trace.txt.zst", "trace_perf_report.xlsx");
    check_name(".json", ".json_perf_report.xlsx");
    check_name("/", "/_perf_report.xlsx");
    check_name("-", "stdin_perf_report.xlsx");
}

/* The "xlsx csvs db" outputs that a command line requests, for one trace or several. */
static void check_destinations(const char *line, const char *old_name, size_t traces, const char *expected)
{
    char copy[256], got[256];
    strcpy(copy, line);
    gt_error error = {""};
    gt_call call = {.by_old_name = old_name,
                    .command = old_name ? gt_command_find_by_old_name(old_name) : NULL};
    assert_true(!old_name || call.command);
    assert_true(parse(&call.arguments, copy, &error));
    gt_destinations to;
    if (gt_destinations_choose(&to, &call, "d/908_results.json", NULL, traces, &error))
        snprintf(got, sizeof got, "%s %s %s", to.xlsx_path ? to.xlsx_path : ".",
                 to.csvs_dir ? to.csvs_dir : ".", to.db_path ? to.db_path : ".");
    else
        snprintf(got, sizeof got, "%.17s", error.text);
    assert_string_equal(got, expected);
    gt_destinations_free(&to);
    gt_arguments_free(&call.arguments);
}

static void outputs_are_the_requested_ones(void **state)
{
    (void)state;
    check_destinations("t", NULL, 1, "d/908_perf_report.xlsx . .");
    check_destinations("t --output_xlsx_path x.xlsx", NULL, 1, "x.xlsx . .");
    check_destinations("t --output_csvs_dir c", NULL, 1, ". c .");
    check_destinations("t --output_db q.db", NULL, 1, ". . q.db");
    check_destinations("t --output_db q.db --output_xlsx_path x.xlsx", NULL, 1, "x.xlsx . q.db");
    check_destinations("t --output_xlsx_path x.xlsx --output_csvs_dir c", NULL, 1, "x.xlsx c .");
    check_destinations("t --output_xlsx_path x.xlsx --output_csvs_dir c",
                       "TraceLens_generate_perf_report_rocprof", 1, ". c .");
    check_destinations("t --output_xlsx_path x.xlsx --output_csvs_dir c",
                       "TraceLens_generate_perf_report_pytorch", 1, "x.xlsx c .");
    check_destinations("t", NULL, 2, "d/908_perf_report.xlsx . .");
    check_destinations("t --output_csvs_dir c", NULL, 2, ". c/908 .");
    check_destinations("t --output_csvs_dir c/", NULL, 2, ". c/908 .");
    check_destinations("t --output_db q.db", NULL, 2, "argument --output");
}

/* Short options, as argparse accepts them. */
static void accepts_short_options(void **state)
{
    (void)state;
    static const struct {
        const char *line, *base, *extension, *filters;
        bool dry, all;
    } cases[] = {
        {"-b p", "p", "json", "", false, false},
        {"-bp -e=gz -f a b -d", "p", "gz", "a b ", true, false},
        {"-f a -da -b=x=y -f c", "x=y", "json", "a c ", true, true},
        {"-dae gz --base_dir q", "q", "gz", "", true, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[256], *words[WORDS_MAX], filters[64] = "";
        gt_arguments a;
        gt_error error;
        strcpy(line, cases[i].line);
        int count = split(line, words);
        if (!gt_arguments_parse(&a, &gt_batch_syntax, count, words, &error))
            fail_msg("refused: %s", error.text);
        assert_string_equal(gt_arguments_string(&a, "base_dir"), cases[i].base);
        assert_string_equal(gt_arguments_string(&a, "extension"), cases[i].extension);
        const gt_option_value *given = gt_arguments_value(&a, "filters");
        for (size_t f = 0; f < given->text_count; f++) strcat(strcat(filters, given->texts[f]), " ");
        assert_string_equal(filters, cases[i].filters);
        assert_int_equal(gt_arguments_flag(&a, "dry_run"), cases[i].dry);
        assert_int_equal(gt_arguments_flag(&a, "all_kernels"), cases[i].all);
        gt_arguments_free(&a);
    }
    assert_int_equal(gt_syntax_short_option(&gt_batch_syntax, "output_xlsx_path"), 'o');
    assert_int_equal(gt_syntax_short_option(&gt_batch_syntax, "quiet"), 'q');
    assert_int_equal(gt_syntax_short_option(&gt_batch_syntax, "threads"), 0);
}

/* ---- the tables of options ---- */

/* Calls `check` for every command and every step of a command. */
static void each_syntax(void (*check)(const gt_command *command))
{
    for (size_t i = 0; i < gt_command_count; i++) {
        const gt_command *step = gt_command_steps(&gt_commands[i]);
        if (!step) check(&gt_commands[i]);
        for (; step && step->name; step++) check(step);
    }
}

static void check_main_options(const gt_command *command)
{
    const gt_syntax *syntax = command->syntax;
    if (!syntax->main_options[0]) fail_msg("%s: no main options", command->name);
    for (size_t i = 0; i < GT_MAIN_OPTIONS_MAX && syntax->main_options[i]; i++) {
        const gt_option *option = gt_syntax_option(syntax, syntax->main_options[i]);
        if (!option) fail_msg("%s: no option --%s", command->name, syntax->main_options[i]);
        assert_true(gt_syntax_is_main(syntax, option));
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(syntax->main_options[i], syntax->main_options[j]);
    }
}

static void main_options_are_options_of_the_command(void **state)
{
    (void)state;
    each_syntax(check_main_options);
}

static void check_help_lines(const gt_command *command)
{
    static const char verbs[] =
        " accept add align also analyse assign build choose clean compare continue copy count detect "
        "do draw drop embed exit expect extract fail find give group include keep list load make mark match "
        "merge model name omit pass predict prepare print push read rebuild recognise record remove repair "
        "replace "
        "report request rerun run save search set shift show skip split start stop submit treat unset use "
        "wait warn write ";
    const gt_syntax *syntax = command->syntax;
    for (size_t g = 0; g < GT_OPTION_GROUPS_MAX && syntax->groups[g]; g++)
        for (size_t i = 0; i < syntax->groups[g]->count; i++) {
            const gt_option *option = &syntax->groups[g]->options[i];
            char word[64];
            snprintf(word, sizeof word, " %.*s ", (int)strcspn(option->help, " "), option->help);
            if (!strstr(verbs, word)) fail_msg("%s --%s: '%s'", command->name, option->name, option->help);
            char last = option->help[strlen(option->help) - 1];
            if (last == ' ' || (last == '.' && !strstr(option->help, "...")))
                fail_msg("%s --%s ends with '%c'", command->name, option->name, last);
        }
}

/* Whether any command has the option. */
static bool is_option(const char *name, size_t len)
{
    for (size_t i = 0; i < gt_command_count; i++) {
        const gt_command *one[2] = {&gt_commands[i]}, *step = gt_command_steps(&gt_commands[i]);
        char text[64];
        snprintf(text, sizeof text, "%.*s", (int)len, name);
        if (!step && gt_syntax_option(one[0]->syntax, text)) return true;
        for (; step && step->name; step++)
            if (gt_syntax_option(step->syntax, text)) return true;
    }
    return false;
}

static void check_condition(const gt_command *command, const char *needs)
{
    for (const char *at = needs; at && *at;) {
        at += *at == '!';
        size_t len = strcspn(at, ",&"), name = strcspn(at, ",&=");
        if (*at != '$' && !is_option(at, name))
            fail_msg("%s: '%s' names no option: '%.*s'", command->name, needs, (int)name, at);
        at += len + (at[len] != 0);
    }
}

static void check_marks(const gt_command *command)
{
    const gt_syntax *syntax = command->syntax;
    for (size_t g = 0; g < GT_OPTION_GROUPS_MAX && syntax->groups[g]; g++) {
        check_condition(command, syntax->groups[g]->needs);
        for (size_t i = 0; i < syntax->groups[g]->count; i++) {
            const gt_option *option = &syntax->groups[g]->options[i];
            check_condition(command, option->needs);
            if (option->unused && gt_syntax_is_main(syntax, option))
                fail_msg("%s --%s: a main option without effect", command->name, option->name);
        }
    }
    if (!syntax->output_option || !gt_syntax_option(syntax, syntax->output_option))
        fail_msg("%s: no output option", command->name);
}

static void marks_name_options(void **state)
{
    (void)state;
    each_syntax(check_marks);
}

static void help_lines_start_with_a_verb(void **state)
{
    (void)state;
    each_syntax(check_help_lines);
}

static void a_former_name_still_works_and_is_not_shown(void **state)
{
    (void)state;
    const char *const lines[] = {"t.json --seed_sheet_names", "t.json --seed-sheet-names", "t.json --seed",
                                 "t.json --legacy_sheet_names"};
    const gt_syntax *const both[] = {&gt_pytorch_syntax, &gt_report_syntax};
    for (size_t s = 0; s < 2; s++) {
        assert_null(gt_syntax_option(both[s], "seed_sheet_names"));
        for (size_t i = 0; i < 4; i++) {
            char line[64], *words[WORDS_MAX];
            snprintf(line, sizeof line, "%s", lines[i]);
            gt_arguments arguments;
            gt_error error = {""};
            if (!gt_arguments_parse(&arguments, both[s], split(line, words), words, &error))
                fail_msg("%s: %s", lines[i], error.text);
            assert_true(gt_arguments_flag(&arguments, "legacy_sheet_names"));
            gt_arguments_free(&arguments);
        }
    }
}

/* Whether the list has these names, in their order, and no others. */
static void expect_choices(const char *choices, const char *(*name)(size_t), size_t count)
{
    char list[512] = "";
    for (size_t i = 0; i < count; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? "|" : "", name(i));
    assert_string_equal(choices, list);
}

static const char *method(size_t i)
{
    return gt_phase_method_name((gt_phase_method)i);
}

static const char *format(size_t i)
{
    return gt_figure_format_name((gt_figure_format)i);
}

static const char *peaks(size_t i)
{
    return gt_peak_set_name((gt_peak_set)i);
}

static const char *group(size_t i)
{
    return gt_compare_group(i) ? gt_compare_group(i) : "all";
}

static void choices_are_the_names_of_other_layers(void **state)
{
    (void)state;
    expect_choices(GT_PHASE_METHOD_CHOICES, method, GT_PHASE_METHODS);
    expect_choices(GT_PLOT_FORMAT_CHOICES, format, GT_FIGURE_FORMATS);
    expect_choices(GT_PEAK_SET_CHOICES, peaks, GT_PEAK_SETS);
    size_t groups = 0;
    while (gt_compare_group(groups)) groups++;
    expect_choices(gt_syntax_option(&gt_compare_syntax, "sheets")->choices, group, groups + 1);
}

static void rejects_values_that_are_not_listed(void **state)
{
    (void)state;
    static const struct {
        const gt_syntax *syntax;
        const char *line, *expected; /* NULL: valid */
    } cases[] = {
        {&gt_report_syntax, "x.json --comm_kernels some",
         "argument --comm_kernels: invalid choice: 'some' (choose from tracelens, all)"},
        {&gt_compare_syntax, "a b --sheets all ops",
         "argument --sheets: invalid choice: 'ops' (choose from waterfall, gpu_timeline, ops_summary, "
         "kernel_summary, ops_all, roofline, all)"},
        {&gt_completion_syntax, "tcsh",
         "argument SHELL: invalid choice: 'tcsh' (choose from bash, zsh, fish)"},
        {&gt_report_syntax, "x.json --index some", NULL}, /* a list that is not closed */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[64], *words[WORDS_MAX];
        snprintf(line, sizeof line, "%s", cases[i].line);
        gt_arguments arguments;
        gt_error error = {""};
        bool parsed = gt_arguments_parse(&arguments, cases[i].syntax, split(line, words), words, &error);
        assert_int_equal(parsed, cases[i].expected == NULL);
        if (!parsed) assert_string_equal(error.text, cases[i].expected);
        gt_arguments_free(&arguments);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_the_defaults_of_tracelens),
        cmocka_unit_test(accepts_every_way_of_writing),
        cmocka_unit_test(accepts_the_trace_without_an_option),
        cmocka_unit_test(rejects_with_the_messages_of_argparse),
        cmocka_unit_test(rejects_numbers_beyond_64_bits),
        cmocka_unit_test(suggests_the_nearest_option),
        cmocka_unit_test(help_wins_over_missing_arguments),
        cmocka_unit_test(edit_distances_are_correct),
        cmocka_unit_test(workbooks_are_named_after_the_trace),
        cmocka_unit_test(outputs_are_the_requested_ones),
        cmocka_unit_test(accepts_short_options),
        cmocka_unit_test(main_options_are_options_of_the_command),
        cmocka_unit_test(help_lines_start_with_a_verb),
        cmocka_unit_test(marks_name_options),
        cmocka_unit_test(choices_are_the_names_of_other_layers),
        cmocka_unit_test(rejects_values_that_are_not_listed),
        cmocka_unit_test(a_former_name_still_works_and_is_not_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
