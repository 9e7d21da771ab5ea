/* The part of cmocka that the reader's tests use, for machines whose own cmocka cannot be linked:
 * cross-compiled tests (tests/x86_64/run). A failed assertion ends its test, as in cmocka. */
#ifndef GT_TESTS_CROSS_CMOCKA_H
#define GT_TESTS_CROSS_CMOCKA_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
} CMUnitTest;

static jmp_buf cross_end_of_test;

#define cmocka_unit_test(function)                                                                           \
    {                                                                                                        \
#function, function                                                                                  \
    }
#define cmocka_run_group_tests(tests, setup, teardown)                                                       \
    cross_run(tests, sizeof(tests) / sizeof *(tests), (void *)(setup), (void *)(teardown))

#define fail_msg(...)                                                                                        \
    do {                                                                                                     \
        printf("%s:%d: ", __FILE__, __LINE__);                                                               \
        printf(__VA_ARGS__);                                                                                 \
        putchar('\n');                                                                                       \
        longjmp(cross_end_of_test, 1);                                                                       \
    } while (0)
#define fail()                 fail_msg("failed")
#define print_error(...)       printf(__VA_ARGS__)
#define print_message(...)     printf(__VA_ARGS__)
#define cross_check(condition) ((condition) ? (void)0 : cross_fail(__FILE__, __LINE__, #condition))

#define assert_true(c)             cross_check(c)
#define assert_false(c)            cross_check(!(c))
#define assert_null(p)             cross_check((p) == NULL)
#define assert_non_null(p)         cross_check((p) != NULL)
#define assert_ptr_equal(a, b)     cross_check((const void *)(a) == (const void *)(b))
#define assert_int_equal(a, b)     cross_check((uintmax_t)(a) == (uintmax_t)(b))
#define assert_int_not_equal(a, b) cross_check((uintmax_t)(a) != (uintmax_t)(b))
#define assert_in_range(v, low, high)                                                                        \
    cross_check((uintmax_t)(v) >= (uintmax_t)(low) && (uintmax_t)(v) <= (uintmax_t)(high))
#define assert_string_equal(a, b)      cross_check(strcmp(a, b) == 0)
#define assert_memory_equal(a, b, len) cross_check(memcmp(a, b, len) == 0)

static inline void cross_fail(const char *file, int line, const char *what)
{
    printf("%s:%d: not so: %s\n", file, line, what);
    longjmp(cross_end_of_test, 1);
}

static inline int cross_run(const CMUnitTest *tests, size_t count, void *setup, void *teardown)
{
    volatile int failed = 0;
    if (setup || teardown) return printf("setup and teardown are not in this small cmocka\n"), 1;
    for (volatile size_t i = 0; i < count; i++) {
        void *state = NULL;
        bool ok = setjmp(cross_end_of_test) == 0;
        if (ok) tests[i].run(&state);
        printf("[%s] %s\n", ok ? "       OK " : "  FAILED  ", tests[i].name);
        failed += !ok;
    }
    return failed;
}

#endif
