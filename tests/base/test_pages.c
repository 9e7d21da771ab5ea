/* Large blocks: their bytes stay as they were written, in memory and in the temporary file; freed pages are
 * used again without raising the peak; limits are kept, and a limit that cannot be kept is an error. */
#include "base/pages/pages.h"
#include "base/pages/spill.h"
#include "base/guard.h"
#include "base/memory.h"
#include "base/slabs.h"
#include "base/team.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KIB = 1024, MIB = 1024 * 1024 };

static char folder[] = "/var/tmp/gputally-test-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder); /* fails if a file remains */
}

static void *take(gt_pages *pool, size_t bytes)
{
    gt_error error;
    void *block = gt_pages_alloc(pool, (gt_pages_request){.bytes = bytes}, &error);
    assert_non_null(block);
    return block;
}

static void *take_zero(gt_pages *pool, size_t bytes)
{
    gt_error error;
    void *block = gt_pages_alloc(pool, (gt_pages_request){.bytes = bytes, .zero = true}, &error);
    assert_non_null(block);
    return block;
}

/* All blocks that are not cold go to the file as well. */
static gt_pages *new_pool_in_file(uint64_t bytes)
{
    gt_pages *pool = gt_pages_new();
    gt_pages_limit(pool, &(gt_pages_limits){.bytes = bytes, .added = true, .folder = folder});
    return pool;
}

/* ---- random use compared with a model: every block is filled with its own number ---- */

typedef struct model_block {
    uint32_t *cells;
    size_t count;
    uint32_t value;
} model_block;

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

static void fill(model_block *b, size_t from)
{
    for (size_t i = from; i < b->count; i++) b->cells[i] = b->value + (uint32_t)i;
}

static void check(const model_block *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (b->cells[i] != b->value + (uint32_t)i) fail_msg("cell %zu of a block changed", i);
}

static void use_at_random(gt_pages *pool, uint32_t seed, unsigned steps)
{
    model_block blocks[24] = {0};
    for (unsigned step = 0; step < steps; step++) {
        model_block *b = &blocks[next_random(&seed) % 24];
        size_t count = (64 * KIB + next_random(&seed) % (3 * MIB)) / sizeof *b->cells;
        if (!b->cells) {
            bool zero = next_random(&seed) % 2;
            *b = (model_block){zero ? take_zero(pool, count * 4) : take(pool, count * 4), count, step << 20};
            assert_int_equal((uintptr_t)b->cells % 16, 0);
            for (size_t i = 0; zero && i < count; i++) assert_int_equal(b->cells[i], 0);
            fill(b, 0);
        } else if (next_random(&seed) % 2) {
            check(b, b->count);
            gt_pages_free(b->cells);
            *b = (model_block){0};
        } else {
            gt_error error;
            size_t before = b->count;
            b->cells = gt_pages_resize(b->cells, count * 4, &error);
            assert_non_null(b->cells);
            assert_true(gt_pages_size(b->cells) >= count * 4);
            b->count = count;
            check(b, before < count ? before : count);
            fill(b, before < count ? before : count);
        }
    }
    for (size_t i = 0; i < 24; i++) {
        if (!blocks[i].cells) continue;
        check(&blocks[i], blocks[i].count);
        gt_pages_free(blocks[i].cells);
    }
}

static void blocks_keep_their_bytes(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 5; seed++) {
        gt_pages *pool = gt_pages_new();
        use_at_random(pool, seed, 300);
        gt_pages_counts counts = gt_pages_count(pool);
        assert_int_equal(counts.used, 0);
        assert_int_equal(counts.file_bytes, 0);
        gt_pages_destroy(pool);
    }
}

static void blocks_in_the_file_keep_their_bytes(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 3; seed++) {
        gt_pages *pool = new_pool_in_file(seed * 4 * MIB); /* of about 40 MiB */
        use_at_random(pool, seed, 200);
        gt_pages_counts counts = gt_pages_count(pool);
        assert_int_equal(counts.used, 0);
        assert_int_equal(counts.in_file, 0);
        assert_true(counts.file_bytes > 0);
        assert_true(counts.dropped > 0);
        gt_pages_destroy(pool);
    }
}

typedef struct shared_pool {
    gt_pages *pool;
} shared_pool;

static void use_in_thread(void *context, size_t index)
{
    use_at_random(((shared_pool *)context)->pool, (uint32_t)index + 100, 60);
}

static void use_in_threads(void *context)
{
    gt_parallel_each(8, use_in_thread, context);
}

static void threads_share_a_pool(void **state)
{
    (void)state;
    gt_pages *pools[] = {gt_pages_new(), new_pool_in_file(16 * MIB)};
    for (size_t i = 0; i < GT_LENGTH(pools); i++) {
        shared_pool shared = {pools[i]};
        gt_team_run(8, use_in_threads, &shared);
        assert_int_equal(gt_pages_count(pools[i]).used, 0);
        gt_pages_destroy(pools[i]);
    }
}

/* ---- reuse ---- */

static void freed_pages_are_used_again(void **state)
{
    (void)state;
    gt_pages *pool = gt_pages_new();
    void *stays = take(pool, 4 * MIB);
    for (int i = 0; i < 100; i++) {
        void *a = take(pool, 6 * MIB), *b = take(pool, 1 * MIB);
        gt_pages_free(a);
        gt_pages_free(b);
    }
    gt_pages_counts counts = gt_pages_count(pool);
    assert_in_range(counts.peak, 11 * MIB, 12 * MIB);
    assert_in_range(counts.kept, 7 * MIB, 8 * MIB);
    gt_pages_free(stays);
    gt_pages_destroy(pool);
}

/* Freed pages that do not suit a new block go back before the memory in use would exceed its highest so far.
 */
static void kept_pages_do_not_raise_the_peak(void **state)
{
    (void)state;
    gt_pages *pool = gt_pages_new();
    void *blocks[32];
    for (int i = 0; i < 32; i++) blocks[i] = take(pool, 1 * MIB);
    for (int i = 0; i < 32; i += 2) gt_pages_free(blocks[i]); /* 16 holes */
    size_t peak = gt_pages_count(pool).peak;
    void *large = take(pool, 12 * MIB);
    gt_pages_counts counts = gt_pages_count(pool);
    assert_true(counts.peak <= peak);
    assert_true(counts.used + counts.kept <= peak);
    gt_pages_free(large);
    for (int i = 1; i < 32; i += 2) gt_pages_free(blocks[i]);
    counts = gt_pages_count(pool);
    assert_int_equal(counts.used, 0);
    assert_true(counts.kept <= 8 * MIB); /* and nearly nothing is kept when nothing is in use */
    gt_pages_destroy(pool);
}

/* How many bytes of 16 holes are kept when a block that fits into none of them is allocated. */
static size_t kept_beside_large_block(gt_pages *pool)
{
    void *blocks[32];
    for (int i = 0; i < 32; i++) blocks[i] = take(pool, 1 * MIB);
    for (int i = 0; i < 32; i += 2) gt_pages_free(blocks[i]);
    void *large = take(pool, 12 * MIB);
    size_t kept = gt_pages_count(pool).kept;
    gt_pages_free(large);
    for (int i = 1; i < 32; i += 2) gt_pages_free(blocks[i]);
    gt_pages_destroy(pool);
    return kept;
}

static void many_threads_may_raise_the_peak(void **state)
{
    (void)state;
    assert_in_range(kept_beside_large_block(gt_pages_new()), 0, 5 * MIB);
    gt_pages *pool = gt_pages_new();
    gt_pages_share(pool, true);
    assert_in_range(kept_beside_large_block(pool), 16 * MIB, 17 * MIB);
    pool = gt_pages_new();
    gt_pages_share(pool, true);
    gt_pages_limit(pool, &(gt_pages_limits){.bytes = UINT64_C(1) << 40});
    assert_in_range(kept_beside_large_block(pool), 0, 5 * MIB);
}

/* As much as was in use at once, and half of that where freed pages do not fit. */
static void freed_pages_of_many_threads_stay(void **state)
{
    (void)state;
    gt_pages *pool = gt_pages_new();
    void *blocks[32];
    gt_pages_share(pool, true);
    for (int i = 0; i < 32; i++) blocks[i] = take(pool, 1 * MIB);
    for (int i = 0; i < 32; i++) gt_pages_free(blocks[i]);
    assert_in_range(gt_pages_count(pool).kept, 32 * MIB, 35 * MIB);
    for (size_t size = 1; size < 16; size++) {
        for (int i = 0; i < 2; i++) blocks[i] = take(pool, size * MIB);
        gt_pages_free(blocks[0]);
        void *between = take(pool, size * MIB + 4096);
        gt_pages_free(blocks[1]);
        gt_pages_free(between);
        gt_pages_counts counts = gt_pages_count(pool);
        assert_int_equal(counts.used, 0);
        assert_in_range(counts.kept, 32 * MIB, 3 * 35 * MIB / 2); /* at most half more than was in use */
    }
    gt_pages_destroy(pool);
}

static void blocks_of_malloc_are_told_apart(void **state)
{
    (void)state;
    gt_pages *pool = gt_pages_new();
    void *mine = take(pool, MIB), *other = aligned_alloc(4096, 8192);
    assert_true(gt_pages_owns(mine));
    assert_false(gt_pages_owns((char *)mine + 256));
    assert_false(gt_pages_owns(other));
    assert_false(gt_pages_owns(NULL));
    gt_pages_free(mine);
    assert_false(gt_pages_owns(mine));
    free(other);
    gt_pages_destroy(pool);
}

/* ---- limits ---- */

static void blocks_stay_in_memory_below_the_limit(void **state)
{
    (void)state;
    gt_pages *pool = new_pool_in_file((uint64_t)1024 * MIB);
    void *blocks[8];
    for (int i = 0; i < 8; i++) blocks[i] = take(pool, 8 * MIB);
    assert_int_equal(gt_pages_count(pool).file_bytes, 0);
    for (int i = 0; i < 8; i++) gt_pages_free(blocks[i]);
    gt_pages_destroy(pool);
}

static void cold_blocks_leave_memory_first(void **state)
{
    (void)state;
    gt_pages *pool = new_pool_in_file(64 * MIB);
    gt_error error;
    void *first = take(pool, 17 * MIB);
    void *cold = gt_pages_alloc(pool, (gt_pages_request){.bytes = MIB, .cold = true}, &error);
    assert_in_range(gt_pages_count(pool).in_file, MIB, 2 * MIB);
    void *hot = take(pool, MIB);
    assert_in_range(gt_pages_count(pool).in_file, MIB, 2 * MIB);
    gt_pages_free(first);
    gt_pages_free(cold);
    gt_pages_free(hot);
    gt_pages_destroy(pool);
}

/* All blocks are in the file, also small ones, and are dropped when asked. Freed pages are used again. */
static void blocks_outside_are_all_in_the_file(void **state)
{
    (void)state;
    enum { CELLS = (4 * MIB - 32 * KIB) / 4 }; /* blocks begin at different offsets in their first page */
    uint64_t before, filled, now, ignored;
    gt_pages *pool = gt_pages_new();
    gt_pages_limit(pool, &(gt_pages_limits){.bytes = (uint64_t)1 << 40, .outside = true, .folder = folder});
    if (!gt_resident_memory(&ignored, &before)) skip();
    uint32_t *large = take(pool, CELLS * sizeof *large), *small = take(pool, 100);
    assert_int_equal(gt_pages_count(pool).used, 0);
    assert_in_range(gt_pages_count(pool).in_file, 4 * MIB, 5 * MIB);
    for (uint32_t i = 0; i < CELLS; i++) large[i] = i;
    *small = 7;
    gt_resident_memory(&ignored, &filled);
    gt_pages_drop(pool);
    gt_resident_memory(&ignored, &now);
    assert_true(filled > before + 3 * MIB && now < before + MIB);
    for (uint32_t i = 0, cell; i < CELLS; i += 1000) {
        assert_true(gt_pages_read(pool, &cell, &large[i], sizeof cell));
        assert_int_equal(cell, i);
    }
    gt_resident_memory(&ignored, &now);
    assert_true(now < before + MIB); /* reading makes nothing resident */
    assert_true(gt_pages_is_in_file(pool, &large[CELLS - 1]) && !gt_pages_is_in_file(pool, &before));
    assert_false(gt_pages_read(pool, &ignored, &before, sizeof before));
    for (uint32_t i = 0; i < CELLS; i++) assert_int_equal(large[i], i);
    assert_int_equal(*small, 7);
    size_t bytes = gt_pages_count(pool).file_bytes;
    gt_pages_free(large);
    large = take_zero(pool, CELLS * sizeof *large);
    for (uint32_t i = 0; i < CELLS; i++) assert_int_equal(large[i], 0);
    assert_int_equal(gt_pages_count(pool).file_bytes, bytes);
    gt_pages_free(large);
    gt_pages_free(small);
    gt_pages_destroy(pool);
}

static void pause_briefly(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

/* Also while nothing is allocated, and the bytes are still there afterwards. */
static void resident_memory_is_kept_below_the_limit(void **state)
{
    (void)state;
    enum { CELLS = 192 * MIB / 4 };
    uint64_t before, now, ignored;
    if (!gt_resident_memory(&ignored, &before)) skip();
    gt_pages *pool = new_pool_in_file(32 * MIB);
    uint32_t *cells = take(pool, CELLS * sizeof *cells);
    for (uint32_t i = 0; i < CELLS; i++) cells[i] = i * 7;
    do pause_briefly();
    while (gt_resident_memory(&ignored, &now) && now > before + 32 * MIB);
    for (uint32_t i = 0; i < CELLS; i++)
        if (cells[i] != i * 7) fail_msg("cell %u changed", i);
    assert_true(gt_pages_count(pool).dropped > 100 * MIB);
    gt_pages_free(cells);
    gt_pages_destroy(pool);
}

static void the_file_has_no_name(void **state)
{
    (void)state;
    gt_pages *pool = new_pool_in_file(MIB);
    void *block = take(pool, 8 * MIB);
    assert_in_range(gt_pages_count(pool).file_bytes, 8 * MIB, 9 * MIB);
    DIR *dir = opendir(folder);
    size_t names = 0;
    while (readdir(dir)) names++;
    closedir(dir);
    assert_int_equal(names, 2); /* . and .. */
    gt_pages_free(block);
    gt_pages_destroy(pool);
}

static gt_pages_limits limits_of(const char *where, bool promised)
{
    return (gt_pages_limits){.bytes = MIB, .added = true, .promised = promised, .folder = where};
}

static void a_missing_folder_is_an_error_if_the_limit_was_asked_for(void **state)
{
    (void)state;
    gt_pages *pool = gt_pages_new();
    gt_pages_limits limits = limits_of("/nonexistent/folder", true);
    gt_pages_limit(pool, &limits);
    gt_error error;
    assert_null(gt_pages_alloc(pool, (gt_pages_request){.bytes = 4 * MIB}, &error));
    assert_string_equal(error.text,
                        "/nonexistent/folder: cannot write 4 MiB of temporary data: No such file or "
                        "directory; set TMPDIR to another folder, or raise max_memory");
    limits = limits_of("/nonexistent/folder", false);
    gt_pages_limit(pool, &limits);
    gt_pages_free(take(pool, 4 * MIB));
    gt_pages_destroy(pool);
}

/* In a child, because of its limits. */
static void a_full_disk_is_an_error(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct rlimit small = {.rlim_cur = 10 * MIB, .rlim_max = RLIM_INFINITY};
        signal(SIGXFSZ, SIG_DFL);
        setrlimit(RLIMIT_FSIZE, &small);
        gt_pages *pool = gt_pages_new();
        gt_pages_limits limits = limits_of(folder, true);
        gt_pages_limit(pool, &limits);
        gt_error error;
        char *first = gt_pages_alloc(pool, (gt_pages_request){.bytes = 8 * MIB}, &error);
        if (!first) _exit(1);
        memset(first, 1, 8 * MIB);
        if (gt_pages_alloc(pool, (gt_pages_request){.bytes = 8 * MIB}, &error)) _exit(2);
        if (!strstr(error.text, ": cannot write 16 MiB of temporary data: File too large; set TMPDIR"))
            _exit(3);
        for (int i = 0; i < 8 * MIB; i++)
            if (first[i] != 1) _exit(4);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

static void a_limit_that_cannot_be_kept_is_an_error(void **state)
{
    (void)state;
    gt_pages *pool = gt_pages_new();
    gt_pages_limits limits = {.bytes = 8 * MIB, .added = true, .promised = true, .folder = folder};
    gt_pages_limit(pool, &limits);
    char *small[64]; /* malloc's, so that they cannot leave memory */
    for (int i = 0; i < 64; i++) small[i] = memset(malloc(200 * KIB), 1, 200 * KIB);
    gt_error error;
    assert_null(gt_pages_alloc(pool, (gt_pages_request){.bytes = 2 * MIB}, &error));
    assert_non_null(strstr(error.text, "max_memory: 8 MiB are too few: 1"));
    for (int i = 0; i < 64; i++) free(small[i]);
    assert_int_equal(gt_pages_count(pool).in_file, 0);
    gt_pages_destroy(pool);
}

/* ---- through gt_alloc, in a guarded call ---- */

static void grow_and_fail(void *context)
{
    size_t *files = context;
    gt_pages_limits limits = {.bytes = 2 * MIB, .added = true, .folder = folder, .smallest = 4 * KIB};
    if (files) gt_memory_set_limit(&limits);
    uint32_t *cells = NULL;
    size_t count = 0, capacity = 0;
    for (uint32_t i = 0; i < 2 * MIB; i++) {
        if (i % 4096 == 0) gt_free(memset(gt_alloc(300 * KIB), 1, 300 * KIB));
        GT_PUSH(cells, count, capacity, i);
    }
    for (uint32_t i = 0; i < count; i++) assert_int_equal(cells[i], i);
    cells = gt_realloc(cells, 1000);
    for (uint32_t i = 0; i < 250; i++) assert_int_equal(cells[i], i);
    gt_slabs slabs = {0};
    gt_slab *one, *two;
    memset(gt_slabs_alloc(&slabs, 20000, &one), 1, 20000);
    uint8_t *bytes = memset(gt_slabs_alloc(&slabs, 2 * MIB, &two), 2, 2 * MIB);
    gt_slab_release(one);
    gt_slabs_close(&slabs);
    for (size_t i = 0; i < 2 * MIB; i++) assert_int_equal(bytes[i], 2);
    uint64_t *zeros = gt_alloc_zero(MIB, sizeof *zeros);
    for (size_t i = 0; i < MIB; i++) assert_int_equal(zeros[i], 0);
    gt_raise("enough");
}

static void a_failed_call_frees_its_large_blocks(void **state)
{
    (void)state;
    size_t with_limit = 1;
    gt_heap *heap = gt_heap_new();
    for (int i = 0; i < 4; i++) {
        gt_error error;
        assert_false(gt_guard_run(&(gt_guard_options){.heap = heap}, grow_and_fail,
                                  i % 2 ? &with_limit : NULL, &error));
        assert_string_equal(error.text, "enough");
        assert_int_equal(gt_heap_count(heap), 0);
    }
    gt_heap_free(heap);
}

static void fill_slabs(void *context)
{
    bool in_file = *(bool *)context;
    gt_pages_limits limits = {.bytes = MIB, .added = true, .folder = folder, .smallest = 4 * KIB};
    if (in_file) gt_memory_set_limit(&limits);
    gt_slabs slabs = {0};
    gt_slab *small, *middle, *large;
    memset(gt_slabs_alloc(&slabs, 60000, &small), 1, 60000);
    memset(gt_slabs_alloc(&slabs, 200000, &middle), 2, 200000);
    uint8_t *bytes = memset(gt_slabs_alloc(&slabs, 300000, &large), 3, 300000); /* of a slab of 1 MiB */
    gt_slabs_close(&slabs);
    assert_true(gt_pages_owns(bytes));
    assert_in_range(gt_pages_size(bytes), 300000, 384 * KIB);
    void *other = memset(gt_alloc(MIB), 4, MIB);
    for (size_t i = 0; i < 300000; i++) assert_int_equal(bytes[i], 3);
    gt_free(other);
    gt_slab_release(small);
    gt_slab_release(middle);
    gt_slab_release(large);
}

static void a_closed_slab_has_no_spare_pages(void **state)
{
    (void)state;
    gt_heap *heap = gt_heap_new();
    for (int i = GT_ADDRESS_SANITIZER; i < 2; i++) { /* which has no large blocks without a limit */
        gt_error error;
        bool in_file = i;
        assert_true(gt_guard_run(&(gt_guard_options){.heap = heap}, fill_slabs, &in_file, &error));
        assert_int_equal(gt_heap_count(heap), 0);
    }
    gt_heap_free(heap);
}

static uint64_t resident(void)
{
    uint64_t ignored, all = 0;
    gt_resident_memory(&ignored, &all);
    return all;
}

/* The last test, because large blocks of this program are pages from now on. */
static void what_a_step_freed_is_returned_at_the_next_one(void **state)
{
    (void)state;
    if (GT_ADDRESS_SANITIZER || !resident() || !gt_memory_use_pages()) skip();
    void *used = memset(gt_alloc(4 * MIB), 1, 4 * MIB);
    gt_free(memset(gt_alloc(4 * MIB), 2, 4 * MIB));
    uint64_t kept = resident();
    gt_memory_next_step(); /* of a program that has no steps */
    assert_in_range(resident(), kept - MIB, kept + MIB);
    gt_memory_in_steps(true);
    gt_memory_next_step();
    gt_memory_in_steps(false);
    assert_in_range(resident(), 1, kept - 4 * MIB);
    for (size_t i = 0; i < 4 * MIB; i += KIB) assert_int_equal(((char *)used)[i], 1);
    gt_free(used);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_keep_their_bytes),
        cmocka_unit_test(blocks_in_the_file_keep_their_bytes),
        cmocka_unit_test(threads_share_a_pool),
        cmocka_unit_test(freed_pages_are_used_again),
        cmocka_unit_test(kept_pages_do_not_raise_the_peak),
        cmocka_unit_test(many_threads_may_raise_the_peak),
        cmocka_unit_test(freed_pages_of_many_threads_stay),
        cmocka_unit_test(blocks_of_malloc_are_told_apart),
        cmocka_unit_test(blocks_stay_in_memory_below_the_limit),
        cmocka_unit_test(cold_blocks_leave_memory_first),
        cmocka_unit_test(blocks_outside_are_all_in_the_file),
        cmocka_unit_test(resident_memory_is_kept_below_the_limit),
        cmocka_unit_test(the_file_has_no_name),
        cmocka_unit_test(a_missing_folder_is_an_error_if_the_limit_was_asked_for),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(a_limit_that_cannot_be_kept_is_an_error),
        cmocka_unit_test(a_failed_call_frees_its_large_blocks),
        cmocka_unit_test(a_closed_slab_has_no_spare_pages),
        cmocka_unit_test(what_a_step_freed_is_returned_at_the_next_one),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
