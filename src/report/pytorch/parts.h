/* What the files that make the PyTorch report share. */
#pragma once

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
    double total_ms, computation_ms;
} gt_sheet_inputs;

/* Adds all sheets but those of other programs. Sets the members after `options`, and frees them. */
bool gt_add_sheets(gt_sheet_inputs *in, gt_table_list *tables, gt_error *error);
/* Sheets without rows are omitted. */
void gt_add_if_any(gt_table_list *tables, gt_table *table);

/* ---- communication (communication.c) ---- */

/* Warns about kernels that look like communication and count as computation. */
void gt_hint_at_communication(const gt_linked_view *trace);
