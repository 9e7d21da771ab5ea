/* Steps of a trace without annotations: from the calls in which the host waits for the GPU.
 *
 * A loop that generates tokens or trains reads something back in every step: the next token, the loss. Such a
 * call ends when the GPU has finished the step, and what the host launches after it is the next one:
 *
 *     host   launch launch launch |wait........|launch launch launch |wait........|
 *     GPU           |--- step 1 ---------------|      |--- step 2 ----------------|
 *
 * Small reads inside a step, such as a test whether all requests are done, separate little work: that joins
 * the step that follows. If a step has several waits of the same size, the kernels between them repeat with a
 * period, and so many of them are one step.
 *
 * Some servers wait on another thread than the one that launches. Then the copies to the host count instead.
 * If what was found does not repeat, or is not nearly all of the GPU's time, there are no steps. */
#include "analysis/serving/step_parts.h"

#include "trace/name_reader.h"

/* The ops [begin, end) of `ops`, and when the wait that ends them was over. */
typedef struct piece {
    size_t begin, end;
    int64_t cut_ns;
    double weight_ns;   /* sum of the durations of its ops */
    uint32_t signature; /* a string id of `signatures` */
} piece;

typedef struct inference {
    gt_step_list *list;
    const gt_event_view *trace;
    uint32_t lane; /* of the thread that launched most ops */
    uint32_t *ops; /* its ops, by the starts of their calls */
    size_t op_count;
    piece *pieces;
    size_t count, capacity;
    gt_interner *signatures; /* the sorted stems of kernels, as bytes */
    gt_map alike;            /* by two signatures: 1 or 0 */
} inference;

static double op_ns(const gt_listed_op *op)
{
    return (double)(op->end_ns - op->start_ns);
}

/* ---- the thread and its ops ---- */

static bool find_lane(inference *in)
{
    const gt_step_list *list = in->list;
    size_t *launched = gt_alloc_zero(in->trace->lanes->count + 1, sizeof *launched);
    in->lane = GT_NO_EVENT;
    for (size_t i = 0; i < list->op_count; i++)
        if (list->ops[i].call != GT_NO_EVENT) launched[list->ops[i].lane]++;
    for (size_t i = 0; i < list->op_count; i++) /* in their order, so that the first of equals counts */
        if (list->ops[i].call != GT_NO_EVENT &&
            (in->lane == GT_NO_EVENT || launched[list->ops[i].lane] > launched[in->lane]))
            in->lane = list->ops[i].lane;
    gt_free(launched);
    return in->lane != GT_NO_EVENT;
}

static void list_own_ops(inference *in)
{
    const gt_step_list *list = in->list;
    double *call_ns = gt_alloc(list->op_count * sizeof *call_ns);
    in->ops = gt_alloc(list->op_count * sizeof *in->ops);
    for (uint32_t i = 0; i < list->op_count; i++) {
        call_ns[i] = (double)list->ops[i].call_ns;
        if (list->ops[i].call != GT_NO_EVENT && list->ops[i].lane == in->lane) in->ops[in->op_count++] = i;
    }
    gt_order_rows(in->ops, in->op_count, call_ns);
    gt_free(call_ns);
}

/* ---- cuts ---- */

static bool reads_back(const inference *in, const gt_listed_op *op)
{
    return op->kind == GT_KIND_MEMCPY &&
           gt_str_contains(gt_interner_get(in->trace->strings, op->name), "DtoH");
}

static bool waits(gt_str call)
{
    return gt_str_ends_with(call, "StreamSynchronize") || gt_str_ends_with(call, "DeviceSynchronize") ||
           gt_str_ends_with(call, "EventSynchronize") || gt_str_ends_with(call, "CtxSynchronize");
}

static int64_t end_of(const inference *in, uint32_t row)
{
    return gt_step_row_times(in->list, in->trace, row).end_ns;
}

/* When waits were over, ascending; with only_copies when calls that copy to the host returned. */
static int64_t *find_cuts(const inference *in, bool only_copies, size_t *count)
{
    const gt_event_view *trace = in->trace;
    int64_t *cuts = NULL;
    size_t capacity = 0;
    *count = 0;
    for (uint32_t row = 0; !only_copies && row < trace->recorded; row++) {
        if ((trace->kind[row] != GT_KIND_RUNTIME && trace->kind[row] != GT_KIND_DRIVER) ||
            gt_event_lane(trace, row) != in->lane || isnan(trace->start_us[row]))
            continue;
        if (waits(gt_event_name(trace, row))) GT_PUSH(cuts, *count, capacity, end_of(in, row));
    }
    for (size_t i = 0; i < in->op_count; i++) {
        const gt_listed_op *op = &in->list->ops[in->ops[i]];
        if (!reads_back(in, op)) continue;
        if (only_copies || !gt_str_ends_with(gt_event_name(trace, op->call), "Async"))
            GT_PUSH(cuts, *count, capacity, end_of(in, op->call));
    }
    if (*count) qsort(cuts, *count, sizeof *cuts, gt_by_i64);
    return cuts;
}

static void add_piece(inference *in, size_t begin, size_t end, int64_t cut_ns)
{
    piece p = {.begin = begin, .end = end, .cut_ns = cut_ns};
    for (size_t i = begin; i < end; i++) p.weight_ns += op_ns(&in->list->ops[in->ops[i]]);
    GT_PUSH(in->pieces, in->count, in->capacity, p);
}

static void cut(inference *in, const int64_t *cuts, size_t cut_count)
{
    size_t begin = 0, next = 0;
    int64_t last_ns = INT64_MIN; /* the latest end of the calls of the piece */
    in->count = 0;
    for (size_t i = 0; i < in->op_count; i++) {
        const gt_listed_op *op = &in->list->ops[in->ops[i]];
        for (; next < cut_count && cuts[next] <= op->call_ns; next++) {
            if (i == begin) continue;
            add_piece(in, begin, i, cuts[next]);
            begin = i;
            last_ns = INT64_MIN;
        }
        int64_t end_ns = end_of(in, op->call);
        if (end_ns > last_ns) last_ns = end_ns;
    }
    if (begin < in->op_count) add_piece(in, begin, in->op_count, next < cut_count ? cuts[next] : last_ns);
}

/* ---- trifles ---- */

/* The weight at which the weights in ascending order reach half of their sum. */
static double typical_weight(const inference *in)
{
    double *weights = gt_alloc(in->count * sizeof *weights), sum = 0, reached = 0, typical = 0;
    for (size_t i = 0; i < in->count; i++) sum += weights[i] = in->pieces[i].weight_ns;
    qsort(weights, in->count, sizeof *weights, gt_by_double);
    for (size_t i = 0; i < in->count; i++) {
        typical = weights[i];
        if (2 * (reached += typical) >= sum) break;
    }
    gt_free(weights);
    return typical;
}

static void join_trifles(inference *in)
{
    double typical = typical_weight(in), joined_ns = 0;
    size_t count = 0, begin = 0, last = in->pieces[in->count - 1].end;
    for (size_t i = 0; i < in->count; i++) {
        piece p = in->pieces[i];
        joined_ns += p.weight_ns;
        if (p.weight_ns * 10 < typical) continue;
        in->pieces[count++] = (piece){begin, p.end, p.cut_ns, joined_ns, GT_STR_NONE};
        begin = p.end;
        joined_ns = 0;
    }
    in->count = count;
    if (!count) return;
    in->pieces[count - 1].end = last;
    in->pieces[count - 1].weight_ns += joined_ns;
}

/* ---- repetition ---- */

static void set_signatures(inference *in)
{
    uint32_t *stems = gt_alloc(in->op_count * sizeof *stems);
    for (size_t i = 0; i < in->count; i++) {
        piece *p = &in->pieces[i];
        size_t count = 0, distinct = 0;
        for (size_t k = p->begin; k < p->end; k++)
            stems[count++] = gt_kernel_classifier_stem(in->list->kernels, in->list->ops[in->ops[k]].name);
        qsort(stems, count, sizeof *stems, gt_by_u32);
        for (size_t k = 0; k < count; k++)
            if (!k || stems[k] != stems[k - 1]) stems[distinct++] = stems[k];
        p->signature = gt_interner_add(in->signatures, stems, distinct * sizeof *stems);
    }
    gt_free(stems);
}

/* At least 4 of 5 stems that one of the two has are in both. */
static bool compare(const inference *in, uint32_t left, uint32_t right)
{
    gt_str a = gt_interner_get(in->signatures, left), b = gt_interner_get(in->signatures, right);
    size_t i = 0, k = 0, common = 0, all = 0;
    while (i < a.len || k < b.len) {
        uint32_t x = UINT32_MAX, y = UINT32_MAX;
        if (i < a.len) memcpy(&x, a.bytes + i, sizeof x);
        if (k < b.len) memcpy(&y, b.bytes + k, sizeof y);
        common += x == y;
        all++;
        i += x <= y ? sizeof x : 0;
        k += y <= x ? sizeof y : 0;
    }
    return common * 5 >= all * 4;
}

static bool are_alike(inference *in, size_t i, size_t k)
{
    uint32_t a = in->pieces[i].signature, b = in->pieces[k].signature;
    if (a == b) return true;
    uint32_t *known = gt_map_put(&in->alike, a < b ? a : b, a < b ? b : a);
    if (*known == GT_MAP_NONE) *known = compare(in, a, b);
    return *known;
}

/* How many pieces are like the one `distance` after it. */
static size_t count_alike(inference *in, size_t distance)
{
    size_t count = 0;
    for (size_t i = 0; i + distance < in->count; i++) count += are_alike(in, i, i + distance);
    return count;
}

/* How many pieces are one step. */
static size_t find_period(inference *in)
{
    enum { LONGEST = 8 };
    for (size_t period = 2; period <= LONGEST && in->count >= 3 * period; period++)
        if (count_alike(in, period) * 10 >= 9 * (in->count - period) && count_alike(in, 1) * 10 < in->count)
            return period;
    return 1;
}

static void join_periods(inference *in, size_t period)
{
    size_t count = 0;
    for (size_t i = 0; i < in->count; i += period) {
        size_t last = (i + period < in->count ? i + period : in->count) - 1;
        piece p = {in->pieces[i].begin, in->pieces[last].end, in->pieces[last].cut_ns, 0, GT_STR_NONE};
        for (size_t k = i; k <= last; k++) p.weight_ns += in->pieces[k].weight_ns;
        in->pieces[count++] = p;
    }
    in->count = count;
    set_signatures(in);
}

/* Whether another piece nearby is like this one. */
static bool repeats(inference *in, size_t i)
{
    enum { NEAR = 64 };
    for (size_t distance = 1; distance <= NEAR; distance++) {
        if (distance <= i && are_alike(in, i, i - distance)) return true;
        if (i + distance < in->count && are_alike(in, i, i + distance)) return true;
    }
    return false;
}

static bool are_steps(inference *in)
{
    double all_ns = 0, own_ns = 0;
    size_t repeated = 0;
    for (size_t i = 0; i < in->list->op_count; i++) all_ns += op_ns(&in->list->ops[i]);
    for (size_t i = 0; i < in->count; i++) own_ns += in->pieces[i].weight_ns;
    if (in->count < 3 || own_ns * 5 < all_ns * 4) return false;
    for (size_t i = 0; i < in->count; i++) repeated += repeats(in, i);
    return repeated * 3 >= in->count * 2;
}

static bool find_pieces(inference *in, bool only_copies)
{
    size_t cut_count;
    int64_t *cuts = find_cuts(in, only_copies, &cut_count);
    cut(in, cuts, cut_count);
    gt_free(cuts);
    if (in->count < 3) return false;
    join_trifles(in);
    set_signatures(in);
    size_t period = find_period(in);
    if (period > 1) join_periods(in, period);
    return are_steps(in);
}

/* ---- what the host did around calls ---- */

/* An event of the thread that contains a call of interest. */
typedef struct around {
    int64_t start_ns, end_ns;
    uint32_t row; /* GT_NO_EVENT: a Python function */
    size_t order; /* among equal times */
    uint8_t kind;
} around;

/* A call of interest: the first of a step, or that of its last copy to the host. */
typedef struct question {
    int64_t start_ns, end_ns;
    size_t step;
    bool is_copy;
} question;

typedef struct questions {
    inference *in;
    question *items; /* by start */
    size_t count, capacity;
    around *events;
    size_t event_count, event_capacity;
    uint32_t *copied_by; /* by step: the row of the op around the copy; GT_NO_EVENT */
} questions;

static int by_time(const void *left, const void *right)
{
    const question *a = left, *b = right;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    return a->is_copy - b->is_copy;
}

GT_ORDER_BY(by_nesting, around, GT_UP(start_ns) GT_DOWN(end_ns) GT_UP(order))

static void ask(questions *q, uint32_t call, size_t step, bool is_copy)
{
    gt_step_times_of times = gt_step_row_times(q->in->list, q->in->trace, call);
    GT_PUSH(q->items, q->count, q->capacity, ((question){times.start_ns, times.end_ns, step, is_copy}));
}

static void ask_all(questions *q)
{
    inference *in = q->in;
    for (size_t i = 0; i < in->count; i++) {
        const piece *p = &in->pieces[i];
        ask(q, in->list->ops[in->ops[p->begin]].call, i, false);
        for (size_t k = p->end; k-- > p->begin;) {
            const gt_listed_op *op = &in->list->ops[in->ops[k]];
            if (!reads_back(in, op)) continue;
            ask(q, op->call, i, true);
            break;
        }
    }
    qsort(q->items, q->count, sizeof *q->items, by_time);
}

/* Keeps an event if a call of interest may be in it. */
static void consider(questions *q, double start_us, double dur_us, uint32_t row, uint8_t kind)
{
    int64_t start_ns = gt_step_ns(q->in->list, start_us), end_ns = gt_step_end_ns(start_ns, dur_us);
    size_t low = 0, high = q->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (q->items[middle].start_ns < start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == q->count || q->items[low].start_ns >= end_ns) return;
    around event = {start_ns, end_ns, row, q->event_count, kind};
    GT_PUSH(q->events, q->event_count, q->event_capacity, event);
}

static void find_events(questions *q)
{
    const gt_event_view *trace = q->in->trace;
    gt_lane_ids lane = trace->lanes->ids[q->in->lane];
    for (uint32_t row = 0; row < trace->recorded; row++) {
        uint8_t kind = trace->kind[row];
        if ((gt_kind_is_host(kind) || kind == GT_KIND_ANNOTATION) && !isnan(trace->start_us[row]) &&
            gt_event_lane(trace, row) == q->in->lane)
            consider(q, trace->start_us[row], trace->dur_us[row], row, kind);
    }
    gt_frame_block block;
    const unsigned columns = GT_FRAMES_THREAD | GT_FRAMES_START | GT_FRAMES_DURATION;
    for (size_t first = 0; gt_frames_read(trace->frames, first, columns, &block); first += block.count)
        for (size_t i = 0; i < block.count; i++)
            if (block.process[i] == lane.process && block.thread[i] == lane.thread &&
                !isnan(block.start_us[i]))
                consider(q, block.start_us[i], block.dur_us[i], GT_NO_EVENT, GT_KIND_PYTHON);
    qsort(q->events, q->event_count, sizeof *q->events, by_nesting);
}

static void answer(questions *q, const question *asked, const around *open, size_t depth)
{
    inference *in = q->in;
    gt_listed_step *step = &in->list->steps[asked->step];
    if (asked->is_copy) {
        while (depth && open[depth - 1].kind != GT_KIND_CPU_OP) depth--;
        q->copied_by[asked->step] = depth ? open[depth - 1].row : GT_NO_EVENT;
        return;
    }
    int64_t from_ns = asked->step ? in->pieces[asked->step - 1].cut_ns : INT64_MIN;
    int64_t until_ns = asked->step ? INT64_MAX : in->pieces[0].cut_ns;
    for (size_t i = 0; i < depth; i++) {
        if (open[i].start_ns < from_ns || open[i].end_ns > until_ns) continue;
        if (open[i].start_ns < step->host_start_ns) step->host_start_ns = open[i].start_ns;
        return;
    }
}

/* The events around a call are those that are open when it starts and end after it. */
static void answer_all(questions *q)
{
    around *open = gt_alloc((q->event_count + 1) * sizeof *open);
    size_t depth = 0, next = 0;
    for (size_t i = 0; i < q->count; i++) {
        const question *asked = &q->items[i];
        for (; next < q->event_count && q->events[next].start_ns <= asked->start_ns; next++) {
            const around *event = &q->events[next];
            if (event->end_ns < asked->end_ns && event->start_ns == asked->start_ns) continue; /* inside it */
            while (depth &&
                   (open[depth - 1].end_ns <= event->start_ns || open[depth - 1].end_ns < event->end_ns))
                depth--;
            open[depth++] = *event;
        }
        while (depth && (open[depth - 1].end_ns <= asked->start_ns || open[depth - 1].end_ns < asked->end_ns))
            depth--;
        answer(q, asked, open, depth);
    }
    gt_free(open);
}

/* ---- what a step did ---- */

/* The dimensions of an input. */
typedef struct shape {
    size_t count;
    int64_t product, one_before_last;
} shape;

/* Of input number `index` in Input Dims such as "[[8,16,1,64],[8]]". */
static bool read_shape(gt_str json, size_t index, shape *s)
{
    const int64_t most = INT64_C(1) << 52;
    gt_name_reader r = gt_name_read(json);
    if (!gt_name_skip(&r, "[")) return false;
    for (size_t i = 0;; i++) {
        int64_t last = GT_STEP_UNKNOWN, number;
        *s = (shape){0, 1, GT_STEP_UNKNOWN};
        if (!gt_name_skip(&r, "[")) return false;
        while (gt_name_number(&r, &number)) {
            s->one_before_last = last;
            last = number;
            s->product = number && s->product > most / number ? most : s->product * number;
            s->count++;
            if (!gt_name_skip(&r, ",")) break;
        }
        if (!gt_name_skip(&r, "]")) return false;
        if (i == index) return true;
        if (!gt_name_skip(&r, ",")) return false;
    }
}

static bool shape_of(const gt_event_view *trace, uint32_t row, size_t index, shape *s)
{
    uint32_t json;
    gt_store_string_ids_at(trace->store, GT_EVENT_INPUT_DIMS, &row, 1, &json);
    return read_shape(gt_interner_get(trace->strings, json), index, s);
}

/* What ops of a step say. */
typedef struct clues {
    int64_t queries, tokens; /* GT_STEP_UNKNOWN */
} clues;

/* The first op of the thread, launched by a call in this time and not by a graph; GT_OUTSIDE_STEPS. */
static uint32_t step_below(const inference *in, gt_step_times_of times)
{
    size_t low = 0, high = in->op_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (in->list->ops[in->ops[middle]].call_ns < times.start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < in->op_count; low++) {
        const gt_listed_op *op = &in->list->ops[in->ops[low]];
        if (op->call_ns >= times.end_ns) break;
        if (!op->in_graph && end_of(in, op->call) <= times.end_ns) return op->step;
    }
    return GT_OUTSIDE_STEPS;
}

static clues *find_clues(const inference *in)
{
    const gt_event_view *trace = in->trace;
    clues *found = gt_alloc(in->count * sizeof *found);
    for (size_t i = 0; i < in->count; i++) found[i] = (clues){GT_STEP_UNKNOWN, GT_STEP_UNKNOWN};
    static const char attention[] = "aten::scaled_dot_product_attention", embedding[] = "aten::embedding";
    uint32_t attends = gt_interner_find(trace->strings, attention, strlen(attention));
    uint32_t embeds = gt_interner_find(trace->strings, embedding, strlen(embedding));
    for (uint32_t row = 0; row < trace->recorded; row++) {
        uint32_t name = trace->name[row];
        if (trace->kind[row] != GT_KIND_CPU_OP || name == GT_STR_NONE ||
            (name != attends && name != embeds) || isnan(trace->start_us[row]) ||
            gt_event_lane(trace, row) != in->lane)
            continue;
        shape first, second;
        uint32_t step = step_below(in, gt_step_row_times(in->list, trace, row));
        if (step == GT_OUTSIDE_STEPS || !shape_of(trace, row, 0, &first) || !shape_of(trace, row, 1, &second))
            continue;
        clues *c = &found[step];
        if (name == embeds && c->tokens == GT_STEP_UNKNOWN) c->tokens = second.product;
        if (name == attends && first.count >= 2 && c->queries == GT_STEP_UNKNOWN)
            c->queries = first.one_before_last;
    }
    return found;
}

/* What the last copy to the host says: a token per request. */
static int64_t requests_of(const gt_event_view *trace, uint32_t op)
{
    shape s;
    if (op == GT_NO_EVENT) return GT_STEP_UNKNOWN;
    if (gt_str_equals(gt_event_name(trace, op), "aten::_local_scalar_dense")) return 1;
    return shape_of(trace, op, 0, &s) && s.count ? s.product : GT_STEP_UNKNOWN;
}

static void set_phase(gt_listed_step *step, const clues *c, int64_t requests)
{
    gt_step_said *said = &step->said;
    step->phase = GT_SERVING_STEP;
    if (step->graph_ops * 2 >= step->op_count || c->queries == 1)
        step->phase = GT_SERVING_DECODE;
    else if (c->queries != GT_STEP_UNKNOWN)
        step->phase = GT_SERVING_PREFILL;
    if (step->phase == GT_SERVING_STEP) return;
    bool decodes = step->phase == GT_SERVING_DECODE;
    said->context_requests = decodes ? 0 : requests;
    said->context_tokens = decodes ? 0 : c->tokens;
    said->generation_requests = said->generation_tokens = decodes ? requests : 0;
}

/* ---- steps ---- */

static void add_steps(inference *in, gt_step_kind kind)
{
    gt_step_list *list = in->list;
    list->count = in->count;
    list->steps = gt_alloc_zero(in->count, sizeof *list->steps);
    for (size_t i = 0; i < in->count; i++) {
        const piece *p = &in->pieces[i];
        gt_listed_step *step = &list->steps[i];
        step->lane = in->lane;
        step->row = GT_NO_EVENT;
        step->is_inferred = true;
        step->parts = 1;
        step->said = (gt_step_said){
            kind,           1, {"", 0}, GT_STEP_UNKNOWN, GT_STEP_UNKNOWN, GT_STEP_UNKNOWN, GT_STEP_UNKNOWN,
            GT_STEP_UNKNOWN};
        step->host_start_ns = list->ops[in->ops[p->begin]].call_ns;
        step->host_end_ns = p->cut_ns;
        for (size_t k = p->begin; k < p->end; k++) {
            list->ops[in->ops[k]].step = (uint32_t)i;
            step->op_count++;
            step->graph_ops += list->ops[in->ops[k]].in_graph;
        }
    }
}

static void describe_steps(inference *in)
{
    gt_step_list *list = in->list;
    questions q = {.in = in, .copied_by = gt_no_events(in->count)};
    ask_all(&q);
    find_events(&q);
    answer_all(&q);
    clues *found = find_clues(in);
    for (size_t i = 0; i < list->count; i++) {
        set_phase(&list->steps[i], &found[i], requests_of(in->trace, q.copied_by[i]));
        list->steps[i].op_count = list->steps[i].graph_ops = 0; /* counted again with all others */
    }
    gt_free_all(found, q.items, q.events, q.copied_by);
}

void gt_step_list_infer(gt_step_list *list, const gt_event_view *trace)
{
    inference in = {.list = list, .trace = trace, .signatures = gt_interner_new()};
    if (find_lane(&in)) {
        list_own_ops(&in);
        bool by_waits = find_pieces(&in, false);
        if (by_waits || find_pieces(&in, true)) {
            add_steps(&in, by_waits ? GT_STEP_WAITS : GT_STEP_READ_BACKS);
            describe_steps(&in);
        }
    }
    gt_free_all(in.ops, in.pieces);
    gt_interner_free(in.signatures);
    gt_map_free(&in.alike);
}
