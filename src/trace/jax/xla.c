/* Collectives in the order of the program, and by name. */
#include "trace/jax/xla.h"

#include <stdlib.h>

void gt_xla_free(gt_xla *program)
{
    gt_free(program->items);
    gt_map_free(&program->by_name);
    gt_arena_free(&program->arena);
    *program = (gt_xla){0};
}

void gt_xla_add(gt_xla *program, const gt_xla_collective *collective)
{
    uint32_t *place = gt_map_put(&program->by_name, collective->name, 0);
    if (*place == GT_MAP_NONE) *place = (uint32_t)program->count;
    GT_PUSH(program->items, program->count, program->capacity, *collective);
}

const gt_xla_collective *gt_xla_find(const gt_xla *program, uint32_t name)
{
    uint32_t place = gt_map_get(&program->by_name, name, 0);
    return place == GT_MAP_NONE ? NULL : &program->items[place];
}
