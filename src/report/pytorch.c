/* The PyTorch report, in the order of its sheets. */
#include "report/pytorch.h"

#include "analysis/collective/sheets.h"
#include "analysis/diff/diff.h"
#include "analysis/pytorch/event_rows.h"
#include "analysis/pytorch/launchers.h"
#include "analysis/pytorch/sheets.h"
#include "analysis/phases/phases.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/log.h"
#include "base/team.h"
#include "report/extra_sheets.h"
#include "report/summary.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/side_by_side.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
    return options->detect_recompute || options->call_stack;
}

/* ---- inference phases ---- */

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

/* For a trace without ops. */
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

static void warn_about_training(const gt_linked_view *trace)
{
    uint32_t sign = gt_phases_sign_of_training(trace);
    if (sign == GT_STR_NONE) return;
    gt_str name = gt_interner_get(trace->strings, sign);
    gt_warn("the trace looks like training, because it has %.*s; prefill and decode exist only in "
            "inference, so the phases mean nothing",
            (int)(name.len < 100 ? name.len : 100), name.bytes);
}

/* ---- sheets ---- */

/* All that the parts of a report read. */
typedef struct sheet_inputs {
    const gt_linked_view *trace;
    const gt_devices *devices; /* NULL without extra sheets */
    gt_extension *extension;   /* NULL: none */
    const gt_pytorch_options *options;
    gt_launchers launchers;
    gt_phases *phases;     /* NULL: not asked for */
    gt_overlaps *overlaps; /* NULL: not asked for */
    double total_ms;
} sheet_inputs;

/* Whether parts are made in turn. Together they need more memory, which few threads do not repay. What an
 * extension, phases and overlaps cache is not for several parts at once. */
static bool goes_in_turn(const sheet_inputs *in)
{
    enum { ENOUGH_THREADS = 4 };
    return gt_team_threads() < ENOUGH_THREADS || gt_memory_limit_set() || in->extension || in->phases ||
           in->overlaps;
}

/* Sheets without rows are omitted. */
static void add_if_any(gt_table_list *tables, gt_table *table)
{
    if (table->row_count)
        gt_table_list_add(tables, table);
    else
        gt_table_free(table);
}

static bool add_kernel_sheets(const sheet_inputs *in, const gt_linked_view *trace, gt_table_list *tables,
                              gt_error *error)
{
    const gt_pytorch_options *options = in->options;
    gt_pytorch_kernels kernels = gt_pytorch_kernels_find(trace, in->extension);
    bool made = true;
    bool summary = options->kernel_summary || (trace->gpu_only && options->gpu_only_kernel_summary);
    if (summary) add_if_any(tables, gt_pytorch_kernel_summary(&kernels, &in->launchers, in->total_ms));
    if (summary && in->phases) add_phase_kernel_sheets(&kernels, &in->launchers, in->phases, options, tables);
    if (in->devices) add_if_any(tables, gt_pytorch_memory_copies(trace, in->devices));
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

static void add_op_sheets(const sheet_inputs *in, const gt_linked_view *trace, gt_table_list *tables)
{
    const gt_pytorch_options *options = in->options;
    gt_unique_args_options unique = {.by_num_kernels = options->group_by_num_kernels,
                                     .first_occurrence = options->first_occurrence,
                                     .topk = options->topk_ops.given ? options->topk_ops.rows : GT_ALL_OPS};
    gt_ops *ops = gt_ops_new(trace, &in->launchers, in->extension);
    add_if_any(tables, gt_ops_summary_by_category(ops));
    add_if_any(tables, gt_ops_summary(ops));
    add_if_any(tables, gt_ops_unique_args(ops, unique));
    unique.overlaps = in->overlaps;
    if (in->overlaps) add_if_any(tables, gt_ops_unique_args(ops, unique));
    gt_ops_free(ops);
}

/* Compares the trace with a second one: adds columns to the unified sheet, and the sheet diff_stats. */
static bool add_comparison(const gt_linked_view *trace, gt_unified *unified, gt_table *summary,
                           const gt_pytorch_options *options, gt_table_list *tables, gt_error *error)
{
    const char *debug = getenv("TRACELENS_DEBUG");
    gt_diff_tree *tree = gt_diff_tree_new(trace, gt_pytorch_view(options->comparison), error);
    if (!tree) return false;
    gt_diff_stats stats = gt_diff_stats_make(tree, debug && strcmp(debug, "1") == 0);
    gt_diff_add_columns(summary, unified, &stats);
    add_if_any(tables, gt_diff_stats_sheet(&stats));
    gt_diff_stats_free(&stats);
    gt_diff_tree_free(tree);
    return true;
}

/* The unified sheets; the second one only if overlaps are requested. */
static bool add_unified_sheets(gt_perf *perf, const gt_pytorch_options *options, gt_table_list *tables,
                               gt_error *error)
{
    gt_unified *unified = gt_unified_new(perf, options->call_stack);
    gt_table *summary = gt_unified_summary(unified);
    bool compare = options->comparison && summary->row_count, made = true;
    add_if_any(tables, summary);
    if (compare) made = add_comparison(perf->trace, unified, summary, options, tables, error);
    if (made && perf->overlaps) add_if_any(tables, gt_unified_summary_with_overlap(unified));
    gt_unified_free(unified);
    return made;
}

/* ---- sheets of performance models ---- */

/* Op families come first, because some models learn from them. */
enum { PART_FAMILIES, PART_UNIFIED, PERFORMANCE_PARTS };

typedef struct performance_job {
    const sheet_inputs *in;
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
                      },
                      tables);
}

static bool make_performance_part(void *context, size_t part)
{
    performance_job *job = context;
    const sheet_inputs *in = job->in;
    gt_table_list *sheets = &job->parts.sheets[part];
    if (part == PART_UNIFIED) {
        bool made = add_unified_sheets(job->perf, in->options, sheets, &job->parts.errors[part]);
        if (in->phases) add_phase_op_sheets(in->trace, &in->launchers, in->phases, in->options, sheets);
        return made;
    }
    if (job->parts.in_turn) {
        add_families(job->perf, in->options, false, sheets);
        return true;
    }
    gt_linked_view trace = *job->perf->trace;
    trace.strings = job->parts.own[part];
    gt_perf *beside = gt_perf_beside(job->perf, &trace);
    add_families(beside, in->options, true, sheets);
    gt_perf_free(beside);
    return true;
}

static bool add_performance_sheets(const sheet_inputs *in, const gt_linked_view *trace, gt_table_list *tables,
                                   gt_error *error)
{
    const gt_pytorch_options *options = in->options;
    performance_job job = {.in = in};
    job.perf = gt_perf_new(trace, &in->launchers, in->overlaps,
                           (gt_perf_options){.gpu = options->gpu_arch,
                                             .python = options->python_path,
                                             .python_timeout_s = options->python_timeout_s,
                                             .extension = in->extension});
    job.parts = (gt_side_parts){.strings = trace->strings,
                                .count = PERFORMANCE_PARTS,
                                .in_turn = goes_in_turn(in) || !gt_perf_may_be_beside(job.perf),
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

static void mark_recompute(gt_pytorch_linked *trace)
{
    size_t regions, marked;
    gt_pytorch_mark_recompute(trace, &regions, &marked);
    gt_info("Recompute detection: found %zu recompute_fn regions, marked %zu events", regions, marked);
}

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

/* gpu_timeline and gpu_timeline_by_device. NULL if the trace has no GPU events to count. */
static const gt_table *add_timelines(const gt_linked_view *trace, const gt_devices *devices,
                                     const gt_pytorch_options *options, gt_table_list *tables,
                                     gt_error *error)
{
    const gt_pytorch_timeline_options wanted = {
        .include_unlinked = options->include_unlinked_kernels,
        .how_to_include = how_to_include_unlinked(options),
        .split_idle = options->split_idle,
        .micro_idle_max_us = options->micro_idle_us,
        .split_recompute = options->detect_recompute,
    };
    gt_table *timeline = gt_pytorch_gpu_timeline(trace, wanted, error);
    if (!timeline) return NULL;
    gt_table_list_add(tables, timeline);
    gt_table *by_device = devices ? gt_pytorch_gpu_timeline_by_device(trace, devices, wanted) : NULL;
    if (by_device) gt_table_list_add(tables, by_device);
    return timeline;
}

/* ---- all sheets ---- */

/* First the timeline, whose total time others need, and the launchers. */
enum { PART_TIMELINES, PART_LAUNCHERS, FIRST_PARTS };
/* Then all others. Collectives are in the store, whose strings are those of the trace. */
enum { PART_OPS, PART_PERFORMANCE, PART_KERNELS, PART_COLLECTIVES, OTHER_PARTS };

typedef struct sheets_job {
    sheet_inputs *in;
    gt_side_parts parts;
} sheets_job;

static bool make_first_part(void *context, size_t part)
{
    sheets_job *job = context;
    sheet_inputs *in = job->in;
    if (part == PART_LAUNCHERS) {
        in->launchers = gt_launchers_find(in->trace);
        return true;
    }
    gt_linked_view trace = *in->trace;
    trace.strings = job->parts.own[part];
    const gt_table *timeline =
        add_timelines(&trace, in->devices, in->options, &job->parts.sheets[part], &job->parts.errors[part]);
    if (!timeline) return false;
    in->total_ms = gt_pytorch_total_time_ms(timeline);
    warn_about_unlinked(&trace, in->options);
    if (trace.gpu_only && in->options->reference_messages)
        gt_info("Detected GPU-only trace. Skipping CPU-dependent analysis and generating only GPU timeline "
                "and kernel summary.");
    else if (trace.gpu_only)
        gt_info("the trace has no CPU ops; the sheets that need them are omitted");
    return true;
}

static bool make_other_part(void *context, size_t part)
{
    sheets_job *job = context;
    const sheet_inputs *in = job->in;
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
        add_if_any(sheets, gt_coll_analysis(&trace.events));
    return true;
}

static void find_phases(sheet_inputs *in, gt_table_list *tables)
{
    const gt_linked_view *trace = in->trace;
    if (!in->options->phases) return;
    in->phases = gt_phases_find(trace, trace->gpu_only ? NULL : &in->launchers, in->options->phase_options);
    if (!in->options->reference_messages) warn_about_training(trace);
    if (trace->gpu_only) say_no_phase_ops(in->options);
    size_t steps = 0;
    gt_phases_steps(in->phases, &steps);
    if (steps && in->options->extra_sheets) add_if_any(tables, gt_phase_steps_sheet(trace, in->phases));
}

/* Makes parts, and moves their sheets to `tables` in this order. */
static bool add_parts(sheet_inputs *in, size_t count, uint32_t shares,
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

static bool add_sheets(sheet_inputs *in, gt_table_list *tables, gt_error *error)
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
    return made;
}

/* ---- extra sheets ---- */

static void add_extra_sheets(const gt_event_view *trace, const gt_hta_options *options, gt_table_list *tables)
{
    gt_extra_sheets sheets;
    gt_extra_make(trace, 0, options, &sheets);
    gt_table_list extra = gt_extra_finish(&sheets);
    for (size_t i = 0; i < extra.count; i++) add_if_any(tables, extra.items[i]);
    gt_free(extra.items);
}

/* ---- communication kernels ---- */

typedef struct comm_search {
    const gt_linked_view *trace;
    const gt_comm_kernels *others; /* instead of the trace's; NULL: those of the trace */
    uint8_t *known;                /* by name: 0 not checked, 1 no, 2 yes */
} comm_search;

static const char *comm_family_of(const comm_search *s, uint32_t name)
{
    gt_str text = gt_interner_get(s->trace->strings, name);
    const char *family = gt_comm_family(s->trace->communication, text);
    if (!s->others) return family;
    return family ? NULL : gt_comm_family(s->others, text);
}

/* Threads that check a new name at the same time store the same. */
static bool is_communication(const void *context, size_t row)
{
    const comm_search *s = context;
    if (s->trace->kind[row] != GT_KIND_KERNEL) return false;
    uint8_t *cached = &s->known[s->trace->name[row]], known = __atomic_load_n(cached, __ATOMIC_RELAXED);
    if (!known) {
        known = comm_family_of(s, s->trace->name[row]) ? 2 : 1;
        __atomic_store_n(cached, known, __ATOMIC_RELAXED);
    }
    return known == 2;
}

gt_comm_uses gt_pytorch_find_communication(const gt_linked_view *trace, const gt_comm_kernels *others)
{
    gt_comm_uses uses = {0};
    comm_search s = {trace, others, gt_alloc_zero(gt_interner_count(trace->strings), 1)};
    size_t count;
    uint32_t *rows = gt_numbers_where(trace->count, is_communication, &s, &count);
    const char **families = gt_alloc_zero(count ? gt_interner_count(trace->strings) : 0, sizeof *families);
    for (size_t i = 0; i < count; i++) {
        uint32_t name = trace->name[rows[i]];
        if (!families[name]) families[name] = comm_family_of(&s, name);
        gt_comm_uses_add(&uses, families[name], 1, trace->dur_us[rows[i]] / 1000.0);
    }
    gt_free(families);
    gt_free(rows);
    gt_free(s.known);
    return uses;
}

static void hint_at_communication(const gt_linked_view *trace)
{
    gt_comm_kernels *others = gt_comm_kernels_new(GT_COMM_OTHERS);
    gt_comm_uses uses = gt_pytorch_find_communication(trace, others);
    if (uses.count) {
        char *text = gt_comm_uses_text(&uses);
        gt_warn(
            "kernels that look like communication are counted as computation: %s; --comm_kernels all, the "
            "default of gputally report, counts them as communication",
            text);
        gt_free(text);
    }
    gt_comm_uses_free(&uses);
    gt_comm_kernels_free(others);
}

/* ---- the whole report ---- */

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
    gt_devices devices = {0};
    if (all && options->extra_sheets) devices = gt_devices_find(&view->events);
    sheet_inputs inputs = {.trace = view,
                           .devices = options->extra_sheets ? &devices : NULL,
                           .extension = answer.extension,
                           .options = options};
    all = all && add_sheets(&inputs, &made, error);
    gt_devices_free(&devices);
    if (all && options->hint_communication) hint_at_communication(view);
    if (all && options->extra) add_extra_sheets(&view->events, &options->extra_options, &made);
    if (options->legacy_names) use_old_names(&made);
    if (all) add_extension_sheets(&answer, &made);
    free_answer(&answer);
    for (size_t i = 0; all && i < made.count; i++) gt_table_list_add(tables, made.items[i]);
    if (all) made.count = 0; /* `tables` owns them now */
    gt_table_list_free(&made);
    return all;
}
