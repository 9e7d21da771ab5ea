/* Statistics of kernels, printed as cells; and lists of kernels. */
#include "analysis/pytorch/kernel_stats.h"

#include "compat/number.h"
#include "compat/python_literal.h"
#include "compat/python_repr.h"
#include "table/stats.h"

/* ---- statistics of kernels ---- */

enum { SHOWN_CHARS = 64 }; /* of a name in the truncated cell */

typedef struct measured {
    const gt_kernel_detail *kernel;
    gt_str name;
    size_t count;
    double total, mean, median, std_dev, min, max;
} measured;

static measured measure(gt_kernel_stats *s, size_t place, double *dur_us)
{
    size_t count = s->list_count;
    for (size_t list = 0; list < count; list++) dur_us[list] = s->dur_us[list * s->kernel_count + place];
    measured m = {.kernel = &s->pattern[place],
                  .name = gt_interner_get(s->strings, s->pattern[place].name),
                  .count = count,
                  .total = gt_sum_pairwise(dur_us, count),
                  .mean = gt_mean(dur_us, count),
                  .std_dev = gt_std_pairwise(dur_us, count, 0),
                  .min = INFINITY,
                  .max = -INFINITY};
    for (size_t i = 0; i < count; i++) {
        m.min = fmin(m.min, dur_us[i]);
        m.max = fmax(m.max, dur_us[i]);
    }
    m.median = gt_median_in_place(dur_us, count);
    return m;
}

static int by_total_and_name(const void *left, const void *right)
{
    const measured *a = left, *b = right;
    if (a->total != b->total) return a->total < b->total ? -1 : 1;
    int order = gt_str_compare(a->name, b->name);
    return order ? order : (a->kernel > b->kernel) - (a->kernel < b->kernel);
}

static void add_number(gt_buffer *out, const char *key, double value, bool as_int)
{
    gt_buffer_add_cstr(out, key);
    char *room = gt_buffer_reserve(out, GT_NUMBER_MAX);
    bool fits = fabs(value) < 0x1p63;
    out->len += as_int && fits ? gt_print_int(room, (int64_t)value) : gt_print_double(room, value);
}

static void add_stream(gt_buffer *out, const gt_kernel_stats *s, uint32_t stream)
{
    gt_buffer_add_cstr(out, ", 'stream': ");
    if (stream == GT_STR_NONE)
        gt_buffer_add_cstr(out, "None");
    else
        gt_python_add_json_repr(out, gt_interner_get(s->strings, stream), GT_PYTHON_LISTS);
}

static void add_summary(gt_buffer *out, const gt_kernel_stats *s, const measured *m)
{
    bool integral = m->kernel->integral;
    gt_buffer_add_cstr(out, "{'name': ");
    gt_python_add_repr(out, m->name);
    add_stream(out, s, m->kernel->stream);
    if (m->kernel->call_stack && !s->hide_call_stacks) {
        gt_str stack = gt_interner_get(s->strings, s->stack_texts[m->kernel - s->pattern]);
        gt_buffer_add_cstr(out, ", 'call_stack': ");
        gt_buffer_add(out, stack.bytes, stack.len);
    }
    if (!isnan(m->kernel->overlap_pct)) add_number(out, ", 'overlap_pct': ", m->kernel->overlap_pct, false);
    add_number(out, ", 'count': ", (double)m->count, true);
    add_number(out, ", 'total_duration_us': ", m->total, integral);
    add_number(out, ", 'mean_duration_us': ", m->mean, false);
    if (!s->plain) add_number(out, ", 'median_duration_us': ", m->median, false);
    add_number(out, ", 'std_dev_duration_us': ", m->std_dev, false);
    if (!s->plain) {
        add_number(out, ", 'min_duration_us': ", m->min, integral);
        add_number(out, ", 'max_duration_us': ", m->max, integral);
    }
    gt_buffer_add_cstr(out, "}");
}

static void add_shortened(gt_buffer *out, gt_str name)
{
    const char *place = name.bytes, *end = name.bytes + name.len;
    for (int i = 0; i < SHOWN_CHARS && place < end; i++) gt_utf8_next(&place, end);
    if (place == end) {
        gt_python_add_repr(out, name);
        return;
    }
    gt_buffer shortened = {0};
    gt_buffer_add(&shortened, name.bytes, (size_t)(place - name.bytes));
    gt_buffer_add_cstr(&shortened, "...");
    gt_python_add_repr(out, gt_buffer_str(&shortened));
    gt_buffer_free(&shortened);
}

static void add_trunc(gt_buffer *out, const gt_kernel_stats *s, const measured *m)
{
    gt_buffer_add_cstr(out, "{'name': ");
    add_shortened(out, m->name);
    add_stream(out, s, m->kernel->stream);
    add_number(out, ", 'mean_duration_us': ", gt_numpy_round2(m->mean), false);
    gt_buffer_add_cstr(out, "}");
}

static uint32_t finish(gt_buffer *cell, gt_interner *strings)
{
    gt_buffer_add_cstr(cell, "]");
    return gt_interner_add(strings, cell->bytes, cell->len);
}

/* Sorts the pattern into the order of the cells. */
static void keep_shown(gt_kernel_stats *s, const measured *places)
{
    gt_kernel_detail *shown = gt_alloc(s->kernel_count * sizeof *shown);
    for (size_t i = 0; i < s->kernel_count; i++) shown[i] = *places[i].kernel;
    memcpy(s->pattern, shown, s->kernel_count * sizeof *shown);
    gt_free(shown);
    s->shown_count = s->kernel_count;
}

static void print_stacks(gt_kernel_stats *s)
{
    if (s->hide_call_stacks) return;
    s->stack_texts = gt_grow(s->stack_texts, &s->text_capacity, s->kernel_count, sizeof *s->stack_texts);
    for (size_t i = 0; i < s->kernel_count; i++)
        if (s->pattern[i].call_stack)
            s->stack_texts[i] = s->printer.text(s->printer.stacks, s->pattern[i].call_stack - 1);
}

void gt_kernel_stats_print(gt_kernel_stats *s)
{
    s->shown_count = 0;
    s->summary.len = s->trunc.len = 0;
    if (!s->kernel_count) return;
    measured *places = gt_alloc(s->kernel_count * sizeof *places);
    double *dur_us = gt_alloc(s->list_count * sizeof *dur_us);
    for (size_t i = 0; i < s->kernel_count; i++) places[i] = measure(s, i, dur_us);
    gt_free(dur_us);
    if (!s->plain) qsort(places, s->kernel_count, sizeof *places, by_total_and_name);
    for (size_t i = 0; i < s->kernel_count; i++) {
        gt_buffer_add_cstr(&s->summary, i ? ", " : "[");
        add_summary(&s->summary, s, &places[i]);
        gt_buffer_add_cstr(&s->trunc, i ? ", " : "[");
        add_trunc(&s->trunc, s, &places[i]);
    }
    keep_shown(s, places);
    gt_free(places);
    s->kernel_count = s->list_count = 0;
}

gt_kernel_stats_cells gt_kernel_stats_keep(gt_kernel_stats *s)
{
    if (!s->shown_count) return (gt_kernel_stats_cells){gt_interner_add_cstr(s->strings, "[]"), GT_STR_NONE};
    return (gt_kernel_stats_cells){finish(&s->summary, s->strings), finish(&s->trunc, s->strings)};
}

void gt_kernel_stats_free(gt_kernel_stats *s)
{
    gt_free_all(s->pattern, s->stack_texts, s->dur_us);
    gt_buffer_free(&s->summary);
    gt_buffer_free(&s->trunc);
    *s = (gt_kernel_stats){0};
}

/* ---- lists of kernels ---- */

void gt_kernel_lists_push(gt_kernel_lists *l, gt_kernel_detail kernel)
{
    GT_PUSH(l->kernels, l->kernel_count, l->kernel_capacity, kernel);
}

void gt_kernel_lists_close(gt_kernel_lists *l)
{
    GT_PUSH(l->ends, l->count, l->capacity, l->kernel_count);
}

void gt_kernel_lists_append(gt_kernel_lists *l, const gt_kernel_lists *more)
{
    for (size_t list = 0, kernel = 0; list < more->count; list++) {
        for (; kernel < more->ends[list]; kernel++) gt_kernel_lists_push(l, more->kernels[kernel]);
        gt_kernel_lists_close(l);
    }
}

static uint32_t moved(uint32_t id, uint32_t *map, const gt_interner *from, gt_interner *to)
{
    if (id != GT_STR_NONE && map[id] == GT_STR_NONE) {
        gt_str text = gt_interner_get(from, id);
        map[id] = gt_interner_add(to, text.bytes, text.len);
    }
    return map[id];
}

void gt_kernel_lists_use_strings(gt_kernel_lists *l, const gt_interner *from, gt_interner *to)
{
    uint32_t *map = gt_alloc_zero(gt_interner_count(from), sizeof *map);
    for (size_t i = 0; i < l->kernel_count; i++) {
        l->kernels[i].name = moved(l->kernels[i].name, map, from, to);
        l->kernels[i].stream = moved(l->kernels[i].stream, map, from, to);
    }
    gt_free(map);
}

void gt_kernel_lists_free(gt_kernel_lists *l)
{
    gt_free_all(l->kernels, l->ends);
    *l = (gt_kernel_lists){0};
}

/* ---- the lists of a group ---- */

static size_t length_of(const gt_kernel_source *from, size_t op)
{
    if (!from->lists) return from->count(from->context, op);
    return from->lists->ends[op] - (op ? from->lists->ends[op - 1] : 0);
}

static const gt_kernel_detail *kept_list(const gt_kernel_source *from, size_t op)
{
    return from->lists->kernels + (op ? from->lists->ends[op - 1] : 0);
}

gt_kernel_detail gt_kernel_detail_of(const gt_event_view *trace, uint32_t gpu_row)
{
    uint32_t stream;
    gt_store_string_ids_at(trace->store, GT_EVENT_STREAM, &gpu_row, 1, &stream);
    return (gt_kernel_detail){.name = trace->name[gpu_row],
                              .stream = stream,
                              .dur_us = trace->dur_us[gpu_row],
                              .overlap_pct = (double)NAN,
                              .integral = (trace->integral[gpu_row] & GT_INTEGRAL_DURATION) != 0};
}

static void set_pattern(gt_kernel_stats *s, const gt_kernel_source *from, size_t op, size_t count)
{
    s->pattern_op = op;
    s->kernel_count = count;
    s->pattern = gt_grow(s->pattern, &s->kernel_capacity, count, sizeof *s->pattern);
    if (from->lists) {
        memcpy(s->pattern, kept_list(from, op), count * sizeof *s->pattern);
        return;
    }
    gt_row_list rows = {0};
    from->add(from->context, op, &rows);
    for (size_t i = 0; i < count; i++) s->pattern[i] = gt_kernel_detail_of(from->trace, rows.items[i]);
    gt_free(rows.items);
}

typedef struct collecting {
    gt_kernel_stats *stats;
    const gt_kernel_source *from;
    const uint32_t *ops;
    size_t *begins; /* by range: the number of lists before it */
} collecting;

static void count_lists(void *context, size_t begin, size_t end)
{
    collecting *c = context;
    size_t found = 0;
    for (size_t i = begin; i < end; i++) found += length_of(c->from, c->ops[i]) == c->stats->kernel_count;
    c->begins[begin / GT_OPS_GRAIN + 1] = found;
}

/* Threads may find the same kernel's duration not integral; all of them write the same. They look first: a
 * write by each thread would move the cache line from core to core. */
static void set_duration(gt_kernel_stats *s, size_t list, size_t place, double dur_us, bool integral)
{
    s->dur_us[list * s->kernel_count + place] = dur_us;
    bool *all_integral = &s->pattern[place].integral;
    if (!integral && __atomic_load_n(all_integral, __ATOMIC_RELAXED))
        __atomic_store_n(all_integral, false, __ATOMIC_RELAXED);
}

static void copy_durations(void *context, size_t begin, size_t end)
{
    collecting *c = context;
    const gt_kernel_source *from = c->from;
    size_t list = c->begins[begin / GT_OPS_GRAIN], count = c->stats->kernel_count;
    gt_row_list rows = {0};
    for (size_t i = begin; i < end; i++) {
        if (length_of(from, c->ops[i]) != count) continue;
        rows.count = 0;
        if (!from->lists) from->add(from->context, c->ops[i], &rows);
        const gt_kernel_detail *kept = from->lists ? kept_list(from, c->ops[i]) : NULL;
        for (size_t k = 0; k < count; k++) {
            if (kept)
                set_duration(c->stats, list, k, kept[k].dur_us, kept[k].integral);
            else
                set_duration(c->stats, list, k, from->trace->dur_us[rows.items[k]],
                             from->trace->integral[rows.items[k]] & GT_INTEGRAL_DURATION);
        }
        list++;
    }
    gt_free(rows.items);
}

void gt_kernel_stats_collect(gt_kernel_stats *s, const gt_kernel_source *from, const uint32_t *ops,
                             size_t count)
{
    size_t first = 0;
    s->kernel_count = s->list_count = 0;
    while (first < count && !length_of(from, ops[first])) first++;
    if (first == count) return;
    set_pattern(s, from, ops[first], length_of(from, ops[first]));
    size_t ranges = gt_range_count(count - first, GT_OPS_GRAIN);
    collecting c = {s, from, ops + first, gt_alloc_zero(ranges + 1, sizeof *c.begins)};
    gt_parallel_ranges(count - first, GT_OPS_GRAIN, count_lists, &c);
    for (size_t r = 0; r < ranges; r++) c.begins[r + 1] += c.begins[r];
    s->list_count = c.begins[ranges];
    s->dur_us = gt_grow(s->dur_us, &s->dur_capacity, s->list_count * s->kernel_count, sizeof *s->dur_us);
    gt_parallel_ranges(count - first, GT_OPS_GRAIN, copy_durations, &c);
    gt_free(c.begins);
}

void gt_kernel_stats_find_stacks(gt_kernel_stats *s, const gt_kernel_source *from)
{
    gt_row_list rows = {0};
    if (!s->kernel_count) return;
    if (s->printer.of) {
        from->add(from->context, s->pattern_op, &rows);
        for (size_t i = 0; i < s->kernel_count; i++)
            s->pattern[i].call_stack = s->printer.of(s->printer.stacks, s->pattern_op, rows.items[i]);
    }
    gt_free(rows.items);
    print_stacks(s);
}
