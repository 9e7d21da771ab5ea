/* Sheets ops_summary_prefill and ops_summary_decode: which ops took the time of a phase? */
#ifndef GT_ANALYSIS_PHASES_OPS_H
#define GT_ANALYSIS_PHASES_OPS_H

#include "analysis/phases/phases.h"
#include "table/table.h"

/* The longest sum first, equal sums as first seen; no rows where no launcher is of that phase. */
gt_table *gt_phase_ops_summary(const gt_linked_view *trace, const gt_launchers *launchers,
                               const gt_phases *phases, gt_phase phase, gt_sheet sheet);

#endif
