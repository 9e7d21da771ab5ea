/* The rocprofv3 report, in the order of its sheets, and its terminal summary. */
#include "report/rocprof.h"

#include "analysis/rocprof/sheets.h"
#include "analysis/sheet_parts.h"
#include "findings/findings.h"
#include "schema/columns.h"
#include "table/side_by_side.h"
#include "table/stats.h"
#include "compat/number.h"

/* The kernel table on the terminal: its rows, and the minimum width for all columns. */
enum { KERNELS_SHOWN = 10, WIDE_ENOUGH = 84 };
#define NOT_SHOWN gt_col_named("") /* a column that no table has */

gt_rocprof_options gt_rocprof_options_default(void)
{
    return (gt_rocprof_options){.kernel_summary = true, .short_threshold_us = 10, .short_bins = 100};
}

unsigned gt_rocprof_options_wanted(const gt_rocprof_options *options)
{
    if (!options->extra_sheets) return 0;
    return GT_WANT_COPY_DETAILS | GT_WANT_CALLS | GT_WANT_COUNTERS | GT_WANT_AGENTS |
           GT_WANT_DISPATCH_PROCESSES | GT_WANT_SAMPLES;
}

/* ---- sheets ---- */

static void warn_about_input(const gt_rocprof *run, const gt_table *kernels, bool from_stats)
{
    bool is_nsys = run->recorder == GT_RECORDER_NSYS; /* whose reader says what is missing */
    if (run->processes > 1 && run->process_count <= 1)
        gt_warn("%zu processes in the trace; the report covers the first one (PID %" PRId64 ")",
                run->processes, run->pid);
    if (from_stats)
        gt_warn("kernel statistics without a kernel trace: no timeline, no dispatches, no medians");
    else if (!kernels->row_count && !is_nsys)
        gt_warn("No kernel events found in rocprof data");
}

void gt_rocprof_warn_of_short_names(const gt_rocprof *run, const char *option)
{
    if (run->full_to_short.count > 1 && run->short_names.count == 1)
        gt_warn("%zu kernels have the same short name and share a row; %s keeps them apart",
                run->full_to_short.count, option);
    else if (run->full_to_short.count > run->short_names.count)
        gt_warn("%zu kernels have only %zu different short names, and those with the same one share a row; "
                "%s keeps them apart",
                run->full_to_short.count, run->short_names.count, option);
}

static size_t details_kept(const gt_rocprof_options *options, size_t count)
{
    return options->limit_details ? gt_pandas_head(count, options->topk_kernels) : count;
}

static void hint_at_communication(const gt_table *by_name)
{
    gt_comm_kernels *others = gt_comm_kernels_new(GT_COMM_OTHERS);
    gt_comm_uses uses = gt_kernels_communication(by_name, others, false);
    if (uses.count) {
        char *text = gt_comm_uses_text(&uses);
        gt_warn("kernels that look like communication are in other categories than COMM: %s; --comm_kernels "
                "all, the default of gputally report, moves them there",
                text);
        gt_free(text);
    }
    gt_comm_uses_free(&uses);
    gt_comm_kernels_free(others);
}

/* `stats`: the kernels by name if the run has no dispatches; otherwise NULL. */
static void add_summaries(const gt_rocprof *run, const gt_rocprof_options *options, const gt_table *kernels,
                          const gt_table *stats, gt_table_list *tables)
{
    gt_table *by_name = stats ? gt_table_copy(stats) : gt_kernels_by_name(kernels);
    if (options->own_categories)
        gt_kernels_add_own_categories(by_name, run->communication);
    else
        gt_kernels_add_categories(by_name, options->full_names);
    if (run->communication && !options->own_categories)
        gt_kernels_mark_communication(by_name, run->communication);
    if (options->hint_communication) hint_at_communication(by_name);
    gt_table_list_add(tables, gt_kernel_summary(by_name, run->recorder != GT_RECORDER_NSYS));
    gt_table_list_add(tables, gt_kernel_summary_by_category(by_name));
    gt_table_free(by_name);
}

static bool add_short_kernels(const gt_table *kernels, const gt_rocprof_options *options,
                              gt_table_list *tables, gt_error *error)
{
    size_t count;
    double *times = gt_short_kernel_times(kernels, options->short_threshold_us, &count);
    gt_table *histogram =
        gt_short_kernel_histogram(kernels->strings, times, count, options->short_bins, error);
    gt_free(times);
    if (!histogram) return false;
    int64_t all_ns = 0;
    gt_sum_ints(kernels->columns[GT_KERNEL_DUR_NS].ints, kernels->row_count, &all_ns);
    gt_table_list_add(tables, gt_short_kernels_summary(kernels, options->short_threshold_us, all_ns));
    gt_table_list_add(tables, histogram);
    if (kernels->row_count && !count)
        gt_info("No kernels found with duration < %" PRId64 " µs", options->short_threshold_us);
    return true;
}

static void add_if_there(gt_table_list *tables, gt_table *sheet)
{
    if (sheet) gt_table_list_add(tables, sheet);
}

static bool add_process_summary(gt_rocprof *run, gt_table_list *tables, gt_error *error)
{
    if (run->process_count < 2) return true; /* one row would say nothing */
    int64_t *durations = gt_rocprof_dispatch_durations(run, error);
    if (durations) add_if_there(tables, gt_rocprof_process_summary(run, durations));
    gt_free(durations);
    return durations != NULL;
}

static bool add_extra_sheets(gt_rocprof *run, const gt_rocprof_options *options, gt_table_list *tables,
                             gt_error *error)
{
    bool failed = false;
    for (int domain = 0; domain < GT_CALL_DOMAINS && !failed; domain++)
        add_if_there(tables, gt_rocprof_call_summary(run, (gt_call_domain)domain, options->merge_ranges,
                                                     &failed, error));
    if (!failed) add_if_there(tables, gt_rocprof_copy_summary(run, &failed, error));
    if (!failed) add_if_there(tables, gt_rocprof_graph_summary(run, &failed, error));
    if (!failed) add_if_there(tables, gt_rocprof_nccl_messages(run, &failed, error));
    if (failed) return false;
    add_if_there(tables, gt_rocprof_counters_by_kernel(run));
    add_if_there(tables, gt_rocprof_hotspots(run));
    add_if_there(tables, gt_rocprof_agent_info(run));
    return add_process_summary(run, tables, error);
}

/* ---- timelines ---- */

void gt_rocprof_add_timelines(const gt_rocprof *run, bool gpu_window, bool by_device, gt_table_list *tables)
{
    gt_table_list_add(tables, gt_rocprof_gpu_timeline(run, gpu_window));
    if (by_device) add_if_there(tables, gt_rocprof_gpu_timeline_by_device(run, gpu_window));
}

/* The length of the capture as a fact of the overview, if it is known: otherwise it is that of the window. */
static void add_capture(const gt_rocprof *run, const gt_table_list *tables)
{
    const gt_table *timeline = gt_table_list_find(tables, GT_SHEET_GPU_TIMELINE);
    double capture_ms = (double)((__int128)run->fini_ns - run->init_ns) / 1e6, window_ms, percent;
    if (!timeline || !gt_summary_timeline_cell(timeline, "total_time", &window_ms, &percent)) return;
    for (size_t i = 0; i < tables->count; i++)
        if (strcmp(tables->items[i]->name, GT_SHEET_OVERVIEW.name) == 0 && capture_ms > window_ms)
            gt_overview_add_number(tables->items[i], "capture_ms", capture_ms, "ms");
}

/* ---- the parts of a report, made at the same time ---- */

typedef enum report_part {
    PART_SHORT_KERNELS,
    PART_EXTRA_SHEETS, /* with the strings of the run: it may name kernels */
    PART_TIMELINE,
    PART_SUMMARIES,
    PART_DETAILS, /* adds no strings, and must not change the kernel times while others use them */
    PARTS
} report_part;

typedef struct report_parts {
    gt_rocprof *run;
    const gt_rocprof_options *options;
    gt_table *kernels;
    const gt_table *stats;
    gt_side_parts made;
    gt_details *details;
} report_parts;

static bool make_part(void *context, size_t index)
{
    report_parts *parts = context;
    const gt_rocprof_options *options = parts->options;
    gt_table_list *sheets = &parts->made.sheets[index];
    gt_table kernels = *parts->kernels;
    gt_rocprof run = *parts->run;
    kernels.strings = run.strings = parts->made.own[index];
    switch ((report_part)index) {
    case PART_SHORT_KERNELS:
        return !options->short_kernel_study ||
               add_short_kernels(&kernels, options, sheets, &parts->made.errors[index]);
    case PART_EXTRA_SHEETS:
        return !options->extra_sheets ||
               add_extra_sheets(parts->run, options, sheets, &parts->made.errors[index]);
    case PART_TIMELINE:
        gt_rocprof_add_timelines(&run, options->gpu_window, options->extra_sheets, sheets);
        gt_rocprof_warn_of_clocks(&run);
        return true;
    case PART_SUMMARIES:
        if (options->kernel_summary) add_summaries(&run, options, &kernels, parts->stats, sheets);
        return true;
    default:
        if (options->kernel_details)
            parts->details = gt_rocprof_find_details(&run, &kernels, options->late_details);
        return true;
    }
}

/* The kernel times become the sheet; they belong to `tables` then. */
static void add_details(report_parts *parts, gt_table_list *tables)
{
    const gt_rocprof_options *options = parts->options;
    size_t kept = details_kept(options, parts->kernels->row_count);
    gt_rocprof_kernel_details(parts->details, parts->run, parts->kernels, kept, options->last_use);
    gt_table_list_add(tables, parts->kernels);
    parts->kernels = NULL;
    parts->details = NULL;
}

bool gt_rocprof_tables(gt_rocprof *run, const gt_rocprof_options *options, gt_table_list *tables,
                       gt_error *error)
{
    gt_table *kernels = gt_rocprof_kernel_times(run, error);
    if (!kernels) return false;
    gt_table *stats = kernels->row_count ? NULL : gt_rocprof_stats_by_name(run, GT_STATS_KERNELS);
    warn_about_input(run, kernels, stats != NULL);

    report_parts parts = {.run = run, .options = options, .kernels = kernels, .stats = stats};
    parts.made = (gt_side_parts){
        .strings = run->strings, .count = PARTS, .shares = 1u << PART_EXTRA_SHEETS | 1u << PART_DETAILS};
    gt_side_parts_begin(&parts.made);
    bool made = gt_side_parts_make(&parts.made, make_part, &parts, error);
    if (made) {
        gt_side_parts_take(&parts.made, PART_TIMELINE, tables);
        gt_side_parts_take(&parts.made, PART_SUMMARIES, tables);
        if (options->kernel_details) add_details(&parts, tables);
        gt_side_parts_take(&parts.made, PART_SHORT_KERNELS, tables);
        gt_side_parts_take(&parts.made, PART_EXTRA_SHEETS, tables);
    }
    gt_side_parts_end(&parts.made);
    if (made && options->gpu_window) add_capture(run, tables);
    gt_details_free(parts.details);
    gt_table_free(stats);
    gt_table_free(parts.kernels);
    return made;
}

/* ---- terminal summary ---- */

/* The rows of one device in gpu_timeline_by_device are those of gpu_timeline. */
static void print_timeline(const gt_terminal *terminal, const gt_table_list *tables)
{
    const gt_table *timeline = gt_table_list_find(tables, GT_SHEET_GPU_TIMELINE);
    const gt_table *by_device = gt_table_list_find(tables, GT_SHEET_GPU_TIMELINE_BY_DEVICE);
    if (!timeline || !timeline->row_count) return;
    fputc('\n', terminal->file);
    if (by_device)
        gt_summary_timeline_of_devices(terminal, timeline, by_device->row_count / timeline->row_count);
    else
        gt_summary_timeline(terminal, timeline);
}

static void print_categories(const gt_terminal *terminal, const gt_table *categories)
{
    gt_terminal_heading(terminal, "Kernel time by category");
    gt_summary_bars(terminal, categories, GT_COL_OP_CATEGORY, GT_COL_TOTAL_DIRECT_KERNEL_TIME_MS,
                    GT_COL_PERCENTAGE_PCT);
}

/* A narrow terminal shows fewer numbers to leave room for the names. */
static void print_kernels(const gt_terminal *terminal, const gt_table *summary)
{
    bool wide = terminal->width >= WIDE_ENOUGH;
    const gt_terminal_column columns[] = {
        {GT_COL_PERCENTAGE_PCT, "share", 1, "%"},
        {GT_COL_TOTAL_KERNEL_TIME_MS, "total ms", 3, NULL},
        {GT_COL_COUNT_TITLE, "count", 0, NULL},
        {GT_COL_MEAN_KERNEL_TIME_US, terminal->utf8 ? "mean µs" : "mean us", 1, NULL},
        {wide ? GT_COL_MAX_KERNEL_TIME_US : NOT_SHOWN, terminal->utf8 ? "max µs" : "max us", 1, NULL},
        {wide ? GT_COL_CATEGORY : NOT_SHOWN, "category", 0, NULL},
        {GT_COL_NAME, "kernel", 0, NULL},
    };
    gt_terminal_heading(terminal, "Kernels by total time");
    gt_summary_rows(terminal, summary, columns, GT_LENGTH(columns), KERNELS_SHOWN);
}

static void print_short_kernels(const gt_terminal *terminal, const gt_table *summary)
{
    const gt_column *counts = gt_table_column_of(summary, GT_COL_SHORT_KERNEL_COUNT, GT_TYPE_INT);
    const gt_column *percents =
        gt_table_column(summary, GT_COL_SHORT_KERNEL_DURATION_US_PERCENT_OF_TOTAL_TIME);
    int64_t count = 0;
    double percent = 0;
    for (size_t row = 0; row < summary->row_count; row++) {
        count += counts->ints[row];
        percent += percents->type == GT_TYPE_FLOAT ? percents->floats[row] : 0.0;
    }
    fprintf(terminal->file, "short kernels: %" PRId64 " %s of %zu %s, %.1f%% of the kernel time\n", count,
            gt_noun((uint64_t)count, "dispatch", "dispatches"), summary->row_count,
            gt_noun(summary->row_count, "name", "names"), percent);
}

/* One line with the kernels that communicate. */
static void print_communication(FILE *out, const gt_comm_kernels *communication, const gt_table *summary)
{
    const uint32_t *names = gt_table_column_of(summary, GT_COL_NAME, GT_TYPE_STRING)->texts;
    const uint32_t *categories = gt_table_column_of(summary, GT_COL_CATEGORY, GT_TYPE_STRING)->texts;
    const int64_t *counts = gt_table_column_of(summary, GT_COL_COUNT_TITLE, GT_TYPE_INT)->ints;
    const double *totals_ms = gt_table_column_of(summary, GT_COL_TOTAL_KERNEL_TIME_MS, GT_TYPE_FLOAT)->floats;
    gt_comm_uses uses = {0};
    for (size_t row = 0; row < summary->row_count; row++) {
        gt_str category = gt_interner_get(summary->strings, categories[row]);
        if (!gt_str_equals(category, "COMM") && !gt_str_equals(category, "communication")) continue;
        gt_str name = gt_interner_get(summary->strings, names[row]);
        const char *family = gt_comm_family(communication, name);
        if (!family) family = gt_comm_family(NULL, name);
        if (family) gt_comm_uses_add(&uses, family, (size_t)counts[row], totals_ms[row]);
    }
    if (uses.count) {
        char *text = gt_comm_uses_text(&uses);
        fprintf(out, "communication: %s\n", text);
        gt_free(text);
    }
    gt_comm_uses_free(&uses);
}

/* One line that lists the extra sheets without data. */
static void print_missing(FILE *out, const gt_table_list *tables)
{
    static const gt_sheet of_rocprof[] = {GT_SHEET_HIP_API_SUMMARY, GT_SHEET_HSA_API_SUMMARY,
                                          GT_SHEET_MEMORY_COPY_SUMMARY, GT_SHEET_COUNTERS_BY_KERNEL,
                                          GT_SHEET_AGENT_INFO};
    static const gt_sheet of_nsys[] = {GT_SHEET_CUDA_API_SUMMARY, GT_SHEET_NVTX_SUMMARY,
                                       GT_SHEET_MEMORY_COPY_SUMMARY, GT_SHEET_AGENT_INFO};
    bool is_nsys = gt_table_list_find(tables, GT_SHEET_CUDA_API_SUMMARY) != NULL;
    const gt_sheet *extra = is_nsys ? of_nsys : of_rocprof;
    size_t count = is_nsys ? GT_LENGTH(of_nsys) : GT_LENGTH(of_rocprof);
    const char *before = "no data for: ";
    for (size_t i = 0; i < count; i++) {
        const gt_table *sheet = gt_table_list_find(tables, extra[i]);
        if (sheet && (sheet->row_count || !is_nsys)) continue;
        fprintf(out, "%s%s", before, extra[i].name);
        before = ", ";
    }
    if (before[0] == ',') fputc('\n', out);
}

/* Counts of gt_summary_facts. */
enum { FACT_DISPATCHES, FACT_COPIES, FACT_API_CALLS, FACT_PROCESSES, FACT_PID, FACT_HAS_CALLS };

/* `records`, or, if there are none, what the profiler's statistics count of two kinds. */
static int64_t count_of(const gt_rocprof *run, uint64_t records, int64_t kind, int64_t second_kind)
{
    int64_t sum = (int64_t)records;
    if (records || !run->stats) return sum;
    int64_t *kinds = gt_store_ints(run->stats, GT_STATS_OF);
    int64_t *counts = gt_store_ints(run->stats, GT_STATS_COUNT);
    for (size_t i = 0; i < gt_store_count(run->stats); i++)
        if ((kinds[i] == kind || kinds[i] == second_kind) && __builtin_add_overflow(sum, counts[i], &sum))
            sum = INT64_MAX;
    gt_free_all(kinds, counts);
    return sum;
}

gt_summary_facts gt_rocprof_find_facts(const gt_rocprof *run)
{
    uint64_t dispatches = gt_store_count(run->dispatches), copies = gt_store_count(run->copies);
    int64_t calls = count_of(run, run->api_calls, GT_CALL_HIP, GT_CALL_HSA);
    return (gt_summary_facts){
        .counts = {[FACT_DISPATCHES] = count_of(run, dispatches, GT_STATS_KERNELS, GT_STATS_KERNELS),
                   [FACT_COPIES] = count_of(run, copies, GT_STATS_COPIES, GT_STATS_COPIES),
                   [FACT_API_CALLS] = calls,
                   [FACT_PROCESSES] = (int64_t)run->process_count,
                   [FACT_PID] = run->pid,
                   [FACT_HAS_CALLS] = (run->wanted & GT_WANT_CALLS) != 0}};
}

void gt_rocprof_print_counts(FILE *out, const gt_summary_facts *facts)
{
    uint64_t dispatches = (uint64_t)facts->counts[FACT_DISPATCHES];
    uint64_t copies = (uint64_t)facts->counts[FACT_COPIES], calls = (uint64_t)facts->counts[FACT_API_CALLS];
    fprintf(out, "%" PRIu64 " kernel %s, %" PRIu64 " memory %s, %" PRIu64 " API %s; ", dispatches,
            gt_noun(dispatches, "dispatch", "dispatches"), copies, gt_noun(copies, "copy", "copies"), calls,
            gt_noun(calls, "call", "calls"));
    if (facts->counts[FACT_PROCESSES] > 1)
        fprintf(out, "%" PRId64 " processes\n", facts->counts[FACT_PROCESSES]);
    else
        fprintf(out, "PID %" PRId64 "\n", facts->counts[FACT_PID]);
}

void gt_rocprof_print_summary(FILE *out, const gt_summary_facts *facts, const gt_comm_kernels *communication,
                              const gt_table_list *tables, int width, bool utf8)
{
    static const gt_summary_part parts[] = {
        {GT_SHEET_GPU_TIMELINE_BY_DEVICE, gt_summary_devices},
        {GT_SHEET_KERNEL_SUMMARY_BY_CATEGORY, print_categories},
        {GT_SHEET_KERNEL_SUMMARY, print_kernels},
        {GT_SHEET_SHORT_KERNELS_SUMMARY, print_short_kernels},
    };
    gt_terminal terminal = gt_terminal_for(out);
    terminal.width = width > 0 ? (size_t)width : 0;
    terminal.utf8 = utf8;

    gt_rocprof_print_counts(out, facts);
    const gt_table *summary = gt_table_list_find(tables, GT_SHEET_KERNEL_SUMMARY);
    if (summary && summary->row_count) print_communication(out, communication, summary);
    print_timeline(&terminal, tables);
    gt_summary_parts(&terminal, tables, parts, GT_LENGTH(parts));
    if (facts->counts[FACT_HAS_CALLS]) print_missing(out, tables);
}
