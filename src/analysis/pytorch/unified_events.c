/* Choosing the events of the unified sheet.
 *
 * Because the call tree is numbered in preorder, the walk from a root is a loop over numbers: to go below an
 * event, take the next number; to stop at it, jump to its subtree_end. Properties of subtrees that the walk
 * needs are computed before, from the highest number to the lowest.
 *
 *     aten::linear            no model, but a modelled op below: go on
 *       aten::addmm           has a model: take it and stop
 *         hipLaunchKernel
 *     aten::relu              no model, launches a kernel: take it and stop
 *     my::fused               no model, kernels more than LEVELS_TO_KERNEL calls below: they are left over
 *                             and get a row each, "my::fused->kernel (Synthetic Op)" */
#include "analysis/pytorch/unified_details.h"

#include "trace/pytorch/graft.h"

enum { LEVELS_TO_KERNEL = 10, LEVELS_TO_AUTOGRAD = 5 };
enum { UNKNOWN, NO, YES };

typedef struct search {
    gt_perf *perf;
    const gt_linked_view *trace;
    uint8_t *modelled_below; /* by number: an op with a model that uses the GPU is below */
    uint8_t *to_kernel;      /* by number: levels down to a GPU event through Python and runtime calls only;
                                UINT8_MAX: none */
    uint8_t *visited;        /* by number */
    uint8_t *sole;    /* by row of an autograd event: UNKNOWN, or whether a single op computes the gradient */
    uint8_t *covered; /* by row of a GPU event */
    gt_row_list gpu;  /* scratch */
    gt_models *models; /* of the thread; NULL: not needed so far */
    gt_unified_events events;
} search;

static const gt_model *model_of(search *s, uint32_t row)
{
    return gt_perf_model_for_thread(s->perf, &s->models, row, s->trace->name[row]);
}

/* ---- properties of subtrees ----
 *
 * Threads take ranges of numbers. What a range finds out about events before it, all of which are open when
 * it begins, is passed on afterwards, from the last range to the first. */

/* What the events of a range say about one event before it. */
typedef struct finding {
    uint32_t number;
    bool modelled;     /* there is a modelled op below it */
    uint8_t to_kernel; /* as in search; UINT8_MAX: nothing */
} finding;

typedef struct range_findings {
    finding *items;
    size_t count, capacity;
    gt_models *models; /* of the thread; NULL: not needed so far */
    GT_PADDING;
} range_findings;

typedef struct looking {
    search *search;
    uint32_t *callers; /* gt_calls_callers */
    range_findings *ranges;
} looking;

static bool is_modelled(search *s, range_findings *r, uint32_t row)
{
    if (s->trace->kind[row] != GT_KIND_CPU_OP || !gt_calls_use_gpu(s->perf->calls, row)) return false;
    return gt_perf_model_for_thread(s->perf, &r->models, row, s->trace->name[row]) != NULL;
}

/* Whether an event passes a modelled op below it, or its distance to a kernel, on to its caller. */
static bool passes_model(const search *s, uint32_t row)
{
    uint8_t kind = s->trace->kind[row];
    bool is_passage = s->trace->grafted && s->trace->grafted[row] == GT_GRAFT_PASSAGE;
    return kind == GT_KIND_PYTHON || kind == GT_KIND_CPU_OP || is_passage;
}

static bool passes_kernel(const search *s, uint32_t n, uint8_t kind)
{
    return (kind == GT_KIND_PYTHON || kind == GT_KIND_RUNTIME) && s->to_kernel[n] < LEVELS_TO_KERNEL;
}

/* Returns whether the event has changed. */
static bool learn(search *s, uint32_t n, bool modelled, uint8_t to_kernel)
{
    bool is_changed = (modelled && !s->modelled_below[n]) || to_kernel < s->to_kernel[n];
    if (modelled) s->modelled_below[n] = 1;
    if (to_kernel < s->to_kernel[n]) s->to_kernel[n] = to_kernel;
    return is_changed;
}

/* Callers before the range come in groups, because its events are looked at from the last to the first. */
static void keep_finding(range_findings *r, uint32_t n, bool modelled, uint8_t to_kernel)
{
    if (!modelled && to_kernel == UINT8_MAX) return;
    if (!r->count || r->items[r->count - 1].number != n)
        GT_PUSH(r->items, r->count, r->capacity, ((finding){n, false, UINT8_MAX}));
    finding *last = &r->items[r->count - 1];
    last->modelled |= modelled;
    if (to_kernel < last->to_kernel) last->to_kernel = to_kernel;
}

static void look_below_range(void *context, size_t begin, size_t end)
{
    looking *l = context;
    search *s = l->search;
    const gt_calls *calls = s->perf->calls;
    range_findings *r = &l->ranges[begin / GT_ROWS_GRAIN];
    memset(s->modelled_below + begin, 0, end - begin);
    memset(s->to_kernel + begin, UINT8_MAX, end - begin);
    for (uint32_t n = (uint32_t)end; n-- > begin;) {
        uint32_t row = calls->row_of[n], caller = l->callers[n];
        uint8_t kind = s->trace->kind[row];
        if (gt_row_set_has(&calls->launching, n)) s->to_kernel[n] = 1;
        if (caller == GT_NO_EVENT) continue;
        bool modelled = passes_model(s, row) && (s->modelled_below[n] || is_modelled(s, r, row));
        uint8_t to_kernel = passes_kernel(s, n, kind) ? (uint8_t)(s->to_kernel[n] + 1) : UINT8_MAX;
        if (caller >= begin)
            learn(s, caller, modelled, to_kernel);
        else
            keep_finding(r, caller, modelled, to_kernel);
    }
    gt_models_free(r->models);
}

static void pass_on(const looking *l, finding f)
{
    search *s = l->search;
    const gt_calls *calls = s->perf->calls;
    while (f.number != GT_NO_EVENT && learn(s, f.number, f.modelled, f.to_kernel)) {
        uint32_t row = calls->row_of[f.number];
        f.modelled = f.modelled && passes_model(s, row);
        f.to_kernel = passes_kernel(s, f.number, s->trace->kind[row]) ? (uint8_t)(s->to_kernel[f.number] + 1)
                                                                      : UINT8_MAX;
        f.number = l->callers[f.number];
    }
}

static void look_below(search *s)
{
    uint32_t numbers = s->trace->numbered;
    size_t ranges = gt_range_count(numbers, GT_ROWS_GRAIN);
    looking l = {s, gt_calls_callers(s->perf->calls), gt_alloc_zero(ranges, sizeof *l.ranges)};
    s->modelled_below = gt_alloc(numbers);
    s->to_kernel = gt_alloc(numbers);
    gt_parallel_ranges(numbers, GT_ROWS_GRAIN, look_below_range, &l);
    for (size_t i = ranges; i-- > 0;) {
        for (size_t k = 0; k < l.ranges[i].count; k++) pass_on(&l, l.ranges[i].items[k]);
        gt_free(l.ranges[i].items);
    }
    gt_free_all(l.ranges, l.callers);
}

/* ---- gradients ---- */

/* How many ops below an autograd event use the GPU for it: ops with the name after ": " in the event's name,
 * or all ops if its name has no ": ". Stops at 2. */
static size_t count_gradient_ops(search *s, uint32_t autograd)
{
    const gt_linked_view *trace = s->trace;
    gt_str name = gt_event_name(&trace->events, autograd);
    const char *colon = memmem(name.bytes, name.len, ": ", 2);
    gt_str wanted = {0};
    if (colon) wanted = (gt_str){colon + 2, name.len - (size_t)(colon + 2 - name.bytes)};
    size_t found = 0;
    for (uint32_t n = trace->preorder[autograd] + 1; n < trace->subtree_end[autograd] && found < 2;) {
        uint32_t row = s->perf->calls->row_of[n];
        if (trace->kind[row] != GT_KIND_CPU_OP || !gt_calls_use_gpu(s->perf->calls, row)) {
            n = trace->subtree_end[row];
            continue;
        }
        gt_str op = gt_event_name(&trace->events, row);
        found += !colon || (op.len == wanted.len && memcmp(op.bytes, wanted.bytes, op.len) == 0);
        n++;
    }
    return found;
}

static bool models_gradient(search *s, uint32_t forward)
{
    const gt_model *model = model_of(s, forward);
    if (!model || !model->backward_category) return false;
    return gt_perf_has_result(s->perf, model, forward, true);
}

/* The forward op if the event is below an autograd event that computes the gradient of that op alone. */
static uint32_t sole_forward(search *s, uint32_t row)
{
    const uint32_t *forward_of = s->perf->gradients->forward_of;
    uint32_t autograd = s->trace->parent[row];
    if (!forward_of) return GT_NO_EVENT; /* the trace has no gradients */
    for (int i = 1; i < LEVELS_TO_AUTOGRAD && autograd != GT_NO_EVENT && forward_of[autograd] == GT_NO_EVENT;
         i++)
        autograd = s->trace->parent[autograd];
    if (autograd == GT_NO_EVENT || forward_of[autograd] == GT_NO_EVENT) return GT_NO_EVENT;
    if (s->sole[autograd] == UNKNOWN)
        s->sole[autograd] =
            models_gradient(s, forward_of[autograd]) && count_gradient_ops(s, autograd) == 1 ? YES : NO;
    return s->sole[autograd] == YES ? forward_of[autograd] : GT_NO_EVENT;
}

/* ---- the walk ---- */

static void cover(search *s, uint32_t row)
{
    s->gpu.count = 0;
    gt_calls_add_gpu_events(s->perf->calls, row, &s->gpu);
    for (size_t i = 0; i < s->gpu.count; i++)
        __atomic_store_n(&s->covered[s->gpu.items[i]], 1,
                         __ATOMIC_RELAXED); /* two ops may have launched it */
}

static void collect(search *s, uint32_t row, uint32_t root, const gt_model *model)
{
    gt_unified_event event = {.row = row,
                              .kernel = GT_NO_EVENT,
                              .name = s->trace->name[row],
                              .uid = gt_event_uid(&s->trace->events, row),
                              .root = root,
                              .forward = sole_forward(s, row),
                              .model = model};
    GT_PUSH(s->events.items, s->events.count, s->events.capacity, event);
    cover(s, row);
}

static bool communicates(search *s, uint32_t row)
{
    s->gpu.count = 0;
    gt_calls_add_gpu_events(s->perf->calls, row, &s->gpu);
    for (size_t i = 0; i < s->gpu.count; i++)
        if (gt_perf_communicates(s->perf, s->gpu.items[i])) return true;
    return false;
}

/* Whether ops of a graph are below a call (trace/pytorch/graph_ops.h). */
static bool launches_graph_ops(const search *s, uint32_t n)
{
    const gt_calls *calls = s->perf->calls;
    uint32_t row = calls->row_of[n];
    return n + 1 < s->trace->subtree_end[row] &&
           gt_event_graph_source(s->trace, calls->row_of[n + 1]) != GT_STR_NONE;
}

/* Visits one event. Returns whether the walk continues below it. */
static bool visit(search *s, uint32_t n, uint32_t root)
{
    uint32_t row = s->perf->calls->row_of[n];
    bool is_op = s->trace->kind[row] == GT_KIND_CPU_OP;
    s->visited[n] = 1;
    if (!gt_calls_use_gpu(s->perf->calls, row)) return false;
    if (!is_op && !s->trace->has_python) return launches_graph_ops(s, n);
    const gt_model *model = model_of(s, row);
    if (model) {
        collect(s, row, root, model);
        return false;
    }
    if (s->modelled_below[n]) return true;
    if (sole_forward(s, row) != GT_NO_EVENT) {
        collect(s, row, root, NULL);
        return false;
    }
    if (!is_op || s->to_kernel[n] > LEVELS_TO_KERNEL) return true;
    if (!communicates(s, row)) collect(s, row, root, NULL);
    return false;
}

static void descend(search *s, uint32_t root)
{
    uint32_t n = s->trace->preorder[root], end = s->trace->subtree_end[root];
    while (n < end) {
        bool go_below = !s->visited[n] && visit(s, n, root);
        n = go_below ? n + 1 : s->trace->subtree_end[s->perf->calls->row_of[n]];
    }
}

/* Roots are not below each other, so threads may take ranges of them. The events that they choose are joined
 * in the order of the roots. */
typedef struct descending {
    search *search;
    const uint32_t *roots;
    size_t grain;
    bool has_gradients;        /* whose models each range evaluates on its own */
    gt_unified_events *events; /* by range */
    size_t *begins;            /* by range: the events of the ranges before */
} descending;

static void descend_range(void *context, size_t begin, size_t end)
{
    const descending *d = context;
    search own = *d->search;
    own.events = (gt_unified_events){0};
    own.gpu = (gt_row_list){0};
    own.models = NULL;
    if (d->has_gradients) own.perf = gt_perf_copy(d->search->perf, own.trace);
    for (size_t i = begin; i < end; i++) descend(&own, d->roots[i]);
    gt_free(own.gpu.items);
    gt_models_free(own.models);
    if (d->has_gradients) gt_perf_free(own.perf);
    d->events[begin / d->grain] = own.events;
}

static void copy_events(void *context, size_t range)
{
    const descending *d = context;
    gt_unified_events *from = &d->events[range];
    if (from->count)
        memcpy(d->search->events.items + d->begins[range], from->items, from->count * sizeof *from->items);
    gt_unified_events_free(from);
}

static void descend_from_all(search *s, const uint32_t *roots, size_t count)
{
    enum { RANGES_WITH_MODELS = 64 };
    descending d = {.search = s, .roots = roots, .grain = GT_OPS_GRAIN};
    d.has_gradients = s->perf->gradients->count != 0;
    if (d.has_gradients && d.grain < count / RANGES_WITH_MODELS + 1) d.grain = count / RANGES_WITH_MODELS + 1;
    size_t ranges = gt_range_count(count, d.grain);
    d.events = gt_alloc_zero(ranges, sizeof *d.events);
    d.begins = gt_alloc(ranges * sizeof *d.begins);
    gt_parallel_ranges(count, d.grain, descend_range, &d);
    for (size_t i = 0; i < ranges; i++) {
        d.begins[i] = s->events.count;
        s->events.count += d.events[i].count;
    }
    s->events.items = gt_grow(s->events.items, &s->events.capacity, s->events.count, sizeof *s->events.items);
    gt_parallel_each(ranges, copy_events, &d);
    gt_free_all(d.events, d.begins);
}

/* Whether the walk below one root does not depend on that below another: an edited tree may have roots below
 * each other, python functions have all cpu_ops below them, and gradients are examined in order if models
 * learn from that. Each range of roots evaluates the models of its gradients again, which few threads do not
 * repay. */
static bool roots_are_independent(const search *s)
{
    if (s->trace->has_python || s->trace->recorded != s->trace->count) return false;
    return !s->perf->gradients->count || (gt_team_threads() >= GT_MANY_THREADS && gt_perf_can_copy(s->perf));
}

static void descend_from_roots(search *s)
{
    const gt_linked_view *trace = s->trace;
    for (uint32_t row = 0; trace->has_python && row < trace->count; row++)
        if (trace->kind[row] == GT_KIND_PYTHON && trace->parent[row] == GT_NO_EVENT &&
            trace->preorder[row] != GT_NO_EVENT && gt_calls_use_gpu(s->perf->calls, row))
            descend(s, row);
    gt_row_list roots = gt_calls_cpu_roots(s->perf->calls);
    if (roots_are_independent(s))
        descend_from_all(s, roots.items, roots.count);
    else
        for (size_t i = 0; i < roots.count; i++) descend(s, roots.items[i]);
    gt_free(roots.items);
}

/* ---- kernels that no chosen op covers ---- */

/* Kernels, and for each the event that its synthetic op is named after. */
typedef struct leftovers {
    uint32_t *kernels, *rows;
    size_t count, kernel_capacity, row_capacity;
} leftovers;

static void add_leftover(leftovers *l, uint32_t kernel, uint32_t row)
{
    size_t count = l->count;
    GT_PUSH(l->kernels, count, l->kernel_capacity, kernel);
    GT_PUSH(l->rows, l->count, l->row_capacity, row);
}

static void leftovers_free(leftovers *l)
{
    gt_free_all(l->kernels, l->rows);
}

/* Groups the kernels by event, in the order of each event's first kernel. */
static void group_by_event(leftovers *l)
{
    gt_map ranks = {0};
    leftovers sorted = {0};
    uint32_t *rank_of = gt_alloc(l->count * sizeof *rank_of);
    uint32_t *begin = gt_alloc_zero(l->count + 2, sizeof *begin);
    for (size_t i = 0; i < l->count; i++) {
        uint32_t next = (uint32_t)ranks.count, *rank = gt_map_put(&ranks, l->rows[i], 0);
        if (*rank == GT_MAP_NONE) *rank = next;
        rank_of[i] = *rank;
        begin[*rank + 2]++;
    }
    for (size_t r = 2; r < l->count + 2; r++) begin[r] += begin[r - 1];
    sorted.kernels = gt_alloc(l->count * sizeof *sorted.kernels);
    sorted.rows = gt_alloc(l->count * sizeof *sorted.rows);
    sorted.count = l->count;
    for (size_t i = 0; i < l->count; i++) {
        uint32_t place = begin[rank_of[i] + 1]++;
        sorted.kernels[place] = l->kernels[i];
        sorted.rows[place] = l->rows[i];
    }
    gt_map_free(&ranks);
    gt_free_all(rank_of, begin);
    leftovers_free(l);
    *l = sorted;
}

/* "op->kernel (Synthetic Op)"; created once per pair of names. */
static uint32_t synthetic_name(const gt_linked_view *trace, gt_map *known, uint32_t row, uint32_t kernel)
{
    uint32_t *name = gt_map_put(known, trace->name[row], trace->name[kernel]);
    if (*name == GT_MAP_NONE) {
        gt_buffer text = {0};
        gt_str op = gt_event_name(&trace->events, row);
        gt_str launched = gt_event_name(&trace->events, kernel);
        gt_buffer_add(&text, op.bytes, op.len);
        gt_buffer_add_cstr(&text, "->");
        gt_buffer_add(&text, launched.bytes, launched.len);
        gt_buffer_add_cstr(&text, " (Synthetic Op)");
        *name = gt_interner_add(trace->strings, text.bytes, text.len);
        gt_buffer_free(&text);
    }
    return *name;
}

static void add_synthetic(search *s, const leftovers *l, gt_map *names, uint32_t *uid)
{
    for (size_t i = 0; i < l->count; i++) {
        uint32_t row = l->rows[i], name = synthetic_name(s->trace, names, row, l->kernels[i]);
        gt_unified_event event = {.row = row,
                                  .kernel = l->kernels[i],
                                  .name = name,
                                  .uid = (*uid)++,
                                  .root = GT_NO_EVENT,
                                  .forward = sole_forward(s, row),
                                  .model = gt_perf_model(s->perf, row, name)};
        GT_PUSH(s->events.items, s->events.count, s->events.capacity, event);
    }
}

static bool is_left_over(const void *context, size_t row)
{
    const search *s = context;
    return gt_kind_is_gpu(s->trace->kind[row]) && s->trace->parent[row] != GT_NO_EVENT && !s->covered[row] &&
           !gt_perf_communicates(s->perf, (uint32_t)row);
}

static void add_leftover_kernels(search *s)
{
    const gt_linked_view *trace = s->trace;
    leftovers of_calls = {0}, of_ops = {0};
    gt_map names = {0};
    uint32_t uid = (uint32_t)trace->uid_count;
    gt_row_list left = gt_rows_where(trace->count, is_left_over, s);
    for (size_t i = 0; i < left.count; i++) {
        uint32_t row = left.items[i], op = gt_pytorch_cpu_op_above(trace, row);
        if (op == GT_NO_EVENT)
            add_leftover(&of_calls, row, trace->parent[row]);
        else
            add_leftover(&of_ops, row, op);
    }
    gt_free(left.items);
    group_by_event(&of_calls);
    add_synthetic(s, &of_calls, &names, &uid);
    add_synthetic(s, &of_ops, &names, &uid);
    leftovers_free(&of_calls);
    leftovers_free(&of_ops);
    gt_map_free(&names);
}

gt_unified_events gt_unified_events_find(gt_perf *perf)
{
    search s = {.perf = perf, .trace = perf->trace};
    s.visited = gt_alloc_zero(s.trace->numbered, 1);
    s.sole = gt_alloc_zero(s.trace->count, 1);
    s.covered = gt_alloc_zero(s.trace->count, 1);
    look_below(&s);
    descend_from_roots(&s);
    add_leftover_kernels(&s);
    gt_free_all(s.modelled_below, s.to_kernel, s.visited, s.sole, s.covered, s.gpu.items);
    gt_models_free(s.models);
    return s.events;
}

void gt_unified_events_free(gt_unified_events *events)
{
    gt_free(events->items);
    *events = (gt_unified_events){0};
}
