/* The options of every command, and what they set. */
#include "cli/common.h"
#include "base/length.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/threads.h"

#include <inttypes.h>

static const gt_option output_options[] = {
    {"output_xlsx_path", GT_OPTION_STRING, "PATH", NULL,
     "write an Excel workbook to PATH (default without any output option: next to the trace, "
     "908_results.json gives 908_perf_report.xlsx)"},
    {"output_csvs_dir", GT_OPTION_STRING, "DIR", NULL, "write one CSV file per sheet into DIR"},
    {"output_db", GT_OPTION_STRING, "PATH", NULL,
     "write an SQLite database with one table per sheet to PATH"},
};

static const gt_option common_options[] = {
    {"threads", GT_OPTION_INT, "N", NULL, "use N threads (default: one per core)"},
    {"strict", GT_OPTION_FLAG, NULL, NULL,
     "fail on a damaged or truncated trace instead of reporting its readable part"},
    {"quiet", GT_OPTION_FLAG, NULL, NULL, "print only warnings and errors"},
    {"no_progress", GT_OPTION_FLAG, NULL, NULL, "do not show a progress line"},
};

static const gt_option short_kernel_options[] = {
    {"short_kernel_study", GT_OPTION_FLAG, NULL, NULL,
     "add the sheets short_kernels_summary and short_kernel_histogram"},
    {"short_kernel_threshold_us", GT_OPTION_INT, "N", "10",
     "treat kernels shorter than N microseconds as short"},
    {"short_kernel_histogram_bins", GT_OPTION_INT, "N", "100",
     "set the number of bins of short_kernel_histogram"},
};

const gt_option_group gt_short_kernel_group = {"Short kernels", short_kernel_options,
                                               GT_LENGTH(short_kernel_options)};
const gt_option_group gt_output_group = {"Output", output_options, GT_LENGTH(output_options)};
const gt_option_group gt_common_group = {"Common options", common_options, GT_LENGTH(common_options)};

enum { THREADS_MAX = 1024 };

bool gt_common_apply(const gt_call *call, gt_read_options *options, gt_error *error)
{
    const gt_arguments *arguments = &call->arguments;
    const gt_option_value *threads = gt_arguments_value(arguments, "threads");
    if (threads->given && (threads->number < 1 || threads->number > THREADS_MAX))
        return gt_fail(error, "argument --threads: must be between 1 and %d, got %" PRId64, THREADS_MAX,
                       threads->number);
    bool quiet = gt_arguments_flag(arguments, "quiet");
    gt_log_quiet(quiet);
    gt_progress_enable(!quiet && !gt_arguments_flag(arguments, "no_progress"));
    *options = (gt_read_options){.threads = threads->given ? (unsigned)threads->number : gt_threads_default(),
                                 .strict = gt_arguments_flag(arguments, "strict")};
    return true;
}
