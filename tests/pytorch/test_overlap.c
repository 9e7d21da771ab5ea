/* Overlapping kernels: small traces computed by hand, random ones compared with a loop over all pairs, and
 * sizes at which such a loop would take minutes. */
#include "pytorch_trace.h"

#include "analysis/pytorch/overlap.h"
#include "compat/python_set.h"

#include <math.h>

/* ---- traces with kernels only ---- */

static void kernel(trace_text *t, double start, double dur, int stream)
{
    char on[32] = "";
    if (stream >= 0) snprintf(on, sizeof on, "\"stream\":%d", stream);
    add_event(
        t,
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k%d\",\"pid\":0,\"tid\":0,\"ts\":%.15g,\"dur\":%.15g,"
        "\"args\":{%s}}",
        stream, start, dur, on);
}

static void expect_partners(const gt_overlaps *overlaps, uint32_t row, const uint32_t *expected, size_t count)
{
    size_t found;
    const uint32_t *partners = gt_overlaps_of(overlaps, row, &found);
    assert_int_equal(found, count);
    for (size_t i = 0; i < count; i++) assert_int_equal(partners[i], expected[i]);
}

#define PARTNERS(row, ...)                                                                                   \
    expect_partners(overlaps, row, (const uint32_t[]){__VA_ARGS__},                                          \
                    sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
#define ALONE(row) expect_partners(overlaps, row, NULL, 0)

static gt_overlaps *find(const gt_linked_view *trace, bool include_unlinked)
{
    gt_error error;
    gt_overlaps *overlaps = gt_overlaps_find(trace, include_unlinked, &error);
    if (!overlaps) fail_msg("%s", error.text);
    return overlaps;
}

static void overlaps_last_a_microsecond_and_cross_streams(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    kernel(&t, 0, 10, 0);    /* row 0 */
    kernel(&t, 9, 10, 1);    /* 1: overlaps 0 by exactly a microsecond */
    kernel(&t, 18.5, 10, 2); /* 2: overlaps 1 by half a microsecond */
    kernel(&t, 28.5, 10, 3); /* 3: begins where 2 ends */
    kernel(&t, 30, 0, 4);    /* 4: has zero length */
    kernel(&t, 31, 0.75, 5); /* 5: is shorter than a microsecond, and inside 3 */
    kernel(&t, 32, 2, 3);    /* 6: inside 3, on its stream */
    kernel(&t, 32, 1, -1);   /* 7: inside 3 and 6, without a stream */
    kernel(&t, 32, 1.5, -1); /* 8: like 7; they count as different streams */
    kernel(&t, 32, 2, 3);    /* 9: is 6 again */
    kernel(&t, 100, -5, 6);  /* 10: ends before it starts */
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_overlaps *overlaps = find(trace, true);
    PARTNERS(0, 1);
    PARTNERS(1, 0);
    ALONE(2), ALONE(4), ALONE(5), ALONE(9), ALONE(10);
    PARTNERS(3, 8, 7); /* 8 has slot 0 in a table of 8 */
    PARTNERS(6, 8, 7);
    PARTNERS(7, 8, 3, 6);
    PARTNERS(8, 3, 6, 7);
    gt_overlaps_free(overlaps);
    gt_pytorch_linked_free(linked);
}

static void only_linked_events_count_by_default(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    cpu(&t, "op", 0, 100);
    launch_on(&t, 0, "kernel", "a", 1, 200, 50, 1);        /* row 2 */
    kernel(&t, 200, 50, 1);                                /* row 3: flow events are not rows */
    launch_on(&t, 2, "gpu_memcpy", "copy", 2, 210, 50, 2); /* row 5 */
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_overlaps *overlaps = find(trace, false);
    PARTNERS(2, 5), PARTNERS(5, 2), ALONE(3);
    gt_overlaps_free(overlaps);
    overlaps = find(trace, true);
    PARTNERS(2, 3, 5), PARTNERS(3, 2, 5), PARTNERS(5, 2, 3);
    gt_overlaps_free(overlaps);
    gt_pytorch_linked_free(linked);
}

static void recomputed_events_are_separate(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    for (int i = 0; i < 4; i++) kernel(&t, i, 10, i);
    gt_pytorch_linked *linked = read_trace(&t, false);
    const uint8_t recompute[4] = {0, 1, 0, 1};
    gt_linked_view trace = *gt_pytorch_view(linked);
    trace.recompute = recompute;
    gt_overlaps *overlaps = find(&trace, true);
    PARTNERS(0, 2), PARTNERS(1, 3), PARTNERS(2, 0), PARTNERS(3, 1);
    gt_overlaps_free(overlaps);
    gt_pytorch_linked_free(linked);
}

static void an_empty_trace_has_no_overlap(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    cpu(&t, "op", 0, 100);
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_overlaps *overlaps = find(trace, true);
    ALONE(0);
    assert_int_equal(overlaps->count, 0);
    gt_overlaps_free(overlaps);
    gt_overlaps_free(NULL);
    gt_pytorch_linked_free(linked);
}

/* ---- compared with all pairs ---- */

typedef struct point {
    double time;
    int is_start;
    uint32_t row;
} point;

static int by_time(const void *left, const void *right)
{
    const point *a = left, *b = right;
    if (a->time != b->time) return a->time < b->time ? -1 : 1;
    if (a->is_start != b->is_start) return a->is_start - b->is_start;
    return (a->row > b->row) - (a->row < b->row);
}

/* Every running kernel is met at every start, in the order of the set of uids; uids are rows here. */
static gt_python_set *overlapping_sets(const gt_linked_view *trace, const int *streams)
{
    gt_python_set *sets = gt_alloc_zero(trace->count, sizeof *sets), running = {0};
    point *points = gt_alloc(2 * trace->count * sizeof *points);
    size_t count = 0;
    for (uint32_t row = 0; row < trace->count; row++) {
        assert_int_equal(gt_event_uid(&trace->events, row), row);
        if (gt_event_end_us(&trace->events, row) <= trace->start_us[row]) continue;
        points[count++] = (point){trace->start_us[row], 1, row};
        points[count++] = (point){gt_event_end_us(&trace->events, row), 0, row};
    }
    qsort(points, count, sizeof *points, by_time);
    for (size_t i = 0; i < count; i++) {
        uint32_t row = points[i].row;
        if (!points[i].is_start) {
            gt_python_set_discard(&running, row);
            continue;
        }
        for (size_t slot = 0; running.used && slot <= running.mask; slot++) {
            if (running.slots[slot] < 2) continue;
            uint32_t other = (uint32_t)(running.slots[slot] - 2);
            if (streams[row] >= 0 && streams[row] == streams[other]) continue;
            double start = fmax(trace->start_us[row], trace->start_us[other]);
            if (fmin(gt_event_end_us(&trace->events, row), gt_event_end_us(&trace->events, other)) - start <
                1.0)
                continue;
            gt_python_set_add(&sets[row], other);
            gt_python_set_add(&sets[other], row);
        }
        gt_python_set_add(&running, row);
    }
    gt_python_set_free(&running);
    free(points);
    return sets;
}

static void random_kernels_agree_with_all_pairs(void **unused)
{
    (void)unused;
    enum { ROUNDS = 300, KERNELS = 120 };
    srand(7);
    for (int round = 0; round < ROUNDS; round++) {
        trace_text t = new_trace();
        int streams[KERNELS], stream_count = 1 + rand() % 6;
        double starts[KERNELS], durs[KERNELS];
        double scale = round % 3 == 0 ? 1 : round % 3 == 1 ? 0.25 : 0.1;
        for (int i = 0; i < KERNELS; i++) {
            streams[i] = rand() % stream_count - (round % 4 == 0);
            starts[i] = rand() % 200 * scale, durs[i] = rand() % (1 + round % 60) * scale;
            bool is_again = false; /* kernels that are in the trace twice count once */
            for (int k = 0; k < i; k++)
                is_again |= streams[k] == streams[i] && starts[k] == starts[i] && durs[k] == durs[i];
            if (is_again) durs[i] = 0;
            kernel(&t, starts[i], durs[i], streams[i]);
        }
        gt_pytorch_linked *linked = read_trace(&t, false);
        const gt_linked_view *trace = gt_pytorch_view(linked);
        gt_python_set *sets = overlapping_sets(trace, streams);
        gt_overlaps *overlaps = find(trace, true);
        for (uint32_t row = 0; row < KERNELS; row++) {
            uint32_t expected[KERNELS];
            size_t count = 0;
            for (size_t slot = 0; sets[row].used && slot <= sets[row].mask; slot++)
                if (sets[row].slots[slot] >= 2) expected[count++] = (uint32_t)(sets[row].slots[slot] - 2);
            expect_partners(overlaps, row, expected, count);
            gt_python_set_free(&sets[row]);
        }
        free(sets);
        gt_overlaps_free(overlaps);
        gt_pytorch_linked_free(linked);
    }
}

/* ---- fractions of an op's time ---- */

static void fractions_are_rounded_like_python(void **unused)
{
    (void)unused;
    /* The op's kernel runs for R; another one overlaps it for x. round(x / R, 2) is from CPython. */
    static const struct {
        double busy, other, part;
    } cases[] = {
        {200, 1, 0.01},  /* 0.005, a bit above: 0.01 */
        {200, 3, 0.01},  /* 0.015, a bit below: 0.01 */
        {200, 5, 0.03},  /* 0.025, a bit above: 0.03 */
        {200, 27, 0.14}, /* 0.135 */
        {200, 29, 0.14}, /* 0.145, a bit below: 0.14 */
        {8, 1, 0.12},    /* 0.125, exactly: to even */
        {8, 3, 0.38},    /* 0.375, exactly: to even */
        {3, 2, 0.67},    {1000, 4, 0.0}, {7, 7, 1.0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        trace_text t = new_trace();
        kernel(&t, 1000, cases[i].busy, 0);
        kernel(&t, 1000, cases[i].other, 1);
        gt_pytorch_linked *linked = read_trace(&t, false);
        const gt_linked_view *trace = gt_pytorch_view(linked);
        gt_overlaps *overlaps = find(trace, true);
        gt_op_overlap_reader *reader = gt_op_overlap_reader_new(trace, overlaps);
        gt_op_overlap overlap = gt_op_overlap_read(reader, (const uint32_t[]){0}, 1, cases[i].busy);
        assert_int_equal(overlap.count, 1);
        assert_true(overlap.overlap_pct == cases[i].part);
        assert_true(overlap.kernels[0].overlap_pct == cases[i].part);
        assert_true(overlap.kernels[0].dur_us == cases[i].other);
        assert_false(overlap.kernels[0].integral);
        assert_string_equal(gt_interner_get(trace->strings, overlap.names).bytes, "['k1']");
        gt_op_overlap_reader_free(reader);
        gt_overlaps_free(overlaps);
        gt_pytorch_linked_free(linked);
    }
}

static void overlapping_kernels_of_one_name_are_averaged(void **unused)
{
    (void)unused;
    trace_text t = new_trace();
    kernel(&t, 0, 100, 0);     /* the op's */
    kernel(&t, 0, 10, 1);      /* 0.1 of its time */
    kernel(&t, 5, 20, 2);      /* 0.2 */
    kernel(&t, 50, 40, 1);     /* 0.4 */
    kernel(&t, 95, 50.005, 1); /* 0.05, half outside */
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_overlaps *overlaps = find(trace, true);
    gt_op_overlap_reader *reader = gt_op_overlap_reader_new(trace, overlaps);
    for (int again = 0; again < 2; again++) {
        gt_op_overlap overlap = gt_op_overlap_read(reader, (const uint32_t[]){0}, 1, 100);
        assert_string_equal(gt_interner_get(trace->strings, overlap.names).bytes, "['k1', 'k2']");
        assert_int_equal(overlap.count, 2);
        assert_true(overlap.kernels[0].dur_us ==
                    33.34); /* (10 + 40 + 50.005) / 3 = 33.335: Python says 33.34 */
        assert_true(overlap.kernels[0].overlap_pct == 0.18); /* (0.1 + 0.4 + 0.05) / 3 */
        assert_true(overlap.kernels[1].dur_us == 20.0);
        assert_true(overlap.kernels[1].overlap_pct == 0.2);
        assert_true(overlap.overlap_pct == 0.7); /* 0 to 25, 50 to 90, 95 to 100 */
    }
    gt_op_overlap none = gt_op_overlap_read(reader, NULL, 0, 0);
    assert_int_equal(none.names, GT_STR_NONE);
    assert_int_equal(none.count, 0);
    assert_true(isnan(none.overlap_pct));
    gt_op_overlap_reader_free(reader);
    gt_overlaps_free(overlaps);
    gt_pytorch_linked_free(linked);
}

/* ---- sizes ---- */

/* Half of the kernels are on one stream and half on another, and each half ends as the other begins, with
 * less than a microsecond in common: no pair counts, although every kernel touches all others. */
static void kernels_that_do_not_overlap_are_cheap(void **unused)
{
    (void)unused;
    enum { KERNELS = 60000 };
    trace_text t = new_trace();
    for (int i = 0; i < KERNELS; i++) kernel(&t, i % 1000 * 1e-3, 1000.5 - i / 1000 * 1e-3, 0);
    for (int i = 0; i < KERNELS; i++) kernel(&t, 1000.51 + i % 1000 * 1e-3, 1000 - i / 1000 * 1e-3, 1);
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_overlaps *overlaps = find(trace, true);
    assert_int_equal(overlaps->count, 2 * KERNELS);
    assert_int_equal(overlaps->begin[overlaps->count], 0);
    gt_overlaps_free(overlaps);
    gt_pytorch_linked_free(linked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlaps_last_a_microsecond_and_cross_streams),
        cmocka_unit_test(only_linked_events_count_by_default),
        cmocka_unit_test(recomputed_events_are_separate),
        cmocka_unit_test(an_empty_trace_has_no_overlap),
        cmocka_unit_test(random_kernels_agree_with_all_pairs),
        cmocka_unit_test(fractions_are_rounded_like_python),
        cmocka_unit_test(overlapping_kernels_of_one_name_are_averaged),
        cmocka_unit_test(kernels_that_do_not_overlap_are_cheap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
