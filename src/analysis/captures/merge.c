/* Merging captures into a trace: for each step the file of its batch size, for each of its launches the
 * graph, for each kernel the call. What TraceLens prints on the way goes to source->say. */
#include "analysis/captures/captures.h"

/* ---- captures ---- */

enum { PLAIN, WITH_OUTSIDE, VARIANTS };

struct gt_graph_capture {
    gt_pytorch_linked *trace;
    gt_calls *calls;
    gt_graph_window *windows;
    size_t count;
    gt_captured_graph *graphs; /* by window and variant; without events: not read yet */
    uint32_t *launched;        /* by row: GT_EVENT_LAUNCHED */
    uint32_t *names;           /* by string id: that of the trace that it is merged into */
};

gt_graph_capture *gt_graph_capture_new(gt_pytorch_linked *trace)
{
    gt_graph_capture *c = gt_alloc_zero(1, sizeof *c);
    const gt_linked_view *view = gt_pytorch_view(trace);
    c->trace = trace;
    c->calls = gt_calls_new(view);
    c->windows = gt_graph_windows_find(view, &c->count);
    c->graphs = gt_alloc_zero(c->count * VARIANTS, sizeof *c->graphs);
    c->launched = gt_store_string_ids(view->store, GT_EVENT_LAUNCHED);
    c->names = gt_alloc_zero(gt_interner_count(view->strings), sizeof *c->names);
    return c;
}

void gt_graph_capture_free(gt_graph_capture *c)
{
    if (!c) return;
    for (size_t i = 0; i < c->count * VARIANTS; i++) gt_captured_graph_free(&c->graphs[i]);
    gt_free_all(c->graphs, c->windows, c->launched, c->names);
    gt_calls_free(c->calls);
    gt_pytorch_linked_free(c->trace);
    gt_free(c);
}

static const gt_captured_graph *graph_of(gt_graph_capture *c, size_t window, int variant)
{
    gt_captured_graph *graph = &c->graphs[window * VARIANTS + (size_t)variant];
    if (!graph->count)
        *graph = gt_captured_graph_read(c->calls, &c->windows[window], variant == WITH_OUTSIDE);
    return graph;
}

/* ---- merging ---- */

typedef struct merger {
    const gt_capture_source *source;
    const gt_linked_view *trace;
    gt_calls *calls;
    gt_graft_list *grafts;
    uint8_t *grafted; /* by row: 1 for launches that have a graph, and for GPU events that have a call */
    uint8_t *memory;  /* by name of a kernel: gt_memory_kernel plus 4; 0: not looked up yet */
    uint32_t *streams;
    bool told_unverified;
    gt_merge_facts facts;
} merger;

__attribute__((format(printf, 2, 3))) static void say(const merger *m, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (m->source->say) m->source->say(m->source->context, text);
}

static const char *name_of(const merger *m, uint32_t row)
{
    return row == GT_NO_EVENT ? "all launches" : gt_event_name(&m->trace->events, row).bytes;
}

/* ---- one launch ---- */

static unsigned memory_of_kernel(merger *m, uint32_t row)
{
    enum { KNOWN = 4 };
    uint8_t *known = &m->memory[m->trace->name[row]];
    if (!*known) *known = (uint8_t)(KNOWN | gt_memory_kernel(gt_event_name(&m->trace->events, row)));
    return *known & ~(unsigned)KNOWN;
}

static gt_align_kernel *list_kernels(merger *m, uint32_t launch, gt_row_list *rows)
{
    size_t kept = 0;
    gt_calls_add_gpu_events(m->calls, launch, rows);
    for (size_t i = 0; i < rows->count; i++) /* another launch may have the same id */
        if (!m->grafted[rows->items[i]]) rows->items[kept++] = rows->items[i];
    rows->count = kept;
    gt_order_rows(rows->items, rows->count, m->trace->start_us);
    gt_align_kernel *kernels = gt_alloc(rows->count * sizeof *kernels);
    for (size_t i = 0; i < rows->count; i++) {
        uint32_t row = rows->items[i];
        kernels[i] = (gt_align_kernel){m->trace->name[row], m->streams[row], memory_of_kernel(m, row)};
    }
    return kernels;
}

static gt_align_call *list_calls(const merger *m, const gt_graph_capture *c, const gt_graft *graft)
{
    const gt_captured_graph *g = graft->graph;
    gt_align_call *calls = gt_alloc(g->call_count * sizeof *calls);
    for (size_t i = 0; i < g->call_count; i++) {
        uint32_t row = g->events[g->calls[i].event].row, launched = c->launched[row];
        gt_str name = gt_event_name(&graft->capture->events, row);
        calls[i] = (gt_align_call){
            .name = gt_graft_name(graft, m->trace->strings, launched ? launched : graft->capture->name[row]),
            .is_named = launched != GT_STR_NONE,
            .is_nested = g->calls[i].is_nested,
            .memory = gt_memory_call(name)};
    }
    return calls;
}

static gt_alignment align(merger *m, gt_graph_capture *c, size_t window, int variant, gt_graft *graft,
                          const gt_align_kernel *kernels, size_t count)
{
    graft->graph = graph_of(c, window, variant);
    gt_align_call *calls = list_calls(m, c, graft);
    gt_alignment a = gt_align_graph(calls, graft->graph->call_count, kernels, count);
    gt_free(calls);
    return a;
}

static void tell_alignment(merger *m, const gt_alignment *a, const gt_captured_graph *g, size_t kernels,
                           uint32_t launch)
{
    const char *name = name_of(m, launch);
    if (a->differs) say(m, "Mismatch in number of events: Capture %zu, Graph %zu", g->call_count, kernels);
    if (a->kind == GT_ALIGNED_SKIPPING)
        say(m,
            "Greedy alignment succeeded: matched %zu capture events to %zu graph kernels (%zu capture events "
            "discarded).",
            kernels, kernels, g->call_count - kernels);
    if (a->kind == GT_ALIGNED_BY_NAME) say(m, "Group-by-name alignment succeeded.");
    if (a->kind == GT_NOT_ALIGNED_COUNT)
        say(m, "Group alignment: count mismatch for kernel '%s': capture=%zu graph=%zu",
            gt_interner_get(m->trace->strings, a->name).bytes, a->name_calls, a->name_kernels);
    if (a->kind == GT_NOT_ALIGNED_KERNELS)
        say(m, "Warning: no kernel events in graph root %s; skipping merge", name);
    if (a->kind == GT_NOT_ALIGNED_NAMES)
        say(m, "Graph capture merge failed: multistream graph root %s but capture kernel names are absent",
            name);
    if (a->kind == GT_NOT_ALIGNED_STREAMS)
        say(m, "Warning: multistream alignment failed for capture root CaptureRoot and graph root %s", name);
    if (a->kind == GT_NOT_ALIGNED || a->kind == GT_NOT_ALIGNED_COUNT)
        say(m, "Warning: subtree events verification failed for capture root CaptureRoot and graph root %s",
            name);
    if (a->is_unverified && !m->told_unverified) {
        m->told_unverified = true;
        say(m, "Kernel name missing in capture event args, alignment has not been verified");
    }
}

static void merge_launch(merger *m, gt_graph_capture *c, size_t window, uint32_t launch)
{
    if (m->grafted[launch] || m->trace->preorder[launch] == GT_NO_EVENT) return;
    gt_row_list rows = {0};
    gt_align_kernel *kernels = list_kernels(m, launch, &rows);
    gt_graft graft = {.launch = launch, .capture = gt_pytorch_view(c->trace), .names = c->names};
    gt_alignment a = align(m, c, window, PLAIN, &graft, kernels, rows.count);
    if (!gt_alignment_found(&a) && a.kind != GT_NOT_ALIGNED_KERNELS) {
        gt_alignment whole = align(m, c, window, WITH_OUTSIDE, &graft, kernels, rows.count);
        gt_alignment *worse = gt_alignment_found(&whole) ? &a : &whole;
        if (worse == &whole) graft.graph = graph_of(c, window, PLAIN);
        gt_alignment_free(worse);
        if (worse == &a) a = whole;
    }
    tell_alignment(m, &a, graft.graph, rows.count, launch);
    if (gt_alignment_found(&a)) {
        for (size_t i = 0; i < a.count; i++) {
            a.pairs[i].gpu = rows.items[a.pairs[i].gpu];
            m->grafted[a.pairs[i].gpu] = 1;
        }
        graft.pairs = a.pairs;
        graft.pair_count = a.count;
        gt_graft_add(m->grafts, &graft);
        m->grafted[launch] = 1;
        m->facts.merged++;
    } else if (a.kind == GT_NOT_ALIGNED_KERNELS) {
        m->facts.no_kernels++;
    } else {
        m->facts.not_aligned++;
    }
    gt_alignment_free(&a);
    gt_free_all(kernels, rows.items);
}

/* ---- one step ---- */

enum { NO_FILE = -1 };

/* The file for a batch: of the smallest captured size that is large enough; of two modes, PIECEWISE unless
 * there is only one launch. The last of equal ones counts. */
static int64_t file_for(const gt_capture_source *source, int64_t batch, size_t launches)
{
    int64_t best[GT_CAPTURE_MODES] = {NO_FILE, NO_FILE}, size = INT64_MAX;
    for (size_t i = 0; i < source->count; i++)
        if (source->files[i].batch >= batch && source->files[i].batch < size) size = source->files[i].batch;
    for (size_t i = 0; i < source->count; i++)
        if (source->files[i].batch >= batch && source->files[i].batch == size)
            best[source->files[i].mode] = (int64_t)i;
    bool is_full =
        best[GT_CAPTURE_PIECEWISE] == NO_FILE || (best[GT_CAPTURE_FULL] != NO_FILE && launches == 1);
    return best[is_full ? GT_CAPTURE_FULL : GT_CAPTURE_PIECEWISE];
}

/* The file of a step; NO_FILE, with the reason counted, if there is none. */
static int64_t choose_file(merger *m, const gt_graph_step *step)
{
    const char *name = name_of(m, step->row);
    int64_t batch = 0;
    if (!step->count) {
        say(m, "No graph roots found for execution root %s", name);
        return NO_FILE;
    }
    if (step->row == GT_NO_EVENT) return 0;
    if (!gt_graph_step_batch(gt_event_name(&m->trace->events, step->row), &batch)) {
        say(m, "Warning: could not determine batch size for execution root %s", name);
        m->facts.no_batch += step->count;
        return NO_FILE;
    }
    int64_t file = file_for(m->source, batch, step->count);
    if (file == NO_FILE) {
        say(m, "Warning: no capture batch size found for batch size %lld", (long long)batch);
        m->facts.no_file += step->count;
    }
    return file;
}

static void merge_step(merger *m, const gt_graph_step *step, const uint32_t *launches)
{
    say(m, "Processing execution root: %s", name_of(m, step->row));
    int64_t file = choose_file(m, step);
    if (file == NO_FILE) return;
    gt_graph_capture *c = m->source->load(m->source->context, (size_t)file);
    if (!c) {
        m->facts.damaged += step->count;
        return;
    }
    if (c->count != 1 && c->count != step->count) {
        say(m,
            "Warning: number of capture roots (%zu) does not match number of graph roots (%zu), not merged",
            c->count, step->count);
        m->facts.roots_differ += step->count;
        return;
    }
    say(m, "Found %zu capture roots and %zu graph roots", c->count == 1 ? step->count : c->count,
        step->count);
    for (size_t i = 0; i < step->count; i++)
        merge_launch(m, c, c->count == 1 ? 0 : i, launches[step->first + i]);
}

/* ---- all ---- */

static void tell_steps(const merger *m, const gt_graph_steps *steps)
{
    say(m, "Loaded graph tree with %zu events", m->trace->uid_count);
    say(m, "Found %zu execution roots in graph tree", steps->count);
    for (size_t i = 0; i < steps->count; i++)
        say(m, "  Execution root '%s': %zu graph roots", name_of(m, steps->items[i].row),
            steps->items[i].count);
}

static size_t count_outside(const merger *m, const gt_graph_steps *steps)
{
    uint8_t *seen = gt_alloc_zero(m->trace->count, 1);
    size_t inside = 0;
    for (size_t i = 0; i < steps->launch_count; i++) {
        inside += !seen[steps->launches[i]];
        seen[steps->launches[i]] = 1;
    }
    gt_free(seen);
    return steps->all_launches - inside;
}

gt_merge_facts gt_captures_merge(gt_pytorch_linked *trace, const gt_capture_source *source)
{
    const gt_linked_view *view = gt_pytorch_view(trace);
    merger m = {.source = source, .trace = view, .calls = gt_calls_new(view)};
    gt_graph_steps steps = gt_graph_steps_find(&view->events);
    if (!steps.count && source->serve_all && source->count == 1)
        gt_graph_steps_add_all(&steps, &view->events);
    m.grafts = gt_graft_begin(trace);
    m.grafted = gt_alloc_zero(view->count, 1);
    m.memory = gt_alloc_zero(gt_interner_count(view->strings), 1);
    m.streams = gt_store_string_ids(view->store, GT_EVENT_STREAM);
    m.facts = (gt_merge_facts){.steps = steps.count, .launches = steps.all_launches};
    m.facts.outside = count_outside(&m, &steps);
    tell_steps(&m, &steps);
    for (size_t i = 0; i < steps.count; i++) merge_step(&m, &steps.items[i], steps.launches);
    gt_calls_free(m.calls);
    gt_graft_finish(m.grafts);
    gt_graph_steps_free(&steps);
    gt_free_all(m.grafted, m.memory, m.streams);
    return m.facts;
}
