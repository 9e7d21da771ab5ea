/* A set of integers that has the iteration order of CPython's.
 *
 * Python iterates over a set in the order of its hash table, which depends on what was added and removed
 * before. Sheets list overlapping kernels in that order, so the table is rebuilt here step by step as CPython
 * (3.7 and later) does: 8 slots at first, 9 neighbours tried after a slot, then a jump that mixes in higher
 * bits of the value, and a larger table once three fifths of the slots are or were in use. For example,
 * adding 8, 1 and 16 gives the order 8, 1, 16: 8 and 16 both belong into slot 0, where 8 is, and 16 goes into
 * the next free slot after 1. */
#pragma once

#include "base/base.h"

typedef struct gt_python_set {
    uint64_t *slots; /* value + 2; 0 if never used, 1 if deleted */
    size_t mask;     /* slots - 1 */
    size_t filled;   /* slots in use or deleted */
    size_t used;     /* values */
    size_t capacity; /* allocated slots */
} gt_python_set;     /* {0} is an empty set */

void gt_python_set_add(gt_python_set *set, uint32_t value);
void gt_python_set_discard(gt_python_set *set, uint32_t value);
/* The slot of a value of the set: Python iterates in the order of the slots. */
size_t gt_python_set_slot(const gt_python_set *set, uint32_t value);
void gt_python_set_clear(gt_python_set *set); /* an empty set, as if new */
void gt_python_set_free(gt_python_set *set);
