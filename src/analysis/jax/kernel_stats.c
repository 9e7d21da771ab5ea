/* Durations are gathered group by group, measured and printed. */
#include "analysis/jax/kernel_stats.h"
#include "base/memory.h"
#include "compat/python_repr.h"
#include "table/stats.h"

#include <stdlib.h>

static void add_number(gt_buffer *cell, const char *key, double value)
{
    gt_buffer_add_cstr(cell, key);
    gt_buffer_add_double(cell, value);
}

static void add_measures(gt_buffer *cell, double *dur_us, size_t count)
{
    double min = dur_us[0], max = dur_us[0];
    for (size_t i = 1; i < count; i++) {
        min = dur_us[i] < min ? dur_us[i] : min;
        max = dur_us[i] > max ? dur_us[i] : max;
    }
    gt_buffer_add_cstr(cell, ", 'count': ");
    gt_buffer_add_int(cell, (int64_t)count);
    add_number(cell, ", 'total_duration_us': ", gt_sum_pairwise(dur_us, count));
    add_number(cell, ", 'mean_duration_us': ", gt_mean(dur_us, count));
    double std_dev = gt_std_pairwise(dur_us, count, 0);
    add_number(cell, ", 'median_duration_us': ", gt_median_in_place(dur_us, count)); /* loses their order */
    add_number(cell, ", 'std_dev_duration_us': ", std_dev);
    add_number(cell, ", 'min_duration_us': ", min);
    add_number(cell, ", 'max_duration_us': ", max);
}

uint32_t *gt_jax_kernel_stats(const gt_groups *groups, const uint32_t *names, const double *dur_us,
                              gt_interner *strings, gt_jax_rest *rest, void *context)
{
    size_t *ends = gt_alloc_zero(groups->count + 1, sizeof *ends);
    double *gathered = gt_alloc(groups->row_count * sizeof *gathered);
    uint32_t *cells = gt_alloc(groups->count * sizeof *cells);
    for (size_t row = 0; row < groups->row_count; row++) ends[groups->of_row[row] + 1]++;
    for (size_t g = 0; g < groups->count; g++) ends[g + 1] += ends[g];
    for (size_t row = 0; row < groups->row_count; row++) gathered[ends[groups->of_row[row]]++] = dur_us[row];

    gt_buffer cell = {0};
    for (size_t g = 0; g < groups->count; g++) {
        size_t begin = g ? ends[g - 1] : 0, first = groups->first_row[g];
        cell.len = 0;
        gt_buffer_add_cstr(&cell, "[{'name': ");
        gt_python_add_repr(&cell, gt_interner_get(strings, names[first]));
        if (rest) {
            gt_str text = rest(context, first);
            gt_buffer_add(&cell, text.bytes, text.len);
        }
        add_measures(&cell, gathered + begin, ends[g] - begin);
        gt_buffer_add_cstr(&cell, "}]");
        cells[g] = gt_interner_add(strings, cell.bytes, cell.len);
    }
    gt_buffer_free(&cell);
    gt_free(gathered);
    gt_free(ends);
    return cells;
}
