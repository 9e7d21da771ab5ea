/* All or nothing: a trace in which only some records have a place stays as it is. */
#include "input/rocprof/row_order.h"

#include "base/memory.h"

#include <stdlib.h>

void gt_row_order_add(gt_row_order *p, const int64_t *place)
{
    if (!place) p->is_lacking = true;
    if (p->is_lacking) return;
    if (p->count && (double)*place < p->places[p->count - 1]) p->is_out_of_order = true;
    GT_PUSH(p->places, p->count, p->capacity, (double)*place);
}

void gt_row_order_restore(const gt_row_order *p, gt_store_writer *writer)
{
    if (writer && !p->is_lacking && p->is_out_of_order) gt_store_writer_sort(writer, p->places);
}

void gt_row_order_free(gt_row_order *p)
{
    gt_free(p->places);
}
