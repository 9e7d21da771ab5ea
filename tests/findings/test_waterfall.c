/* Waterfalls of schedules made by hand: the division of a step, how parts are matched, what each contributes,
 * and that everything adds up in whole nanoseconds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <cmocka.h>

#include "base/memory.h"
#include "findings/schedule/sites.h"
#include "findings/waterfall/waterfall.h"

#include <stdio.h>
#include <string.h>

enum { OPS_MAX = 4000, STEPS_MAX = 16 };

static gt_interner *shared;

/* ---- schedules ---- */

/* A trace: ops that run one after the other, and what the GPU waited for. Its own strings have other ids than
 * those of the other trace. */
typedef struct trace {
    gt_schedule schedule;
    gt_idle idle;
    gt_interner *strings;
    gt_gpu_op ops[OPS_MAX];
    gt_host_event events[OPS_MAX];
    gt_step_times
        steps[STEPS_MAX]; /* all begin with the first op: how long each takes does not matter here */
    uint32_t used_steps[STEPS_MAX];
    int64_t now_ns, waited_until_ns;
} trace;

static trace *new_trace(size_t steps)
{
    static int made;
    trace *t = gt_alloc_zero(1, sizeof *t);
    t->strings = gt_interner_new();
    made++;
    for (int i = 0; i < made % 7; i++) gt_interner_add(t->strings, &(char){(char)('A' + i)}, 1);
    t->schedule = (gt_schedule){.strings = t->strings, .ops = t->ops, .events = t->events};
    t->schedule.window.steps = steps;
    t->schedule.used_step_count = steps ? steps + 1 : 0;
    t->schedule.steps = t->steps;
    t->schedule.used_steps = t->used_steps;
    assert_true(t->schedule.used_step_count <= STEPS_MAX);
    for (uint32_t i = 0; i < t->schedule.used_step_count; i++) t->used_steps[i] = i;
    return t;
}

static void free_trace(trace *t)
{
    gt_sites_free(&t->schedule);
    gt_interner_free(t->strings);
    gt_free(t);
}

static gt_gpu_op *add_at(trace *t, int64_t start_ns, int64_t dur_ns, const char *op, const char *kernel)
{
    gt_schedule *s = &t->schedule;
    gt_gpu_op *new = &t->ops[s->op_count++];
    *new = (gt_gpu_op){
        .start_ns = start_ns, .end_ns = start_ns + dur_ns, .kind = GT_KIND_KERNEL, .host_op = GT_NONE};
    new->name = gt_interner_add_cstr(t->strings, kernel);
    if (op) {
        new->host_op = (uint32_t)s->event_count;
        t->events[s->event_count++].name = gt_interner_add_cstr(t->strings, op);
    }
    if (new->end_ns > t->now_ns) t->now_ns = new->end_ns;
    s->window.end_ns = t->now_ns;
    return new;
}

static gt_gpu_op *add(trace *t, int64_t dur_ns, const char *op, const char *kernel)
{
    return add_at(t, t->now_ns, dur_ns, op, kernel);
}

static void add_calls(trace *t, size_t calls, int64_t dur_ns, const char *op, const char *kernel)
{
    for (size_t i = 0; i < calls; i++) add(t, dur_ns, op, kernel);
}

static void add_copy(trace *t, int64_t dur_ns, const char *name)
{
    add(t, dur_ns, NULL, name)->kind = GT_KIND_MEMCPY;
}

static void wait_for(trace *t, int64_t ns, gt_cause cause)
{
    t->now_ns += ns;
    t->idle.cause_ns[cause] += ns;
    t->idle.total_ns += ns;
    t->waited_until_ns = t->now_ns;
    t->schedule.window.end_ns = t->now_ns;
}

/* ---- checks ---- */

static gt_step_parts *parts_of(trace *t)
{
    gt_step_parts *parts = gt_step_parts_new(&t->schedule, &t->idle);
    int64_t sum = 0;
    for (size_t i = 0; i < parts->count; i++) sum += parts->items[i].ns;
    assert_int_equal(sum, parts->step_ns);
    return parts;
}

static void check_sums(const gt_waterfall *w)
{
    int64_t contributions = 0, pairs = 0;
    for (size_t i = 0; i < w->count; i++) contributions += w->items[i].delta_ns;
    for (size_t i = 0; i < w->pairs.count; i++) pairs += w->pairs.items[i].b_ns - w->pairs.items[i].a_ns;
    assert_int_equal(contributions, w->b_ns - w->a_ns);
    assert_int_equal(pairs, w->b_ns - w->a_ns);
    gt_contribution longer, shorter;
    gt_waterfall_rest(w, 1, &longer);
    gt_waterfall_rest(w, -1, &shorter);
    int64_t shown = longer.delta_ns + shorter.delta_ns;
    for (size_t i = 0; i < w->shown; i++) shown += w->items[i].delta_ns;
    assert_int_equal(shown, w->b_ns - w->a_ns);
}

/* Frees both traces. */
static gt_waterfall *compare(trace *a, trace *b)
{
    gt_step_parts *left = parts_of(a), *right = parts_of(b);
    gt_waterfall *w = gt_waterfall_new(left, right, shared);
    gt_step_parts_free(left);
    gt_step_parts_free(right);
    free_trace(a);
    free_trace(b);
    check_sums(w);
    return w;
}

/* "slower: aten::mm +5; ..." in order. */
static void expect(gt_waterfall *w, const char *expected)
{
    char found[4096] = "";
    for (size_t i = 0; i < w->count; i++) {
        char *text = gt_contribution_text(w, &w->items[i]);
        size_t used = strlen(found);
        snprintf(found + used, sizeof found - used, "%s%s %+lld", i ? "; " : "", text,
                 (long long)w->items[i].delta_ns);
        gt_free(text);
    }
    assert_string_equal(found, expected);
    gt_waterfall_free(w);
}

static int begin(void **state)
{
    (void)state;
    shared = gt_interner_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    gt_interner_free(shared);
    return 0;
}

/* ---- contributions ---- */

static void new_and_vanished(void **state)
{
    (void)state;
    trace *a = new_trace(1), *b = new_trace(1);
    add(a, 100, "aten::mm", "gemm"), add(a, 30, "aten::cat", "cat"), add(a, 5, "aten::cat", "cat2");
    add(b, 100, "aten::mm", "gemm"), add(b, 40, "aten::softmax", "soft"), add(b, 7, NULL, "own_kernel");
    expect(compare(a, b), "new: aten::softmax +40; vanished: aten::cat -35; new: own_kernel +7");
}

/* 10 calls of 100 ns become 12 of 150 ns: 2 more at 125 ns on average, 50 ns more in 11 calls on average. */
static void calls_and_speed(void **state)
{
    (void)state;
    trace *a = new_trace(1), *b = new_trace(1);
    add_calls(a, 10, 100, "aten::mm", "gemm");
    add_calls(b, 12, 150, "aten::mm", "gemm");
    gt_waterfall *w = compare(a, b);
    assert_int_equal(w->a_ns, 1000);
    assert_int_equal(w->b_ns, 1800);
    expect(w, "slower: aten::mm +550; more calls: aten::mm +250");
    a = new_trace(1), b = new_trace(1);
    add_calls(a, 12, 150, "aten::mm", "gemm");
    add_calls(b, 10, 100, "aten::mm", "gemm");
    expect(compare(a, b), "faster: aten::mm -550; fewer calls: aten::mm -250");
}

/* Other kernels of the same op: not new and vanished, but slower. Two kernels per op are no more calls. */
static void replaced_kernels(void **state)
{
    (void)state;
    trace *a = new_trace(1), *b = new_trace(1);
    add_calls(a, 4, 100, "aten::mm", "nvjet_128x256"), add_calls(a, 2, 50, "aten::mm", "nvjet_192x192");
    add_calls(b, 4, 500, "aten::mm", "sgemm"), add_calls(b, 2, 60, "aten::mm", "nvjet_192x192");
    for (int i = 0; i < 4; i++)
        add(b, 10, NULL, "splitK")->host_op = (uint32_t)i; /* launched by the same ops */
    gt_waterfall *w = compare(a, b);
    assert_int_equal(w->pairs.count, 2);
    assert_int_equal(w->pairs.items[0].match, GT_MATCH_OP);
    assert_int_equal(w->pairs.items[0].b_count, 2);
    assert_int_equal(w->pairs.items[0].speed_ns, 4 * 410);
    assert_int_equal(w->pairs.items[1].match, GT_MATCH_KERNEL);
    expect(w, "slower: aten::mm +1660");
}

/* Attention by another op, GEMMs without ops, kernels that moved to another op. */
static void other_ops(void **state)
{
    (void)state;
    trace *a = new_trace(1), *b = new_trace(1);
    add(a, 100, "aten::_scaled_dot_product_flash_attention", "flash");
    add(a, 20, "aten::zero_", "fill"), add(a, 300, NULL, "Cijk_Ailk_Bljk_HHS_BH_MT128x64x32_X");
    add(b, 400, "aten::_efficient_attention_forward", "fmha_cutlassF");
    add(b, 25, "aten::fill_", "fill"), add(b, 310, NULL, "Cijk_Ailk_Bljk_HHS_BH_MT64x64x32_Y");
    add(b, 1, NULL, "unrelated");
    gt_waterfall *w = compare(a, b);
    assert_int_equal(w->pairs.items[0].match, GT_MATCH_CATEGORY);
    assert_int_equal(w->pairs.items[1].match, GT_MATCH_NORMAL_NAME);
    assert_int_equal(w->pairs.items[2].match, GT_MATCH_KERNEL_ALONE);
    expect(w, "slower: attention +300; slower: Cijk_Ailk_Bljk_HHS_BH +10; slower: fill +5; "
              "new: unrelated +1");
}

static void idle_copies_and_communication(void **state)
{
    (void)state;
    trace *a = new_trace(1), *b = new_trace(1);
    add(a, 100, "aten::mm", "gemm"), wait_for(a, 10, GT_CAUSE_LAUNCH), wait_for(a, 4, GT_CAUSE_SYNC);
    add(b, 100, "aten::mm", "gemm"), wait_for(b, 2, GT_CAUSE_LAUNCH), wait_for(b, 500, GT_CAUSE_DATA);
    add_copy(a, 50, "Memcpy HtoD (Pinned -> Device)"), add_copy(b, 80, "Memcpy HtoD (Pageable -> Device)");
    add(a, 20, NULL, "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)")->communicates = true;
    add(b, 27, NULL, "ncclDevKernel_AllReduce_Sum_f32_TREE_LL(args)")->communicates = true;
    expect(compare(a, b),
           "idle: data +500; copies: Memcpy HtoD +30; idle: launch -8; communication: AllReduce "
           "+7; idle: sync -4");
}

/* The same kernels side by side instead of one after the other: nothing is faster, they overlap. */
static void overlap(void **state)
{
    (void)state;
    trace *a = new_trace(1), *b = new_trace(1);
    add_at(a, 0, 100, "aten::mm", "gemm"), add_at(a, 100, 80, "aten::add", "add");
    add_at(b, 0, 100, "aten::mm", "gemm"), add_at(b, 30, 80, "aten::add", "add");
    gt_waterfall *w = compare(a, b);
    assert_int_equal(w->b_ns, 110);
    expect(w, "more overlap of kernels -70");
}

/* Hidden communication costs nothing, however long it takes. */
static void hidden_communication(void **state)
{
    (void)state;
    trace *a = new_trace(1), *b = new_trace(1);
    add_at(a, 0, 100, "aten::mm", "gemm"),
        add_at(a, 10, 20, NULL, "ncclDevKernel_AllGather")->communicates = true;
    add_at(b, 0, 100, "aten::mm", "gemm"),
        add_at(b, 10, 95, NULL, "ncclDevKernel_AllGather")->communicates = true;
    expect(compare(a, b), "communication: AllGather +5");
}

/* ---- sums ---- */

/* 3 steps of 7 parts of 1/3 ns more than whole ones, against 7 steps: rounding must not lose a nanosecond. */
static void different_numbers_of_steps(void **state)
{
    (void)state;
    trace *a = new_trace(3), *b = new_trace(7);
    char name[] = "kernel_a";
    for (int i = 0; i < 7; i++, name[7]++) {
        add_calls(a, 3, 100, "op", name), add(a, 1, "op", name);
        add_calls(b, 7, 100, "op", name), add(b, i, "op", name);
    }
    wait_for(a, 1, GT_CAUSE_LAUNCH), wait_for(b, 1, GT_CAUSE_DATA);
    gt_waterfall *w = compare(a, b);
    assert_int_equal(w->a_ns, 703); /* 2108 / 3 */
    assert_int_equal(w->b_ns, 703); /* 4922 / 7 */
    for (size_t i = 0; i < w->pairs.count; i++) {
        int64_t change = w->pairs.items[i].b_ns - w->pairs.items[i].a_ns;
        assert_in_range(change + 2, 0, 4);
    }
    gt_waterfall_free(w);
}

static uint64_t random_state = 11;

static int64_t random_below(int64_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((random_state >> 33) % (uint64_t)limit);
}

static void add_random(trace *t)
{
    static const char *const ops[] = {"aten::mm", "aten::add", "aten::bmm", "aten::copy_", NULL};
    char kernel[32];
    size_t count = (size_t)(1 + random_below(200));
    for (size_t i = 0; i < count; i++) {
        snprintf(kernel, sizeof kernel, "triton_k_%lld", (long long)random_below(30));
        int64_t earliest = t->schedule.op_count ? t->ops[t->schedule.op_count - 1].start_ns : 0;
        if (earliest < t->waited_until_ns) earliest = t->waited_until_ns;
        int64_t start_ns = random_below(4) ? t->now_ns : earliest + random_below(t->now_ns - earliest + 1);
        gt_gpu_op *new = add_at(t, start_ns, random_below(100000), ops[random_below(5)], kernel);
        if (!random_below(5)) new->kind = GT_KIND_MEMCPY;
        if (!random_below(5)) new->communicates = true;
        if (!random_below(5)) wait_for(t, random_below(5000), (gt_cause)random_below(GT_CAUSES));
    }
}

static trace *copy_of(const trace *t)
{
    trace *copy = new_trace(t->schedule.window.steps);
    for (size_t i = 0; i < t->schedule.op_count; i++) {
        const gt_gpu_op *op = &t->ops[i];
        const char *host = NULL;
        if (op->host_op != GT_NONE) host = gt_interner_get(t->strings, t->events[op->host_op].name).bytes;
        gt_gpu_op *new = add_at(copy, op->start_ns, op->end_ns - op->start_ns, host,
                                gt_interner_get(t->strings, op->name).bytes);
        new->kind = op->kind, new->communicates = op->communicates;
    }
    copy->idle = t->idle;
    copy->schedule.window.end_ns = t->schedule.window.end_ns;
    return copy;
}

/* The sums of random traces, the mirror image of a comparison, and a trace compared with itself. */
static void random_traces(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        trace *a = new_trace((size_t)(1 + random_below(9))), *b = new_trace((size_t)(1 + random_below(9)));
        add_random(a), add_random(b);
        gt_waterfall *same = compare(copy_of(a), copy_of(a));
        assert_int_equal(same->count, 0);
        assert_int_equal(same->a_ns, same->b_ns);
        gt_waterfall *mirrored = compare(copy_of(b), copy_of(a)), *w = compare(a, b);
        assert_int_equal(w->count, mirrored->count);
        for (size_t i = 0; i < w->count; i++) {
            assert_int_equal(w->items[i].delta_ns, -mirrored->items[i].delta_ns);
            assert_int_equal(w->items[i].a_ns, mirrored->items[i].b_ns);
        }
        gt_waterfall_free(same), gt_waterfall_free(mirrored), gt_waterfall_free(w);
    }
}

/* Small contributions become two rows; a step has at most 16 of its own. */
static void small_contributions(void **state)
{
    (void)state;
    trace *a = new_trace(1), *b = new_trace(1);
    char name[32];
    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "op%d", i);
        add(a, 1000, name, "k"), add(b, i < 30 ? 2000 : i < 50 ? 1001 : 999, name, "k");
    }
    gt_waterfall *w = compare(a, b);
    gt_contribution rest;
    assert_int_equal(w->shown, 16);
    assert_true(gt_waterfall_rest(w, 1, &rest));
    assert_int_equal(rest.delta_ns, 14 * 1000 + 20);
    assert_int_equal(rest.pair_count, 34);
    assert_true(gt_waterfall_rest(w, -1, &rest));
    assert_int_equal(rest.delta_ns, -10);
    gt_waterfall_free(w);
}

/* ---- names ---- */

static void normal_names(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"triton_poi_fused_add_mul_12", "triton_poi_fused_add_mul"},
        {"triton__0d1d2de", "triton_"},
        {"_attn_fwd_0d1d2d3de4", "_attn_fwd"},
        {"my_kernel_3f2a9c81", "my_kernel"},
        {"my_kernel_12345678", "my_kernel_12345678"},
        {"nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"},
        {"layer_norm_2", "layer_norm_2"},
        {"Cijk_Alik_Bljk_BBS_BH_Bias_MT256x128x64_MI32x32x1_SN", "Cijk_Alik_Bljk_BBS_BH_Bias"},
        {"Cijk_MTx", "Cijk_MTx"},
        {"_3", "_3"},
        {"", ""},
    };
    for (size_t i = 0; i < GT_LENGTH(names); i++) {
        uint32_t id = gt_kernel_normal_name(shared, gt_interner_add_cstr(shared, names[i][0]));
        assert_string_equal(gt_interner_get(shared, id).bytes, names[i][1]);
    }
}

/* ---- edges ---- */

static void empty_and_endless(void **state)
{
    (void)state;
    expect(compare(new_trace(1), new_trace(0)), "");
    trace *a = new_trace(1), *b = new_trace(1);
    add(a, 0, "aten::mm", "gemm"), add(a, 0, NULL, "k");
    add(b, INT64_MAX / 4, "aten::mm", "gemm"), add_calls(b, 1000, INT64_MAX / 5000, "aten::mm", "gemm");
    gt_waterfall_free(compare(a, b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(new_and_vanished, begin, end),
        cmocka_unit_test_setup_teardown(calls_and_speed, begin, end),
        cmocka_unit_test_setup_teardown(replaced_kernels, begin, end),
        cmocka_unit_test_setup_teardown(other_ops, begin, end),
        cmocka_unit_test_setup_teardown(idle_copies_and_communication, begin, end),
        cmocka_unit_test_setup_teardown(overlap, begin, end),
        cmocka_unit_test_setup_teardown(hidden_communication, begin, end),
        cmocka_unit_test_setup_teardown(different_numbers_of_steps, begin, end),
        cmocka_unit_test_setup_teardown(random_traces, begin, end),
        cmocka_unit_test_setup_teardown(small_contributions, begin, end),
        cmocka_unit_test_setup_teardown(normal_names, begin, end),
        cmocka_unit_test_setup_teardown(empty_and_endless, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
