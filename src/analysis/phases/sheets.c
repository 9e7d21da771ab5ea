/* Sheets of phases.
 *
 * ops_summary_prefill and ops_summary_decode: the launchers of one phase by name:
 *
 *     Kernel categories              the distinct categories (inference_category.c) of the kernels of the
 *                                    first launcher with that name, ascending
 *     total_direct_kernel_time_sum   sum of the launchers' own kernel times, microseconds
 *     Count                          launchers
 *     total_direct_kernel_time_ms    that sum / 1000
 *     Percentage (%)                 of the phase's sum
 *     Cumulative Percentage (%)      running total of Percentage over the rows as shown
 *
 * kernel_summary_prefill and kernel_summary_decode: the kernels of one phase by op category, op, name and
 * stream, with the columns of kernel_summary (analysis/pytorch/kernels.c), and
 *
 *     Percent of kernels time (%)    sum / durations of the phase's kernels * 100 */
#include "analysis/phases/phases.h"

#include "analysis/sheet_parts.h"
#include "analysis/pytorch/sheets.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

#include <stdlib.h>
#include <string.h>

/* ---- ops of a phase ---- */

static const gt_aggregate of_name[] = {
    GT_AGGREGATE(TOTAL_DIRECT_KERNEL_TIME, SUM),
    {GT_NO_COL, GT_GROUP_SIZE, GT_COL_COUNT_TITLE},
    {GT_COL_LAUNCHER, GT_GROUP_FIRST, GT_COL_LAUNCHER},
};

static const gt_col columns[] = {
    GT_COL_KERNEL_CATEGORIES,
    GT_COL_NAME,
    GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM,
    GT_COL_COUNT_TITLE,
    GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS,
    GT_COL_PERCENTAGE_PCT,
    GT_COL_CUMULATIVE_PERCENTAGE_PCT,
};

static void add_once(gt_row_list *list, uint32_t text)
{
    for (size_t i = list->count; i > 0; i--)
        if (list->items[i - 1] == text) return;
    GT_PUSH(list->items, list->count, list->capacity, text);
}

typedef struct categories {
    const gt_linked_view *trace;
    const gt_launchers *launchers;
    gt_inference_categories *names;
    uint32_t *known;   /* by kernel name: its category; GT_STR_NONE: not computed yet */
    gt_row_list found; /* string ids, of one launcher */
    gt_buffer joined;
} categories;

static uint32_t category_of(categories *c, uint32_t name)
{
    if (c->known[name] == GT_STR_NONE)
        c->known[name] = gt_interner_add_cstr(
            c->trace->strings, gt_inference_category(c->names, gt_interner_get(c->trace->strings, name)));
    return c->known[name];
}

/* "Attention-Forward, GEMM-CK" */
static uint32_t categories_of(categories *c, const gt_launcher *launcher)
{
    gt_interner *strings = c->trace->strings;
    c->found.count = c->joined.len = 0;
    for (size_t i = 0; i < launcher->count; i++)
        add_once(&c->found, category_of(c, c->trace->name[c->launchers->kernels[launcher->first + i]]));
    gt_sort_strings(c->found.items, c->found.count, strings);
    for (size_t i = 0; i < c->found.count; i++) {
        gt_str category = gt_interner_get(strings, c->found.items[i]);
        if (i) gt_buffer_add_cstr(&c->joined, ", ");
        gt_buffer_add(&c->joined, category.bytes, category.len);
    }
    return gt_interner_add(strings, c->joined.bytes, c->joined.len);
}

static void add_categories(gt_table *sheet, const gt_linked_view *trace, const gt_launchers *launchers)
{
    categories c = {
        .trace = trace,
        .launchers = launchers,
        .names = gt_inference_categories_new(),
        .known = gt_alloc_zero(gt_interner_count(trace->strings), sizeof *c.known),
    };
    size_t column = gt_table_add_column(sheet, GT_COL_KERNEL_CATEGORIES, GT_TYPE_STRING);
    const int64_t *first = gt_table_column(sheet, GT_COL_LAUNCHER)->ints;
    for (size_t row = 0; row < sheet->row_count; row++)
        gt_table_set_string(sheet, column, row, categories_of(&c, &launchers->items[first[row]]));
    gt_inference_categories_free(c.names);
    gt_free(c.known);
    gt_free(c.found.items);
    gt_buffer_free(&c.joined);
}

static gt_table *launchers_of(const gt_linked_view *trace, const gt_launchers *launchers,
                              const gt_phases *phases, gt_phase phase)
{
    gt_table *table = gt_table_new(GT_SHEET_LAUNCHERS, trace->strings);
    uint8_t *keep = gt_alloc(launchers->count);
    gt_table_add_rows(table, launchers->count);
    size_t names = gt_table_add_zeroed(table, GT_COL_NAME, GT_TYPE_STRING);
    size_t numbers = gt_table_add_zeroed(table, GT_COL_LAUNCHER, GT_TYPE_INT);
    for (size_t i = 0; i < launchers->count; i++) {
        table->columns[names].texts[i] = trace->name[launchers->items[i].row];
        table->columns[numbers].ints[i] = (int64_t)i;
    }
    gt_table_add_direct_times(table, trace, launchers);
    for (size_t i = 0; i < launchers->count; i++) keep[i] = gt_phases_of_launcher(phases, i) == phase;
    gt_table_keep(table, keep);
    gt_free(keep);
    return table;
}

gt_table *gt_phase_ops_summary(const gt_linked_view *trace, const gt_launchers *launchers,
                               const gt_phases *phases, gt_phase phase, gt_sheet sheet)
{
    static const gt_sort_key longest_first[] = {{GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM, true}};
    gt_table *table = launchers_of(trace, launchers, phases, phase);
    gt_table *summary = gt_table_group(table, (gt_col[]){GT_COL_NAME}, 1, of_name, GT_LENGTH(of_name),
                                       (gt_group_options){.keep_nulls = true});
    gt_table_free(table);
    gt_table_rename(summary, sheet);
    gt_table_sort(summary, longest_first, GT_LENGTH(longest_first));
    add_categories(summary, trace, launchers);
    gt_table_add_percentages(summary, gt_table_add_ms(summary, GT_COL_TOTAL_DIRECT_KERNEL_TIME_SUM,
                                                      GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS));
    gt_table_make_float(summary, gt_table_find(summary, GT_COL_PERCENTAGE_PCT));
    gt_table_make_float(summary, gt_table_find(summary, GT_COL_CUMULATIVE_PERCENTAGE_PCT));
    gt_table_select(summary, columns, GT_LENGTH(columns));
    return summary;
}

/* ---- kernels of a phase ---- */

gt_table *gt_phase_kernel_summary(const gt_pytorch_kernels *kernels, const gt_launchers *launchers,
                                  const uint8_t *kernel_phases, gt_phase phase, gt_sheet sheet)
{
    gt_pytorch_kernels part = *kernels; /* the same columns and types as in kernel_summary */
    part.rows = gt_alloc(kernels->count * sizeof *part.rows);
    part.cpu_ops = gt_alloc(kernels->count * sizeof *part.cpu_ops);
    part.count = 0;
    for (size_t i = 0; i < kernels->count; i++) {
        if (kernel_phases[kernels->rows[i]] != phase) continue;
        part.rows[part.count] = kernels->rows[i];
        part.cpu_ops[part.count++] = kernels->cpu_ops[i];
    }
    gt_table *summary = gt_pytorch_kernel_shares(&part, launchers, sheet);
    gt_pytorch_kernels_free(&part);
    return summary;
}
