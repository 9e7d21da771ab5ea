/* The three pftrace reports: their tables, the Markdown of the activity report, and the terminal
 * summary. */
#include "report/pftrace.h"
#include "json/string.h"
#include "report/summary.h"

#include "output/output.h"
#include "compat/number.h"
#include "schema/columns.h"

enum { ROWS_SHOWN = 10 };

gt_pftrace_activity_options gt_pftrace_activity_options_default(void)
{
    return (gt_pftrace_activity_options){
        .min_tid = -1000000000,
        .max_tid = 1000000000,
        .min_event_ns = 5000,
        .kernel_summary = true,
        .hip_summary = true,
        .top_xla = 30,
        .top_kernels = 200,
        .top_calls = 200,
    };
}

bool gt_pftrace_api_tables(const gt_chrome *trace, const gt_pftrace_api_options *options,
                           gt_table_list *tables, gt_error *error)
{
    gt_table *table = gt_pftrace_api_kernel_summary(trace, options, error);
    if (table) gt_table_list_add(tables, table);
    return table != NULL;
}

void gt_pftrace_copy_tables(const gt_chrome *trace, bool as_tracelens, gt_table_list *tables)
{
    gt_table *copies = gt_pftrace_memory_copies(trace, as_tracelens);
    gt_table_list_add(tables, copies);
    if (gt_pftrace_has_pytorch_copies(trace)) {
        static const char more[] =
            "`gputally pytorch` shows their times, bandwidths and ops in memory_copies";
        if (as_tracelens)
            gt_warn("the copies of a PyTorch trace are not counted; %s", more);
        else
            gt_info("copies of a PyTorch trace: %s", more);
    } else if (!copies->row_count && !as_tracelens) {
        gt_warn("the trace has no memory copies");
    }
}

/* ---- activity: its Markdown ---- */

static void add_agents(gt_buffer *out, const gt_pftrace_work *work, const gt_interner *strings)
{
    gt_buffer_add_cstr(out, "- Agents (GPUs): ");
    for (size_t i = 0; i < work->agents.count; i++) {
        gt_str name = gt_json_unquote(gt_interner_get(strings, work->agents.names[i]));
        if (i) gt_buffer_add_cstr(out, ", ");
        gt_buffer_add(out, name.bytes, name.len);
    }
    gt_buffer_add_cstr(out, "\n");
}

static void add_xla(gt_buffer *out, const gt_table *top)
{
    if (!top->row_count) {
        gt_buffer_add_cstr(out, "_(no data)_\n");
        return;
    }
    const gt_column *names = gt_table_column(top, GT_COL_KERNEL_TITLE),
                    *counts = gt_table_column(top, GT_COL_COUNT_TITLE);
    const gt_column *ms = gt_table_column(top, GT_COL_CATEGORY_TOTAL_TIME_MS),
                    *shares = gt_table_column(top, GT_COL_FRACTION_OF_XLA);
    gt_buffer_add_cstr(out, "| Kernel | Total Time (ms) | Count | Fraction of XLA |\n|---|---:|---:|---:|\n");
    for (size_t row = 0; row < top->row_count; row++) {
        char *line = gt_format("| `%s` | %.2f | %lld | %.2f%% |\n",
                               gt_interner_get(top->strings, names->texts[row]).bytes, ms->floats[row],
                               (long long)counts->ints[row], shares->floats[row] * 100.0);
        gt_buffer_add_cstr(out, line);
        gt_free(line);
    }
}

static void add_section(gt_buffer *out, const char *heading, const gt_table *table, int64_t top)
{
    if (!table || !table->row_count) return;
    gt_buffer_add_cstr(out, heading);
    gt_buffer_add_cstr(out, "\n");
    gt_markdown_add(out, table, gt_pandas_head(table->row_count, top));
    gt_buffer_add_cstr(out, "\n\n");
}

static void add_markdown(gt_buffer *out, const gt_pftrace_activity_options *options,
                         const gt_pftrace_work *work, const gt_table_list *tables, const gt_interner *strings)
{
    const gt_table *categories = gt_table_list_find(tables, GT_SHEET_CATEGORY_SUMMARY);
    gt_buffer_add_cstr(out, "# ROCm Perfetto Trace Report\n\n");
    add_agents(out, work, strings);
    gt_buffer_add_cstr(out, work->has_flash_attention_3 ? "- Used FA v3 kernels detected: **1**\n\n"
                                                        : "- Used FA v3 kernels detected: **0**\n\n");
    gt_buffer_add_cstr(out, "## Category Summary (per GPU)\n");
    if (categories->row_count)
        gt_markdown_add(out, categories, SIZE_MAX);
    else
        gt_buffer_add_cstr(out, "_(no data)_");
    gt_buffer_add_cstr(out, "\n\n## Top XLA Kernels (by time)\n");
    add_xla(out, gt_table_list_find(tables, GT_SHEET_XLA_TOP));
    gt_buffer_add_cstr(out, "\n");
    add_section(out, "### Kernel Summary Table", gt_table_list_find(tables, GT_SHEET_KERNEL_SUMMARY),
                options->top_kernels);
    add_section(out, "### HIP API Summary Table", gt_table_list_find(tables, GT_SHEET_HIP_SUMMARY),
                options->top_calls);
    out->len--; /* no newline after the last line */
}

/* ---- activity ---- */

static void add_kernels(const gt_chrome *trace, const gt_pftrace_activity_options *options,
                        const gt_pftrace_work *work, const gt_pftrace_totals *totals, gt_table_list *tables)
{
    gt_pftrace_kernel_options kernels = {
        .with_communication = options->include_rccl,
        .by_name = options->by_name,
        .merge_names = options->merge_kernels,
    };
    int64_t communication_ns = 0;
    for (size_t gpu = 0; gpu < work->agents.count; gpu++) {
        communication_ns += totals[gpu].ns[GT_PFTRACE_RCCL];
        kernels.baseline_ns +=
            totals[gpu].compute_ns + (options->of_compute ? 0 : totals[gpu].ns[GT_PFTRACE_RCCL]);
    }
    if (!options->include_rccl && !options->of_compute && communication_ns > 0 && kernels.baseline_ns > 0)
        gt_warn("kernel_summary does not list communication kernels, which took %.1f%% of the GPU time; "
                "--kernel_summary_include_rccl lists them",
                (double)communication_ns / (double)kernels.baseline_ns * 100);
    gt_table_list_add(tables, gt_pftrace_kernel_summary(trace, work, &kernels));
}

static void add_calls(const gt_chrome *trace, const gt_pftrace_activity_options *options,
                      gt_pftrace_limits limits, gt_table_list *tables)
{
    gt_pftrace_list calls = gt_pftrace_find_calls(trace, limits);
    gt_pftrace_keep_long(&calls, options->min_event_ns);
    gt_table_list_add(tables,
                      gt_pftrace_hip_summary(trace, &calls, options->by_stream, options->by_operation));
    gt_free(calls.items);
}

void gt_pftrace_activity_tables(const gt_chrome *trace, const gt_pftrace_activity_options *options,
                                gt_table_list *tables, gt_buffer *markdown)
{
    gt_pftrace_limits limits = {options->min_tid, options->max_tid};
    gt_pftrace_work work = gt_pftrace_find_work(trace, limits);
    gt_table *top = gt_pftrace_xla_top(&work, options->merge_kernels, trace->strings);
    gt_table_head(top, options->top_xla);
    if (!top->row_count) gt_table_select(top, NULL, 0);
    for (size_t gpu = 0; gpu < work.agents.count; gpu++) {
        gt_pftrace_keep_long(&work.compute[gpu], options->min_event_ns);
        gt_pftrace_keep_long(&work.communication[gpu], options->min_event_ns);
    }
    gt_pftrace_totals *totals = gt_pftrace_find_totals(&work);
    gt_table_list_add(tables, gt_pftrace_category_summary(totals, work.agents.count, trace->strings));
    gt_table_list_add(tables, top);
    if (options->kernel_summary) add_kernels(trace, options, &work, totals, tables);
    if (options->hip_summary) add_calls(trace, options, limits, tables);
    if (markdown) add_markdown(markdown, options, &work, tables, trace->strings);
    gt_free(totals);
    gt_pftrace_work_free(&work);
}

/* ---- terminal summary ---- */

static void print_calls(const gt_terminal *terminal, const gt_table *table)
{
    static const gt_terminal_column columns[] = {
        {GT_COL_COUNT_TITLE, "calls", 0, NULL},        {GT_COL_TAVG_NS, "T mean ns", 1, NULL},
        {GT_COL_AAVG_NS, "call ns", 1, NULL},          {GT_COL_QAVG_NS, "queue ns", 1, NULL},
        {GT_COL_KAVG_NS, "kernel ns", 1, NULL},        {GT_COL_API_NAME, "call", 0, NULL},
        {GT_COL_KERNEL_NAME_TITLE, "kernel", 0, NULL},
    };
    gt_terminal_heading(terminal, "API calls and their kernels");
    gt_summary_rows(terminal, table, columns, GT_LENGTH(columns), ROWS_SHOWN);
}

static void print_categories(const gt_terminal *terminal, const gt_table *table)
{
    static const gt_terminal_column columns[] = {
        {GT_COL_GPU_ID, "GPU", 0, NULL},
        {GT_COL_CATEGORY, "category", 0, NULL},
        {GT_COL_TOTAL_RUNTIME_MS, "ms", 3, NULL},
        {GT_COL_TOTAL_COUNT, "count", 1, NULL},
        {GT_COL_FRACTION_OF_TOTAL_RUNTIME, "of total", 3, NULL},
    };
    gt_table *shown = gt_table_copy(table);
    const gt_column *ms = gt_table_column(shown, GT_COL_TOTAL_RUNTIME_MS);
    uint8_t *keep = gt_alloc(shown->row_count);
    for (size_t row = 0; row < shown->row_count; row++) keep[row] = ms->floats[row] != 0;
    gt_table_keep(shown, keep);
    gt_terminal_heading(terminal, "GPU time by category");
    gt_terminal_rows(terminal, shown, columns, GT_LENGTH(columns), SIZE_MAX);
    gt_free(keep);
    gt_table_free(shown);
}

static void print_durations(const gt_terminal *terminal, const gt_table *table)
{
    static const gt_terminal_column columns[] = {
        {GT_COL_TIME_PCT, "time", 1, "%"},    {GT_COL_TOTAL_TIME, "total", 0, NULL},
        {GT_COL_INSTANCES, "count", 0, NULL}, {GT_COL_AVG, "mean", 0, NULL},
        {GT_COL_MAX_TITLE, "max", 0, NULL},   {GT_COL_NAME_TITLE, "name", 0, NULL},
    };
    gt_terminal_heading(terminal, gt_table_is(table, GT_SHEET_HIP_SUMMARY) ? "HIP API" : "Kernels");
    gt_summary_rows(terminal, table, columns, GT_LENGTH(columns), ROWS_SHOWN);
}

static void print_copies(const gt_terminal *terminal, const gt_table *table)
{
    static const gt_terminal_column columns[] = {{GT_COL_COPY_BYTES, "bytes", 0, NULL},
                                                 {GT_COL_DIRECTION, NULL, 0, NULL},
                                                 {GT_COL_COUNT, NULL, 0, NULL}};
    gt_terminal_heading(terminal, "Memory copies by size");
    gt_summary_rows(terminal, table, columns, GT_LENGTH(columns), ROWS_SHOWN);
}

void gt_pftrace_print_summary(FILE *out, const gt_chrome *trace, const gt_table_list *tables)
{
    static const gt_summary_part parts[] = {
        {GT_SHEET_API_KERNEL_SUMMARY, print_calls},         {GT_SHEET_CATEGORY_SUMMARY, print_categories},
        {GT_SHEET_KERNEL_SUMMARY, print_durations},         {GT_SHEET_HIP_SUMMARY, print_durations},
        {GT_SHEET_MEMORY_COPY_BY_COPY_BYTES, print_copies},
    };
    gt_terminal terminal = gt_terminal_for(out);
    size_t events = gt_store_records(trace->store);
    fprintf(out, "%zu %s\n", events, gt_noun(events, "event", "events"));
    gt_summary_parts(&terminal, tables, parts, GT_LENGTH(parts));
}
