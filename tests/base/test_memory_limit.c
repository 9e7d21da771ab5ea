/* Sizes as users type them, and the limits of control groups. */
#include "base/memory_limit.h"
#include "base/guard.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes; /* 0: invalid */
    } cases[] = {
        {"1", 1},
        {"33554432", 33554432},
        {"32M", 33554432},
        {"32m", 33554432},
        {"32MiB", 33554432},
        {"32MB", 32000000},
        {"32 MB", 32000000},
        {"2G", 2147483648},
        {"1.5g", 1610612736},
        {"10k", 10240},
        {"10KB", 10000},
        {"1T", 1099511627776},
        {"100B", 100},
        {"", 0},
        {"0", 0},
        {"M", 0},
        {".5G", 0},
        {"-1", 0},
        {"+1", 0},
        {"1e3", 0},
        {"1..5", 0},
        {"5X", 0},
        {"5MX", 0},
        {"5Mi", 0},
        {"0x10", 0},
        {"nan", 0},
        {"inf", 0},
        {"9000000000T", 0},
        {"1111111111111111111111111111111111111111111", 0},
    };
    for (size_t i = 0; i < GT_LENGTH(cases); i++) {
        uint64_t bytes = 0;
        bool valid = gt_memory_parse(cases[i].text, &bytes);
        if (valid != (cases[i].bytes != 0) || bytes != cases[i].bytes)
            fail_msg("'%s' gives %d, %llu", cases[i].text, valid, (unsigned long long)bytes);
    }
}

static char folder[] = "/tmp/gputally-groups-XXXXXX";

static void write_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static uint64_t limit_with(const char *list)
{
    char path[256];
    write_file("list", list);
    snprintf(path, sizeof path, "%s/list", folder);
    return gt_memory_of_groups(path, folder);
}

static void limits_of_groups(void **state)
{
    (void)state;
    write_file("a/memory.max", "max\n");
    write_file("a/b/memory.max", "300000000\n");
    write_file("a/b/c/memory.max", "400000000\n");
    write_file("d/memory.max", "max\n");
    write_file("memory/memory.limit_in_bytes", "9223372036854771712\n");
    write_file("memory/e/memory.limit_in_bytes", "500000000\n");
    assert_int_equal(limit_with("0::/a/b/c\n"), 300000000); /* that of the group around it is less */
    assert_int_equal(limit_with("0::/a/b\n"), 300000000);
    assert_int_equal(limit_with("0::/a\n"), 0);
    assert_int_equal(limit_with("0::/d\n"), 0);
    assert_int_equal(limit_with("0::/\n"), 0);
    assert_int_equal(limit_with("0::/missing\n"), 0);
    assert_int_equal(limit_with("4:memory:/e\n3:cpu,cpuacct:/a/b\n0::/\n"), 500000000);
    assert_int_equal(limit_with("4:memory:/e/inside\n0::/a/b\n"), 300000000);
    assert_int_equal(limit_with("4:memory:/\n"), 0);
    assert_int_equal(limit_with("nothing\n\n:\n"), 0);
    write_file("memory.max", "200000000\n"); /* of a container, whose path is that outside of it */
    assert_int_equal(limit_with("0::/outside/of/it\n"), 200000000);
    assert_int_equal(gt_memory_of_groups("/nonexistent", folder), 0);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void threads_fit_into_memory(void **state)
{
    (void)state;
    gt_memory_bound none = {0}, small = gt_memory_bound_find(GT_MEMORY_MIN),
                    large = gt_memory_bound_find((uint64_t)2 << 30);
    assert_int_equal(gt_memory_threads(none, 64), 64);
    assert_int_equal(gt_memory_threads(small, 64), 2);
    assert_int_equal(gt_memory_threads(small, 1), 1);
    assert_int_equal(gt_memory_threads(large, 64), 64);
    assert_int_equal(small.bytes, GT_MEMORY_MIN);
    assert_string_equal(small.name, "max_memory");
}

/* ---- keeping a limit, in guarded calls ---- */

enum { KIB = 1024, LIMIT = 1024 * KIB };

static void keep_blocks(void *context)
{
    size_t *count = context;
    gt_memory_set_limit(LIMIT, "max_memory");
    for (*count = 0; *count < 1000; ++*count) gt_alloc(100 * KIB);
}

static void free_blocks(void *context)
{
    (void)context;
    gt_memory_set_limit(LIMIT, "max_memory");
    for (int i = 0; i < 100; i++) {
        void *block = gt_alloc_zero(3, 100 * KIB);
        block = gt_realloc(block, 10 * KIB);
        block = gt_realloc(block, 700 * KIB);
        gt_free(block);
    }
}

/* Each time it grows, only the difference counts; what does not fit leaves the block as it was. */
static void grow_a_block(void *context)
{
    size_t *bytes = context;
    gt_memory_set_limit(LIMIT, "max_memory");
    char *block = NULL;
    for (*bytes = 100 * KIB;; *bytes += 100 * KIB) {
        block = gt_realloc(block, *bytes);
        block[*bytes - 1] = 1;
    }
}

static void one_block(void *context)
{
    (void)context;
    gt_memory_set_limit(LIMIT, "max_memory");
    gt_alloc_zero(SIZE_MAX / 4, 2);
}

static void a_call_ends_at_its_limit(void **state)
{
    (void)state;
    gt_heap *heap = gt_heap_new();
    const gt_guard_options options = {.heap = heap};
    gt_error error;
    size_t count;
    for (int i = 0; i < 3; i++) { /* what a failed call has freed does not count in the next one */
        assert_false(gt_guard_run(&options, keep_blocks, &count, &error));
        assert_string_equal(error.text,
                            "max_memory: 1 MiB are too few; raise the limit, or use fewer threads "
                            "(--threads), an index (--index) or a part of the trace (gputally "
                            "split)");
        assert_int_equal(count, 10);
        assert_int_equal(gt_heap_count(heap), 0);
        assert_true(gt_guard_run(&options, free_blocks, NULL, &error));
        assert_false(gt_guard_run(&options, grow_a_block, &count, &error));
        assert_int_equal(count, 1100 * KIB);
        assert_int_equal(gt_heap_count(heap), 0);
        assert_false(gt_guard_run(&options, one_block, NULL, &error));
        assert_non_null(strstr(error.text, "max_memory: 1 MiB are too few"));
    }
    gt_heap_free(heap);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(limits_of_groups),
        cmocka_unit_test(threads_fit_into_memory),
        cmocka_unit_test(a_call_ends_at_its_limit),
    };
    return cmocka_run_group_tests(tests, make_folder, NULL);
}
