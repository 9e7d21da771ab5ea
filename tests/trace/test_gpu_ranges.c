/* Busy times and first events of ranges of GPU events. The expected values come from going through each
 * range: gt_busy_time, and a search for the first start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/memory.h"
#include "trace/pytorch/gpu_ranges.h"

enum { EVENTS = 400, RANGES = 600 };

static double starts[EVENTS], durations[EVENTS];
static uint8_t integral[EVENTS];
static uint32_t rows[EVENTS], order[EVENTS];
static uint64_t seed;

static uint32_t next_random(uint32_t bound)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % bound;
}

/* Events with times that are multiples of 1/8, `spread` eighths apart on average; the list is in another
 * order than the rows. */
static gt_event_view make_events(double first, uint32_t spread, uint32_t longest)
{
    for (uint32_t i = 0; i < EVENTS; i++) {
        starts[i] = first + next_random(EVENTS * spread) / 8.0;
        durations[i] = next_random(longest) / 8.0;
        integral[i] = next_random(50) ? GT_INTEGRAL_START | GT_INTEGRAL_DURATION : GT_INTEGRAL_START;
        rows[i] = order[i] = i;
    }
    for (uint32_t i = EVENTS - 1; i > 0; i--) {
        uint32_t other = next_random(i + 1), row = rows[i];
        rows[i] = rows[other];
        rows[other] = row;
    }
    return (gt_event_view){.count = EVENTS, .start_us = starts, .dur_us = durations, .integral = integral};
}

static void make_ranges(gt_gpu_range *ranges)
{
    for (size_t i = 0; i < RANGES; i++) {
        uint32_t begin = next_random(EVENTS + 1);
        ranges[i] = (gt_gpu_range){begin, begin + next_random(EVENTS + 1 - begin)};
    }
    ranges[0] = (gt_gpu_range){0, EVENTS};
    ranges[1] = (gt_gpu_range){EVENTS, EVENTS};
}

static void check_busy(gt_event_view view)
{
    gt_gpu_rows list = {&view, rows, order, EVENTS};
    gt_gpu_range ranges[RANGES];
    gt_busy busy[RANGES];
    gt_intervals spare = {0};
    make_ranges(ranges);
    gt_gpu_ranges_busy(&list, ranges, RANGES, busy);
    for (size_t i = 0; i < RANGES; i++) {
        gt_busy expected =
            gt_busy_time(&view, rows + ranges[i].begin, ranges[i].end - ranges[i].begin, &spare);
        assert_true(busy[i].us == expected.us);
        assert_int_equal(busy[i].integral, expected.integral);
    }
    gt_intervals_free(&spare);
}

static void test_busy(void **state)
{
    (void)state;
    static const uint32_t spreads[] = {1, 8, 50, 1000}, longest[] = {2, 20, 300, 5000};
    for (seed = 1; seed < 40; seed++) {
        uint64_t kept = seed;
        check_busy(make_events(seed % 2 ? 0 : 1723456789000000.0, spreads[seed % 4], longest[seed / 4 % 4]));
        seed = kept;
    }
}

/* An endless event and one that ends before it starts must not lead astray; the others still count. */
static void test_strange_times(void **state)
{
    (void)state;
    seed = 7;
    gt_event_view view = make_events(100, 10, 40);
    durations[rows[0]] = INFINITY;
    durations[rows[1]] = -50;
    gt_gpu_rows list = {&view, rows, order, EVENTS};
    gt_gpu_range ranges[] = {{0, EVENTS}, {1, 2}, {2, 2}};
    gt_busy busy[3];
    gt_gpu_ranges_busy(&list, ranges, 3, busy);
    assert_true(busy[0].us > 1e290);
    assert_true(busy[1].us == 0 && busy[2].us == 0);
    assert_true(busy[2].integral);
}

static void test_empty_list(void **state)
{
    (void)state;
    gt_event_view view = {0};
    gt_gpu_rows list = {.trace = &view};
    gt_gpu_range range = {0, 0};
    gt_busy busy;
    uint32_t first;
    gt_gpu_ranges_busy(&list, &range, 1, &busy);
    gt_gpu_ranges_first(&list, NULL, &range, 1, &first);
    assert_true(busy.us == 0 && busy.integral);
    assert_int_equal(first, GT_NO_EVENT);
}

/* Of events that start at the same time, the one that comes first in `order`. */
static uint32_t first_of(const uint8_t *wanted, gt_gpu_range range)
{
    uint32_t best = GT_NO_EVENT;
    for (uint32_t i = range.begin; i < range.end; i++) {
        if (wanted && !wanted[i]) continue;
        if (best == GT_NO_EVENT || starts[rows[i]] < starts[rows[best]] ||
            (starts[rows[i]] == starts[rows[best]] && order[i] < order[best]))
            best = i;
    }
    return best == GT_NO_EVENT ? best : rows[best];
}

static void test_first(void **state)
{
    (void)state;
    seed = 3;
    gt_event_view view = make_events(0, 1, 20);
    uint8_t wanted[EVENTS];
    gt_gpu_range ranges[RANGES];
    uint32_t first[RANGES];
    for (uint32_t i = 0; i < EVENTS; i++) {
        wanted[i] = next_random(10) == 0;
        order[i] = EVENTS - i;
    }
    gt_gpu_rows list = {&view, rows, order, EVENTS};
    make_ranges(ranges);
    gt_gpu_ranges_first(&list, NULL, ranges, RANGES, first);
    for (size_t i = 0; i < RANGES; i++) assert_int_equal(first[i], first_of(NULL, ranges[i]));
    gt_gpu_ranges_first(&list, wanted, ranges, RANGES, first);
    for (size_t i = 0; i < RANGES; i++) assert_int_equal(first[i], first_of(wanted, ranges[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_strange_times),
        cmocka_unit_test(test_empty_list),
        cmocka_unit_test(test_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
