/* Sheets of the phases of inference, prefill and decode, and what is said about them. */
#include "report/pytorch/parts.h"

#include "base/log.h"
#include "base/memory.h"
#include "schema/sheets.h"

#include <stdlib.h>

static const struct {
    gt_phase phase;
    const char *name, *reference_name;
    gt_sheet op_sheet, kernel_sheet;
} phases_shown[] = {
    {GT_PHASE_PREFILL, "prefill", "Prefill", GT_SHEET_OPS_SUMMARY_PREFILL, GT_SHEET_KERNEL_SUMMARY_PREFILL},
    {GT_PHASE_DECODE, "decode", "Decode", GT_SHEET_OPS_SUMMARY_DECODE, GT_SHEET_KERNEL_SUMMARY_DECODE},
};
enum { PHASES_SHOWN = GT_LENGTH(phases_shown) };

static void say_making(const gt_pytorch_options *options, const char *sheets)
{
    if (options->reference_messages) gt_info("Generating inference phase %s...", sheets);
}

static void say_no_ops(const gt_pytorch_options *options, size_t phase)
{
    if (options->reference_messages)
        gt_info("⚠ No %s phase operations found in launchers", phases_shown[phase].reference_name);
    else
        gt_info("no op belongs to %s, so there is no sheet %s", phases_shown[phase].name,
                phases_shown[phase].op_sheet.name);
}

void gt_say_no_phase_ops(const gt_pytorch_options *options)
{
    say_making(options, "kernel launcher summaries");
    if (options->reference_messages)
        for (size_t i = 0; i < PHASES_SHOWN; i++) say_no_ops(options, i);
    else
        gt_info("the trace has no ops, so there are no sheets ops_summary_prefill and ops_summary_decode");
}

void gt_add_phase_op_sheets(const gt_linked_view *trace, const gt_launchers *launchers,
                            const gt_phases *phases, const gt_pytorch_options *options, gt_table_list *tables)
{
    say_making(options, "kernel launcher summaries");
    for (size_t i = 0; i < PHASES_SHOWN; i++) {
        gt_table *sheet =
            gt_phase_ops_summary(trace, launchers, phases, phases_shown[i].phase, phases_shown[i].op_sheet);
        if (!sheet->row_count) {
            say_no_ops(options, i);
            gt_table_free(sheet);
            continue;
        }
        if (options->reference_messages)
            gt_info("✓ Generated %s launcher summary with %zu operations", phases_shown[i].reference_name,
                    sheet->row_count);
        gt_table_list_add(tables, sheet);
    }
}

static void say_no_kernels(const gt_pytorch_options *options, size_t phase)
{
    if (options->reference_messages)
        gt_info("⚠ No %s phase kernels found", phases_shown[phase].reference_name);
    else
        gt_info("no kernel belongs to %s, so there is no sheet %s", phases_shown[phase].name,
                phases_shown[phase].kernel_sheet.name);
}

void gt_add_phase_kernel_sheets(const gt_pytorch_kernels *kernels, const gt_launchers *launchers,
                                gt_phases *phases, const gt_pytorch_options *options, gt_table_list *tables)
{
    say_making(options, "kernel summaries");
    uint8_t *kernel_phases = gt_phases_of_kernels(phases);
    for (size_t i = 0; i < PHASES_SHOWN; i++) {
        gt_table *sheet = gt_phase_kernel_summary(kernels, launchers, kernel_phases, phases_shown[i].phase,
                                                  phases_shown[i].kernel_sheet);
        if (!sheet->row_count) {
            say_no_kernels(options, i);
            gt_table_free(sheet);
            continue;
        }
        if (options->reference_messages)
            gt_info("✓ Generated %s kernel summary with %zu groups", phases_shown[i].reference_name,
                    sheet->row_count);
        gt_table_list_add(tables, sheet);
    }
    gt_free(kernel_phases);
}

void gt_warn_about_training(const gt_linked_view *trace)
{
    uint32_t sign = gt_phases_sign_of_training(trace);
    if (sign == GT_STR_NONE) return;
    gt_str name = gt_interner_get(trace->strings, sign);
    gt_warn("the trace looks like training, because it has %.*s; prefill and decode exist only in "
            "inference, so the phases mean nothing",
            (int)(name.len < 100 ? name.len : 100), name.bytes);
}
