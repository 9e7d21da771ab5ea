/* In which order does Python go through a set of integers? By their places in its hash table, which depend on
 * what was put in and taken out before. Sheets list overlapping kernels in that order, so the table is
 * rebuilt here, step by step as CPython (3.7 and later) does: 8 slots at first, up to 10 neighbours tried,
 * then a jump that mixes in higher bits of the value, and a larger table once three fifths of the slots are
 * or were taken. */
#ifndef GT_COMPAT_PYTHON_SET_H
#define GT_COMPAT_PYTHON_SET_H

#include <stddef.h>
#include <stdint.h>

typedef struct gt_python_set {
    uint64_t *slots; /* value + 2; 0 where never taken, 1 where taken before */
    size_t mask;     /* slots - 1 */
    size_t filled;   /* slots taken now or before */
    size_t used;     /* values */
    size_t capacity; /* room for so many slots */
} gt_python_set;     /* {0} is an empty set */

void gt_python_set_add(gt_python_set *set, uint32_t value);
void gt_python_set_discard(gt_python_set *set, uint32_t value);
/* The slot of a value that is in the set: Python's order is that of the slots. */
size_t gt_python_set_slot(const gt_python_set *set, uint32_t value);
void gt_python_set_clear(gt_python_set *set); /* an empty set again, as if new */
void gt_python_set_free(gt_python_set *set);

#endif
