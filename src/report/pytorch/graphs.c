/* Reading the traces that graphs are compared with, and what is said about them. */
#include "report/pytorch/graphs.h"

#include "analysis/captures/captures.h"
#include "analysis/graphs/graph_ops.h"
#include "analysis/graphs/read_references.h"
#include "analysis/graphs/sheets.h"
#include "input/chrome/kineto.h"
#include "os/paths.h"

/* ---- reading ---- */

/* Another trace of the model, with its modules. */
typedef struct other_trace {
    gt_pytorch_linked *trace;
    gt_module_frames modules;
} other_trace;

static bool read_other(const char *path, bool with_kernel_names, const gt_read_options *options,
                       other_trace *other, gt_error *error)
{
    gt_read_options read = *options;
    read.run = NULL; /* that of the trace itself */
    gt_pytorch_read *events = gt_kineto_read(
        path, (gt_kineto_options){.frames = true, .launched = with_kernel_names}, &read, error);
    if (!events) return false;
    other->modules = gt_module_frames_find(gt_pytorch_read_view(events));
    other->trace = gt_pytorch_link(gt_pytorch_build_tree(events));
    return true;
}

static void free_other(other_trace *other)
{
    gt_module_frames_free(&other->modules);
    gt_pytorch_linked_free(other->trace);
}

/* ---- eager traces ---- */

/* Uses the steps of an eager trace if they are of the model of the graphs. */
static void use_eager(gt_graphs *graphs, const other_trace *other, const char *path)
{
    const gt_linked_view *view = gt_pytorch_view(other->trace);
    gt_graph_references found = {0};
    double share = 0;
    gt_step_list *steps = gt_step_list_find(&view->events);
    gt_graph_add_steps(&found, &graphs->names, view, steps, &other->modules);
    gt_step_list_free(steps);
    if (!found.eager_count)
        gt_warn("%s: not used for graphs: no step launches its kernels one by one; record it without graphs "
                "(vLLM: --enforce-eager, SGLang: --disable-cuda-graph)",
                path);
    else if (!gt_graphs_fit(graphs, &found, &share))
        gt_warn("%s: not used for graphs: another model; %.0f %% of norms, attention and GEMMs have a "
                "counterpart in a graph (at least 90 %% needed)",
                path, 100 * share);
    else
        gt_graph_references_join(&graphs->references, &graphs->names, &found);
    gt_graph_references_free(&found);
}

static bool read_eager_traces(gt_graphs *graphs, const gt_pytorch_options *options,
                              const gt_read_options *read, gt_error *error)
{
    for (size_t i = 0; i < options->eager_trace_count; i++) {
        const char *path = options->eager_traces[i], *about = gt_log_about(path);
        other_trace other = {0};
        bool is_read = read_other(path, false, read, &other, error);
        if (is_read) use_eager(graphs, &other, path);
        free_other(&other);
        gt_log_about(about);
        if (!is_read) return false;
    }
    return true;
}

/* ---- captures ---- */

static bool may_be_capture(const char *name)
{
    return gt_has_ending(name, ".json") || gt_has_ending(name, ".json.gz");
}

/* The name of the list of captures that TraceLens writes into the folder. */
static const char EXECUTION_DETAILS[] = "execution_details.json";

static size_t add_captures(gt_graphs *graphs, const other_trace *other)
{
    const gt_linked_view *view = gt_pytorch_view(other->trace);
    gt_step_list *steps = gt_step_list_find(&view->events);
    bool is_capture = steps->is_capture;
    gt_step_list_free(steps);
    if (!is_capture) return 0;
    gt_capture_kind kind = gt_capture_classify(&view->events);
    return gt_graph_add_captures(&graphs->references, &graphs->names, view, &other->modules,
                                 kind.has_batch ? kind.batch : -1);
}

/* Reads a file of a capture folder. Returns the number of captures in it. */
static size_t read_capture(gt_graphs *graphs, const char *path, const gt_read_options *read)
{
    other_trace other = {0};
    gt_error error;
    size_t count = 0;
    const char *about = gt_log_about(path);
    if (read_other(path, true, read, &other, &error))
        count = add_captures(graphs, &other);
    else
        gt_warn("%s", error.text);
    free_other(&other);
    gt_log_about(about);
    return count;
}

static bool read_captures(gt_graphs *graphs, const gt_pytorch_options *options, const gt_read_options *read,
                          gt_error *error)
{
    const char *folder = options->capture_folder;
    if (!folder) return true;
    gt_arena arena = {0};
    size_t count = 0;
    gt_folder_list names = gt_list_folder(folder);
    for (size_t i = 0; i < names.count; i++)
        if (may_be_capture(names.items[i]) && strcmp(names.items[i], EXECUTION_DETAILS) != 0)
            count += read_capture(graphs, gt_path_join(&arena, folder, names.items[i]), read);
    gt_folder_list_free(&names);
    gt_arena_free(&arena);
    if (count) return true;
    gt_fail(error, "%s: no capture traces in this folder", folder);
    if (options->needs_captures) return false;
    gt_warn("%s; the report is without captures", error->text);
    return true;
}

/* The captures were read, and are of another model or another version. */
static void warn_of_unused(const gt_graphs *graphs, const char *folder)
{
    bool is_used = false;
    for (size_t i = 0; i < graphs->unit_count && !is_used; i++)
        is_used = graphs->units[i].match.joined != NULL;
    if (!is_used) gt_warn("%s: no capture fits a graph of the trace", folder);
}

/* ---- all of it ---- */

static void add_ops(gt_pytorch_linked *trace, gt_graphs *graphs)
{
    gt_graph_op_list list = gt_graphs_list_ops(graphs, gt_pytorch_view(trace));
    graphs->continues = gt_alloc_zero(gt_pytorch_view(trace)->count, 1);
    for (size_t i = 0, k = 0; i < list.count; i++)
        for (size_t first = k; k < list.ops[i].kernel_end; k++)
            graphs->continues[list.kernels[k]] = k > first;
    gt_tree_add_graph_ops(trace, &list);
    gt_free_all(list.ops, list.kernels);
}

bool gt_report_find_graphs(gt_pytorch_linked *trace, const gt_step_list *steps,
                           const gt_module_frames *modules, const gt_pytorch_options *options,
                           const gt_read_options *read, gt_graphs **graphs, gt_error *error)
{
    const gt_linked_view *view = gt_pytorch_view(trace);
    gt_graphs *made = gt_graphs_new(steps, view->strings);
    *graphs = made;
    if (!made) {
        if (options->eager_trace_count) gt_warn("--eager_trace has no effect: the trace replays no graphs");
        return true;
    }
    if (steps->count) gt_graph_add_steps(&made->references, &made->names, view, steps, modules);
    if (!read_eager_traces(made, options, read, error) || !read_captures(made, options, read, error))
        return false;
    gt_graphs_attribute(made);
    if (made->references.capture_count) warn_of_unused(made, options->capture_folder);
    if (!view->gpu_only) add_ops(trace, made);
    return true;
}

void gt_report_add_graph_sheets(gt_graphs *graphs, const gt_event_view *trace, gt_table_list *tables)
{
    gt_replay_sources sources = gt_graphs_sources(graphs);
    for (size_t i = 0; i < tables->count; i++)
        if (gt_table_is(tables->items[i], GT_SHEET_GRAPH_REPLAYS))
            gt_serving_add_sources(tables->items[i], graphs->steps, trace, &sources);
    gt_replay_sources_free(&sources);
    gt_table *sheets[] = {gt_graph_kernels(graphs), gt_graph_layers(graphs)};
    for (size_t i = 0; i < GT_LENGTH(sheets); i++)
        if (sheets[i]->row_count)
            gt_table_list_add(tables, sheets[i]);
        else
            gt_table_free(sheets[i]);
}

/* ---- the flame graph ---- */

/* "decode/batch 8/Attention_3/aten::mm". */
static uint32_t path_of(const gt_graphs *graphs, const gt_graph_unit *unit, const gt_graph_claim *claim,
                        gt_interner *strings, gt_buffer *text)
{
    const gt_listed_step *step = unit->step == GT_OUTSIDE_STEPS ? NULL : &graphs->steps->steps[unit->step];
    gt_str op = gt_interner_get(strings, claim->op), module = gt_interner_get(strings, claim->module);
    text->len = 0;
    gt_buffer_add_cstr(text, step ? gt_serving_phase_name(step->phase) : "outside of steps");
    if (step && step->padded > 0) gt_buffer_add_format(text, "/batch %lld", (long long)step->padded);
    if (module.len) gt_buffer_add_format(text, "/%.*s", (int)module.len, module.bytes);
    gt_buffer_add_format(text, "/%.*s", (int)op.len, op.bytes);
    return gt_interner_add(strings, text->bytes, text->len);
}

static gt_op_origin *origins_of(const gt_graphs *graphs, const gt_graph_unit *unit, gt_interner *strings,
                                gt_buffer *text)
{
    gt_op_origin *origins = gt_alloc(unit->kernels * sizeof *origins);
    for (size_t i = 0; i < unit->kernels; i++) {
        const gt_graph_claim *claim = &unit->claims[i];
        bool is_known = claim->source != GT_CLAIM_CLASS;
        origins[i] = (gt_op_origin){.name = is_known ? claim->op : (uint32_t)GT_STR_NONE,
                                    .path = path_of(graphs, unit, claim, strings, text)};
    }
    return origins;
}

/* By row of the trace: the index of its op in the list of steps; GT_NO_EVENT: none. */
static uint32_t *ops_by_row(const gt_step_list *steps, size_t rows)
{
    uint32_t *ops = gt_no_events(rows);
    for (uint32_t i = 0; i < steps->op_count; i++) ops[steps->ops[i].row] = i;
    return ops;
}

void gt_report_set_graph_origins(const gt_graphs *graphs, gt_schedule *schedule)
{
    gt_op_origin **of_unit = gt_alloc(graphs->unit_count * sizeof *of_unit);
    gt_buffer text = {0};
    for (size_t i = 0; i < graphs->unit_count; i++)
        of_unit[i] = origins_of(graphs, &graphs->units[i], schedule->strings, &text);
    schedule->origins = gt_alloc_zero(schedule->op_count, sizeof *schedule->origins);
    uint32_t *op_of = ops_by_row(graphs->steps, schedule->trace->count);
    for (size_t i = 0; i < schedule->op_count; i++) {
        uint32_t op = op_of[schedule->ops[i].row];
        if (op == GT_NO_EVENT || graphs->unit_of[op] == UINT32_MAX) continue;
        schedule->origins[i] = of_unit[graphs->unit_of[op]][graphs->position_of[op]];
        schedule->origins[i].continues = graphs->continues && graphs->continues[schedule->ops[i].row];
    }
    gt_free(op_of);
    for (size_t i = 0; i < graphs->unit_count; i++) gt_free(of_unit[i]);
    gt_free(of_unit);
    gt_buffer_free(&text);
}

/* ---- the line ---- */

typedef struct source_time {
    gt_str source;
    double us;
} source_time;

static int by_time(const void *left, const void *right)
{
    const source_time *a = left, *b = right;
    if (a->us < b->us || a->us > b->us) return a->us > b->us ? -1 : 1;
    return gt_str_compare(a->source, b->source);
}

/* Adds up the times of a source; low confidence counts as no op. */
static void add_time(source_time *times, size_t *count, size_t most, gt_str source, double us)
{
    size_t i = 0;
    while (i < *count && gt_str_compare(times[i].source, source) != 0) i++;
    if (i == most) return;
    if (i == *count) times[(*count)++] = (source_time){source, 0};
    times[i].us += us;
}

void gt_report_print_graphs(FILE *out, const gt_table_list *tables)
{
    enum { SOURCES_MAX = 16 };
    const gt_table *sheet = gt_table_list_find(tables, GT_SHEET_GRAPH_KERNELS);
    if (!sheet) return;
    const gt_column *us = gt_table_column(sheet, GT_COL_US_SUM);
    const uint32_t *sources = gt_table_column(sheet, GT_COL_SOURCE)->texts;
    const uint32_t *confidence = gt_table_column(sheet, GT_COL_CONFIDENCE)->texts;
    source_time times[SOURCES_MAX];
    size_t count = 0;
    double all_us = 0, known_us = 0;
    for (size_t i = 0; i < sheet->row_count; i++) {
        double cell_us = gt_column_number(us, i);
        all_us += cell_us;
        if (gt_str_equals(gt_interner_get(sheet->strings, confidence[i]), "low")) continue;
        known_us += cell_us;
        add_time(times, &count, SOURCES_MAX, gt_interner_get(sheet->strings, sources[i]), cell_us);
    }
    if (!(all_us > 0)) return;
    qsort(times, count, sizeof *times, by_time);
    fprintf(out, "Of %.1f ms in graphs %.1f %% have an op", all_us / 1e3, 100 * known_us / all_us);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%s %.*s %.1f", i ? "," : ":", (int)times[i].source.len, times[i].source.bytes,
                100 * times[i].us / all_us);
    fputc('\n', out);
}
