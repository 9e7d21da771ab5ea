/* What is measured in one trace, kept in an index of the trace (sweep/cache): a trace of hundreds of
 * megabytes becomes a few thousand numbers.
 *
 * GEMMs are kept as parallel arrays, their calls one after another:
 *
 *     counts     with, without, partial of each GEMM
 *     calls      durations of all calls with a collective of the first GEMM, then of those without, then of
 *                the second GEMM ... */
#include "sweep/decide/decide.h"

#include "analysis/collective/sheets.h"
#include "table/image.h"

enum { HAS_STEPS, HAS_COLLECTIVES, FLAGS };
enum { EXPOSED, GEMM, STEPS, NUMBERS };
enum { KERNEL, OP, SHAPE, NAMES };
enum { WITH, WITHOUT, PARTIAL, COUNTS };

static const char owner[] = "measures";

static char *key_of(int64_t rank)
{
    return gt_format("sweep measures, rank %" PRId64, rank);
}

/* ---- keeping ---- */

static void save_gemms(const gt_trace_measures *m, gt_interner *strings, gt_image *image)
{
    size_t calls = 0, at = 0;
    for (size_t i = 0; i < m->gemm_count; i++) calls += m->gemms[i].with.count + m->gemms[i].without.count;
    uint32_t *names = gt_alloc((NAMES * m->gemm_count + 1) * sizeof *names);
    uint64_t *counts = gt_alloc((COUNTS * m->gemm_count + 1) * sizeof *counts);
    double *times = gt_alloc((calls + 1) * sizeof *times);
    for (size_t i = 0; i < m->gemm_count; i++) {
        const gt_gemm_calls *gemm = &m->gemms[i];
        names[NAMES * i + KERNEL] = gt_interner_add_from(strings, m->strings, gemm->kernel);
        names[NAMES * i + OP] = gt_interner_add_from(strings, m->strings, gemm->op);
        names[NAMES * i + SHAPE] = gt_interner_add_from(strings, m->strings, gemm->shape);
        counts[COUNTS * i + WITH] = gemm->with.count;
        counts[COUNTS * i + WITHOUT] = gemm->without.count;
        counts[COUNTS * i + PARTIAL] = gemm->partial;
        for (size_t k = 0; k < gemm->with.count; k++) times[at++] = gemm->with.items[k];
        for (size_t k = 0; k < gemm->without.count; k++) times[at++] = gemm->without.items[k];
    }
    gt_image_give(image, owner, "names", names, NAMES * m->gemm_count * sizeof *names);
    gt_image_give(image, owner, "counts", counts, COUNTS * m->gemm_count * sizeof *counts);
    gt_image_give(image, owner, "calls", times, calls * sizeof *times);
}

static void save_series(gt_image *image, const char *name, const gt_number_series *series)
{
    gt_image_add(image, owner, name, series->items, series->count * sizeof *series->items);
}

void gt_trace_measures_keep(const gt_trace_measures *m, gt_index *index, int64_t rank, gt_str messages)
{
    if (!gt_index_keeps(index)) return;
    const int64_t flags[FLAGS] = {m->has_steps, m->collectives != NULL};
    const double numbers[NUMBERS] = {m->exposed_ms, m->gemm_ms, m->steps};
    gt_image image = {0};
    gt_interner *strings = gt_interner_new();
    gt_image_add_numbers(&image, owner, "flags", flags, FLAGS);
    gt_image_add(&image, owner, "numbers", numbers, sizeof numbers);
    gt_image_add(&image, owner, "messages", messages.bytes, messages.len);
    save_series(&image, "step_ms", &m->step_ms);
    save_series(&image, "step_exposed_ms", &m->step_exposed_ms);
    save_series(&image, "step_gemm_ms", &m->step_gemm_ms);
    save_gemms(m, strings, &image);
    if (m->collectives) gt_tables_save(&m->collectives, 1, strings, &image);
    gt_strings_save(strings, &image);
    char *key = key_of(rank);
    gt_index_keep(index, GT_INDEX_PYTORCH, key, &image);
    gt_free(key);
    gt_image_free(&image);
    gt_interner_free(strings);
}

/* ---- finding ---- */

static bool load_series(const gt_image *image, const char *name, gt_number_series *series)
{
    size_t count = 0;
    const double *items = gt_image_get(image, owner, name, sizeof *items, &count);
    if (!items) return false;
    for (size_t i = 0; i < count; i++) gt_series_add(series, items[i]);
    return true;
}

static bool is_string(const gt_interner *strings, uint32_t id)
{
    return id == GT_STR_NONE || id < gt_interner_count(strings);
}

/* Moves the next calls to a series; false if there are not so many, or one is no duration. */
static bool take_calls(gt_number_series *series, const double *calls, size_t count, size_t *at,
                       uint64_t wanted)
{
    if (wanted > count - *at) return false;
    for (uint64_t i = 0; i < wanted; i++) {
        double us = calls[(*at)++];
        if (!(us > 0 && isfinite(us))) return false;
        gt_series_add(series, us);
    }
    return true;
}

static bool load_gemms(const gt_image *image, gt_trace_measures *m)
{
    size_t name_count = 0, call_count = 0, at = 0;
    const uint32_t *names = gt_image_get(image, owner, "names", sizeof *names, &name_count);
    const double *calls = gt_image_get(image, owner, "calls", sizeof *calls, &call_count);
    size_t count = name_count / NAMES;
    const uint64_t *counts = gt_image_get_all(image, owner, "counts", sizeof *counts, COUNTS * count);
    if (!names || !calls || !counts || name_count % NAMES) return false;
    for (size_t i = 0; i < count; i++) {
        gt_gemm_calls gemm = {.kernel = names[NAMES * i + KERNEL],
                              .op = names[NAMES * i + OP],
                              .shape = names[NAMES * i + SHAPE],
                              .partial = (size_t)counts[COUNTS * i + PARTIAL]};
        if (gemm.kernel == GT_STR_NONE || !is_string(m->strings, gemm.kernel) ||
            !is_string(m->strings, gemm.op) || !is_string(m->strings, gemm.shape))
            return false;
        GT_PUSH(m->gemms, m->gemm_count, m->gemm_capacity, gemm);
        gt_gemm_calls *kept = &m->gemms[m->gemm_count - 1];
        if (!take_calls(&kept->with, calls, call_count, &at, counts[COUNTS * i + WITH]) ||
            !take_calls(&kept->without, calls, call_count, &at, counts[COUNTS * i + WITHOUT]))
            return false;
    }
    return at == call_count;
}

static void set_collectives(void *context, gt_table *table)
{
    gt_trace_measures *m = context;
    gt_table_free(m->collectives);
    m->collectives = table;
}

static bool load(gt_trace_measures *m, const gt_image *image, int64_t rank, gt_buffer *messages)
{
    const int64_t *flags = gt_image_get_all(image, owner, "flags", sizeof *flags, FLAGS);
    const double *numbers = gt_image_get_all(image, owner, "numbers", sizeof *numbers, NUMBERS);
    gt_str texts = {0};
    texts.bytes = gt_image_get(image, owner, "messages", 1, &texts.len);
    m->strings = gt_strings_load(image);
    if (!flags || !numbers || !texts.bytes || !m->strings || !gt_captured_is_sound(texts) ||
        !(numbers[STEPS] > 0))
        return false;
    m->has_steps = flags[HAS_STEPS];
    m->exposed_ms = numbers[EXPOSED];
    m->gemm_ms = numbers[GEMM];
    m->steps = numbers[STEPS];
    gt_buffer_add(messages, texts.bytes, texts.len);
    if (!load_series(image, "step_ms", &m->step_ms) ||
        !load_series(image, "step_exposed_ms", &m->step_exposed_ms) ||
        !load_series(image, "step_gemm_ms", &m->step_gemm_ms) ||
        m->step_exposed_ms.count != m->step_ms.count || m->step_gemm_ms.count != m->step_ms.count ||
        !load_gemms(image, m))
        return false;
    return !flags[HAS_COLLECTIVES] || (gt_tables_load(image, m->strings, set_collectives, m) &&
                                       m->collectives && gt_collectives_are_sound(m->collectives, rank));
}

gt_trace_measures *gt_trace_measures_load(const gt_image *image, int64_t rank, gt_buffer *messages)
{
    gt_trace_measures *found = gt_alloc_zero(1, sizeof *found);
    messages->len = 0;
    if (load(found, image, rank, messages)) return found;
    gt_trace_measures_free(found);
    messages->len = 0;
    return NULL;
}

gt_trace_measures *gt_trace_measures_find(const gt_sweep_cache *cache, const gt_index *index, int64_t rank,
                                          gt_buffer *messages)
{
    gt_image image = {0};
    char *key = key_of(rank);
    gt_trace_measures *found = NULL;
    messages->len = 0;
    if (gt_sweep_cache_find(cache, index, key, &image)) {
        found = gt_trace_measures_load(&image, rank, messages);
        gt_image_free(&image);
        if (found)
            gt_index_lend(index, found->strings);
        else
            gt_index_reject(index);
    }
    gt_free(key);
    return found;
}
