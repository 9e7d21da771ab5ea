/* The sheets of the phases of inference in a PyTorch report, and what is said of them on the way. */
#ifndef GT_REPORT_PYTORCH_PHASES_H
#define GT_REPORT_PYTORCH_PHASES_H

#include "analysis/phases/phases.h"
#include "analysis/pytorch/sheets.h"
#include "report/tables.h"

/* ops_summary_prefill and ops_summary_decode, those that have rows. */
void gt_add_phase_op_sheets(const gt_linked_view *trace, const gt_launchers *launchers,
                            const gt_phases *phases, gt_table_list *tables);
/* For a trace without ops: says that there is neither sheet. */
void gt_info_no_phase_ops(void);
/* kernel_summary_prefill and kernel_summary_decode, those that have rows. */
void gt_add_phase_kernel_sheets(const gt_pytorch_kernels *kernels, const gt_launchers *launchers,
                                gt_phases *phases, gt_table_list *tables);

#endif
