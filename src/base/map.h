/* A hash map from pairs of integers to integers. Keys come from files and may be chosen to collide, so the
 * hash has another seed in each process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gt_map_entry {
    uint64_t a, b;
    uint32_t value;
    bool used;
} gt_map_entry;

typedef struct gt_map {
    gt_map_entry *entries;
    size_t count, capacity; /* capacity is 0 or a power of two */
} gt_map;                   /* {0} is the empty map */

#define GT_MAP_NONE UINT32_MAX

/* A pointer to the value of a key, which is GT_MAP_NONE if it is new; valid until the next gt_map_put. */
uint32_t *gt_map_put(gt_map *map, uint64_t a, uint64_t b);
/* The value of a key, GT_MAP_NONE if there is none. */
uint32_t gt_map_get(const gt_map *map, uint64_t a, uint64_t b);
void gt_map_free(gt_map *map); /* leaves an empty map */

/* The seed of all hashes: another number in each process, so that nobody can choose keys that collide. */
uint64_t gt_map_seed(void);
