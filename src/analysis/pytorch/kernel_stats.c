/* From kernel lists to cells: collects durations list by list, computes statistics per position, prints them.
 */
#include "analysis/pytorch/kernel_stats.h"

#include "compat/python_literal.h"
#include "base/memory.h"
#include "base/number.h"
#include "compat/python_repr.h"
#include "table/stats.h"
#include "compat/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_CHARS = 64 }; /* of a name in the truncated cell */

void gt_kernel_stats_add(gt_kernel_stats *s, const gt_kernel_detail *kernels, size_t count)
{
    if (!count || (s->kernel_count && s->kernel_count != count)) return;
    if (!s->kernel_count) {
        s->pattern = gt_grow(s->pattern, &s->kernel_capacity, count, sizeof *s->pattern);
        memcpy(s->pattern, kernels, count * sizeof *kernels);
        s->kernel_count = count;
    }
    size_t first = s->list_count++ * count;
    s->dur_us = gt_grow(s->dur_us, &s->dur_capacity, first + count, sizeof *s->dur_us);
    for (size_t i = 0; i < count; i++) {
        s->dur_us[first + i] = kernels[i].dur_us;
        s->pattern[i].integral &= kernels[i].integral;
    }
}

/* ---- statistics ---- */

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

/* ---- printing ---- */

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
    if (m->kernel->call_stack != GT_STR_NONE && !s->hide_call_stacks) {
        gt_str stack = gt_interner_get(s->strings, m->kernel->call_stack);
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

gt_kernel_stats_cells gt_kernel_stats_take(gt_kernel_stats *s)
{
    s->shown_count = 0;
    if (!s->kernel_count) return (gt_kernel_stats_cells){gt_interner_add_cstr(s->strings, "[]"), GT_STR_NONE};
    measured *places = gt_alloc(s->kernel_count * sizeof *places);
    double *dur_us = gt_alloc(s->list_count * sizeof *dur_us);
    for (size_t i = 0; i < s->kernel_count; i++) places[i] = measure(s, i, dur_us);
    gt_free(dur_us);
    if (!s->plain) qsort(places, s->kernel_count, sizeof *places, by_total_and_name);

    s->summary.len = s->trunc.len = 0;
    for (size_t i = 0; i < s->kernel_count; i++) {
        gt_buffer_add_cstr(&s->summary, i ? ", " : "[");
        add_summary(&s->summary, s, &places[i]);
        gt_buffer_add_cstr(&s->trunc, i ? ", " : "[");
        add_trunc(&s->trunc, s, &places[i]);
    }
    keep_shown(s, places);
    gt_free(places);
    s->kernel_count = s->list_count = 0;
    return (gt_kernel_stats_cells){finish(&s->summary, s->strings), finish(&s->trunc, s->strings)};
}

void gt_kernel_stats_free(gt_kernel_stats *s)
{
    gt_free(s->pattern);
    gt_free(s->dur_us);
    gt_buffer_free(&s->summary);
    gt_buffer_free(&s->trunc);
    *s = (gt_kernel_stats){0};
}
