/* Linear probing, with a table that is at most two thirds full. */
#include "base/map.h"
#include "base/memory.h"

#include <pthread.h>
#include <sys/random.h>

static uint64_t seed;
static pthread_once_t seeded = PTHREAD_ONCE_INIT;

static void make_seed(void)
{
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed) seed = 0x9E3779B97F4A7C15u;
}

uint64_t gt_map_seed(void)
{
    pthread_once(&seeded, make_seed);
    return seed;
}

static size_t hash(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)(a ^ seed) * 0x9E3779B97F4A7C15u;
    uint64_t h = (uint64_t)product ^ (uint64_t)(product >> 64) ^ b;
    product = (__uint128_t)(h ^ (seed << 1)) * 0xD6E8FEB86659FD93u;
    return (size_t)((uint64_t)product ^ (uint64_t)(product >> 64));
}

static gt_map_entry *find(const gt_map *map, uint64_t a, uint64_t b)
{
    size_t mask = map->capacity - 1, at = hash(a, b) & mask;
    while (map->entries[at].used && (map->entries[at].a != a || map->entries[at].b != b))
        at = (at + 1) & mask;
    return &map->entries[at];
}

static void grow(gt_map *map)
{
    gt_map bigger = {.capacity = map->capacity ? map->capacity * 2 : 64, .count = map->count};
    bigger.entries = gt_alloc_zero(bigger.capacity, sizeof *bigger.entries);
    pthread_once(&seeded, make_seed);
    for (size_t i = 0; i < map->capacity; i++)
        if (map->entries[i].used) *find(&bigger, map->entries[i].a, map->entries[i].b) = map->entries[i];
    gt_free(map->entries);
    *map = bigger;
}

#ifdef GT_SMALL_GRAINS
/* Each call moves the entries of a small map, so that pointers kept from the call before are found. */
static void move_entries(gt_map *map)
{
    gt_map_entry *moved = gt_alloc(map->capacity * sizeof *moved);
    memcpy(moved, map->entries, map->capacity * sizeof *moved);
    gt_free(map->entries);
    map->entries = moved;
}
#endif

uint32_t *gt_map_put(gt_map *map, uint64_t a, uint64_t b)
{
    if (map->count * 3 >= map->capacity * 2) grow(map);
#ifdef GT_SMALL_GRAINS
    if (map->capacity <= 64) move_entries(map);
#endif
    gt_map_entry *entry = find(map, a, b);
    if (!entry->used) {
        *entry = (gt_map_entry){a, b, GT_MAP_NONE, true};
        map->count++;
    }
    return &entry->value;
}

uint32_t gt_map_get(const gt_map *map, uint64_t a, uint64_t b)
{
    if (!map->count) return GT_MAP_NONE;
    const gt_map_entry *entry = find(map, a, b);
    return entry->used ? entry->value : GT_MAP_NONE;
}

void gt_map_free(gt_map *map)
{
    gt_free(map->entries);
    *map = (gt_map){0};
}
