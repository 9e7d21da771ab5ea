/* `gputally jax-collective`: one report on the collectives of a JAX run, from the profile and the XLA dump of
 * each node. */
#include "cli/commands/commands.h"
#include "base/progress.h"
#include "input/xla/xplane.h"
#include "os/paths.h"

enum { GPUS_MAX = 1 << 16 };

static const gt_option input_options[] = {
    {"traces_dir", GT_OPTION_STRING, "DIR", NULL,
     "search DIR for dumps (xla_dumps/*jit_train_step.*_gpu_after_optimizations.txt) and, without FILE "
     "arguments, for profiles (*.xplane.pb)"},
    {"xla_dumps", GT_OPTION_STRINGS, "DUMP...", NULL,
     "read the dump of each node, in the order of the FILEs; a single dump is used for all nodes"},
    {"gpus_per_node", GT_OPTION_INT, "N", "8", "set the number of GPUs per node: rank = node * N + GPU"},
};
static const gt_option_group input_group = {"Input", input_options, GT_LENGTH(input_options)};

static const gt_option output_options[] = {
    GT_OUTPUT_OPTIONS("jax_collective_report.xlsx in --traces_dir, or else next to the first FILE")};
static const gt_option_group output_group = {"Output", output_options, GT_LENGTH(output_options)};

const gt_syntax gt_jax_collective_syntax = {
    .groups = {&input_group, &output_group, &gt_common_group},
    .main_options = {"traces_dir", "xla_dumps", "gpus_per_node", "output_xlsx_path", "output_csvs_dir"},
    .files = "[FILE...]",
    .file_endings = GT_JAX_ENDINGS,
    .files_max = SIZE_MAX,
    .output_option = "output_xlsx_path",
};

/* ---- input files ---- */

/* One profile and one dump per node. */
typedef struct nodes {
    gt_path_list profiles, dumps;
} nodes;

static void add_path(gt_path_list *list, const char *path)
{
    GT_PUSH(list->items, list->count, list->capacity, gt_strdup(path));
}

static void find_below(gt_path_list *list, const char *folder, const char *pattern)
{
    char *whole = gt_format("%s/%s", folder, pattern);
    gt_path_list found = gt_path_pattern_find(whole);
    gt_free(whole);
    for (size_t i = 0; i < found.count; i++) add_path(list, found.items[i]);
    gt_path_list_free(&found);
}

static size_t common_length(const char *a, const char *b)
{
    size_t len = 0;
    while (a[len] && a[len] == b[len]) len++;
    return len;
}

/* The dump in the folder whose path has the longest common prefix with the profile. */
static bool choose_dumps(nodes *n, const char *folder, gt_error *error)
{
    gt_path_list found = {0};
    find_below(&found, folder, "**/xla_dumps/*jit_train_step.*_gpu_after_optimizations.txt");
    for (size_t i = 0; found.count && i < n->profiles.count; i++) {
        size_t best = 0, best_length = 0;
        for (size_t d = 0; d < found.count; d++) {
            size_t length = common_length(n->profiles.items[i], found.items[d]);
            if (length > best_length) {
                best = d;
                best_length = length;
            }
        }
        add_path(&n->dumps, found.items[best]);
    }
    bool is_found = found.count > 0;
    gt_path_list_free(&found);
    return is_found || gt_fail(error, "No XLA files found in traces directory: %s", folder);
}

static bool find_nodes(const gt_arguments *arguments, nodes *n, gt_error *error)
{
    const char *folder = gt_arguments_string(arguments, "traces_dir");
    const gt_option_value *dumps = gt_arguments_value(arguments, "xla_dumps");
    for (size_t i = 0; i < arguments->file_count; i++) add_path(&n->profiles, arguments->files[i]);
    if (!arguments->file_count && folder) {
        find_below(&n->profiles, folder, "**/*.xplane.pb");
        find_below(&n->profiles, folder, "**/*.xplane.pb.gz");
        if (!n->profiles.count)
            return gt_fail(error, "%s: no JAX profiles (*.xplane.pb) in this folder", folder);
    }
    if (!dumps->text_count) return choose_dumps(n, folder, error);
    for (size_t i = 0; i < n->profiles.count; i++)
        add_path(&n->dumps, dumps->texts[dumps->text_count > 1 ? i : 0]);
    return true;
}

static bool check_options(const gt_arguments *arguments, gt_error *error)
{
    const gt_option_value *gpus = gt_arguments_value(arguments, "gpus_per_node");
    const gt_option_value *dumps = gt_arguments_value(arguments, "xla_dumps");
    bool has_folder = gt_arguments_string(arguments, "traces_dir") != NULL;
    if (!arguments->file_count && !has_folder)
        return gt_fail(error, "the following arguments are required: FILE or --traces_dir");
    if (!dumps->text_count && !has_folder)
        return gt_fail(error, "the following arguments are required: --xla_dumps or --traces_dir");
    if (dumps->text_count > 1 && dumps->text_count != arguments->file_count)
        return gt_fail(error, "argument --xla_dumps: %zu dumps for %zu profiles", dumps->text_count,
                       arguments->file_count);
    if (gpus->number < 1 || gpus->number > GPUS_MAX)
        return gt_fail(error, "argument --gpus_per_node: must be between 1 and %d, got %" PRId64, GPUS_MAX,
                       gpus->number);
    return true;
}

static gt_destinations choose_destinations(const gt_arguments *arguments, const char *first_profile)
{
    gt_destinations to = gt_destinations_named(arguments);
    if (to.xlsx_path || to.csvs_dir || to.db_path) return to;
    const char *folder = gt_arguments_string(arguments, "traces_dir"), *name = gt_path_name(first_profile);
    if (folder)
        to.xlsx_path = gt_format("%s/jax_collective_report.xlsx", folder);
    else
        to.xlsx_path =
            gt_format("%.*sjax_collective_report.xlsx", (int)(name - first_profile), first_profile);
    return to;
}

/* ---- the report ---- */

/* "run/host.xplane.pb.gz" gives "host". The caller frees it. */
static char *host_of(const char *path)
{
    const char *name = gt_path_name(path), *end = strstr(name, ".xplane.pb");
    return gt_format("%.*s", (int)(end ? end - name : (ptrdiff_t)strlen(name)), name);
}

static bool add_node(gt_jax_collectives *collectives, int64_t node, const char *path, const gt_xla *program,
                     const gt_read_options *read, gt_error *error)
{
    gt_stream *stream = gt_stream_open(path, error);
    if (!stream) return false;
    gt_progress_begin(gt_stream_path(stream), gt_stream_size(stream));
    gt_jax *trace = gt_xplane_read_stream(stream, read, error);
    gt_progress_end();
    gt_stream_close(stream);
    if (!trace) return false;
    char *host = host_of(path);
    gt_jax_collectives_add(collectives, node, host, trace, program);
    gt_free(host);
    gt_jax_free(trace);
    return true;
}

static bool write_report(const gt_call *call, gt_jax_collectives *collectives, const char *first_profile,
                         gt_error *error)
{
    gt_table_list tables = {0};
    gt_jax_collective_tables(collectives, &tables);
    gt_destinations to = choose_destinations(&call->arguments, first_profile);
    gt_output *output = gt_destinations_write(&to, first_profile, &tables, error);
    if (output && !gt_arguments_flag(&call->arguments, "quiet")) {
        gt_jax_collective_print_summary(stdout, &tables);
        gt_trace_show_files(stdout, output);
    }
    bool written = output != NULL;
    gt_output_free(output);
    gt_destinations_free(&to);
    gt_table_list_free(&tables);
    return written;
}

static bool make_report(const gt_call *call, const nodes *n, const gt_read_options *read, gt_error *error)
{
    gt_jax_collectives *collectives =
        gt_jax_collectives_new(gt_arguments_int(&call->arguments, "gpus_per_node"));
    gt_xla *programs = gt_alloc_zero(n->profiles.count, sizeof *programs);
    bool valid = true;
    for (size_t i = 0; valid && i < n->profiles.count; i++) {
        const char *about = gt_log_about(n->profiles.count > 1 ? n->profiles.items[i] : NULL);
        valid = gt_xla_dump_read(&programs[i], n->dumps.items[i], gt_jax_collectives_strings(collectives),
                                 error) &&
                add_node(collectives, (int64_t)i, n->profiles.items[i], &programs[i], read, error);
        gt_log_about(about);
    }
    valid = valid && write_report(call, collectives, n->profiles.items[0], error);
    for (size_t i = 0; i < n->profiles.count; i++) gt_xla_free(&programs[i]);
    gt_free(programs);
    gt_jax_collectives_free(collectives);
    return valid;
}

gt_exit gt_cmd_jax_collective(const gt_call *call)
{
    gt_error error;
    gt_read_options read;
    if (!gt_common_apply(call, &read, &error) || !check_options(&call->arguments, &error))
        return gt_usage_error(call->program, "%s", error.text);
    nodes n = {0};
    bool made = find_nodes(&call->arguments, &n, &error) && make_report(call, &n, &read, &error);
    if (!made) fprintf(stderr, "gputally: %s\n", error.text);
    gt_path_list_free(&n.profiles);
    gt_path_list_free(&n.dumps);
    return made ? GT_EXIT_DONE : GT_EXIT_FAILED;
}
