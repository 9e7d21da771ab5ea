/* Sorting rows by time, compared with qsort, for any size of the ranges and any number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/team.h"
#include "trace/rows.h"

#include <math.h>
#include <stdlib.h>

static const unsigned thread_counts[] = {1, 2, 3, 8, 16};

static uint64_t seed;

static uint32_t random_below(uint32_t limit)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % limit);
}

static int by_start(const void *left, const void *right, void *times)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    double x = ((const double *)times)[a], y = ((const double *)times)[b];
    if (isnan(x) != isnan(y)) return isnan(x) ? -1 : 1;
    if (x < y || x > y) return x < y ? -1 : 1;
    return (a > b) - (a < b);
}

typedef struct order_call {
    uint32_t *rows;
    size_t count, grain;
    const double *times;
} order_call;

static void order(void *context)
{
    order_call *call = context;
    gt_order_rows_by_ranges(call->rows, call->count, call->times, call->grain);
}

/* The sort is stable, and NaN comes first. */
static void rows_are_ordered_as_by_qsort(void **unused)
{
    (void)unused;
    static const size_t grains[] = {1, 2, 5, 64, 5000};
    seed = 3;
    for (int round = 0; round < 300; round++) {
        size_t count = random_below(round % 10 ? 100 : 3000);
        uint32_t spread = round % 3 == 0 ? 1 : round % 3 == 1 ? 40 : 1000000; /* sorted, nearly, random */
        uint32_t *rows = gt_alloc(count * sizeof *rows), *expected = gt_alloc(count * sizeof *expected);
        double *times = gt_alloc(count * sizeof *times);
        for (uint32_t i = 0; i < count; i++) {
            times[i] = random_below(50) || spread == 1 ? i / 2 + random_below(spread) : (double)NAN;
            expected[i] = i;
        }
        qsort_r(expected, count, sizeof *expected, by_start, times);
        for (size_t g = 0; g < GT_LENGTH(grains); g++) {
            for (uint32_t i = 0; i < count; i++) rows[i] = i;
            order_call call = {rows, count, grains[g], times};
            gt_team_run(thread_counts[round % (int)GT_LENGTH(thread_counts)], order, &call);
            assert_memory_equal(rows, expected, count * sizeof *rows);
        }
        gt_free(rows);
        gt_free(expected);
        gt_free(times);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_ordered_as_by_qsort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
