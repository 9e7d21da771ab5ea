/* Allocation that cannot fail from the caller's view, the heaps that track it, growable arrays and arenas. */
#include "base/memory.h"
#include "base/pages/pages.h"
#include "base/pages/spill.h"
#include "base/raise.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <malloc.h>

/* ---- heaps: sets of the blocks that are in use ----
 *
 * A set separate from malloc's own memory instead of a header before each block: a block is the same with and
 * without a heap, and its owner may free it without knowing whether a heap tracks it. Blocks are few
 * and large, since arenas and columns hold the small objects; the cost of the set does not show in a report's
 * time. The set is split so that threads seldom wait for each other. */

enum { SHARDS = 64, SHARD_BITS = 6, FIRST_SLOTS = 8 };

typedef struct shard {
    pthread_mutex_t lock;
    void **slots; /* linear probing, at most two thirds full; NULL where empty */
    size_t count, mask;
} shard;

struct gt_heap {
    shard shards[SHARDS];
    _Atomic(gt_pages *) pages; /* of its large blocks; NULL until there is one */
    pthread_mutex_t pages_lock;
    void *first_slots[SHARDS][FIRST_SLOTS]; /* until a shard grows */
};

/* The heap that tracks what this thread allocates; NULL: none. */
static _Thread_local gt_heap *heap GT_THREAD_LOCAL;

/* The large blocks of a program, which has no heap; NULL: malloc has all blocks. */
static gt_pages *program_pages;
static atomic_bool in_steps;

/* The blocks of a program that are outside memory; see gt_memory_outside. */
enum {
    OUTSIDE_BYTES = 16 * 1024,           /* a smaller block is in memory */
    OUTSIDE_RESIDENT = 16 * 1024 * 1024, /* if the system does not say what the peak was */
    OUTSIDE_ROOM = 1024 * 1024,
    OUTSIDE_LOOKS = 16, /* looking costs as much as a small trace */
};
static struct {
    pthread_mutex_t lock;
    _Atomic(gt_pages *) pages; /* NULL until there is a block */
    uint64_t peak;             /* of memory, without them */
    uint64_t dropped_peak;     /* of memory, when their pages were last dropped */
    unsigned uses;
} outside = {.lock = PTHREAD_MUTEX_INITIALIZER};
static _Thread_local bool is_outside GT_THREAD_LOCAL;

/* Frees a block of malloc or of a pool. */
static void release(void *block)
{
    if (gt_pages_owns(block))
        gt_pages_free(block);
    else
        free(block);
}

gt_heap *gt_heap_new(void)
{
    gt_heap *h = calloc(1, sizeof *h);
    if (!h) return NULL;
    pthread_mutex_init(&h->pages_lock, NULL);
    for (size_t i = 0; i < SHARDS; i++) {
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
            release(s->slots[at]);
            s->slots[at] = NULL;
        }
        s->count = 0;
    }
    gt_heap_rest(h);
}

void gt_heap_rest(gt_heap *h)
{
    gt_pages *pages = atomic_load(&h->pages);
    if (pages) gt_pages_rest(pages);
}

void gt_heap_free(gt_heap *h)
{
    if (!h) return;
    gt_heap_clear(h);
    for (size_t i = 0; i < SHARDS; i++) {
        if (h->shards[i].slots != h->first_slots[i]) free(h->shards[i].slots);
        pthread_mutex_destroy(&h->shards[i].lock);
    }
    gt_pages_destroy(atomic_load(&h->pages));
    pthread_mutex_destroy(&h->pages_lock);
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
    return &heap->shards[hash_of(block) >> (64 - SHARD_BITS)];
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
    release(block);
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

/* AddressSanitizer finds overflows of malloc's blocks only. With a memory limit, pages are used there, too,
 * so that the tests of limits test something. */
static const bool pages_without_limit = !GT_ADDRESS_SANITIZER;

/* The pool of this guarded call, or without one of the program; NULL: there is none. */
static gt_pages *current_pool(bool create)
{
    if (!heap) return program_pages;
    gt_pages *pool = atomic_load_explicit(&heap->pages, memory_order_acquire);
    if (pool || !create) return pool;
    pthread_mutex_lock(&heap->pages_lock);
    pool = atomic_load(&heap->pages);
    if (!pool) atomic_store(&heap->pages, pool = gt_pages_new());
    pthread_mutex_unlock(&heap->pages_lock);
    return pool;
}

/* The pool of a block of this size; NULL: it is malloc's. */
static gt_pages *pool_for(size_t size)
{
    if (is_outside && !heap && size >= OUTSIDE_BYTES) return outside.pages;
    gt_pages *pool = current_pool(size >= GT_LARGE_BYTES);
    if (!pool || size < gt_pages_smallest(pool)) return NULL;
    return pages_without_limit || gt_pages_limit_bytes(pool) ? pool : NULL;
}

/* NULL if the block is malloc's, because of its size or because the pool has no memory, or if a memory limit
 * forbids it; then the error has a text. */
static void *try_large(gt_pages_request request, gt_error *error)
{
    gt_pages *pool = pool_for(request.bytes);
    error->text[0] = 0;
    return pool ? gt_pages_alloc(pool, request, error) : NULL;
}

/* Not in a guarded call: it may end there, and nobody would own the block. */
static _Atomic(gt_touch_function *) touch;

void gt_memory_touch_with(gt_touch_function *function)
{
    atomic_store(&touch, function);
    if (program_pages) gt_pages_share(program_pages, function);
}

/* Returning pages interrupts the cores of all threads and takes a system call per piece, and they are fresh
 * ones when they are needed again: many threads keep them, unless there is a limit. */
static bool keeps_pages(void)
{
    return atomic_load_explicit(&touch, memory_order_relaxed) && !heap &&
           !(program_pages && gt_pages_limit_bytes(program_pages));
}

static void touch_fresh(void *begin, size_t bytes)
{
    gt_touch_function *function = atomic_load_explicit(&touch, memory_order_acquire);
    if (function) function(begin, bytes);
}

static void *alloc_large(gt_pages_request request)
{
    gt_pages *pool = pool_for(request.bytes);
    if (!pool) return NULL;
    gt_error error;
    bool is_fresh = false;
    request.is_fresh = &is_fresh;
    void *p = try_large(request, &error);
    if (!p && error.text[0]) gt_raise("%s", error.text);
    if (is_fresh && !request.cold && !gt_pages_limit_bytes(pool) && !heap) touch_fresh(p, request.bytes);
    return p;
}

void *gt_alloc(size_t size)
{
    void *p = alloc_large((gt_pages_request){.bytes = size});
    if (!p) p = malloc(size ? size : 1);
    if (!p) gt_raise_out_of_memory(size);
    if (heap) track(p);
    return p;
}

void *gt_alloc_cold(size_t size)
{
    void *p = alloc_large((gt_pages_request){.bytes = size, .cold = true});
    if (!p) return gt_alloc(size);
    if (heap) track(p);
    return p;
}

void *gt_alloc_zero(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) gt_raise_out_of_memory(SIZE_MAX);
    void *p = alloc_large((gt_pages_request){.bytes = bytes, .zero = true});
    if (!p) p = calloc(count ? count : 1, size ? size : 1);
    if (!p) gt_raise_out_of_memory(bytes);
    if (heap) track(p);
    return p;
}

/* Moves a block between malloc and a pool. NULL if there is no memory. */
static void *move_block(void *old, size_t old_size, size_t size, gt_error *error)
{
    void *p = try_large((gt_pages_request){.bytes = size}, error);
    if (!p && !error->text[0]) p = malloc(size);
    if (!p) return NULL;
    memcpy(p, old, old_size < size ? old_size : size);
    release(old);
    return p;
}

/* realloc for all blocks. An error with a text is why there is no memory. */
static void *resize(void *old, size_t size, gt_error *error)
{
    error->text[0] = 0;
    if (gt_pages_owns(old)) {
        void *p = gt_pages_resize(old, size, error);
        return p || error->text[0] ? p : move_block(old, gt_pages_size(old), size, error);
    }
    if (!pool_for(size)) return realloc(old, size);
    return move_block(old, malloc_usable_size(old), size, error);
}

void *gt_realloc(void *old, size_t size)
{
    if (!old) return gt_alloc(size);
    gt_error error;
    bool tracked = heap && untrack(old);
    void *p = resize(old, size ? size : 1, &error);
    if (tracked) track_moved(p ? p : old);
    if (!p && error.text[0]) gt_raise("%s", error.text);
    if (!p) gt_raise_out_of_memory(size);
    return p;
}

void gt_trim(void *block, size_t size)
{
    gt_error error;
    if (gt_pages_owns(block) && size < gt_pages_size(block)) gt_pages_resize(block, size, &error);
}

void gt_free(void *block)
{
    if (!block) return;
    if (heap) untrack(block);
    release(block);
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

bool gt_memory_use_pages(void)
{
    if (!program_pages) program_pages = gt_pages_new();
    return program_pages != NULL;
}

void gt_memory_set_limit(const gt_pages_limits *limits)
{
    gt_pages *pool = current_pool(true);
    if (pool) gt_pages_limit(pool, limits);
}

void gt_memory_poll(void)
{
    gt_pages *pool = current_pool(false);
    if (pool) gt_pages_poll(pool);
    gt_pages *pages = atomic_load_explicit(&outside.pages, memory_order_acquire); /* of any thread */
    if (pages) gt_pages_poll(pages);
}

/* With the lock. What this process needs without its blocks outside is needed anyway, so that these may use
 * as much. If the peak is higher than when they were last dropped, it is not because of them. */
static void allow_peak(void)
{
    uint64_t now = gt_peak_memory();
    if (now > outside.dropped_peak || !outside.peak) outside.peak = now ? now : OUTSIDE_RESIDENT;
    gt_pages_limit(outside.pages, &(gt_pages_limits){.bytes = outside.peak, .outside = true});
}

bool gt_memory_outside(bool on)
{
    bool before = is_outside;
    is_outside = false;
    if (!on || !pages_without_limit || heap || !program_pages || gt_pages_is_promised(program_pages))
        return before;
    pthread_mutex_lock(&outside.lock);
    if (!outside.pages) outside.pages = gt_pages_new();
    if (outside.pages && !before && outside.uses++ % OUTSIDE_LOOKS == 0) allow_peak();
    is_outside = outside.pages != NULL;
    pthread_mutex_unlock(&outside.lock);
    return before;
}

void gt_memory_read(void *to, const void *from, size_t bytes)
{
    gt_pages *pages = atomic_load_explicit(&outside.pages, memory_order_acquire);
    if (bytes && (!pages || !gt_pages_read(pages, to, from, bytes))) memcpy(to, from, bytes);
}

bool gt_memory_is_outside(const void *block)
{
    gt_pages *pages = atomic_load_explicit(&outside.pages, memory_order_acquire);
    return pages && gt_pages_is_in_file(pages, block);
}

/* With the lock. From now on the blocks outside are what is worked with: they get what reading has needed,
 * but for what becomes resident between two looks; and some room at least, because a row of a wide sheet is
 * in windows of all its columns. */
static void leave_room(void)
{
    uint64_t anonymous, all;
    gt_memory_give_back();
    if (!keeps_pages()) gt_drop_code(); /* most of it is for reading */
    if (!gt_resident_memory(&anonymous, &all)) all = 0;
    uint64_t limit = outside.peak - outside.peak / 8, least = all + OUTSIDE_ROOM;
    gt_pages_limit(outside.pages,
                   &(gt_pages_limits){.bytes = limit > least ? limit : least, .outside = true});
}

void gt_memory_outside_rest(gt_outside_rest kind)
{
    pthread_mutex_lock(&outside.lock);
    if (outside.pages) {
        gt_pages_drop(outside.pages);
        outside.dropped_peak = gt_peak_memory();
        if (kind == GT_OUTSIDE_ALL_READ) leave_room();
        if (kind == GT_OUTSIDE_END) gt_pages_rest(outside.pages);
    }
    pthread_mutex_unlock(&outside.lock);
}

uint64_t gt_memory_limit_set(void)
{
    gt_pages *pool = current_pool(false);
    return pool ? gt_pages_limit_bytes(pool) : 0;
}

void gt_memory_trim(void)
{
#ifdef __GLIBC__
    /* The memory of a process that uses the library is not ours to arrange. AddressSanitizer has a heap of
     * its own: that of glibc is then never made, and two threads that trim it at once crash. */
    if (!heap && !GT_ADDRESS_SANITIZER && !keeps_pages()) malloc_trim(0);
#endif
}

void gt_memory_give_back(void)
{
    gt_pages *pool = current_pool(false);
    if (pool && !keeps_pages()) gt_pages_give_back(pool);
}

void gt_memory_in_steps(bool on)
{
    in_steps = on;
}

void gt_memory_next_step(void)
{
    if (!in_steps || heap || !program_pages) return;
    gt_pages_give_back(program_pages);
    gt_drop_code();
}

void gt_memory_ends(void)
{
    if (!heap && program_pages) gt_pages_keep(program_pages);
}

struct gt_arena_block {
    struct gt_arena_block *before;
    size_t room;
    char data[];
};

/* Each block is twice as large as the one before: those of a large arena can go to a temporary file. */
enum { ARENA_BLOCK_MIN = 2048, ARENA_BLOCK_MAX = 1024 * 1024, ARENA_SLACK = 64 };

static size_t next_arena_room(const gt_arena *arena)
{
    if (!arena->blocks) return ARENA_BLOCK_MIN;
    size_t room = arena->blocks->room * 2;
    return room < ARENA_BLOCK_MIN ? ARENA_BLOCK_MIN : room > ARENA_BLOCK_MAX ? ARENA_BLOCK_MAX : room;
}

void *gt_arena_alloc(gt_arena *arena, size_t size)
{
    size = (size + 7) & ~(size_t)7;
    if (!arena->blocks || (size_t)(arena->end - arena->next) < size) {
        size_t room = next_arena_room(arena);
        if (room < size) room = size;
        struct gt_arena_block *block = gt_alloc(sizeof *block + room + ARENA_SLACK);
        block->before = arena->blocks;
        block->room = room;
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
        gt_memory_poll();
        before = block->before;
        gt_free(block);
    }
    *arena = (gt_arena){0};
}
