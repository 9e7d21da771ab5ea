/* `gputally sweep compare OLD NEW`: what changed between two sweeps, and the conditions of --fail_if. */
#include "cli/common.h"
#include "cli/sweep/sweep.h"
#include "os/paths.h"
#include "output/file.h"
#include "report/compare/compare.h"
#include "schema/sheets.h"
#include "sweep/gate/gate.h"

enum { OLD, NEW };

static const gt_option gate_options[] = {
    {"fail_if", GT_OPTION_STRINGS, "CONDITION", NULL,
     "exit with status 3 if a setting of OLD NEW meets the condition [SETTING.]MEASURE OP NUMBER[%] "
     "[significant], such as 'step_ms > 3% significant' or 'bus_gb_s < -5%'; measures are step_ms, "
     "exposed_comm_ms, gemm_ms, gemm_slowdown and bus_gb_s; repeatable"},
    {"allow_missing", GT_OPTION_FLAG, NULL, NULL,
     "accept settings of OLD that are missing in NEW (default: conditions cannot be evaluated, exit status "
     "1)",
     .needs = "fail_if"},
    {"output_json", GT_OPTION_STRING, "PATH", NULL,
     "write the comparison of OLD NEW with all sheets as JSON to PATH, for scripts; - is standard output"},
    {"output_html", GT_OPTION_STRING, "PATH", NULL,
     "write an HTML page of the sweeps to PATH: changes, recommendations, effects, bandwidth; with this "
     "option alone, also of more than two sweeps"},
    {"output_md", GT_OPTION_STRING, "PATH", NULL,
     "write the comparison of OLD NEW as Markdown to PATH, for pull requests; - is standard output"},
    GT_SWEEP_INCLUDE_FAILED,
};
const gt_option_group gt_sweep_gate_group = {"Comparison of two sweeps", gate_options,
                                             GT_LENGTH(gate_options)};

typedef struct comparison {
    const gt_call *call;
    gt_read_options read;
    gt_sweep sweeps[2];
    gt_sweep_measures measures[2];
    gt_sweep_changes changes;
    gt_machine_facts facts;
    gt_table_list tables;
    gt_sweep_condition *conditions;
    size_t condition_count;
} comparison;

/* ---- the command line ---- */

bool gt_sweep_check_not_runs(const gt_call *call, gt_error *error)
{
    static const char *const of_runs[] = {"baseline",         "test",
                                          "baseline_label",   "test_label",
                                          "geo_mean",         "all",
                                          "gpu_timeline",     "collective",
                                          "final_report",     "generate_plots",
                                          "compare_all_runs", "skip_tracelens",
                                          "individual_only",  "collective_only"};
    for (size_t i = 0; i < GT_LENGTH(of_runs); i++)
        if (gt_arguments_value(&call->arguments, of_runs[i])->given)
            return gt_fail(error, "argument --%s: not allowed with OLD NEW", of_runs[i]);
    return true;
}

/* Options of the comparison of runs have no meaning here, and the other way round. */
static bool check_options(const gt_call *call, gt_error *error)
{
    if (call->arguments.file_count != 2)
        return gt_fail(error, "two sweeps are compared, not %zu: OLD NEW", call->arguments.file_count);
    return gt_sweep_check_not_runs(call, error);
}

static bool parse_conditions(comparison *c, gt_error *error)
{
    const gt_option_value *given = gt_arguments_value(&c->call->arguments, "fail_if");
    c->conditions = gt_alloc_zero(given->text_count + 1, sizeof *c->conditions);
    for (size_t i = 0; i < given->text_count; i++) {
        if (!gt_sweep_condition_parse(&c->conditions[i], given->texts[i], error)) {
            gt_error_prefix(error, "argument --fail_if");
            return false;
        }
        c->condition_count++;
    }
    return true;
}

/* ---- reading ---- */

bool gt_sweep_measure_argument(const gt_call *call, size_t which, const gt_read_options *read,
                               gt_sweep *sweep, gt_sweep_measures *measures, gt_error *error)
{
    const char *root = call->arguments.files[which];
    char *folder = gt_format("%s/" GT_SWEEP_ANALYSIS, root);
    gt_sweep_cache *cache = gt_sweep_cache_open(folder, GT_CACHE_USE); /* of `sweep all` or `sweep decide` */
    bool measured = (gt_path_is_folder(root) || gt_fail(error, "Sweep directory does not exist: %s", root)) &&
                    gt_sweep_open_for_step(call, sweep, root, error) &&
                    gt_sweep_measure(measures, sweep, read, cache, error);
    gt_sweep_cache_close(cache);
    gt_free(folder);
    if (!measured && !strstr(error->text, root)) gt_error_prefix(error, root);
    return measured;
}

/* ---- writing ---- */

static bool write_text(gt_output *output, const gt_call *call, const char *option,
                       void (*make)(const gt_sweep_answer *, gt_buffer *), const gt_sweep_answer *answer,
                       gt_error *error)
{
    const char *path = gt_arguments_string(&call->arguments, option);
    if (!path) return true;
    gt_buffer text = {0};
    make(answer, &text);
    bool written = gt_output_write_file(output, path, gt_buffer_str(&text), error);
    gt_buffer_free(&text);
    return written;
}

static bool write_page(comparison *c, const gt_sweep_answer *answer, gt_output *output, gt_error *error)
{
    const char *path = gt_arguments_string(&c->call->arguments, "output_html");
    if (!path) return true;
    gt_buffer page = {0};
    gt_sweep_make_page(c->call, (gt_sweep_measures *[]){&c->measures[OLD], &c->measures[NEW]},
                       (const gt_sweep_answer *[]){NULL, answer}, &page);
    bool written = gt_output_write_file(output, path, gt_buffer_str(&page), error);
    gt_buffer_free(&page);
    return written;
}

static bool write_files(comparison *c, const gt_sweep_answer *answer, gt_output *output, gt_error *error)
{
    const char *folder = gt_arguments_string(&c->call->arguments, "output");
    bool written = true;
    if (folder) {
        char *workbook = gt_format("%s/sweep_comparison.xlsx", folder);
        gt_output_set_csv_safe(output, true);
        written = gt_output_xlsx(output, workbook, c->tables.items, c->tables.count, error) &&
                  gt_output_csvs(output, folder, c->tables.items, c->tables.count, error);
        gt_free(workbook);
    }
    return written && write_text(output, c->call, "output_json", gt_sweep_answer_json, answer, error) &&
           write_text(output, c->call, "output_md", gt_sweep_answer_markdown, answer, error) &&
           write_page(c, answer, output, error) && gt_output_commit(output, error);
}

static void show(const comparison *c, const gt_sweep_answer *answer, const gt_output *output)
{
    bool quiet = gt_sweep_is_quiet(c->call);
    const gt_table *met = gt_table_list_find(&c->tables, GT_SHEET_FAIL_IF);
    gt_buffer text = {0};
    gt_sweep_answer_say(answer, &text);
    if (!quiet) fwrite(text.bytes, 1, text.len, stdout);
    gt_buffer_free(&text);
    if (met && (met->row_count || (!quiet && answer->outcome == GT_GATE_PASSED)))
        gt_compare_print_met(stdout, met);
    for (size_t i = 0; !quiet && i < gt_output_file_count(output); i++)
        printf("%swrote %s\n", i ? "" : "\n", gt_output_file_path(output, i));
}

/* ---- comparison ---- */

static gt_exit exit_of(const comparison *c, gt_gate_outcome outcome)
{
    return !c->condition_count || outcome == GT_GATE_PASSED ? GT_EXIT_DONE
           : outcome == GT_GATE_FAILED                      ? GT_EXIT_GATE
                                                            : GT_EXIT_FAILED;
}

/* Conditions are checked before anything is written, so that the files say how that went. A gate that could
 * not be evaluated is a failure, but its files are written. */
static gt_exit compare(comparison *c, gt_error *error)
{
    gt_error problem = {""};
    gt_sweep_changes_find(&c->changes, &c->measures[OLD], &c->measures[NEW]);
    gt_machine_facts_find(&c->facts, &c->sweeps[OLD], &c->sweeps[NEW]);
    if (!c->changes.in_both) {
        gt_fail(error, "the sweeps have no measured setting in common");
        return GT_EXIT_FAILED;
    }
    gt_sweep_changes_add_sheets(&c->changes, &c->tables);
    gt_machine_facts_add_sheet(&c->facts, c->changes.strings, &c->tables);
    gt_gate_outcome outcome = GT_GATE_PASSED;
    if (c->condition_count) {
        gt_table *met = gt_sweep_gate_table(c->changes.strings);
        outcome = gt_sweep_gate_check(c->conditions, c->condition_count, &c->changes,
                                      gt_arguments_flag(&c->call->arguments, "allow_missing"), met, &problem);
        gt_table_list_add(&c->tables, met);
    }
    const gt_sweep_answer answer = {.names = {c->call->arguments.files[OLD], c->call->arguments.files[NEW]},
                                    .changes = &c->changes,
                                    .facts = &c->facts,
                                    .tables = &c->tables,
                                    .conditions = gt_arguments_value(&c->call->arguments, "fail_if")->texts,
                                    .condition_count = c->condition_count,
                                    .outcome = outcome,
                                    .problem = outcome == GT_GATE_UNEVALUATED ? problem.text : NULL};
    gt_output *output = gt_output_new();
    gt_exit status = write_files(c, &answer, output, error) ? exit_of(c, outcome) : GT_EXIT_FAILED;
    if (!error->text[0]) {
        show(c, &answer, output);
        if (answer.problem) *error = problem;
    }
    gt_output_free(output);
    return status;
}

/* A step is not the same thing for all profilers. */
static void fail_for_sources(const comparison *c)
{
    gt_error error;
    gt_fail(&error, "traces of %s cannot be compared with those of %s",
            gt_trace_source_names[c->measures[OLD].source], gt_trace_source_names[c->measures[NEW].source]);
    gt_sweep_failed(&error);
}

gt_exit gt_cmd_sweep_gate(const gt_call *call)
{
    gt_error error = {""};
    comparison c = {.call = call};
    gt_exit status = GT_EXIT_FAILED;
    if (!gt_sweep_begin_reading(call, NULL, &c.read)) return GT_EXIT_USAGE;
    if (!check_options(call, &error) || !parse_conditions(&c, &error))
        status = gt_usage_error(call->program, "%s", error.text);
    else if (!gt_sweep_measure_argument(c.call, OLD, &c.read, &c.sweeps[OLD], &c.measures[OLD], &error) ||
             !gt_sweep_measure_argument(c.call, NEW, &c.read, &c.sweeps[NEW], &c.measures[NEW], &error))
        gt_sweep_failed(&error);
    else if (c.measures[OLD].source != c.measures[NEW].source)
        fail_for_sources(&c);
    else if ((status = compare(&c, &error)) == GT_EXIT_FAILED)
        gt_sweep_failed(&error);
    gt_table_list_free(&c.tables);
    gt_machine_facts_free(&c.facts);
    gt_sweep_changes_free(&c.changes);
    for (size_t k = OLD; k <= NEW; k++) {
        gt_sweep_measures_free(&c.measures[k]);
        gt_sweep_free(&c.sweeps[k]);
    }
    for (size_t i = 0; i < c.condition_count; i++) gt_sweep_condition_free(&c.conditions[i]);
    gt_free(c.conditions);
    return status;
}
