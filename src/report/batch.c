/* The batch report, in the order of its sheets. */
#include "report/batch.h"

#include "analysis/collective/sheets.h"
#include "base/buffer.h"
#include "base/guard.h"
#include "base/memory.h"
#include "base/log.h"
#include "report/collective.h"
#include "schema/columns.h"
#include "schema/sheets.h"

#include <stdlib.h>

static void print_line(FILE *out, const char *line)
{
    if (out) fprintf(out, "%s\n", line);
}

/* Adds a sheet that has rows. Frees one without rows and prints `line` instead, if given. Takes ownership of
 * the sheet. */
static void add_or_print(gt_table_list *tables, gt_table *sheet, FILE *out, const char *line)
{
    if (sheet->row_count) {
        gt_table_list_add(tables, sheet);
    } else {
        if (line) print_line(out, line);
        gt_table_free(sheet);
    }
}

/* ---- groups of ops ---- */

/* One line for all ranks and groups: in which ranks a group has no ops with shapes. */
static void print_without_shapes(const gt_batch_ranks *ranks, FILE *out)
{
    gt_buffer groups = {0};
    for (gt_batch_group group = 0; group < GT_BATCH_GROUPS; group++) {
        size_t count = 0;
        for (size_t place = 0; place < ranks->count; place++) count += !ranks->ops_found[group][place];
        char *part =
            gt_format("%s%s (%zu of %zu rank%s)", groups.len ? ", " : "", gt_batch_group_sheet(group).name,
                      count, ranks->count, ranks->count == 1 ? "" : "s");
        if (count) gt_buffer_add_cstr(&groups, part);
        gt_free(part);
    }
    if (groups.len)
        fprintf(out, "No performance metrics of these groups: %s; ensure profiler has record_shapes=True\n",
                gt_buffer_str(&groups).bytes);
    gt_buffer_free(&groups);
}

static void print_missing(const gt_batch_ranks *ranks, gt_batch_group group, FILE *out)
{
    const char *name = gt_batch_group_sheet(group).name;
    for (size_t place = 0; out && ranks->line_per_rank && place < ranks->count; place++)
        if (!ranks->ops_found[group][place])
            fprintf(
                out,
                "Failed to build performance metrics from group %s, ensure profiler has record_shapes=True\n",
                name);
    if (out && !ranks->ops[group].found)
        fprintf(out, "No events to summarize performance metrics from group %s\n", name);
    if (ranks->ops[group].found && !ranks->ops[group].rows)
        gt_warn("no model applies to any of the %zu ops of group %s; its sheet is omitted",
                ranks->ops[group].found, name);
}

static void add_groups(gt_batch_ranks *ranks, FILE *out, gt_table_list *tables)
{
    if (out && !ranks->line_per_rank) print_without_shapes(ranks, out);
    for (gt_batch_group group = 0; group < GT_BATCH_GROUPS; group++) {
        print_missing(ranks, group, out);
        gt_table *sheet = gt_batch_ops_sheet(&ranks->ops[group], group, &ranks->arguments[group]);
        if (sheet) gt_table_list_add(tables, sheet);
        gt_batch_ops_free(&ranks->ops[group]);
    }
}

/* ---- all sheets except those of collectives ---- */

static void add_breakdown(gt_table_list *tables, const gt_table *launchers, const gt_table *timelines)
{
    gt_buffer others = {0};
    size_t count;
    gt_table_list_add(tables, gt_batch_breakdown(launchers, timelines, &others, &count));
    if (count)
        gt_warn("%zu kernel launchers were assigned to the \"Other\" group: %s Check the "
                "grouped_breakdown_mapping to "
                "ensure all relevant kernel launchers are appropriately grouped.",
                count, gt_buffer_str(&others).bytes);
    gt_buffer_free(&others);
}

static void warn_about_unlinked(const gt_left_out *left_out)
{
    char text[GT_LEFT_OUT_TEXT_MAX];
    if (!gt_gpu_share_any(left_out->unlinked)) return;
    gt_unlinked_describe(left_out, text);
    gt_warn("%s; gpu_timelines and kernel_launchers do not count it, `gputally report` of a rank does", text);
}

void gt_batch_tables(gt_batch_ranks *ranks, FILE *out, gt_table_list *tables)
{
    warn_about_unlinked(&ranks->left_out);
    for (size_t i = 0; i < ranks->kernels.count; i++) gt_table_list_add(tables, ranks->kernels.items[i]);
    ranks->kernels.count = 0; /* `tables` owns them now */
    add_groups(ranks, out, tables);
    gt_table *launchers = gt_batch_launchers(ranks->parts[GT_BATCH_LAUNCHERS], ranks->count);
    gt_table *timelines = gt_batch_timelines(ranks->timelines, ranks->numbers, ranks->count, ranks->strings);
    gt_table_list_add(tables, launchers);
    gt_table_list_add(tables, timelines);
    gt_table_list_add(tables, ranks->parts[GT_BATCH_COUNTS]);
    ranks->parts[GT_BATCH_COUNTS] = NULL; /* `tables` owns it now */
    add_or_print(tables, gt_batch_unlinked(ranks->parts[GT_BATCH_UNLINKED]), out,
                 "No unlinked kernel events found.");
    add_or_print(tables, gt_batch_short_ops(ranks->parts[GT_BATCH_SHORT_OPS]), out,
                 "No short CPU ops found.");
    add_or_print(tables, gt_batch_calls(ranks->parts[GT_BATCH_CALLS]), out, NULL);
    add_breakdown(tables, launchers, timelines);
}

/* ---- collectives ---- */

static const gt_col all2allv_columns[] = {
    GT_COL_COLLECTIVE_ID,
    GT_COL_PROCESS_GROUP_NAME,
    GT_COL_PROCESS_GROUP_RANKS,
    GT_COL_COLLECTIVE_NAME,
    GT_COL_GROUP_SIZE,
    GT_COL_DTYPE,
    GT_COL_STREAM,
    GT_COL_TOTAL_DATA_COMMUNICATED_MB,
    GT_COL_TOTAL_NELEMS_COMMUNICATED,
    GT_COL_SKEW_IN_START_TIME,
    GT_COL_SKEW_IN_END_TIME,
};

static void add_named(gt_table_list *tables, gt_table *table, gt_sheet name)
{
    gt_table_rename(table, name);
    add_or_print(tables, table, NULL, NULL);
}

static void warn_of_mismatches(size_t count, const gt_error *error)
{
    if (count)
        gt_warn("%zu collectives use the first rank's data, because their ranks disagree: %s", count,
                error->text);
}

void gt_batch_collective_tables(gt_batch_ranks *ranks, gt_table_list *tables)
{
    gt_table *rows = ranks->parts[GT_BATCH_COLLECTIVES];
    if (!rows->row_count) return;
    ranks->parts[GT_BATCH_COLLECTIVES] = NULL; /* it becomes a sheet */
    gt_error error = {0};
    gt_aggregations mean = {0};
    if (!gt_aggregations_add(&mean, "mean", &error)) gt_raise_internal("%s", error.text);
    gt_collectives_align(rows, ranks->bases, ranks->count);
    bool by_order_alone = gt_collectives_number(rows);
    gt_collective_matches matches = gt_collective_match(rows);
    gt_collective_sync sync;
    size_t disagreeing;
    if (!gt_collective_sync_find(&sync, &matches, by_order_alone, GT_MISMATCH_KEEP, &error))
        gt_raise_internal("%s", error.text); /* mismatches are kept */
    warn_of_mismatches(sync.disagreeing, &error);
    gt_table *narrow = gt_collective_sync_table(&sync, false);
    gt_table *summary = gt_collective_sync_summary(narrow, &mean);
    bool wide = gt_collective_has_room(GT_SHEET_NCCL_IMPLICIT_SYNC_CAT_DETAILED, sync.count, matches.ranks,
                                       GT_SYNC_COLUMNS_PER_RANK);
    gt_table *detailed = gt_collective_sync_table(&sync, wide);
    gt_table *all2allv = gt_collective_all2allv(&matches, false, GT_MISMATCH_KEEP, &disagreeing, &error);
    warn_of_mismatches(disagreeing, &error);
    gt_collective_sync_free(&sync);
    gt_collective_matches_free(&matches);
    gt_table_select(all2allv, all2allv_columns, GT_LENGTH(all2allv_columns));
    add_named(tables, summary, GT_SHEET_SUMMARY_NCCL_IMPLICIT_SYNC_CAT);
    add_named(tables, rows, GT_SHEET_LONG);
    add_named(tables, narrow, GT_SHEET_NCCL_IMPLICIT_SYNC_CAT);
    add_named(tables, detailed, GT_SHEET_NCCL_IMPLICIT_SYNC_CAT_DETAILED);
    add_named(tables, all2allv, GT_SHEET_NCCL_ALL2ALLV);
}
