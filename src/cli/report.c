/* `gputally report`: finds out what each trace is and makes the report for that format. */
#include "cli/report.h"
#include "cli/common.h"
#include "cli/rocprof.h"
#include "cli/traces.h"
#include "input/detect.h"

#include <string.h>

/* The formats that have a report. */
static const struct {
    gt_trace_format format;
    gt_report_maker *make;
} reports[] = {
    {GT_FORMAT_ROCPROF_JSON, gt_rocprof_report},
};

/* Options that only one kind of report has are passed over by the others. */
const gt_syntax gt_report_syntax = {
    .groups = {&gt_rocprof_group, &gt_output_group, &gt_common_group},
    .files = "FILE...",
    .files_max = SIZE_MAX,
};

static gt_report_maker *report_of(gt_trace_format format)
{
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++)
        if (reports[i].format == format) return reports[i].make;
    return NULL;
}

static bool make_fitting_report(const gt_call *call, const char *trace_path, const gt_read_options *read,
                                const gt_destinations *destinations, gt_error *error)
{
    /* Standard input cannot be read twice: as long as one format has a report, it is taken to be of that one.
     */
    gt_trace_format format = reports[0].format;
    if (strcmp(trace_path, "-") != 0 && !gt_detect(trace_path, &format, error)) return false;
    gt_report_maker *make = report_of(format);
    if (!make)
        return gt_fail(error, "%s: this is %s, and gputally %s has no report for it", trace_path,
                       gt_format_name(format), GT_VERSION);
    return make(call, trace_path, read, destinations, error);
}

gt_exit gt_report_run(const gt_call *call)
{
    return gt_each_trace(call, call->arguments.files, call->arguments.file_count, make_fitting_report);
}
