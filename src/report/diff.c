/* The diff of two traces: builds the tables, writes its files (diff.h lists them), prints the terminal
 * summary.
 */
#include "report/diff.h"

#include "analysis/diff/diff.h"
#include "analysis/pytorch/sheets.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "report/diff_text.h"
#include "report/summary.h"
#include "schema/columns.h"

#include <stdlib.h>

enum { ROWS_SHOWN = 10 };

struct gt_diff {
    gt_diff_tree *tree;
    gt_table_list tables;
    gt_table *maps[3]; /* cpu_op_map of both traces and of each; NULL without rows */
    gt_table *parts, *differences;
    size_t events[2];
    bool identical, prune_non_gpu;
};

static void keep_tables(gt_diff *d, gt_diff_stats *stats)
{
    d->parts = gt_diff_parts(d->tree, stats);
    if (!stats->table->row_count) {
        gt_info("No GPU events found in either trace");
        return;
    }
    gt_diff_summary summary = gt_diff_summarize(stats);
    d->differences = gt_diff_differences(stats);
    d->identical = stats->identical;
    gt_table_list_add(&d->tables, gt_diff_stats_sheet(stats));
    gt_table_list_add(&d->tables, summary.table);
    d->maps[0] = summary.op_map;
    d->maps[1] = summary.op_maps[0];
    d->maps[2] = summary.op_maps[1];
}

static void warn_about_unlinked(const gt_linked_view *trace, const char *title)
{
    gt_left_out left_out = gt_pytorch_find_left_out(trace);
    char text[GT_LEFT_OUT_TEXT_MAX];
    if (!gt_gpu_share_any(left_out.unlinked)) return;
    gt_unlinked_describe(&left_out, text);
    gt_warn("%s: %s; it is not compared", title, text);
}

gt_diff *gt_diff_new(const gt_linked_view *first, const gt_linked_view *second,
                     const gt_diff_options *options, gt_error *error)
{
    gt_diff_tree *tree = gt_diff_tree_new(first, second, error);
    if (!tree) return NULL;
    warn_about_unlinked(first, "trace1");
    warn_about_unlinked(second, "trace2");
    gt_diff *d = gt_alloc_zero(1, sizeof *d);
    *d = (gt_diff){.tree = tree,
                   .events = {first->uid_count, second->uid_count},
                   .prune_non_gpu = options->prune_non_gpu};
    gt_diff_stats stats = gt_diff_stats_make(tree, options->explain);
    keep_tables(d, &stats);
    gt_diff_stats_free(&stats);
    return d;
}

void gt_diff_free(gt_diff *d)
{
    if (!d) return;
    gt_table_list_free(&d->tables);
    for (size_t i = 0; i < GT_LENGTH(d->maps); i++) gt_table_free(d->maps[i]);
    gt_table_free(d->parts);
    gt_table_free(d->differences);
    gt_diff_tree_free(d->tree);
    gt_free(d);
}

const gt_table_list *gt_diff_tables(const gt_diff *d)
{
    return &d->tables;
}

/* ---- files ---- */

static char *path_in(const char *dir, const char *name, const char *ending)
{
    return gt_format("%s/%s%s", dir, name, ending);
}

static bool write_tree(const gt_diff *d, gt_output *output, const char *dir, gt_error *error)
{
    gt_file file;
    char *path = path_in(dir, "merged_tree_output", ".txt");
    bool open = gt_file_open(&file, output, path, error);
    gt_free(path);
    if (!open) return false;
    size_t too_deep = gt_diff_write_tree(&file, d->tree, d->prune_non_gpu);
    if (too_deep)
        gt_warn("merged_tree_output.txt: calls deeper than %d omitted, below %zu calls", GT_DIFF_DEPTH_MAX,
                too_deep);
    return gt_file_close(&file, error);
}

static bool write_map(const gt_table *map, gt_output *output, const char *dir, gt_error *error)
{
    gt_file file;
    char *path = path_in(dir, map->name, ".json");
    bool open = gt_file_open(&file, output, path, error);
    gt_free(path);
    if (!open) return false;
    gt_diff_write_map(&file, map);
    return gt_file_close(&file, error);
}

bool gt_diff_write(const gt_diff *d, gt_output *output, const char *dir, gt_error *error)
{
    if (!write_tree(d, output, dir, error) ||
        !gt_output_csvs(output, dir, d->tables.items, d->tables.count, error))
        return false;
    for (size_t i = 0; i < GT_LENGTH(d->maps); i++)
        if (d->maps[i] && !write_map(d->maps[i], output, dir, error)) return false;
    return true;
}

/* ---- terminal summary ---- */

static void print_parts(const gt_terminal *terminal, const gt_table *parts)
{
    static const gt_terminal_column columns[] = {
        {GT_COL_TRACE1_MS, NULL, 3, NULL}, {GT_COL_TRACE1_PERCENT, "share", 1, "%"},
        {GT_COL_TRACE2_MS, NULL, 3, NULL}, {GT_COL_TRACE2_PERCENT, "share", 1, "%"},
        {GT_COL_PART, NULL, 0, NULL},
    };
    gt_terminal_heading(terminal, "GPU time by match");
    gt_terminal_rows(terminal, parts, columns, GT_LENGTH(columns), parts->row_count);
}

static void print_differences(const gt_terminal *terminal, const gt_table *differences)
{
    static const gt_terminal_column columns[] = {
        {GT_COL_DIFFERENCE_MS, "trace2 - trace1 ms", 3, NULL},
        {GT_COL_TRACE1_MS, NULL, 3, NULL},
        {GT_COL_TRACE2_MS, NULL, 3, NULL},
        {GT_COL_COUNT, NULL, 0, NULL},
        {GT_COL_CALL, "below the common call", 0, NULL},
    };
    gt_terminal_heading(terminal, "Largest differences");
    gt_summary_rows(terminal, differences, columns, GT_LENGTH(columns), ROWS_SHOWN);
}

void gt_diff_print_summary(FILE *out, const gt_diff *d, int width, bool utf8)
{
    size_t alone[2] = {0, 0}, both = 0;
    for (size_t i = 0; i < d->tree->count; i++) {
        if (gt_diff_is_combined(&d->tree->nodes[i]))
            both++;
        else
            alone[gt_diff_only_side(&d->tree->nodes[i])]++;
    }
    gt_terminal terminal = gt_terminal_for(out);
    terminal.width = width > 0 ? (size_t)width : 0;
    terminal.utf8 = utf8;
    fprintf(out, "%zu and %zu %s; %zu %s in both traces, %zu only in trace1, %zu only in trace2\n",
            d->events[0], d->events[1], gt_noun(d->events[1], "event", "events"), both,
            gt_noun(both, "call", "calls"), alone[0], alone[1]);
    if (d->identical) fputs("the traces do the same in the same time\n", out);
    fputc('\n', out);
    print_parts(&terminal, d->parts);
    if (!d->differences || !d->differences->row_count) return;
    fputc('\n', out);
    print_differences(&terminal, d->differences);
}
