/* Statistics. Expected digits come from Python: the same formulas written out there, medians from its
 * `statistics` module, whose stdev also agrees with the running one to 9 digits. */
#include "test_table_help.h"
#include "base/memory.h"
#include "table/stats.h"

typedef struct case_of_stats {
    size_t count; /* also the seed of the values */
    double sum, mean, median, std, std_numpy, std_pandas, quantile_25, quantile_95;
} case_of_stats;

/* clang-format off */
static const case_of_stats cases[] = {
    {1, -0x1.4a73b645a1cacp+7, -0x1.4a73b645a1cacp+7, -0x1.4a73b645a1cacp+7, NAN, 0x0.0p+0, NAN, -0x1.4a73b645a1cacp+7, -0x1.4a73b645a1cacp+7},
    {2, 0x1.2e67ced916873p+10, 0x1.2e67ced916873p+9, 0x1.2e67ced916873p+9, 0x1.3f695493572e7p+7, 0x1.c3b74bc6a7efap+6, 0x1.3f695493572e7p+7, 0x1.122c5a1cac083p+9, 0x1.61393a92a3055p+9},
    {7, -0x1.f76fdf3b645a4p+8, -0x1.1fada421f0339p+6, 0x1.4a8e560418937p+7, 0x1.26af623545e12p+9, 0x1.10d34c346aebap+9, 0x1.26af623545e12p+9, -0x1.b8020c49ba5e3p+8, 0x1.221e4f765fd88p+9},
    {8, -0x1.6903020c49ba6p+10, -0x1.6903020c49ba6p+7, -0x1.605e353f7cedap+8, 0x1.3f0acea59887ap+9, 0x1.2a6fc953960c2p+9, 0x1.3f0acea59887ap+9, -0x1.52f8395810625p+9, 0x1.4702ca57a786cp+9},
    {9, 0x1.626b020c49ba6p+10, 0x1.3b09c8ee7a6ccp+7, 0x1.3288b43958106p+7, 0x1.099887ad80e1fp+9, 0x1.f4cff1aeab519p+8, 0x1.099887ad80e1fp+9, -0x1.890b439581062p+6, 0x1.919113404ea4ap+9},
    {127, 0x1.7e24dd2f1aa0bp+7, 0x1.81272b8626ee9p+0, 0x1.032f1a9fbe76dp+4, 0x1.1a680dda4195ep+9, 0x1.194adc88f7458p+9, 0x1.1a680dda4195fp+9, -0x1.c80d0e5604189p+8, 0x1.92aca8c154c98p+9},
    {128, 0x1.0d278d4fdf3c0p+9, 0x1.0d278d4fdf3c0p+2, 0x1.d31a9fbe76c8cp+2, 0x1.35a1bd1b87fa6p+9, 0x1.346b7ff1fa707p+9, 0x1.35a1bd1b87fa6p+9, -0x1.1dca76c8b4395p+9, 0x1.d278d6a161e4fp+9},
    {129, 0x1.1e589374bc694p+8, 0x1.1c2052cf1e2cep+1, -0x1.8e353f7ced917p+3, 0x1.329158ce5a06bp+9, 0x1.3160905659631p+9, 0x1.329158ce5a06cp+9, -0x1.095916872b021p+9, 0x1.c9fa02752545fp+9},
    {136, -0x1.6396b851eb858p+10, -0x1.4eabf8c5925f8p+3, 0x1.a0624dd2f1aa0p+1, 0x1.1c91e5b0165a1p+9, 0x1.1b85929346896p+9, 0x1.1c91e5b0165a2p+9, -0x1.d012b020c49bbp+8, 0x1.cf6b6c8b43958p+9},
    {1000, -0x1.a6178d4fdf3b0p+9, -0x1.b038e29f9ce87p-1, -0x1.6dc8b43958106p+4, 0x1.27b945892e5e7p+9, 0x1.279368d65a48bp+9, 0x1.27b945892e5e9p+9, -0x1.fbe90624dd2f2p+8, 0x1.bf185bc01a36dp+9},
    {4099, -0x1.213d75c28f5c3p+15, -0x1.21074465bc48ep+3, -0x1.36ccccccccccdp+4, 0x1.23875e5c3ee9bp+9, 0x1.237e43b1e0be0p+9, 0x1.23875e5c3ee96p+9, -0x1.02570a3d70a3ep+9, 0x1.be6ecf41f212dp+9},
};
/* clang-format on */

/* Multiples of 1/1000 between -1000 and 1000. */
static double *values_of(size_t count)
{
    double *values = malloc(count * sizeof *values);
    random_state = count;
    for (size_t i = 0; i < count; i++) values[i] = ((int)random_below(2000000) - 1000000) / 1000.0;
    return values;
}

static void expect_double(double value, double expected)
{
    if (isnan(expected) ? !isnan(value) : value != expected) fail_msg("%a is not %a", value, expected);
}

static void expect_case(const case_of_stats *c, const double *values, size_t count)
{
    expect_double(gt_median(values, count), c->median);
    expect_double(gt_std(values, count), c->std);
    expect_double(gt_quantile(values, count, 0.25), c->quantile_25);
    expect_double(gt_quantile(values, count, 0.95), c->quantile_95);
}

static void statistics_have_the_digits_of_the_reference(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const case_of_stats *c = &cases[i];
        double *values = values_of(c->count);
        expect_case(c, values, c->count);
        expect_double(gt_sum_pairwise(values, c->count), c->sum);
        expect_double(gt_mean(values, c->count), c->mean);
        expect_double(gt_std_pairwise(values, c->count, 0), c->std_numpy);
        expect_double(gt_std_pairwise(values, c->count, 1), c->std_pandas);
        free(values);
    }
}

static void missing_values_are_skipped(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t count = cases[i].count;
        double *values = values_of(count), *spread = malloc(2 * count * sizeof *spread);
        for (size_t v = 0; v < count; v++) {
            spread[2 * v] = NAN;
            spread[2 * v + 1] = values[v];
        }
        expect_case(&cases[i], spread, 2 * count);
        free(spread);
        free(values);
    }
    static const double few[] = {1.0, NAN, 3.5};
    expect_double(gt_sum_pairwise(few, 3), 4.5);
    expect_double(gt_mean(few, 3), 2.25);
    expect_double(gt_std_pairwise(few, 3, 0), 1.25);
}

static void an_empty_column_has_sum_0_and_no_mean(void **state)
{
    (void)state;
    static const double missing[] = {NAN, NAN};
    for (size_t count = 0; count <= 2; count += 2) {
        expect_double(gt_sum_pairwise(missing, count), 0.0);
        expect_double(gt_mean(missing, count), NAN);
        expect_double(gt_median(missing, count), NAN);
        expect_double(gt_quantile(missing, count, 0.5), NAN);
        expect_double(gt_std(missing, count), NAN);
        expect_double(gt_std_pairwise(missing, count, 0), NAN);
    }
    int64_t sum = 1;
    assert_true(gt_sum_ints(NULL, 0, &sum));
    assert_int_equal(sum, 0);
}

static void additions_are_in_the_expected_order(void **state)
{
    (void)state;
    static const double values[] = {1e16, 1, 1, 1, 1, 1, 1, -1e16, 1};
    expect_double(gt_sum_pairwise(values, 7), 1e16); /* left to right, each 1 is lost */
    expect_double(gt_sum_pairwise(values, 8), 4.0);  /* ((1e16 + 1) + 2) + (2 + (1 - 1e16)) */
    expect_double(gt_sum_pairwise(values, 9), 5.0);
}

static void integer_sums_are_exact(void **state)
{
    (void)state;
    static const int64_t fits[] = {INT64_MAX, 5, -5}, too_large[] = {INT64_MAX, 1},
                         too_small[] = {INT64_MIN, -1};
    int64_t sum;
    assert_true(gt_sum_ints(fits, 3, &sum));
    assert_true(sum == INT64_MAX);
    assert_false(gt_sum_ints(too_large, 2, &sum));
    assert_false(gt_sum_ints(too_small, 2, &sum));
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Where the quantile is a value itself, it is the one at that place of the sorted values. */
static void quantiles_together_are_those_of_sorted_values(void **state)
{
    (void)state;
    enum { COUNT = 4001 };
    static double values[COUNT], sorted[COUNT];
    static const double qs[] = {0, 0.25, 0.25, 0.5, 0.75, 1, 0.1, 0.9, 0};
    double results[GT_LENGTH(qs)];
    for (int repeat = 0; repeat < 5; repeat++) {
        for (size_t i = 0; i < COUNT; i++) {
            values[i] = repeat == 4 ? (double)i : (double)random_below(repeat == 3 ? 5 : 100000) / 7;
            sorted[i] = values[i];
        }
        qsort(sorted, COUNT, sizeof *sorted, by_value);
        gt_quantiles(values, COUNT, qs, GT_LENGTH(qs), results);
        for (size_t i = 0; i < GT_LENGTH(qs); i++)
            expect_double(results[i], sorted[(size_t)(qs[i] * (COUNT - 1) + 0.5)]);
    }
}

static void extreme_quantiles_are_minimum_and_maximum(void **state)
{
    (void)state;
    static const double values[] = {30, 10, 20, 40};
    expect_double(gt_quantile(values, 4, 0.0), 10);
    expect_double(gt_quantile(values, 4, 1.0), 40);
    expect_double(gt_quantile(values, 4, 0.5), 25);
    expect_double(gt_quantile(values, 4, 0.75), 32.5);
    expect_double(gt_quantile(values, 4, 1.5), NAN);
    expect_double(gt_quantile(values, 4, NAN), NAN);
}

static void cumulative_sums_go_left_to_right(void **state)
{
    (void)state;
    double values[] = {0.1, 0.2, NAN, 0.3};
    gt_cumulative_sum(values, values, 4);
    expect_double(values[0], 0.1);
    expect_double(values[1], 0.30000000000000004);
    expect_double(values[2], NAN);
    expect_double(values[3], 0.6000000000000001);
    gt_cumulative_sum(NULL, NULL, 0);
}

/* ---- selection ---- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void selection_agrees_with_sorting(void **state)
{
    (void)state;
    enum { MOST = 3000 };
    static double values[MOST], sorted[MOST];
    for (int repeat = 0; repeat < 2000; repeat++) {
        size_t count = 1 + random_below(repeat % 50 ? 60 : MOST), place = random_below((uint32_t)count);
        uint32_t variety = 1 + random_below(repeat % 2 ? 5 : 1u << 30), shape = random_below(3);
        for (size_t i = 0; i < count; i++)
            values[i] = shape == 0 ? random_below(variety) : shape == 1 ? (double)i : -(double)(i % variety);
        memcpy(sorted, values, sizeof sorted);
        qsort(sorted, count, sizeof *sorted, compare_doubles);
        expect_double(gt_select(values, count, place), sorted[place]);
        expect_double(values[place], sorted[place]);
        for (size_t i = 0; i < count; i++)
            assert_true(i < place ? values[i] <= values[place] : values[i] >= values[place]);
        qsort(values, count, sizeof *values, compare_doubles);
        assert_memory_equal(values, sorted, count * sizeof *values);
    }
}

/* Values for which the first splits, around the median of the first, middle and last value, remove only the
 * two smallest values. The splits are simulated with values that are chosen as late as possible, in the worst
 * way. */
static void selection_survives_bad_splits(void **state)
{
    (void)state;
    enum { COUNT = 2000, ROUNDS = 100 };
    static double values[COUNT], sorted[COUNT];
    static int at[COUNT]; /* which value is at each position */
    for (int i = 0; i < COUNT; i++) {
        at[i] = i;
        values[i] = 1000 + i * 7 % COUNT;
    }
    for (int left = 0; left < 2 * ROUNDS; left += 2) {
        int smallest = at[left], pivot = at[left + (COUNT - left) / 2];
        values[smallest] = left;
        values[pivot] = left + 1;
        for (int begin = left; begin < left + 2; begin++) {
            for (int i = begin, below = begin; i < COUNT; i++) {
                int moved = at[i];
                at[i] = at[below];
                at[below] = moved;
                below += moved == (begin == left ? smallest : pivot);
            }
        }
    }
    memcpy(sorted, values, sizeof sorted);
    qsort(sorted, COUNT, sizeof *sorted, compare_doubles);
    expect_double(gt_select(values, COUNT, COUNT / 2), sorted[COUNT / 2]);
}

/* ---- histogram ---- */

static void edges_decide_the_bin(void **state)
{
    (void)state;
    static const double values[] = {0, 0.1, 0.3, 0.6, 0.7, 1.0, NAN, 0.9};
    double edges[11];
    int64_t counts[10];
    assert_true(gt_histogram(values, 8, 10, edges, counts));
    /* 3 * 0.1 is 0.30000000000000004 and 6 * 0.1 is 0.6000000000000001: 0.3 and 0.6 fall into the bins below;
     * so does 0.7 under 7 * 0.1 = 0.7000000000000001; 0.9 = 9 * 0.1 and 1.0 are both in the last */
    static const int64_t expected[] = {1, 1, 1, 0, 0, 1, 1, 0, 0, 2};
    assert_memory_equal(counts, expected, sizeof expected);
    expect_double(edges[3], 0.30000000000000004);
    expect_double(edges[10], 1.0);
}

static void histograms_agree_with_their_edges(void **state)
{
    (void)state;
    enum { MOST = 500, BINS = 64 };
    for (int repeat = 0; repeat < 500; repeat++) {
        double values[MOST], edges[BINS + 1];
        int64_t counts[BINS], expected[BINS] = {0};
        size_t count = 1 + random_below(MOST), bins = 1 + random_below(BINS);
        double unit = repeat % 2 ? 1.0 : 0.1, offset = (int)random_below(100) - 50;
        for (size_t i = 0; i < count; i++) values[i] = random_below(1 + 2 * BINS) * unit + offset;
        assert_true(gt_histogram(values, count, bins, edges, counts));
        for (size_t i = 0; i < count; i++) {
            size_t bin = bins - 1;
            while (values[i] < edges[bin]) bin--;
            expected[bin]++;
        }
        assert_memory_equal(counts, expected, bins * sizeof *counts);
    }
}

static void histograms_of_few_values(void **state)
{
    (void)state;
    double edges[5], one[] = {7, 7}, infinite[] = {1, INFINITY}, huge[] = {1e300},
                     wide[] = {-1.7e308, 1.7e308};
    double close[] = {0, 5e-324};
    int64_t counts[4];
    assert_true(gt_histogram(NULL, 0, 4, edges, counts));
    assert_memory_equal(edges, ((double[]){0, 0.25, 0.5, 0.75, 1}), sizeof edges);
    assert_memory_equal(counts, ((int64_t[]){0, 0, 0, 0}), sizeof counts);
    assert_true(gt_histogram(one, 2, 4, edges, counts));
    assert_memory_equal(edges, ((double[]){6.5, 6.75, 7, 7.25, 7.5}), sizeof edges);
    assert_memory_equal(counts, ((int64_t[]){0, 0, 2, 0}), sizeof counts);
    assert_true(gt_histogram(close, 2, 4, edges, counts));
    assert_int_equal(counts[0] + counts[1] + counts[2] + counts[3], 2);
    assert_false(gt_histogram(one, 2, 0, edges, counts));
    assert_false(gt_histogram(infinite, 2, 4, edges, counts));
    assert_false(gt_histogram(huge, 1, 4, edges, counts)); /* too large for a difference of 0.5 */
    assert_false(gt_histogram(wide, 2, 4, edges, counts));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_have_the_digits_of_the_reference),
        cmocka_unit_test(missing_values_are_skipped),
        cmocka_unit_test(an_empty_column_has_sum_0_and_no_mean),
        cmocka_unit_test(additions_are_in_the_expected_order),
        cmocka_unit_test(integer_sums_are_exact),
        cmocka_unit_test(quantiles_together_are_those_of_sorted_values),
        cmocka_unit_test(extreme_quantiles_are_minimum_and_maximum),
        cmocka_unit_test(cumulative_sums_go_left_to_right),
        cmocka_unit_test(selection_agrees_with_sorting),
        cmocka_unit_test(selection_survives_bad_splits),
        cmocka_unit_test(edges_decide_the_bin),
        cmocka_unit_test(histograms_agree_with_their_edges),
        cmocka_unit_test(histograms_of_few_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
