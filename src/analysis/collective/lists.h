/* Lists of integers that collectives give as text: "[0, 1, 2]", "(0, 1)", "[0, 1, ...]". */
#ifndef GT_ANALYSIS_COLLECTIVE_LISTS_H
#define GT_ANALYSIS_COLLECTIVE_LISTS_H

#include "base/interner.h"

#include <stdbool.h>

typedef struct gt_int_list {
    int64_t *items;
    size_t count, capacity;
    bool cut;   /* ends in "...": PyTorch writes 30 elements and no more */
    bool clean; /* nothing but integers between brackets */
} gt_int_list;  /* {0} is an empty list */

/* Replaces what the list holds by every run of digits in the text. */
void gt_int_list_read(gt_int_list *list, gt_str text);
void gt_int_list_free(gt_int_list *list);

#endif
