/* Findings of many ranks, on facts and schedules made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "findings/ranks/find.h"
#include "findings/ranks/model.h"
#include "schema/columns.h"
#include "schema/sheets.h"

/* ---- runs made by hand ----
 *
 * All ranks take part in all collectives, of which each step has `per_step`. In a step a rank works work_us
 * before each collective, measured from the last collective of the step before. Times of kernels and gaps say
 * why. A collective moves data for 100 us. */

enum { RANKS_MAX = 10, STEPS = 4, PER_STEP = 2, COLLECTIVES = STEPS * PER_STEP, TRANSFER_US = 100 };

typedef struct cluster {
    size_t ranks;
    double work_us[RANKS_MAX][PER_STEP];
    double clock_us[RANKS_MAX];
    double end_late_us[RANKS_MAX]; /* by how much it begins the last step later */
    double once_us[RANKS_MAX];     /* more work, in one step only */
    uint32_t once_step;
    double transfer_us;
    gt_rank_facts *facts[RANKS_MAX];
    gt_interner *strings;
    gt_table *rows;
    gt_collective_matches matches;
    gt_collective_sync sync;
} cluster;

/* Usual work: ready after 1000 and 1600 us. */
static cluster new_cluster(size_t ranks)
{
    cluster c = {.ranks = ranks, .strings = gt_interner_new(), .transfer_us = TRANSFER_US};
    for (size_t r = 0; r < ranks; r++) {
        c.work_us[r][0] = 1000;
        c.work_us[r][1] = 1600;
        gt_rank_facts *f = c.facts[r] = gt_alloc_zero(1, sizeof *f);
        f->strings = gt_interner_new();
        f->device = gt_strdup("");
        f->node = gt_format("n%zu", r / 2);
        f->steps = STEPS - 1;
        f->has_steps = true;
        f->kernel_count = 3;
        f->kernels = gt_alloc_zero(3, sizeof *f->kernels);
        for (size_t k = 0; k < 3; k++) {
            static const char *const names[] = {"gemm", "softmax", "copy"};
            f->kernels[k] = (gt_rank_kernel){gt_interner_add_cstr(f->strings, names[k]),
                                             k == 0 ? gt_interner_add_cstr(f->strings, "aten::mm") : 0,
                                             (double)(400000 - 100000 * (int)k)};
        }
    }
    return c;
}

static double work_us(const cluster *c, size_t rank, uint32_t collective)
{
    return c->work_us[rank][collective % PER_STEP] +
           (collective / PER_STEP == c->once_step ? c->once_us[rank] : 0);
}

/* The last step begins when the last collective of the step before has ended. */
static void end_window(cluster *c, uint32_t last, double end_us)
{
    for (size_t r = 0; r < c->ranks; r++) {
        c->facts[r]->start_ns = 1000 * c->clock_us[r];
        c->facts[r]->end_ns = 1000 * (end_us + c->end_late_us[r] + c->clock_us[r]);
        c->facts[r]->end_base = last;
    }
}

/* What a machine would record. Collectives of one step follow each other on one stream. */
static void record(cluster *c)
{
    double end_us = 0, before_us = 0;
    for (size_t r = 0; r < c->ranks; r++) {
        c->facts[r]->collective_count = COLLECTIVES;
        c->facts[r]->collectives = gt_alloc_zero(COLLECTIVES, sizeof *c->facts[r]->collectives);
    }
    for (uint32_t i = 0; i < COLLECTIVES; i++) {
        uint32_t base = i < PER_STEP ? GT_NONE : i / PER_STEP * PER_STEP - 1;
        if (i % PER_STEP == 0) before_us = end_us;
        double latest = 0, previous_end = end_us;
        for (size_t r = 0; r < c->ranks; r++)
            latest = fmax(latest, fmax(previous_end, before_us + work_us(c, r, i)));
        end_us = latest + c->transfer_us;
        for (size_t r = 0; r < c->ranks; r++) {
            double ready = before_us + work_us(c, r, i), clock = c->clock_us[r];
            c->facts[r]->collectives[i] =
                (gt_rank_collective){.ready_ns = (int64_t)(1000 * (ready + clock)),
                                     .start_ns = (int64_t)(1000 * (fmax(ready, previous_end) + clock)),
                                     .end_ns = (int64_t)(1000 * (end_us + clock)),
                                     .base = base,
                                     .step = (int32_t)(i / PER_STEP),
                                     .in_window = i < COLLECTIVES - PER_STEP};
        }
        if (i == COLLECTIVES - PER_STEP - 1) end_window(c, i, end_us);
    }
    for (size_t r = 0; r < c->ranks; r++) c->facts[r]->step_ns = 1000 * end_us / STEPS;
}

static void add_rows(cluster *c, double mib)
{
    static const gt_column_head heads[] = {
        {GT_COL_RANK, GT_TYPE_INT},
        {GT_COL_COLLECTIVE_NAME, GT_TYPE_STRING},
        {GT_COL_DTYPE, GT_TYPE_STRING},
        {GT_COL_PROCESS_GROUP_NAME, GT_TYPE_STRING},
        {GT_COL_PROCESS_GROUP_RANKS, GT_TYPE_STRING},
        {GT_COL_GROUP_SIZE, GT_TYPE_INT},
        {GT_COL_IN_MSG_SIZE_MB, GT_TYPE_FLOAT},
        {GT_COL_OUT_MSG_SIZE_MB, GT_TYPE_FLOAT},
        {GT_COL_TS, GT_TYPE_FLOAT},
        {GT_COL_DUR, GT_TYPE_FLOAT},
        {GT_COL_IN_SPLIT_SIZE, GT_TYPE_STRING},
        {GT_COL_INDEX_IN_GROUP, GT_TYPE_INT},
    };
    c->rows = gt_table_new(GT_SHEET_NCCL_LONG, c->strings);
    gt_table_add_columns(c->rows, heads, GT_LENGTH(heads));
    for (size_t r = 0; r < c->ranks; r++)
        for (size_t i = 0; i < COLLECTIVES; i++) {
            size_t row = gt_table_add_row(c->rows);
            gt_table_set_int(c->rows, 0, row, (int64_t)r);
            gt_table_set_cstr(c->rows, 1, row, "allreduce");
            gt_table_set_int(c->rows, 5, row, (int64_t)c->ranks);
            gt_table_set_float(c->rows, 6, row, mib);
            gt_table_set_float(c->rows, 7, row, mib);
            const gt_rank_collective *from = &c->facts[r]->collectives[i];
            gt_table_set_float(c->rows, 8, row, (double)from->start_ns / 1e3);
            gt_table_set_float(c->rows, 9, row, (double)(from->end_ns - from->start_ns) / 1e3);
            gt_table_set_int(c->rows, 11, row, (int64_t)i);
        }
    c->matches = (gt_collective_matches){.events = c->rows, .count = COLLECTIVES, .ranks = (int64_t)c->ranks};
    c->matches.begins = gt_alloc((COLLECTIVES + 1) * sizeof *c->matches.begins);
    c->matches.rows = gt_alloc(c->ranks * COLLECTIVES * sizeof *c->matches.rows);
    c->sync = (gt_collective_sync){.matches = &c->matches, .count = COLLECTIVES};
    c->sync.collectives = gt_alloc(COLLECTIVES * sizeof *c->sync.collectives);
    for (uint32_t i = 0; i < COLLECTIVES; i++) {
        c->sync.collectives[i] = i;
        c->matches.begins[i] = i * c->ranks;
        for (size_t r = 0; r < c->ranks; r++)
            c->matches.rows[i * c->ranks + r] = (uint32_t)(r * COLLECTIVES + i);
    }
    c->matches.begins[COLLECTIVES] = c->ranks * COLLECTIVES;
}

static gt_ranks_input input_of(const cluster *c)
{
    return (gt_ranks_input){
        .sync = &c->sync, .facts = (const gt_rank_facts *const *)c->facts, .rank_count = c->ranks};
}

static gt_rank_findings *find(cluster *c)
{
    record(c);
    add_rows(c, 1);
    gt_ranks_input input = input_of(c);
    return gt_ranks_find(&input);
}

static void end_cluster(cluster *c, gt_rank_findings *found)
{
    gt_rank_findings_free(found);
    for (size_t r = 0; r < c->ranks; r++) gt_rank_facts_free(c->facts[r]);
    gt_free(c->sync.collectives);
    gt_free(c->matches.begins);
    gt_free(c->matches.rows);
    gt_table_free(c->rows);
    gt_interner_free(c->strings);
}

static void assert_finding(const gt_rank_findings *found, size_t place, const char *id, const char *ranks,
                           double gain_us, const char *cause)
{
    assert_true(place < found->count);
    const gt_run_finding *finding = &found->items[place];
    assert_string_equal(finding->id, id);
    assert_string_equal(finding->ranks, ranks);
    assert_true(fabs(finding->gain_ns / 1000 - gain_us) < 0.01);
    if (!strstr(finding->title, cause)) fail_msg("%s", finding->title);
}

/* ---- what is usual ---- */

static void test_usual_value(void **state)
{
    (void)state;
    gt_rank_value one[] = {{0, 7}};
    gt_rank_value same_node[] = {{0, 4}, {0, 1}, {0, 3}, {0, 2}};
    gt_rank_value slow_node[] = {{1, 9}, {0, 1}, {1, 8}, {0, 2}, {0, 50}}; /* nodes: 2 and 8 */
    gt_rank_value nodes[] = {{2, 3}, {0, 1}, {1, 2}};
    assert_true(gt_rank_usual(NULL, 0) == 0);
    assert_true(gt_rank_usual(one, 1) == 7);
    assert_true(gt_rank_usual(same_node, 4) == 2);
    assert_true(gt_rank_usual(slow_node, 5) == 2);
    assert_true(gt_rank_usual(nodes, 3) == 2);
}

/* ---- findings ---- */

static void test_healthy(void **state)
{
    (void)state;
    cluster c = new_cluster(4);
    c.work_us[2][1] += 3; /* ranks always differ a little */
    gt_rank_findings *found = find(&c);
    assert_int_equal(found->count, 0);
    assert_true(fabs(found->step_ns - 1703000) < 1); /* 1603 us of work and 100 us of transfer */
    assert_non_null(strstr(found->verdict, "no rank, node or link stands out"));
    end_cluster(&c, found);
}

/* A step takes 1600 + 500 + 100 us. Others wait 500 us in the first collective, then 400 us in the second:
 * 900 us together, but the repair gains 500 us. */
static void test_late_loader(void **state)
{
    (void)state;
    cluster c = new_cluster(4);
    c.work_us[1][0] += 500;
    c.work_us[1][1] += 500;
    c.facts[1]->gap_ns[GT_CAUSE_DATA] = 500000;
    for (size_t r = 0; r < 4; r++) c.facts[r]->gap_ns[GT_CAUSE_LAUNCH] = 30000;
    gt_rank_findings *found = find(&c);
    assert_true(fabs(found->step_ns - 2200000) < 1);
    assert_int_equal(found->count, 1);
    assert_finding(found, 0, "straggler", "1", 500,
                   "rank 1 is late by 0.50 ms per step in 100 % of collectives: its "
                   "data loader takes 0.50 ms longer than on the median rank");
    assert_int_equal(found->items[0].confidence, GT_CONFIDENCE_HIGH);
    assert_int_equal(found->items[0].severity, GT_SEVERITY_HIGH); /* 23 % */
    assert_true(fabs(found->all_fixed_ns - 1700000) < 1);
    assert_true(found->ranks[1].wait_ns == 0 && found->ranks[0].wait_ns > 0);
    end_cluster(&c, found);
}

/* Once may be chance. */
static void test_one_step(void **state)
{
    (void)state;
    for (size_t steps = 1; steps <= 2; steps++) {
        cluster c = new_cluster(4);
        c.work_us[1][1] += 500;
        record(&c);
        add_rows(&c, 1);
        for (size_t r = 0; r < 4; r++) c.facts[r]->steps = steps;
        gt_ranks_input input = input_of(&c);
        gt_rank_findings *found = gt_ranks_find(&input);
        assert_string_equal(found->items[0].id, "straggler");
        assert_int_equal(found->items[0].confidence, steps < 2 ? GT_CONFIDENCE_MEDIUM : GT_CONFIDENCE_HIGH);
        end_cluster(&c, found);
    }
}

/* Late only in the second collective; clocks differ by seconds. */
static void test_late_kernel_with_other_clocks(void **state)
{
    (void)state;
    cluster c = new_cluster(4);
    c.work_us[3][1] += 200;
    c.facts[3]->kernels[0].ns += 200000;
    c.clock_us[1] = 5e6;
    c.clock_us[3] = -4000;
    gt_rank_findings *found = find(&c);
    assert_int_equal(found->count, 1);
    assert_finding(
        found, 0, "straggler", "3", 200,
        "rank 3 is late by 0.20 ms per step in 50 % of collectives: aten::mm takes 0.20 ms longer");
    assert_non_null(strstr(found->items[0].evidence, "in kernel gemm"));
    end_cluster(&c, found);
}

static void test_slow_node(void **state)
{
    (void)state;
    cluster c = new_cluster(6);
    for (size_t r = 2; r < 4; r++) {
        c.work_us[r][0] += 100;
        c.work_us[r][1] += 160;
        for (size_t k = 0; k < 3; k++) c.facts[r]->kernels[k].ns *= 1.1;
    }
    gt_rank_findings *found = find(&c);
    assert_int_equal(found->count, 1);
    assert_finding(found, 0, "slow_node", "2-3", 160, "node n1 is late by 0.16 ms per step");
    assert_non_null(
        strstr(found->items[0].title, "all its kernels take 10.0 % longer (0.09 ms) than on other nodes"));
    assert_string_equal(found->items[0].where, "n1");
    end_cluster(&c, found);
}

/* All kernels of node 1 take 20 % longer; rank 4 has a slow loader, too, of which the node knows nothing. */
static void test_late_rank_of_slow_node(void **state)
{
    (void)state;
    cluster c = new_cluster(9);
    for (size_t r = 0; r < 9; r++) {
        gt_free(c.facts[r]->node);
        c.facts[r]->node = gt_format("n%zu", r / 3);
    }
    for (size_t r = 3; r < 6; r++) {
        c.work_us[r][1] += 180;
        for (size_t k = 0; k < 3; k++) c.facts[r]->kernels[k].ns *= 1.2;
    }
    c.work_us[4][1] += 200;
    c.facts[4]->gap_ns[GT_CAUSE_DATA] = 200000;
    gt_rank_findings *found = find(&c);
    assert_int_equal(found->count, 2);
    assert_finding(found, 0, "straggler", "4", 200,
                   "its data loader takes 0.20 ms longer than on the median rank of its node");
    assert_null(strstr(found->items[0].title, "kernels"));
    assert_null(strstr(found->items[0].evidence, "kernels"));
    assert_finding(found, 1, "slow_node", "3-5", 180,
                   "all its kernels take 20.0 % longer (0.18 ms) than on other nodes");
    end_cluster(&c, found);
}

/* 0.5 ms are 0.3 ms of a loader and of two kernels, 0.1 ms each. */
static void test_several_causes(void **state)
{
    (void)state;
    cluster c = new_cluster(4);
    c.work_us[2][1] += 500;
    c.facts[2]->gap_ns[GT_CAUSE_DATA] = 300000;
    c.facts[2]->kernels[0].ns += 100000;
    c.facts[2]->kernels[2].ns += 101000;
    c.facts[2]->gap_ns[GT_CAUSE_PYTHON] = 40000;
    gt_rank_findings *found = find(&c);
    assert_finding(found, 0, "straggler", "2", 500,
                   "its data loader takes 0.30 ms longer, copy takes 0.10 ms longer, aten::mm takes 0.10 ms "
                   "longer than on the median rank");
    assert_null(strstr(found->items[0].evidence, "Python"));
    end_cluster(&c, found);
}

/* One gains nothing without the other. */
static void test_equally_late_ranks(void **state)
{
    (void)state;
    cluster c = new_cluster(6);
    for (size_t r = 0; r < 6; r += 5) {
        c.work_us[r][0] += 300;
        c.work_us[r][1] += 300;
        c.facts[r]->gap_ns[GT_CAUSE_PYTHON] = 300000;
    }
    gt_rank_findings *found = find(&c);
    assert_int_equal(found->count, 1);
    assert_finding(found, 0, "straggler", "0, 5", 300, "ranks 0 and 5 are late by 0.30 ms per step");
    assert_string_equal(found->items[0].where, "n0 and n2");
    end_cluster(&c, found);
}

/* The title has the cause of the rank that decides. */
static void test_almost_equally_late_ranks(void **state)
{
    (void)state;
    cluster c = new_cluster(6);
    for (size_t r = 0; r < 6; r += 5) {
        c.work_us[r][0] += r ? 310 : 300;
        c.work_us[r][1] += r ? 310 : 300;
        c.facts[r]->gap_ns[GT_CAUSE_DATA] = r ? 310000 : 300000;
    }
    gt_rank_findings *found = find(&c);
    assert_int_equal(found->count, 1);
    assert_finding(found, 0, "straggler", "0, 5", 310, ": on rank 5 its data loader takes 0.31 ms longer");
    end_cluster(&c, found);
}

/* Advice names what the title names: all late ranks or nodes. If their causes differ, each has a finding. */
static void test_advice(void **state)
{
    (void)state;
    static const struct {
        size_t late[4], late_count;
        gt_cause cause, last_cause; /* of the last of them */
        const char *ranks, *advice;
    } cases[] = {
        {{1}, 1, GT_CAUSE_COPY, GT_CAUSE_COPY, "1", "check the binding of this rank to CPU sockets."},
        {{1}, 1, GT_CAUSE_LAUNCH, GT_CAUSE_LAUNCH, "1", "wrong CPU binding on the host of this rank."},
        {{0, 5}, 2, GT_CAUSE_DATA, GT_CAUSE_DATA, "0, 5", "Compare the input of these ranks with that of"},
        {{0, 5}, 2, GT_CAUSE_LAUNCH, GT_CAUSE_LAUNCH, "0, 5", "binding on the hosts of these ranks."},
        {{0, 5}, 2, GT_CAUSE_DEVICE_GAP, GT_CAUSE_DEVICE_GAP, "0, 5", "on the GPUs of these ranks."},
        {{0, 5}, 2, GT_CAUSE_DATA, GT_CAUSE_ALLOC, "0", "Compare the input of this rank with that of"},
        {{0, 5}, 2, GT_CAUSE_DEVICE_GAP, GT_CAUSE_DATA, "0", "processes on the GPU of this rank."},
        {{2, 3},
         2,
         GT_CAUSE_UNTRACED,
         GT_CAUSE_UNTRACED,
         "2-3",
         "Record this node with with_stack=True, and look for other processes on this node."},
        {{2, 3, 6, 7}, 4, GT_CAUSE_DEVICE_WAIT, GT_CAUSE_DEVICE_WAIT, "2-3, 6-7", "the GPUs of these nodes."},
    };
    for (size_t i = 0; i < GT_LENGTH(cases); i++) {
        cluster c = new_cluster(10);
        for (size_t k = 0; k < cases[i].late_count; k++) {
            size_t rank = cases[i].late[k];
            bool is_last = k + 1 == cases[i].late_count;
            for (size_t w = 0; w < PER_STEP; w++) c.work_us[rank][w] += 300;
            c.facts[rank]->gap_ns[is_last ? cases[i].last_cause : cases[i].cause] = 300000;
        }
        gt_rank_findings *found = find(&c);
        bool differ = cases[i].cause != cases[i].last_cause;
        assert_int_equal(found->count, differ ? 2 : 1);
        assert_string_equal(found->items[0].ranks, cases[i].ranks);
        if (differ) { /* only both repairs together gain */
            assert_true(found->items[0].gain_ns < 1 && fabs(found->items[1].gain_ns - 300000) < 1);
            assert_non_null(strstr(found->items[0].evidence, "others are late by about as much"));
        }
        if (!strstr(found->items[0].advice, cases[i].advice)) fail_msg("%s", found->items[0].advice);
        assert_null(strchr(found->items[0].advice, '{'));
        end_cluster(&c, found);
    }
}

/* 0.2 ms and 0.1 ms are not the same. */
static void test_differently_late_ranks(void **state)
{
    (void)state;
    cluster c = new_cluster(6);
    for (size_t i = 0; i < PER_STEP; i++) {
        c.work_us[5][i] += 200;
        c.work_us[0][i] += 110;
    }
    gt_rank_findings *found = find(&c);
    assert_int_equal(found->count, 2);
    assert_finding(found, 0, "straggler", "5", 90, "rank 5 is late by 0.20 ms per step");
    assert_finding(found, 1, "straggler", "0", 110, "rank 0 is late by 0.11 ms per step");
    assert_string_equal(found->items[0].where, "n2");
    end_cluster(&c, found);
}

/* The gain of each counts on the repairs before it. */
static void test_one_rank_hides_another(void **state)
{
    (void)state;
    cluster c = new_cluster(6);
    c.work_us[4][1] += 1000;
    c.work_us[1][1] += 400;
    gt_rank_findings *found = find(&c);
    assert_int_equal(found->count, 2);
    assert_finding(found, 0, "straggler", "4", 600, "the cause is unknown");
    assert_finding(found, 1, "straggler", "1", 400, "rank 1 is late by 0.40 ms");
    assert_true(fabs(found->all_fixed_ns - 1700000) < 1);
    end_cluster(&c, found);
}

/* The window has all steps but the last, as the times of kernels have. */
static void test_late_in_one_step(void **state)
{
    (void)state;
    for (uint32_t step = 0; step < STEPS; step++) {
        cluster c = new_cluster(4);
        c.once_us[1] = 600;
        c.once_step = step;
        c.clock_us[1] = 300;
        if (step < STEPS - 1) c.facts[1]->kernels[0].ns += 200000;
        gt_rank_findings *found = find(&c);
        assert_int_equal(found->count, step < STEPS - 1);
        if (found->count) {
            assert_finding(found, 0, "straggler", "1", 200, "aten::mm takes 0.20 ms longer");
            assert_true(fabs(found->ranks[0].wait_ns - 1100000.0 / 3) < 1);
        } else {
            assert_true(found->ranks[0].wait_ns == 0 && found->ranks[1].late_ns == 0);
        }
        end_cluster(&c, found);
    }
}

/* The loader of the last step is in the window, which ends when that step begins on the GPU. */
static void test_late_begin_of_the_last_step(void **state)
{
    (void)state;
    cluster c = new_cluster(4);
    c.end_late_us[2] = 600;
    c.facts[2]->gap_ns[GT_CAUSE_DATA] = 200000;
    gt_rank_findings *found = find(&c);
    assert_int_equal(found->count, 1);
    assert_finding(
        found, 0, "straggler", "2", 200,
        "rank 2 is late by 0.20 ms per step in 33 % of collectives: its data loader takes 0.20 ms");
    assert_int_equal(found->items[0].confidence, GT_CONFIDENCE_HIGH);
    end_cluster(&c, found);
}

/* A rank whose first step is recorded late is not late by that. */
static void test_late_recording(void **state)
{
    (void)state;
    cluster c = new_cluster(4);
    c.once_us[3] = 600;
    record(&c);
    add_rows(&c, 1);
    c.facts[3]->start_ns += 600000;
    gt_ranks_input input = input_of(&c);
    gt_rank_findings *found = gt_ranks_find(&input);
    assert_int_equal(found->count, 0);
    end_cluster(&c, found);
}

/* Late, but the collective before on the same stream ends even later: nobody waits. */
static void test_hidden_lateness(void **state)
{
    (void)state;
    cluster c = new_cluster(4);
    for (size_t r = 0; r < 4; r++) c.work_us[r][1] = 1000;
    c.work_us[2][1] = 1090;
    gt_rank_findings *found = find(&c);
    assert_int_equal(found->count, 0);
    assert_true(fabs(found->step_ns - 1200000) < 1);
    end_cluster(&c, found);
}

/* Findings of single traces: of most ranks, of one rank, and communication that is only waiting. */
static void test_own_findings(void **state)
{
    (void)state;
    cluster c = new_cluster(4);
    static const struct {
        size_t rank;
        const char *id;
        double gain_us;
    } own[] = {{0, "data_stall", 100}, {1, "data_stall", 120}, {2, "data_stall", 80}, {3, "host_sync", 300}};
    for (size_t i = 0; i < GT_LENGTH(own); i++) {
        gt_rank_facts *f = c.facts[own[i].rank];
        f->findings = gt_alloc_zero(1, sizeof *f->findings);
        f->finding_count = 1;
        f->findings[0] = (gt_own_finding){.id = gt_interner_add_cstr(f->strings, own[i].id),
                                          .title = gt_interner_add_cstr(f->strings, own[i].id),
                                          .advice = GT_STR_EMPTY,
                                          .evidence = gt_interner_add_cstr(f->strings, "e"),
                                          .confidence = GT_CONFIDENCE_HIGH,
                                          .gain_ns = 1000 * own[i].gain_us};
    }
    gt_rank_findings *found = find(&c);
    assert_int_equal(found->count, 2);
    assert_finding(found, 0, "data_stall", "0-2", 80, "data_stall"); /* 0, 80, 100, 120: the lower median */
    assert_int_equal(found->items[0].confidence, GT_CONFIDENCE_HIGH);
    assert_finding(found, 1, "host_sync", "3", 300, "host_sync");
    assert_true(fabs(found->all_fixed_ns - 1620000) < 1); /* without the hint */
    assert_int_equal(found->items[1].confidence, GT_CONFIDENCE_LOW);
    assert_int_equal(found->items[1].severity, GT_SEVERITY_MEDIUM); /* 18 % */
    end_cluster(&c, found);
}

static void set_own_finding(cluster *c, size_t rank, const char *id, double gain_us)
{
    gt_rank_facts *f = c->facts[rank];
    f->findings = gt_alloc_zero(1, sizeof *f->findings);
    f->finding_count = 1;
    f->findings[0] = (gt_own_finding){.id = gt_interner_add_cstr(f->strings, id),
                                      .title = gt_interner_add_cstr(f->strings, id),
                                      .advice = GT_STR_EMPTY,
                                      .evidence = gt_interner_add_cstr(f->strings, "e"),
                                      .confidence = GT_CONFIDENCE_MEDIUM,
                                      .is_gpu = true,
                                      .gain_ns = 1000 * gain_us};
    f->own_gain_ns = 1000 * gain_us;
}

/* The late rank comes first: its repair gains 500 us. The finding that three ranks have is of medium
 * confidence, so that its gain counts half. */
static void test_late_rank_gains_less(void **state)
{
    (void)state;
    static const struct {
        double gain_us;
        const char *said; /* of 2200 us */
    } cases[] = {{999, NULL}, {1100, "; loop gains more: up to about 1.10 ms (50 %)"}};
    for (size_t i = 0; i < GT_LENGTH(cases); i++) {
        cluster c = new_cluster(4);
        c.work_us[1][0] += 500;
        c.work_us[1][1] += 500;
        c.facts[1]->gap_ns[GT_CAUSE_DATA] = 500000;
        for (size_t r = 0; r < 3; r++) set_own_finding(&c, r, "loop", cases[i].gain_us);
        gt_rank_findings *found = find(&c);
        assert_int_equal(found->count, 2);
        assert_string_equal(found->items[0].id, "straggler");
        const char *more = strstr(found->verdict, "; loop");
        assert_int_equal(more != NULL, cases[i].said != NULL);
        if (more) assert_string_equal(more, cases[i].said);
        end_cluster(&c, found);
    }
}

/* Each link carries 36 MiB, for which the usual network needs 126 us. Hiding the transfer and a faster
 * network repair the same time, and neither makes the computation shorter. */
static void test_all_fixed(void **state)
{
    (void)state;
    for (int is_far = 0; is_far < 2; is_far++) {
        cluster c = new_cluster(4);
        c.transfer_us = is_far ? 300 : 200;
        for (size_t r = 0; r < 4; r++) {
            set_own_finding(&c, r, "exposed_comm", c.transfer_us - 10);
            c.facts[r]->compute_ns = 1500000;
            gt_free(c.facts[r]->device);
            c.facts[r]->device = gt_strdup("NVIDIA H200");
        }
        record(&c);
        add_rows(&c, 24);
        gt_ranks_input input = input_of(&c);
        gt_rank_findings *found = gt_ranks_find(&input);
        assert_int_equal(found->count, 2);
        for (size_t i = 0; i < 2; i++) {
            const gt_run_finding *finding = &found->items[i];
            /* Of a trace's own finding, 0.8 of the gain is expected (gain_ranges.c). */
            double weight = strcmp(finding->id, "exposed_comm") == 0 ? 0.4 : 0.5;
            assert_true(fabs(finding->score - weight * finding->gain_ns) < 1);
        }
        assert_true(fabs(found->all_fixed_ns - 1610000) < 1);
        const char *slow = is_far ? "collectives take 138 % longer than in the usual network of this GPU and "
                                    "reach 126 instead of 300 GB/s"
                                  : "collectives take 59 % longer than in the usual network of this GPU and "
                                    "reach 189 instead of 300 GB/s";
        assert_non_null(strstr(found->verdict, slow));
        gt_rank_findings_free(found);
        for (size_t r = 0; r < 4; r++) c.facts[r]->own_gain_ns = 900000; /* more than there is */
        found = gt_ranks_find(&input);
        assert_true(fabs(found->all_fixed_ns - 1500000) < 1);
        end_cluster(&c, found);
    }
}

/* Ranks leave collectives together, so the same time passes for all of them, late or not. */
static void test_ranks_of_different_runs(void **state)
{
    (void)state;
    cluster c = new_cluster(5);
    c.work_us[2][1] += 800;
    c.end_late_us[2] = 800;
    record(&c);
    add_rows(&c, 1);
    gt_ranks_input input = input_of(&c);
    gt_rank_findings *found = gt_ranks_find(&input);
    assert_null(found->other_runs);
    gt_rank_findings_free(found);
    for (size_t r = 3; r < 5; r++)
        for (size_t i = 0; i < COLLECTIVES; i++) {
            gt_rank_collective *x = &c.facts[r]->collectives[i];
            x->ready_ns = x->ready_ns * 11 / 10;
            x->start_ns = x->start_ns * 11 / 10;
            x->end_ns = x->end_ns * 11 / 10;
        }
    found = gt_ranks_find(&input);
    assert_string_equal(found->other_runs, "3-4");
    end_cluster(&c, found);
}

/* ---- damaged input ---- */

/* Ranks have the collectives in opposite order, and bases that come later. */
static void test_contradicting_ranks(void **state)
{
    (void)state;
    cluster c = new_cluster(3);
    record(&c);
    for (uint32_t i = 0; i < COLLECTIVES; i++) {
        gt_rank_collective *x = &c.facts[1]->collectives[i];
        x->start_ns = x->ready_ns = 1000000 - 1000 * (int64_t)i;
        x->end_ns = x->start_ns + 10;
        x->base = i + 1 < COLLECTIVES ? i + 1 : GT_NONE; /* starts before, as facts.c and image.c see to */
        c.facts[2]->collectives[i].base = GT_NONE;
    }
    add_rows(&c, NAN);
    gt_ranks_input input = input_of(&c);
    gt_rank_findings *found = gt_ranks_find(&input);
    assert_non_null(found);
    assert_true(isfinite(found->step_ns) && isfinite(found->all_fixed_ns));
    for (size_t i = 0; i < found->count; i++) assert_true(isfinite(found->items[i].gain_ns));
    end_cluster(&c, found);
}

static void test_missing_facts(void **state)
{
    (void)state;
    cluster c = new_cluster(3);
    record(&c);
    add_rows(&c, 1);
    gt_rank_facts *kept = c.facts[1];
    c.facts[1] = NULL;
    gt_ranks_input input = input_of(&c);
    gt_rank_findings *found = gt_ranks_find(&input);
    assert_non_null(found);
    assert_false(found->ranks[1].known);
    gt_rank_findings_free(found);
    gt_rank_facts *other = c.facts[0];
    c.facts[0] = NULL;
    assert_null(gt_ranks_find(&input)); /* one rank cannot be compared */
    c.facts[0] = other;
    c.facts[1] = kept;
    end_cluster(&c, NULL);
}

static void assert_trust(const gt_ranks_input *input, gt_interner *strings, const char *verdict)
{
    gt_rank_findings *found = gt_ranks_find(input);
    gt_table_list tables = {0};
    gt_ranks_add_sheets(found, strings, &tables);
    const gt_table *overview = tables.items[0];
    gt_str text = gt_interner_get(strings, gt_table_column(overview, GT_COL_TEXT)->texts[0]);
    assert_string_equal(text.bytes, verdict);
    gt_table_list_free(&tables);
    gt_rank_findings_free(found);
}

/* Traces that cannot be compared count, too. */
static void test_verdict_is_that_of_the_worst_trace(void **state)
{
    (void)state;
    cluster c = new_cluster(4);
    record(&c);
    add_rows(&c, 1);
    gt_ranks_input input = input_of(&c);
    assert_trust(&input, c.strings, "good");
    c.facts[3]->collective_count = 0;
    c.facts[3]->trust = GT_TRUST_FAIL;
    assert_trust(&input, c.strings, "do not trust");
    gt_rank_facts_free(c.facts[3]);
    c.facts[3] = NULL;
    assert_trust(&input, c.strings, "usable with care");
    end_cluster(&c, NULL);
}

static void set_check(cluster *c, size_t rank, const char *id, gt_trust_level level, double value,
                      const char *text)
{
    gt_rank_facts *f = c->facts[rank];
    gt_rank_check check = {
        gt_interner_add_cstr(f->strings, id), gt_interner_add_cstr(f->strings, text), level, 0, value, 1, 50};
    GT_PUSH(f->checks, f->check_count, f->check_capacity, check);
}

static void assert_check(const gt_table *trust, size_t row, const char *id, const char *level, double value,
                         const char *ranks, const char *text)
{
    const gt_col columns[] = {GT_COL_ID, GT_COL_LEVEL, GT_COL_RANKS, GT_COL_TEXT};
    const char *const expected[] = {id, level, ranks, text};
    assert_true(row < trust->row_count);
    for (size_t i = 0; i < GT_LENGTH(columns); i++)
        assert_string_equal(
            gt_interner_get(trust->strings, gt_table_column(trust, columns[i])->texts[row]).bytes,
            expected[i]);
    assert_true(gt_table_column(trust, GT_COL_VALUE)->floats[row] == value);
}

/* One row per check that a rank does not pass, with the figures of the worst one. */
static void test_reasons_of_the_verdict(void **state)
{
    (void)state;
    cluster c = new_cluster(5);
    record(&c);
    add_rows(&c, 1);
    for (size_t r = 0; r < 4; r++) set_check(&c, r, "T8", GT_TRUST_WARN, 1, "no stacks");
    set_check(&c, 0, "T12", GT_TRUST_WARN, 10, "10% unknown");
    set_check(&c, 1, "T12", GT_TRUST_WARN, 30, "30% unknown");
    set_check(&c, 3, "T12", GT_TRUST_WARN, 20, "20% unknown");
    set_check(&c, 1, "T2", GT_TRUST_WARN, 60, "60% lost"); /* the level counts before the value */
    set_check(&c, 2, "T2", GT_TRUST_FAIL, 55, "55% lost");
    set_check(&c, 3, "T1", GT_TRUST_WARN, 7, "7% without launch");
    gt_rank_facts_free(c.facts[4]);
    c.facts[4] = NULL;
    gt_ranks_input input = input_of(&c);
    gt_rank_findings *found = gt_ranks_find(&input);
    gt_table_list tables = {0};
    gt_ranks_add_sheets(found, c.strings, &tables);
    const gt_table *trust = gt_table_list_find(&tables, GT_SHEET_TRUST);
    assert_int_equal(trust->row_count, 5);
    assert_check(trust, 0, "T1", "warn", 7, "3", "rank 3: 7% without launch");
    assert_check(trust, 1, "T2", "fail", 55, "1-2", "ranks 1-2 (figures of rank 2): 55% lost");
    assert_check(trust, 2, "T8", "warn", 1, "all", "all ranks: no stacks");
    assert_check(trust, 3, "T12", "warn", 30, "0-1, 3", "ranks 0-1, 3 (figures of rank 1): 30% unknown");
    assert_check(trust, 4, "T18", "warn", 1, "4",
                 "Nothing is known about 1 of 5 ranks: 4 (no trace, or one that could not be read).");
    gt_table_list_free(&tables);
    gt_rank_findings_free(found);
    end_cluster(&c, NULL);
}

/* All ranks wait for the one without a trace: the transfers are not slow. */
static void test_late_rank_without_trace(void **state)
{
    (void)state;
    cluster c = new_cluster(4);
    c.work_us[3][0] += 500;
    c.work_us[3][1] += 500;
    for (size_t r = 0; r < 4; r++) {
        gt_free(c.facts[r]->device);
        c.facts[r]->device = gt_strdup("NVIDIA H200");
    }
    record(&c);
    add_rows(&c, 24);
    gt_rank_facts *kept = c.facts[3];
    c.facts[3] = NULL;
    gt_ranks_input input = input_of(&c);
    gt_rank_findings *found = gt_ranks_find(&input);
    assert_int_equal(found->count, 0);
    assert_non_null(strstr(found->verdict, "rank 3, whose collectives were not read, may be late"));
    c.facts[3] = kept;
    end_cluster(&c, found);
}

/* ---- facts of a schedule ----
 *
 *     host      |launch k0, c1|..synchronises with k2....|data 40 |launch k3|
 *     stream 0  |k0 100|                |k2 50|                   |k3 100|
 *     stream 1         |c1 ......... 200|
 *
 * k2 waits for c1, the host for k2, and k3 for the host: all of them go back to c1. */

static void test_facts(void **state)
{
    (void)state;
    gt_interner *strings = gt_interner_new();
    uint32_t gemm = gt_interner_add_cstr(strings, "gemm"), nccl = gt_interner_add_cstr(strings, "nccl");
    gt_gpu_op ops[] = {
        {.start_ns = 10, .end_ns = 110, .name = gemm, .row = 5, .point = 0, .begins = GT_START_HOST},
        {.start_ns = 110,
         .end_ns = 310,
         .name = nccl,
         .row = 6,
         .stream = 1,
         .point = 1,
         .begins = GT_START_DEPENDENCY,
         .dependency = 0,
         .communicates = true},
        {.start_ns = 310,
         .end_ns = 360,
         .name = gemm,
         .row = 7,
         .point = 2,
         .previous = 0,
         .begins = GT_START_DEPENDENCY,
         .dependency = 1},
        {.start_ns = 420,
         .end_ns = 520,
         .name = gemm,
         .row = 8,
         .point = 4,
         .previous = 2,
         .begins = GT_START_HOST},
        {.start_ns = 520,
         .end_ns = 600,
         .name = nccl,
         .row = 9,
         .stream = 1,
         .point = 5,
         .previous = 1,
         .begins = GT_START_DEPENDENCY,
         .dependency = 3,
         .communicates = true},
    };
    uint32_t point_ops[] = {0, 1, 2, 3, 4};
    gt_piece pieces[] = {{.start_ns = 370, .end_ns = 410, .event = GT_NONE, .label = GT_CAUSE_DATA}};
    gt_host_point points[] = {
        {.start_ns = 0, .end_ns = 5, .base_ns = 0, .op_count = 1, .awaited = GT_NONE, .kind = GT_API_LAUNCH},
        {.start_ns = 5,
         .end_ns = 9,
         .base_ns = 5,
         .first_op = 1,
         .op_count = 1,
         .awaited = GT_NONE,
         .kind = GT_API_LAUNCH},
        {.start_ns = 9,
         .end_ns = 12,
         .base_ns = 9,
         .first_op = 2,
         .op_count = 1,
         .awaited = GT_NONE,
         .kind = GT_API_LAUNCH},
        {.start_ns = 12, .end_ns = 370, .base_ns = 12, .wait_ns = 348, .awaited = 2, .kind = GT_API_SYNC},
        {.start_ns = 410,
         .end_ns = 416,
         .base_ns = 410,
         .before_ns = 40,
         .first_op = 3,
         .op_count = 1,
         .awaited = GT_NONE,
         .first_piece = 0,
         .piece_count = 1,
         .kind = GT_API_LAUNCH},
        {.start_ns = 416,
         .end_ns = 420,
         .base_ns = 416,
         .first_op = 4,
         .op_count = 1,
         .awaited = GT_NONE,
         .kind = GT_API_LAUNCH},
    };
    for (size_t i = 0; i < GT_LENGTH(ops); i++) ops[i].host_op = GT_NONE;
    gt_schedule schedule = {.strings = strings,
                            .ops = ops,
                            .op_count = GT_LENGTH(ops),
                            .stream_count = 2,
                            .points = points,
                            .point_count = GT_LENGTH(points),
                            .point_ops = point_ops,
                            .point_op_count = GT_LENGTH(point_ops),
                            .pieces = pieces,
                            .piece_count = 1,
                            .launch_ns = 4,
                            .window = {.start_ns = 10, .end_ns = 600, .end_op = GT_NONE, .steps = 1}};
    gt_idle idle = {.total_ns = 60};
    const gt_findings findings = {.schedule = &schedule, .idle = &idle};
    const uint32_t rows[] = {6, 9};
    gt_rank_facts *f = gt_rank_facts_new(&findings, rows, 2, "host7");
    assert_int_equal(f->collective_count, 2);
    assert_int_equal(f->collectives[0].base, GT_NONE);
    assert_int_equal(f->collectives[1].base, 0);
    assert_int_equal(f->collectives[1].ready_ns, 520);
    assert_int_equal(f->collectives[0].exposed_ns, 200);
    assert_int_equal(f->collectives[1].exposed_ns, 80);
    assert_true(f->compute_ns == 250 && f->exposed_ns == 280 && f->step_ns == 590 && f->idle_ns == 60);
    assert_true(f->gap_ns[GT_CAUSE_COLLECTIVE] == 200);
    assert_true(f->gap_ns[GT_CAUSE_DATA] == 40);
    assert_true(f->gap_ns[GT_CAUSE_LAUNCH] == 10);  /* from the call to the start of k3 */
    assert_true(f->gap_ns[GT_CAUSE_SYNC] == 10);    /* until the host noticed the end of k2 */
    assert_true(f->gap_ns[GT_CAUSE_UNKNOWN] == 80); /* after k3, at the end of the window */
    assert_int_equal(f->kernel_count, 1);
    assert_true(f->kernels[0].ns == 250);
    assert_string_equal(f->node, "host7");
    gt_rank_facts_free(f);
    gt_interner_free(strings);
}

/* A collective behind another one is ready when the op launched before it is done. */
static void test_ready_before_start(void **state)
{
    (void)state;
    gt_interner *strings = gt_interner_new();
    uint32_t name = gt_interner_add_cstr(strings, "x");
    gt_gpu_op ops[] = {
        {.start_ns = 0,
         .end_ns = 50,
         .name = name,
         .row = 1,
         .stream = 1,
         .point = 0,
         .begins = GT_START_HOST,
         .communicates = true},
        {.start_ns = 10, .end_ns = 30, .name = name, .row = 2, .point = 1, .begins = GT_START_HOST},
        {.start_ns = 50,
         .end_ns = 70,
         .name = name,
         .row = 3,
         .stream = 1,
         .point = 2,
         .previous = 0,
         .begins = GT_START_QUEUE,
         .communicates = true},
    };
    uint32_t point_ops[] = {0, 1, 2};
    gt_host_point points[3];
    for (uint32_t i = 0; i < 3; i++) {
        ops[i].host_op = GT_NONE;
        points[i] = (gt_host_point){.start_ns = i,
                                    .end_ns = i + 1,
                                    .base_ns = i,
                                    .first_op = i,
                                    .op_count = 1,
                                    .awaited = GT_NONE,
                                    .kind = GT_API_LAUNCH};
    }
    gt_schedule schedule = {.strings = strings,
                            .ops = ops,
                            .op_count = 3,
                            .stream_count = 2,
                            .points = points,
                            .point_count = 3,
                            .point_ops = point_ops,
                            .point_op_count = 3,
                            .launch_ns = 2,
                            .window = {.start_ns = 0, .end_ns = 70, .end_op = GT_NONE, .steps = 1}};
    gt_idle idle = {0};
    const gt_findings findings = {.schedule = &schedule, .idle = &idle};
    const uint32_t rows[] = {1, 3};
    gt_rank_facts *f = gt_rank_facts_new(&findings, rows, 2, NULL);
    assert_int_equal(f->collectives[1].start_ns, 50);
    assert_int_equal(f->collectives[1].ready_ns, 30);
    assert_int_equal(f->collectives[1].base, GT_NONE);
    gt_rank_facts_free(f);
    gt_interner_free(strings);
}

/* ---- walks ---- */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usual_value),
        cmocka_unit_test(test_healthy),
        cmocka_unit_test(test_late_loader),
        cmocka_unit_test(test_late_kernel_with_other_clocks),
        cmocka_unit_test(test_one_step),
        cmocka_unit_test(test_slow_node),
        cmocka_unit_test(test_late_rank_of_slow_node),
        cmocka_unit_test(test_several_causes),
        cmocka_unit_test(test_equally_late_ranks),
        cmocka_unit_test(test_almost_equally_late_ranks),
        cmocka_unit_test(test_advice),
        cmocka_unit_test(test_differently_late_ranks),
        cmocka_unit_test(test_one_rank_hides_another),
        cmocka_unit_test(test_hidden_lateness),
        cmocka_unit_test(test_late_in_one_step),
        cmocka_unit_test(test_late_begin_of_the_last_step),
        cmocka_unit_test(test_late_recording),
        cmocka_unit_test(test_own_findings),
        cmocka_unit_test(test_late_rank_gains_less),
        cmocka_unit_test(test_all_fixed),
        cmocka_unit_test(test_ranks_of_different_runs),
        cmocka_unit_test(test_contradicting_ranks),
        cmocka_unit_test(test_missing_facts),
        cmocka_unit_test(test_late_rank_without_trace),
        cmocka_unit_test(test_verdict_is_that_of_the_worst_trace),
        cmocka_unit_test(test_reasons_of_the_verdict),
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_ready_before_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
