/* Which op launches which kernels, learned from work whose ops are known: by stem (names.h), how often each
 * op launched such a kernel. */
#pragma once

#include "base/base.h"

typedef struct gt_stem_count {
    uint32_t total, most; /* kernels; those of the op that launched most of them: */
    uint32_t op;
} gt_stem_count;

typedef struct gt_stem_ops {
    gt_map counts; /* (stem, op) -> kernels */
    gt_map stem_of;
    gt_stem_count *stems;
    size_t count, capacity;
} gt_stem_ops; /* {0}: nothing is known */

void gt_stem_ops_add(gt_stem_ops *learned, uint32_t stem, uint32_t op);
bool gt_stem_ops_has(const gt_stem_ops *learned, uint32_t stem, uint32_t op);
/* The op of at least 95 % of the kernels with this stem; GT_STR_NONE: there is none. */
uint32_t gt_stem_ops_sure(const gt_stem_ops *learned, uint32_t stem);
void gt_stem_ops_free(gt_stem_ops *learned);
