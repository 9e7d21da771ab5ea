/* Sizes as users type them, and the limits of control groups. */
#include "base/memory_limit.h"
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
    gt_pages_limits none = {0}, small = gt_memory_limits(GT_MEMORY_MIN),
                    large = gt_memory_limits((uint64_t)2 << 30);
    assert_int_equal(gt_memory_threads(&none, 64), 64);
    assert_int_equal(gt_memory_threads(&small, 64), 2);
    assert_int_equal(gt_memory_threads(&small, 1), 1);
    assert_int_equal(gt_memory_threads(&large, 64), 64);
    assert_true(small.promised);
    assert_false(gt_memory_limits(0).promised);
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
    };
    return cmocka_run_group_tests(tests, make_folder, NULL);
}
