/* Two sheets of ops and two of kernels. The lines are those that scripts know from the Python tool. */
#include "report/pytorch_phases.h"

#include "analysis/phases/phases.h"
#include "base/length.h"
#include "base/log.h"
#include "base/memory.h"
#include "schema/sheets.h"

#include <stdlib.h>

static const struct {
    gt_phase phase;
    const char *name;
    gt_sheet op_sheet, kernel_sheet;
} phases_shown[] = {
    {GT_PHASE_PREFILL, "Prefill", GT_SHEET_OPS_SUMMARY_PREFILL, GT_SHEET_KERNEL_SUMMARY_PREFILL},
    {GT_PHASE_DECODE, "Decode", GT_SHEET_OPS_SUMMARY_DECODE, GT_SHEET_KERNEL_SUMMARY_DECODE},
};
enum { PHASES_SHOWN = GT_LENGTH(phases_shown) };

static const char making_op_sheets[] = "Generating inference phase kernel launcher summaries...";

static void say_no_ops(const char *phase)
{
    gt_info("⚠ No %s phase operations found in launchers", phase);
}

void gt_info_no_phase_ops(void)
{
    gt_info("%s", making_op_sheets);
    for (size_t i = 0; i < PHASES_SHOWN; i++) say_no_ops(phases_shown[i].name);
}

void gt_add_phase_op_sheets(const gt_linked_view *trace, const gt_launchers *launchers,
                            const gt_phases *phases, gt_table_list *tables)
{
    gt_info("%s", making_op_sheets);
    for (size_t i = 0; i < PHASES_SHOWN; i++) {
        gt_table *sheet =
            gt_phase_ops_summary(trace, launchers, phases, phases_shown[i].phase, phases_shown[i].op_sheet);
        if (sheet->row_count) {
            gt_info("✓ Generated %s launcher summary with %zu operations", phases_shown[i].name,
                    sheet->row_count);
            gt_table_list_add(tables, sheet);
        } else {
            say_no_ops(phases_shown[i].name);
            gt_table_free(sheet);
        }
    }
}

void gt_add_phase_kernel_sheets(const gt_pytorch_kernels *kernels, const gt_launchers *launchers,
                                gt_phases *phases, gt_table_list *tables)
{
    gt_info("Generating inference phase kernel summaries...");
    uint8_t *kernel_phases = gt_phases_of_kernels(phases);
    for (size_t i = 0; i < PHASES_SHOWN; i++) {
        gt_table *sheet = gt_phase_kernel_summary(kernels, launchers, kernel_phases, phases_shown[i].phase,
                                                  phases_shown[i].kernel_sheet);
        if (sheet->row_count) {
            gt_info("✓ Generated %s kernel summary with %zu groups", phases_shown[i].name, sheet->row_count);
            gt_table_list_add(tables, sheet);
        } else {
            gt_info("⚠ No %s phase kernels found", phases_shown[i].name);
            gt_table_free(sheet);
        }
    }
    gt_free(kernel_phases);
}
