/* `gputally sweep compare`: the complete comparison of runs, from traces or reports to workbooks, plots and a
 * page. Each of its steps can be run alone, too (single.c). With two sweeps instead: gate.c; with more:
 * several.c. */
#include "cli/sweep/sweep.h"
#include "cli/common.h"
#include "os/paths.h"
#include "output/file.h"
#include "report/summary.h"
#include "schema/columns.h"
#include "sweep/compare/compare.h"
#include "sweep/compare/run_plots.h"

/* ---- compare ---- */

static const gt_option compare_options[] = {
    {"baseline", GT_OPTION_STRING, "RUN", NULL,
     "read the baseline run: SWEEP/<T>thread/nccl_<C>channels, or any folder with torch_profiler or with "
     "reports in tracelens_analysis (required)"},
    {"test", GT_OPTION_STRINGS, "RUN...", NULL,
     "read the run to compare with the baseline (required); several runs are compared with it one by one, in "
     "folders named after them, and all together"},
    {"output", GT_OPTION_STRING, "DIR", NULL,
     "write the workbooks into DIR (required); of OLD NEW: a workbook and CSV files (optional)"},
    {"baseline_label", GT_OPTION_STRING, "TEXT", NULL,
     "name the baseline TEXT in the sheets (default: 256thread_28ch, or the folder name)"},
    {"test_label", GT_OPTION_STRINGS, "TEXT...", NULL,
     "name the other runs in the sheets, in the order of --test (default: like --baseline_label)"},
    {"geo_mean", GT_OPTION_FLAG, NULL, NULL, "use geometric instead of arithmetic means over ranks"},
};
static const gt_option_group compare_group = {"Runs", compare_options, GT_LENGTH(compare_options)};

static const gt_option pipeline_options[] = {
    {"all", GT_OPTION_FLAG, NULL, NULL,
     "write reports on all runs, all workbooks, the plots and the page: --gpu_timeline, --collective, "
     "--final_report and --generate_plots",
     .needs = "!compare_all_runs"},
    {"gpu_timeline", GT_OPTION_FLAG, NULL, NULL, "compare the GPU timelines"},
    {"collective", GT_OPTION_FLAG, NULL, NULL, "compare the collectives", .needs = "!compare_all_runs"},
    {"final_report", GT_OPTION_FLAG, NULL, NULL,
     "write the final report; implies --gpu_timeline and --collective", .needs = "!compare_all_runs"},
    {"generate_plots", GT_OPTION_FLAG, NULL, NULL,
     "draw the plots and write the page; implies --final_report", .needs = "!compare_all_runs"},
    {"compare_all_runs", GT_OPTION_FLAG, NULL, NULL,
     "write only the workbook, plots and page of all runs side by side"},
    {"skip_tracelens", GT_OPTION_FLAG, NULL, NULL,
     "use the reports that exist (default with the options above: write new ones)"},
    {"individual_only", GT_OPTION_FLAG, NULL, NULL,
     "write new reports only on ranks; alone: and do not compare",
     .needs = "!skip_tracelens&!collective_only"},
    {"collective_only", GT_OPTION_FLAG, NULL, NULL,
     "write new reports only on collectives; alone: and do not compare",
     .needs = "!skip_tracelens&!individual_only"},
};
static const gt_option_group pipeline_group = {"Steps", pipeline_options, GT_LENGTH(pipeline_options)};

const gt_syntax gt_sweep_compare_syntax = {
    .groups = {&compare_group, &pipeline_group, &gt_sweep_gate_group, &gt_common_group},
    .main_options = {"baseline", "test", "output", "all", "fail_if"},
    .files = "[OLD NEW...]",
    .files_max = SIZE_MAX,
    .folders = true,
    .output_option = "output",
};

/* What is to be done. */
typedef struct plan {
    bool makes_reports, makes_missing_reports, no_ranks, no_collectives;
    bool compares, timelines, collectives, has_combined, final, plots, only_side_by_side;
} plan;

/* Without any of these options, the workbooks are those of comparisons alone, as they have always been;
 * reports are only written if there are none. */
static plan make_plan(const gt_arguments *arguments)
{
    bool side_by_side = gt_arguments_flag(arguments, "compare_all_runs");
    bool all = gt_arguments_flag(arguments, "all") && !side_by_side;
    bool plots = all || (gt_arguments_flag(arguments, "generate_plots") && !side_by_side);
    bool final = plots || (gt_arguments_flag(arguments, "final_report") && !side_by_side);
    bool timelines = final || gt_arguments_flag(arguments, "gpu_timeline");
    bool collectives = final || (gt_arguments_flag(arguments, "collective") && !side_by_side);
    bool skips = gt_arguments_flag(arguments, "skip_tracelens");
    bool only_reports = !skips && (gt_arguments_flag(arguments, "individual_only") ||
                                   gt_arguments_flag(arguments, "collective_only"));
    bool is_chosen = timelines || collectives || side_by_side;
    return (plan){.makes_reports = (is_chosen || only_reports) && !skips,
                  .makes_missing_reports = !is_chosen && !only_reports && !skips,
                  .no_ranks = gt_arguments_flag(arguments, "collective_only"),
                  .no_collectives = gt_arguments_flag(arguments, "individual_only"),
                  .compares = is_chosen || !only_reports,
                  .timelines = timelines || !is_chosen,
                  .collectives = collectives || !is_chosen,
                  .has_combined = is_chosen,
                  .final = final || !is_chosen,
                  .plots = plots,
                  .only_side_by_side = side_by_side};
}

/* ---- reports ---- */

typedef struct run_list {
    const char **folders; /* the baseline, then the tests */
    gt_fresh_reports *fresh;
    gt_sweep_totals *totals; /* of the new reports */
    size_t count;
} run_list;

static run_list list_runs(const gt_arguments *arguments)
{
    const gt_option_value *tests = gt_arguments_value(arguments, "test");
    run_list runs = {.count = tests->text_count + 1};
    runs.folders = gt_alloc(runs.count * sizeof *runs.folders);
    runs.fresh = gt_alloc_zero(runs.count, sizeof *runs.fresh);
    runs.totals = gt_alloc_zero(runs.count, sizeof *runs.totals);
    runs.folders[0] = gt_arguments_value(arguments, "baseline")->text;
    for (size_t i = 1; i < runs.count; i++) runs.folders[i] = tests->texts[i - 1];
    return runs;
}

static void free_runs(run_list *runs)
{
    for (size_t i = 0; i < runs->count; i++) gt_sweep_totals_free(&runs->totals[i]);
    gt_free_all(runs->totals, runs->folders, runs->fresh);
}

static bool has_reports(const char *folder)
{
    gt_run_reports reports;
    gt_error ignored;
    bool has = gt_run_reports_find(&reports, folder, (gt_reports_search){0}, &ignored);
    gt_run_reports_free(&reports);
    return has;
}

/* Takes over the reports of a run before that is the same folder. */
static bool is_reported(run_list *runs, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (runs->totals[i].of_config && gt_path_is_same_file(runs->folders[i], runs->folders[index])) {
            runs->fresh[index] = runs->fresh[i];
            return true;
        }
    return false;
}

static bool report_run(const gt_call *call, const plan *p, const gt_read_options *read, run_list *runs,
                       size_t index, gt_error *error)
{
    gt_single_run run;
    gt_sweep_totals *totals = &runs->totals[index];
    const gt_sweep_report_options options = {.strict = read->strict,
                                             .threads = read->threads,
                                             .no_ranks = p->no_ranks,
                                             .no_collectives = p->no_collectives};
    if (is_reported(runs, index)) return true;
    bool made = gt_single_run_find(&run, runs->folders[index], error) &&
                gt_single_run_report(&run, NULL, options, totals, error);
    if (made && !gt_sweep_is_quiet(call)) gt_sweep_show_run_reports(&run, NULL, totals);
    gt_single_run_free(&run);
    if (!made) return false;
    const gt_sweep_report_written *written = &totals->of_config[0];
    runs->fresh[index] = (gt_fresh_reports){.has_ranks = !p->no_ranks,
                                            .ranks = written->ranks,
                                            .rank_count = written->reports,
                                            .has_no_collective = !p->no_collectives && !written->collective};
    if (!p->no_ranks && !written->reports)
        return gt_fail(error, "%s: no report could be written", runs->folders[index]);
    return true;
}

/* Whether new reports on a run are wanted and possible; without traces, that is an error only if they must be
 * made. */
static bool find_traces(const plan *p, const char *folder, bool *is_wanted, gt_error *error)
{
    gt_single_run run;
    gt_error ignored;
    *is_wanted = p->makes_reports || !has_reports(folder);
    if (!*is_wanted) return true;
    bool found = gt_single_run_find(&run, folder, p->makes_reports ? error : &ignored);
    gt_single_run_free(&run);
    *is_wanted = found;
    return found || !p->makes_reports;
}

/* Nothing is written if a run has no traces. */
static bool make_reports(const gt_call *call, const plan *p, const gt_read_options *read, run_list *runs,
                         gt_error *error)
{
    bool *is_wanted = gt_alloc_zero(runs->count, sizeof *is_wanted);
    bool made = true;
    for (size_t i = 0; i < runs->count && made; i++)
        made = gt_path_is_folder(runs->folders[i])
                   ? find_traces(p, runs->folders[i], &is_wanted[i], error)
                   : gt_fail(error, "directory not found: %s", runs->folders[i]);
    for (size_t i = 0; i < runs->count && made; i++)
        made = !is_wanted[i] || report_run(call, p, read, runs, i, error);
    gt_free(is_wanted);
    return made;
}

/* ---- files ---- */

/* A label as the name of a folder. */
static char *folder_of(const char *label)
{
    char *name = gt_format("%.100s", label);
    for (char *c = name; *c; c++)
        if (*c == '/' || (unsigned char)*c < ' ') *c = '_';
    if (name[0] == '.') name[0] = '_';
    return name;
}

/* The folder of a test among several. It gets another name if the label is that of another test, or of a file
 * or folder of all runs. The caller frees it. */
static char *folder_of_test(const char *root, const char *label, gt_name_set *taken)
{
    static const char *const of_all[] = {"plots", "final_analysis_report_for_all.xlsx",
                                         "final_analysis_report_for_all.html"};
    for (size_t i = taken->count; i < GT_LENGTH(of_all); i++) gt_name_set_add(taken, of_all[i], SIZE_MAX);
    char *wanted = folder_of(label);
    const char *name = gt_name_set_add(taken, wanted, SIZE_MAX);
    if (strcmp(name, wanted) != 0)
        gt_info("the files of the test '%s' are in %s/%s, because %s is taken", label, root, name, wanted);
    char *folder = gt_format("%s/%s", root, name);
    gt_free(wanted);
    return folder;
}

/* What is written: first workbooks and plots, then the pages that embed them. */
typedef struct files {
    const char *root;
    gt_output *output;
    const plan *plan;
    gt_error *error;
} files;

static bool add_workbook(const files *f, const char *folder, const char *name, const gt_table_list *tables)
{
    if (!tables->count) return true;
    gt_sheet_style *styles = gt_run_styles(tables);
    char *path = gt_format("%s/%s", folder, name);
    bool written = gt_output_styled_xlsx(f->output, path, tables->items, styles, tables->count, f->error);
    gt_free_all(path, styles);
    return written;
}

static bool add_final(const files *f, const char *folder, const gt_final_report *final)
{
    char *path = gt_format("%s/final_analysis_report.xlsx", folder);
    bool written = gt_output_styled_xlsx(f->output, path, final->tables.items, final->styles,
                                         final->tables.count, f->error);
    gt_free(path);
    return written;
}

/* The workbooks that the steps of a chosen pipeline also write: those of runs alone, and combined ones. */
static bool add_summaries(const files *f, const gt_run_comparisons *all, bool geometric)
{
    const char *name = geometric ? "gpu_timeline_summary_geomean.xlsx" : "gpu_timeline_summary_mean.xlsx";
    bool written = true;
    for (size_t i = 0; i < all->run_count && written; i++) {
        const char *folder = all->runs[i].reports.own_folder;
        bool is_first = folder != NULL;
        for (size_t k = 0; k < i && is_first; k++)
            is_first =
                !all->runs[k].reports.own_folder || strcmp(all->runs[k].reports.own_folder, folder) != 0;
        if (is_first) written = add_workbook(f, folder, name, &all->runs[i].timeline);
    }
    return written;
}

static bool add_comparison(const files *f, const gt_run_comparison *c, const char *folder, gt_name_set *drawn)
{
    char *plots = gt_format("%s/plots", folder);
    bool written =
        (!f->plan->has_combined || (add_workbook(f, folder, "gpu_timeline_combined.xlsx", &c->timelines) &&
                                    add_workbook(f, folder, "collective_combined.xlsx", &c->collectives))) &&
        add_workbook(f, folder, "gpu_timeline_comparison.xlsx", &c->timeline_comparison) &&
        add_workbook(f, folder, "collective_comparison.xlsx", &c->collective_comparison) &&
        (!f->plan->final || add_final(f, folder, &c->final)) &&
        (!f->plan->plots || gt_final_plots_draw(&c->final.tables, plots, f->output, drawn, f->error));
    gt_free(plots);
    return written;
}

static bool add_side_by_side(const files *f, const gt_run_comparisons *all, const char *const *labels,
                             gt_name_set *drawn)
{
    char *plots = gt_format("%s/plots", f->root);
    bool is_wanted = f->plan->plots || f->plan->only_side_by_side;
    bool written = add_workbook(f, f->root, "final_analysis_report_for_all.xlsx", &all->together) &&
                   (!is_wanted || gt_all_plots_draw(&all->together, labels, all->run_count, plots, f->output,
                                                    drawn, f->error));
    gt_free(plots);
    return written;
}

/* Adds the page of plots that are already in their folder. */
static bool add_page(const files *f, const char *folder, const char *name, const gt_run_page *page)
{
    gt_buffer html = {0};
    char *path = gt_format("%s/%s", folder, name), *plots = gt_format("%s/plots", folder);
    gt_run_page whole = *page;
    whole.plots = plots;
    bool made = gt_run_page_make(&html, &whole, f->error) &&
                gt_output_write_file(f->output, path, gt_buffer_str(&html), f->error);
    gt_buffer_free(&html);
    gt_free_all(path, plots);
    return made;
}

static bool add_pages(const files *f, const gt_run_comparisons *all, char *const *folders,
                      const gt_name_set *drawn, const char *const *labels)
{
    bool made = true;
    for (size_t i = 0; i < all->count && made && f->plan->plots; i++) {
        const char *runs[] = {all->items[i].baseline_label, all->items[i].test_label};
        made = add_page(f, folders[i], "performance_analysis_report.html",
                        &(gt_run_page){.drawn = &drawn[i],
                                       .runs = runs,
                                       .run_count = GT_LENGTH(runs),
                                       .table = all->items[i].final.tables.items[0]});
    }
    if (made && all->together.count && drawn[all->count].count)
        made = add_page(f, f->root, "final_analysis_report_for_all.html",
                        &(gt_run_page){.drawn = &drawn[all->count],
                                       .runs = labels,
                                       .run_count = all->run_count,
                                       .table = all->together.items[0]});
    return made;
}

static void show_files(const gt_call *call, const gt_output *output, bool is_first)
{
    for (size_t i = 0; !gt_sweep_is_quiet(call) && i < gt_output_file_count(output); i++)
        printf("%swrote %s\n", i || !is_first ? "" : "\n", gt_output_file_path(output, i));
}

/* One test: its files are in the folder itself. Several: in one folder per test, next to those of all. */
static bool write_comparisons(const gt_call *call, const plan *p, const gt_run_comparisons *all,
                              gt_error *error)
{
    files f = {.root = gt_arguments_value(&call->arguments, "output")->text,
               .output = gt_output_new(),
               .plan = p,
               .error = error};
    gt_name_set *drawn = gt_alloc_zero(all->count + 1, sizeof *drawn);
    char **folders = gt_alloc_zero(all->count + 1, sizeof *folders);
    const char **labels = gt_alloc_zero(all->run_count + 1, sizeof *labels);
    gt_name_set names = {0};
    bool written = !p->has_combined || (!p->timelines && !p->only_side_by_side) ||
                   add_summaries(&f, all, gt_arguments_flag(&call->arguments, "geo_mean"));
    for (size_t i = 0; i < all->run_count; i++) labels[i] = all->runs[i].label;
    for (size_t i = 0; i < all->count && written; i++) {
        folders[i] =
            all->count > 1 ? folder_of_test(f.root, all->items[i].test_label, &names) : gt_strdup(f.root);
        written = add_comparison(&f, &all->items[i], folders[i], &drawn[i]);
    }
    written = written && (!all->together.count || add_side_by_side(&f, all, labels, &drawn[all->count]));
    written = written && gt_output_commit(f.output, error);
    if (written) show_files(call, f.output, true);
    gt_output_free(f.output);
    f.output = gt_output_new(); /* of the pages, which read the plots */
    written = written && add_pages(&f, all, folders, drawn, labels) && gt_output_commit(f.output, error);
    if (written) show_files(call, f.output, false);
    gt_output_free(f.output);
    for (size_t i = 0; i <= all->count; i++) gt_name_set_free(&drawn[i]);
    for (size_t i = 0; i < all->count; i++) gt_free(folders[i]);
    gt_name_set_free(&names);
    gt_free_all(folders, labels, drawn);
    return written;
}

/* ---- comparing ---- */

static void show_comparison(const gt_run_comparison *c)
{
    if (!c->final.tables.count) return;
    const gt_table *dashboard = c->final.tables.items[0];
    gt_terminal terminal = gt_terminal_for(stdout);
    gt_terminal_column columns[] = {{gt_col_named(c->baseline_label), NULL, 2, NULL},
                                    {gt_col_named(c->test_label), NULL, 2, NULL},
                                    {GT_COL_IMPROVEMENT_PCT, NULL, 2, "%"},
                                    {GT_COL_STATUS, NULL, 0, NULL},
                                    {GT_COL_METRIC, NULL, 0, NULL}};
    printf("Times in ms, means over %zu and %zu ranks\n", c->baseline_ranks, c->test_ranks);
    gt_summary_rows(&terminal, dashboard, columns, GT_LENGTH(columns), dashboard->row_count);
}

static bool compare(const gt_call *call, const plan *p, const gt_run_comparison_options *options,
                    gt_error *error)
{
    gt_interner *strings = gt_interner_new();
    gt_run_comparisons all;
    bool made = gt_run_comparisons_make(&all, options, strings, error);
    for (size_t i = 0; made && i < all.count && !gt_sweep_is_quiet(call); i++) {
        if (i) puts("");
        show_comparison(&all.items[i]);
    }
    made = made && write_comparisons(call, p, &all, error);
    gt_run_comparisons_free(&all);
    gt_interner_free(strings);
    return made;
}

/* ---- compare-all-runs ---- */

static const gt_option all_runs_options[] = {
    {"inputs", GT_OPTION_STRINGS, "RUN...", NULL,
     "read the reports of these runs, of which the first is the baseline (required)"},
    {"output", GT_OPTION_STRING, "DIR", NULL,
     "write the workbook, the plots and the page into DIR (required)"},
    {"geo_mean", GT_OPTION_FLAG, NULL, NULL, "use geometric instead of arithmetic means over ranks"},
};
static const gt_option_group all_runs_group = {"Runs", all_runs_options, GT_LENGTH(all_runs_options)};

const gt_syntax gt_sweep_all_runs_syntax = {
    .groups = {&all_runs_group, &gt_whole_files_group},
    .main_options = {"inputs", "output", "geo_mean"},
    .files = "",
    .output_option = "output",
};

gt_exit gt_cmd_sweep_all_runs(const gt_call *call)
{
    gt_read_options read;
    gt_error error = {""};
    if (!gt_sweep_begin_reading(call, (const char *[]){"inputs", "output", NULL}, &read))
        return GT_EXIT_USAGE;
    const gt_option_value *inputs = gt_arguments_value(&call->arguments, "inputs");
    if (inputs->text_count < 2)
        return gt_usage_error(call->program, "argument --inputs: a baseline and at least one other run");
    const plan p = {.only_side_by_side = true};
    const gt_run_comparison_options options = {.baseline = inputs->texts[0],
                                               .tests = inputs->texts + 1,
                                               .test_count = inputs->text_count - 1,
                                               .geometric = gt_arguments_flag(&call->arguments, "geo_mean"),
                                               .own_first = true,
                                               .no_pairs = true};
    return compare(call, &p, &options, &error) ? GT_EXIT_DONE : gt_sweep_failed(&error);
}

/* ---- the step ---- */

static bool compare_runs(const gt_call *call, const plan *p, const run_list *runs, gt_error *error)
{
    const gt_arguments *arguments = &call->arguments;
    const gt_option_value *labels = gt_arguments_value(arguments, "test_label");
    const gt_run_comparison_options options = {
        .baseline = runs->folders[0],
        .tests = runs->folders + 1,
        .test_count = runs->count - 1,
        .baseline_label = gt_arguments_string(arguments, "baseline_label"),
        .test_labels = labels->texts,
        .test_label_count = labels->text_count,
        .geometric = gt_arguments_flag(arguments, "geo_mean"),
        .own_first = p->has_combined,
        .fresh = p->makes_reports ? runs->fresh : NULL,
        .no_pairs = p->only_side_by_side,
        .no_timelines = !p->timelines,
        .no_collectives = !p->collectives,
    };
    return compare(call, p, &options, error);
}

/* The first given option that only the comparison of two sweeps has; NULL: none. */
static const char *option_of_sweeps(const gt_arguments *arguments)
{
    for (size_t i = 0; i < gt_sweep_gate_group.count; i++) {
        const char *name = gt_sweep_gate_group.options[i].name;
        if (gt_arguments_value(arguments, name)->given) return name;
    }
    return NULL;
}

gt_exit gt_cmd_sweep_compare(const gt_call *call)
{
    const gt_arguments *arguments = &call->arguments;
    gt_read_options read;
    gt_error error = {""};
    if (arguments->file_count > 2) return gt_cmd_sweep_several(call);
    if (arguments->file_count) return gt_cmd_sweep_gate(call);
    if (!gt_sweep_begin_reading(call, (const char *[]){"baseline", "test", "output", NULL}, &read))
        return GT_EXIT_USAGE;
    const gt_option_value *tests = gt_arguments_value(arguments, "test"),
                          *labels = gt_arguments_value(arguments, "test_label");
    if (option_of_sweeps(arguments))
        return gt_usage_error(call->program, "argument --%s: only with OLD NEW", option_of_sweeps(arguments));
    if (labels->text_count > tests->text_count)
        return gt_usage_error(call->program, "argument --test_label: %zu labels for %zu %s",
                              labels->text_count, tests->text_count, tests->text_count == 1 ? "run" : "runs");
    plan p = make_plan(arguments);
    run_list runs = list_runs(arguments);
    bool made =
        ((!p.makes_reports && !p.makes_missing_reports) || make_reports(call, &p, &read, &runs, &error)) &&
        (!p.compares || compare_runs(call, &p, &runs, &error));
    free_runs(&runs);
    return made ? GT_EXIT_DONE : gt_sweep_failed(&error);
}
