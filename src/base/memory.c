/* Allocation that cannot fail from the caller's view, the heaps that track it, growable arrays and arenas. */
#include "base/memory.h"
#include "base/raise.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

/* ---- heaps: sets of the blocks that are in use ----
 *
 * A set separate from malloc's own memory instead of a header before each block: a block is the same with and
 * without a heap, and its owner may free it without knowing whether a heap tracks it. Blocks are few
 * and large, since arenas and columns hold the small objects; the cost of the set does not show in a report's
 * time. The set is split so that threads seldom wait for each other. */

enum { SHARDS = 16, FIRST_SLOTS = 32 };

typedef struct shard {
    pthread_mutex_t lock;
    void **slots; /* linear probing, at most two thirds full; NULL where empty */
    size_t count, mask;
} shard;

struct gt_heap {
    shard shards[SHARDS];
    void *first_slots[SHARDS][FIRST_SLOTS]; /* until a shard grows */
};

/* The heap that tracks what this thread allocates; NULL: none. */
static _Thread_local gt_heap *heap GT_THREAD_LOCAL;

gt_heap *gt_heap_new(void)
{
    gt_heap *h = calloc(1, sizeof *h);
    for (size_t i = 0; h && i < SHARDS; i++) {
        pthread_mutex_init(&h->shards[i].lock, NULL);
        h->shards[i].slots = h->first_slots[i];
        h->shards[i].mask = FIRST_SLOTS - 1;
    }
    return h;
}

void gt_heap_clear(gt_heap *h)
{
    for (size_t i = 0; i < SHARDS; i++) {
        shard *s = &h->shards[i];
        for (size_t at = 0; at <= s->mask; at++) {
            free(s->slots[at]);
            s->slots[at] = NULL;
        }
        s->count = 0;
    }
}

void gt_heap_free(gt_heap *h)
{
    if (!h) return;
    gt_heap_clear(h);
    for (size_t i = 0; i < SHARDS; i++) {
        if (h->shards[i].slots != h->first_slots[i]) free(h->shards[i].slots);
        pthread_mutex_destroy(&h->shards[i].lock);
    }
    free(h);
}

gt_heap *gt_heap_use(gt_heap *h)
{
    gt_heap *before = heap;
    heap = h;
    return before;
}

size_t gt_heap_count(const gt_heap *h)
{
    size_t count = 0;
    for (size_t i = 0; i < SHARDS; i++) count += h->shards[i].count;
    return count;
}

static uint64_t hash_of(const void *block)
{
    return ((uint64_t)(uintptr_t)block >> 4) * 0x9E3779B97F4A7C15u;
}

static shard *shard_of(const void *block)
{
    return &heap->shards[hash_of(block) >> 60];
}

static size_t home_of(const shard *s, const void *block)
{
    return (size_t)(hash_of(block) >> 20) & s->mask;
}

static void put(shard *s, void *block)
{
    size_t at = home_of(s, block);
    while (s->slots[at]) at = (at + 1) & s->mask;
    s->slots[at] = block;
}

static bool grow_shard(shard *s)
{
    size_t slots = (s->mask + 1) * 2;
    shard bigger = {.slots = calloc(slots, sizeof *bigger.slots), .mask = slots - 1};
    if (!bigger.slots) return false;
    for (size_t at = 0; at <= s->mask; at++)
        if (s->slots[at]) put(&bigger, s->slots[at]);
    if (s->mask >= FIRST_SLOTS) free(s->slots);
    s->slots = bigger.slots;
    s->mask = bigger.mask;
    return true;
}

/* False if the set is full and cannot grow. */
static bool add(shard *s, void *block, bool must_grow)
{
    pthread_mutex_lock(&s->lock);
    bool grown = (s->count + 1) * 3 <= (s->mask + 1) * 2 || grow_shard(s);
    bool fits = grown || (!must_grow && s->count < s->mask);
    if (fits) {
        put(s, block);
        s->count++;
    }
    pthread_mutex_unlock(&s->lock);
    return fits;
}

/* Ends the call if the set cannot grow; the block is freed then. */
static void track(void *block)
{
    if (add(shard_of(block), block, true)) return;
    free(block);
    gt_raise_out_of_memory(sizeof block);
}

/* The same after a realloc, which must not fail any more, because its caller still has the old address. The
 * room that is left above two thirds is for this. */
static void track_moved(void *block)
{
    add(shard_of(block), block, false);
}

/* Takes a block out of the set, before it is freed: from then on another thread may get it. The blocks
 * after it move up so that a search still finds them. */
static bool untrack(const void *block)
{
    shard *s = shard_of(block);
    pthread_mutex_lock(&s->lock);
    size_t at = home_of(s, block);
    while (s->slots[at] && s->slots[at] != block) at = (at + 1) & s->mask;
    bool found = s->slots[at] != NULL;
    size_t hole = at;
    while (found && s->slots[at = (at + 1) & s->mask]) {
        size_t home = home_of(s, s->slots[at]);
        if (((at - home) & s->mask) < ((at - hole) & s->mask)) continue; /* its home is after the hole */
        s->slots[hole] = s->slots[at];
        hole = at;
    }
    if (found) s->slots[hole] = NULL;
    s->count -= found;
    pthread_mutex_unlock(&s->lock);
    return found;
}

/* ---- allocation ---- */

void *gt_alloc(size_t size)
{
    void *p = malloc(size ? size : 1);
    if (!p) gt_raise_out_of_memory(size);
    if (heap) track(p);
    return p;
}

void *gt_alloc_zero(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size ? size : 1);
    if (!p) gt_raise_out_of_memory(count * size);
    if (heap) track(p);
    return p;
}

void *gt_realloc(void *old, size_t size)
{
    bool tracked = heap && old && untrack(old);
    void *p = realloc(old, size ? size : 1);
    if (tracked) track_moved(p ? p : old);
    if (!p) gt_raise_out_of_memory(size);
    if (heap && !old) track(p);
    return p;
}

void gt_free(void *block)
{
    if (heap && block) untrack(block);
    free(block);
}

void *gt_adopt(void *block)
{
    if (heap && block) track(block);
    return block;
}

char *gt_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(gt_alloc(size), text, size);
}

char *gt_format(const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    char *text = gt_alloc((size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}

void *gt_grow(void *items, size_t *capacity, size_t need, size_t item_size)
{
    if (need <= *capacity) return items;
    size_t wanted = *capacity + *capacity / 2 + 8;
#ifdef GT_MOVE_ARRAYS
    if (need < 64) wanted = need; /* each appended item moves the array, so that old pointers are found */
#endif
    if (wanted < need) wanted = need;
    size_t bytes;
    if (__builtin_mul_overflow(wanted, item_size, &bytes)) gt_raise_out_of_memory(SIZE_MAX);
    items = gt_realloc(items, bytes);
    *capacity = wanted; /* not before: if there is no memory, another thread may still see the array */
    return items;
}

void gt_memory_trim(void)
{
#ifdef __GLIBC__
    if (!heap) malloc_trim(0); /* the memory of a process that uses the library is not ours to arrange */
#endif
}

struct gt_arena_block {
    struct gt_arena_block *before;
    char data[];
};

enum { ARENA_BLOCK_BYTES = 64 * 1024, ARENA_SLACK = 64 };

void *gt_arena_alloc(gt_arena *arena, size_t size)
{
    size = (size + 7) & ~(size_t)7;
    if (!arena->blocks || (size_t)(arena->end - arena->next) < size) {
        size_t room = size > ARENA_BLOCK_BYTES ? size : ARENA_BLOCK_BYTES;
        struct gt_arena_block *block = gt_alloc(sizeof *block + room + ARENA_SLACK);
        block->before = arena->blocks;
        arena->blocks = block;
        arena->next = block->data;
        arena->end = block->data + room;
    }
    void *p = arena->next;
    arena->next += size;
    return p;
}

char *gt_arena_bytes(gt_arena *arena, const void *bytes, size_t len)
{
    char *copy = gt_arena_alloc(arena, len + 1);
    if (len) memcpy(copy, bytes, len);
    copy[len] = 0;
    return copy;
}

char *gt_arena_format(gt_arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    char *text = gt_arena_alloc(arena, (size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}

void gt_arena_free(gt_arena *arena)
{
    for (struct gt_arena_block *block = arena->blocks, *before; block; block = before) {
        before = block->before;
        gt_free(block);
    }
    *arena = (gt_arena){0};
}

/* The limits of control groups, version 2 and version 1, as a container sees its own. */
static const char *const limit_files[] = {"/sys/fs/cgroup/memory.max",
                                          "/sys/fs/cgroup/memory/memory.limit_in_bytes"};

uint64_t gt_memory_limit(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t limit = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
    for (size_t i = 0; i < GT_LENGTH(limit_files); i++) {
        FILE *file = fopen(limit_files[i], "re");
        unsigned long long bytes;
        if (file && fscanf(file, "%llu", &bytes) == 1 && bytes && (!limit || bytes < limit))
            limit = bytes; /* "max" means none */
        if (file) fclose(file);
    }
    return limit;
}
