/* Pools of pages.
 *
 * Free pages are runs of 64 KiB units: used ones, which still have memory, and fresh ones, which the system
 * has not given memory yet. A block takes the smallest used run that is large enough, else fresh pages, and
 * what it does not need stays in the list. Blocks begin at different offsets in their first page: otherwise
 * the cells of one row, in columns that are read together, would compete for the same lines of the cache. */
#include "base/pages/pages.h"

#include "base/pages/blocks.h"
#include "base/pages/runs.h"
#include "base/pages/watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum {
    UNIT = 64 * 1024, /* a multiple of every page size */
    HUGE = 2 * 1024 * 1024,
    OFFSETS = 16, /* different ones, of GT_PAGE_BLOCK_ALIGNMENT bytes */
    REGION_MIN = 4 * 1024 * 1024,
    REGION_MAX = 64 * 1024 * 1024,
    /* A huge page is cleared whole even if little of it is used: below this, it could be a large part of all
     * memory. */
    HUGE_PAGES_FROM = 8 * 1024 * 1024,
    MOVE_FROM = 1024 * 1024, /* smaller blocks are copied when they grow */
    KEPT_MIN = 8 * 1024 * 1024,
};

struct gt_pages {
    pthread_mutex_t lock; /* for all below */
    gt_page_runs memory, file;
    gt_pages_counts counts;
    unsigned next_offset;
    size_t most_used; /* of counts.used */
    bool keeps;       /* freed pages are not given back */
    bool is_shared;
    gt_pages_limits limits;
    gt_pages_watch watch;
};

gt_pages *gt_pages_new(void)
{
    gt_pages *pool = calloc(1, sizeof *pool);
    if (!pool) return NULL;
    pthread_mutex_init(&pool->lock, NULL);
    gt_pages_watch_begin(&pool->watch, &pool->lock);
    return pool;
}

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* ---- anonymous pages ---- */

static void count_peak(gt_pages *pool)
{
    pool->counts.kept = pool->memory.used_bytes;
    size_t now = pool->counts.used + pool->counts.kept;
    if (now > pool->counts.peak) pool->counts.peak = now;
    if (pool->counts.used > pool->most_used) pool->most_used = pool->counts.used;
}

static bool may_rise(const gt_pages *pool)
{
    return pool->is_shared && !pool->limits.bytes;
}

/* How many bytes of freed pages stay: few if little is in use, unless many threads will use them again. */
static size_t kept_bytes_max(const gt_pages *pool)
{
    size_t few = pool->counts.used / 2 + KEPT_MIN, all = pool->most_used + pool->most_used / 2;
    size_t rest = all > pool->counts.used ? all - pool->counts.used : 0;
    return may_rise(pool) && rest > few ? rest : few;
}

/* Puts pages into the list; if it is full, returns them to the system. */
static void add_run(gt_pages *pool, gt_page_run run)
{
    if (gt_page_runs_add(&pool->memory, run)) return;
    if (munmap(run.begin, run.bytes) != 0) madvise(run.begin, run.bytes, MADV_DONTNEED);
}

/* Returns the memory of up to this many bytes of used runs to the system, and keeps their addresses. */
static void give_back(gt_pages *pool, size_t bytes)
{
    gt_page_run run;
    while (bytes && gt_page_runs_take_largest(&pool->memory, bytes, &run)) {
        bytes -= run.bytes;
        run.fresh = madvise(run.begin, run.bytes, MADV_DONTNEED) == 0;
        bool stuck = !run.fresh;
        add_run(pool, run);
        if (stuck) return;
    }
}

static void unmap_free_runs(gt_pages *pool)
{
    gt_page_run run;
    while (gt_page_runs_pop(&pool->memory, &run)) munmap(run.begin, run.bytes);
}

/* Address space, aligned to huge pages if it is as large as one. */
static char *map_aligned(size_t bytes)
{
    bool align = bytes >= HUGE;
    size_t mapped = align ? bytes + HUGE : bytes;
    char *begin = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED) return NULL;
    if (!align) return begin;
    size_t before = (size_t)(-(uintptr_t)begin % HUGE);
    if (before) munmap(begin, before);
    if (before < HUGE) munmap(begin + before + bytes, HUGE - before);
    return begin + before;
}

static bool address_space_is_limited(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/* More fresh pages: at least `bytes`, and more than that if the pool is large already. */
static bool map_region(gt_pages *pool, size_t bytes)
{
    size_t step = pool->counts.used / 4;
    step = step < REGION_MIN ? REGION_MIN : step > REGION_MAX ? REGION_MAX : step;
    size_t region = bytes > step || address_space_is_limited() ? bytes : step;
    bool huge = pool->counts.used + bytes >= HUGE_PAGES_FROM;
    if (huge || region >= REGION_MIN) region = round_up(region, HUGE);
    char *begin = map_aligned(region);
    if (!begin && region > bytes) begin = map_aligned(region = bytes);
    if (!begin) return false;
    if (huge) madvise(begin, region, MADV_HUGEPAGE);
    add_run(pool, (gt_page_run){.begin = begin, .bytes = region, .fresh = true, .joins = true});
    return true;
}

static bool take_fresh(gt_pages *pool, size_t bytes, gt_page_run *run)
{
    size_t total = pool->counts.used + pool->memory.used_bytes + bytes;
    if (total > pool->counts.peak && !may_rise(pool))
        give_back(pool, round_up(total - pool->counts.peak, UNIT));
    if (gt_page_runs_take(&pool->memory, bytes, true, run)) return true;
    if (map_region(pool, bytes) && gt_page_runs_take(&pool->memory, bytes, true, run)) return true;
    unmap_free_runs(pool); /* address space may be limited */
    return map_region(pool, bytes) && gt_page_runs_take(&pool->memory, bytes, true, run);
}

static bool take_memory(gt_pages *pool, size_t bytes, gt_page_run *run)
{
    if (!gt_page_runs_take(&pool->memory, bytes, false, run) && !take_fresh(pool, bytes, run)) return false;
    pool->counts.used += bytes;
    count_peak(pool);
    return true;
}

static void free_memory(gt_pages *pool, char *begin, size_t bytes)
{
    pool->counts.used -= bytes;
    add_run(pool, (gt_page_run){.begin = begin, .bytes = bytes, .joins = true});
    size_t most = kept_bytes_max(pool);
    if (pool->memory.used_bytes > most && !pool->keeps) give_back(pool, pool->memory.used_bytes - most);
    count_peak(pool);
}

/* ---- pages of the temporary file; the lock is free while the file system works ---- */

static bool take_file(gt_pages *pool, size_t bytes, gt_page_run *run, gt_error *error)
{
    bool found =
        gt_page_runs_take(&pool->file, bytes, false, run) || gt_page_runs_take(&pool->file, bytes, true, run);
    if (!found) {
        size_t step = (size_t)(pool->watch.spill.size / 8);
        step = step < REGION_MIN ? REGION_MIN : step > REGION_MAX ? REGION_MAX : step;
        size_t region = bytes > step ? bytes : round_up(step, UNIT);
        char *begin = gt_spill_map(&pool->watch.spill, region, &pool->lock, error);
        if (!begin) return false;
        *run = (gt_page_run){.begin = begin, .bytes = bytes, .fresh = true};
        if (region > bytes) /* if the list is full, these are not used */
            gt_page_runs_add(
                &pool->file,
                (gt_page_run){.begin = begin + bytes, .bytes = region - bytes, .fresh = true, .joins = true});
    }
    pool->counts.in_file += bytes;
    return true;
}

static void free_file(gt_pages *pool, char *begin, size_t bytes)
{
    gt_spill *spill = &pool->watch.spill;
    pool->counts.in_file -= bytes;
    gt_page_run run = {.begin = begin, .bytes = bytes};
    run.joins = gt_spill_region_of(spill, begin)->begin != begin;
    if (pool->limits.outside) { /* the next blocks use them; discarding all costs more than it saves */
        gt_page_runs_add(&pool->file, run);
        return;
    }
    if (gt_spill_discard(spill, begin, bytes, &pool->lock, &run.fresh)) gt_page_runs_add(&pool->file, run);
}

/* ---- blocks ---- */

/* Whether the next block goes to the file. */
static bool goes_to_file(gt_pages *pool, size_t bytes, bool cold)
{
    const gt_pages_limits *limits = &pool->limits;
    if (!limits->bytes || limits->outside) return limits->outside;
    gt_pages_load load = {.pool = pool->counts.used + pool->memory.used_bytes, .bytes = bytes, .cold = cold};
    return gt_pages_watch_exceeds(&pool->watch, limits, &load);
}

static bool take_run(gt_pages *pool, size_t bytes, bool cold, gt_page_run *run, bool *in_file,
                     gt_error *error)
{
    *in_file = goes_to_file(pool, bytes, cold);
    if (*in_file) {
        if (take_file(pool, bytes, run, error)) {
            gt_pages_watch_start(&pool->watch);
            if (gt_pages_watch_keep(&pool->watch, &pool->limits, bytes, error)) return true;
            free_file(pool, run->begin, run->bytes);
            return false;
        }
        if (pool->limits.promised) return false;
        if (error) error->text[0] = 0; /* a limit that the user did not ask for is kept as far as possible */
        *in_file = false;
    }
    return take_memory(pool, bytes, run);
}

static void free_run(gt_pages *pool, char *begin, size_t bytes, bool in_file)
{
    if (in_file)
        free_file(pool, begin, bytes);
    else
        free_memory(pool, begin, bytes);
}

/* A block of this pool with its entry, at an offset of less than a page. */
static void *new_block(gt_pages *pool, gt_pages_request request, size_t offset, bool *fresh, gt_error *error)
{
    gt_page_block block = {.pool = pool, .offset = offset};
    gt_page_run run;
    if (request.bytes > SIZE_MAX / 4) return NULL;
    block.bytes = round_up(request.bytes + offset, UNIT);
    if (!take_run(pool, block.bytes, request.cold, &run, &block.in_file, error)) return NULL;
    block.begin = run.begin;
    *fresh = run.fresh;
    if (gt_page_blocks_add(&block)) return block.begin + offset;
    free_run(pool, block.begin, block.bytes, block.in_file);
    return NULL;
}

void *gt_pages_alloc(gt_pages *pool, gt_pages_request request, gt_error *error)
{
    bool fresh = false;
    if (error) error->text[0] = 0;
    gt_pages_poll(pool);
    pthread_mutex_lock(&pool->lock);
    size_t offset = pool->next_offset++ % OFFSETS * GT_PAGE_BLOCK_ALIGNMENT;
    void *block = new_block(pool, request, offset, &fresh, error);
    pthread_mutex_unlock(&pool->lock);
    if (block && request.zero && !fresh) memset(block, 0, request.bytes);
    if (request.is_fresh) *request.is_fresh = block && fresh;
    return block;
}

void gt_pages_free(void *address)
{
    gt_page_block *entry = gt_page_blocks_find(address), block = *entry;
    gt_page_blocks_remove(entry);
    pthread_mutex_lock(&block.pool->lock);
    free_run(block.pool, block.begin, block.bytes, block.in_file);
    pthread_mutex_unlock(&block.pool->lock);
}

/* Makes a block larger or smaller where it is. */
static bool resize_in_place(gt_pages *pool, gt_page_block *block, size_t bytes)
{
    if (bytes <= block->bytes) {
        size_t rest = block->bytes - bytes;
        block->bytes = bytes;
        if (rest) free_run(pool, block->begin + bytes, rest, block->in_file);
        return true;
    }
    gt_page_run run;
    size_t more = bytes - block->bytes;
    if (!block->in_file && goes_to_file(pool, more, false)) return false;
    if (!gt_page_runs_take_at(block->in_file ? &pool->file : &pool->memory, block->begin + block->bytes, more,
                              &run))
        return false;
    block->bytes = bytes;
    if (block->in_file) {
        pool->counts.in_file += more;
    } else {
        pool->counts.used += more;
        count_peak(pool);
    }
    return true;
}

/* Moves the pages of a block to the start of another one, whose own are given up; its old addresses are free
 * then. */
static bool move_pages(const gt_page_block *from, const gt_page_block *to)
{
    return !from->in_file && !to->in_file && from->bytes >= MOVE_FROM &&
           mremap(from->begin, from->bytes, from->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to->begin) !=
               MAP_FAILED;
}

/* In parts: of blocks in the file, what is copied is resident twice. */
static void copy_block(gt_pages *pool, char *to, const char *from, size_t bytes)
{
    enum { PART = 256 * 1024 };
    for (size_t at = 0; at < bytes; at += PART) {
        gt_pages_poll(pool);
        memcpy(to + at, from + at, bytes - at < PART ? bytes - at : PART);
    }
}

/* Called with the lock, which is free while bytes are copied: the watch must not wait for that. */
static void *resize_by_moving(gt_pages *pool, gt_page_block *entry, size_t bytes, gt_error *error)
{
    gt_page_block from = *entry;
    bool fresh;
    char *moved = new_block(pool, (gt_pages_request){.bytes = bytes}, from.offset, &fresh, error);
    if (!moved) return NULL;
    gt_page_block to = *gt_page_blocks_find(moved);
    if (fresh && move_pages(&from, &to)) {
        pool->counts.used -= from.bytes;
    } else {
        size_t old = from.bytes - from.offset;
        pthread_mutex_unlock(&pool->lock);
        copy_block(pool, moved, from.begin + from.offset, old < bytes ? old : bytes);
        pthread_mutex_lock(&pool->lock);
        free_run(pool, from.begin, from.bytes, from.in_file);
    }
    gt_page_blocks_remove(entry);
    return moved;
}

void *gt_pages_resize(void *address, size_t bytes, gt_error *error)
{
    if (error) error->text[0] = 0;
    if (bytes > SIZE_MAX / 4) return NULL;
    gt_page_block *entry = gt_page_blocks_find(address);
    gt_pages *pool = entry->pool;
    pthread_mutex_lock(&pool->lock);
    void *resized = resize_in_place(pool, entry, round_up(bytes + entry->offset, UNIT))
                        ? address
                        : resize_by_moving(pool, entry, bytes, error);
    pthread_mutex_unlock(&pool->lock);
    return resized;
}

bool gt_pages_owns(const void *block)
{
    return gt_page_blocks_find(block) != NULL;
}

size_t gt_pages_size(const void *address)
{
    const gt_page_block *block = gt_page_blocks_find(address);
    return block->bytes - block->offset;
}

/* ---- the pool ---- */

void gt_pages_poll(gt_pages *pool)
{
    gt_pages_watch_poll(&pool->watch);
}

void gt_pages_limit(gt_pages *pool, const gt_pages_limits *limits)
{
    pthread_mutex_lock(&pool->lock);
    pool->limits = *limits;
    gt_pages_watch_set(&pool->watch, limits);
    pthread_mutex_unlock(&pool->lock);
}

void gt_pages_give_back(gt_pages *pool)
{
    pthread_mutex_lock(&pool->lock);
    give_back(pool, pool->memory.used_bytes);
    count_peak(pool);
    pthread_mutex_unlock(&pool->lock);
}

void gt_pages_keep(gt_pages *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->keeps = true;
    pthread_mutex_unlock(&pool->lock);
}

void gt_pages_share(gt_pages *pool, bool many)
{
    pthread_mutex_lock(&pool->lock);
    pool->is_shared = many;
    pthread_mutex_unlock(&pool->lock);
}

void gt_pages_drop(gt_pages *pool)
{
    pthread_mutex_lock(&pool->lock);
    gt_spill_drop(&pool->watch.spill, (size_t)pool->watch.spill.size, false);
    pthread_mutex_unlock(&pool->lock);
}

bool gt_pages_is_in_file(gt_pages *pool, const void *address)
{
    pthread_mutex_lock(&pool->lock);
    bool found = gt_spill_region_of(&pool->watch.spill, address) != NULL;
    pthread_mutex_unlock(&pool->lock);
    return found;
}

bool gt_pages_read(gt_pages *pool, void *to, const void *from, size_t bytes)
{
    pthread_mutex_lock(&pool->lock);
    const gt_spill_region *found = gt_spill_region_of(&pool->watch.spill, from);
    gt_spill_region region = found ? *found : (gt_spill_region){0};
    int descriptor = pool->watch.spill.descriptor;
    bool is_coherent = pool->watch.spill.is_coherent;
    pthread_mutex_unlock(&pool->lock);
    return found && is_coherent &&
           gt_spill_read(descriptor, to, region.offset + (uint64_t)((const char *)from - region.begin),
                         bytes);
}

bool gt_pages_is_promised(const gt_pages *pool)
{
    return pool->limits.bytes && pool->limits.promised;
}

uint64_t gt_pages_limit_bytes(const gt_pages *pool)
{
    return pool->limits.bytes;
}

size_t gt_pages_smallest(const gt_pages *pool)
{
    return pool->limits.smallest ? pool->limits.smallest : GT_LARGE_BYTES;
}

gt_pages_counts gt_pages_count(gt_pages *pool)
{
    pthread_mutex_lock(&pool->lock);
    gt_pages_counts counts = pool->counts;
    counts.file_bytes = pool->watch.spill.size;
    counts.dropped = pool->watch.dropped;
    pthread_mutex_unlock(&pool->lock);
    return counts;
}

void gt_pages_rest(gt_pages *pool)
{
    gt_pages_watch_stop(&pool->watch);
    pthread_mutex_lock(&pool->lock);
    unmap_free_runs(pool);
    pool->counts.peak = pool->counts.used;
    if (!pool->counts.in_file) {
        gt_spill_end(&pool->watch.spill);
        pool->file.count = pool->file.used_bytes = 0;
    }
    count_peak(pool);
    pthread_mutex_unlock(&pool->lock);
}

void gt_pages_destroy(gt_pages *pool)
{
    if (!pool) return;
    gt_pages_rest(pool);
    gt_pages_watch_end(&pool->watch);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}
