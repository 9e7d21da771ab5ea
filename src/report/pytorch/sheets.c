/* The sheets of a PyTorch report, in parts that are made at the same time if there are enough threads. */
#include "report/pytorch/parts.h"

#include "analysis/collective/sheets.h"
#include "analysis/diff/diff.h"
#include "table/side_by_side.h"

/* ---- sheets of phases ---- */

static const struct {
    gt_phase phase;
    const char *name, *reference_name;
    gt_sheet op_sheet, kernel_sheet;
} phases_shown[] = {
    {GT_PHASE_PREFILL, "prefill", "Prefill", GT_SHEET_OPS_SUMMARY_PREFILL, GT_SHEET_KERNEL_SUMMARY_PREFILL},
    {GT_PHASE_DECODE, "decode", "Decode", GT_SHEET_OPS_SUMMARY_DECODE, GT_SHEET_KERNEL_SUMMARY_DECODE},
};
enum { PHASES_SHOWN = GT_LENGTH(phases_shown) };

static void say_making(const gt_pytorch_options *options, const char *sheets)
{
    if (options->reference_messages) gt_info("Generating inference phase %s...", sheets);
}

static void say_no_ops(const gt_pytorch_options *options, size_t phase)
{
    if (options->reference_messages)
        gt_info("⚠ No %s phase operations found in launchers", phases_shown[phase].reference_name);
    else
        gt_info("no op belongs to %s, so there is no sheet %s", phases_shown[phase].name,
                phases_shown[phase].op_sheet.name);
}

/* for a trace without ops */
static void say_no_phase_ops(const gt_pytorch_options *options)
{
    say_making(options, "kernel launcher summaries");
    if (options->reference_messages)
        for (size_t i = 0; i < PHASES_SHOWN; i++) say_no_ops(options, i);
    else
        gt_info("the trace has no ops, so there are no sheets ops_summary_prefill and ops_summary_decode");
}

/* ops_summary_prefill and ops_summary_decode. */
static void add_phase_op_sheets(const gt_linked_view *trace, const gt_launchers *launchers,
                                const gt_phases *phases, const gt_pytorch_options *options,
                                gt_table_list *tables)
{
    say_making(options, "kernel launcher summaries");
    for (size_t i = 0; i < PHASES_SHOWN; i++) {
        gt_table *sheet =
            gt_phase_ops_summary(trace, launchers, phases, phases_shown[i].phase, phases_shown[i].op_sheet);
        if (!sheet->row_count) {
            say_no_ops(options, i);
            gt_table_free(sheet);
            continue;
        }
        if (options->reference_messages)
            gt_info("✓ Generated %s launcher summary with %zu operations", phases_shown[i].reference_name,
                    sheet->row_count);
        gt_table_list_add(tables, sheet);
    }
}

static void say_no_kernels(const gt_pytorch_options *options, size_t phase)
{
    if (options->reference_messages)
        gt_info("⚠ No %s phase kernels found", phases_shown[phase].reference_name);
    else
        gt_info("no kernel belongs to %s, so there is no sheet %s", phases_shown[phase].name,
                phases_shown[phase].kernel_sheet.name);
}

/* kernel_summary_prefill and kernel_summary_decode. */
static void add_phase_kernel_sheets(const gt_pytorch_kernels *kernels, const gt_launchers *launchers,
                                    gt_phases *phases, const gt_pytorch_options *options,
                                    gt_table_list *tables)
{
    say_making(options, "kernel summaries");
    uint8_t *kernel_phases = gt_phases_of_kernels(phases);
    for (size_t i = 0; i < PHASES_SHOWN; i++) {
        gt_table *sheet = gt_phase_kernel_summary(kernels, launchers, kernel_phases, phases_shown[i].phase,
                                                  phases_shown[i].kernel_sheet);
        if (!sheet->row_count) {
            say_no_kernels(options, i);
            gt_table_free(sheet);
            continue;
        }
        if (options->reference_messages)
            gt_info("✓ Generated %s kernel summary with %zu groups", phases_shown[i].reference_name,
                    sheet->row_count);
        gt_table_list_add(tables, sheet);
    }
    gt_free(kernel_phases);
}

/* if the trace looks like it */
static void warn_about_training(const gt_linked_view *trace)
{
    uint32_t sign = gt_phases_sign_of_training(trace);
    if (sign == GT_STR_NONE) return;
    gt_str name = gt_interner_get(trace->strings, sign);
    gt_warn("the trace looks like training, because it has %.*s; prefill and decode exist only in "
            "inference, so the phases mean nothing",
            (int)(name.len < 100 ? name.len : 100), name.bytes);
}

void gt_add_if_any(gt_table_list *tables, gt_table *table)
{
    if (table->row_count)
        gt_table_list_add(tables, table);
    else
        gt_table_free(table);
}

/* Whether parts are made in turn. Together they need strings of their own, and the code of several parts is
 * in memory. Few threads repay that only if the trace is large, and both are little compared with it. What an
 * extension, phases and overlaps cache is not for several parts at once. */
static bool goes_in_turn(const gt_sheet_inputs *in)
{
    enum { LARGE_TRACE = 1 << 18 }; /* events */
    unsigned threads = gt_team_threads();
    if (threads == 1 || (threads < GT_MANY_THREADS && in->trace->count < LARGE_TRACE)) return true;
    return gt_memory_limit_set() || in->extension || in->phases || in->overlaps;
}

static bool add_kernel_sheets(const gt_sheet_inputs *in, const gt_linked_view *trace, gt_table_list *tables,
                              gt_error *error)
{
    const gt_pytorch_options *options = in->options;
    gt_pytorch_kernels kernels = gt_pytorch_kernels_find(trace, in->extension);
    bool made = true;
    bool summary = options->kernel_summary || (trace->gpu_only && options->gpu_only_kernel_summary);
    if (summary) gt_add_if_any(tables, gt_pytorch_kernel_summary(&kernels, &in->launchers, in->total_ms));
    if (summary && in->phases) add_phase_kernel_sheets(&kernels, &in->launchers, in->phases, options, tables);
    if (options->extra_sheets) gt_add_if_any(tables, gt_pytorch_memory_copies(trace, &in->devices));
    if (options->short_kernel_study) {
        const gt_pytorch_short_options study = {.threshold_us = options->short_threshold_us,
                                                .bins = options->short_bins,
                                                .limited = options->topk_short_kernels.given,
                                                .topk = options->topk_short_kernels.rows};
        gt_table *histogram = gt_pytorch_short_kernel_histogram(&kernels, &study, error);
        made = histogram != NULL;
        if (made) {
            gt_table_list_add(tables, histogram);
            gt_table_list_add(tables, gt_pytorch_short_kernels_summary(&kernels, &study, in->total_ms));
        }
    }
    gt_pytorch_kernels_free(&kernels);
    return made;
}

static void add_op_sheets(const gt_sheet_inputs *in, const gt_linked_view *trace, gt_table_list *tables)
{
    const gt_pytorch_options *options = in->options;
    gt_unique_args_options unique = {.by_num_kernels = options->group_by_num_kernels,
                                     .first_occurrence = options->first_occurrence,
                                     .topk = options->topk_ops.given ? options->topk_ops.rows : GT_ALL_OPS};
    gt_ops *ops = gt_ops_new(trace, &in->launchers,
                             (gt_ops_options){.extension = in->extension,
                                              .by_module = options->by_module,
                                              .subtree_count = options->inference});
    gt_add_if_any(tables, gt_ops_summary_by_category(ops));
    gt_add_if_any(tables, gt_ops_summary(ops));
    gt_add_if_any(tables, gt_ops_unique_args(ops, unique));
    unique.overlaps = in->overlaps;
    if (in->overlaps) gt_add_if_any(tables, gt_ops_unique_args(ops, unique));
    gt_ops_free(ops);
}

/* Compares the trace with a second one: adds columns to the unified sheet, and the sheet diff_stats. */
static bool add_comparison(const gt_linked_view *trace, gt_unified *unified, gt_table *summary,
                           const gt_pytorch_options *options, gt_table_list *tables, gt_error *error)
{
    const char *debug = getenv("TRACELENS_DEBUG");
    gt_diff_tree *tree = gt_diff_tree_new(trace, gt_pytorch_view(options->comparison), error);
    if (!tree) return false;
    gt_diff_stats stats =
        gt_diff_stats_make(tree, (gt_diff_stats_options){.explain = debug && strcmp(debug, "1") == 0,
                                                         .repeat_grafts = options->inference});
    gt_diff_add_columns(summary, unified, &stats);
    gt_add_if_any(tables, gt_diff_stats_sheet(&stats));
    gt_diff_stats_free(&stats);
    gt_diff_tree_free(tree);
    return true;
}

/* The unified sheets; the second one only if overlaps are requested. */
static bool add_unified_sheets(const gt_sheet_inputs *in, gt_perf *perf, gt_table_list *tables,
                               gt_error *error)
{
    const gt_pytorch_options *options = in->options;
    gt_unified *unified = gt_unified_new(perf, options->call_stack    ? GT_STACKS_IN_COLUMNS
                                               : options->hide_stacks ? GT_STACKS_HIDDEN
                                                                      : GT_STACKS_OF_KERNELS);
    if (options->kernel_check)
        gt_kernel_check(options->kernel_check, perf, unified, in->computation_ms * 1e3);
    gt_table *summary = gt_unified_summary(unified);
    bool compare = options->comparison && summary->row_count, made = true;
    gt_add_if_any(tables, summary);
    if (compare) made = add_comparison(perf->trace, unified, summary, options, tables, error);
    if (made && perf->overlaps) gt_add_if_any(tables, gt_unified_summary_with_overlap(unified));
    gt_unified_free(unified);
    return made;
}

/* ---- sheets of performance models ---- */

/* Op families come first, because some models learn from them. */
enum { PART_FAMILIES, PART_UNIFIED, PERFORMANCE_PARTS };

typedef struct performance_job {
    const gt_sheet_inputs *in;
    gt_perf *perf;
    gt_side_parts parts;
} performance_job;

static void add_families(gt_perf *perf, const gt_pytorch_options *options, bool side_by_side,
                         gt_table_list *tables)
{
    gt_op_sheets_make(perf,
                      (gt_op_sheets_options){
                          .by_num_kernels = options->group_by_num_kernels,
                          .limited = options->topk_roofline_ops.given,
                          .rows = options->topk_roofline_ops.rows,
                          .side_by_side = side_by_side,
                          .forward_only = options->inference,
                      },
                      tables);
}

static bool make_performance_part(void *context, size_t part)
{
    performance_job *job = context;
    const gt_sheet_inputs *in = job->in;
    gt_table_list *sheets = &job->parts.sheets[part];
    if (part == PART_UNIFIED) {
        bool made = add_unified_sheets(in, job->perf, sheets, &job->parts.errors[part]);
        if (in->phases) add_phase_op_sheets(in->trace, &in->launchers, in->phases, in->options, sheets);
        return made;
    }
    if (job->parts.in_turn) {
        add_families(job->perf, in->options, false, sheets);
        return true;
    }
    gt_linked_view trace = *job->perf->trace;
    trace.strings = job->parts.own[part];
    gt_perf *copy = gt_perf_copy(job->perf, &trace);
    add_families(copy, in->options, true, sheets);
    gt_perf_free(copy);
    return true;
}

static bool add_performance_sheets(const gt_sheet_inputs *in, const gt_linked_view *trace,
                                   gt_table_list *tables, gt_error *error)
{
    const gt_pytorch_options *options = in->options;
    performance_job job = {.in = in};
    job.perf =
        gt_perf_new(trace, &in->launchers, in->overlaps,
                    (gt_perf_options){.gpu = options->gpu_arch,
                                      .python = options->python_path,
                                      .python_timeout_s = options->python_timeout_s,
                                      .extension = in->extension,
                                      .params_as_text = options->params_as_text,
                                      .annotate_all = options->inference || options->correct_launches});
    job.parts = (gt_side_parts){.strings = trace->strings,
                                .count = PERFORMANCE_PARTS,
                                .in_turn = goes_in_turn(in) || !gt_perf_can_copy(job.perf),
                                .shares = 1u << PART_UNIFIED};
    gt_side_parts_begin(&job.parts);
    bool made = gt_side_parts_make(&job.parts, make_performance_part, &job, error);
    if (made) {
        gt_side_parts_take(&job.parts, PART_UNIFIED, tables);
        gt_side_parts_take(&job.parts, PART_FAMILIES, tables);
    }
    gt_side_parts_end(&job.parts);
    gt_perf_free(job.perf);
    return made;
}

/* ---- what the trace lacks ---- */

/* `gputally report` includes GPU events without a launch unless it is told not to. */
static const char *how_to_include_unlinked(const gt_pytorch_options *options)
{
    return options->correct_launches ? "omit --linked_kernels_only" : "use --include_unlinked_kernels";
}

/* Says what the timeline and the comparison do not count. If the timeline counts everything, the terminal
 * summary says what the sheets of ops do not. */
static void warn_about_unlinked(const gt_linked_view *trace, const gt_pytorch_options *options)
{
    char text[GT_LEFT_OUT_TEXT_MAX];
    if (options->comparison) {
        gt_left_out second = gt_pytorch_find_left_out(gt_pytorch_view(options->comparison));
        gt_unlinked_describe(&second, text);
        if (gt_gpu_share_any(second.unlinked)) gt_warn("second trace: %s; it is not compared", text);
    }
    if (options->include_unlinked_kernels) return;
    gt_left_out left_out = gt_pytorch_find_left_out(trace);
    if (!gt_gpu_share_any(left_out.unlinked)) return;
    gt_left_out_describe(&left_out, text);
    gt_warn("%s; %s to include what is not linked in gpu_timeline", text, how_to_include_unlinked(options));
}

static gt_pytorch_timeline_options timeline_options(const gt_pytorch_options *options)
{
    return (gt_pytorch_timeline_options){
        .include_unlinked = options->include_unlinked_kernels,
        .how_to_include = how_to_include_unlinked(options),
        .split_idle = options->split_idle,
        .micro_idle_max_us = options->micro_idle_us,
        .split_recompute = options->detect_recompute,
    };
}

/* gpu_timeline. False if the trace has no GPU events to count. */
static bool add_timeline(gt_sheet_inputs *in, const gt_linked_view *trace, gt_table_list *tables,
                         gt_error *error)
{
    gt_table *timeline = gt_pytorch_gpu_timeline(trace, timeline_options(in->options), error);
    if (!timeline) return false;
    gt_table_list_add(tables, timeline);
    in->total_ms = gt_pytorch_total_time_ms(timeline);
    in->computation_ms = gt_pytorch_computation_time_ms(timeline);
    return true;
}

/* gpu_timeline_by_device, and what the timelines do not count. */
static void add_device_timeline(gt_sheet_inputs *in, const gt_linked_view *trace, gt_table_list *tables)
{
    const gt_pytorch_options *options = in->options;
    if (options->extra_sheets) {
        in->devices = gt_devices_find(&trace->events);
        gt_table *by_device =
            gt_pytorch_gpu_timeline_by_device(trace, &in->devices, timeline_options(options));
        if (by_device) gt_table_list_add(tables, by_device);
    }
    warn_about_unlinked(trace, options);
    if (trace->gpu_only && options->reference_messages)
        gt_info("Detected GPU-only trace. Skipping CPU-dependent analysis and generating only GPU timeline "
                "and kernel summary.");
    else if (trace->gpu_only)
        gt_info("the trace has no CPU ops; the sheets that need them are omitted");
}

/* ---- all sheets ---- */

/* First the timeline, whose total time others need, the devices and the launchers. */
enum { PART_TIMELINE, PART_DEVICES, PART_LAUNCHERS, FIRST_PARTS };
/* Then all others. Collectives are in the store, whose strings are those of the trace. */
enum { PART_OPS, PART_PERFORMANCE, PART_KERNELS, PART_COLLECTIVES, OTHER_PARTS };

typedef struct sheets_job {
    gt_sheet_inputs *in;
    gt_side_parts parts;
} sheets_job;

static bool make_first_part(void *context, size_t part)
{
    sheets_job *job = context;
    gt_sheet_inputs *in = job->in;
    gt_linked_view trace = *in->trace;
    trace.strings = job->parts.own[part];
    gt_table_list *sheets = &job->parts.sheets[part];
    if (part == PART_TIMELINE) return add_timeline(in, &trace, sheets, &job->parts.errors[part]);
    if (part == PART_DEVICES)
        add_device_timeline(in, &trace, sheets);
    else
        in->launchers = gt_launchers_find(in->trace);
    return true;
}

static bool make_other_part(void *context, size_t part)
{
    sheets_job *job = context;
    const gt_sheet_inputs *in = job->in;
    gt_linked_view trace = *in->trace;
    trace.strings = job->parts.own[part];
    gt_table_list *sheets = &job->parts.sheets[part];
    gt_error *error = &job->parts.errors[part];
    if (part == PART_KERNELS) return add_kernel_sheets(in, &trace, sheets, error);
    if (trace.gpu_only) return true;
    if (part == PART_PERFORMANCE) return add_performance_sheets(in, &trace, sheets, error);
    if (part == PART_OPS)
        add_op_sheets(in, &trace, sheets);
    else if (in->options->coll_analysis)
        gt_add_if_any(sheets, gt_coll_analysis(&trace.events));
    return true;
}

static void find_phases(gt_sheet_inputs *in, gt_table_list *tables)
{
    const gt_linked_view *trace = in->trace;
    if (!in->options->phases) return;
    in->phases = gt_phases_find(trace, trace->gpu_only ? NULL : &in->launchers, in->options->phase_options);
    if (!in->options->reference_messages) warn_about_training(trace);
    if (trace->gpu_only) say_no_phase_ops(in->options);
    size_t steps = 0;
    gt_phases_steps(in->phases, &steps);
    if (steps && in->options->extra_sheets) gt_add_if_any(tables, gt_phase_steps_sheet(trace, in->phases));
}

/* Makes parts, and moves their sheets to `tables` in this order. */
static bool add_parts(gt_sheet_inputs *in, size_t count, uint32_t shares,
                      bool (*work)(void *context, size_t part), gt_table_list *tables, gt_error *error)
{
    sheets_job job = {.in = in};
    job.parts = (gt_side_parts){
        .strings = in->trace->strings, .count = count, .in_turn = goes_in_turn(in), .shares = shares};
    gt_side_parts_begin(&job.parts);
    bool made = gt_side_parts_make(&job.parts, work, &job, error);
    for (size_t part = 0; made && part < count; part++) gt_side_parts_take(&job.parts, part, tables);
    gt_side_parts_end(&job.parts);
    return made;
}

bool gt_add_sheets(gt_sheet_inputs *in, gt_table_list *tables, gt_error *error)
{
    bool made = add_parts(in, FIRST_PARTS, 1u << PART_LAUNCHERS, make_first_part, tables, error);
    if (made) find_phases(in, tables);
    if (made && in->options->overlap_info && !in->trace->gpu_only) {
        in->overlaps = gt_overlaps_find(in->trace, in->options->include_unlinked_kernels, error);
        made = in->overlaps != NULL;
    }
    made = made && add_parts(in, OTHER_PARTS, 1u << PART_COLLECTIVES, make_other_part, tables, error);
    gt_overlaps_free(in->overlaps);
    gt_phases_free(in->phases);
    gt_launchers_free(&in->launchers);
    gt_devices_free(&in->devices);
    return made;
}
