/* The PyTorch report as a whole: its sheets (sheets.c), and what options and extensions add to them. */
#include "report/pytorch/parts.h"

#include "report/extra_sheets.h"

gt_pytorch_options gt_pytorch_options_default(void)
{
    return (gt_pytorch_options){.coll_analysis = true,
                                .python_timeout_s = 600,
                                .short_threshold_us = 10,
                                .short_bins = 100,
                                .phase_options.decode_threshold = 10};
}

bool gt_pytorch_needs_python(const gt_pytorch_options *options)
{
    return options->detect_recompute || options->call_stack || options->by_module || options->captures;
}

/* ---- extra sheets ---- */

static void add_extra_sheets(const gt_event_view *trace, const gt_hta_options *options, gt_table_list *tables)
{
    gt_extra_sheets sheets;
    gt_extra_make(trace, 0, options, &sheets);
    gt_table_list extra = gt_extra_finish(&sheets);
    for (size_t i = 0; i < extra.count; i++) gt_add_if_any(tables, extra.items[i]);
    gt_free(extra.items);
}

/* ---- the whole report ---- */

static void mark_recompute(gt_pytorch_linked *trace)
{
    size_t regions, marked;
    gt_pytorch_mark_recompute(trace, &regions, &marked);
    gt_info("Recompute detection: found %zu recompute_fn regions, marked %zu events", regions, marked);
}

/* Three sheets had other names in older versions. */
static void use_old_names(gt_table_list *tables)
{
    static const gt_sheet names[][2] = {{GT_SHEET_OPS_UNIQUE_ARGS, GT_SHEET_OPS_ALL},
                                        {GT_SHEET_SHORT_KERNEL_HISTOGRAM, GT_SHEET_SHORT_KERNELS_HISTOGRAM},
                                        {GT_SHEET_SHORT_KERNELS_SUMMARY, GT_SHEET_SHORT_KERNELS_ALL_DETAILS}};
    for (size_t i = 0; i < tables->count; i++)
        for (size_t n = 0; n < GT_LENGTH(names); n++)
            if (gt_table_is(tables->items[i], names[n][0])) {
                gt_table_rename(tables->items[i], names[n][1]);
                break;
            }
}

static bool run_extension(gt_pytorch_linked *trace, const gt_extension_source *source,
                          gt_extension_reply *answer, gt_error *error)
{
    if (!gt_extension_run(trace, source, answer, error)) return false;
    gt_info("extension %s: %zu ops added, %zu sheets", source->file, answer->added, answer->sheet_count);
    return true;
}

/* Whether a sheet of an extension has all columns of the sheet that it replaces, with the same types. Whole
 * numbers become floats where the other sheet has floats. */
static bool has_columns_of(gt_table *sheet, const gt_table *replaced)
{
    for (size_t c = 0; c < replaced->column_count; c++) {
        gt_type type = replaced->columns[c].type;
        size_t found = gt_table_find(sheet, gt_col_named(replaced->columns[c].name));
        if (found == SIZE_MAX) return false;
        if (type == GT_TYPE_FLOAT && sheet->columns[found].type == GT_TYPE_INT)
            gt_table_make_float(sheet, found);
        if (sheet->columns[found].type != type) return false;
    }
    return true;
}

/* The sheets of an extension come last; a sheet with the name of another one replaces it. What reads sheets
 * by name, such as the summary, may rely on their columns, so it does not get sheets with other ones. */
static void add_extension_sheets(gt_extension_reply *answer, gt_table_list *tables)
{
    for (size_t i = 0; i < answer->sheet_count; i++) {
        size_t at = 0;
        while (at < tables->count && strcmp(tables->items[at]->name, answer->sheets[i]->name) != 0) at++;
        if (at == tables->count) {
            answer->sheets[i]->is_foreign = true;
            gt_table_list_add(tables, answer->sheets[i]);
        } else {
            answer->sheets[i]->is_foreign =
                tables->items[at]->is_foreign || !has_columns_of(answer->sheets[i], tables->items[at]);
            gt_table_free(tables->items[at]);
            tables->items[at] = answer->sheets[i];
        }
    }
    answer->sheet_count = 0;
}

static void free_answer(gt_extension_reply *answer)
{
    for (size_t i = 0; i < answer->sheet_count; i++) gt_table_free(answer->sheets[i]);
    gt_free(answer->sheets);
    gt_extension_free(answer->extension);
}

bool gt_pytorch_tables(gt_pytorch_linked *trace, const gt_pytorch_options *options, gt_table_list *tables,
                       gt_error *error)
{
    gt_table_list made = {0};
    gt_extension_reply answer = {0};
    const gt_linked_view *view = gt_pytorch_view(trace);
    if (options->pseudo_ops) {
        gt_pseudo_ops_add(trace);
        if (options->comparison && !view->gpu_only) gt_pseudo_ops_add(options->comparison);
    }
    if (options->detect_recompute) mark_recompute(trace);
    bool all = !options->extension || run_extension(trace, options->extension, &answer, error);
    gt_sheet_inputs inputs = {.trace = view, .extension = answer.extension, .options = options};
    all = all && gt_add_sheets(&inputs, &made, error);
    if (all && options->hint_communication) gt_hint_at_communication(view);
    if (all && options->extra) add_extra_sheets(&view->events, &options->extra_options, &made);
    if (options->legacy_names) use_old_names(&made);
    if (all) add_extension_sheets(&answer, &made);
    free_answer(&answer);
    for (size_t i = 0; all && i < made.count; i++) gt_table_list_add(tables, made.items[i]);
    if (all) made.count = 0; /* `tables` owns them now */
    gt_table_list_free(&made);
    return all;
}
