/* Which collectives are at the same place of the program?
 *
 * Ranks run the same program, but not all in one process group. With tensor parallelism, each pair of ranks
 * has its own collectives:
 *
 *     ranks 0, 1    all-reduce of pair 0    all-reduce of pair 0
 *     ranks 2, 3    all-reduce of pair 1    all-reduce of pair 1
 *     class         0                       1
 *
 * If both ranks of a pair are slow, neither is later than the other; only another pair shows that. So works
 * are compared over all collectives of a class: those of groups that are the same one of their ranks' groups,
 * in order of their first use, at the same position in the group, with as many ranks and as much data. */
#include "findings/ranks/maker.h"

#include "base/map.h"
#include "base/memory.h"
#include "schema/columns.h"

/* By collective: which one of the groups of its first rank is it? */
static uint32_t *find_ordinals(const gt_rank_model *model, const uint32_t *groups, const int64_t *ranks)
{
    uint32_t *ordinals = gt_alloc_zero(model->count + 1, sizeof *ordinals);
    for (size_t r = 0; r < model->rank_count; r++) {
        gt_map seen = {0};
        gt_memory_poll();
        for (size_t i = model->rank_begins[r]; i < model->rank_begins[r + 1]; i++) {
            uint32_t collective = model->rank_collectives[i], row = model->rows[collective];
            uint32_t *ordinal = gt_map_put(&seen, groups[row], 0);
            if (*ordinal == GT_MAP_NONE) *ordinal = (uint32_t)seen.count - 1;
            if (ranks[row] == (int64_t)r) ordinals[collective] = *ordinal;
        }
        gt_map_free(&seen);
    }
    return ordinals;
}

static uint32_t id_of(gt_map *map, uint64_t a, uint64_t b)
{
    uint32_t *id = gt_map_put(map, a, b);
    if (*id == GT_MAP_NONE) *id = (uint32_t)map->count - 1;
    return *id;
}

/* Entries by class: those of collectives in order. */
static void list_entries(gt_rank_model *model)
{
    size_t *begins = gt_alloc_zero(model->class_count + 2, sizeof *begins);
    for (size_t c = 0; c < model->count; c++)
        begins[model->class_of[c] + 2] += model->begins[c + 1] - model->begins[c];
    for (size_t i = 2; i < model->class_count + 2; i++) begins[i] += begins[i - 1];
    model->class_entries = gt_alloc((model->begins[model->count] + 1) * sizeof *model->class_entries);
    for (size_t c = 0; c < model->count; c++)
        for (size_t i = model->begins[c]; i < model->begins[c + 1]; i++)
            model->class_entries[begins[model->class_of[c] + 1]++] = (uint32_t)i;
    model->class_begins = begins;
}

void gt_maker_find_classes(gt_model_maker *m)
{
    gt_rank_model *model = m->model;
    const gt_table *events = m->input->sync->matches->events;
    const uint32_t *groups = gt_table_column(events, GT_COL_PROCESS_GROUP_NAME)->texts;
    const uint32_t *names = gt_table_column(events, GT_COL_COLLECTIVE_NAME)->texts;
    const int64_t *positions = gt_table_column(events, GT_COL_INDEX_IN_GROUP)->ints;
    const gt_column *sizes = gt_table_column(events, GT_COL_IN_MSG_SIZE_MB);
    const int64_t *ranks = gt_table_column(events, GT_COL_RANK)->ints;
    uint32_t *ordinals = find_ordinals(model, groups, ranks);
    gt_map kinds = {0}, places = {0}, classes = {0};
    model->class_of = gt_alloc((model->count + 1) * sizeof *model->class_of);
    for (size_t c = 0; c < model->count; c++) {
        uint32_t row = model->rows[c];
        double bytes = gt_column_number(sizes, row) * 1048576;
        uint32_t kind = id_of(&kinds, names[row], bytes >= 0 && bytes < 1e18 ? (uint64_t)bytes : 0);
        uint32_t place = id_of(&places, (uint64_t)positions[row], ordinals[c]);
        model->class_of[c] =
            id_of(&classes, (uint64_t)kind << 32 | place, model->begins[c + 1] - model->begins[c]);
    }
    model->class_count = classes.count;
    list_entries(model);
    gt_free(ordinals);
    gt_map_free(&kinds);
    gt_map_free(&places);
    gt_map_free(&classes);
}
