/* Selecting rows: each range of rows lists its own, at its place in one array; then the lists are put
 * together. */
#include "trace/pytorch/event_rows.h"

#include "trace/pytorch/pytorch.h"

typedef struct selection {
    const uint8_t *kind; /* NULL: `wanted` decides */
    uint32_t kinds;
    bool (*wanted)(const void *context, size_t i);
    const void *context;
    uint32_t *listed; /* by range: from its begin on */
    size_t *counts, *places;
    uint32_t *all;
} selection;

static void list_range(void *context, size_t begin, size_t end)
{
    const selection *s = context;
    uint32_t *list = s->listed + begin;
    size_t count = 0;
    if (s->kind) {
        for (size_t row = begin; row < end; row++) {
            list[count] = (uint32_t)row;
            count += s->kinds >> s->kind[row] & 1;
        }
    } else {
        for (size_t i = begin; i < end; i++)
            if (s->wanted(s->context, i)) list[count++] = (uint32_t)i;
    }
    s->counts[begin / GT_ROWS_GRAIN] = count;
}

static void copy_range(void *context, size_t range)
{
    const selection *s = context;
    memcpy(s->all + s->places[range], s->listed + range * GT_ROWS_GRAIN, s->counts[range] * sizeof *s->all);
}

static uint32_t *select_rows(selection *s, size_t end, size_t *count)
{
    size_t ranges = gt_range_count(end, GT_ROWS_GRAIN);
    s->listed = gt_alloc(end * sizeof *s->listed);
    s->counts = gt_alloc_zero(ranges, sizeof *s->counts);
    s->places = gt_alloc(ranges * sizeof *s->places);
    gt_parallel_ranges(end, GT_ROWS_GRAIN, list_range, s);
    *count = 0;
    for (size_t i = 0; i < ranges; i++) {
        s->places[i] = *count;
        *count += s->counts[i];
    }
    s->all = gt_alloc(*count * sizeof *s->all);
    gt_parallel_each(ranges, copy_range, s);
    gt_free_all(s->listed, s->counts, s->places);
    return s->all;
}

uint32_t *gt_rows_of_kinds(const uint8_t *kind, size_t end, uint32_t kinds, size_t *count)
{
    selection s = {.kind = kind, .kinds = kinds};
    return select_rows(&s, end, count);
}

uint32_t *gt_list_gpu_rows(const uint8_t *kind, size_t end, size_t *count)
{
    uint32_t kinds = 0;
    for (uint8_t k = 0; k < 32; k++) kinds |= (uint32_t)gt_kind_is_gpu(k) << k;
    return gt_rows_of_kinds(kind, end, kinds, count);
}

uint32_t *gt_numbers_where(size_t end, bool (*wanted)(const void *context, size_t i), const void *context,
                           size_t *count)
{
    selection s = {.wanted = wanted, .context = context};
    return select_rows(&s, end, count);
}

/* ---- questions ---- */

typedef struct question {
    bool (*holds)(const void *context, size_t i);
    const void *context;
    bool failed;
} question;

static void ask_range(void *context, size_t begin, size_t end)
{
    question *q = context;
    while (begin < end && q->holds(q->context, begin)) begin++;
    if (begin < end) __atomic_store_n(&q->failed, true, __ATOMIC_RELAXED);
}

bool gt_holds_for_all(size_t end, bool (*holds)(const void *context, size_t i), const void *context)
{
    question q = {.holds = holds, .context = context};
    gt_parallel_ranges(end, GT_ROWS_GRAIN, ask_range, &q);
    return !q.failed;
}

/* ---- copies ---- */

typedef struct gathering {
    uint32_t *to;
    const uint32_t *from, *rows;
    double *to_times;
    const double *from_times;
} gathering;

static void gather_range(void *context, size_t begin, size_t end)
{
    const gathering *g = context;
    if (g->to)
        for (size_t i = begin; i < end; i++) g->to[i] = g->from[g->rows[i]];
    else
        for (size_t i = begin; i < end; i++) g->to_times[i] = g->from_times[g->rows[i]];
}

void gt_gather_u32(uint32_t *to, const uint32_t *from, const uint32_t *rows, size_t count)
{
    gathering g = {.to = to, .from = from, .rows = rows};
    gt_parallel_ranges(count, GT_ROWS_GRAIN, gather_range, &g);
}

void gt_gather_times(double *to, const double *from, const uint32_t *rows, size_t count)
{
    gathering g = {.to_times = to, .from_times = from, .rows = rows};
    gt_parallel_ranges(count, GT_ROWS_GRAIN, gather_range, &g);
}
