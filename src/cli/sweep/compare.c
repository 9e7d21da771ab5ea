/* `gputally sweep html`: writes a page with the plots of several sweeps. */
#include "cli/sweep/sweep.h"
#include "cli/common.h"
#include "os/paths.h"
#include "sweep/compare/compare.h"

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
    gt_free_all(list->texts, list->items);
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
