/* The table of steps, and what they share: a step is a row here and a file sweep_<step>.c. */
#include "cli/sweep.h"
#include "base/memory.h"
#include "cli/common.h"
#include "output/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const gt_command gt_sweep_steps[] = {
    {"yaml", "generate_rocprof_yaml_from_csv.py", "a rocprofv3 job file for just the kernels of `top`",
     &gt_sweep_yaml_syntax, gt_sweep_yaml_run,
     "Makes a job file for rocprofv3 that records counters of the kernels named in a CSV file of `gputally "
     "sweep top`, and "
     "of no others, and beside it a list of their names."},
    {"plot", "plot_gemm_variance.py", "plots of how far the times of `top` are spread, and by which setting",
     &gt_sweep_plot_syntax, gt_sweep_plot_run,
     "Draws five plots of a CSV file of `gputally sweep top` as PNG: boxes by threads, by channels and by rank, violins "
     "of all three, and the mean of each pair of threads and channels. Prints the mean, median and largest of each."},
    {"html", "create_embeded_html_report.py", "a page with the plots of two sweeps side by side", &gt_sweep_html_syntax,
     gt_sweep_html_run,
     "Writes one HTML file, pictures included, that sets the plots of two or more sweeps side by side. Each sweep's plots "
     "are those of `gputally sweep plot` in SWEEP/tracelens_analysis/plots."},
    {0},
};

gt_exit gt_sweep_failed(const gt_error *error)
{
    fprintf(stderr, "gputally: %s\n", error->text);
    return GT_EXIT_FAILED;
}

bool gt_sweep_begin(const gt_call *call, const char *const *required)
{
    gt_error error;
    gt_read_options read;
    char missing[256] = "";
    for (; required && *required; required++) {
        size_t used = strlen(missing);
        if (!gt_arguments_value(&call->arguments, *required)->given)
            snprintf(missing + used, sizeof missing - used, "%s--%s", used ? ", " : "", *required);
    }
    if (*missing)
        gt_usage_error(call->program, "the following arguments are required: %s", missing);
    else if (gt_common_apply(call, &read, &error))
        return true;
    else
        gt_usage_error(call->program, "%s", error.text);
    return false;
}

bool gt_sweep_is_quiet(const gt_call *call)
{
    return gt_arguments_flag(&call->arguments, "quiet");
}

bool gt_sweep_has_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

bool gt_sweep_has_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash + 1 - path) : 0;
}

char *gt_sweep_other_ending(const char *path, const char *ending)
{
    const char *name = path + folder_length(path), *point = strrchr(name, '.');
    size_t len = point && point > name ? (size_t)(point - path) : strlen(path);
    return gt_format("%.*s%s", (int)len, path, ending);
}

char *gt_sweep_beside(const char *path, const char *name)
{
    return gt_format("%.*s%s", (int)folder_length(path), path, name);
}

static bool write_text(gt_output *output, const char *path, gt_text text, gt_error *error)
{
    gt_file file;
    if (!gt_file_open(&file, output, path, error)) return false;
    gt_file_write(&file, text.bytes, text.len);
    return gt_file_close(&file, error);
}

bool gt_sweep_write_texts(const char *const *paths, const gt_text *texts, size_t count, gt_error *error)
{
    gt_output *output = gt_output_new();
    bool written = true;
    for (size_t i = 0; i < count && written; i++) written = write_text(output, paths[i], texts[i], error);
    written = written && gt_output_commit(output, error);
    gt_output_free(output);
    return written;
}
