/* The busy times of ranges, by a sweep over the list.
 *
 * The sweep goes from the first event to the last and knows for every moment which of the events so far that
 * ran then is the last in the list. After event e - 1, the busy time of the range [b, e) is the length of all
 * moments whose last event is b or a later one. Time is cut into pieces with the same last event; an event
 * replaces the pieces that it covers by one, so that there are at most three new pieces per event. The
 * lengths are summed up by event in a Fenwick tree. */
#include "trace/pytorch/gpu_ranges.h"

/* ---- counts ---- */

/* The first of the ascending `values` that is at least `least`. */
static size_t first_from(const uint32_t *values, size_t count, uint32_t least)
{
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (values[middle] < least)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

size_t gt_calls_count_gpu_events(const gt_calls *c, uint32_t row)
{
    const gt_linked_view *trace = c->trace;
    uint32_t number = trace->preorder[row];
    if (number != GT_NO_EVENT) return gt_calls_begin(c, trace->subtree_end[row]) - gt_calls_begin(c, number);
    return first_from(trace->link_runtime, trace->link_count, row + 1) -
           first_from(trace->link_runtime, trace->link_count, row);
}

void gt_gradients_below(const gt_gradients *g, uint32_t row, size_t *begin, size_t *end)
{
    const gt_linked_view *trace = g->calls->trace;
    *begin = first_from(g->numbers, g->count, trace->preorder[row]);
    *end = first_from(g->numbers, g->count, trace->subtree_end[row]);
}

/* ---- lists ---- */

gt_gpu_rows gt_gpu_rows_of_calls(const gt_calls *c)
{
    gt_gpu_rows list = {.trace = &c->trace->events, .count = gt_calls_begin(c, c->trace->numbered)};
    list.rows = gt_alloc(list.count * sizeof *list.rows);
    list.order = gt_alloc(list.count * sizeof *list.order);
    for (size_t i = 0; i < list.count; i++) {
        list.order[i] = c->links[i];
        list.rows[i] = c->trace->link_gpu[c->links[i]];
    }
    return list;
}

gt_gpu_range gt_gpu_range_below(const gt_calls *c, uint32_t row)
{
    return (gt_gpu_range){gt_calls_begin(c, c->trace->preorder[row]),
                          gt_calls_begin(c, c->trace->subtree_end[row])};
}

void gt_gpu_rows_free(gt_gpu_rows *list)
{
    gt_free_all(list->rows, list->order);
    *list = (gt_gpu_rows){0};
}

/* ---- a set of small integers in which neighbours are found fast ---- */

enum { MAX_LEVELS = 6 }; /* 64^6 integers */

typedef struct bit_set {
    uint64_t *levels[MAX_LEVELS]; /* bit i of a level: word i of the level below has a bit */
    int level_count;
} bit_set;

static bit_set bit_set_new(size_t count)
{
    bit_set set = {0};
    do {
        count = count / 64 + 1;
        set.levels[set.level_count++] = gt_alloc_zero(count, sizeof **set.levels);
    } while (count > 1);
    return set;
}

static void bit_set_free(bit_set *set)
{
    for (int l = 0; l < set->level_count; l++) gt_free(set->levels[l]);
}

static void bit_set_add(bit_set *set, size_t i)
{
    for (int l = 0; l < set->level_count; l++, i /= 64) set->levels[l][i / 64] |= UINT64_C(1) << i % 64;
}

static void bit_set_remove(bit_set *set, size_t i)
{
    for (int l = 0; l < set->level_count; l++, i /= 64) {
        set->levels[l][i / 64] &= ~(UINT64_C(1) << i % 64);
        if (set->levels[l][i / 64]) return;
    }
}

/* The greatest member up to i; there must be one. */
static size_t bit_set_up_to(const bit_set *set, size_t i)
{
    int l = 0;
    size_t at = i / 64;
    uint64_t word = set->levels[0][at] & UINT64_MAX >> (63 - i % 64);
    for (; !word; at /= 64) word = set->levels[++l][at / 64] & ((UINT64_C(1) << at % 64) - 1);
    at = at * 64 + 63 - (size_t)__builtin_clzll(word);
    while (l--) at = at * 64 + 63 - (size_t)__builtin_clzll(set->levels[l][at]);
    return at;
}

/* The least member above i; there must be one. */
static size_t bit_set_after(const bit_set *set, size_t i)
{
    int l = 0;
    size_t at = i / 64;
    uint64_t word = set->levels[0][at] & ~(UINT64_MAX >> (63 - i % 64));
    for (; !word; at /= 64) word = set->levels[++l][at / 64] & ~(UINT64_MAX >> (63 - at % 64));
    at = at * 64 + (size_t)__builtin_ctzll(word);
    while (l--) at = at * 64 + (size_t)__builtin_ctzll(set->levels[l][at]);
    return at;
}

/* ---- times as integers ---- */

/* Times since the first one, in units of 2^-shift microseconds, so fine that the last one is below 2^62. */
typedef struct scale {
    double first_us;
    int shift;
} scale;

static double limited(double us)
{
    return fmin(fmax(us, -0x1p1000), 0x1p1000);
}

static scale scale_of(const gt_gpu_rows *list)
{
    double first = INFINITY, last = -INFINITY;
    int exponent;
    for (size_t i = 0; i < list->count; i++) {
        double start = limited(list->trace->start_us[list->rows[i]]);
        double end = limited(gt_event_end_us(list->trace, list->rows[i]));
        first = fmin(first, fmin(start, end));
        last = fmax(last, fmax(start, end));
    }
    frexp(last - first, &exponent);
    return (scale){first, 61 - exponent};
}

static int64_t scaled(scale s, double us)
{
    return (int64_t)ldexp(limited(us) - s.first_us, s.shift);
}

/* ---- the sweep ---- */

typedef struct sweep {
    int64_t *times; /* at which events start or end, ascending, each once */
    size_t time_count;
    bit_set begins;    /* of pieces: indexes of times */
    uint32_t *last_of; /* by begin of a piece: the last event + 1 that ran then; 0: none */
    int64_t *sums;     /* Fenwick tree: length of the moments whose last event this is */
    size_t event_count;
} sweep;

static void add_length(sweep *s, size_t event, int64_t length)
{
    for (size_t i = event + 1; i <= s->event_count; i += i & -i) s->sums[i] += length;
}

/* Of the events before `end`. */
static int64_t sum_before(const sweep *s, size_t end)
{
    int64_t sum = 0;
    for (size_t i = end; i; i -= i & -i) sum += s->sums[i];
    return sum;
}

static sweep sweep_new(const gt_gpu_rows *list, scale unit)
{
    sweep s = {.times = gt_alloc((2 * list->count + 1) * sizeof *s.times), .event_count = list->count};
    s.times[0] = 0;
    for (size_t i = 0; i < list->count; i++) {
        s.times[2 * i + 1] = scaled(unit, list->trace->start_us[list->rows[i]]);
        s.times[2 * i + 2] = scaled(unit, gt_event_end_us(list->trace, list->rows[i]));
    }
    qsort(s.times, 2 * list->count + 1, sizeof *s.times, gt_by_i64);
    for (size_t i = 0; i < 2 * list->count + 1; i++)
        if (!i || s.times[i] != s.times[s.time_count - 1]) s.times[s.time_count++] = s.times[i];
    s.begins = bit_set_new(s.time_count);
    s.last_of = gt_alloc_zero(s.time_count, sizeof *s.last_of);
    s.sums = gt_alloc_zero(s.event_count + 1, sizeof *s.sums);
    bit_set_add(&s.begins, 0); /* one piece without events, and an end that no search passes */
    bit_set_add(&s.begins, s.time_count - 1);
    return s;
}

static void sweep_free(sweep *s)
{
    gt_free(s->times);
    bit_set_free(&s->begins);
    gt_free_all(s->last_of, s->sums);
}

static size_t place_of(const sweep *s, int64_t time)
{
    return (size_t)((const int64_t *)bsearch(&time, s->times, s->time_count, sizeof time, gt_by_i64) -
                    s->times);
}

/* Makes a piece begin here. */
static void cut(sweep *s, size_t place)
{
    size_t begin = bit_set_up_to(&s->begins, place);
    if (begin == place) return;
    bit_set_add(&s->begins, place);
    s->last_of[place] = s->last_of[begin];
}

static void add_event(sweep *s, size_t event, int64_t start, int64_t end)
{
    if (end <= start) return;
    size_t first = place_of(s, start), past = place_of(s, end);
    cut(s, first);
    cut(s, past);
    for (size_t begin = first; begin < past;) {
        size_t next = bit_set_after(&s->begins, begin);
        if (s->last_of[begin]) add_length(s, s->last_of[begin] - 1, s->times[begin] - s->times[next]);
        if (begin != first) bit_set_remove(&s->begins, begin);
        begin = next;
    }
    s->last_of[first] = (uint32_t)event + 1;
    add_length(s, event, end - start);
}

/* The ranges by their ends: those that end at e are order[begins[e]] to order[begins[e + 1] - 1]. */
static uint32_t *order_by_end(const gt_gpu_range *ranges, size_t count, size_t ends, size_t **begins)
{
    uint32_t *order = gt_alloc(count * sizeof *order);
    size_t *next = gt_alloc_zero(ends + 3, sizeof *next);
    for (size_t i = 0; i < count; i++) next[ranges[i].end + 2]++;
    for (size_t e = 2; e < ends + 3; e++) next[e] += next[e - 1];
    for (size_t i = 0; i < count; i++) order[next[ranges[i].end + 1]++] = (uint32_t)i;
    *begins = next;
    return order;
}

/* By index in the list: how many events before it have a time that was not written as an integer. */
static uint32_t *count_fractions(const gt_gpu_rows *list)
{
    const uint8_t both = GT_INTEGRAL_START | GT_INTEGRAL_DURATION;
    uint32_t *before = gt_alloc((list->count + 1) * sizeof *before);
    before[0] = 0;
    for (size_t i = 0; i < list->count; i++)
        before[i + 1] = before[i] + ((list->trace->integral[list->rows[i]] & both) != both);
    return before;
}

void gt_gpu_ranges_busy(const gt_gpu_rows *list, const gt_gpu_range *ranges, size_t count, gt_busy *busy)
{
    if (!list->count) {
        for (size_t i = 0; i < count; i++) busy[i] = (gt_busy){0, true};
        return;
    }
    scale unit = scale_of(list);
    sweep s = sweep_new(list, unit);
    size_t *begins;
    uint32_t *order = order_by_end(ranges, count, list->count, &begins), *fractions = count_fractions(list);
    for (size_t end = 0; end <= list->count; end++) {
        uint32_t row = end ? list->rows[end - 1] : 0;
        if (end)
            add_event(&s, end - 1, scaled(unit, list->trace->start_us[row]),
                      scaled(unit, gt_event_end_us(list->trace, row)));
        for (size_t i = begins[end]; i < begins[end + 1]; i++) {
            gt_gpu_range range = ranges[order[i]];
            int64_t length = sum_before(&s, range.end) - sum_before(&s, range.begin);
            busy[order[i]] =
                (gt_busy){ldexp((double)length, -unit.shift), fractions[range.begin] == fractions[range.end]};
        }
    }
    gt_free_all(order, begins, fractions);
    sweep_free(&s);
}

/* ---- the first event ---- */

static uint32_t earlier(const gt_gpu_rows *list, uint32_t a, uint32_t b)
{
    if (a == GT_NO_EVENT || b == GT_NO_EVENT) return a == GT_NO_EVENT ? b : a;
    double start_a = list->trace->start_us[list->rows[a]], start_b = list->trace->start_us[list->rows[b]];
    if (start_a != start_b) return start_a < start_b ? a : b;
    return list->order[a] <= list->order[b] ? a : b;
}

/* Node i of the tree covers nodes 2i and 2i + 1; the leaves are the events. */
void gt_gpu_ranges_first(const gt_gpu_rows *list, const uint8_t *wanted, const gt_gpu_range *ranges,
                         size_t count, uint32_t *first)
{
    size_t leaves = list->count;
    uint32_t *tree = gt_alloc(2 * leaves * sizeof *tree + sizeof *tree);
    for (uint32_t i = 0; i < leaves; i++) tree[leaves + i] = !wanted || wanted[i] ? i : GT_NO_EVENT;
    for (size_t i = leaves; i-- > 1;) tree[i] = earlier(list, tree[2 * i], tree[2 * i + 1]);
    for (size_t r = 0; r < count; r++) {
        uint32_t best = GT_NO_EVENT;
        for (size_t a = ranges[r].begin + leaves, b = ranges[r].end + leaves; a < b; a /= 2, b /= 2) {
            if (a % 2) best = earlier(list, best, tree[a++]);
            if (b % 2) best = earlier(list, best, tree[--b]);
        }
        first[r] = best == GT_NO_EVENT ? best : list->rows[best];
    }
    gt_free(tree);
}

/* ---- below events ---- */

typedef struct measuring {
    const gt_calls *calls;
    const uint32_t *rows;
    gt_busy *busy;
    uint64_t events;   /* with __atomic: below all rows of the tree */
    bool only_outside; /* of the tree */
} measuring;

static void count_range(void *context, size_t begin, size_t end)
{
    measuring *m = context;
    uint64_t events = 0;
    for (size_t i = begin; i < end; i++) {
        if (m->calls->trace->preorder[m->rows[i]] == GT_NO_EVENT) continue;
        gt_gpu_range range = gt_gpu_range_below(m->calls, m->rows[i]);
        events += range.end - range.begin;
    }
    __atomic_fetch_add(&m->events, events, __ATOMIC_RELAXED);
}

static void measure_range(void *context, size_t begin, size_t end)
{
    const measuring *m = context;
    const gt_linked_view *trace = m->calls->trace;
    gt_intervals spare = {0};
    gt_row_list gpu = {0};
    for (size_t i = begin; i < end; i++) {
        if (m->only_outside && trace->preorder[m->rows[i]] != GT_NO_EVENT) continue;
        gpu.count = 0;
        gt_calls_add_gpu_events(m->calls, m->rows[i], &gpu);
        m->busy[i] = gt_busy_time(&trace->events, gpu.items, gpu.count, &spare);
    }
    gt_intervals_free(&spare);
    gt_free(gpu.items);
}

/* An event outside the tree has no events below it, and is measured on its own. */
static void sweep_below(measuring *m, size_t count)
{
    const gt_linked_view *trace = m->calls->trace;
    gt_gpu_range *ranges = gt_alloc_zero(count, sizeof *ranges);
    for (size_t i = 0; i < count; i++)
        if (trace->preorder[m->rows[i]] != GT_NO_EVENT) ranges[i] = gt_gpu_range_below(m->calls, m->rows[i]);
    gt_gpu_rows list = gt_gpu_rows_of_calls(m->calls);
    gt_gpu_ranges_busy(&list, ranges, count, m->busy);
    gt_gpu_rows_free(&list);
    gt_free(ranges);
    m->only_outside = true;
}

void gt_busy_below(const gt_calls *calls, const uint32_t *rows, size_t count, gt_busy *busy)
{
    measuring m = {.calls = calls, .rows = rows, .busy = busy};
    gt_parallel_ranges(count, GT_OPS_GRAIN, count_range, &m);
    if (gt_gpu_ranges_are_long(m.events, gt_calls_begin(calls, calls->trace->numbered)))
        sweep_below(&m, count);
    gt_parallel_ranges(count, GT_OPS_GRAIN, measure_range, &m);
}
