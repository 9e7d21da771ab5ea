/* `gputally sweep compare`: compares runs, or two sweeps (gate.c). `gputally sweep html`: writes a page with
 * the plots of several sweeps. */
#include "cli/sweep/sweep.h"
#include "base/memory.h"
#include "cli/common.h"
#include "os/paths.h"
#include "output/output.h"
#include "output/terminal.h"
#include "report/summary.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "sweep/compare/compare.h"

#include <stdio.h>
#include <string.h>

/* ---- compare ---- */

static const gt_option compare_options[] = {
    {"baseline", GT_OPTION_STRING, "RUN", NULL,
     "read the baseline run: SWEEP/<T>thread/nccl_<C>channels, or a folder with reports in "
     "tracelens_analysis (required)"},
    {"test", GT_OPTION_STRINGS, "RUN...", NULL,
     "read the run to compare with the baseline (required); several runs are compared with it one by one, in "
     "folders "
     "named after them, and all together"},
    {"output", GT_OPTION_STRING, "DIR", NULL,
     "write the workbooks into DIR (required); of OLD NEW: a workbook and CSV files (optional)"},
    {"baseline_label", GT_OPTION_STRING, "TEXT", NULL,
     "name the baseline TEXT in the sheets (default: 256thread_28ch, or the folder name)"},
    {"test_label", GT_OPTION_STRINGS, "TEXT...", NULL,
     "name the other runs in the sheets, in the order of --test (default: like --baseline_label)"},
    {"geo_mean", GT_OPTION_FLAG, NULL, NULL, "use geometric instead of arithmetic means over ranks"},
};
static const gt_option_group compare_group = {"Runs", compare_options, GT_LENGTH(compare_options)};

const gt_syntax gt_sweep_compare_syntax = {
    .groups = {&compare_group, &gt_sweep_gate_group, &gt_common_group},
    .main_options = {"baseline", "test", "output", "fail_if", "output_md"},
    .files = "[OLD NEW]",
    .files_max = 2,
    .folders = true,
    .output_option = "output",
};

/* A label as the name of a folder. */
static char *folder_of(const char *label)
{
    char *name = gt_strdup(label);
    for (char *c = name; *c; c++)
        if (*c == '/' || (unsigned char)*c < ' ') *c = '_';
    if (name[0] == '.') name[0] = '_';
    return name;
}

static bool add_workbooks(const gt_run_comparison *c, const char *folder, gt_output *output, gt_error *error)
{
    const struct {
        const char *file;
        const gt_table_list *tables;
    } documents[] = {{"gpu_timeline_comparison.xlsx", &c->timelines},
                     {"collective_comparison.xlsx", &c->collectives},
                     {"final_analysis_report.xlsx", &c->final}};
    bool written = true;
    for (size_t i = 0; i < GT_LENGTH(documents) && written; i++) {
        if (!documents[i].tables->count) continue;
        char *path = gt_format("%s/%s", folder, documents[i].file);
        written = gt_output_xlsx(output, path, documents[i].tables->items, documents[i].tables->count, error);
        gt_free(path);
    }
    return written;
}

/* One test: its workbooks are in the folder itself. Several: in one folder per test, beside the workbook of
 * all. */
static bool write_comparisons(const gt_call *call, const gt_run_comparisons *all, gt_error *error)
{
    const char *root = gt_arguments_value(&call->arguments, "output")->text;
    gt_output *output = gt_output_new();
    bool written = true;
    for (size_t i = 0; i < all->count && written; i++) {
        char *name = folder_of(all->items[i].test_label);
        char *folder = all->count > 1 ? gt_format("%s/%s", root, name) : gt_strdup(root);
        written = add_workbooks(&all->items[i], folder, output, error);
        gt_free(folder);
        gt_free(name);
    }
    if (written && all->together.count) {
        char *path = gt_format("%s/final_analysis_report_for_all.xlsx", root);
        written = gt_output_xlsx(output, path, all->together.items, all->together.count, error);
        gt_free(path);
    }
    written = written && gt_output_commit(output, error);
    for (size_t i = 0; written && !gt_sweep_is_quiet(call) && i < gt_output_file_count(output); i++)
        printf("%swrote %s\n", i ? "" : "\n", gt_output_file_path(output, i));
    gt_output_free(output);
    return written;
}

static void show_comparison(const gt_run_comparison *c)
{
    const gt_table *dashboard = c->final.items[0];
    gt_terminal terminal = gt_terminal_for(stdout);
    gt_terminal_column columns[] = {{gt_col_named(c->baseline_label), NULL, 2, NULL},
                                    {gt_col_named(c->test_label), NULL, 2, NULL},
                                    {GT_COL_IMPROVEMENT_PCT, NULL, 2, "%"},
                                    {GT_COL_STATUS, NULL, 0, NULL},
                                    {GT_COL_METRIC, NULL, 0, NULL}};
    printf("Times in ms, means over %zu and %zu ranks\n", c->baseline_ranks, c->test_ranks);
    gt_summary_rows(&terminal, dashboard, columns, GT_LENGTH(columns), dashboard->row_count);
}

gt_exit gt_cmd_sweep_compare(const gt_call *call)
{
    const gt_arguments *arguments = &call->arguments;
    gt_read_options read;
    gt_error error = {""};
    if (arguments->file_count) return gt_cmd_sweep_gate(call);
    if (!gt_sweep_begin_reading(call, (const char *[]){"baseline", "test", "output", NULL}, &read))
        return GT_EXIT_USAGE;
    const gt_option_value *tests = gt_arguments_value(arguments, "test"),
                          *labels = gt_arguments_value(arguments, "test_label");
    if (labels->text_count > tests->text_count)
        return gt_usage_error(call->program, "argument --test_label: %zu labels for %zu runs",
                              labels->text_count, tests->text_count);
    const gt_run_comparison_options options = {
        .baseline = gt_arguments_value(arguments, "baseline")->text,
        .tests = tests->texts,
        .test_count = tests->text_count,
        .baseline_label = gt_arguments_string(arguments, "baseline_label"),
        .test_labels = labels->texts,
        .test_label_count = labels->text_count,
        .geometric = gt_arguments_flag(arguments, "geo_mean"),
    };
    gt_interner *strings = gt_interner_new();
    gt_run_comparisons all;
    bool made = gt_run_comparisons_make(&all, &options, strings, &error);
    for (size_t i = 0; made && i < all.count && !gt_sweep_is_quiet(call); i++) {
        if (i) puts("");
        show_comparison(&all.items[i]);
    }
    made = made && write_comparisons(call, &all, &error);
    gt_run_comparisons_free(&all);
    gt_interner_free(strings);
    return made ? GT_EXIT_DONE : gt_sweep_failed(&error);
}

/* ---- html ---- */

static const gt_option html_options[] = {
    {"sweep1", GT_OPTION_STRING, "DIR", NULL,
     "show the first sweep; its plots are in DIR/tracelens_analysis/plots"},
    {"sweep2", GT_OPTION_STRING, "DIR", NULL, "show the second sweep"},
    {"label1", GT_OPTION_STRING, "TEXT", NULL, "name the first sweep TEXT on the page (default: folder name)",
     .needs = "sweep1"},
    {"label2", GT_OPTION_STRING, "TEXT", NULL,
     "name the second sweep TEXT on the page (default: folder name)", .needs = "sweep2"},
    {"sweep", GT_OPTION_STRINGS, "DIR[=LABEL]", NULL,
     "show a further sweep, or all sweeps instead of --sweep1 and --sweep2"},
    {"top_k", GT_OPTION_INT, "K", "5", "read the CSV files top<K>_gemm_kernels_time_variance.csv"},
    {"output", GT_OPTION_STRING, "FILE", "sweep_comparison_report.html", "write the page to FILE"},
};
static const gt_option_group html_group = {"Sweeps", html_options, GT_LENGTH(html_options)};

const gt_syntax gt_sweep_html_syntax = {
    .groups = {&html_group, &gt_sheets_group},
    .main_options = {"sweep1", "sweep2", "label1", "label2", "output"},
    .files = "",
    .files_max = 0,
    .output_option = "output",
};

typedef struct sweep_list {
    gt_compared_sweep *items;
    char **texts; /* paths and labels, two per sweep */
    size_t count;
} sweep_list;

static void add_sweep(sweep_list *list, const char *path, size_t path_len, const char *label)
{
    char *own_path = gt_format("%.*s", (int)path_len, path);
    char *own_label = label ? gt_strdup(label) : gt_sweep_folder_name(own_path);
    list->texts[2 * list->count] = own_path;
    list->texts[2 * list->count + 1] = own_label;
    list->items[list->count++] = (gt_compared_sweep){own_path, own_label};
}

/* "DIR" or "DIR=LABEL"; the name of an existing folder may contain a '='. */
static void add_labelled(sweep_list *list, const char *given)
{
    const char *equals = gt_path_is_folder(given) ? NULL : strrchr(given, '=');
    add_sweep(list, given, equals ? (size_t)(equals - given) : strlen(given), equals ? equals + 1 : NULL);
}

static sweep_list list_sweeps(const gt_arguments *arguments)
{
    const gt_option_value *more = gt_arguments_value(arguments, "sweep");
    size_t most = more->text_count + 2;
    sweep_list list = {gt_alloc(most * sizeof *list.items), gt_alloc(2 * most * sizeof *list.texts), 0};
    const char *first = gt_arguments_string(arguments, "sweep1"),
               *second = gt_arguments_string(arguments, "sweep2");
    if (first) add_sweep(&list, first, strlen(first), gt_arguments_string(arguments, "label1"));
    if (second) add_sweep(&list, second, strlen(second), gt_arguments_string(arguments, "label2"));
    for (size_t i = 0; i < more->text_count; i++) add_labelled(&list, more->texts[i]);
    return list;
}

static void free_sweeps(sweep_list *list)
{
    for (size_t i = 0; i < 2 * list->count; i++) gt_free(list->texts[i]);
    gt_free(list->texts);
    gt_free(list->items);
}

static bool make_page(const gt_call *call, const sweep_list *list, gt_error *error)
{
    for (size_t i = 0; i < list->count; i++)
        if (!gt_path_is_folder(list->items[i].path))
            return gt_fail(error, "Sweep %zu directory not found: %s", i + 1, list->items[i].path);
    const char *path = gt_arguments_value(&call->arguments, "output")->text;
    char *folder = gt_path_sibling(path, ".");
    gt_buffer page = {0};
    gt_comparison_page(&page, list->items, list->count, gt_arguments_int(&call->arguments, "top_k"), folder);
    bool made = gt_sweep_write_texts(&path, (gt_str[]){gt_buffer_str(&page)}, 1, error);
    if (made && !gt_sweep_is_quiet(call))
        printf("wrote %s (%.2f MB)\n", path, (double)page.len / (1024 * 1024));
    gt_buffer_free(&page);
    gt_free(folder);
    return made;
}

gt_exit gt_cmd_sweep_html(const gt_call *call)
{
    gt_error error;
    if (!gt_sweep_open_input(call, NULL)) return GT_EXIT_USAGE;
    sweep_list list = list_sweeps(&call->arguments);
    gt_exit status = GT_EXIT_DONE;
    if (list.count < 2)
        status = gt_usage_error(call->program, "the following arguments are required: --sweep1, --sweep2");
    else if (!make_page(call, &list, &error))
        status = gt_sweep_failed(&error);
    free_sweeps(&list);
    return status;
}
