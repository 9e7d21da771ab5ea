/* The rules about GPU time, on small hand-built schedules. Expected durations were computed by hand: the GPU
 * of these tests makes 1000 half-precision flops, 500 TF32 flops and 100 FP32 flops per ns, and moves 1000
 * bytes per ns. */
#include "pytorch_trace.h"

#include "findings/gpu_facts.h"
#include "findings/schedule/names.h"
#include "findings/rules/rules_table.h"

#include <math.h>

/* ---- programs: one cpu_op after the other, each with its kernels ---- */

enum { SIZE_MAX_PROGRAM = 64 };

typedef struct kernel_text {
    const char *name;
    int64_t start_ns, dur_ns;
    uint32_t event;
    uint8_t kind;
    bool communicates;
} kernel_text;

typedef struct program {
    trace_text text;
    gt_host_event events[SIZE_MAX_PROGRAM];
    kernel_text kernels[SIZE_MAX_PROGRAM];
    size_t event_count, kernel_count;
    int64_t clock_ns; /* on the GPU */

    gt_pytorch_linked *trace;
    gt_schedule schedule;
    gt_host_thread thread;
    gt_gpu_op ops[SIZE_MAX_PROGRAM];
    gt_host_point points[SIZE_MAX_PROGRAM];
    gt_piece pieces[SIZE_MAX_PROGRAM];
    gt_gpu_facts *facts;
    gt_rule_input input;
} program;

static const gt_gpu_rates test_gpu = {.name = "test",
                                      .half_flops = 1000,
                                      .tf32_flops = 500,
                                      .float_flops = 100,
                                      .bytes = 1000,
                                      .compute_major = 9};

static program *new_program(void)
{
    program *p = gt_alloc_zero(1, sizeof *p);
    p->text = new_trace();
    return p;
}

/* An op around others: [start, end) in us on the host. Its row is its index. */
static uint32_t add_op(program *p, const char *name, double start, double end, uint32_t parent, uint8_t flags,
                       const char *args)
{
    uint32_t event = (uint32_t)p->event_count++;
    host(&p->text, "cpu_op", name, start, end - start, args);
    p->events[event] = (gt_host_event){.start_ns = (int64_t)(start * 1000),
                                       .end_ns = (int64_t)(end * 1000),
                                       .parent = parent,
                                       .row = event,
                                       .kind = GT_KIND_CPU_OP,
                                       .flags = flags};
    return event;
}

static uint32_t op_with(program *p, const char *name, const char *dims, const char *types,
                        const char *strides)
{
    char args[1024];
    double start = 10.0 * (double)p->event_count;
    snprintf(args, sizeof args, "\"Input Dims\":%s,\"Input type\":%s%s%s", dims, types,
             *strides ? ",\"Input Strides\":" : "", strides);
    return add_op(p, name, start, start + 9, GT_NONE, 0, args);
}

/* A kernel right after the one before. Returns its index. */
static uint32_t add_kernel(program *p, uint32_t event, const char *name, int64_t dur_ns)
{
    p->kernels[p->kernel_count] = (kernel_text){
        .name = name, .start_ns = p->clock_ns, .dur_ns = dur_ns, .event = event, .kind = GT_KIND_KERNEL};
    p->clock_ns += dur_ns;
    if (event != GT_NONE) p->events[event].launches++;
    return (uint32_t)p->kernel_count++;
}

static void make_ops(program *p)
{
    gt_schedule *s = &p->schedule;
    for (size_t i = 0; i < p->kernel_count; i++) {
        const kernel_text *k = &p->kernels[i];
        uint32_t event = k->event;
        p->ops[i] = (gt_gpu_op){.start_ns = k->start_ns,
                                .end_ns = k->start_ns + k->dur_ns,
                                .name = gt_interner_add_cstr(s->strings, k->name),
                                .point = event == GT_NONE ? GT_NONE : (uint32_t)i,
                                .host_op = event,
                                .kind = k->kind,
                                .communicates = k->communicates};
        /* 3 us of preparing each launch. */
        p->pieces[i] = (gt_piece){.start_ns = 0, .end_ns = 3000, .event = event, .label = GT_CAUSE_LAUNCH};
        p->points[i] = (gt_host_point){.event = event,
                                       .first_piece = (uint32_t)i,
                                       .piece_count = 1,
                                       .before_ns = 3000,
                                       .kind = GT_API_LAUNCH,
                                       .flags = event == GT_NONE ? 0 : p->events[event].flags};
    }
}

/* Reads the trace and makes the schedule; its window is from 0 to the end of the last kernel, as two steps.
 */
static void finish(program *p, const gt_gpu_rates *gpu)
{
    if (p->event_count == 0) add_op(p, "aten::nothing", 0, 1, GT_NONE, 0, "");
    p->trace = read_trace(&p->text, false);
    const gt_linked_view *trace = gt_pytorch_view(p->trace);
    gt_schedule *s = &p->schedule;
    s->trace = &trace->events;
    s->strings = trace->strings;
    make_ops(p);
    uint32_t name_count = gt_interner_count(s->strings);
    uint8_t *seen = gt_alloc_zero(name_count, 1);
    for (size_t i = 0; i < p->event_count; i++) {
        p->events[i].name = trace->name[i];
        seen[trace->name[i]] = GT_NAMES_OP;
    }
    gt_find_name_bits(s, seen, name_count);
    gt_free(seen);
    s->events = p->events;
    s->event_count = p->event_count;
    p->thread = (gt_host_thread){.first = 0, .end = (uint32_t)p->event_count, .launches = true};
    s->threads = &p->thread;
    s->thread_count = 1;
    s->ops = p->ops;
    s->points = p->points;
    s->pieces = p->pieces;
    s->op_count = s->point_count = s->piece_count = p->kernel_count;
    s->window = (gt_step_window){.start_ns = 0, .end_ns = p->clock_ns, .steps = 2};
    p->facts = gt_gpu_facts_new(s, gpu);
    p->input = (gt_rule_input){.schedule = s, .gpu = gpu, .facts = p->facts, .per = "step"};
}

static void free_program(program *p)
{
    gt_gpu_facts_free(p->facts);
    gt_sites_free(&p->schedule);
    gt_free((void *)p->schedule.name_bits);
    gt_pytorch_linked_free(p->trace);
    gt_free(p);
}

/* ---- what a rule says ---- */

static void free_finding(gt_finding *finding)
{
    gt_free(finding->title);
    gt_free(finding->where);
    gt_free(finding->advice);
    for (size_t i = 0; i < finding->evidence_count; i++) gt_free(finding->evidence[i]);
    gt_edit_free(&finding->edit);
}

/* The rule finds something with this id; the caller frees it. */
static gt_finding expect(program *p, gt_rule_function *rule, const char *id)
{
    gt_finding finding = {0};
    if (!rule(&p->input, &finding)) fail_msg("%s not found", id);
    assert_string_equal(finding.id, id);
    assert_true(finding.is_gpu);
    assert_non_null(finding.title);
    assert_non_null(finding.advice);
    return finding;
}

static void expect_nothing(program *p, gt_rule_function *rule)
{
    gt_finding finding = {0};
    if (rule(&p->input, &finding)) fail_msg("found %s: %s", finding.id, finding.title);
    free_finding(&finding);
}

/* The edit gives this op this duration. */
static void expect_time(const gt_finding *finding, uint32_t op, double ns)
{
    for (size_t i = 0; i < finding->edit.op_count; i++)
        if (finding->edit.ops[i].op == op) {
            double is = finding->edit.ops[i].dur_ns;
            if (!(fabs(is - ns) <= 1e-9 * fabs(ns) + 1e-9))
                fail_msg("op %u: %.17g ns instead of %.17g", op, is, ns);
            return;
        }
    fail_msg("op %u is not changed", op);
}

static void expect_changes(const gt_finding *finding, size_t count)
{
    assert_int_equal(finding->edit.op_count, count);
}

#define BF16   "\"c10::BFloat16\""
#define BF16_2 "[" BF16 "," BF16 "]"
#define FLOAT2 "[\"float\",\"float\"]"

/* ---- recompute ---- */

static void test_recompute(void **state)
{
    (void)state;
    program *p = new_program();
    uint32_t node = add_op(p, "autograd::engine::evaluate_function: CheckpointBackward", 0, 100, GT_NONE,
                           GT_HOST_BACKWARD, "");
    uint32_t again = add_op(p, "aten::linear", 10, 20, node, GT_HOST_BACKWARD | GT_HOST_RECOMPUTE, "");
    uint32_t backward = add_op(p, "aten::mm", 30, 40, node, GT_HOST_BACKWARD, "");
    uint32_t forward = add_op(p, "aten::gelu", 200, 210, GT_NONE, GT_HOST_RECOMPUTE, "");
    uint32_t op = add_kernel(p, again, "gemm", 500000);
    add_kernel(p, backward, "gemm", 900000);
    add_kernel(p, forward, "gelu", 100000);
    finish(p, &test_gpu);
    gt_finding f = expect(p, gt_rule_recompute, "recompute");
    expect_changes(&f, 1);
    expect_time(&f, op, 0);
    assert_int_equal(f.edit.point_count, 1);
    assert_int_equal(f.edit.points[0].point, op);
    assert_int_equal(f.edit.points[0].flags, GT_EDIT_NO_CALL);
    assert_true(f.edit.points[0].before_ns == 3000);
    assert_int_equal(f.confidence, GT_CONFIDENCE_HIGH);
    assert_non_null(strstr(f.title, "0.25 ms")); /* of two steps */
    assert_string_equal(f.evidence[1], "aten::linear: 0.25 ms");
    free_finding(&f);
    free_program(p);
}

/* ---- attention ---- */

/* B 2, H 4, S 128, D 64: bmm, softmax and bmm, for 8 x 128 x 128 scores. */
static void add_attention(program *p, const char *first, const char *second, uint32_t ops[3])
{
    ops[0] = add_kernel(p, op_with(p, "aten::bmm", first, BF16_2, ""), "gemm", 40000);
    ops[1] = add_kernel(
        p, op_with(p, "aten::_softmax", "[[2,4,128,128],[],[]]", "[" BF16 ",\"Scalar\",\"Scalar\"]", ""),
        "softmax", 80000);
    ops[2] = add_kernel(p, op_with(p, "aten::bmm", second, BF16_2, ""), "gemm", 40000);
}

static void test_unfused_attention(void **state)
{
    (void)state;
    program *p = new_program();
    uint32_t ops[3];
    add_attention(p, "[[8,128,64],[8,64,128]]", "[[8,128,128],[8,128,64]]", ops);
    add_kernel(p, op_with(p, "aten::mm", "[[64,64],[64,64]]", BF16_2, ""), "gemm", 1000);
    finish(p, &test_gpu);
    /* 4 * 8 * 128 * 128 * 64 flops at 500 flops per ns, shared in proportion to 160 us. */
    double fused = 33554432.0 / 500;
    gt_finding f = expect(p, gt_rule_unfused_attention, "unfused_attention");
    expect_changes(&f, 3);
    expect_time(&f, ops[0], 40000 * fused / 160000);
    expect_time(&f, ops[1], 80000 * fused / 160000);
    expect_time(&f, ops[2], 40000 * fused / 160000);
    assert_string_equal(f.evidence[0], "1 x bmm + softmax + bmm on [2, 4, 128, 128]");
    assert_string_equal(f.evidence[3], "3 kernels per attention instead of 1 or 2");
    free_finding(&f);
    free_program(p);
}

/* The same work as fast as a fused kernel, and products whose sizes do not fit a softmax. */
static void test_attention_that_is_not_slow_or_none(void **state)
{
    (void)state;
    uint32_t ops[3];
    program *p = new_program();
    add_attention(p, "[[8,128,1024],[8,1024,128]]", "[[8,128,128],[8,128,1024]]", ops); /* 1.07 ms fused */
    finish(p, &test_gpu);
    expect_nothing(p, gt_rule_unfused_attention);
    free_program(p);
    p = new_program();
    add_attention(p, "[[8,128,64],[8,64,64]]", "[[8,128,128],[8,128,64]]", ops);
    finish(p, &test_gpu);
    assert_int_equal(p->facts->attention_count, 0);
    expect_nothing(p, gt_rule_unfused_attention);
    free_program(p);
    gt_gpu_rates unknown = {.name = "", .compute_major = -1};
    p = new_program();
    add_attention(p, "[[8,128,64],[8,64,128]]", "[[8,128,128],[8,128,64]]", ops);
    finish(p, &unknown);
    expect_nothing(p, gt_rule_unfused_attention);
    free_program(p);
}

/* aten::_scaled_dot_product_attention_math, with its backward pass by sequence number. */
static void test_math_attention_with_backward(void **state)
{
    (void)state;
    program *p = new_program();
    uint32_t root = add_op(p, "aten::_scaled_dot_product_attention_math", 0, 50, GT_NONE, 0,
                           "\"Input Dims\":[[2,4,128,64],[2,4,128,64]],\"Input type\":" BF16_2);
    uint32_t mul = add_op(p, "aten::mul", 1, 5, root, 0, "\"Sequence number\":7");
    uint32_t other = add_op(p, "aten::mul", 60, 65, GT_NONE, 0, "\"Sequence number\":8");
    uint32_t node = add_op(p, "autograd::engine::evaluate_function: MulBackward0", 100, 120, GT_NONE,
                           GT_HOST_BACKWARD, "\"Sequence number\":7");
    uint32_t inner = add_op(p, "aten::mul", 101, 105, node, GT_HOST_BACKWARD, "");
    uint32_t next = add_op(p, "autograd::engine::evaluate_function: MulBackward0", 130, 140, GT_NONE,
                           GT_HOST_BACKWARD, "\"Sequence number\":8");
    uint32_t a = add_kernel(p, mul, "mul", 300000);
    add_kernel(p, other, "mul", 300000);
    uint32_t b = add_kernel(p, inner, "mul", 700000);
    add_kernel(p, next, "mul", 300000);
    finish(p, &test_gpu);
    double fused = 3.5 * 33554432.0 / 500;
    gt_finding f = expect(p, gt_rule_unfused_attention, "unfused_attention");
    expect_changes(&f, 2);
    expect_time(&f, a, 0.3 * fused);
    expect_time(&f, b, 0.7 * fused);
    free_finding(&f);
    free_program(p);
}

/* A head size that no fused kernel supports is odd_shapes. */
static void test_attention_of_an_odd_head(void **state)
{
    (void)state;
    program *p = new_program();
    uint32_t root = add_op(p, "aten::_scaled_dot_product_attention_math", 0, 50, GT_NONE, 0,
                           "\"Input Dims\":[[2,4,1024,65],[2,4,1024,65]],\"Input type\":" BF16_2);
    uint32_t bmm = add_op(p, "aten::bmm", 1, 5, root, 0,
                          "\"Input Dims\":[[8,1024,65],[8,65,1024]],\"Input type\":" BF16_2
                          ",\"Input Strides\":[[66560,65,1],[66560,1,65]]");
    uint32_t softmax = add_op(p, "aten::_softmax", 6, 9, root, 0, "");
    uint32_t a = add_kernel(p, bmm, "gemm", 30000000), b = add_kernel(p, softmax, "softmax", 10000000);
    finish(p, &test_gpu);
    expect_nothing(p, gt_rule_unfused_attention);
    gt_finding f = expect(p, gt_rule_odd_shapes, "odd_shapes");
    double fused = 4.0 * 8 * 1024 * 1024 * 65 / 500;
    expect_changes(&f, 2);
    expect_time(&f, b, 0.25 * fused);
    /* The product's own roofline time, 2 * 8 * 1024 * 1024 * 65 flops at 700 per ns, is shorter. */
    expect_time(&f, a, 2.0 * 8 * 1024 * 1024 * 65 / 700);
    assert_string_equal(f.evidence[1],
                        "attention head size 65 (not a multiple of 8) rules out fused attention");
    free_finding(&f);
    free_program(p);
}

/* ---- odd_shapes ---- */

static void test_odd_products(void **state)
{
    (void)state;
    program *p = new_program();
    uint32_t odd = op_with(p, "aten::mm", "[[1024,501],[501,1024]]", BF16_2, "[[501,1],[1024,1]]");
    uint32_t even = op_with(p, "aten::mm", "[[1024,512],[512,1024]]", BF16_2, "[[512,1],[1024,1]]");
    uint32_t thin = op_with(p, "aten::mm", "[[1024,33],[33,1024]]", BF16_2, "[[33,1],[1024,1]]");
    uint32_t fast = op_with(p, "aten::mm", "[[1024,503],[503,1024]]", BF16_2, "[[503,1],[1024,1]]");
    uint32_t add = op_with(p, "aten::add", "[[1024,501],[1024,501]]", BF16_2, "[[501,1],[501,1]]");
    uint32_t a = add_kernel(p, odd, "gemm", 9000000);
    add_kernel(p, even, "gemm", 9000000);
    add_kernel(p, thin, "gemm", 9000000);
    add_kernel(p, fast, "gemm", 1500000); /* 1.507 ms at the roofline */
    uint32_t b = add_kernel(p, add, "add", 7000);
    finish(p, &test_gpu);
    gt_finding f = expect(p, gt_rule_odd_shapes, "odd_shapes");
    expect_changes(&f, 2);
    expect_time(&f, a, 2.0 * 1024 * 1024 * 501 / 700);
    /* 3 * 1024 * 501 * 2 bytes at 800 per ns: 3.8 us. */
    expect_time(&f, b, 3.0 * 1024 * 501 * 2 / 800);
    assert_string_equal(f.evidence[0], "aten::mm [1024, 1024, 501] BFloat16: 4.50 ms");
    assert_int_equal(f.confidence, GT_CONFIDENCE_HIGH);
    free_finding(&f);
    free_program(p);
}

static void test_odd_convolutions(void **state)
{
    (void)state;
    program *p = new_program();
    uint32_t odd = op_with(p, "aten::cudnn_convolution", "[[8,63,64,64],[63,63,3,3]]", BF16_2, "");
    uint32_t image = op_with(p, "aten::cudnn_convolution", "[[8,3,64,64],[64,3,3,3]]", BF16_2, "");
    uint32_t a = add_kernel(p, odd, "pad", 1000000), b = add_kernel(p, odd, "conv", 9000000);
    add_kernel(p, image, "conv", 9000000);
    finish(p, &test_gpu);
    gt_finding f = expect(p, gt_rule_odd_shapes, "odd_shapes");
    double ns = 2.0 * 8 * 4096 * 63 * 63 * 9 / 450;
    expect_changes(&f, 2);
    expect_time(&f, a, 0.1 * ns);
    expect_time(&f, b, 0.9 * ns);
    assert_string_equal(f.evidence[0], "aten::cudnn_convolution weight [63, 63, 3, 3]: 5.00 ms");
    free_finding(&f);
    free_program(p);
}

/* Without shapes, by the kernel's name. */
static void test_odd_names(void **state)
{
    (void)state;
    program *p = new_program();
    uint32_t op = add_op(p, "aten::mm", 0, 9, GT_NONE, 0, "");
    uint32_t a =
        add_kernel(p, op, "cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_nn_align2", 8000);
    add_kernel(p, op, "cutlass_80_tensorop_bf16_s16816gemm_bf16_256x64_32x4_nn_align8", 8000);
    finish(p, &test_gpu);
    gt_finding f = expect(p, gt_rule_odd_shapes, "odd_shapes");
    expect_changes(&f, 1);
    expect_time(&f, a, 4000);
    free_finding(&f);
    free_program(p);
}

/* ---- fp32_gemm ---- */

static void test_float_products(void **state)
{
    (void)state;
    program *p = new_program();
    uint32_t mm = op_with(p, "aten::mm", "[[1024,512],[512,1024]]", FLOAT2, "");
    uint32_t half = op_with(p, "aten::mm", "[[1024,512],[512,1024]]", BF16_2, "");
    uint32_t add = op_with(p, "aten::add", "[[1024,512],[1024,512]]", FLOAT2, "");
    uint32_t step = op_with(p, "aten::add_", "[[1024,512],[1024,512]]", FLOAT2, "");
    uint32_t attention =
        op_with(p, "aten::_efficient_attention_forward", "[[2,128,4,64],[2,128,4,64]]", FLOAT2, "");
    p->events[step].flags = GT_HOST_OPTIMIZER;
    uint32_t a = add_kernel(p, mm, "sgemm", 9000000);
    add_kernel(p, half, "gemm", 9000000);
    uint32_t b = add_kernel(p, add, "add", 10000);
    add_kernel(p, step, "add", 10000);
    uint32_t c = add_kernel(p, attention, "fmha_cutlassF_f32_aligned_64x64_rf_sm80", 500000);
    finish(p, &test_gpu);
    gt_finding f = expect(p, gt_rule_fp32_gemm, "fp32_gemm");
    expect_changes(&f, 3);
    expect_time(&f, a, 2.0 * 1024 * 1024 * 512 / 700);
    expect_time(&f, b, 5000);
    expect_time(&f, c, 33554432.0 / 500);
    assert_non_null(strstr(f.title, "FP32: 4.75 ms"));
    assert_non_null(strstr(f.advice, "bfloat16"));
    assert_non_null(strstr(f.advice, "set_float32_matmul_precision"));
    assert_int_equal(f.confidence, GT_CONFIDENCE_HIGH);
    free_finding(&f);
    free_program(p);
}

/* Without shapes, the names of cuDNN's FP32 convolutions; those of half precision are similar. */
static void test_float_convolutions_by_name(void **state)
{
    (void)state;
    static const char *const names[] = {
        "volta_scudnn_128x64_relu_interior_nn_v1",
        "void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false, false, true>()",
        "void cudnn::detail::dgrad2d_alg1_1_engine<float, 128, 5, 5, 3, 3, 3, true>()",
        "void wgrad_alg0_engine<float, 512, 6, 5, 3, 3, 3, false, 512>()",
        "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>()",
        "void cudnn::cnn::conv2d_grouped_direct_kernel<false, true, false, false, 0, 0, int, float, float>()",
        "void implicit_convolve_sgemm<__half, __half, 1024, 5, 5, 3, 3, 3, 1, false, false, true>()",
        "void wgrad_alg0_engine<__half, 512, 6, 5, 3, 3, 3, false, 512>()",
        "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64"};
    enum { FLOATS = 6 };
    program *p = new_program();
    uint32_t kernels[GT_LENGTH(names)];
    for (size_t i = 0; i < GT_LENGTH(names); i++)
        kernels[i] = add_kernel(
            p, add_op(p, "aten::cudnn_convolution", 10.0 * (double)i, 10.0 * (double)i + 9, GT_NONE, 0, ""),
            names[i], 9000000);
    finish(p, &test_gpu);
    gt_finding f = expect(p, gt_rule_fp32_gemm, "fp32_gemm");
    expect_changes(&f, FLOATS);
    for (size_t i = 0; i < FLOATS; i++) expect_time(&f, kernels[i], 900000);
    free_finding(&f);
    free_program(p);
}

/* GPUs without matrix units gain nothing; those before Ampere have fp16 only. */
static void test_float_products_of_old_gpus(void **state)
{
    (void)state;
    gt_gpu_rates pascal = test_gpu, volta = test_gpu, amd = test_gpu;
    pascal.compute_major = 6;
    volta.compute_major = 7;
    amd.compute_major = -1;
    amd.is_amd = true;
    const gt_gpu_rates *gpus[] = {&pascal, &volta, &amd};
    for (size_t i = 0; i < GT_LENGTH(gpus); i++) {
        program *p = new_program();
        add_kernel(p, op_with(p, "aten::mm", "[[1024,512],[512,1024]]", FLOAT2, ""), "sgemm", 9000000);
        finish(p, gpus[i]);
        if (gpus[i] == &pascal)
            expect_nothing(p, gt_rule_fp32_gemm);
        else {
            gt_finding f = expect(p, gt_rule_fp32_gemm, "fp32_gemm");
            assert_int_equal(strstr(f.advice, "float16)") && !strstr(f.advice, "bfloat16"),
                             gpus[i] == &volta);
            free_finding(&f);
        }
        free_program(p);
    }
}

/* Without types, by the kernel's name. */
static void test_float_names(void **state)
{
    (void)state;
    program *p = new_program();
    uint32_t op = add_op(p, "aten::mm", 0, 9, GT_NONE, 0, "");
    uint32_t a = add_kernel(p, op, "ampere_sgemm_128x64_nn", 10000);
    uint32_t b = add_kernel(p, op, "cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4", 10000);
    add_kernel(p, op, "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_nn", 10000);
    finish(p, &test_gpu);
    gt_finding f = expect(p, gt_rule_fp32_gemm, "fp32_gemm");
    expect_changes(&f, 2);
    expect_time(&f, a, 1000);
    expect_time(&f, b, 5000);
    assert_int_equal(f.confidence, GT_CONFIDENCE_MEDIUM);
    free_finding(&f);
    free_program(p);
}

/* Convolutions: by the ratio of the rates, but not below the roofline in half precision. */
static void test_float_convolutions(void **state)
{
    (void)state;
    program *p = new_program();
    const char *dims = "[[8,64,64,64],[64,64,3,3]]";
    uint32_t strict = op_with(p, "aten::cudnn_convolution", dims, FLOAT2, "");
    uint32_t tf32 = op_with(p, "aten::cudnn_convolution", dims, FLOAT2, "");
    uint32_t fast = op_with(p, "aten::cudnn_convolution", dims, FLOAT2, "");
    uint32_t a = add_kernel(p, strict, "implicit_gemm_f32f32", 90000000);
    uint32_t b = add_kernel(p, tf32, "implicit_gemm_f32f32_tf32f32", 20000000);
    uint32_t c = add_kernel(p, fast, "implicit_gemm_f32f32", 6000000),
             d = add_kernel(p, fast, "split", 2000000);
    finish(p, &test_gpu);
    double roofline = 2.0 * 8 * 4096 * 64 * 64 * 9 / 450; /* 5.4 ms */
    gt_finding f = expect(p, gt_rule_fp32_gemm, "fp32_gemm");
    expect_changes(&f, 4);
    expect_time(&f, a, 9000000); /* a tenth */
    expect_time(&f, b, 10000000);
    expect_time(&f, c, 0.75 * roofline);
    expect_time(&f, d, 0.25 * roofline);
    free_finding(&f);
    free_program(p);
}

/* ---- layout_copies and dtype_casts ---- */

/* aten::NAME around aten::copy_, which has a kernel. Returns the kernel. */
static uint32_t add_copy(program *p, const char *name, const char *dims, const char *strides, int64_t dur_ns)
{
    double start = 10.0 * (double)p->event_count;
    char args[512];
    snprintf(args, sizeof args, "\"Input Dims\":[%s,%s],\"Input type\":" BF16_2 ",\"Input Strides\":%s", dims,
             dims, strides);
    uint32_t outer = add_op(p, name, start, start + 9, GT_NONE, 0, "");
    uint32_t copy = add_op(p, "aten::copy_", start + 1, start + 8, outer, 0, args);
    return add_kernel(p, copy, "elementwise_kernel", dur_ns);
}

#define TRANSPOSED "[[65536,256,1],[65536,1,256]]"
#define SAME       "[[65536,256,1],[65536,256,1]]"

static uint32_t add_reader(program *p, const char *name, const char *dims)
{
    return add_kernel(p, op_with(p, name, dims, BF16_2, ""), "reader", 1000);
}

/* What reads the copy decides. */
static void test_layout_copies_by_reader(void **state)
{
    (void)state;
    const char *dims = "[4,256,256]";
    static const struct {
        const char *reader, *dims;
        bool is_removable;
    } cases[] = {
        {"aten::_flash_attention_forward", "[[4,256,4,64],[4,256,4,64]]", true},
        {"aten::relu", "[[4,256,256]]", true},
        {"aten::add", "[[4,256,256],[4,256,256],[]]", false},
        {"aten::mm", "[[1024,256],[256,512]]", false}, /* a linear layer would copy itself */
        {"aten::_softmax", "[[4,256,256],[],[]]", false},
    };
    for (size_t i = 0; i < GT_LENGTH(cases); i++) {
        program *p = new_program();
        uint32_t copy = add_copy(p, "aten::contiguous", dims, TRANSPOSED, 50000);
        add_reader(p, cases[i].reader, cases[i].dims);
        finish(p, &test_gpu);
        gt_finding f = expect(p, gt_rule_layout_copies, "layout_copies");
        assert_int_equal(f.confidence, cases[i].is_removable ? GT_CONFIDENCE_MEDIUM : GT_CONFIDENCE_LOW);
        expect_changes(&f, 1);
        expect_time(&f, copy, 0);
        free_finding(&f);
        free_program(p);
    }
}

/* Two transpositions that undo each other, a clone, and a copy that a reshape makes. */
static void test_removable_layout_copies(void **state)
{
    (void)state;
    const char *dims = "[4,256,256]";
    program *p = new_program();
    uint32_t a = add_copy(p, "aten::contiguous", dims, TRANSPOSED, 50000);
    uint32_t b = add_copy(p, "aten::contiguous", dims, TRANSPOSED, 50000);
    add_reader(p, "aten::mm", "[[1024,256],[256,512]]");
    uint32_t c = add_copy(p, "aten::clone", dims, SAME, 30000);
    add_reader(p, "aten::add", "[[4,256,256],[4,256,256]]");
    add_copy(p, "aten::reshape", dims, TRANSPOSED, 70000);
    add_reader(p, "aten::mm", "[[1024,256],[256,512]]");
    finish(p, &test_gpu);
    gt_finding f = expect(p, gt_rule_layout_copies, "layout_copies");
    assert_int_equal(f.confidence, GT_CONFIDENCE_MEDIUM);
    expect_changes(&f, 3);
    expect_time(&f, a, 0);
    expect_time(&f, b, 0);
    expect_time(&f, c, 0);
    assert_non_null(strstr(f.title, "0.07 ms")); /* 130 us in two steps */
    assert_non_null(strstr(f.evidence[f.evidence_count - 1], "not counted"));
    assert_non_null(strstr(f.evidence[f.evidence_count - 1], "0.04 ms")); /* 70 us in two steps */
    free_finding(&f);
    free_program(p);
}

/* Copies of the backward pass follow from the forward pass. */
static void test_backward_copies_are_a_hint(void **state)
{
    (void)state;
    program *p = new_program();
    uint32_t copy = add_copy(p, "aten::contiguous", "[4,256,256]", SAME, 50000);
    for (size_t i = 0; i < p->event_count; i++) p->events[i].flags = GT_HOST_BACKWARD;
    add_reader(p, "aten::relu", "[[4,256,256]]");
    finish(p, &test_gpu);
    gt_finding f = expect(p, gt_rule_layout_copies, "layout_copies");
    assert_int_equal(f.confidence, GT_CONFIDENCE_LOW);
    expect_time(&f, copy, 0);
    free_finding(&f);
    free_program(p);
}

/* Convolutions that convert images: channels_last also makes batch norm faster. */
static void test_conversions_of_images(void **state)
{
    (void)state;
    const char *first = "[[262144,4096,64,1],[576,9,3,1]]", *last = "[[262144,1,4096,64],[576,9,3,1]]";
    const char *dims = "[[8,64,64,64],[64,64,3,3]]";
    program *p = new_program();
    uint32_t conv = op_with(p, "aten::cudnn_convolution", dims, BF16_2, first);
    uint32_t norm = op_with(p, "aten::native_batch_norm", "[[8,64,64,64],[64]]", BF16_2, first);
    uint32_t backward =
        op_with(p, "aten::native_batch_norm_backward", "[[8,64,64,64],[8,64,64,64]]", BF16_2, first);
    uint32_t fine = op_with(p, "aten::native_batch_norm", "[[8,64,64,64],[64]]", BF16_2, last);
    uint32_t a = add_kernel(p, conv, "void cudnn::nchwToNhwcKernel<bfloat16>", 100000);
    add_kernel(p, conv, "implicit_gemm", 100000);
    uint32_t b = add_kernel(p, norm, "statistics", 300000), c = add_kernel(p, norm, "transform", 100000);
    uint32_t d = add_kernel(p, backward, "backward", 500000);
    add_kernel(p, fine, "statistics", 100000);
    finish(p, &test_gpu);
    gt_finding f = expect(p, gt_rule_layout_copies, "layout_copies");
    double image = 8.0 * 64 * 64 * 64 * 2; /* bytes; 400 per ns */
    expect_changes(&f, 4);
    expect_time(&f, a, 0);
    expect_time(&f, b, 0.75 * 3 * image / 400);
    expect_time(&f, c, 0.25 * 3 * image / 400);
    expect_time(&f, d, 5 * image / 400);
    assert_non_null(strstr(f.advice, "channels_last"));
    assert_int_equal(f.confidence, GT_CONFIDENCE_MEDIUM);
    free_finding(&f);
    free_program(p);
    /* The images are channels last already: another reason, here FP32 kernels, makes cuDNN convert them. */
    p = new_program();
    conv = op_with(p, "aten::cudnn_convolution", dims, BF16_2, last);
    add_kernel(p, conv, "void cudnn::nhwcToNchwKernel<float>", 100000);
    finish(p, &test_gpu);
    f = expect(p, gt_rule_layout_copies, "layout_copies");
    assert_int_equal(f.confidence, GT_CONFIDENCE_LOW);
    free_finding(&f);
    free_program(p);
}

static void test_casts(void **state)
{
    (void)state;
    program *p = new_program();
    uint32_t cast = op_with(p, "aten::copy_", "[[4,256],[4,256]]", "[\"float\"," BF16 "]", "");
    uint32_t same = op_with(p, "aten::copy_", "[[4,256],[4,256]]", FLOAT2, "");
    uint32_t a = add_kernel(p, cast, "copy_kernel", 20000);
    add_kernel(p, same, "copy_kernel", 20000);
    finish(p, &test_gpu);
    gt_finding f = expect(p, gt_rule_dtype_casts, "dtype_casts");
    expect_changes(&f, 1);
    expect_time(&f, a, 0);
    assert_int_equal(f.confidence, GT_CONFIDENCE_LOW);
    assert_string_equal(f.evidence[0], "aten::copy_ [4, 256]: 0.01 ms");
    free_finding(&f);
    free_program(p);
    /* At most 1 % of the time is not worth a word. */
    p = new_program();
    add_kernel(p, op_with(p, "aten::copy_", "[[4,256],[4,256]]", "[\"float\"," BF16 "]", ""), "copy_kernel",
               1000);
    add_kernel(p, op_with(p, "aten::relu", "[[4,256]]", FLOAT2, ""), "relu", 99000);
    finish(p, &test_gpu);
    expect_nothing(p, gt_rule_dtype_casts);
    expect_nothing(p, gt_rule_layout_copies);
    free_program(p);
}

/* ---- exposed_comm ---- */

static void expect_exposed(bool has_launches)
{
    program *p = new_program();
    uint32_t op = has_launches ? add_op(p, "aten::mm", 0, 9, GT_NONE, 0, "") : GT_NONE;
    /* gemm 0-100, collective 50-180, gemm 120-150, collective 170-200 us. */
    const int64_t times[4][2] = {{0, 100}, {50, 130}, {120, 30}, {170, 30}};
    for (size_t i = 0; i < 4; i++) {
        p->clock_ns = times[i][0] * 1000;
        add_kernel(p, op, i % 2 ? "ncclDevKernel_AllReduce" : "gemm", times[i][1] * 1000);
        p->kernels[i].communicates = i % 2;
    }
    finish(p, &test_gpu);
    gt_finding f = expect(p, gt_rule_exposed_comm, "exposed_comm");
    /* Alone: 100-120 and 150-180, then 180-200. */
    expect_changes(&f, 2);
    expect_time(&f, 1, 80000);
    expect_time(&f, 3, 0);           /* another collective hides nothing */
    assert_true(f.most_ns == 35000); /* 70 us in two steps */
    assert_true(f.gain_is_given == !has_launches && f.gain_ns == f.most_ns);
    assert_non_null(strstr(f.evidence[1], "0.08 ms, 44% of it exposed"));
    free_finding(&f);
    free_program(p);
}

static void test_exposed_communication(void **state)
{
    (void)state;
    expect_exposed(true);
    expect_exposed(false); /* then nobody knows what else limits the step */
    program *p = new_program();
    uint32_t op = add_op(p, "aten::mm", 0, 9, GT_NONE, 0, "");
    add_kernel(p, op, "gemm", 100000);
    p->clock_ns = 10000;
    add_kernel(p, op, "ncclDevKernel_AllReduce", 50000);
    p->kernels[1].communicates = true;
    p->clock_ns = 100000;
    finish(p, &test_gpu);
    expect_nothing(p, gt_rule_exposed_comm);
    free_program(p);
}

/* ---- low_efficiency ---- */

static void test_low_efficiency(void **state)
{
    (void)state;
    program *p = new_program();
    uint32_t mm = op_with(p, "aten::mm", "[[1024,512],[512,1024]]", BF16_2, "");
    uint32_t conv = op_with(p, "aten::cudnn_convolution", "[[8,64,64,64],[64,64,3,3]]", BF16_2, "");
    uint32_t tiny = op_with(p, "aten::mm", "[[16,16],[16,16]]", BF16_2, "");
    uint32_t a = add_kernel(p, mm, "gemm", 4000000);
    add_kernel(p, mm, "gemm", 3000000); /* less than twice 1.534 ms */
    uint32_t b = add_kernel(p, conv, "conv", 9000000), c = add_kernel(p, conv, "conv", 8000000);
    add_kernel(p, tiny, "gemm", 9900); /* less than twice the shortest time */
    uint32_t claimed = add_kernel(p, mm, "gemm", 9000000);
    finish(p, &test_gpu);
    gt_edit_op edited = {.op = claimed, .dur_ns = 1};
    gt_finding other = {.id = "other", .edit = {.ops = &edited, .op_count = 1}};
    p->input.found = &other;
    p->input.found_count = 1;
    gt_finding f = expect(p, gt_rule_low_efficiency, "low_efficiency");
    expect_changes(&f, 3);
    expect_time(&f, a, 2.0 * 1024 * 1024 * 512 / 700);
    expect_time(&f, b, 2.0 * 8 * 4096 * 64 * 64 * 9 / 450 / 2); /* two kernels share the time */
    expect_time(&f, c, 2.0 * 8 * 4096 * 64 * 64 * 9 / 450 / 2);
    assert_int_equal(f.confidence, GT_CONFIDENCE_LOW);
    assert_string_equal(f.evidence[1], "aten::mm [1024, 1024, 512]: 1.23 ms above the roofline time");
    free_finding(&f);
    free_program(p);
}

/* ---- nothing at all ---- */

static void test_empty_schedules(void **state)
{
    (void)state;
    gt_rule_function *rules[] = {gt_rule_recompute,    gt_rule_unfused_attention, gt_rule_odd_shapes,
                                 gt_rule_fp32_gemm,    gt_rule_layout_copies,     gt_rule_dtype_casts,
                                 gt_rule_exposed_comm, gt_rule_low_efficiency};
    for (int launched = 0; launched < 2; launched++) {
        program *p = new_program();
        if (launched) add_kernel(p, GT_NONE, "ampere_sgemm_128x64_nn", 1000); /* without a launch */
        finish(p, &test_gpu);
        for (size_t i = 0; i < GT_LENGTH(rules); i++) expect_nothing(p, rules[i]);
        free_program(p);
    }
}

/* ---- GPUs ---- */

static void expect_rates(const char *name, double half, double tf32, double vector, double bytes)
{
    gt_gpu_rates rates = gt_gpu_rates_find(name, NULL, -1, false);
    assert_string_equal(rates.name, name);
    /* To 5 %: what sources round differently is no reason to fail. */
    if (fabs(rates.half_flops / 1e3 / half - 1) > 0.05 || fabs(rates.tf32_flops / 1e3 / tf32 - 1) > 0.05 ||
        fabs(rates.float_flops / 1e3 / vector - 1) > 0.05 || fabs(rates.bytes / 1e3 / bytes - 1) > 0.05)
        fail_msg("%s: %g %g %g TFLOP/s, %g TB/s", name, rates.half_flops / 1e3, rates.tf32_flops / 1e3,
                 rates.float_flops / 1e3, rates.bytes / 1e3);
}

/* Figures of the vendors' data sheets. */
static void test_rates(void **state)
{
    (void)state;
    expect_rates("NVIDIA H200", 989, 494, 67, 4.8);
    expect_rates("NVIDIA H100 80GB HBM3", 989, 494, 67, 3.35);
    expect_rates("NVIDIA B200", 2250, 1125, 75, 7.7);
    expect_rates("NVIDIA A100-SXM4-80GB", 312, 156, 19.5, 2.04);
    expect_rates("NVIDIA A100-SXM4-40GB", 312, 156, 19.5, 1.56);
    expect_rates("NVIDIA A100-PG509-200", 312, 156, 19.5, 2.04);
    expect_rates("Tesla V100-SXM2-16GB", 125, 15.7, 15.7, 0.9);
    expect_rates("NVIDIA A10", 125, 62, 31, 0.6);
    expect_rates("AMD Instinct MI300X", 1307, 163, 163, 5.3);
    expect_rates("AMD Instinct MI300X VF", 1307, 163, 163, 5.3);
    expect_rates("AMD Instinct MI325X", 1307, 163, 163, 6.0);
    expect_rates("AMD Instinct MI350X", 2300, 144, 144, 8.0);
    expect_rates("AMD Instinct MI355X", 2500, 157, 157, 8.0);
    gt_gpu_rates unknown = gt_gpu_rates_find("AMD Radeon Graphics", NULL, -1, true);
    assert_true(unknown.half_flops == 0 && unknown.bytes == 0 && unknown.is_amd);
    unknown = gt_gpu_rates_find(NULL, NULL, -1, false);
    assert_string_equal(unknown.name, "");
    gt_gpu_rates chosen = gt_gpu_rates_find("", gt_gpu_arch_match("H200"), -1, false);
    assert_true(chosen.half_flops > 0 && gt_gpu_has_matrix_units(&chosen));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recompute),
        cmocka_unit_test(test_unfused_attention),
        cmocka_unit_test(test_attention_that_is_not_slow_or_none),
        cmocka_unit_test(test_math_attention_with_backward),
        cmocka_unit_test(test_attention_of_an_odd_head),
        cmocka_unit_test(test_odd_products),
        cmocka_unit_test(test_odd_convolutions),
        cmocka_unit_test(test_odd_names),
        cmocka_unit_test(test_float_products),
        cmocka_unit_test(test_float_convolutions_by_name),
        cmocka_unit_test(test_float_products_of_old_gpus),
        cmocka_unit_test(test_float_names),
        cmocka_unit_test(test_float_convolutions),
        cmocka_unit_test(test_layout_copies_by_reader),
        cmocka_unit_test(test_removable_layout_copies),
        cmocka_unit_test(test_backward_copies_are_a_hint),
        cmocka_unit_test(test_conversions_of_images),
        cmocka_unit_test(test_casts),
        cmocka_unit_test(test_exposed_communication),
        cmocka_unit_test(test_low_efficiency),
        cmocka_unit_test(test_empty_schedules),
        cmocka_unit_test(test_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
