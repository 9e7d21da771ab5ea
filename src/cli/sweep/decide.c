/* `gputally sweep decide`: which setting to use, and how sure that is. */
#include "cli/common.h"
#include "cli/sweep/sweep.h"
#include "os/paths.h"
#include "report/summary.h"
#include "schema/columns.h"
#include "sweep/page/page.h"

static const gt_option decide_options[] = {
    {"output_dir", GT_OPTION_STRING, "DIR", NULL,
     "write the files into DIR (default: tracelens_analysis in SWEEP)"},
    {"baseline", GT_OPTION_STRING, "SETTING", NULL,
     "compare the fastest setting with this one, which you use now, such as 256thread_28ch (default: the "
     "median setting)"},
    {"output_html", GT_OPTION_STRING, "FILE", NULL,
     "also write an HTML page: the recommendation, effects of the axes, bandwidth, slowdown by overlap"},
    {"top_k", GT_OPTION_INT, "K", "5",
     "show the rows of top<K>_gemm_kernels_time_variance.csv on the page, if `top` has written them",
     .needs = "output_html"},
    {"rocprof", GT_OPTION_FLAG, NULL, NULL,
     "read rocprofv3 traces (default: those of torch.profiler; of a sweep without them, those of rocprofv3, "
     "or "
     "profiles of JAX)"},
    {"output_json", GT_OPTION_STRING, "PATH", NULL,
     "write the recommendation and all sheets as JSON to PATH, for scripts; - is standard output"},
    GT_SWEEP_INCLUDE_FAILED,
    GT_SWEEP_FORCE,
};
static const gt_option_group decide_group = {"Decision", decide_options, GT_LENGTH(decide_options)};

const gt_syntax gt_sweep_decide_syntax = {
    .groups = {&decide_group, &gt_common_group},
    .main_options = {"baseline", "output_html", "output_dir", "threads", "quiet"},
    .files = "SWEEP",
    .files_max = 1,
    .folders = true,
    .output_option = "output_dir",
};

enum { ROWS_SHOWN = 12 };

/* A sweep on one GPU has no bandwidth, for example. */
static bool has_values(const gt_table *table, gt_col name)
{
    size_t column = gt_table_find(table, name);
    for (size_t row = 0; column != SIZE_MAX && row < table->row_count; row++)
        if (!isnan(gt_column_number(&table->columns[column], row))) return true;
    return false;
}

/* The values of the axes tell settings apart in less space than their names, of which only begin and end
 * would fit. */
static void show_table(const gt_sweep *sweep, const gt_table_list *tables)
{
    enum { AXES_SHOWN = 5 };
    static const gt_terminal_column figures[] = {{GT_COL_STEP_MS, "step ms", 3, NULL},
                                                 {GT_COL_STEP_LOW_MS, "from", 3, NULL},
                                                 {GT_COL_STEP_HIGH_MS, "to", 3, NULL},
                                                 {GT_COL_DIFFERENCE_PCT, "slower", 1, "%"},
                                                 {GT_COL_P_VALUE, "p", 4, NULL, 0.0001},
                                                 {GT_COL_EXPOSED_COMM_MS, "exposed ms", 3, NULL},
                                                 {GT_COL_GEMM_SLOWDOWN, "GEMM slowdown", 3, NULL},
                                                 {GT_COL_BUS_GB_S, "bus GB/s", 1, NULL}};
    gt_terminal_column columns[GT_LENGTH(figures) + AXES_SHOWN + 1];
    const gt_table *table = gt_table_list_find(tables, GT_SHEET_RECOMMENDATION);
    gt_terminal terminal = gt_terminal_for(stdout);
    size_t count = 0;
    for (size_t i = 0; i < GT_LENGTH(figures); i++)
        if (has_values(table, figures[i].column)) columns[count++] = figures[i];
    if (gt_table_find(table, GT_COL_RUN_STATUS) != SIZE_MAX)
        columns[count++] = (gt_terminal_column){GT_COL_RUN_STATUS, NULL, 0, NULL};
    bool by_axes = !sweep->is_classic && sweep->axis_count && sweep->axis_count <= AXES_SHOWN;
    if (!by_axes) columns[count++] = (gt_terminal_column){GT_COL_SETTING, "setting", 0, NULL};
    for (size_t a = 0; by_axes && a < sweep->axis_count; a++)
        columns[count++] = (gt_terminal_column){gt_col_named(sweep->axes[a].column), NULL, -1, NULL};
    gt_summary_rows(&terminal, table, columns, count, ROWS_SHOWN);
}

static bool find_baseline(const gt_call *call, const gt_decision *decision, size_t *baseline, gt_error *error)
{
    const char *name = gt_arguments_string(&call->arguments, "baseline");
    *baseline = name ? gt_decision_setting(decision, name) : SIZE_MAX;
    if (!name || *baseline != SIZE_MAX) return true;
    return gt_fail(error, "--baseline: the sweep has no setting '%s'", name);
}

/* The page, if it is wanted. */
static void make_page(const gt_call *call, const gt_decision *decision, const gt_table_list *tables,
                      size_t baseline, const char *folder, gt_buffer *page)
{
    char *label = gt_sweep_folder_name(call->arguments.files[0]), *command = gt_call_describe(call, NULL);
    gt_sweeps_page(&(gt_page_sweep){.label = label,
                                    .decision = decision,
                                    .sheets = tables,
                                    .baseline = baseline,
                                    .analysis = folder,
                                    .top = gt_arguments_int(&call->arguments, "top_k")},
                   1, command, page);
    gt_free_all(label, command);
}

static void show(const gt_decision *decision, size_t baseline, const gt_table_list *tables)
{
    gt_buffer text = {0};
    gt_decision_say(decision, baseline, &text);
    fwrite(text.bytes, 1, text.len, stdout);
    putchar('\n');
    show_table(decision->measures->sweep, tables);
    fflush(stdout); /* before messages */
    gt_buffer_free(&text);
}

/* The answer is given before the files are written, so that there is one if the disk is full. */
static bool decide(const gt_call *call, gt_sweep_measures *measures, const char *folder, gt_error *error)
{
    gt_decision decision;
    gt_table_list tables = {0};
    gt_buffer text = {0}, page = {0};
    size_t baseline;
    const char *page_path = gt_arguments_string(&call->arguments, "output_html");
    const char *json = gt_arguments_string(&call->arguments, "output_json");
    gt_decide(&decision, measures);
    gt_decision_add_sheets(&decision, &tables);
    bool made = find_baseline(call, &decision, &baseline, error);
    if (made && !gt_sweep_is_quiet(call)) show(&decision, baseline, &tables);
    if (made && page_path) make_page(call, &decision, &tables, baseline, folder, &page);
    made = made && gt_sweep_write_sheets(&tables, folder, "decision", page_path, gt_buffer_str(&page), error);
    if (made && json) {
        gt_decision_json(&decision, baseline, &tables, &text);
        made = gt_sweep_write_texts(&json, (gt_str[]){gt_buffer_str(&text)}, 1, error);
    }
    if (made && !gt_sweep_is_quiet(call)) {
        printf("\nwrote %s/decision.xlsx\n", folder);
        for (size_t i = 0; i < tables.count; i++) printf("wrote %s/%s.csv\n", folder, tables.items[i]->name);
        if (json) printf("wrote %s\n", json);
        if (page_path) printf("wrote %s\n", page_path);
    }
    gt_buffer_free(&page);
    gt_buffer_free(&text);
    gt_table_list_free(&tables);
    gt_decision_free(&decision);
    return made;
}

gt_exit gt_cmd_sweep_decide(const gt_call *call)
{
    gt_read_options read;
    gt_error error = {""};
    if (!gt_sweep_begin_reading(call, NULL, &read)) return GT_EXIT_USAGE;
    gt_sweep sweep = {0};
    gt_sweep_measures measures = {0};
    const char *root = call->arguments.files[0];
    char *folder = gt_sweep_analysis_folder(call, "output_dir", root);
    gt_sweep_cache *cache = NULL;
    bool made = (gt_path_is_folder(root) || gt_fail(&error, "Sweep directory does not exist: %s", root)) &&
                gt_sweep_open_for_step(call, &sweep, root, &error);
    if (made) cache = gt_sweep_cache_for_step(call, folder);
    gt_trace_source source =
        gt_arguments_flag(&call->arguments, "rocprof") ? GT_SOURCE_ROCPROF : GT_SOURCE_ANY;
    made = made && gt_sweep_measure_source(&measures, &sweep, source, &read, cache, &error) &&
           decide(call, &measures, folder, &error);
    gt_sweep_measures_free(&measures);
    gt_sweep_cache_close(cache);
    gt_sweep_free(&sweep);
    gt_free(folder);
    return made ? GT_EXIT_DONE : gt_sweep_failed(&error);
}
