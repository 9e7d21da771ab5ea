/* The final report of two runs: a dashboard, the comparisons, and the sheets that they were made from,
 * hidden. Every sheet is a native table. */
#include "sweep/compare/compare.h"
#include "output/output.h"

/* The names of raw sheets; others are GPU_<name>_Raw and NCCL_<name>_Raw. */
typedef struct renamed {
    gt_sheet from, to;
} renamed;

static const renamed TIMELINES[] = {{GT_SHEET_SUMMARY, GT_SHEET_FINAL_GPU_SUMMARY_RAW},
                                    {GT_SHEET_ALL_RANKS_COMBINED, GT_SHEET_FINAL_GPU_ALL_RANKS_RAW},
                                    {GT_SHEET_PER_RANK_TIME_MS, GT_SHEET_FINAL_GPU_TIME_RAW},
                                    {GT_SHEET_PER_RANK_PERCENT, GT_SHEET_FINAL_GPU_PERCENT_RAW}};
static const renamed COMPARISONS[] = {{GT_SHEET_SUMMARY_COMPARISON, GT_SHEET_FINAL_GPU_SUMMARY},
                                      {GT_SHEET_COMPARISON_BY_RANK, GT_SHEET_FINAL_GPU_BY_RANK}};
static const renamed COLLECTIVES[] = {{GT_SHEET_NCCL_SUMMARY_IMPLICIT_SYNC, GT_SHEET_FINAL_NCCL_SYNC_RAW},
                                      {GT_SHEET_NCCL_SUMMARY_LONG, GT_SHEET_FINAL_NCCL_LONG_RAW}};

static void add(gt_final_report *report, gt_table *table, bool is_hidden)
{
    bool is_comparison = strstr(table->name, "Cmp") || strstr(table->name, "Comparison");
    gt_sheet_style style = {
        .is_hidden = is_hidden, .is_table = true, .scale_prefix = is_comparison ? "percent_change" : NULL};
    size_t count = report->tables.count;
    GT_PUSH(report->styles, count, report->capacity, style);
    gt_table_list_add(&report->tables, table);
}

/* A copy with its name in the list, or else with `before` and `after` around its name. */
static gt_table *renamed_copy(const gt_table *table, const renamed *names, size_t count, const char *before,
                              const char *after)
{
    gt_table *copy = gt_table_copy(table);
    char *name = gt_format("%s%s%s", before, table->name, after);
    gt_sheet sheet = gt_sheet_named(name);
    for (size_t i = 0; i < count; i++)
        if (gt_table_is(table, names[i].from)) sheet = names[i].to;
    gt_table_rename(copy, sheet);
    gt_free(name);
    return copy;
}

static void add_timelines(gt_final_report *report, const gt_final_parts *parts)
{
    for (size_t i = 0; i < parts->timelines->count; i++)
        add(report, renamed_copy(parts->timelines->items[i], TIMELINES, GT_LENGTH(TIMELINES), "GPU_", "_Raw"),
            true);
    for (size_t i = 0; i < parts->timeline_comparison->count; i++) {
        const gt_table *table = parts->timeline_comparison->items[i];
        if (strstr(table->name, "Comparison"))
            add(report, renamed_copy(table, COMPARISONS, GT_LENGTH(COMPARISONS), "GPU_", ""), false);
    }
}

/* "nccl_implicit_sync_cmp" to "NCCL_ImplicitSyncCmp". */
static void rename_comparison(gt_table *table)
{
    gt_buffer name = {0};
    bool begins = true;
    gt_buffer_add_cstr(&name, "NCCL_");
    for (const char *c = table->name; *c; c++) {
        if (strncmp(c, "nccl_", 5) == 0) {
            c += 4;
            continue;
        }
        char letter = (char)(begins ? toupper((unsigned char)*c) : tolower((unsigned char)*c));
        begins = !isalpha((unsigned char)*c);
        if (*c != '_') gt_buffer_add(&name, &letter, 1);
    }
    gt_table_rename(table, gt_sheet_named(gt_buffer_str(&name).bytes));
    gt_buffer_free(&name);
}

static void add_collectives(gt_final_report *report, const gt_final_parts *parts)
{
    for (size_t i = 0; i < parts->collectives->count; i++) {
        const gt_table *table = parts->collectives->items[i];
        if (strcasestr(table->name, "summary"))
            add(report, renamed_copy(table, COLLECTIVES, GT_LENGTH(COLLECTIVES), "NCCL_", "_Raw"), true);
    }
    for (size_t i = 0; i < parts->collective_comparison->count; i++) {
        const gt_table *table = parts->collective_comparison->items[i];
        bool is_comparison = strcasestr(table->name, "_cmp") || strcasestr(table->name, "comparison");
        bool is_nccl = strcasestr(table->name, "nccl");
        gt_table *copy = renamed_copy(table, NULL, 0, is_nccl && !is_comparison ? "NCCL_" : "", "");
        if (is_nccl && is_comparison) rename_comparison(copy);
        add(report, copy, !is_comparison);
    }
}

bool gt_final_report_make(gt_final_report *report, const gt_final_parts *parts, gt_run_labels labels,
                          gt_error *error)
{
    *report = (gt_final_report){0};
    const gt_table *summary = gt_table_list_find_any(parts->timeline_comparison, GT_SHEET_SUMMARY_COMPARISON);
    if (!summary) return gt_fail(error, "no sheet %s", GT_SHEET_SUMMARY_COMPARISON.name);
    gt_table *dashboard = gt_run_dashboard(summary, labels, error);
    if (!dashboard) return false;
    add(report, dashboard, false);
    add_timelines(report, parts);
    if (parts->collectives && parts->collective_comparison) add_collectives(report, parts);
    return true;
}

void gt_final_report_free(gt_final_report *report)
{
    gt_table_list_free(&report->tables);
    gt_free(report->styles);
    *report = (gt_final_report){0};
}
