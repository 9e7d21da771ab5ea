/* The reports of JAX profiles: which sheets, in which order, and the terminal summaries. */
#include "compat/number.h"
#include "report/jax.h"

#include "analysis/sheet_parts.h"
#include "schema/columns.h"

enum { KERNELS_SHOWN = 10 };

/* ---- performance report ---- */

/* Drops the helper column and adds the sheet. */
static void add_launchers(gt_table_list *tables, gt_table *sheet)
{
    gt_table_drop_column(sheet, gt_table_find(sheet, GT_COL_KERNEL));
    gt_table_list_add(tables, sheet);
}

static void add_kernel_sheets(gt_jax_kernels *kernels, const gt_jax_options *options, gt_table_list *tables)
{
    gt_table *launchers = gt_jax_kernel_launchers(kernels, options->keywords, options->keyword_count);
    gt_table *summary = gt_jax_summary(launchers), *by_category = gt_jax_summary_by_category(launchers);
    gt_table *unique = gt_jax_unique_args(kernels, launchers);
    gt_table *xla = gt_jax_xla_perf(kernels, launchers), *xla_summary = gt_jax_xla_summary(xla);
    if (!launchers->row_count && options->keyword_count)
        gt_warn("no kernel has one of the keywords in its metadata; the kernel sheets are empty");
    add_launchers(tables, launchers);
    gt_table_list_add(tables, summary);
    gt_table_list_add(tables, by_category);
    gt_table_list_add(tables, unique);
    add_launchers(tables, xla);
    gt_table_list_add(tables, xla_summary);
}

bool gt_jax_tables(const gt_jax *trace, const gt_jax_options *options, gt_table_list *tables, gt_error *error)
{
    if (!trace->count) return gt_fail(error, "nothing in this profile ran on a GPU");
    gt_jax_timeline timeline = gt_jax_timeline_make(trace, UINT32_MAX);
    gt_table_list_add(tables, timeline.by_gpu);
    gt_table_list_add(tables, timeline.averages);

    gt_jax_kernels kernels = gt_jax_kernels_find(trace);
    add_kernel_sheets(&kernels, options, tables);
    for (size_t class = 0; class < GT_JAX_CLASSES; class ++) {
        gt_table *sheet = gt_jax_op_sheet(&kernels, (gt_jax_class) class);
        for (size_t c = 0; sheet && options->params_as_text && c < sheet->column_count; c++)
            if (strncmp(sheet->columns[c].name, "param: ", strlen("param: ")) == 0)
                gt_table_show_strings(sheet, c);
        if (sheet) gt_table_list_add(tables, sheet);
    }
    gt_jax_kernels_free(&kernels);
    return true;
}

/* ---- terminal summary of the performance report ---- */

static void print_timeline(const gt_terminal *terminal, const gt_table *timeline)
{
    gt_terminal_heading(terminal, "GPU timeline, mean of the GPUs");
    gt_summary_bars(terminal, timeline, GT_COL_TYPE, GT_COL_TIME_MS, GT_COL_PERCENT);
}

/* Those of the column Category, which the sheet has in addition to findings. */
static void print_own_categories(const gt_terminal *terminal, const gt_table *kernels)
{
    static const gt_col key[] = {GT_COL_CATEGORY};
    static const gt_aggregate sums[] = {
        {GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS, GT_GROUP_SUM, GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS}};
    gt_table *categories =
        gt_table_group(kernels, key, GT_LENGTH(key), sums, GT_LENGTH(sums), (gt_group_options){0});
    gt_table_sort(categories, &(gt_sort_key){GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS, true}, 1);
    gt_table_add_percentages(categories, gt_table_find(categories, GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS));
    gt_terminal_heading(terminal, "Kernel time by category");
    gt_summary_bars(terminal, categories, GT_COL_CATEGORY, GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS,
                    GT_COL_PERCENTAGE_PCT);
    gt_table_free(categories);
}

static void print_classes(const gt_terminal *terminal, const gt_table *categories)
{
    gt_terminal_heading(terminal, "Kernel time by class");
    gt_summary_bars(terminal, categories, GT_COL_OP_CATEGORY, GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS,
                    GT_COL_PERCENTAGE_PCT);
}

static void print_kernels(const gt_terminal *terminal, const gt_table *summary)
{
    static const gt_terminal_column columns[] = {
        {GT_COL_PERCENTAGE_PCT, "share", 1, "%"},
        {GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS, "total ms", 3, NULL},
        {GT_COL_COUNT_TITLE, "count", 0, NULL},
        {GT_COL_NAME, "kernel", 0, NULL},
    };
    gt_terminal_heading(terminal, "Kernels by total time");
    gt_summary_rows(terminal, summary, columns, GT_LENGTH(columns), KERNELS_SHOWN);
}

/* Counts of gt_summary_facts. */
enum { FACT_GPUS, FACT_KERNELS, FACT_LAUNCHED };

gt_summary_facts gt_jax_find_facts(const gt_jax *trace)
{
    gt_summary_facts facts = {.counts = {[FACT_GPUS] = (int64_t)trace->gpu_count}};
    for (size_t i = 0; i < trace->count; i++) {
        bool is_kernel = trace->kind[i] == GT_JAX_KERNEL;
        facts.counts[FACT_KERNELS] += is_kernel;
        facts.counts[FACT_LAUNCHED] += is_kernel && trace->launch_us[i] == trace->launch_us[i]; /* not NaN */
    }
    return facts;
}

void gt_jax_print_summary(FILE *out, const gt_summary_facts *facts, const gt_table_list *tables, int width,
                          bool utf8)
{
    const gt_table *kernel_sheet = gt_table_list_find(tables, GT_SHEET_KERNEL_LAUNCHERS_SUMMARY);
    bool has_own = kernel_sheet && gt_table_find(kernel_sheet, GT_COL_CATEGORY) != SIZE_MAX;
    const gt_summary_part parts[] = {
        {GT_SHEET_GPU_EVENTS_AVERAGES, print_timeline},
        {has_own ? GT_SHEET_KERNEL_LAUNCHERS_SUMMARY : GT_SHEET_KERNEL_LAUNCHERS_SUMMARY_BY_CATEGORY,
         has_own ? print_own_categories : print_classes},
        {GT_SHEET_KERNEL_LAUNCHERS_SUMMARY, print_kernels},
    };
    uint64_t gpus = (uint64_t)facts->counts[FACT_GPUS], kernels = (uint64_t)facts->counts[FACT_KERNELS];
    gt_terminal terminal = gt_terminal_for(out);
    terminal.width = width > 0 ? (size_t)width : 0;
    terminal.utf8 = utf8;
    fprintf(out, "%" PRIu64 " %s, %" PRIu64 " %s, %" PRId64 " of them with their launch\n", gpus,
            gt_noun(gpus, "GPU", "GPUs"), kernels, gt_noun(kernels, "kernel", "kernels"),
            facts->counts[FACT_LAUNCHED]);
    gt_summary_parts(&terminal, tables, parts, GT_LENGTH(parts));
}

/* ---- analysis report ---- */

/* To two decimals as numpy rounds: 100 times the value, ties to even. */
static void round_floats(gt_table *table)
{
    for (size_t c = 0; c < table->column_count; c++) {
        if (table->columns[c].type != GT_TYPE_FLOAT) continue;
        double *cells = table->columns[c].floats;
        for (size_t row = 0; row < table->row_count; row++) cells[row] = gt_numpy_round2(cells[row]);
    }
}

bool gt_jax_analysis_tables(const gt_jax *trace, bool shares, gt_table_list *tables, gt_error *error)
{
    if (!trace->count) return gt_fail(error, "nothing in this profile ran on a GPU");
    gt_jax_breakdown breakdown = gt_jax_breakdown_make(trace, shares);
    gt_table_list_add(tables, breakdown.averages);
    gt_table_list_add(tables, breakdown.categorized);
    gt_table_list_add(tables, breakdown.xla_grouped);
    gt_table_list_add(tables, gt_jax_gemms(trace));
    gt_table_list_add(tables, gt_jax_gemms_detailed(trace));
    for (size_t i = 0; i < tables->count; i++) round_floats(tables->items[i]);
    return true;
}

/* ---- collectives ---- */

void gt_jax_collective_tables(gt_jax_collectives *collectives, gt_table_list *tables)
{
    gt_table_list_add(tables, gt_jax_collective_events(collectives));
    gt_table_list_add(tables, gt_jax_collective_groups(collectives));
    gt_table_list_add(tables, gt_jax_collective_bandwidths(collectives));
    gt_table_list_add(tables, gt_jax_collective_types(collectives));
}

void gt_jax_collective_print_summary(FILE *out, const gt_table_list *tables)
{
    static const char rule[] = "--------------------------------------------------";
    const gt_table *types = gt_table_list_find(tables, GT_SHEET_COLLECTIVE_TYPES);
    fprintf(out, "COMBINED BANDWIDTH ANALYSIS:\n%s\n%-15s %-4s %-8s %-8s\n%s\n", rule, "Type", "Ops",
            "Alg-Avg", "Bus-Avg", rule);
    for (size_t row = 0; row < types->row_count; row++)
        fprintf(out, "%-15s %-4" PRId64 " %-8.1f %-8.1f\n",
                gt_interner_get(types->strings, gt_table_column(types, GT_COL_TYPE)->texts[row]).bytes,
                gt_table_column(types, GT_COL_NUM_OPERATIONS)->ints[row],
                gt_table_column(types, GT_COL_AVG_BANDWIDTH_GBPS)->floats[row],
                gt_table_column(types, GT_COL_AVG_BUS_BANDWIDTH_GBPS)->floats[row]);
}
