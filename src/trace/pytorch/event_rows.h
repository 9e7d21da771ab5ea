/* Selecting rows of a trace on all threads of the team. The results are in order of the rows, whatever the
 * number of threads. */
#pragma once

#include "base/base.h"

/* The rows below `end` whose kind has its bit in `kinds` (1u << GT_KIND_KERNEL | ...). The caller frees them.
 */
uint32_t *gt_rows_of_kinds(const uint8_t *kind, size_t end, uint32_t kinds, size_t *count);
uint32_t *gt_list_gpu_rows(const uint8_t *kind, size_t end, size_t *count); /* of all kinds of GPU events */

/* The numbers i below `end` for which wanted(context, i). The caller frees them. */
uint32_t *gt_numbers_where(size_t end, bool (*wanted)(const void *context, size_t i), const void *context,
                           size_t *count);

/* Whether holds(context, i) for all i below `end`. */
bool gt_holds_for_all(size_t end, bool (*holds)(const void *context, size_t i), const void *context);

/* to[i] = from[rows[i]] for i below `count`. */
void gt_gather_u32(uint32_t *to, const uint32_t *from, const uint32_t *rows, size_t count);
void gt_gather_times(double *to, const double *from, const uint32_t *rows, size_t count);
