/* Which ops of the unified sheet have a performance model, and what are its parameters?
 *
 * Equal calls of an op share a result, whose parameters are printed once. New strings get their numbers in
 * the order of the ops, whatever thread finds them: each result remembers the first op that has it. */
#include "analysis/pytorch/unified_details.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "base/team.h"
#include "schema/columns.h"
#include "trace/rows.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Columns that are filled by all threads. */
typedef struct model_cells {
    const gt_op_rows *ops;
    uint32_t *texts;          /* the parameters */
    const uint32_t *text_of;  /* by result id: its string */
    _Atomic uint32_t *firsts; /* by result id: the first op that has it */
} model_cells;

static const gt_model_result *result_of(const gt_op_rows *ops, size_t op)
{
    const gt_model_result *result = ops->items[op].metrics.result;
    return result && result->parameter_count ? result : NULL;
}

static void find_results(void *context, size_t begin, size_t end)
{
    const model_cells *m = context;
    for (size_t i = begin; i < end; i++) {
        const gt_model_result *result = result_of(m->ops, i);
        if (!result) continue;
        _Atomic uint32_t *first = &m->firsts[result->id];
        uint32_t before = atomic_load_explicit(first, memory_order_relaxed);
        while (i < before && !atomic_compare_exchange_weak(first, &before, (uint32_t)i)) continue;
    }
}

static void fill_texts(void *context, size_t begin, size_t end)
{
    const model_cells *m = context;
    for (size_t i = begin; i < end; i++) {
        const gt_model_result *result = result_of(m->ops, i);
        m->texts[i] = result ? m->text_of[result->id] : GT_STR_NONE;
    }
}

static int by_number(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* The parameters of each result as a string, added in the order of the ops that have them first. */
static uint32_t *print_results(const gt_op_rows *rows, gt_interner *strings, const _Atomic uint32_t *firsts,
                               size_t count)
{
    uint32_t *text_of = gt_alloc_zero(count, sizeof *text_of), *ops = gt_alloc(count * sizeof *ops);
    size_t op_count = 0;
    gt_buffer text = {0};
    for (size_t id = 0; id < count; id++)
        if (firsts[id] != UINT32_MAX) ops[op_count++] = firsts[id];
    qsort(ops, op_count, sizeof *ops, by_number);
    for (size_t i = 0; i < op_count; i++) {
        const gt_model_result *result = result_of(rows, ops[i]);
        text.len = 0;
        gt_model_print_parameters(&text, result);
        text_of[result->id] = gt_interner_add(strings, text.bytes, text.len);
    }
    gt_buffer_free(&text);
    gt_free(ops);
    return text_of;
}

void gt_unified_add_models(gt_table *table, const uint8_t *has_model, const gt_op_rows *ops,
                           size_t result_count)
{
    model_cells m = {.ops = ops, .firsts = gt_alloc(result_count * sizeof *m.firsts)};
    uint8_t *cells = gt_table_add_unset(table, GT_COL_HAS_PERF_MODEL, GT_TYPE_BOOL)->bools;
    if (ops->count) memcpy(cells, has_model, ops->count);
    for (size_t id = 0; id < result_count; id++) atomic_init(&m.firsts[id], UINT32_MAX);
    gt_parallel_ranges(ops->count, GT_OPS_GRAIN, find_results, &m);
    m.texts = gt_table_add_unset(table, GT_COL_PERF_PARAMS, GT_TYPE_STRING)->texts;
    uint32_t *text_of = print_results(ops, table->strings, m.firsts, result_count);
    m.text_of = text_of;
    gt_parallel_ranges(ops->count, GT_OPS_GRAIN, fill_texts, &m);
    gt_free(text_of);
    gt_free(m.firsts);
}
