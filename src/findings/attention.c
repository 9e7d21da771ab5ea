/* Finds attention that runs as several simple ops instead of one fused kernel.
 *
 * Forward, one of two patterns on one thread:
 *
 *     aten::_scaled_dot_product_attention_math      all ops below it
 *     bmm, _softmax, bmm                            all ops from the first bmm to the second. The sizes
 *                                                   must fit: softmax over B x M x N, after a product that
 *                                                   gives B x M x N, before one that reads it
 *
 * The second is looked for on threads without the first. Backward: ops below the autograd node with the
 * sequence number of an op of the forward part; then the flops are 3.5 times those of the forward pass.
 *
 * An op belongs to the first attention that contains it, so that one pass over the events is enough even if a
 * trace claims that a million attentions overlap. */
#include "findings/gpu_facts.h"

#include "findings/schedule/names.h"

/* The events of an attention's forward part: those that start and end in this time on this thread. */
typedef struct forward_span {
    uint32_t thread;
    uint32_t first; /* event where it starts */
    int64_t end_ns;
} forward_span;

typedef struct attention_search {
    gt_gpu_facts *facts;
    const gt_schedule *schedule;
    const gt_row_set *source_events;      /* the rank of an event is the index of its source */
    uint32_t math, softmax, bmm, baddbmm; /* names; GT_STR_NONE: the trace has no such op */
    forward_span *spans;                  /* of facts->attentions */
    size_t span_count, span_capacity;
    uint32_t *rows, *events; /* spare lists */
    size_t row_count, row_capacity, event_count, event_capacity;
    gt_map sequences; /* of ops of forward parts: to the attention */
} attention_search;

static uint32_t name_id(const attention_search *search, const char *name)
{
    return gt_interner_find(search->schedule->strings, name, strlen(name));
}

static bool is_op(const gt_host_event *event, uint32_t name)
{
    return name != GT_STR_NONE && event->name == name && event->kind == GT_KIND_CPU_OP;
}

static void list_event(attention_search *search, uint32_t event)
{
    GT_PUSH(search->events, search->event_count, search->event_capacity, event);
    GT_PUSH(search->rows, search->row_count, search->row_capacity, search->schedule->events[event].row);
}

static void clear_lists(attention_search *search)
{
    search->row_count = search->event_count = 0;
}

/* The shapes of the listed events; the caller frees them. */
static uint32_t *listed_shapes(attention_search *search)
{
    uint32_t *shapes = gt_alloc(search->row_count * sizeof *shapes);
    gt_shapes_find(search->facts->shapes, search->rows, search->row_count, shapes);
    return shapes;
}

static void add_attention(attention_search *search, gt_attention attention, forward_span span)
{
    gt_gpu_facts *facts = search->facts;
    GT_PUSH(facts->attentions, facts->attention_count, facts->attention_capacity, attention);
    GT_PUSH(search->spans, search->span_count, search->span_capacity, span);
}

/* ---- forward patterns ---- */

static bool find_math(attention_search *search, uint32_t thread)
{
    const gt_schedule *schedule = search->schedule;
    clear_lists(search);
    for (uint32_t i = schedule->threads[thread].first; i < schedule->threads[thread].end; i++)
        if (is_op(&schedule->events[i], search->math)) list_event(search, i);
    uint32_t *shapes = listed_shapes(search);
    for (size_t i = 0; i < search->event_count; i++) {
        const gt_op_shape *shape = gt_shapes_get(search->facts->shapes, shapes[i]);
        uint32_t event = search->events[i];
        add_attention(search,
                      (gt_attention){.event = event,
                                     .shape = shapes[i],
                                     .is_math = true,
                                     .type = shape->type,
                                     .flops = shape->flops,
                                     .head = shape->head},
                      (forward_span){thread, event, schedule->events[event].end_ns});
    }
    gt_free(shapes);
    return search->event_count > 0;
}

/* How many products before and after a softmax are looked at. */
enum { REACH = 3 };

/* The products of a thread and their shapes, in order of start. */
typedef struct product_list {
    const uint32_t *events, *shapes;
    size_t count;
    const gt_shapes *all_shapes;
} product_list;

static const gt_op_shape *product_at(const product_list *products, size_t i)
{
    const gt_op_shape *shape = gt_shapes_get(products->all_shapes, products->shapes[i]);
    return shape->is_known ? shape : NULL;
}

/* The product before the softmax that gives its input, and the one after it that reads its output; `next` is
 * the first product that does not start before the softmax. False if there are none. */
static bool find_products(const product_list *products, size_t next, const gt_op_shape *softmax,
                          size_t *before, size_t *after)
{
    *before = *after = SIZE_MAX;
    for (size_t i = next; i > 0 && next - i < REACH && *before == SIZE_MAX; i--) {
        const gt_op_shape *g = product_at(products, i - 1);
        if (g && g->batch * g->m * g->n == softmax->size && g->n == softmax->last) *before = i - 1;
    }
    for (size_t i = next; i < products->count && i - next < REACH && *after == SIZE_MAX; i++) {
        const gt_op_shape *g = product_at(products, i);
        if (g && g->batch * g->m * g->k == softmax->size && g->k == softmax->last) *after = i;
    }
    return *before != SIZE_MAX && *after != SIZE_MAX;
}

static void find_products_around_softmax(attention_search *search, uint32_t thread)
{
    const gt_schedule *schedule = search->schedule;
    const gt_host_thread *range = &schedule->threads[thread];
    uint32_t *softmax = NULL;
    size_t softmax_count = 0, softmax_capacity = 0;
    clear_lists(search);
    for (uint32_t i = range->first; i < range->end; i++) {
        const gt_host_event *event = &schedule->events[i];
        if (event->kind != GT_KIND_CPU_OP) continue; /* most are Python functions */
        if (is_op(event, search->softmax) && !(event->flags & GT_HOST_BACKWARD))
            GT_PUSH(softmax, softmax_count, softmax_capacity, i);
        else if (is_op(event, search->bmm) || is_op(event, search->baddbmm))
            list_event(search, i);
    }
    size_t product_count = search->event_count;
    for (size_t i = 0; i < softmax_count && product_count; i++) list_event(search, softmax[i]);
    uint32_t *shapes = product_count ? listed_shapes(search) : NULL;
    product_list products = {search->events, shapes, product_count, search->facts->shapes};
    size_t next = 0, before, after;
    for (size_t i = 0; i < softmax_count && product_count; i++) {
        int64_t start_ns = schedule->events[softmax[i]].start_ns;
        while (next < product_count && schedule->events[products.events[next]].start_ns < start_ns) next++;
        uint32_t shape = shapes[product_count + i];
        const gt_op_shape *size = gt_shapes_get(search->facts->shapes, shape);
        if (size->rank < 3 || !find_products(&products, next, size, &before, &after)) continue;
        const gt_op_shape *g = product_at(&products, before);
        add_attention(
            search,
            (gt_attention){
                .event = softmax[i], .shape = shape, .type = g->type, .flops = 2 * g->flops, .head = g->k},
            (forward_span){thread, products.events[before], schedule->events[products.events[after]].end_ns});
    }
    gt_free_all(shapes, softmax);
}

/* ---- what belongs to an attention ---- */

static void claim(attention_search *search, uint32_t event, uint32_t attention)
{
    uint32_t source = gt_row_set_rank(search->source_events, event);
    if (source != GT_NO_RANK && search->facts->sources[source].attention == GT_NONE)
        search->facts->sources[source].attention = attention;
}

/* The sequence numbers of the listed events; the caller frees them. */
static int64_t *listed_sequences(attention_search *search)
{
    int64_t *sequences = gt_alloc(search->row_count * sizeof *sequences);
    if (search->row_count)
        gt_store_ints_at(search->schedule->trace->store, GT_EVENT_SEQUENCE, search->rows, search->row_count,
                         sequences);
    return sequences;
}

/* Spans of one thread follow each other in order of their first event. */
static void claim_forward(attention_search *search)
{
    const gt_schedule *schedule = search->schedule;
    uint32_t *owner = NULL; /* the attention of each listed event */
    size_t owner_count = 0, owner_capacity = 0;
    clear_lists(search);
    uint32_t next = 0; /* the first event that no span before has looked at */
    for (uint32_t i = 0; i < search->span_count; i++) {
        const forward_span *span = &search->spans[i];
        uint32_t end = schedule->threads[span->thread].end;
        if (next < span->first) next = span->first;
        if (next > end) continue;
        for (; next < end && schedule->events[next].start_ns <= span->end_ns; next++) {
            const gt_host_event *event = &schedule->events[next];
            /* Times in files are rounded to 1 ns. */
            if (event->kind != GT_KIND_CPU_OP || event->end_ns > span->end_ns + 1) continue;
            claim(search, next, i);
            list_event(search, next);
            GT_PUSH(owner, owner_count, owner_capacity, i);
        }
    }
    int64_t *sequences = listed_sequences(search);
    for (size_t i = 0; i < search->event_count; i++)
        if (sequences[i] != GT_EVENT_NONE)
            *gt_map_put(&search->sequences, (uint64_t)sequences[i], 0) = owner[i];
    gt_free_all(sequences, owner);
}

/* Whether there is a backward pass: a look at the names instead of all events. */
static bool has_backward(const gt_schedule *schedule)
{
    for (size_t i = 0; i < schedule->name_count; i++)
        if (schedule->name_bits[i] & GT_NAME_BACKWARD) return true;
    return false;
}

static void claim_backward(attention_search *search)
{
    const gt_schedule *schedule = search->schedule;
    if (!has_backward(schedule)) return;
    clear_lists(search);
    for (uint32_t i = 0; i < schedule->event_count; i++) {
        const gt_host_event *event = &schedule->events[i];
        if (event->kind == GT_KIND_CPU_OP && (event->flags & GT_HOST_BACKWARD) &&
            gt_name_has(schedule, event->name, GT_NAME_BACKWARD))
            list_event(search, i);
    }
    int64_t *sequences = listed_sequences(search);
    uint32_t thread = 0; /* of the node: events are listed thread by thread */
    for (size_t i = 0; i < search->event_count; i++) {
        uint32_t first = search->events[i];
        const gt_host_event *node = &schedule->events[first];
        while (first >= schedule->threads[thread].end) thread++;
        uint32_t end = schedule->threads[thread].end;
        if (i + 1 < search->event_count && search->events[i + 1] < end) end = search->events[i + 1];
        uint32_t owner = sequences[i] == GT_EVENT_NONE
                             ? GT_MAP_NONE
                             : gt_map_get(&search->sequences, (uint64_t)sequences[i], 0);
        if (owner == GT_MAP_NONE) continue;
        gt_attention *attention = &search->facts->attentions[owner];
        if (!attention->has_backward) attention->flops *= 3.5;
        attention->has_backward = true;
        for (uint32_t k = first; k < end && schedule->events[k].start_ns <= node->end_ns; k++)
            if (schedule->events[k].kind == GT_KIND_CPU_OP && schedule->events[k].end_ns <= node->end_ns + 1)
                claim(search, k, owner);
    }
    gt_free(sequences);
}

/* ---- how slow it is ---- */

static void judge(gt_gpu_facts *facts, const gt_schedule *schedule, const gt_gpu_rates *gpu)
{
    for (size_t i = 0; i < schedule->op_count; i++) {
        uint32_t source = facts->op_source[i];
        if (source == GT_NONE || facts->sources[source].attention == GT_NONE) continue;
        gt_attention *attention = &facts->attentions[facts->sources[source].attention];
        attention->op_count++;
        attention->total_ns += gt_op_ns(&schedule->ops[i]);
    }
    for (size_t i = 0; i < facts->attention_count && gpu->half_flops > 0; i++) {
        gt_attention *attention = &facts->attentions[i];
        double rate = gt_operand_is_half(attention->type) ? gpu->half_flops : gpu->tf32_flops;
        double total = (double)attention->total_ns;
        /* Without shapes: the usual ratio. */
        attention->fused_ns =
            attention->flops > 0 ? attention->flops / (GT_REACH_ATTENTION * rate) : 0.15 * total;
        attention->is_slow = attention->op_count && total > 1.5 * attention->fused_ns;
        attention->is_odd = (int64_t)attention->head % 8 != 0;
    }
}

void gt_gpu_facts_find_attention(gt_gpu_facts *facts, const gt_schedule *schedule, const gt_gpu_rates *gpu,
                                 const gt_row_set *events)
{
    attention_search search = {.facts = facts, .schedule = schedule, .source_events = events};
    search.math = name_id(&search, "aten::_scaled_dot_product_attention_math");
    search.softmax = name_id(&search, "aten::_softmax");
    search.bmm = name_id(&search, "aten::bmm");
    search.baddbmm = name_id(&search, "aten::baddbmm");
    bool has_products =
        search.softmax != GT_STR_NONE && (search.bmm != GT_STR_NONE || search.baddbmm != GT_STR_NONE);
    if (search.math == GT_STR_NONE && !has_products) return;
    for (uint32_t i = 0; i < schedule->thread_count; i++)
        if (search.math == GT_STR_NONE || !find_math(&search, i))
            if (has_products) find_products_around_softmax(&search, i);
    if (facts->attention_count) {
        claim_forward(&search);
        claim_backward(&search);
        judge(facts, schedule, gpu);
    }
    gt_free_all(search.spans, search.rows, search.events);
    gt_map_free(&search.sequences);
}
