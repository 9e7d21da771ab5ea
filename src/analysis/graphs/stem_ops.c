/* Counts of kernels by stem and op. */
#include "analysis/graphs/stem_ops.h"

/* What share of the kernels of a stem one op must have launched: SURE / OF. */
enum { SURE = 19, OF = 20 };

void gt_stem_ops_add(gt_stem_ops *learned, uint32_t stem, uint32_t op)
{
    uint32_t *place = gt_map_put(&learned->stem_of, stem, 0);
    if (*place == GT_MAP_NONE) {
        *place = (uint32_t)learned->count;
        GT_PUSH(learned->stems, learned->count, learned->capacity, ((gt_stem_count){.op = op}));
    }
    gt_stem_count *item = &learned->stems[*place];
    uint32_t *count = gt_map_put(&learned->counts, stem, op);
    *count = *count == GT_MAP_NONE ? 1 : *count + 1;
    item->total++;
    if (*count > item->most) {
        item->most = *count;
        item->op = op;
    }
}

bool gt_stem_ops_has(const gt_stem_ops *learned, uint32_t stem, uint32_t op)
{
    return gt_map_get(&learned->counts, stem, op) != GT_MAP_NONE;
}

uint32_t gt_stem_ops_sure(const gt_stem_ops *learned, uint32_t stem)
{
    uint32_t place = gt_map_get(&learned->stem_of, stem, 0);
    if (place == GT_MAP_NONE) return GT_STR_NONE;
    const gt_stem_count *item = &learned->stems[place];
    bool is_sure = (uint64_t)item->most * OF >= (uint64_t)item->total * SURE;
    return is_sure ? item->op : (uint32_t)GT_STR_NONE;
}

void gt_stem_ops_free(gt_stem_ops *learned)
{
    gt_map_free(&learned->counts);
    gt_map_free(&learned->stem_of);
    gt_free(learned->stems);
    *learned = (gt_stem_ops){0};
}
