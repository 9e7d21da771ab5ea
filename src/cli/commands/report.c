/* `gputally report`: finds out what each trace is and makes the report for that format. */
#include "cli/commands/commands.h"
#include "base/length.h"
#include "base/memory.h"
#include "cli/common.h"
#include "cli/inputs/extra.h"
#include "cli/commands/jax.h"
#include "cli/commands/pytorch.h"
#include "cli/commands/rocprof.h"
#include "cli/inputs/profiles.h"
#include "cli/traces.h"
#include "input/detect.h"
#include "input/perfetto_origin.h"
#include "input/rocprof/rocprof.h"

#include <stdio.h>

/* The formats that have a report. */
static const struct {
    gt_trace_format format;
    gt_report_maker *make;
} reports[] = {
    {GT_FORMAT_KINETO_JSON, gt_pytorch_report}, {GT_FORMAT_ROCPROF_JSON, gt_rocprof_report},
    {GT_FORMAT_ROCPROF_CSV, gt_rocprof_report}, {GT_FORMAT_SQLITE, gt_rocprof_report},
    {GT_FORMAT_XPLANE, gt_jax_report},
};

/* Options of one kind of report are ignored by the others; those that several have mean the same in each. */
const gt_syntax gt_report_syntax = {
    .groups = {&gt_pytorch_sheets_group, &gt_pytorch_phases_group, &gt_pytorch_roofline_group,
               &gt_pytorch_comparison_group, &gt_extra_group, &gt_rocprof_group, &gt_jax_group,
               &gt_short_kernel_group, &gt_output_group, &gt_pytorch_unused_group, &gt_common_group},
    .main_options = {"output_xlsx_path", "output_csvs_dir", "output_db", "enable_kernel_summary",
                     "short_kernel_study"},
    .aliases = gt_pytorch_aliases,
    .files = "FILE...",
    .files_max = SIZE_MAX,
    .folders = true,
};

static gt_report_maker *report_of(gt_trace_format format)
{
    for (size_t i = 0; i < GT_LENGTH(reports); i++)
        if (reports[i].format == format) return reports[i].make;
    return NULL;
}

static bool make_fitting_report(const gt_trace_call *trace, gt_error *error)
{
    gt_trace_format format;
    if (!trace->stream) return gt_rocprof_report(trace, error); /* a folder: see add_traces */
    if (!gt_detect(trace->stream, &format, error)) return false;
    gt_report_maker *make = report_of(format);
    gt_perfetto_origin origin;
    if (format == GT_FORMAT_PERFETTO) {
        if (!gt_perfetto_find_origin(trace->stream, &origin, error)) return false;
        make = origin == GT_ORIGIN_PYTORCH ? gt_pytorch_report : gt_rocprof_report;
    }
    if (!make)
        return gt_fail(error, "%s: this is %s; gputally %s makes no report of it",
                       gt_trace_title(trace->path), gt_format_name(format), GT_VERSION);
    return make(trace, error);
}

/* A folder of rocprofv3 files is one run; of others, the profiles in it are taken. */
static bool add_traces(gt_profile_list *traces, const char *path, gt_error *error)
{
    if (!gt_rocprof_is_folder(path))
        return gt_profiles_find(traces, path, error) ||
               gt_fail(error, "%s: this folder holds neither files of rocprofv3 nor a JAX profile", path);
    GT_PUSH(traces->paths, traces->count, traces->capacity, gt_strdup(path));
    return true;
}

gt_exit gt_cmd_report(const gt_call *call)
{
    if (gt_pytorch_check(call) != GT_EXIT_DONE) return GT_EXIT_USAGE;
    gt_error error;
    gt_profile_list traces = {0};
    gt_exit status = GT_EXIT_FAILED;
    bool found = true;
    for (size_t i = 0; found && i < call->arguments.file_count; i++)
        found = add_traces(&traces, call->arguments.files[i], &error);
    if (found)
        status = gt_each_trace(call, (const char *const *)traces.paths, traces.count, make_fitting_report);
    else
        fprintf(stderr, "gputally: %s\n", error.text);
    gt_profiles_free(&traces);
    return status;
}
