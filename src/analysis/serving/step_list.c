/* Making the list of steps: the ops, the annotations that are steps, which op belongs to which step, and the
 * times.
 *
 * An annotation inside another one on its thread is a part of it: so "step[DECODE bs=32]" below
 * "execute_32_context_..." is one step. An op belongs to the step around its call on the call's thread; where
 * there is none, because another thread launches, to the step that began last on any thread. */
#include "analysis/serving/step_parts.h"

#include "trace/pytorch/gpu_events.h"

/* ---- ops ---- */

static bool is_gpu_event(const void *context, size_t row)
{
    const gt_event_view *trace = context;
    return gt_kind_is_gpu(trace->kind[row]) && !isnan(trace->start_us[row]);
}

static bool is_call(uint8_t kind)
{
    return kind == GT_KIND_RUNTIME || kind == GT_KIND_DRIVER;
}

static size_t list_ids(const void *context, size_t begin, size_t end, int64_t *ids)
{
    const int64_t *of_ops = context;
    size_t count = 0;
    for (size_t i = begin; i < end; i++)
        if (of_ops[i] > 0) ids[count++] = of_ops[i];
    return count;
}

static gt_launch_calls list_calls(const gt_event_view *trace, const int64_t *of_ops, size_t ops)
{
    enum { BATCH = 512 }; /* gt_id_slots_new needs much of a small stack, too */
    gt_launch_calls calls = gt_launch_calls_of_slots(gt_id_slots_new(ops, list_ids, of_ops));
    int64_t ids[BATCH];
    for (size_t begin = 0; begin < trace->recorded; begin += BATCH) {
        size_t end = begin + BATCH < trace->recorded ? begin + BATCH : trace->recorded;
        gt_store_read_ints(trace->store, GT_EVENT_CORRELATION, begin, end, ids);
        for (size_t row = begin; row < end; row++)
            if (is_call(trace->kind[row]) && ids[row - begin] > 0 && !isnan(trace->start_us[row]))
                gt_launch_calls_add(&calls, ids[row - begin], 0, (uint32_t)row,
                                    gt_event_name(trace, (uint32_t)row));
    }
    return calls;
}

bool gt_is_graph_launch(gt_str call)
{
    return gt_str_contains_nocase(call, "graphlaunch");
}

static void set_call(gt_step_list *list, const gt_event_view *trace, gt_listed_op *op, uint32_t call)
{
    op->call = call;
    if (call == GT_NO_EVENT) return;
    op->call_ns = gt_step_ns(list, trace->start_us[call]);
    op->lane = gt_event_lane(trace, call);
    op->in_graph = gt_is_graph_launch(gt_event_name(trace, call));
}

static void find_ops(gt_step_list *list, const gt_event_view *trace)
{
    gt_row_list rows = gt_rows_where(trace->recorded, is_gpu_event, trace);
    gt_order_rows(rows.items, rows.count, trace->start_us);
    if (rows.count) list->base_ns = gt_step_base_ns(trace->start_us[rows.items[0]]);
    int64_t *ids = gt_alloc(rows.count * sizeof *ids);
    uint32_t *grids = gt_alloc(rows.count * sizeof *grids);
    gt_store_ints_at(trace->store, GT_EVENT_CORRELATION, rows.items, rows.count, ids);
    gt_store_string_ids_at(trace->store, GT_EVENT_GRID, rows.items, rows.count, grids);
    gt_launch_calls calls = list_calls(trace, ids, rows.count);
    list->op_count = rows.count;
    list->ops = gt_alloc_zero(rows.count, sizeof *list->ops);
    for (size_t i = 0; i < rows.count; i++) {
        uint32_t row = rows.items[i];
        gt_step_times_of times = gt_step_row_times(list, trace, row);
        gt_listed_op *op = &list->ops[i];
        *op = (gt_listed_op){.start_ns = times.start_ns,
                             .end_ns = times.end_ns,
                             .row = row,
                             .name = trace->name[row],
                             .grid = grids[i],
                             .step = GT_OUTSIDE_STEPS,
                             .kind = trace->kind[row]};
        op->class = (uint8_t)gt_kernel_classifier_class(list->kernels, op->name);
        set_call(list, trace, op,
                 ids[i] > 0 ? gt_launch_calls_find(&calls, ids[i], 0, op->kind) : GT_NO_EVENT);
    }
    list->rows = gt_row_set_new(trace->count);
    for (size_t i = 0; i < rows.count; i++) gt_row_set_add(&list->rows, rows.items[i]);
    gt_row_set_finish(&list->rows);
    list->op_of_rank = gt_alloc(rows.count * sizeof *list->op_of_rank);
    for (uint32_t i = 0; i < rows.count; i++)
        list->op_of_rank[gt_row_set_rank(&list->rows, rows.items[i])] = i;
    gt_launch_calls_free(&calls);
    gt_free_all(ids, grids, rows.items);
}

/* ---- annotated steps ---- */

typedef struct candidate {
    int64_t start_ns, end_ns;
    uint32_t lane, row;
} candidate;

typedef struct candidates {
    candidate *items;
    size_t count, capacity;
} candidates;

/* By string id: 0 unknown, 1 no step, else its rank + 2. */
static uint8_t rank_of_name(uint8_t *ranks, const gt_event_view *trace, uint32_t row)
{
    uint8_t *rank = &ranks[trace->name[row]];
    gt_step_said said;
    if (!*rank) *rank = gt_step_name_says(gt_event_name(trace, row), &said) ? (uint8_t)(said.rank + 2) : 1;
    return *rank;
}

/* Some versions of PyTorch record the steps of the profiler as ops. */
static bool may_be_step(const gt_event_view *trace, const uint8_t *is_gpu_lane, uint32_t row)
{
    uint8_t kind = trace->kind[row];
    if (isnan(trace->start_us[row])) return false;
    if (kind == GT_KIND_CPU_OP) return gt_is_profiler_step(gt_event_name(trace, row));
    return kind == GT_KIND_ANNOTATION && !is_gpu_lane[gt_event_lane(trace, row)];
}

GT_ORDER_BY(by_lane_and_time, candidate, GT_UP(lane) GT_UP(start_ns) GT_DOWN(end_ns) GT_UP(row))

/* Annotations that are steps by their names, thread by thread; those of the profiler only if there are no
 * others. */
static candidates find_candidates(const gt_step_list *list, const gt_event_view *trace)
{
    candidates found = {0};
    uint8_t *ranks = gt_alloc_zero(gt_interner_count(trace->strings), 1), best = UINT8_MAX;
    uint8_t *is_gpu_lane = gt_alloc_zero(trace->lanes->count, 1);
    for (size_t i = 0; i < list->op_count; i++) is_gpu_lane[gt_event_lane(trace, list->ops[i].row)] = 1;
    for (uint32_t row = 0; row < trace->recorded; row++) {
        if (trace->kind[row] != GT_KIND_ANNOTATION && trace->kind[row] != GT_KIND_CPU_OP) continue;
        if (trace->kind[row] == GT_KIND_CPU_OP && ranks[trace->name[row]] == 1) continue;
        uint8_t rank = rank_of_name(ranks, trace, row);
        if (rank < 2 || !may_be_step(trace, is_gpu_lane, row)) continue;
        gt_step_times_of times = gt_step_row_times(list, trace, row);
        candidate c = {times.start_ns, times.end_ns, gt_event_lane(trace, row), row};
        GT_PUSH(found.items, found.count, found.capacity, c);
        best = rank < best ? rank : best;
    }
    size_t kept = 0;
    for (size_t i = 0; i < found.count; i++)
        if (best == 4 || ranks[trace->name[found.items[i].row]] < 4) found.items[kept++] = found.items[i];
    found.count = kept;
    if (kept) qsort(found.items, kept, sizeof *found.items, by_lane_and_time);
    gt_free_all(ranks, is_gpu_lane);
    return found;
}

/* The trace has steps that verify drafts. */
static bool verifies(const candidates *found, const gt_event_view *trace)
{
    gt_step_said said;
    for (size_t i = 0; i < found->count; i++)
        if (gt_step_name_says(gt_event_name(trace, found->items[i].row), &said) &&
            gt_str_equals(said.mode, "TARGET_VERIFY"))
            return true;
    return false;
}

GT_ORDER_BY(by_host_start, gt_listed_step, GT_UP(host_start_ns) GT_DOWN(host_end_ns) GT_UP(row))

/* A part that says more gives the step its numbers. */
static void add_part(gt_listed_step *step, gt_str name, bool drafts)
{
    gt_step_said said;
    gt_step_kind kind = step->said.kind;
    step->parts++;
    if (!gt_step_name_says(name, &said) || said.rank >= step->said.rank) return;
    step->phase = gt_step_said_phase(&said, drafts);
    step->said = said;
    step->said.kind = kind;
}

static void add_annotated(gt_step_list *list, const gt_event_view *trace)
{
    candidates found = find_candidates(list, trace);
    bool drafts = verifies(&found, trace);
    size_t capacity = 0;
    for (size_t i = 0; i < found.count; i++) {
        const candidate *c = &found.items[i];
        gt_str name = gt_event_name(trace, c->row);
        gt_listed_step *outer = list->count ? &list->steps[list->count - 1] : NULL, step = {.parts = 1};
        if (outer && outer->lane == c->lane && c->start_ns < outer->host_end_ns &&
            c->end_ns <= outer->host_end_ns) {
            add_part(outer, name, drafts);
            continue;
        }
        if (!gt_step_name_says(name, &step.said)) continue;
        step.phase = gt_step_said_phase(&step.said, drafts);
        step.host_start_ns = c->start_ns;
        step.host_end_ns = c->end_ns;
        step.name = trace->name[c->row];
        step.lane = c->lane;
        step.row = c->row;
        GT_PUSH(list->steps, list->count, capacity, step);
    }
    if (list->count) qsort(list->steps, list->count, sizeof *list->steps, by_host_start);
    gt_free(found.items);
}

/* ---- which op belongs to which step ---- */

/* Steps thread by thread. On one thread none is inside another, so their ends are in order, too. */
static uint32_t *steps_by_lane(const gt_step_list *list, size_t lanes, uint32_t *ends)
{
    uint32_t *order = gt_alloc(list->count * sizeof *order);
    memset(ends, 0, (lanes + 1) * sizeof *ends);
    for (size_t i = 0; i < list->count; i++) ends[list->steps[i].lane + 1]++;
    for (size_t lane = 0; lane < lanes; lane++) ends[lane + 1] += ends[lane];
    for (uint32_t i = 0; i < list->count; i++) order[ends[list->steps[i].lane]++] = i;
    return order;
}

/* The step around a call on its own thread. */
static uint32_t step_around(const gt_step_list *list, const uint32_t *order, size_t begin, size_t end,
                            int64_t start_ns, int64_t end_ns)
{
    size_t low = begin;
    while (low < end) {
        size_t middle = low + (end - low) / 2;
        if (list->steps[order[middle]].host_start_ns <= start_ns)
            low = middle + 1;
        else
            end = middle;
    }
    if (low == begin) return GT_OUTSIDE_STEPS;
    const gt_listed_step *step = &list->steps[order[low - 1]];
    return start_ns < step->host_end_ns && end_ns <= step->host_end_ns ? order[low - 1] : GT_OUTSIDE_STEPS;
}

/* Ops that were launched outside of the steps of their thread, by the starts of their calls, get the step
 * that began last and has not ended. */
static void place_by_time(gt_step_list *list, const uint32_t *ops, size_t count)
{
    uint32_t *open = gt_alloc(list->count * sizeof *open);
    size_t depth = 0, next = 0;
    for (size_t i = 0; i < count; i++) {
        gt_listed_op *op = &list->ops[ops[i]];
        for (; next < list->count && list->steps[next].host_start_ns <= op->call_ns; next++)
            open[depth++] = (uint32_t)next;
        while (depth && list->steps[open[depth - 1]].host_end_ns <= op->call_ns) depth--;
        if (depth) op->step = open[depth - 1];
    }
    gt_free(open);
}

static void place_ops(gt_step_list *list, const gt_event_view *trace)
{
    size_t lanes = trace->lanes->count;
    uint32_t *ends = gt_alloc((lanes + 1) * sizeof *ends), *order = steps_by_lane(list, lanes, ends);
    gt_row_list rest = {0};
    double *call_ns = gt_alloc(list->op_count * sizeof *call_ns);
    for (uint32_t i = 0; i < list->op_count; i++) {
        gt_listed_op *op = &list->ops[i];
        call_ns[i] = (double)op->call_ns;
        if (op->call == GT_NO_EVENT) continue;
        int64_t end_ns = gt_step_end_ns(op->call_ns, trace->dur_us[op->call]);
        op->step =
            step_around(list, order, op->lane ? ends[op->lane - 1] : 0, ends[op->lane], op->call_ns, end_ns);
        if (op->step == GT_OUTSIDE_STEPS) GT_PUSH(rest.items, rest.count, rest.capacity, i);
    }
    gt_order_rows(rest.items, rest.count, call_ns);
    place_by_time(list, rest.items, rest.count);
    gt_free_all(rest.items, call_ns, order, ends);
}

/* ---- times ---- */

static void list_ops_of_steps(gt_step_list *list)
{
    gt_map launches = {0};
    for (size_t i = 0; i < list->op_count; i++) {
        const gt_listed_op *op = &list->ops[i];
        gt_listed_step *step = op->step == GT_OUTSIDE_STEPS ? NULL : &list->steps[op->step];
        uint32_t *known = op->in_graph ? gt_map_put(&launches, op->call, 0) : NULL;
        bool is_new = known && *known == GT_MAP_NONE;
        if (is_new) *known = 1;
        list->graph_launches += is_new;
        if (!step) continue;
        step->op_count++;
        step->graph_ops += op->in_graph;
        step->graph_launches += is_new;
    }
    gt_map_free(&launches);
    size_t total = 0;
    for (size_t i = 0; i < list->count; i++) {
        list->steps[i].first_op = total;
        total += list->steps[i].op_count;
        list->steps[i].op_count = 0;
    }
    list->of_steps = gt_alloc(total * sizeof *list->of_steps);
    for (uint32_t i = 0; i < list->op_count; i++) {
        gt_listed_step *step = list->ops[i].step == GT_OUTSIDE_STEPS ? NULL : &list->steps[list->ops[i].step];
        if (step) list->of_steps[step->first_op + step->op_count++] = i;
    }
}

int64_t gt_step_ops_union(const gt_step_list *list, const uint32_t *ops, size_t count)
{
    int64_t sum_ns = 0, end_ns = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        const gt_listed_op *op = &list->ops[ops[i]];
        if (op->end_ns <= end_ns) continue;
        sum_ns += op->end_ns - (op->start_ns > end_ns ? op->start_ns : end_ns);
        end_ns = op->end_ns;
    }
    return sum_ns;
}

static void measure_ops(gt_step_list *list, gt_listed_step *step, uint32_t *spare)
{
    const uint32_t *ops = list->of_steps + step->first_op;
    size_t comm = 0;
    step->gpu_start_ns = list->ops[ops[0]].start_ns;
    step->gpu_end_ns = list->ops[ops[0]].end_ns;
    for (size_t i = 0; i < step->op_count; i++) {
        const gt_listed_op *op = &list->ops[ops[i]];
        if (op->end_ns > step->gpu_end_ns) step->gpu_end_ns = op->end_ns;
        if (op->class == GT_CLASS_COMM) spare[comm++] = ops[i];
    }
    step->busy_ns = gt_step_ops_union(list, ops, step->op_count);
    step->comm_ns = gt_step_ops_union(list, spare, comm);
}

static int by_gpu_start(const void *left, const void *right, void *context)
{
    const gt_listed_step *steps = context, *a = &steps[*(const uint32_t *)left],
                         *b = &steps[*(const uint32_t *)right];
    if (a->gpu_start_ns != b->gpu_start_ns) return a->gpu_start_ns < b->gpu_start_ns ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* Ops outside of all steps, joined: they are the only ones that can run between two steps, because what is
 * before has ended and what follows has not begun. */
typedef struct span {
    int64_t start_ns, end_ns;
} span;

static span *join_outside(const gt_step_list *list, size_t *count)
{
    span *spans = NULL;
    size_t capacity = 0;
    *count = 0;
    for (size_t i = 0; i < list->op_count; i++) {
        const gt_listed_op *op = &list->ops[i];
        if (op->step != GT_OUTSIDE_STEPS) continue;
        if (*count && op->start_ns <= spans[*count - 1].end_ns) {
            if (op->end_ns > spans[*count - 1].end_ns) spans[*count - 1].end_ns = op->end_ns;
            continue;
        }
        span s = {op->start_ns, op->end_ns};
        GT_PUSH(spans, *count, capacity, s);
    }
    return spans;
}

static void measure_intervals(gt_step_list *list)
{
    size_t spans, at = 0;
    span *outside = join_outside(list, &spans);
    int64_t before_ns = 0;
    for (size_t i = 0; i < list->on_gpu_count; i++) {
        gt_listed_step *step = &list->steps[list->on_gpu[i]];
        step->has_interval = i > 0;
        if (!i) {
            before_ns = step->gpu_end_ns;
            continue;
        }
        int64_t start_ns = step->gpu_start_ns, end_ns = step->gpu_end_ns;
        step->before_ns = before_ns;
        step->overlap_ns = before_ns > start_ns ? before_ns - start_ns : 0;
        while (at < spans && outside[at].end_ns <= before_ns) at++;
        for (size_t k = at; k < spans && outside[k].start_ns < start_ns; k++) {
            int64_t from_ns = outside[k].start_ns > before_ns ? outside[k].start_ns : before_ns;
            int64_t to_ns = outside[k].end_ns < start_ns ? outside[k].end_ns : start_ns;
            if (to_ns > from_ns) step->outside_ns += to_ns - from_ns;
        }
        step->gap_ns = (start_ns > before_ns ? start_ns - before_ns : 0) - step->outside_ns;
        step->interval_ns = end_ns > before_ns ? end_ns - before_ns : 0;
        before_ns = end_ns > before_ns ? end_ns : before_ns;
    }
    gt_free(outside);
}

static void measure(gt_step_list *list)
{
    uint32_t *spare = gt_alloc(list->op_count * sizeof *spare);
    list->on_gpu = gt_alloc(list->count * sizeof *list->on_gpu);
    for (uint32_t i = 0; i < list->count; i++) {
        list->of_phase[list->steps[i].phase]++;
        if (!list->steps[i].op_count) continue;
        measure_ops(list, &list->steps[i], spare);
        list->on_gpu[list->on_gpu_count++] = i;
    }
    gt_free(spare);
    if (list->on_gpu_count)
        qsort_r(list->on_gpu, list->on_gpu_count, sizeof *list->on_gpu, by_gpu_start, list->steps);
    measure_intervals(list);
}

/* ---- the size of the graph ---- */

/* 8 of "[8,1,1]"; 0 if it is no such text. */
static int64_t first_of_grid(gt_str grid)
{
    int64_t number = 0;
    for (size_t i = 1; i < grid.len && grid.bytes[i] >= '0' && grid.bytes[i] <= '9'; i++)
        if (number < INT32_MAX) number = number * 10 + (grid.bytes[i] - '0');
    return number;
}

/* Kernels of class norm have one block per row, so their grid tells the batch size that the graph was
 * captured for: the most frequent one, the first of equals. */
static void find_padded(gt_step_list *list, const gt_event_view *trace, gt_listed_step *step)
{
    enum { GRIDS = 64, MOST = 64 };
    uint32_t grids[GRIDS], counts[GRIDS], kinds = 0, best = 0;
    for (size_t i = 0; i < step->op_count; i++) {
        const gt_listed_op *op = &list->ops[list->of_steps[step->first_op + i]];
        if (!op->in_graph || op->class != GT_CLASS_NORM || op->grid == GT_STR_NONE) continue;
        uint32_t rows = (uint32_t)first_of_grid(gt_interner_get(trace->strings, op->grid)), k = 0;
        while (k < kinds && grids[k] != rows) k++;
        if (k == GRIDS) continue;
        if (k == kinds) grids[kinds++] = rows, counts[k] = 0;
        counts[k]++;
    }
    for (uint32_t k = 1; k < kinds; k++)
        if (counts[k] > counts[best]) best = k;
    int64_t tokens = step->said.generation_tokens;
    if (tokens == GT_STEP_UNKNOWN) tokens = step->said.generation_requests;
    if (!kinds) return;
    int64_t most = 4 * tokens > MOST ? 4 * tokens : MOST;
    if (tokens == GT_STEP_UNKNOWN || (tokens <= grids[best] && grids[best] <= most))
        step->padded = grids[best];
}

/* ---- all of it ---- */

gt_step_list *gt_step_list_find(const gt_event_view *trace)
{
    gt_step_list *list = gt_alloc_zero(1, sizeof *list);
    list->kernels = gt_kernel_classifier_new(trace->strings);
    find_ops(list, trace);
    add_annotated(list, trace);
    if (list->count)
        place_ops(list, trace);
    else
        gt_step_list_infer(list, trace);
    list_ops_of_steps(list);
    for (size_t i = 0; i < list->count; i++) {
        list->steps[i].padded = GT_STEP_UNKNOWN;
        find_padded(list, trace, &list->steps[i]);
    }
    measure(list);
    gt_step_list_find_capture(list, trace);
    return list;
}

void gt_step_list_free(gt_step_list *list)
{
    if (!list) return;
    gt_kernel_classifier_free(list->kernels);
    gt_free_all(list->steps, list->on_gpu, list->ops);
    gt_row_set_free(&list->rows);
    gt_free_all(list->op_of_rank, list->of_steps, list);
}

bool gt_step_list_serves(const gt_step_list *list)
{
    return list->count > list->of_phase[GT_SERVING_STEP];
}

uint32_t gt_step_list_of_row(const gt_step_list *list, uint32_t row)
{
    uint32_t rank = gt_row_set_rank(&list->rows, row);
    return rank == GT_NO_RANK ? GT_OUTSIDE_STEPS : list->ops[list->op_of_rank[rank]].step;
}
