/* Reading the whole trace of a rank; see whole_rank.h. */
#include "cli/whole_rank.h"

#include "cli/common.h"
#include "report/report.h"

static gt_report_options options_of(const gt_whole_rank *whole, gt_run_info *run)
{
    const gt_arguments *arguments = &whole->call->arguments;
    const gt_option_value *set = gt_arguments_value(arguments, "comm_kernels");
    const gt_option_value *regexes = gt_arguments_value(arguments, "comm_kernel_regex");
    gt_report_options options = gt_report_options_best();
    gt_error ignored; /* gt_communication_check has checked them */
    const char *usual = arguments->syntax->best_defaults ? "all" : "tracelens";
    gt_report_options_set(&options, "comm_kernels", set->given ? set->text : usual, &ignored);
    for (size_t i = 0; i < regexes->text_count; i++)
        gt_report_options_set(&options, "comm_kernel_regex", regexes->texts[i], &ignored);
    options.find_captures = false; /* no sheet of ops is made */
    options.read = *whole->read;
    options.read.strict = true;
    options.read.run = run;
    return options;
}

gt_rank_collectives *gt_whole_rank_read(const gt_whole_rank *whole, gt_extra_sheets *extra, bool *is_read,
                                        gt_error *error)
{
    gt_report report = {.kind = GT_TRACE_PYTORCH};
    gt_run_info run = {0};
    gt_report_options options = options_of(whole, &run);
    gt_hta_options hta;
    gt_rank_collectives *c = NULL;
    gt_stream *stream = gt_stream_open(whole->path, error);
    *is_read = stream && (!whole->accepts || whole->accepts(stream, error)) &&
               gt_report_read(&report, GT_TRACE_PYTORCH, stream, whole->path, &options, error);
    if (*is_read) {
        const gt_event_view *trace = gt_report_events(&report);
        c = report.collectives = gt_rank_collectives_of_trace(trace, &run, whole->rank);
        if (gt_extra_wanted(&whole->call->arguments, &hta)) gt_extra_make(trace, whole->rank, &hta, extra);
        for (size_t i = 0; i < extra->tables.count; i++)
            gt_table_use_strings(extra->tables.items[i], whole->strings);
        if (c) gt_report_make_facts(&report);
    }
    gt_stream_close(stream);
    gt_report_free(&report);
    gt_report_options_free(&options);
    return c;
}
