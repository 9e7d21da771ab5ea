/* `gputally pytorch`: the report of a PyTorch trace. */
#ifndef GT_CLI_COMMANDS_PYTORCH_H
#define GT_CLI_COMMANDS_PYTORCH_H

#include "cli/traces.h"

extern const gt_syntax gt_pytorch_syntax;
/* The report's own options, also for commands that write it. */
extern const gt_option_group gt_pytorch_sheets_group, gt_pytorch_roofline_group, gt_pytorch_comparison_group,
    gt_pytorch_phases_group, gt_pytorch_unused_group;
extern const gt_option_alias gt_pytorch_aliases[];

gt_exit gt_cmd_pytorch(const gt_call *call);

/* GT_EXIT_USAGE, after a message, if options have invalid values or exclude each other. */
gt_exit gt_pytorch_check(const gt_call *call);

gt_report_maker gt_pytorch_report;

#endif
