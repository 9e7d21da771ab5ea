/* The sheets of a comparison of two traces.
 *
 * waterfall: one row for the step time of the baseline, one per contribution, one for the other step time.
 *
 *     report          the trace that is compared with the baseline
 *     order           from 0
 *     contribution    "slower: aten::mm"
 *     kind            step, new, vanished, slower, faster, more_calls, fewer_calls, overlap, computation,
 *                     communication, copies, idle, other
 *     what            op, kernel, category, collective, copy, cause of idle time, or name of the trace
 *     a_ms, b_ms      what it is about takes per step in the baseline and in the other trace
 *     delta_ms        contribution to the difference of the step times
 *     cumulative_ms   the step time after this contribution
 *     pct             100 * delta / step time of the baseline
 *     a_calls, b_calls       per step
 *     a_detail, b_detail     the kernel with the largest share; of idle time, the place in the program
 *
 * waterfall_parts: one row per pair of parts (match.c), with the change divided into calls, speed and
 * overlap.
 */
#include "findings/waterfall/waterfall.h"

#include "schema/columns.h"

enum {
    W_REPORT,
    W_ORDER,
    W_CONTRIBUTION,
    W_KIND,
    W_WHAT,
    W_A_MS,
    W_B_MS,
    W_DELTA_MS,
    W_CUMULATIVE_MS,
    W_PCT,
    W_A_CALLS,
    W_B_CALLS,
    W_A_DETAIL,
    W_B_DETAIL
};

gt_table *gt_waterfall_sheet_new(gt_interner *strings)
{
    static const gt_column_head columns[] = {
        {GT_COL_REPORT, GT_TYPE_STRING},       {GT_COL_ORDER, GT_TYPE_INT},
        {GT_COL_CONTRIBUTION, GT_TYPE_STRING}, {GT_COL_KIND, GT_TYPE_STRING},
        {GT_COL_WHAT, GT_TYPE_STRING},         {GT_COL_A_MS, GT_TYPE_FLOAT},
        {GT_COL_B_MS, GT_TYPE_FLOAT},          {GT_COL_DELTA_MS, GT_TYPE_FLOAT},
        {GT_COL_CUMULATIVE_MS, GT_TYPE_FLOAT}, {GT_COL_PCT, GT_TYPE_FLOAT},
        {GT_COL_A_CALLS, GT_TYPE_FLOAT},       {GT_COL_B_CALLS, GT_TYPE_FLOAT},
        {GT_COL_A_DETAIL, GT_TYPE_STRING},     {GT_COL_B_DETAIL, GT_TYPE_STRING},
    };
    gt_table *sheet = gt_table_new(GT_SHEET_WATERFALL, strings);
    gt_table_add_columns(sheet, columns, GT_LENGTH(columns));
    return sheet;
}

static double ms(int64_t ns)
{
    return (double)ns / 1e6;
}

static size_t add_row(gt_table *sheet, const char *report, int64_t order, const char *text, const char *kind,
                      int64_t cumulative_ns)
{
    size_t row = gt_table_add_row(sheet);
    gt_table_set_cstr(sheet, W_REPORT, row, report);
    gt_table_set_int(sheet, W_ORDER, row, order);
    gt_table_set_cstr(sheet, W_CONTRIBUTION, row, text);
    gt_table_set_cstr(sheet, W_KIND, row, kind);
    gt_table_set_float(sheet, W_CUMULATIVE_MS, row, ms(cumulative_ns));
    return row;
}

static void add_contribution(gt_table *sheet, const gt_waterfall *w, const char *report, int64_t order,
                             const gt_contribution *item, int64_t *cumulative_ns)
{
    char *text = gt_contribution_text(w, item);
    *cumulative_ns += item->delta_ns;
    size_t row = add_row(sheet, report, order, text, gt_contribution_name((gt_contribution_kind)item->kind),
                         *cumulative_ns);
    gt_free(text);
    gt_table_set_float(sheet, W_DELTA_MS, row, ms(item->delta_ns));
    if (w->a_ns) gt_table_set_float(sheet, W_PCT, row, 100.0 * (double)item->delta_ns / (double)w->a_ns);
    if (item->kind == GT_CONTRIBUTION_OTHER) return;
    gt_table_set_string(sheet, W_WHAT, row, item->what);
    gt_table_set_float(sheet, W_A_MS, row, ms(item->a_ns));
    gt_table_set_float(sheet, W_B_MS, row, ms(item->b_ns));
    gt_table_set_string(sheet, W_A_DETAIL, row, item->a_detail);
    gt_table_set_string(sheet, W_B_DETAIL, row, item->b_detail);
    if (item->kind == GT_CONTRIBUTION_IDLE || item->kind == GT_CONTRIBUTION_OVERLAP || !w->has_calls) return;
    gt_table_set_float(sheet, W_A_CALLS, row, item->a_calls);
    gt_table_set_float(sheet, W_B_CALLS, row, item->b_calls);
}

void gt_waterfall_sheet_add(gt_table *sheet, const gt_waterfall *w, const char *baseline, const char *report)
{
    int64_t order = 0, cumulative_ns = w->a_ns;
    size_t row = add_row(sheet, report, order++, w->has_steps[0] ? "step time" : "time of the window", "step",
                         cumulative_ns);
    gt_table_set_cstr(sheet, W_WHAT, row, baseline);
    gt_table_set_float(sheet, W_A_MS, row, ms(w->a_ns));
    for (size_t i = 0; i < w->shown; i++)
        add_contribution(sheet, w, report, order++, &w->items[i], &cumulative_ns);
    for (int sign = 1; sign >= -1; sign -= 2) {
        gt_contribution rest;
        if (gt_waterfall_rest(w, sign, &rest))
            add_contribution(sheet, w, report, order++, &rest, &cumulative_ns);
    }
    row = add_row(sheet, report, order, w->has_steps[1] ? "step time" : "time of the window", "step",
                  cumulative_ns);
    gt_table_set_cstr(sheet, W_WHAT, row, report);
    gt_table_set_float(sheet, W_B_MS, row, ms(w->b_ns));
}

/* ---- waterfall_parts ---- */

enum {
    P_REPORT,
    P_PART,
    P_WHAT,
    P_MATCH,
    P_A_MS,
    P_B_MS,
    P_DELTA_MS,
    P_CALLS_MS,
    P_SPEED_MS,
    P_OVERLAP_MS,
    P_A_CALLS,
    P_B_CALLS,
    P_A_KERNELS,
    P_B_KERNELS,
    P_A_DETAIL,
    P_B_DETAIL
};

gt_table *gt_waterfall_parts_sheet_new(gt_interner *strings)
{
    static const gt_column_head columns[] = {
        {GT_COL_REPORT, GT_TYPE_STRING},   {GT_COL_PART, GT_TYPE_STRING},
        {GT_COL_WHAT, GT_TYPE_STRING},     {GT_COL_MATCH, GT_TYPE_STRING},
        {GT_COL_A_MS, GT_TYPE_FLOAT},      {GT_COL_B_MS, GT_TYPE_FLOAT},
        {GT_COL_DELTA_MS, GT_TYPE_FLOAT},  {GT_COL_CALLS_MS, GT_TYPE_FLOAT},
        {GT_COL_SPEED_MS, GT_TYPE_FLOAT},  {GT_COL_OVERLAP_MS, GT_TYPE_FLOAT},
        {GT_COL_A_CALLS, GT_TYPE_FLOAT},   {GT_COL_B_CALLS, GT_TYPE_FLOAT},
        {GT_COL_A_KERNELS, GT_TYPE_INT},   {GT_COL_B_KERNELS, GT_TYPE_INT},
        {GT_COL_A_DETAIL, GT_TYPE_STRING}, {GT_COL_B_DETAIL, GT_TYPE_STRING},
    };
    gt_table *sheet = gt_table_new(GT_SHEET_WATERFALL_PARTS, strings);
    gt_table_add_columns(sheet, columns, GT_LENGTH(columns));
    return sheet;
}

static void add_kernels(gt_table *sheet, size_t row, const gt_part_pair *pair)
{
    gt_table_set_int(sheet, P_A_KERNELS, row, pair->a_count);
    gt_table_set_int(sheet, P_B_KERNELS, row, pair->b_count);
    if (pair->match == GT_MATCH_NONE) return;
    gt_table_set_float(sheet, P_CALLS_MS, row, ms(pair->calls_ns));
    gt_table_set_float(sheet, P_SPEED_MS, row, ms(pair->speed_ns));
    gt_table_set_float(sheet, P_OVERLAP_MS, row, ms(pair->overlap_ns));
}

void gt_waterfall_parts_sheet_add(gt_table *sheet, const gt_waterfall *w, const char *report)
{
    static const char *const parts[] = {[GT_PART_KERNEL] = "kernel",
                                        [GT_PART_CATEGORY] = "category",
                                        [GT_PART_COMMUNICATION] = "communication",
                                        [GT_PART_COPY] = "copy",
                                        [GT_PART_IDLE] = "idle"};
    static const char *const matches[] = {[GT_MATCH_KERNEL] = "same",
                                          [GT_MATCH_NORMAL_NAME] = "similar name",
                                          [GT_MATCH_OP] = "replaced",
                                          [GT_MATCH_KERNEL_ALONE] = "same, other op",
                                          [GT_MATCH_NORMAL_ALONE] = "similar name, other op",
                                          [GT_MATCH_CATEGORY] = "same category",
                                          [GT_MATCH_NONE] = "only one"};
    for (size_t i = 0; i < w->pairs.count; i++) {
        const gt_part_pair *pair = &w->pairs.items[i];
        size_t row = gt_table_add_row(sheet);
        gt_table_set_cstr(sheet, P_REPORT, row, report);
        gt_table_set_cstr(sheet, P_PART, row, parts[pair->kind]);
        gt_table_set_string(sheet, P_WHAT, row, pair->what);
        gt_table_set_cstr(sheet, P_MATCH, row, matches[pair->match]);
        gt_table_set_float(sheet, P_A_MS, row, ms(pair->a_ns));
        gt_table_set_float(sheet, P_B_MS, row, ms(pair->b_ns));
        gt_table_set_float(sheet, P_DELTA_MS, row, ms(pair->b_ns - pair->a_ns));
        gt_table_set_string(sheet, P_A_DETAIL, row, pair->a_detail);
        gt_table_set_string(sheet, P_B_DETAIL, row, pair->b_detail);
        if (pair->kind != GT_PART_IDLE && w->has_calls) {
            gt_table_set_float(sheet, P_A_CALLS, row, pair->a_calls);
            gt_table_set_float(sheet, P_B_CALLS, row, pair->b_calls);
        }
        if (pair->kind == GT_PART_KERNEL) add_kernels(sheet, row, pair);
    }
}
