/* The Genesis report: its sheets and its summary. */
#include "report/genesis.h"

#include "output/output.h"
#include "report/pftrace.h"
#include "report/rocprof.h"
#include "schema/columns.h"

enum { SHEET_NAME_MAX = 31, ROWS_SHOWN = 10, NAME_MAX_SHOWN = 52, NAME_CUT = 49 };

/* ---- sheets ---- */

static gt_table *take_table(gt_table_list *list, gt_sheet sheet)
{
    for (size_t i = 0; i < list->count; i++) {
        gt_table *found = list->items[i];
        if (!gt_table_is(found, sheet)) continue;
        list->items[i] = list->items[--list->count];
        return found;
    }
    return NULL;
}

static void add_if_filled(gt_table_list *tables, gt_table *table)
{
    if (table && table->row_count)
        gt_table_list_add(tables, table);
    else
        gt_table_free(table);
}

static bool find_steady_state(const gt_rocprof *run, const gt_genesis_options *options,
                              gt_steady_state *steady, gt_error *error)
{
    int64_t *starts = gt_store_ints(run->dispatches, GT_DISPATCH_START);
    int64_t *ends = gt_store_ints(run->dispatches, GT_DISPATCH_END);
    bool found = gt_steady_state_find(starts, ends, gt_store_count(run->dispatches), options->gap_ns,
                                      options->fallback_ns, steady, error);
    gt_free_all(starts, ends);
    return found;
}

static void add_run_sheets(gt_rocprof *run, const gt_genesis_options *options, const gt_steady_state *steady,
                           gt_table_list *made, gt_table_list *tables)
{
    static const gt_sheet others[] = {GT_SHEET_KERNEL_DETAILS, GT_SHEET_SHORT_KERNELS_SUMMARY,
                                      GT_SHEET_SHORT_KERNEL_HISTOGRAM};
    gt_table *timeline = take_table(made, GT_SHEET_GPU_TIMELINE),
             *summary = take_table(made, GT_SHEET_KERNEL_SUMMARY);
    gt_table_free(take_table(made, GT_SHEET_KERNEL_SUMMARY_BY_CATEGORY));
    if (options->steady_state) {
        gt_table_free(timeline);
        timeline = gt_steady_state_timeline(steady, run->strings);
    }
    gt_genesis_categorize(summary);
    gt_table *categories = gt_genesis_by_category(summary);
    add_if_filled(tables, timeline);
    add_if_filled(tables, summary);
    add_if_filled(tables, categories);
    for (size_t i = 0; i < GT_LENGTH(others); i++) add_if_filled(tables, take_table(made, others[i]));
}

/* Sheets of another report, with the section as prefix. */
static void add_section(gt_table_list *made, const char *section, gt_table_list *tables)
{
    for (size_t i = 0; i < made->count; i++) {
        char *name = gt_format("%s_%s", section, made->items[i]->name);
        if (strlen(name) > SHEET_NAME_MAX) name[SHEET_NAME_MAX] = 0;
        gt_table_rename(made->items[i], gt_sheet_named(name));
        gt_free(name);
        add_if_filled(tables, made->items[i]);
    }
    gt_free(made->items);
    *made = (gt_table_list){0};
}

static void add_pftrace_sheets(const gt_chrome *pftrace, bool only_numbers, gt_table_list *tables)
{
    gt_pftrace_activity_options activity = gt_pftrace_activity_options_default();
    gt_table_list made = {0};
    gt_pftrace_activity_tables(pftrace, &activity, &made, NULL);
    add_section(&made, "pftrace_hip_activity", tables);
    gt_pftrace_copy_tables(pftrace, only_numbers, &made);
    add_section(&made, "pftrace_memory_copy", tables);
}

bool gt_genesis_tables(gt_rocprof *run, const gt_chrome *pftrace, const gt_genesis_options *options,
                       gt_table_list *tables, gt_steady_state *steady, gt_error *error)
{
    gt_rocprof_options wanted = gt_rocprof_options_default();
    gt_table_list made = {0};
    wanted.kernel_details = options->kernel_details;
    wanted.short_kernel_study = options->short_kernel_study;
    *steady = (gt_steady_state){.method = "n/a"};
    if (options->steady_state && !find_steady_state(run, options, steady, error)) return false;
    if (!gt_rocprof_tables(run, &wanted, &made, error)) return false;
    add_run_sheets(run, options, steady, &made, tables);
    gt_table_list_free(&made);
    if (pftrace) add_pftrace_sheets(pftrace, options->named_agents_unknown, tables);
    return true;
}

/* ---- the summary ---- */

__attribute__((format(printf, 2, 3))) static void add_format(gt_buffer *out, const char *format, ...)
{
    va_list args;
    char *line = NULL;
    va_start(args, format);
    int len = vasprintf(&line, format, args);
    va_end(args);
    if (len > 0) gt_buffer_add(out, line, (size_t)len);
    gt_free(line);
}

/* 1234567 as 1,234,567. */
static void add_count(gt_buffer *out, size_t count)
{
    char digits[32];
    int len = snprintf(digits, sizeof digits, "%zu", count);
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0) gt_buffer_add_cstr(out, ",");
        gt_buffer_add(out, &digits[i], 1);
    }
}

static void add_timeline(gt_buffer *out, const gt_table *timeline, const gt_steady_state *steady)
{
    const gt_column *types = gt_table_column(timeline, GT_COL_TYPE),
                    *ms = gt_table_column(timeline, GT_COL_TIME_MS);
    const gt_column *percents = gt_table_column(timeline, GT_COL_PERCENT);
    double window_ms = ((double)steady->end_ns - (double)steady->begin_ns) / 1e6;
    gt_buffer_add_cstr(out, "## GPU Timeline (timed benchmark window)\n\n");
    add_format(out, "Steady-state window: `%s` \xE2\x80\x94 ", steady->method);
    add_count(out, steady->dispatches);
    add_format(out, " dispatches, **%.1f%%** GPU busy over %.1f ms\n\n", steady->busy_percent, window_ms);
    gt_buffer_add_cstr(out, "> Full rocprof session idle (JIT/build) is excluded from this report.\n\n");
    for (size_t row = 0; row < timeline->row_count; row++)
        add_format(out, "- **%s**: %.2f ms (%.1f%%)\n",
                   gt_interner_get(timeline->strings, types->texts[row]).bytes, ms->floats[row],
                   percents->floats[row]);
    gt_buffer_add_cstr(out, "\n");
}

/* The name, cut if it has too many characters. */
static void add_name(gt_buffer *out, gt_str name)
{
    const char *at = name.bytes, *end = at + name.len, *cut = end;
    size_t count = 0;
    for (; at < end; count++) {
        if (count == NAME_CUT) cut = at;
        gt_utf8_next(&at, end);
    }
    bool is_long = count > NAME_MAX_SHOWN;
    gt_buffer_add(out, name.bytes, is_long ? (size_t)(cut - name.bytes) : name.len);
    if (is_long) gt_buffer_add_cstr(out, "...");
}

static void add_kernels(gt_buffer *out, const gt_table *summary)
{
    const gt_column *names = gt_table_column(summary, GT_COL_NAME),
                    *counts = gt_table_column(summary, GT_COL_COUNT_TITLE);
    const gt_column *ms = gt_table_column(summary, GT_COL_TOTAL_KERNEL_TIME_MS);
    const gt_column *percents = gt_table_column(summary, GT_COL_PERCENTAGE_PCT);
    const gt_column *categories = gt_table_column(summary, GT_COL_CATEGORY);
    gt_buffer_add_cstr(out, "## Top 10 Kernels\n\n| Kernel | Count | Total (ms) | % | Category |\n"
                            "|--------|-------|------------|---|----------|\n");
    for (size_t row = 0; row < summary->row_count && row < ROWS_SHOWN; row++) {
        gt_buffer_add_cstr(out, "| `");
        add_name(out, gt_interner_get(summary->strings, names->texts[row]));
        add_format(out, "` | %lld | %.1f | %.2f | %s |\n", (long long)counts->ints[row], ms->floats[row],
                   percents->type == GT_TYPE_FLOAT ? percents->floats[row] : 0.0,
                   gt_interner_get(summary->strings, categories->texts[row]).bytes);
    }
    gt_buffer_add_cstr(out, "\n");
}

static void add_table(gt_buffer *out, const char *heading, const gt_table *table, size_t rows_max)
{
    if (!table) return;
    gt_buffer_add_cstr(out, heading);
    gt_markdown_add(out, table, rows_max);
    gt_buffer_add_cstr(out, "\n\n");
}

void gt_genesis_summary(gt_buffer *out, const gt_genesis_capture *capture, const gt_table_list *tables,
                        const gt_steady_state *steady)
{
    const gt_table *timeline = gt_table_list_find(tables, GT_SHEET_GPU_TIMELINE);
    const gt_table *summary = gt_table_list_find(tables, GT_SHEET_KERNEL_SUMMARY);
    gt_buffer_add_cstr(
        out, "# TraceLens Genesis Performance Report\n\n"
             "Extension report for physics-simulation workloads (Genesis/Taichi-style kernels).\n\n");
    if (capture->has_manifest)
        add_format(out, "**Capture:** %s \xE2\x80\x94 n_envs=%s, steps=%s, fp%s\n", capture->title,
                   capture->environments, capture->steps, capture->precision);
    gt_buffer_add_cstr(out, "\n");
    if (timeline) add_timeline(out, timeline, steady);
    add_table(out, "## Kernel Categories\n\n",
              gt_table_list_find(tables, GT_SHEET_KERNEL_SUMMARY_BY_CATEGORY), SIZE_MAX);
    if (summary) add_kernels(out, summary);
    add_table(out, "## Top HIP API (pftrace)\n\n", gt_table_list_find(tables, GT_SHEET_GENESIS_HIP_SUMMARY),
              ROWS_SHOWN);
    out->len--; /* no newline after the last line */
}
