/* The text of the progress line, and the default number of threads. Expected lines are computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/progress.h"
#include "base/threads.h"

#include <sched.h>

static void check(const char *expected, size_t width, uint64_t bytes, uint64_t total, uint64_t events,
                  double seconds)
{
    char text[256];
    gt_progress_text(text, sizeof text, width, "reading t.json", bytes, total, events, seconds);
    assert_string_equal(text, expected);
}

static void says_bytes_events_rate_and_time_left(void **state)
{
    (void)state;
    /* 250 MB of 1 GB in 2 s: 125 MB/s, 750 MB left take 6 s */
    check("reading t.json: 250 MB of 1.00 GB, 1,234,567 events, 125 MB/s, 6 s left", 200, 250000000,
          1000000000, 1234567, 2);
}

static void omits_what_is_unknown(void **state)
{
    (void)state;
    check("reading t.json: 12.3 MB, 6.15 MB/s", 200, 12300000, 0, 0, 2);
    check("reading t.json: 0 B of 500 B", 200, 0, 500, 0, 2);
    check("reading t.json: 500 B of 500 B, 1 events, 250 B/s", 200, 500, 500, 1, 2);
}

static void long_times_are_shown_in_minutes_and_hours(void **state)
{
    (void)state;
    check("reading t.json: 1.00 GB of 126 GB, 1.00 GB/s, 2 min 05 s left", 200, 1000000000, 126000000000, 0,
          1);
    check("reading t.json: 1.00 GB of 10.0 TB, 1.00 GB/s, 2 h 46 min left", 200, 1000000000, 9999000000000, 0,
          1);
}

static void is_truncated_to_the_terminal_width(void **state)
{
    (void)state;
    check("reading t.json: 250 MB", 22, 250000000, 1000000000, 5, 2);
    char text[256];
    gt_progress_text(text, sizeof text, 4, "\xc2\xb5\xc2\xb5\xc2\xb5\xc2\xb5\xc2\xb5", 0, 0, 0, 0);
    assert_string_equal(text, "\xc2\xb5\xc2\xb5\xc2\xb5\xc2\xb5"); /* four characters, not four bytes */
}

static void works_without_a_terminal(void **state)
{
    (void)state;
    gt_progress_end();
    gt_progress_begin("reading", 10);
    gt_progress_add(10, 1);
    gt_progress_begin("writing", 10);
    gt_progress_end();
    gt_progress_end();
}

static void cpu_affinity_limits_the_default(void **state)
{
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    assert_in_range(gt_threads_default(), 1, CPU_COUNT(&all));
    int first = 0;
    while (!CPU_ISSET(first, &all)) first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(gt_threads_default(), 1);
    sched_setaffinity(0, sizeof all, &all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_bytes_events_rate_and_time_left),
        cmocka_unit_test(omits_what_is_unknown),
        cmocka_unit_test(long_times_are_shown_in_minutes_and_hours),
        cmocka_unit_test(is_truncated_to_the_terminal_width),
        cmocka_unit_test(works_without_a_terminal),
        cmocka_unit_test(cpu_affinity_limits_the_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
