/* Which call of a captured graph is each kernel of a launch? Both are in the order of their starts.
 *
 *     one stream, as many calls as kernels     the n-th call is the n-th kernel, if the names agree;
 * otherwise the n-th call of a name is the n-th kernel of that name one stream, other numbers each kernel is
 * the next call that fits; calls between are of no kernel of this launch several streams each stream is in
 * order: a call takes the first kernel that is left of a stream where it fits, and if several have one, of
 * the stream whose next kernels fit the most of the next calls
 *
 * A runtime call and the driver call that it makes are both calls. If they are too many, the inner ones do
 * not count. */
#include "analysis/captures/captures.h"

unsigned gt_memory_call(gt_str name)
{
    return (gt_str_contains(name, "Memcpy") ? GT_MEMORY_COPY : 0u) |
           (gt_str_contains(name, "Memset") ? GT_MEMORY_SET : 0u);
}

/* ROCm's kernels for copies and memsets are __amd_rocclr_copyBuffer and __amd_rocclr_fillBufferAligned. */
unsigned gt_memory_kernel(gt_str name)
{
    bool copies = gt_str_contains(name, "Memcpy") || gt_str_contains(name, "copyBuffer");
    bool sets = gt_str_contains(name, "Memset") || gt_str_contains(name, "fillBuffer");
    return (copies ? GT_MEMORY_COPY : 0u) | (sets ? GT_MEMORY_SET : 0u);
}

void gt_alignment_free(gt_alignment *a)
{
    gt_free(a->pairs);
    *a = (gt_alignment){0};
}

typedef struct aligner {
    const gt_align_call *calls;
    const gt_align_kernel *kernels;
    size_t call_count, kernel_count;
    gt_alignment result;
} aligner;

static bool fits(const gt_align_call *call, const gt_align_kernel *kernel)
{
    return (call->memory & kernel->memory) || call->name == kernel->name;
}

static void add_pair(aligner *a, size_t call, size_t kernel)
{
    a->result.pairs[a->result.count++] = (gt_graft_pair){(uint32_t)call, (uint32_t)kernel};
}

/* ---- one stream ---- */

static void align_skipping(aligner *a)
{
    size_t call = 0;
    a->result.kind = GT_ALIGNED_SKIPPING;
    for (size_t k = 0; k < a->kernel_count; k++, call++) {
        while (call < a->call_count && !fits(&a->calls[call], &a->kernels[k])) call++;
        if (call == a->call_count) {
            a->result.kind = GT_NOT_ALIGNED;
            return;
        }
        add_pair(a, call, k);
    }
}

/* Kernels of the same name, or of the same kind of memory operation, in order. */
typedef struct queue {
    uint32_t name;
    size_t calls, kernels; /* how many there are */
    uint32_t first, last;  /* kernels; GT_NO_EVENT: none is left */
} queue;

typedef struct queues {
    gt_map places; /* from a name, or a kind of memory operation, to an index */
    queue *items;
    size_t count, capacity;
    uint32_t *next; /* by kernel: the next one of its queue */
} queues;

static queue *queue_of(queues *q, uint32_t name, unsigned memory)
{
    uint32_t *place = gt_map_put(&q->places, memory ? 0 : name, memory);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)q->count;
        GT_PUSH(q->items, q->count, q->capacity, ((queue){name, 0, 0, GT_NO_EVENT, GT_NO_EVENT}));
    }
    return &q->items[*place];
}

/* Memory operations are put together by kind where no call has the name of the kernel. */
static unsigned kind_of_kernel(queues *q, const gt_align_kernel *kernel)
{
    return kernel->memory && !queue_of(q, kernel->name, 0)->calls ? kernel->memory & -kernel->memory : 0;
}

static unsigned kind_of_call(queues *q, const gt_align_call *call)
{
    return call->memory && !queue_of(q, call->name, 0)->kernels ? call->memory & -call->memory : 0;
}

static void push_kernel(queues *q, queue *to, uint32_t kernel)
{
    q->next[kernel] = GT_NO_EVENT;
    if (to->last == GT_NO_EVENT)
        to->first = kernel;
    else
        q->next[to->last] = kernel;
    to->last = kernel;
}

/* Whether every queue has as many calls as kernels; otherwise notes the first, in the order of the kernels.
 */
static bool counts_agree(aligner *a, queues *q)
{
    size_t *kernels = gt_alloc_zero(q->count, sizeof *kernels),
           *calls = gt_alloc_zero(q->count, sizeof *calls);
    queue *bad = NULL;
    size_t bad_index = 0;
    for (size_t i = 0; i < a->kernel_count; i++) {
        const gt_align_kernel *k = &a->kernels[i];
        kernels[queue_of(q, k->name, kind_of_kernel(q, k)) - q->items]++;
    }
    for (size_t i = 0; i < a->call_count; i++) {
        const gt_align_call *c = &a->calls[i];
        calls[queue_of(q, c->name, kind_of_call(q, c)) - q->items]++;
    }
    for (size_t i = 0; !bad && i < a->kernel_count; i++) {
        const gt_align_kernel *k = &a->kernels[i];
        queue *of = queue_of(q, k->name, kind_of_kernel(q, k));
        bad_index = (size_t)(of - q->items);
        if (kernels[bad_index] == calls[bad_index]) continue;
        bad = of;
        a->result.name = k->name;
    }
    if (bad) {
        a->result.kind = GT_NOT_ALIGNED_COUNT;
        a->result.name_kernels = kernels[bad_index];
        a->result.name_calls = calls[bad_index];
    }
    gt_free_all(kernels, calls);
    return !bad;
}

static void align_by_name(aligner *a)
{
    queues q = {.next = gt_alloc(a->kernel_count * sizeof *q.next)};
    a->result.count = 0;
    a->result.kind = GT_ALIGNED_BY_NAME;
    for (size_t i = 0; i < a->call_count; i++) queue_of(&q, a->calls[i].name, 0)->calls++;
    for (size_t i = 0; i < a->kernel_count; i++) queue_of(&q, a->kernels[i].name, 0)->kernels++;
    for (unsigned kind = GT_MEMORY_COPY; kind <= GT_MEMORY_SET; kind++) queue_of(&q, 0, kind);
    if (counts_agree(a, &q)) {
        for (size_t i = 0; i < a->kernel_count; i++) {
            const gt_align_kernel *k = &a->kernels[i];
            push_kernel(&q, queue_of(&q, k->name, kind_of_kernel(&q, k)), (uint32_t)i);
        }
        for (size_t i = 0; i < a->call_count; i++) {
            const gt_align_call *c = &a->calls[i];
            queue *from = queue_of(&q, c->name, kind_of_call(&q, c));
            add_pair(a, i, from->first);
            from->first = q.next[from->first];
        }
    }
    gt_map_free(&q.places);
    gt_free_all(q.items, q.next);
}

/* A call whose kernel the capture does not name is accepted for any kernel that is no memory operation. */
static void align_in_order(aligner *a)
{
    a->result.kind = GT_ALIGNED_IN_ORDER;
    for (size_t i = 0; i < a->kernel_count; i++) {
        const gt_align_call *call = &a->calls[i];
        bool is_open = !call->is_named && !call->memory && !a->kernels[i].memory;
        if (!is_open && !fits(call, &a->kernels[i])) {
            align_by_name(a);
            return;
        }
        a->result.is_unverified |= is_open;
        add_pair(a, i, i);
    }
}

/* ---- several streams ---- */

typedef struct stream {
    uint32_t *kernels;
    size_t count, capacity, next;
} stream;

typedef struct streams {
    gt_map places; /* from a stream to an index */
    stream *items; /* in the order of their first kernels */
    size_t count, capacity;
} streams;

static streams list_streams(const aligner *a)
{
    streams s = {0};
    for (size_t i = 0; i < a->kernel_count; i++) {
        uint32_t *place = gt_map_put(&s.places, a->kernels[i].stream, 0);
        if (*place == GT_MAP_NONE) {
            *place = (uint32_t)s.count;
            GT_PUSH(s.items, s.count, s.capacity, (stream){0});
        }
        stream *of = &s.items[*place];
        GT_PUSH(of->kernels, of->count, of->capacity, (uint32_t)i);
    }
    return s;
}

static void streams_free(streams *s)
{
    for (size_t i = 0; i < s->count; i++) gt_free(s->items[i].kernels);
    gt_free(s->items);
    gt_map_free(&s->places);
}

/* Equal kernels on many streams would take quadratic time. A graph has few streams. */
enum { RUN_MAX = 1024, STREAMS_MAX = 64 };

/* How many calls, from this one on, fit the kernels that are left of a stream one to one. */
static size_t run_length(const aligner *a, const stream *s, size_t call)
{
    size_t run = 0;
    while (run < RUN_MAX && s->next + run < s->count && call + run < a->call_count &&
           fits(&a->calls[call + run], &a->kernels[s->kernels[s->next + run]]))
        run++;
    return run;
}

static stream *stream_of_call(const aligner *a, const streams *s, size_t call)
{
    stream *only = NULL, *best = NULL;
    size_t fitting = 0, longest = 0;
    for (size_t i = 0; i < s->count; i++) {
        stream *at = &s->items[i];
        if (at->next == at->count || !fits(&a->calls[call], &a->kernels[at->kernels[at->next]])) continue;
        if (!fitting++) only = at;
    }
    if (fitting < 2) return only;
    for (size_t i = 0; i < s->count; i++) {
        size_t run = run_length(a, &s->items[i], call);
        if (run <= longest) continue;
        longest = run;
        best = &s->items[i];
    }
    return best;
}

static void align_streams(aligner *a, const streams *s)
{
    uint32_t *call_of = gt_no_events(a->kernel_count);
    size_t found = 0;
    for (size_t i = 0; i < a->call_count; i++) {
        stream *of = stream_of_call(a, s, i);
        if (!of) continue;
        call_of[of->kernels[of->next++]] = (uint32_t)i;
        found++;
    }
    a->result.kind = found == a->kernel_count ? GT_ALIGNED_STREAMS : GT_NOT_ALIGNED_STREAMS;
    for (size_t k = 0; found == a->kernel_count && k < a->kernel_count; k++) add_pair(a, call_of[k], k);
    gt_free(call_of);
}

/* ---- all ---- */

static void align_all(aligner *a)
{
    streams s = list_streams(a);
    bool are_named = true;
    for (size_t i = 0; i < a->call_count; i++)
        are_named = are_named && (a->calls[i].is_named || a->calls[i].memory);
    a->result.differs = s.count <= 1 && a->call_count != a->kernel_count;
    if (s.count > 1 && !are_named)
        a->result.kind = GT_NOT_ALIGNED_NAMES;
    else if (s.count > STREAMS_MAX)
        a->result.kind = GT_NOT_ALIGNED_STREAMS;
    else if (s.count > 1)
        align_streams(a, &s);
    else if (a->result.differs)
        align_skipping(a);
    else
        align_in_order(a);
    streams_free(&s);
}

/* The calls that are not nested, if they are as many as the kernels and all calls are not; NULL otherwise. */
static uint32_t *choose_outer(const gt_align_call *calls, size_t call_count, size_t kernel_count)
{
    size_t outer = 0;
    for (size_t i = 0; i < call_count; i++) outer += !calls[i].is_nested;
    if (call_count == kernel_count || outer != kernel_count) return NULL;
    uint32_t *chosen = gt_alloc(outer * sizeof *chosen);
    for (size_t i = outer = 0; i < call_count; i++)
        if (!calls[i].is_nested) chosen[outer++] = (uint32_t)i;
    return chosen;
}

gt_alignment gt_align_graph(const gt_align_call *calls, size_t call_count, const gt_align_kernel *kernels,
                            size_t kernel_count)
{
    if (!kernel_count) return (gt_alignment){.kind = GT_NOT_ALIGNED_KERNELS};
    uint32_t *outer = choose_outer(calls, call_count, kernel_count);
    aligner a = {calls, kernels, call_count, kernel_count, {0}};
    gt_align_call *chosen = NULL;
    if (outer) {
        chosen = gt_alloc(kernel_count * sizeof *chosen);
        for (size_t i = 0; i < kernel_count; i++) chosen[i] = calls[outer[i]];
        a.calls = chosen;
        a.call_count = kernel_count;
    }
    a.result.pairs = gt_alloc(kernel_count * sizeof *a.result.pairs);
    align_all(&a);
    for (size_t i = 0; outer && i < a.result.count; i++)
        a.result.pairs[i].call = outer[a.result.pairs[i].call];
    gt_free_all(outer, chosen);
    return a.result;
}
