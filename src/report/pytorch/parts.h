/* What the files that make the PyTorch report share. */
#ifndef GT_REPORT_PYTORCH_PARTS_H
#define GT_REPORT_PYTORCH_PARTS_H

#include "analysis/phases/phases.h"
#include "analysis/pytorch/devices.h"
#include "analysis/pytorch/launchers.h"
#include "analysis/pytorch/overlap.h"
#include "analysis/pytorch/sheets.h"
#include "report/pytorch/pytorch.h"

/* ---- all sheets (sheets.c) ---- */

/* All that the parts of a report read. */
typedef struct gt_sheet_inputs {
    const gt_linked_view *trace;
    gt_extension *extension; /* NULL: none */
    const gt_pytorch_options *options;
    gt_devices devices; /* none without extra sheets */
    gt_launchers launchers;
    gt_phases *phases;     /* NULL: not asked for */
    gt_overlaps *overlaps; /* NULL: not asked for */
    double total_ms;
} gt_sheet_inputs;

/* Adds all sheets but those of other programs. Sets the members after `options`, and frees them. */
bool gt_add_sheets(gt_sheet_inputs *in, gt_table_list *tables, gt_error *error);
/* Sheets without rows are omitted. */
void gt_add_if_any(gt_table_list *tables, gt_table *table);

/* ---- phases of inference (phase_sheets.c) ---- */

/* ops_summary_prefill and ops_summary_decode. */
void gt_add_phase_op_sheets(const gt_linked_view *trace, const gt_launchers *launchers,
                            const gt_phases *phases, const gt_pytorch_options *options,
                            gt_table_list *tables);
/* kernel_summary_prefill and kernel_summary_decode. */
void gt_add_phase_kernel_sheets(const gt_pytorch_kernels *kernels, const gt_launchers *launchers,
                                gt_phases *phases, const gt_pytorch_options *options, gt_table_list *tables);
void gt_say_no_phase_ops(const gt_pytorch_options *options); /* for a trace without ops */
void gt_warn_about_training(const gt_linked_view *trace);    /* if the trace looks like it */

/* ---- communication (communication.c) ---- */

/* Warns about kernels that look like communication and count as computation. */
void gt_hint_at_communication(const gt_linked_view *trace);

#endif
