/* What is kept of one rank's schedule: its collectives with the time at which each was ready and what it
 * depended on, its time by kernel, and what the GPU waited for when no kernel but a collective ran.
 *
 * The base of an op is the collective on whose end it waited last, directly or through other ops and the
 * host. It is followed along what decides when each op starts (gt_op_start):
 *
 *     optimizer (waits for coll 4) -> host synchronises with it -> loads data -> launches forward -> ...
 *     base: coll 4                    coll 4                                     coll 4
 *
 * An op that starts when its launch allows has the base of the host at that launch; the host has the base of
 * the op that it waited for last. */
#include "findings/ranks/chains.h"

#include "findings/ranks/find.h"
#include "findings/ranks/served.h"
#include "schema/columns.h"

typedef struct walk {
    const gt_schedule *s;
    gt_rank_facts *facts;
    uint32_t *number;         /* by op: the collective that it is; GT_NONE */
    uint32_t *base;           /* by op: its base */
    uint32_t *host_base;      /* by point: the base of the host at its start */
    uint32_t *compute_before; /* by point: the last op launched before it that is no collective; GT_NONE */
} walk;

/* ---- bases ---- */

/* Rows are in file order, which is that of their numbers. */
static void number_collectives(walk *w, const uint32_t *rows, size_t count)
{
    for (size_t i = 0; i < w->s->op_count; i++) {
        const uint32_t *found = w->s->ops[i].communicates && count
                                    ? bsearch(&w->s->ops[i].row, rows, count, sizeof *rows, gt_by_u32)
                                    : NULL;
        if (found) w->number[i] = (uint32_t)(found - rows);
    }
}

/* The base of what waits for this op. */
static uint32_t base_after(const walk *w, uint32_t op)
{
    if (op == GT_NONE) return GT_NONE;
    return w->number[op] != GT_NONE ? w->number[op] : w->base[op];
}

static uint32_t base_of_op(const walk *w, const gt_gpu_op *op)
{
    switch (op->begins) {
    case GT_START_HOST:
        return op->point == GT_NONE ? GT_NONE : w->host_base[op->point];
    case GT_START_QUEUE:
        return base_after(w, op->previous);
    case GT_START_DEPENDENCY:
        return base_after(w, op->dependency);
    default:
        return GT_NONE;
    }
}

/* Points and ops in order of time; the wait of a point is over before the next point begins. */
static void find_bases(walk *w)
{
    const gt_schedule *s = w->s;
    uint32_t host = GT_NONE, compute = GT_NONE;
    size_t p = 0;
    for (size_t i = 0; i <= s->op_count; i++) {
        for (; p < s->point_count && (i == s->op_count || s->points[p].base_ns <= s->ops[i].start_ns); p++) {
            const gt_host_point *before = p ? &s->points[p - 1] : NULL;
            if (before && before->awaited != GT_NONE && before->wait_ns > 0)
                host = base_after(w, before->awaited);
            w->host_base[p] = host;
            w->compute_before[p] = compute;
            for (uint32_t k = 0; k < s->points[p].op_count; k++) {
                uint32_t op = s->point_ops[s->points[p].first_op + k];
                if (!s->ops[op].communicates) compute = op;
            }
        }
        if (i < s->op_count) w->base[i] = base_of_op(w, &s->ops[i]);
    }
}

/* ---- collectives ---- */

/* A collective that follows another one on its stream may have been ready long before it started: when the
 * last op launched before it was done. */
static void find_ready(const walk *w, const gt_gpu_op *op, gt_rank_collective *c)
{
    const gt_schedule *s = w->s;
    c->ready_ns = c->start_ns;
    bool follows_another =
        op->begins == GT_START_QUEUE && op->previous != GT_NONE && s->ops[op->previous].communicates;
    if (!follows_another || op->point == GT_NONE) return;
    int64_t launched = s->points[op->point].base_ns + s->launch_ns;
    uint32_t compute = w->compute_before[op->point];
    int64_t ready = launched;
    c->base = w->host_base[op->point];
    int64_t computed = compute == GT_NONE ? INT64_MIN : s->ops[compute].end_ns;
    if (computed >= launched && computed <= c->start_ns + GT_CLOCK_ERROR_NS) {
        ready = computed;
        c->base = base_after(w, compute);
    }
    if (ready < c->start_ns) c->ready_ns = ready;
}

static void fill_collectives(walk *w)
{
    const gt_schedule *s = w->s;
    gt_rank_facts *f = w->facts;
    for (size_t i = 0; i < f->collective_count; i++)
        f->collectives[i] = (gt_rank_collective){.base = GT_NONE, .step = -1, .stream = GT_NONE};
    for (size_t i = 0; i < s->op_count; i++) {
        const gt_gpu_op *op = &s->ops[i];
        if (w->number[i] == GT_NONE) continue;
        gt_rank_collective *c = &f->collectives[w->number[i]];
        *c = (gt_rank_collective){.start_ns = op->start_ns,
                                  .end_ns = op->end_ns,
                                  .base = w->base[i],
                                  .stream = op->stream,
                                  .step = op->step,
                                  .in_window = gt_window_has(&s->window, op->start_ns)};
        find_ready(w, op, c);
    }
    /* What is not before the collective cannot be its base: the trace is damaged. */
    for (size_t i = 0; i < f->collective_count; i++) {
        gt_rank_collective *c = &f->collectives[i];
        if (c->base != GT_NONE && f->collectives[c->base].start_ns >= c->start_ns) c->base = GT_NONE;
    }
}

/* Most traces have no sends and receives. */
static void add_peers(gt_rank_facts *f, const gt_schedule *s, const uint32_t *rows, size_t column)
{
    int64_t *ranks = gt_store_ints(s->trace->store, column);
    for (size_t i = 0; i < f->collective_count; i++) {
        int64_t rank = ranks[rows[i]];
        if (rank < 0 || rank >= GT_COLLECTIVE_RANKS_MAX) continue;
        if (!f->peers) f->peers = gt_no_events(f->peer_count = f->collective_count);
        f->peers[i] = (uint32_t)rank | (column == GT_EVENT_SENDER ? GT_PEER_RECEIVES : 0);
    }
    gt_free(ranks);
}

static void find_peers(gt_rank_facts *f, const gt_schedule *s, const uint32_t *rows)
{
    if (!s->trace || !f->collective_count) return;
    add_peers(f, s, rows, GT_EVENT_RECEIVER);
    add_peers(f, s, rows, GT_EVENT_SENDER);
}

/* The window ends with the first op of the last step; without steps, with the trace. */
static void find_end_base(walk *w)
{
    const gt_step_window *window = &w->s->window;
    gt_rank_facts *f = w->facts;
    f->end_base = GT_NONE;
    if (window->end_op != GT_NONE && window->end_op < w->s->op_count) f->end_base = w->base[window->end_op];
    for (uint32_t i = 0; window->end_op == GT_NONE && i < f->collective_count; i++)
        if (f->end_base == GT_NONE || f->collectives[i].end_ns >= f->collectives[f->end_base].end_ns)
            f->end_base = i;
}

/* ---- computation, and what it waited for ---- */

/* A stretch of time in which ops that are no collectives run. */
typedef struct stretch {
    int64_t start_ns, end_ns;
    uint32_t op; /* the first of them */
} stretch;

static stretch *find_computation(const gt_schedule *s, size_t *count)
{
    stretch *found = gt_alloc((s->op_count + 1) * sizeof *found);
    *count = 0;
    for (size_t i = 0; i < s->op_count; i++) {
        const gt_gpu_op *op = &s->ops[i];
        if (op->communicates) continue;
        if (*count && op->start_ns <= found[*count - 1].end_ns) {
            if (op->end_ns > found[*count - 1].end_ns) found[*count - 1].end_ns = op->end_ns;
        } else {
            found[(*count)++] = (stretch){op->start_ns, op->end_ns, (uint32_t)i};
        }
    }
    return found;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Time in the window in which only collectives run, counted for the first one that runs. */
static void find_exposed(walk *w, const stretch *computation, size_t count)
{
    const gt_schedule *s = w->s;
    int64_t done = s->window.start_ns, total = 0;
    size_t at = 0;
    for (size_t i = 0; i < s->op_count; i++) {
        const gt_gpu_op *op = &s->ops[i];
        if (!op->communicates) continue;
        int64_t start = larger(op->start_ns, done), end = smaller(op->end_ns, s->window.end_ns);
        if (end <= start) continue;
        int64_t exposed = end - start;
        while (at < count && computation[at].end_ns <= start) at++;
        for (size_t k = at; k < count && computation[k].start_ns < end; k++) {
            exposed -= smaller(end, computation[k].end_ns) - larger(start, computation[k].start_ns);
            if (computation[k].end_ns <= end) at = k; /* each stretch is passed once */
        }
        if (w->number[i] != GT_NONE) w->facts->collectives[w->number[i]].exposed_ns = exposed;
        total += exposed;
        done = end;
    }
    w->facts->exposed_ns = (double)total;
}

/* A launch may wait for room in the queue, but not while the GPU has nothing to compute. */
static gt_cause cause_of_call(const gt_schedule *s, const gt_host_point *point)
{
    bool waits = point->awaited != GT_NONE && point->wait_ns > 0;
    if (point->kind == GT_API_LAUNCH) return GT_CAUSE_LAUNCH;
    if (waits && s->ops[point->awaited].communicates) return GT_CAUSE_COLLECTIVE;
    switch (point->kind) {
    case GT_API_SYNC:
        return GT_CAUSE_SYNC;
    case GT_API_COPY:
        return GT_CAUSE_COPY;
    case GT_API_FREE:
    case GT_API_ALLOC:
        return GT_CAUSE_ALLOC;
    case GT_API_MODULE:
        return GT_CAUSE_MODULE;
    default:
        return GT_CAUSE_LAUNCH;
    }
}

/* Gives the time from `start` (not before `from`) to *at to a cause. */
static void take(gt_rank_facts *f, int64_t from, int64_t start, int64_t *at, gt_cause cause)
{
    start = larger(start, from);
    if (start >= *at) return;
    f->gap_ns[cause] += (double)(*at - start);
    *at = start;
}

/* The GPU waited for the launch of an op: what did the host do in that time? From the end backwards. */
static void divide_host_gap(gt_rank_facts *f, const gt_schedule *s, uint32_t p, int64_t from, int64_t to)
{
    int64_t at = to;
    if (s->points[p].base_ns > to) p = GT_NONE;
    for (bool first = true; p != GT_NONE && at > from; p = p ? p - 1 : GT_NONE, first = false) {
        const gt_host_point *point = &s->points[p];
        take(f, from, point->base_ns, &at, first ? GT_CAUSE_LAUNCH : cause_of_call(s, point));
        for (uint32_t k = point->piece_count; k-- > 0 && at > from;) {
            const gt_piece *piece = &s->pieces[point->first_piece + k];
            take(f, from, piece->end_ns, &at, GT_CAUSE_LAUNCH);
            take(f, from, piece->start_ns, &at, piece->label);
        }
    }
    take(f, from, from, &at, GT_CAUSE_UNTRACED);
}

/* The collective that an op waited for; GT_NONE: for none. */
static uint32_t awaited_collective(const gt_schedule *s, const gt_gpu_op *op)
{
    uint32_t awaited = op->begins == GT_START_DEPENDENCY ? op->dependency
                       : op->begins == GT_START_QUEUE    ? op->previous
                                                         : GT_NONE;
    return awaited != GT_NONE && s->ops[awaited].communicates ? awaited : GT_NONE;
}

/* If the op waited for a collective: since when did that run, and what did it wait for in turn? */
static void divide_gap(gt_rank_facts *f, const gt_schedule *s, uint32_t next, int64_t from, int64_t to)
{
    int64_t at = to;
    uint32_t collective;
    while (next != GT_NONE && at > from && (collective = awaited_collective(s, &s->ops[next])) != GT_NONE) {
        if (s->ops[collective].start_ns >= s->ops[next].start_ns) break; /* the trace is damaged */
        take(f, from, s->ops[collective].start_ns, &at, GT_CAUSE_COLLECTIVE);
        next = collective;
    }
    const gt_gpu_op *op = next == GT_NONE ? NULL : &s->ops[next];
    if (at <= from) return;
    if (!op || op->point == GT_NONE)
        take(f, from, from, &at, GT_CAUSE_UNKNOWN);
    else if (op->begins == GT_START_HOST)
        divide_host_gap(f, s, op->point, from, at);
    else
        take(f, from, from, &at, op->begins == GT_START_QUEUE ? GT_CAUSE_DEVICE_GAP : GT_CAUSE_DEPENDENCY);
}

static void divide_window(gt_rank_facts *f, const gt_schedule *s, const stretch *computation, size_t count)
{
    int64_t at = s->window.start_ns, end = s->window.end_ns;
    for (size_t i = 0; i < count && at < end; i++) {
        const stretch *next = &computation[i];
        if (next->end_ns <= at) continue;
        if (next->start_ns > at) divide_gap(f, s, next->op, at, smaller(next->start_ns, end));
        f->compute_ns += (double)larger(0, smaller(next->end_ns, end) - larger(next->start_ns, at));
        at = next->end_ns;
    }
    if (at < end) divide_gap(f, s, GT_NONE, at, end);
}

/* ---- kernels and launches ---- */

/* Of the ops that launch a kernel, the first one with a name stands for all. */
static void add_kernels(gt_rank_facts *f, const gt_schedule *s)
{
    gt_map places = {0};
    for (size_t i = 0; i < s->op_count; i++) {
        const gt_gpu_op *op = &s->ops[i];
        if (op->communicates || !gt_window_has(&s->window, op->start_ns)) continue;
        uint32_t *place = gt_map_put(&places, op->name, 0);
        if (*place == GT_MAP_NONE) {
            *place = (uint32_t)f->kernel_count;
            gt_rank_kernel kernel = {.kernel = op->name, .op = GT_STR_NONE};
            GT_PUSH(f->kernels, f->kernel_count, f->kernel_capacity, kernel);
        }
        gt_rank_kernel *kernel = &f->kernels[*place];
        if (kernel->op == GT_STR_NONE && op->host_op != GT_NONE) kernel->op = s->events[op->host_op].name;
        kernel->ns += (double)gt_op_ns(op);
        kernel->count++;
    }
    gt_map_free(&places);
}

/* When ops end, in order. The caller frees it. */
static int64_t *sorted_ends(const gt_schedule *s)
{
    int64_t *ends = gt_alloc((s->op_count + 1) * sizeof *ends);
    for (size_t i = 0; i < s->op_count; i++) ends[i] = s->ops[i].end_ns;
    if (s->op_count) qsort(ends, s->op_count, sizeof *ends, gt_by_i64);
    return ends;
}

/* The host time per launch, and its standard error. A launch that takes long waits for room in the queue
 * (schedule/), but only if the queue is long; otherwise it is a slow host. Each time is part of the op that
 * launches and part of the one before it, so times that follow each other vary together. */
static void find_launch_time(gt_rank_facts *f, const gt_schedule *s)
{
    enum { LONG_QUEUE = 256 };
    int64_t *ends = sorted_ends(s);
    double sum = 0, squares = 0, products = 0, last = 0, before = 0; /* before: since the last launch */
    size_t launches = 0, launched = 0, ended = 0;
    for (size_t p = 0; p < s->point_count; p++) {
        const gt_host_point *point = &s->points[p];
        while (ended < s->op_count && ends[ended] <= point->base_ns) ended++;
        bool is_full = launched > ended + LONG_QUEUE;
        launched += point->op_count;
        if (!gt_window_has(&s->window, point->base_ns)) continue;
        for (uint32_t k = 0; k < point->piece_count; k++) {
            const gt_piece *piece = &s->pieces[point->first_piece + k];
            if (piece->label == GT_CAUSE_LAUNCH) before += (double)(piece->end_ns - piece->start_ns);
        }
        if (point->kind != GT_API_LAUNCH) continue;
        double ns = before + (double)point->own_ns + (is_full ? 0 : (double)point->wait_ns);
        sum += ns;
        squares += ns * ns;
        products += last * ns;
        last = ns;
        before = 0;
        launches++;
    }
    gt_free(ends);
    if (!launches) return;
    double n = (double)launches, mean = sum / n;
    double together = launches > 1 ? products / (n - 1) - mean * mean : 0;
    f->launch_ns = mean;
    f->launch_error_ns = sqrt(fmax(0, squares / n - mean * mean + 2 * fmax(0, together)) / n);
}

/* ---- the rank's own findings ---- */

static void keep_findings(gt_rank_facts *f, const gt_findings *findings)
{
    const gt_finding_list *list = findings->list;
    if (!list) return;
    f->own_gain_ns = findings->model_ns - list->all_fixed_ns;
    f->findings = gt_alloc_zero(list->shown, sizeof *f->findings);
    for (size_t i = 0; i < list->shown; i++) {
        const gt_finding *from = &list->items[i];
        gt_buffer evidence = {0};
        for (size_t k = 0; k < from->evidence_count; k++) {
            if (k) gt_buffer_add_cstr(&evidence, "; ");
            gt_rank_add_item(&evidence, from->evidence[k]);
        }
        gt_str text = gt_buffer_str(&evidence);
        f->findings[f->finding_count++] = (gt_own_finding){
            .id = gt_interner_add_cstr(f->strings, from->id),
            .title = gt_interner_add_cstr(f->strings, from->title ? from->title : ""),
            .where = from->where ? gt_interner_add_cstr(f->strings, from->where) : GT_STR_NONE,
            .advice = gt_interner_add_cstr(f->strings, from->advice ? from->advice : ""),
            .evidence = gt_interner_add(f->strings, text.bytes, text.len),
            .confidence = from->confidence,
            .is_gpu = from->is_gpu,
            .gain_ns = from->gain_ns};
        gt_buffer_free(&evidence);
    }
}

/* ---- steps ---- */

/* -1: the name has none. */
static int64_t number_of_step(const gt_schedule *s, size_t step)
{
    enum { DIGITS_MAX = 15 };
    if (s->listed) return (int64_t)step; /* names of a server's steps do not number them */
    gt_str name = gt_interner_get(s->strings, s->steps[step].name);
    int64_t number = 0;
    size_t digits = 0;
    while (digits < name.len && digits < DIGITS_MAX &&
           isdigit((unsigned char)name.bytes[name.len - 1 - digits]))
        digits++;
    for (size_t i = name.len - digits; i < name.len; i++) number = 10 * number + (name.bytes[i] - '0');
    return digits ? number : -1;
}

/* In ascending order, or they do not say which step it is. */
static void find_step_numbers(gt_rank_facts *f, const gt_schedule *s)
{
    if (!s->step_count) return;
    f->step_numbers = gt_alloc(s->step_count * sizeof *f->step_numbers);
    for (size_t i = 0; i < s->step_count; i++) {
        f->step_numbers[i] = number_of_step(s, i);
        if (f->step_numbers[i] > (i ? f->step_numbers[i - 1] : -1)) continue;
        gt_free(f->step_numbers);
        f->step_numbers = NULL;
        return;
    }
    f->step_number_count = s->step_count;
}

int64_t *gt_rank_facts_steps(const gt_rank_facts *const *facts, size_t rank_count, const gt_table *rows)
{
    if (!rows->row_count) return NULL;
    const int64_t *ranks = gt_table_column(rows, GT_COL_RANK)->ints;
    int64_t *steps = gt_alloc(rows->row_count * sizeof *steps);
    for (size_t row = 0, first = 0; row < rows->row_count; row++) {
        if (ranks[row] != ranks[first]) first = row;
        bool is_known = ranks[row] >= 0 && (size_t)ranks[row] < rank_count && facts[ranks[row]] &&
                        facts[ranks[row]]->step_numbers;
        if (!is_known) {
            gt_free(steps);
            return NULL;
        }
        const gt_rank_facts *f = facts[ranks[row]];
        int32_t step = row - first < f->collective_count ? f->collectives[row - first].step : -1;
        bool has_step = step >= 0 && (size_t)step < f->step_number_count;
        steps[row] = has_step ? f->step_numbers[step] : GT_NO_STEP;
    }
    return steps;
}

/* Between the first ops of the steps. Without two steps the window is one. */
static void find_steps(gt_rank_facts *f, const gt_schedule *s)
{
    size_t count = s->used_step_count > 1 ? s->used_step_count - 1 : 1;
    f->step_times = gt_alloc(count * sizeof *f->step_times);
    f->step_count = count;
    for (size_t i = 0; i < count; i++) {
        gt_rank_step *step = &f->step_times[i];
        *step = (gt_rank_step){0, s->window.start_ns, s->window.end_ns};
        if (s->used_step_count) step->number = number_of_step(s, s->used_steps[i]);
        if (step->number < 0) step->number = (int64_t)i;
        if (i) step->start_ns = s->ops[s->steps[s->used_steps[i]].first_op].start_ns;
        if (i) step[-1].end_ns = step->start_ns;
    }
}

static void find_all_steps(gt_rank_facts *f, const gt_schedule *s)
{
    find_steps(f, s);
    find_step_numbers(f, s);
}

/* ---- all of it ---- */

static void divide_by_steps(gt_rank_facts *f)
{
    double n = (double)f->steps;
    f->step_ns /= n;
    f->compute_ns /= n;
    f->exposed_ns /= n;
    f->idle_ns /= n;
    for (size_t i = 0; i < GT_CAUSES; i++) {
        f->cause_ns[i] /= n;
        f->gap_ns[i] /= n;
    }
    for (size_t i = 0; i < f->kernel_count; i++) {
        f->kernels[i].ns /= n;
        f->kernels[i].count /= n;
    }
}

static void keep_trust(gt_rank_facts *f, const gt_trust *trust)
{
    f->trust = trust->verdict;
    for (size_t i = 0; i < trust->count; i++) {
        const gt_trust_check *from = &trust->checks[i];
        if (from->level == GT_TRUST_OK) continue;
        gt_rank_check check = {.id = gt_interner_add_cstr(f->strings, from->id),
                               .text = gt_interner_add_cstr(f->strings, from->text),
                               .level = from->level,
                               .value = from->value,
                               .warn = from->warn,
                               .fail = from->fail};
        GT_PUSH(f->checks, f->check_count, f->check_capacity, check);
    }
}

gt_rank_facts *gt_rank_facts_new(const gt_findings *findings, const uint32_t *rows, size_t row_count,
                                 const char *node)
{
    const gt_schedule *s = findings->schedule;
    gt_rank_facts *f = gt_alloc_zero(1, sizeof *f);
    f->strings = gt_interner_new();
    f->collectives = gt_alloc_zero(row_count, sizeof *f->collectives);
    f->collective_count = row_count;
    f->steps = s->window.steps ? s->window.steps : 1;
    f->has_steps = s->used_step_count > 0;
    f->step_ns = (double)larger(0, s->window.end_ns - s->window.start_ns);
    f->start_ns = (double)s->window.start_ns;
    f->end_ns = (double)s->window.end_ns;
    f->idle_ns = (double)findings->idle->total_ns;
    for (size_t i = 0; i < GT_CAUSES; i++) f->cause_ns[i] = (double)findings->idle->cause_ns[i];
    keep_trust(f, &findings->trust);
    f->device = gt_strdup(findings->gpu.name ? findings->gpu.name : "");
    f->node = gt_strdup(node ? node : "");
    walk w = {s,
              f,
              gt_no_events(s->op_count),
              gt_no_events(s->op_count),
              gt_no_events(s->point_count),
              gt_no_events(s->point_count)};
    number_collectives(&w, rows, row_count);
    find_bases(&w);
    fill_collectives(&w);
    find_peers(f, s, rows);
    find_end_base(&w);
    size_t count;
    stretch *computation = find_computation(s, &count);
    find_exposed(&w, computation, count);
    divide_window(f, s, computation, count);
    gt_free(computation);
    add_kernels(f, s);
    for (size_t i = 0; i < f->kernel_count; i++) {
        f->kernels[i].kernel = gt_interner_add_from(f->strings, s->strings, f->kernels[i].kernel);
        f->kernels[i].op = gt_interner_add_from(f->strings, s->strings, f->kernels[i].op);
    }
    find_launch_time(f, s);
    find_all_steps(f, s);
    gt_rank_chains_find(f, s, w.number, w.compute_before);
    divide_by_steps(f);
    keep_findings(f, findings);
    if (s->listed) gt_rank_served_find(f, s->listed, s->strings);
    gt_free(w.number);
    gt_free(w.base);
    gt_free(w.host_base);
    gt_free(w.compute_before);
    return f;
}
