/* Allocation that cannot fail from the caller's view, the heaps that track it, growable arrays and arenas. */
#include "base/memory.h"
#include "base/raise.h"

#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>

/* What counts for a limit of memory: see gt_memory_set_limit. */
typedef struct budget {
    uint64_t limit; /* 0: none, and nothing is counted */
    const char *name;
    atomic_int_fast64_t used;
} budget;

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
    budget budget;
    void *first_slots[SHARDS][FIRST_SLOTS]; /* until a shard grows */
};

/* The heap that tracks what this thread allocates; NULL: none. */
static _Thread_local gt_heap *heap GT_THREAD_LOCAL;

gt_heap *gt_heap_new(void)
{
    gt_heap *h = calloc(1, sizeof *h);
    if (!h) return NULL;
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
            free(s->slots[at]);
            s->slots[at] = NULL;
        }
        s->count = 0;
    }
    atomic_store(&h->budget.used, 0);
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

/* ---- the limit ---- */

enum {
    COUNTED_BYTES = 4096, /* smaller blocks are not counted: they are little, and counting them takes time */
    MEBIBYTE = 1024 * 1024,
};

/* Of a program, which has no heap. */
static budget program_budget;

static budget *current_budget(void)
{
    return heap ? &heap->budget : &program_budget;
}

void gt_memory_set_limit(uint64_t bytes, const char *name)
{
    budget *b = current_budget();
    b->limit = bytes;
    b->name = name;
}

uint64_t gt_memory_limit_set(void)
{
    return current_budget()->limit;
}

static _Noreturn void raise_limit(const budget *b)
{
    gt_raise("%s: %" PRIu64 " MiB are too few; raise the limit, or use fewer threads (--threads), an index "
             "(--index) or a part of the trace (gputally split)",
             b->name, b->limit / MEBIBYTE);
}

/* Before so much more is allocated. Threads that ask at the same time may exceed the limit by a block each.
 */
static void check_limit(size_t more)
{
    budget *b = current_budget();
    if (!b->limit || more < COUNTED_BYTES) return;
    int64_t used = (int64_t)atomic_load_explicit(&b->used, memory_order_relaxed);
    if (more > b->limit || used > (int64_t)(b->limit - more)) raise_limit(b);
}

static int64_t counted_bytes(void *block)
{
    size_t bytes = block ? malloc_usable_size(block) : 0;
    return bytes < COUNTED_BYTES ? 0 : (int64_t)bytes;
}

static void add_used(int64_t bytes)
{
    if (bytes) atomic_fetch_add_explicit(&current_budget()->used, bytes, memory_order_relaxed);
}

static void count_new(void *block)
{
    if (current_budget()->limit) add_used(counted_bytes(block));
}

static void count_freed(void *block)
{
    if (current_budget()->limit) add_used(-counted_bytes(block));
}

/* ---- allocation ---- */

/* Many threads that write to fresh memory spend more time in the system's page faults than on what they
 * write: with huge pages there are fewer. Only in a program: in a guarded call, the memory is that of others
 * later. */
static void ask_for_huge_pages(void *block, size_t bytes)
{
    enum { HUGE_PAGE = 2 * 1024 * 1024, HUGE_FROM = 4 * 1024 * 1024 };
    if (heap || bytes < HUGE_FROM) return;
    size_t before = (size_t)(-(uintptr_t)block % HUGE_PAGE);
    madvise((char *)block + before, (bytes - before) / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
}

static void *take(void *block, size_t bytes)
{
    if (!block) gt_raise_out_of_memory(bytes);
    count_new(block);
    ask_for_huge_pages(block, bytes);
    if (heap) track(block);
    return block;
}

void *gt_alloc(size_t size)
{
    check_limit(size);
    return take(malloc(size ? size : 1), size);
}

void *gt_alloc_zero(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) gt_raise_out_of_memory(SIZE_MAX);
    check_limit(bytes);
    return take(calloc(count ? count : 1, size ? size : 1), bytes);
}

void *gt_realloc(void *old, size_t size)
{
    if (!old) return gt_alloc(size);
    bool is_limited = current_budget()->limit;
    int64_t before = is_limited ? counted_bytes(old) : 0;
    if ((int64_t)size > before) check_limit(size - (size_t)before);
    bool tracked = heap && untrack(old);
    void *p = realloc(old, size ? size : 1);
    if (tracked) track_moved(p ? p : old);
    if (!p) gt_raise_out_of_memory(size);
    if (is_limited) add_used(counted_bytes(p) - before);
    ask_for_huge_pages(p, size);
    return p;
}

void gt_free(void *block)
{
    if (!block) return;
    count_freed(block);
    if (heap) untrack(block);
    free(block);
}

void gt_free_blocks(void *const *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++) gt_free(blocks[i]);
}

void *gt_adopt(void *block)
{
    count_new(block);
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
#ifdef GT_SMALL_GRAINS
    if (need < 64) wanted = need; /* each appended item moves the array, so that old pointers are found */
#endif
    if (wanted < need) wanted = need;
    size_t bytes;
    if (__builtin_mul_overflow(wanted, item_size, &bytes)) gt_raise_out_of_memory(SIZE_MAX);
    items = gt_realloc(items, bytes);
    *capacity = wanted; /* not before: if there is no memory, another thread may still see the array */
    return items;
}

struct gt_arena_block {
    struct gt_arena_block *before;
    size_t room;
    char data[];
};

/* Each block is twice as large as the one before. */
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
        before = block->before;
        gt_free(block);
    }
    *arena = (gt_arena){0};
}
