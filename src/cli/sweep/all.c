/* `gputally sweep all`: runs the steps one after another, each as if it were called on its own. */
#include "cli/common.h"
#include "cli/sweep/sweep.h"
#include "procs/procs.h"
#include "os/paths.h"
#include "sweep/setting_reports.h"

static const gt_option all_options[] = {
    {"output_dir", GT_OPTION_STRING, "DIR", NULL,
     "write all files into DIR (default: tracelens_analysis in SWEEP)"},
    {"top_k", GT_OPTION_INT, "K", "5",
     "keep K rows per report in `top`; names of CSV files start with top<K>, and the job file is "
     "rocprof_top<K>_kernels.yaml",
     .needs = "!rocprof"},
    {"rocprof", GT_OPTION_FLAG, NULL, NULL,
     "analyse rocprofv3 traces instead of torch.profiler traces: steps report, timeline, decide and "
     "counters"},
    {"rank_order", GT_OPTION_STRING, "HOW", NULL, "pass --rank_order to `gputally sweep report`",
     .needs = "rocprof", .choices = "path|pid"},
    {"full_kernel_names", GT_OPTION_FLAG, NULL, NULL, "pass --full_kernel_names to `gputally sweep report`",
     .needs = "rocprof"},
    {"report_layout", GT_OPTION_STRING, "NAME", NULL, "pass --report_layout to `gputally sweep report`",
     .needs = "!rocprof", .choices = "head|2025.12"},
    {"dpi", GT_OPTION_INT, "N", NULL, "pass --dpi to `gputally sweep plot`", .needs = "!rocprof"},
    {"geo_mean", GT_OPTION_FLAG, NULL, NULL, "pass --geo_mean to `gputally sweep timeline`"},
    GT_SWEEP_INCLUDE_FAILED,
    GT_SWEEP_FORCE,
};
static const gt_option_group all_group = {"Steps", all_options, GT_LENGTH(all_options)};

const gt_syntax gt_sweep_all_syntax = {
    .groups = {&all_group, &gt_partials_group, &gt_common_group},
    .main_options = {"top_k", "rocprof", "dpi", "geo_mean", "rank_order"},
    .files = "SWEEP",
    .files_max = 1,
    .folders = true,
    .output_option = "output_dir",
};

/* Files and folders that steps pass on. */
typedef enum place { NOTHING, ROOT, ANALYSIS, ROWS, STAMPED, JOB_FILE, PAGE, PLACES } place;

/* The arguments of each step, and the options of `all` that it takes; NULL or NOTHING: none. */
static const struct {
    const char *name;
    struct {
        const char *option; /* NULL: the place is an argument without option */
        place value;
    } places[3];
    const char *options[5];
    bool is_traced, is_rocprof; /* for traces of torch.profiler, of rocprofv3 */
    bool needs_rows;            /* reads the output of `top` */
    bool needs_collectives;     /* has nothing to do without collective reports */
} chain[] = {
    {"report",
     {{NULL, ROOT}, {"--output_dir", ANALYSIS}},
     {"rank_order", "full_kernel_names", "report_layout", "include_failed",
      "force"}, /* also renews what `decide` uses */
     .is_traced = true,
     .is_rocprof = true},
    {"top",
     {{"--base_path", ANALYSIS}, {"--output_file", ROWS}, {"--sweep_dir", ROOT}},
     {"top_k", "include_failed"},
     .is_traced = true},
    {"yaml", {{"--input_csv", ROWS}, {"--output_yaml", JOB_FILE}}, .is_traced = true, .needs_rows = true},
    {"plot", {{"--csv_path", ROWS}}, {"dpi", "force"}, .is_traced = true, .needs_rows = true},
    {"timestamps",
     {{"--input_csv", ROWS}, {"--base_path", ROOT}},
     {"force"},
     .is_traced = true,
     .needs_rows = true},
    {"overlap",
     {{"--input_csv", STAMPED}, {"--tracelens_path", ANALYSIS}, {"--sweep_dir", ROOT}},
     .is_traced = true,
     .needs_rows = true},
    {"timeline",
     {{"--sweep_dir", ROOT}, {"--tracelens_path", ANALYSIS}},
     {"geo_mean", "include_failed"},
     .is_traced = true,
     .is_rocprof = true},
    {"comms",
     {{"--sweep_dir", ROOT}, {"--tracelens_path", ANALYSIS}},
     {"include_failed"},
     .is_traced = true,
     .needs_collectives = true},
    {"decide",
     {{NULL, ROOT}, {"--output_dir", ANALYSIS}, {"--output_html", PAGE}},
     {"include_failed", "top_k", "rocprof"},
     .is_traced = true,
     .is_rocprof = true},
    {"counters", {{"--sweep_dir", ROOT}, {"--output_dir", ANALYSIS}}, {"include_failed"}, .is_rocprof = true},
};

typedef struct words {
    char *items[32]; /* owned */
    int count;
} words;

static void add_word(words *line, const char *word)
{
    if (line->count < (int)GT_LENGTH(line->items)) line->items[line->count++] = gt_strdup(word);
}

static void add_option(words *line, const gt_call *call, const char *name)
{
    const gt_option_value *value = gt_arguments_value(&call->arguments, name);
    if (!value->given) return;
    char *word = value->text ? gt_format("--%s=%s", name, value->text) : gt_format("--%s", name);
    add_word(line, word);
    gt_free(word);
}

static const gt_command *find_step(const char *name)
{
    for (const gt_command *step = gt_sweep_steps; step->name; step++)
        if (strcmp(step->name, name) == 0) return step;
    return NULL;
}

/* Whether the step has the option, and for what it means in `all`: --threads of some is a setting. */
static bool takes(const gt_command *step, const char *name)
{
    const gt_option *option = gt_syntax_option(step->syntax, name);
    return option && !option->unused && gt_syntax_option(step->syntax, "strict");
}

static gt_exit run_step(const gt_call *call, size_t index, char *const *places, bool *nothing_to_do)
{
    static const char *const common[] = {"threads", "strict"}, *const always[] = {"quiet", "no_progress"};
    const gt_command *step = find_step(chain[index].name);
    if (!step) return GT_EXIT_DONE;
    words line = {0};
    for (size_t i = 0; i < GT_LENGTH(chain[index].places); i++) {
        if (chain[index].places[i].value == NOTHING) continue;
        if (chain[index].places[i].option) add_word(&line, chain[index].places[i].option);
        add_word(&line, places[chain[index].places[i].value]);
    }
    for (size_t i = 0; i < GT_LENGTH(chain[index].options); i++)
        if (chain[index].options[i]) add_option(&line, call, chain[index].options[i]);
    for (size_t i = 0; i < GT_LENGTH(common); i++)
        if (takes(step, common[i])) add_option(&line, call, common[i]);
    for (size_t i = 0; i < GT_LENGTH(always); i++) add_option(&line, call, always[i]);
    if (index == 0) add_option(&line, call, "rocprof");
    char program[64];
    snprintf(program, sizeof program, "gputally sweep %s", step->name);
    gt_call of_step = {.command = step, .program = program, .nothing_to_do = nothing_to_do};
    gt_error error;
    gt_exit status = gt_arguments_parse(&of_step.arguments, step->syntax, line.count, line.items, &error)
                         ? step->run(&of_step)
                         : gt_usage_error(program, "%s", error.text);
    gt_arguments_free(&of_step.arguments);
    for (int i = 0; i < line.count; i++) gt_free(line.items[i]);
    return status;
}

/* The folder of all files as an absolute path: `top` takes names relative to its folder. It need not exist
 * yet. */
static char *absolute_analysis(const gt_call *call, const char *root)
{
    const char *given = gt_arguments_string(&call->arguments, "output_dir");
    char *here = given ? getcwd(NULL, 0) : realpath(root, NULL);
    char *whole = !given            ? gt_format("%s/" GT_SWEEP_ANALYSIS, here ? here : root)
                  : given[0] == '/' ? gt_strdup(given)
                                    : gt_format("%s/%s", here ? here : ".", given);
    gt_free(here);
    return whole;
}

static void name_places(const gt_call *call, char **places)
{
    const char *root = call->arguments.files[0];
    long long top = (long long)gt_arguments_int(&call->arguments, "top_k");
    places[ROOT] = gt_strdup(root);
    places[ANALYSIS] = gt_sweep_analysis_folder(call, "output_dir", root);
    char *here = absolute_analysis(call, root);
    places[ROWS] = gt_format("%s/top%lld_gemm_kernels_time_variance.csv", here, top);
    places[PAGE] = gt_format("%s/decision.html", places[ANALYSIS]);
    places[JOB_FILE] = gt_format("%s/rocprof_top%lld_kernels.yaml", here, top);
    places[STAMPED] = gt_path_replace_extension(places[ROWS], "_with_timestamps.csv");
    gt_free(here);
}

/* Whether there are collective reports; a sweep on one GPU has none, which is no failure. */
static bool has_collectives(char *const *places)
{
    gt_setting_reports reports;
    gt_error ignored;
    const gt_reports_wanted wanted = {.root = places[ROOT],
                                      .analysis = places[ANALYSIS],
                                      .kind = GT_REPORTS_COLLECTIVE,
                                      .any_status = true};
    bool found = gt_setting_reports_find(&reports, &wanted, &ignored);
    gt_setting_reports_free(&reports);
    return found;
}

/* Removes what a step wrote the last time, if it is as it was written: a fresh analysis would not have it. */
static void remove_output_of(const char *step, char *const *places)
{
    gt_sweep_cache *cache = gt_sweep_cache_beside(places[PAGE], false);
    gt_stamps_remove_unused(cache, strcmp(step, "plot") == 0 ? "plots" : step);
    gt_sweep_cache_close(cache);
}

/* If a step fails, only the steps that read its rows are skipped. A usage error stops everything: the
 * options are wrong. */
gt_exit gt_cmd_sweep_all(const gt_call *call)
{
    if (!gt_sweep_open_input(call, NULL)) return GT_EXIT_USAGE;
    bool rocprof = gt_arguments_flag(&call->arguments, "rocprof"), has_rows = true, is_reported = true;
    char *places[PLACES] = {NULL};
    gt_exit worst = GT_EXIT_DONE;
    name_places(call, places);
    gt_error error;
    bool may_write = !gt_path_is_folder(places[ROOT]) || gt_sweep_may_write(places[ANALYSIS], &error);
    if (!may_write) worst = gt_sweep_failed(&error);
    for (size_t i = 0; i < GT_LENGTH(chain) && worst != GT_EXIT_USAGE && may_write; i++) {
        if (!(rocprof ? chain[i].is_rocprof : chain[i].is_traced) || (chain[i].needs_rows && !has_rows)) {
            if (chain[i].needs_rows && !rocprof) remove_output_of(chain[i].name, places);
            continue;
        }
        if (!gt_sweep_is_quiet(call)) printf("%s== %s\n", i ? "\n" : "", chain[i].name);
        fflush(stdout);
        bool nothing_to_do = chain[i].needs_collectives && is_reported && !has_collectives(places);
        gt_exit status = nothing_to_do ? GT_EXIT_DONE : run_step(call, i, places, &nothing_to_do);
        if (nothing_to_do) {
            gt_info("no %s in the traces; %s is skipped",
                    chain[i].needs_collectives ? "collectives" : "counters", chain[i].name);
            remove_output_of(chain[i].name, places);
            continue;
        }
        if (i == 0) gt_procs_pass_first(); /* only the traces of `report` are shared out */
        if (status != GT_EXIT_DONE && strcmp(chain[i].name, "top") == 0) {
            has_rows = false;
            if (status != GT_EXIT_USAGE)
                remove_output_of("top", places); /* `decide` would show the old rows */
        }
        if (status > worst) worst = status;
        if (i == 0) is_reported = status == GT_EXIT_DONE;
        if (i == 0 && status != GT_EXIT_DONE && !gt_path_is_folder(places[ANALYSIS])) break;
    }
    for (size_t i = 0; i < PLACES; i++) gt_free(places[i]);
    return worst;
}
