/* The entries of one rank after the other.
 *
 * In the model the entries of a collective are together, so those of a rank are far apart, and of a run with
 * many ranks they are outside memory. They are copied for several ranks at a time, a tile: the entries of
 * these ranks in one collective are next to each other, and are read at once. */
#include "findings/ranks/model.h"

#include "base/memory.h"

enum { TILE_ENTRIES = 1024, TILE_RANKS = 64 };

gt_rank_walk gt_rank_walk_begin(const gt_rank_model *model)
{
    return (gt_rank_walk){.model = model};
}

void gt_rank_walk_end(gt_rank_walk *walk)
{
    gt_free(walk->entries);
    gt_free(walk->has_entry);
    *walk = (gt_rank_walk){0};
}

/* Reads entries from this one on, of which those of the tile are put at their places. */
static void read_run(gt_rank_walk *walk, size_t index)
{
    const gt_rank_model *model = walk->model;
    gt_rank_entry run[TILE_RANKS];
    size_t all = model->begins[model->count], count = walk->end - walk->begin;
    size_t first = model->rank_begins[walk->begin];
    if (count > all - index) count = all - index;
    gt_memory_read(run, &model->entries[index], count * sizeof *run);
    for (size_t i = 0; i < count; i++) {
        if (run[i].rank < walk->begin || run[i].rank >= walk->end) continue;
        walk->entries[run[i].place - first] = run[i];
        walk->has_entry[run[i].place - first] = true;
    }
}

/* The tile that begins with this rank: as many ranks as have few entries together. */
static void read_tile(gt_rank_walk *walk, size_t rank)
{
    const gt_rank_model *model = walk->model;
    const size_t *begins = model->rank_begins;
    size_t end = rank + 1;
    while (end < model->rank_count && end - rank < TILE_RANKS &&
           begins[end + 1] - begins[rank] <= TILE_ENTRIES)
        end++;
    size_t count = begins[end] - begins[rank];
    walk->begin = rank;
    walk->end = end;
    if (count > walk->capacity || !walk->entries) {
        gt_free(walk->entries);
        gt_free(walk->has_entry);
        walk->capacity = count > TILE_ENTRIES ? count : TILE_ENTRIES;
        walk->entries = gt_alloc(walk->capacity * sizeof *walk->entries);
        walk->has_entry = gt_alloc(walk->capacity * sizeof *walk->has_entry);
    }
    for (size_t i = 0; i < count; i++) walk->has_entry[i] = false;
    for (size_t i = 0; i < count; i++)
        if (!walk->has_entry[i]) read_run(walk, model->rank_entries[begins[rank] + i]);
}

const gt_rank_entry *gt_rank_walk_to(gt_rank_walk *walk, size_t rank)
{
    gt_memory_poll();
    if (rank < walk->begin || rank >= walk->end) read_tile(walk, rank);
    return walk->entries + (walk->model->rank_begins[rank] - walk->model->rank_begins[walk->begin]);
}

size_t gt_rank_entry_count(const gt_rank_model *model, size_t rank)
{
    return model->rank_begins[rank + 1] - model->rank_begins[rank];
}
