/* Which kernels could be one kernel if they were fused, and what would that save?
 *
 * A run is what one thread launches of fusable kernels (GT_KERNEL_FUSABLE) without another one in between. It
 * is cut where another call of a Python function begins, and where the size of tensors changes:
 *
 *     rms(x): x.float() pow mean add rsqrt mul to mul | linear | act(y): pow mul add tanh add mul mul
 *             |-------------- a chain --------------|           |------------ a chain -----------|
 *
 * Chains of one function go together, whatever size their tensors have. A function that is called in the
 * middle of another one belongs to that if it takes less time. The same operators again and again, as in a
 * loop over parameters, are as many chains: each works on tensors of its own. The backward pass of a chain is
 * found by the sequence numbers of autograd: the last op that starts with a number has made the node.
 *
 * The fused kernel reads each tensor once that comes from outside, and writes what is left at the end; its
 * rate is that of the other pointwise kernels of this trace, because it is no better than its neighbours.
 * Tensors have no identity in a trace, so what comes from outside is a guess by types: the inputs of the
 * first kernel, and later ones of a type that no kernel of the chain has made. */
#include "findings/chains.h"

#include "findings/schedule/names.h"
#include "findings/schedule/sites.h"
#include "findings/traffic.h"
#include "table/stats.h"

static const double full_share = 0.25;   /* of the largest tensor: a pass over memory */
static const double small_share = 0.125; /* below it: statistics of rows, vectors, scalars */
static const double least_ratio = 2;     /* of the time now to that of the fused version */
enum { LONG_CHAIN = 4 };                 /* passes of the forward part: written by hand */
static const double row_once = 8192;     /* a reduction over longer rows reads its input twice */
static const double shortest_ns = 3000;  /* of a fused kernel */
static const double least_saved = 0.01;  /* of the window, by a site */

/* A GPU op on its way into a chain. */
typedef struct link {
    uint32_t op, call;
} link;

/* A backward one, and the node of autograd's engine around it. */
typedef struct gradient {
    uint32_t op, node;
} gradient;

/* The host time of a chain's forward part, in the order of chains. */
typedef struct chain_span {
    uint32_t thread;
    int64_t start_ns, end_ns;
} chain_span;

typedef struct chain_search {
    const gt_gpu_facts *facts;
    const gt_schedule *schedule;
    gt_chains *chains;
    double bytes; /* of the GPU's memory, per ns; 0: unknown */
    gt_arena arena;
    gt_traffic *traffic; /* by index of the shape; .largest is 0 where it was not asked for */
    link *run;           /* the present one */
    size_t run_count, run_capacity;
    gradient *gradients;
    size_t gradient_count, gradient_capacity;
    chain_span *spans; /* by chain */
    size_t span_count, span_capacity, op_count, op_capacity;
} chain_search;

static const gt_gpu_op *op_at(const chain_search *search, uint32_t op)
{
    return &search->schedule->ops[op];
}

/* ---- kernels ---- */

static gt_traffic traffic_of(chain_search *search, uint32_t op)
{
    const gt_gpu_facts *facts = search->facts;
    uint32_t shape = facts->sources[facts->op_source[op]].shape;
    gt_traffic *known = &search->traffic[shape];
    if (!(known->largest > 0)) {
        gt_str name = gt_interner_get(search->schedule->strings, gt_shapes_get(facts->shapes, shape)->name);
        *known = gt_traffic_of(facts->shapes, shape, name, &search->arena);
    }
    return facts->names[op] & GT_KERNEL_REDUCES ? gt_traffic_reduce(*known) : *known;
}

static bool is_fusable(const chain_search *search, uint32_t op)
{
    const gt_gpu_facts *facts = search->facts;
    const gt_gpu_op *gpu_op = op_at(search, op);
    if (gpu_op->kind != GT_KIND_KERNEL || facts->op_source[op] == GT_NONE ||
        !(facts->names[op] & GT_KERNEL_FUSABLE))
        return false;
    const gt_op_shape *shape = gt_gpu_facts_shape(facts, op);
    return !(shape->kind == GT_WORK_GEMM && shape->is_known) && shape->kind != GT_WORK_CONVOLUTION;
}

/* Whether a kernel moves much data so slowly that it must come from elsewhere, such as unified memory on the
 * host: fusing it would not help. */
static bool is_far(chain_search *search, uint32_t op)
{
    static const double least_bytes = 8e6, share = 0.02;
    gt_traffic traffic = traffic_of(search, op);
    double bytes = gt_traffic_bytes(&traffic);
    return traffic.is_known && !traffic.is_neutral && bytes >= least_bytes &&
           bytes / (double)gt_op_ns(op_at(search, op)) < share * search->bytes;
}

/* Whether a kernel may be part of a chain: not of an optimizer, not repeated, not of unfused attention. */
static bool is_usable(chain_search *search, uint32_t op)
{
    if (is_fusable(search, op) && is_far(search, op)) return false;
    uint16_t flags = search->schedule->points[op_at(search, op)->point].flags;
    return is_fusable(search, op) && !(flags & (GT_HOST_OPTIMIZER | GT_HOST_RECOMPUTE)) &&
           !gt_gpu_facts_attention(search->facts, op);
}

/* The node of autograd's engine around an event; GT_NONE: none. */
static uint32_t node_of(const gt_schedule *schedule, uint32_t event)
{
    while (event != GT_NONE && !(schedule->events[event].kind == GT_KIND_CPU_OP &&
                                 gt_name_has(schedule, schedule->events[event].name, GT_NAME_BACKWARD)))
        event = schedule->events[event].parent;
    return event;
}

/* The innermost call of a Python function that is not PyTorch's; GT_NONE: none. */
static uint32_t call_of(const gt_schedule *schedule, uint32_t event)
{
    while (event != GT_NONE && !(schedule->events[event].kind == GT_KIND_PYTHON &&
                                 !gt_name_has(schedule, schedule->events[event].name, GT_NAME_INNER)))
        event = schedule->events[event].parent;
    return event;
}

static bool is_below(const gt_schedule *schedule, uint32_t event, uint32_t above)
{
    while (event != GT_NONE && event != above) event = schedule->events[event].parent;
    return event != GT_NONE;
}

/* ---- from runs to chains ---- */

/* Ends a chain of links [first, end) of the run. */
static void add_chain(chain_search *search, const link *links, size_t count, double largest)
{
    const gt_schedule *schedule = search->schedule;
    gt_chains *chains = search->chains;
    uint32_t first = links[0].op, last = links[count - 1].op;
    gt_chain chain = {.call = links[0].call, .site = GT_NONE, .largest = largest};
    chain.parts[GT_CHAIN_FORWARD] = (gt_chain_part){.first = search->op_count, .count = (uint32_t)count};
    chain_span span = {
        .thread = schedule->points[op_at(search, first)->point].thread,
        .start_ns = schedule->events[gt_outermost_op(schedule, op_at(search, first)->host_op)].start_ns,
        .end_ns = schedule->points[op_at(search, last)->point].end_ns};
    for (size_t i = 0; i < count; i++)
        GT_PUSH(chains->ops[GT_CHAIN_FORWARD], search->op_count, search->op_capacity, links[i].op);
    GT_PUSH(chains->items, chains->count, chains->capacity, chain);
    GT_PUSH(search->spans, search->span_count, search->span_capacity, span);
}

static uint32_t name_of(const chain_search *search, const link *one)
{
    return search->schedule->events[op_at(search, one->op)->host_op].name;
}

/* Whether an op changes its first tensor: "aten::add_". */
static bool is_in_place(gt_str name)
{
    return name.len && name.bytes[name.len - 1] == '_';
}

/* After how many links the same operators come again until the end; `count` if they do not. One operator
 * alone that is repeated may go on with its own result, unless it works in place. */
static size_t find_period(const chain_search *search, const link *links, size_t count)
{
    enum { LONGEST = 64 };
    for (size_t period = 1; period <= count / 2 && period <= LONGEST; period++) {
        size_t i = period;
        while (i < count && name_of(search, &links[i]) == name_of(search, &links[i - period])) i++;
        bool is_one =
            period == 1 && !is_in_place(gt_interner_get(search->schedule->strings, name_of(search, links)));
        if (i == count) return is_one ? count : period;
    }
    return count;
}

static void add_chains(chain_search *search, const link *links, size_t count)
{
    size_t period = find_period(search, links, count);
    for (size_t first = 0; first < count; first += period) {
        size_t part = count - first < period ? count - first : period;
        double largest = 0;
        for (size_t i = 0; i < part; i++)
            largest = fmax(largest, traffic_of(search, links[first + i].op).largest);
        add_chain(search, links + first, part, largest);
    }
}

/* Whether a kernel of `size` elements goes on with a chain of `largest` elements. */
static bool continues(double size, double largest)
{
    return size <= small_share * largest || largest <= small_share * size ||
           (size >= largest / 2 && size <= 2 * largest);
}

/* Whether an op without recorded types copies a tensor for another layout: below contiguous() or clone(). */
static bool is_clone(const chain_search *search, uint32_t op)
{
    const gt_schedule *schedule = search->schedule;
    uint32_t above = schedule->events[op_at(search, op)->host_op].parent;
    if (above == GT_NONE) return false;
    gt_str name = gt_interner_get(schedule->strings, schedule->events[above].name);
    return gt_str_equals(name, "aten::clone") || gt_str_equals(name, "aten::contiguous");
}

/* Cuts what one call launched where tensors get much larger or smaller. Copies are layout_copies' matter. */
static void cut_by_size(chain_search *search, link *links, size_t count, uint32_t call)
{
    size_t kept = 0, first = 0;
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        gt_traffic traffic = traffic_of(search, links[i].op);
        if (traffic.is_copy || (!traffic.is_known && is_clone(search, links[i].op))) continue;
        if (kept > first && !continues(traffic.largest, largest)) {
            add_chains(search, links + first, kept - first);
            first = kept;
            largest = 0;
        }
        largest = fmax(largest, traffic.largest);
        links[kept++] = (link){links[i].op, call};
    }
    if (kept > first) add_chains(search, links + first, kept - first);
}

/* Links of one call that follow each other. */
typedef struct link_group {
    uint32_t call;
    size_t first;
    int64_t ns; /* of its own kernels */
} link_group;

/* Whether the last group, which was called from the one before it, belongs to that: it goes on with `ns`. */
static bool is_inner(const gt_schedule *schedule, const link_group *groups, size_t count, uint32_t call,
                     int64_t ns)
{
    return count > 1 && call != GT_NONE && groups[count - 2].call == call &&
           is_below(schedule, groups[count - 1].call, call) &&
           groups[count - 1].ns < groups[count - 2].ns + ns;
}

/* Ends a run: groups it by calls. */
static void end_run(chain_search *search)
{
    const gt_schedule *schedule = search->schedule;
    const link *run = search->run;
    link_group *groups = gt_alloc((search->run_count + 1) * sizeof *groups);
    size_t count = 0;
    for (size_t i = 0, end; i < search->run_count; i = end) {
        int64_t ns = 0;
        for (end = i; end < search->run_count && run[end].call == run[i].call; end++)
            ns += gt_op_ns(op_at(search, run[end].op));
        if (is_inner(schedule, groups, count, run[i].call, ns)) {
            count--;
            groups[count - 1].ns += ns + groups[count].ns;
        } else {
            groups[count++] = (link_group){run[i].call, i, ns};
        }
    }
    for (size_t g = 0; g < count; g++) {
        size_t end = g + 1 < count ? groups[g + 1].first : search->run_count;
        cut_by_size(search, search->run + groups[g].first, end - groups[g].first, groups[g].call);
    }
    search->run_count = 0;
    gt_free(groups);
}

/* One GPU op of a thread, in the order of launches. */
static void add_op(chain_search *search, uint32_t op)
{
    const gt_schedule *schedule = search->schedule;
    uint32_t host_op = search->facts->op_source[op] == GT_NONE ? GT_NONE : op_at(search, op)->host_op;
    bool is_backward = host_op != GT_NONE && schedule->events[host_op].flags & GT_HOST_BACKWARD;
    uint32_t node = is_backward ? node_of(schedule, host_op) : GT_NONE;
    if (op_at(search, op)->kind == GT_KIND_MEMSET) return;
    if (node != GT_NONE) {
        if (is_usable(search, op))
            GT_PUSH(search->gradients, search->gradient_count, search->gradient_capacity,
                    ((gradient){op, node}));
    } else if (host_op != GT_NONE && !is_backward && is_usable(search, op)) {
        GT_PUSH(search->run, search->run_count, search->run_capacity,
                ((link){op, call_of(schedule, host_op)}));
    } else if (search->run_count) {
        end_run(search);
    }
}

/* Points thread by thread, each in order; the caller frees them. `first` gets where each thread begins. */
static uint32_t *points_by_thread(const gt_schedule *schedule, size_t *first)
{
    uint32_t *order = gt_alloc(schedule->point_count * sizeof *order);
    memset(first, 0, (schedule->thread_count + 2) * sizeof *first);
    for (size_t i = 0; i < schedule->point_count; i++) first[schedule->points[i].thread + 2]++;
    for (size_t i = 2; i < schedule->thread_count + 2; i++) first[i] += first[i - 1];
    for (size_t i = 0; i < schedule->point_count; i++)
        order[first[schedule->points[i].thread + 1]++] = (uint32_t)i;
    return order;
}

static void find_forward(chain_search *search)
{
    const gt_schedule *schedule = search->schedule;
    size_t *first = gt_alloc((schedule->thread_count + 2) * sizeof *first);
    uint32_t *order = points_by_thread(schedule, first);
    for (size_t t = 0; t < schedule->thread_count; t++) {
        for (size_t i = first[t]; i < first[t + 1]; i++) {
            const gt_host_point *point = &schedule->points[order[i]];
            for (uint32_t k = 0; k < point->op_count; k++)
                add_op(search, schedule->point_ops[point->first_op + k]);
        }
        if (search->run_count) end_run(search);
    }
    gt_free_all(first, order);
}

/* ---- the backward pass ---- */

static const uint32_t NO_CHAIN = GT_MAP_NONE - 1;

static int64_t sequence_of(const chain_search *search, const int64_t *sequences, uint32_t event)
{
    return sequences[search->schedule->events[event].row];
}

/* Sets the chain of the numbers in `owners` that ops of a thread start with, the last op of each counts.
 * `next` is the first span of the thread. */
static void own_numbers(const chain_search *search, uint32_t thread, size_t next, const int64_t *sequences,
                        gt_map *owners)
{
    const gt_schedule *schedule = search->schedule;
    const chain_span *spans = search->spans;
    size_t first = next, end = next;
    while (end < search->span_count && spans[end].thread == thread) end++;
    for (uint32_t i = schedule->threads[thread].first; i < schedule->threads[thread].end; i++) {
        const gt_host_event *event = &schedule->events[i];
        if (event->kind != GT_KIND_CPU_OP || event->flags & GT_HOST_BACKWARD) continue;
        int64_t sequence = sequence_of(search, sequences, i);
        if (sequence == GT_EVENT_NONE || gt_map_get(owners, (uint64_t)sequence, 0) == GT_MAP_NONE) continue;
        while (next < end && spans[next].start_ns <= event->start_ns) next++;
        bool is_inside = next > first && event->start_ns <= spans[next - 1].end_ns;
        *gt_map_put(owners, (uint64_t)sequence, 0) = is_inside ? (uint32_t)next - 1 : NO_CHAIN;
    }
}

/* Which chain made the node with each of the gradients' numbers. */
static gt_map find_owners(const chain_search *search, const int64_t *sequences)
{
    gt_map owners = {0};
    for (size_t i = 0; i < search->gradient_count; i++) {
        int64_t sequence = sequence_of(search, sequences, search->gradients[i].node);
        if (sequence != GT_EVENT_NONE) *gt_map_put(&owners, (uint64_t)sequence, 0) = NO_CHAIN;
    }
    size_t next = 0;
    for (uint32_t t = 0; t < search->schedule->thread_count; t++) {
        while (next < search->span_count && search->spans[next].thread < t) next++;
        own_numbers(search, t, next, sequences, &owners);
    }
    return owners;
}

/* Nodes whose copies only give a tensor another layout. */
static bool is_view_node(gt_str name)
{
    static const char *const views[] = {"CloneBackward",  "TransposeBackward", "PermuteBackward",
                                        "ViewBackward",   "ReshapeBackward",   "ExpandBackward",
                                        "UnbindBackward", "TBackward"};
    for (size_t i = 0; i < GT_LENGTH(views); i++)
        if (gt_str_contains(name, views[i])) return true;
    return false;
}

/* The chain of a gradient; NO_CHAIN: none. */
static uint32_t owner_of(chain_search *search, const gradient *one, const int64_t *sequences,
                         const gt_map *owners)
{
    const gt_schedule *schedule = search->schedule;
    int64_t sequence = sequence_of(search, sequences, one->node);
    uint32_t owner = sequence == GT_EVENT_NONE ? NO_CHAIN : gt_map_get(owners, (uint64_t)sequence, 0);
    if (owner == NO_CHAIN || !traffic_of(search, one->op).is_copy) return owner;
    gt_str node = gt_interner_get(schedule->strings, schedule->events[one->node].name);
    return is_view_node(node) ? NO_CHAIN : owner;
}

static void find_backward(chain_search *search)
{
    gt_chains *chains = search->chains;
    if (!search->gradient_count || !chains->count) return;
    int64_t *sequences = gt_store_ints(search->schedule->trace->store, GT_EVENT_SEQUENCE);
    gt_map owners = find_owners(search, sequences);
    uint32_t *owner = gt_alloc(search->gradient_count * sizeof *owner), *ops;
    for (size_t i = 0; i < search->gradient_count; i++) {
        owner[i] = owner_of(search, &search->gradients[i], sequences, &owners);
        if (owner[i] != NO_CHAIN) chains->items[owner[i]].parts[GT_CHAIN_BACKWARD].count++;
    }
    size_t first = 0;
    for (size_t i = 0; i < chains->count; i++) {
        gt_chain_part *part = &chains->items[i].parts[GT_CHAIN_BACKWARD];
        part->first = first;
        first += part->count;
        part->count = 0;
    }
    ops = chains->ops[GT_CHAIN_BACKWARD] = gt_alloc((first + 1) * sizeof *ops);
    for (size_t i = 0; i < search->gradient_count; i++) {
        if (owner[i] == NO_CHAIN) continue;
        gt_chain_part *part = &chains->items[owner[i]].parts[GT_CHAIN_BACKWARD];
        ops[part->first + part->count++] = search->gradients[i].op;
    }
    gt_free_all(owner, sequences);
    gt_map_free(&owners);
}

/* ---- the fused version ---- */

/* What a chain's fused kernels read and write, of tensors that are about as large as its largest. */
typedef struct passes {
    double outside;          /* bytes of inputs that come from outside */
    double outside_gradient; /* without whole numbers, which have no gradient */
    double output;           /* bytes that remain */
    double longest_row;      /* of a reduction or softmax */
} passes;

static bool is_full(double elements, const gt_chain *chain)
{
    return elements >= full_share * chain->largest;
}

static bool is_pass(const gt_traffic *traffic, const gt_chain *chain)
{
    return !traffic->is_neutral && is_full(traffic->largest, chain);
}

static bool is_softmax(const chain_search *search, uint32_t op)
{
    const gt_op_shape *shape = gt_gpu_facts_shape(search->facts, op);
    return gt_str_contains(gt_interner_get(search->schedule->strings, shape->name), "softmax");
}

static double bytes_or(uint8_t element, double usual)
{
    return element ? gt_element_bytes(element) : usual;
}

static passes find_passes(chain_search *search, const gt_chain *chain)
{
    const gt_chain_part *part = &chain->parts[GT_CHAIN_FORWARD];
    passes found = {0};
    double made = 0, inner = 0; /* tensors that the chain makes, and its inputs that it made before */
    uint32_t seen = 0;          /* bits of the types that it made */
    bool is_first = true;
    for (size_t i = 0; i < part->count; i++) {
        uint32_t op = search->chains->ops[GT_CHAIN_FORWARD][part->first + i];
        gt_traffic traffic = traffic_of(search, op);
        if (!is_pass(&traffic, chain)) continue;
        for (size_t k = 0; k < traffic.input_count; k++) {
            const gt_tensor_size *input = &traffic.inputs[k];
            bool is_outside = is_first || (input->element && !(seen >> input->element & 1));
            double bytes = bytes_or(input->element, 4) * input->elements;
            if (!is_full(input->elements, chain)) continue;
            inner += !is_outside;
            found.outside += is_outside ? bytes : 0;
            found.outside_gradient += is_outside && !gt_element_is_whole(input->element) ? bytes : 0;
        }
        if (traffic.input_count) is_first = false;
        bool makes = is_full(traffic.output, chain);
        made += makes;
        if (makes && traffic.output_element) seen |= UINT32_C(1) << traffic.output_element;
        found.output = makes ? bytes_or(traffic.output_element, 2) * traffic.output : 0;
        if (traffic.reduces || is_softmax(search, op))
            found.longest_row = fmax(found.longest_row, traffic.row);
    }
    if (made - inner > 1) found.output *= made - inner;
    return found;
}

/* Sums up what a part takes now. Without sizes, what takes a quarter of the longest kernel is a pass. */
static double sum_part(chain_search *search, const gt_chain *chain, int direction, gt_chain_part *part)
{
    const gt_chains *chains = search->chains;
    const uint32_t *ops = part->count ? chains->ops[direction] + part->first : NULL;
    double longest_ns = 0;
    for (size_t i = 0; i < part->count; i++) {
        double ns = (double)gt_op_ns(op_at(search, ops[i]));
        part->now_ns += ns;
        longest_ns = fmax(longest_ns, ns);
    }
    for (size_t i = 0; i < part->count; i++) {
        gt_traffic traffic = traffic_of(search, ops[i]);
        part->passes += chain->is_sized ? is_pass(&traffic, chain)
                                        : (double)gt_op_ns(op_at(search, ops[i])) >= longest_ns / 4;
    }
    return longest_ns;
}

/* Whether sizes and types of all kernels are recorded. */
static bool is_sized(chain_search *search, const gt_chain *chain)
{
    bool all = search->chains->rate > 0;
    for (int direction = 0; direction < GT_CHAIN_DIRECTIONS; direction++)
        for (size_t i = 0; all && i < chain->parts[direction].count; i++) {
            uint32_t op = search->chains->ops[direction][chain->parts[direction].first + i];
            gt_traffic traffic = traffic_of(search, op);
            all = traffic.is_known || traffic.is_neutral;
        }
    return all;
}

/* Sets what a chain takes now and fused. False if it is no chain worth fusing. */
static bool judge(chain_search *search, gt_chain *chain)
{
    const gt_chains *chains = search->chains;
    gt_chain_part *forward = &chain->parts[GT_CHAIN_FORWARD], *backward = &chain->parts[GT_CHAIN_BACKWARD];
    chain->is_sized = is_sized(search, chain);
    double longest_forward = sum_part(search, chain, GT_CHAIN_FORWARD, forward);
    double longest_backward = sum_part(search, chain, GT_CHAIN_BACKWARD, backward);
    if (forward->passes < 2 || forward->passes + backward->passes < 3) return false;
    if (chain->is_sized) {
        passes all = find_passes(search, chain);
        double reads = all.longest_row > row_once ? 2 : 1;
        forward->fused_ns = fmax((reads * all.outside + all.output) / chains->rate, reads * shortest_ns);
        backward->fused_ns =
            fmax((all.output + all.outside + all.outside_gradient) / chains->rate, shortest_ns);
    } else {
        forward->fused_ns = longest_forward;
        backward->fused_ns = 1.5 * longest_backward;
    }
    forward->fused_ns = fmin(forward->fused_ns, forward->now_ns);
    backward->fused_ns = fmin(backward->fused_ns, backward->now_ns);
    return forward->now_ns + backward->now_ns >= least_ratio * (forward->fused_ns + backward->fused_ns);
}

/* ---- the rate of pointwise kernels ---- */

/* Of the kernels of the window that move much and are the only ones of their op. */
static double find_rate(chain_search *search, const gt_gpu_rates *gpu)
{
    static const double least_bytes = 8e6, least_ns = 10000, low = 0.40, usual = 0.65, high = 0.80;
    enum { FEWEST = 5 };
    const gt_schedule *schedule = search->schedule;
    double *rates = NULL, rate = 0;
    size_t count = 0, capacity = 0;
    for (uint32_t i = 0; i < schedule->op_count; i++) {
        const gt_gpu_op *op = &schedule->ops[i];
        if (!gt_window_has(&schedule->window, op->start_ns) || (double)gt_op_ns(op) < least_ns ||
            !is_fusable(search, i) || schedule->events[op->host_op].launches != 1)
            continue;
        gt_traffic traffic = traffic_of(search, i);
        double bytes = gt_traffic_bytes(&traffic);
        if (traffic.is_known && !traffic.is_neutral && bytes >= least_bytes)
            GT_PUSH(rates, count, capacity, bytes / (double)gt_op_ns(op));
    }
    bool is_enough = count >= FEWEST;
    if (gpu->bytes > 0) {
        rate = is_enough ? gt_select(rates, count, count / 2) : usual * gpu->bytes;
        rate = fmin(fmax(rate, low * gpu->bytes), high * gpu->bytes);
    } else if (is_enough) {
        rate = gt_select(rates, count, count * 3 / 4);
    }
    gt_free(rates);
    return rate;
}

/* ---- sites ---- */

/* The ops of a chain without a call: "pow + mean + rsqrt". */
static uint32_t name_by_ops(const chain_search *search, const gt_chain *chain)
{
    enum { NAMES = 6 };
    const gt_schedule *schedule = search->schedule;
    const gt_chain_part *part = &chain->parts[GT_CHAIN_FORWARD];
    uint32_t names[NAMES];
    size_t count = 0;
    gt_buffer text = {0};
    for (size_t i = 0; i < part->count && count < NAMES; i++) {
        uint32_t op = search->chains->ops[GT_CHAIN_FORWARD][part->first + i];
        uint32_t name = schedule->events[gt_outermost_op(schedule, op_at(search, op)->host_op)].name;
        size_t k = 0;
        while (k < count && names[k] != name) k++;
        if (k < count) continue;
        names[count++] = name;
        gt_str words = gt_interner_get(schedule->strings, name);
        size_t skip = gt_str_starts_with(words, "aten::") ? strlen("aten::") : 0;
        if (text.len) gt_buffer_add_cstr(&text, " + ");
        gt_buffer_add(&text, words.bytes + skip, words.len - skip);
    }
    gt_str written = gt_buffer_str(&text);
    uint32_t id = gt_interner_add(schedule->strings, written.bytes, written.len);
    gt_buffer_free(&text);
    return id;
}

static double part_sum_ns(const gt_chain *chain)
{
    return chain->parts[GT_CHAIN_FORWARD].now_ns + chain->parts[GT_CHAIN_BACKWARD].now_ns;
}

/* Adds a chain to the sums of its site. */
static void add_to_site(chain_search *search, uint32_t number, gt_chain_site *site)
{
    const gt_schedule *schedule = search->schedule;
    const gt_chain *chain = &search->chains->items[number];
    bool is_in_window = false;
    site->chains++;
    site->long_ones += chain->parts[GT_CHAIN_FORWARD].passes >= LONG_CHAIN;
    if (part_sum_ns(chain) > part_sum_ns(&search->chains->items[site->chain])) site->chain = number;
    for (int direction = 0; direction < GT_CHAIN_DIRECTIONS; direction++) {
        const gt_chain_part *part = &chain->parts[direction];
        for (size_t i = 0; i < part->count; i++) {
            const gt_gpu_op *op = op_at(search, search->chains->ops[direction][part->first + i]);
            if (!gt_window_has(&schedule->window, op->start_ns)) continue;
            is_in_window = true;
            site->kernels++;
            site->now_ns += (double)gt_op_ns(op);
            site->fused_ns += (double)gt_op_ns(op) * part->fused_ns / part->now_ns;
        }
    }
    site->calls += is_in_window;
}

static double saved_ns(const gt_chain_site *site)
{
    return site->now_ns - site->fused_ns;
}

static int most_saved_first(const void *left, const void *right)
{
    const gt_chain_site *a = left, *b = right;
    if (saved_ns(a) != saved_ns(b)) return saved_ns(a) > saved_ns(b) ? -1 : 1;
    return (a->chain > b->chain) - (a->chain < b->chain);
}

/* Leaves the sites that are worth a finding, and gives their chains the new numbers. */
static void keep_sites(chain_search *search)
{
    gt_chains *chains = search->chains;
    const gt_step_window *window = &search->schedule->window;
    double least_ns = least_saved * (double)(window->end_ns - window->start_ns);
    gt_map numbers = {0};
    size_t kept = 0;
    for (size_t i = 0; i < chains->site_count; i++)
        if (saved_ns(&chains->sites[i]) >= least_ns) chains->sites[kept++] = chains->sites[i];
    if (kept) qsort(chains->sites, kept, sizeof *chains->sites, most_saved_first);
    for (size_t i = 0; i < kept; i++) *gt_map_put(&numbers, chains->sites[i].name, 0) = (uint32_t)i;
    chains->site_count = kept;
    for (size_t i = 0; i < chains->count; i++) {
        gt_chain *chain = &chains->items[i];
        if (chain->site == GT_NONE) continue;
        uint32_t site = gt_map_get(&numbers, chain->site, 0); /* by name until now */
        chain->site = site == GT_MAP_NONE ? GT_NONE : site;
        for (int direction = 0; site != GT_MAP_NONE && direction < GT_CHAIN_DIRECTIONS; direction++)
            for (size_t k = 0; k < chain->parts[direction].count; k++)
                chains->has_op[chains->ops[direction][chain->parts[direction].first + k]] = true;
    }
    gt_map_free(&numbers);
}

static void find_sites(chain_search *search)
{
    gt_chains *chains = search->chains;
    gt_map sites = {0};
    size_t capacity = 0;
    for (size_t i = 0; i < chains->count; i++) {
        gt_chain *chain = &chains->items[i];
        if (!judge(search, chain)) continue;
        chain->site =
            chain->call == GT_NONE ? name_by_ops(search, chain) : search->schedule->events[chain->call].name;
        uint32_t *site = gt_map_put(&sites, chain->site, 0);
        if (*site == GT_MAP_NONE) {
            *site = (uint32_t)chains->site_count;
            GT_PUSH(chains->sites, chains->site_count, capacity,
                    ((gt_chain_site){.name = chain->site, .chain = (uint32_t)i}));
        }
        add_to_site(search, (uint32_t)i, &chains->sites[*site]);
    }
    gt_map_free(&sites);
    keep_sites(search);
}

/* ---- all of it ---- */

static uint32_t shapes_end(const gt_gpu_facts *facts)
{
    uint32_t end = 0;
    for (size_t i = 0; i < facts->source_count; i++)
        if (facts->sources[i].shape >= end) end = facts->sources[i].shape + 1;
    return end;
}

gt_chains *gt_chains_find(const gt_gpu_facts *facts, const gt_schedule *schedule, const gt_gpu_rates *gpu)
{
    if (!facts->source_count || !schedule->point_count || !schedule->trace) return NULL;
    gt_chains *chains = gt_alloc_zero(1, sizeof *chains);
    chain_search search = {.facts = facts, .schedule = schedule, .chains = chains, .bytes = gpu->bytes};
    search.traffic = gt_alloc_zero(shapes_end(facts), sizeof *search.traffic);
    chains->has_op = gt_alloc_zero(schedule->op_count, sizeof *chains->has_op);
    find_forward(&search);
    find_backward(&search);
    chains->rate = find_rate(&search, gpu);
    find_sites(&search);
    gt_free_all(search.traffic, search.run, search.gradients, search.spans);
    gt_arena_free(&search.arena);
    return chains;
}

void gt_chains_free(gt_chains *chains)
{
    if (!chains) return;
    gt_free_all(chains->items, chains->ops[GT_CHAIN_FORWARD], chains->ops[GT_CHAIN_BACKWARD], chains->sites,
                chains->has_op, chains);
}
