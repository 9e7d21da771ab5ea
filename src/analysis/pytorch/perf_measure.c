/* Measures many events at once, on all threads.
 *
 * Threads take ranges of the events. For each event they measure the kernels and note what its model depends
 * on (name, arguments, kernels that the model reads); events of a range that agree in this share one key.
 * Then the keys of all ranges are joined in order, the models are evaluated once per key, and the threads
 * hand out the results. */
#include "analysis/pytorch/perf.h"

#include "trace/pytorch/gpu_ranges.h"

/* What a result depends on. Only 32-bit members, so that keys can be compared as bytes. */
typedef struct key {
    uint32_t name, arguments[GT_PERF_ARGUMENTS], extra, annotation, backward;
    uint32_t kernel_count, kernels[2]; /* names */
} key;

/* The keys of a range: strings of an interner, whose ids start at FIRST_KEY. */
enum { FIRST_KEY = GT_STR_EMPTY + 1, NO_KEY = GT_STR_NONE };
typedef struct range_keys {
    gt_interner *keys;
    gt_row_list items;        /* by key: the first item that has it */
    uint32_t *calls;          /* by key: its call */
    uint64_t kernel_count[2]; /* of its events; of its backward passes */
} range_keys;

/* Kernels of items that are found in one pass over a list, because ops are deeply nested (gpu_ranges.h). */
typedef struct found_kernels {
    bool used;
    gt_busy *busy;                       /* by item */
    uint32_t *first, *first_with_layout; /* by item: rows; GT_NO_EVENT: none */
} found_kernels;

typedef struct measuring {
    gt_perf *perf;
    const gt_perf_item *items;
    size_t count;
    gt_op_row *ops;
    uint8_t *outcomes;
    uint32_t *key_of; /* by item; NO_KEY: its model is not evaluated by key */
    range_keys *ranges;
    found_kernels found[2]; /* of events; of backward passes */
    gt_model_call *calls;
    size_t call_count, call_capacity;
} measuring;

/* ---- kernels ---- */

/* Threads that check a new name at the same time store the same. */
static bool has_layout(const gt_perf *p, uint32_t gpu_row)
{
    uint8_t *cached = &p->layouts[p->trace->name[gpu_row]];
    uint8_t known = __atomic_load_n(cached, __ATOMIC_RELAXED);
    gt_value transpose[2];
    if (!known) {
        known = gt_gemm_transpose(gt_event_name(&p->trace->events, gpu_row), transpose) ? 2 : 1;
        __atomic_store_n(cached, known, __ATOMIC_RELAXED);
    }
    return known == 2;
}

static bool is_in_list(const measuring *m, size_t item)
{
    const gt_perf_item *i = &m->items[item];
    return m->found[i->backward].used && m->perf->trace->preorder[i->row] != GT_NO_EVENT;
}

static void count_kernels(void *context, size_t begin, size_t end)
{
    measuring *m = context;
    range_keys *r = &m->ranges[begin / GT_OPS_GRAIN];
    size_t counts[2] = {0,
                        0}; /* not in the range yet: its neighbours in memory are counted by other threads */
    for (size_t i = begin; i < end; i++) {
        size_t count = gt_perf_count_kernels(m->perf, m->items[i].row, m->items[i].backward);
        m->ops[i] = (gt_op_row){
            m->items[i].row, m->items[i].name, gt_event_uid(&m->perf->trace->events, m->items[i].row), {0}};
        m->ops[i].metrics.kernel_count = (uint32_t)count;
        counts[m->items[i].backward] += count;
    }
    memcpy(r->kernel_count, counts, sizeof counts);
}

/* The GPU events of all gradients, in the order of gradients->numbers. */
static gt_gpu_rows list_gradients(const gt_perf *p)
{
    const gt_gradients *g = p->gradients;
    gt_gpu_rows list = {.trace = &p->trace->events, .count = p->gradient_begins[g->count]};
    gt_row_list gpu = {0};
    for (size_t i = 0; i < g->count; i++)
        gt_calls_add_gpu_events(p->calls, g->backward_of[p->calls->row_of[g->numbers[i]]], &gpu);
    list.rows = gpu.items;
    list.order = gt_alloc(list.count * sizeof *list.order);
    for (uint32_t i = 0; i < list.count; i++) list.order[i] = i;
    return list;
}

static gt_gpu_range range_of(const gt_perf *p, uint32_t row, bool backward)
{
    if (!backward) return gt_gpu_range_below(p->calls, row);
    size_t begin, end;
    gt_gradients_below(p->gradients, row, &begin, &end);
    return (gt_gpu_range){(uint32_t)p->gradient_begins[begin], (uint32_t)p->gradient_begins[end]};
}

static void find_in_list(measuring *m, bool backward)
{
    const gt_perf *p = m->perf;
    found_kernels *f = &m->found[backward];
    gt_gpu_rows list = backward ? list_gradients(p) : gt_gpu_rows_of_calls(p->calls);
    gt_gpu_range *ranges = gt_alloc_zero(m->count, sizeof *ranges);
    uint8_t *layouts = gt_alloc(list.count);
    *f = (found_kernels){true, gt_alloc(m->count * sizeof *f->busy), gt_alloc(m->count * sizeof *f->first),
                         gt_alloc(m->count * sizeof *f->first)};
    for (size_t i = 0; i < m->count; i++)
        if (m->items[i].backward == backward && p->trace->preorder[m->items[i].row] != GT_NO_EVENT)
            ranges[i] = range_of(p, m->items[i].row, backward);
    for (size_t i = 0; i < list.count; i++) layouts[i] = has_layout(p, list.rows[i]);
    gt_gpu_ranges_busy(&list, ranges, m->count, f->busy);
    gt_gpu_ranges_first(&list, NULL, ranges, m->count, f->first);
    gt_gpu_ranges_first(&list, layouts, ranges, m->count, f->first_with_layout);
    gt_gpu_rows_free(&list);
    gt_free_all(ranges, layouts);
}

/* Gradients that are nested in each other are always gone through one by one. */
static void find_deep_kernels(measuring *m)
{
    const gt_perf *p = m->perf;
    size_t launches = gt_calls_begin(p->calls, p->trace->numbered);
    size_t gradients = p->gradient_begins[p->gradients->count];
    uint64_t counts[2] = {0};
    for (size_t r = 0; r < gt_range_count(m->count, GT_OPS_GRAIN); r++) {
        counts[0] += m->ranges[r].kernel_count[0];
        counts[1] += m->ranges[r].kernel_count[1];
    }
    if (gt_gpu_ranges_are_long(counts[0], launches)) find_in_list(m, false);
    if (gt_gpu_ranges_are_long(counts[1], gradients) && !gt_gpu_ranges_are_long(gradients, launches))
        find_in_list(m, true);
}

/* ---- keys ---- */

typedef struct scratch {
    gt_row_list kernels, functions;
    gt_intervals spare;
} scratch;

static void add_kernel(key *k, const gt_perf *p, uint32_t gpu_row)
{
    if (gpu_row != GT_NO_EVENT) k->kernels[k->kernel_count++] = p->trace->name[gpu_row];
}

/* Measures the kernels of an item, and sets the kernels of its key. */
static void measure_kernels(measuring *m, size_t item, scratch *s, key *k)
{
    const gt_perf *p = m->perf;
    const gt_perf_item *i = &m->items[item];
    bool uses_kernels = i->model && i->model->uses & GT_USES_KERNELS;
    uint32_t first = GT_NO_EVENT, with_layout = GT_NO_EVENT;
    if (is_in_list(m, item)) {
        const found_kernels *f = &m->found[i->backward];
        gt_op_metrics_set_busy(&m->ops[item].metrics, f->busy[item]);
        first = f->first[item];
        with_layout = f->first_with_layout[item];
    } else {
        gt_perf_find_kernels(p, i->row, i->backward, &s->functions, &s->kernels);
        gt_op_metrics_set_busy(&m->ops[item].metrics, gt_busy_time(&p->trace->events, s->kernels.items,
                                                                   s->kernels.count, &s->spare));
        if (s->kernels.count) first = s->kernels.items[0];
        for (size_t n = 0; uses_kernels && with_layout == GT_NO_EVENT && n < s->kernels.count; n++)
            if (has_layout(p, s->kernels.items[n])) with_layout = s->kernels.items[n];
    }
    if (!uses_kernels) return;
    add_kernel(k, p, first);
    if (with_layout != first) add_kernel(k, p, with_layout);
}

static bool has_key(const gt_perf_item *item)
{
    return item->model && !(item->model->uses & (GT_USES_SEQUENCE | GT_USES_EXTENSION));
}

static uint32_t number_key(range_keys *r, const key *k, size_t item)
{
    uint32_t id = gt_interner_add(r->keys, k, sizeof *k);
    if (id - FIRST_KEY == r->items.count)
        GT_PUSH(r->items.items, r->items.count, r->items.capacity, (uint32_t)item);
    return id;
}

static void measure_range(void *context, size_t begin, size_t end)
{
    enum { BLOCK = 128 };
    measuring *m = context;
    const gt_perf *p = m->perf;
    range_keys *r = &m->ranges[begin / GT_OPS_GRAIN];
    uint32_t rows[BLOCK], arguments[BLOCK * GT_PERF_ARGUMENTS];
    scratch s = {0};
    r->keys = gt_interner_new();
    for (size_t i = begin; i < end; i++) {
        size_t place = (i - begin) % BLOCK, left = end - i < BLOCK ? end - i : BLOCK;
        for (size_t n = 0; place == 0 && n < left; n++) rows[n] = m->items[i + n].row;
        if (place == 0) gt_perf_arguments(p, rows, left, arguments);
        key k = {.name = m->items[i].name,
                 .extra = p->trace->extra ? p->trace->extra[rows[place]] : GT_STR_NONE,
                 .annotation = p->annotations ? p->annotations[rows[place]] : GT_STR_NONE,
                 .backward = m->items[i].backward};
        memcpy(k.arguments, arguments + place * GT_PERF_ARGUMENTS, sizeof k.arguments);
        measure_kernels(m, i, &s, &k);
        m->key_of[i] = has_key(&m->items[i]) ? number_key(r, &k, i) : NO_KEY;
    }
    gt_free_all(s.kernels.items, s.functions.items);
    gt_intervals_free(&s.spare);
}

static gt_model_call call_of(const key *k, const gt_model *model)
{
    return (gt_model_call){.model = model,
                           .event = {.name = k->name,
                                     .dims = k->arguments[GT_PERF_DIMS],
                                     .types = k->arguments[GT_PERF_TYPES],
                                     .strides = k->arguments[GT_PERF_STRIDES],
                                     .concrete = k->arguments[GT_PERF_CONCRETE],
                                     .extra = k->extra,
                                     .annotation = k->annotation,
                                     .sequence = GT_EVENT_NONE,
                                     .kernels = k->kernels,
                                     .kernel_count = k->kernel_count},
                           .backward = k->backward != 0};
}

/* One call per key, in the order of the events. */
static void join_keys(measuring *m)
{
    gt_interner *all = gt_interner_new();
    for (size_t i = 0; i < gt_range_count(m->count, GT_OPS_GRAIN); i++) {
        range_keys *r = &m->ranges[i];
        r->calls = gt_alloc(r->items.count * sizeof *r->calls);
        for (uint32_t n = 0; n < r->items.count; n++) {
            gt_str bytes = gt_interner_get(r->keys, n + FIRST_KEY);
            uint32_t id = gt_interner_add(all, bytes.bytes, bytes.len) - FIRST_KEY;
            /* The key stays in the range's interner, at an address that is aligned for it. */
            const key *k = (const void *)bytes.bytes;
            if (id == m->call_count)
                GT_PUSH(m->calls, m->call_count, m->call_capacity,
                        call_of(k, m->items[r->items.items[n]].model));
            r->calls[n] = id;
        }
    }
    gt_interner_free(all);
    gt_model_evaluate_many(m->perf->models, m->calls, m->call_count);
}

/* ---- results ---- */

static const gt_model_result *result_of(const measuring *m, size_t item, const range_keys *r)
{
    const gt_perf_item *i = &m->items[item];
    if (m->key_of[item] != NO_KEY) return m->calls[r->calls[m->key_of[item] - FIRST_KEY]].result;
    return i->model->uses & GT_USES_EXTENSION ? gt_extension_result(m->perf->extension, i->row, i->backward)
                                              : NULL;
}

static void finish(measuring *m, size_t item, const gt_model_result *result)
{
    const gt_perf_item *i = &m->items[item];
    m->outcomes[item] =
        (uint8_t)gt_perf_finish(m->perf, i->model, result, i->backward, &m->ops[item].metrics);
}

static void finish_range(void *context, size_t begin, size_t end)
{
    measuring *m = context;
    const range_keys *r = &m->ranges[begin / GT_OPS_GRAIN];
    for (size_t i = begin; i < end; i++) {
        const gt_model *model = m->items[i].model;
        if (model && model->uses & GT_USES_SEQUENCE)
            finish(m, i,
                   gt_perf_evaluate_in_order(m->perf, model, m->items[i].row, m->items[i].name,
                                             m->items[i].backward));
        else
            finish(m, i, model ? result_of(m, i, r) : NULL);
    }
}

/* Whether results depend on the order in which the events are finished: some models learn from earlier ones,
 * and a simulator may stop. */
static bool needs_order(const measuring *m)
{
    bool learns = false;
    for (size_t i = 0; i < m->count && !learns; i++)
        learns = m->items[i].model && m->items[i].model->uses & GT_USES_SEQUENCE;
    return learns || m->perf->simulator;
}

void gt_perf_measure_all(gt_perf *p, const gt_perf_item *items, size_t count, gt_op_row *ops,
                         uint8_t *outcomes)
{
    size_t ranges = gt_range_count(count, GT_OPS_GRAIN);
    measuring m = {.perf = p,
                   .items = items,
                   .count = count,
                   .ops = ops,
                   .outcomes = outcomes,
                   .key_of = gt_alloc(count * sizeof *m.key_of),
                   .ranges = gt_alloc_zero(ranges, sizeof *m.ranges)};
    gt_parallel_ranges(count, GT_OPS_GRAIN, count_kernels, &m);
    find_deep_kernels(&m);
    gt_parallel_ranges(count, GT_OPS_GRAIN, measure_range, &m);
    join_keys(&m);
    if (needs_order(&m))
        for (size_t r = 0; r < ranges; r++)
            finish_range(&m, r * GT_OPS_GRAIN, r + 1 < ranges ? (r + 1) * GT_OPS_GRAIN : count);
    else
        gt_parallel_ranges(count, GT_OPS_GRAIN, finish_range, &m);
    for (size_t r = 0; r < ranges; r++) {
        gt_interner_free(m.ranges[r].keys);
        gt_free_all(m.ranges[r].items.items, m.ranges[r].calls);
    }
    for (int i = 0; i < 2; i++) {
        gt_free_all(m.found[i].busy, m.found[i].first, m.found[i].first_with_layout);
    }
    gt_free_all(m.calls, m.ranges, m.key_of);
}
