/* --extra and the options that have an effect only with it. */
#include "cli/inputs/extra.h"
#include "base/length.h"

static const gt_option extra_options[] = {
    {"extra", GT_OPTION_FLAG, NULL, NULL,
     "add the analyses of HolisticTraceAnalysis per rank: the sheets temporal_breakdown, comm_comp_overlap, "
     "idle_time_breakdown, idle_interval_stats, queue_length_summary, launch_stats_summary"},
    {"extra_kernel_delay_us", GT_OPTION_INT, "N", "30",
     "count gaps shorter than N microseconds between kernels launched in time as kernel_wait"},
    {"extra_max_queue_length", GT_OPTION_INT, "N", "1024", "treat a queue of N launches as full"},
    {"extra_last_step", GT_OPTION_FLAG, NULL, NULL,
     "include the last of several profiler steps, which is often incomplete"},
    {"extra_exact_times", GT_OPTION_FLAG, NULL, NULL,
     "keep fractions of microseconds (without it, starts are rounded up and ends down)"},
};
const gt_option_group gt_extra_group = {"Idle time, queues, overlap and launches", extra_options,
                                        GT_LENGTH(extra_options)};

bool gt_extra_wanted(const gt_arguments *arguments, gt_hta_options *options)
{
    *options = (gt_hta_options){
        .exact_times = gt_arguments_flag(arguments, "extra_exact_times"),
        .include_last_step = gt_arguments_flag(arguments, "extra_last_step"),
        .kernel_delay_us = gt_arguments_int(arguments, "extra_kernel_delay_us"),
        .max_queue_length = gt_arguments_int(arguments, "extra_max_queue_length"),
    };
    return gt_arguments_flag(arguments, "extra");
}
