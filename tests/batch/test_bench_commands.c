/* Commands of benchmark programs, from the arguments of ops and from logs of libraries; times from the output
 * of the programs. Expected lines are the check cases of the specification, or follow from the shapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "batch/bench_commands.h"

#include <math.h>
#include <stdio.h>

static gt_str text(const char *bytes)
{
    return (gt_str){bytes, strlen(bytes)};
}

/* The command of an op; "" if there is none. */
static const char *command(gt_bench bench, const char *name, const char *dims, const char *types,
                           const char *strides, const char *concrete)
{
    static gt_buffer out;
    gt_replay_op op = {name, text(dims), text(types), text(strides), text(concrete)};
    out.len = 0;
    bool has_command = gt_bench_command(bench, &op, &out);
    assert_int_equal(has_command, out.len > 0);
    return gt_buffer_str(&out).bytes;
}

static void has(const char *line, const char *part)
{
    if (!strstr(line, part)) fail_msg("no '%s' in '%s'", part, line);
}

static void has_not(const char *line, const char *part)
{
    if (strstr(line, part)) fail_msg("'%s' in '%s'", part, line);
}

/* ---- matrix products ---- */

static void swaps_the_operands_of_a_product(void **state)
{
    (void)state;
    const char *line = command(GT_BENCH_HIPBLASLT, "aten::mm", "[[8944,1024],[1024,2816]]",
                               "[\"c10::BFloat16\",\"c10::BFloat16\"]", "[[1024,1],[1,1024]]", "[\"\",\"\"]");
    assert_string_equal(line, "hipblaslt-bench --api_method c -m 2816 -n 8944 -k 1024 --lda 1024 --ldb 1024 "
                              "--ldc 2816 --ldd 2816 --stride_a 0 "
                              "--stride_b 0 --stride_c 0 --stride_d 0 --alpha 1.000000 --beta 0.000000 "
                              "--transA T --transB N --batch_count 1 "
                              "--scaleA 0 --scaleB 0 --a_type bf16_r --b_type bf16_r --c_type bf16_r "
                              "--d_type bf16_r --scale_type f32_r "
                              "--bias_type f32_r --compute_type f32_r --algo_method heuristic "
                              "--requested_solution 1 --activation_type none "
                              "--any_stride --rotating 512 --cold_iters 100 --iters 100 --flush "
                              "--initialization trig_float --use_gpu_timer "
                              "--print_kernel_info");
}

/* With a factor of 0 nothing is added; a vector with a factor other than 1 is added like a matrix. */
static void knows_the_factor_of_what_is_added(void **state)
{
    (void)state;
    static const struct {
        const char *op, *dims, *strides, *factor, *beta;
        bool bias;
    } cases[] = {
        {"aten::baddbmm", "[[4,3,7],[4,3,5],[4,5,7],[],[]]", "[[21,7,1],[15,5,1],[35,7,1],[],[]]", "0",
         " --beta 0.000000 ", false},
        {"aten::baddbmm", "[[4,3,7],[4,3,5],[4,5,7],[],[]]", "[[21,7,1],[15,5,1],[35,7,1],[],[]]", "0.",
         " --beta 0.000000 ", false},
        {"aten::baddbmm", "[[4,3,7],[4,3,5],[4,5,7],[],[]]", "[[21,7,1],[15,5,1],[35,7,1],[],[]]", "0.5",
         " --beta 0.500000 ", false},
        {"aten::baddbmm", "[[4,3,7],[4,3,5],[4,5,7],[],[]]", "[[21,7,1],[15,5,1],[35,7,1],[],[]]", "",
         " --beta 1.000000 ", false},
        {"aten::addmm", "[[7],[3,5],[5,7],[],[]]", "[[1],[5,1],[7,1],[],[]]", "0", " --beta 0.000000 ",
         false},
        {"aten::addmm", "[[7],[3,5],[5,7],[],[]]", "[[1],[5,1],[7,1],[],[]]", "1.", " --beta 0.000000 ",
         true},
        {"aten::addmm", "[[7],[3,5],[5,7],[],[]]", "[[1],[5,1],[7,1],[],[]]", "2", " --beta 2.000000 ",
         false},
    };
    for (size_t i = 0; i < GT_LENGTH(cases); i++) {
        char concrete[100];
        snprintf(concrete, sizeof concrete, "[\"\",\"\",\"\",\"%s\",\"1\"]", cases[i].factor);
        const char *line =
            command(GT_BENCH_HIPBLASLT, cases[i].op, cases[i].dims,
                    "[\"float\",\"float\",\"float\",\"Scalar\",\"Scalar\"]", cases[i].strides, concrete);
        has(line, cases[i].beta);
        if (cases[i].bias)
            has(line, " --bias_vector ");
        else
            has_not(line, "bias_vector");
    }
}

static void knows_batches_biases_and_types(void **state)
{
    (void)state;
    const char *line = command(GT_BENCH_HIPBLASLT, "aten::baddbmm", "[[4,3,7],[4,3,5],[4,5,7],[],[]]",
                               "[\"float\",\"float\",\"float\",\"Scalar\",\"Scalar\"]",
                               "[[21,7,1],[60,1,12],[35,7,1],[],[]]", "[\"\",\"\",\"\",\"1\",\"1\"]");
    has(line, " -m 7 -n 3 -k 5 --lda 7 --ldb 12 --ldc 7 --ldd 7 --stride_a 35 --stride_b 60 --stride_c 21 "
              "--stride_d 21 ");
    has(line, " --beta 1.000000 --transA N --transB T --batch_count 4 ");
    has_not(line, "bias_vector");
    line = command(GT_BENCH_HIPBLASLT, "aten::addmm", "[[512],[141,512],[512,512],[],[]]",
                   "[\"c10::Half\",\"c10::Half\",\"c10::Half\",\"Scalar\",\"Scalar\"]",
                   "[[1],[512,1],[1,512],[],[]]", "");
    has(line, " --beta 0.000000 ");
    has(line, " --bias_vector --bias_source d --a_type f16_r ");
    has(line, " --bias_type f16_r ");
    line = command(GT_BENCH_HIPBLASLT, "aten::addmm", "[[141,512],[141,512],[512,512]]",
                   "[\"double\",\"double\",\"double\"]", "[[512,1],[512,1],[512,1]]", "");
    has(line, " --beta 1.000000 ");
    has(line, " --a_type f64_r ");
    has(line, " --compute_type f64_r ");
    line = command(GT_BENCH_HIPBLASLT, "aten::_scaled_mm", "[[16,32],[32,64],[],[]]",
                   "[\"c10::Float8_e4m3fn\",\"c10::Float8_e5m2\",\"float\",\"float\"]",
                   "[[32,1],[1,32],[],[]]", "");
    has(line, " --scaleA 1 --scaleB 1 --a_type bf8_r --b_type f8_r --c_type bf16_r --d_type bf16_r ");
}

/* Strides that do not describe a matrix mean a copy; a leading dimension is at least the extent. */
static void unusual_strides_count_as_copied(void **state)
{
    (void)state;
    const char *types = "[\"float\",\"float\"]";
    has(command(GT_BENCH_HIPBLASLT, "aten::mm", "[[6,4],[4,8]]", types, "[[8,2],[16,2]]", ""),
        " --lda 8 --ldb 4 --ldc 8 --ldd 8 ");
    has(command(GT_BENCH_HIPBLASLT, "aten::mm", "[[1,4],[4,1]]", types, "[[1,1],[1,1]]", ""),
        " --lda 1 --ldb 4 --ldc 1 --ldd 1 ");
    has(command(GT_BENCH_HIPBLASLT, "aten::mm", "[[6,4],[4,8]]", types, "", ""),
        " --lda 8 --ldb 4 --ldc 8 --ldd 8 ");
}

static void gives_no_command_for_invalid_products(void **state)
{
    (void)state;
    static const char *const odd[][4] = {
        {"aten::mm", "", "", ""},
        {"aten::mm", "[[2,3],[4,5]]", "[\"float\",\"float\"]", "[[3,1],[5,1]]"},
        {"aten::mm", "[[2,3],[3,5]]", "[\"float\",\"c10::complex<float>\"]", "[[3,1],[5,1]]"},
        {"aten::mm", "[[2,0],[0,5]]", "[\"float\",\"float\"]", "[[3,1],[5,1]]"},
        {"aten::mm", "[[-2,3],[3,5]]", "[\"float\",\"float\"]", "[[3,1],[5,1]]"},
        {"aten::mm", "[[2,\"3\"],[3,5]]", "[\"float\",\"float\"]", "[[3,1],[5,1]]"},
        {"aten::mm", "[[9223372036854775807,3],[3,9223372036854775807]]", "[\"float\",\"float\"]",
         "[[3,1],[5,1]]"},
        {"aten::bmm", "[[2,2,3],[3,3,5]]", "[\"float\",\"float\"]", "[[6,3,1],[15,5,1]]"},
        {"aten::add", "[[2,3],[3,5]]", "[\"float\",\"float\"]", "[[3,1],[5,1]]"},
        {"aten::mm; rm", "[[2,3],[3,5]]", "[\"float\",\"float\"]", "[[3,1],[5,1]]"},
    };
    for (size_t i = 0; i < GT_LENGTH(odd); i++)
        assert_string_equal(command(GT_BENCH_HIPBLASLT, odd[i][0], odd[i][1], odd[i][2], odd[i][3], ""), "");
}

/* ---- convolutions ---- */

#define TYPES(type) "[\"" type "\",\"" type "\",\"\",\"ScalarList\"]"

static void writes_convolutions(void **state)
{
    (void)state;
    assert_string_equal(
        command(GT_BENCH_MIOPEN, "aten::convolution", "[[128,3,32,32],[64,3,3,3],[],[],[],[],[],[],[]]",
                TYPES("c10::BFloat16"), "[[3072,1024,32,1],[27,9,3,1],[],[],[],[],[],[],[]]",
                "[\"\",\"\",\"\",\"[1, 1]\",\"[1, 1]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\"]"),
        "MIOpenDriver convbfp16 -n 128 -c 3 -H 32 -W 32 -k 64 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -m "
        "conv -g 1 -F 1 -t 1");
    /* three dimensions, channels last, one number for all dimensions */
    assert_string_equal(
        command(GT_BENCH_MIOPEN, "aten::convolution", "[[2,8,4,16,20],[12,4,3,5,7]]", TYPES("c10::Half"),
                "[[10240,1,2560,160,8],[420,105,35,7,1]]",
                "[\"\",\"\",\"\",\"[2]\",\"[1, 2, 3]\",\"[1, 1, 1]\",\"False\",\"[0, 0, 0]\",\"2\"]"),
        "MIOpenDriver convfp16 -n 2 -c 8 --in_d 4 -H 16 -W 20 -k 12 --fil_d 3 -y 5 -x 7 --pad_d 1 -p 2 -q 3 "
        "--conv_stride_d 2 -u 2 -v 2 --dilation_d 1 -l 1 -j 1 --spatial_dim 3 --in_layout NDHWC --out_layout "
        "NDHWC -m conv "
        "-g 2 -F 1 -t 1");
    /* transposed: the weight has the outputs of one of two groups; one more row and column of output */
    assert_string_equal(
        command(GT_BENCH_MIOPEN, "aten::convolution", "[[2,16,8,8],[16,4,3,3]]", TYPES("c10::BFloat16"),
                "[[1024,64,8,1],[36,9,3,1]]",
                "[\"\",\"\",\"\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\",\"True\",\"[1, 1]\",\"2\"]"),
        "MIOpenDriver convbfp16 -n 2 -c 16 -H 8 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -l 1 -j 1 "
        "--trans_output_pad_h 1 --trans_output_pad_w 1 -m trans -g 2 -F 1 -t 1");
    assert_string_equal(
        command(GT_BENCH_MIOPEN, "aten::convolution", "[[2,8,100],[8,12,5]]", TYPES("float"),
                "[[800,100,1],[60,5,1]]", "[\"\",\"\",\"\",\"[3]\",\"[2]\",\"[1]\",\"True\",\"[2]\",\"1\"]"),
        "MIOpenDriver conv -n 2 -c 8 -H 1 -W 100 -k 12 -y 1 -x 5 -p 0 -q 2 -u 1 -v 3 -l 1 -j 1 "
        "--trans_output_pad_h 0 --trans_output_pad_w 2 -m trans -g 1 -F 1 -t 1");
    /* one dimension, transposed */
    assert_string_equal(
        command(GT_BENCH_MIOPEN, "aten::convolution", "[[2,8,100],[8,12,5]]", TYPES("float"),
                "[[800,100,1],[60,5,1]]", "[\"\",\"\",\"\",\"[3]\",\"[2]\",\"[1]\",\"True\",\"[0]\",\"1\"]"),
        "MIOpenDriver conv -n 2 -c 8 -H 1 -W 100 -k 12 -y 1 -x 5 -p 0 -q 2 -u 1 -v 3 -l 1 -j 1 -m trans -g 1 "
        "-F 1 -t 1");
}

/* The layout options of a convolution; input and weight are "[sizes]" and "[strides]". */
static const char *layouts(const char *sizes, const char *strides, bool transposed)
{
    static char found[200];
    char dims[200], steps[200], concrete[200];
    snprintf(dims, sizeof dims, "[%s]", sizes);
    snprintf(steps, sizeof steps, "[%s]", strides);
    snprintf(concrete, sizeof concrete, "[\"\",\"\",\"\",\"[1]\",\"[0]\",\"[1]\",\"%s\",\"[0]\",\"1\"]",
             transposed ? "True" : "False");
    const char *made = command(GT_BENCH_MIOPEN, "aten::convolution", dims, TYPES("float"), steps, concrete);
    assert_string_not_equal(made, "");
    found[0] = 0;
    for (const char *option = strstr(made, "_layout"); option; option = strstr(option + 1, "_layout")) {
        char name[8], layout[8];
        const char *start = option;
        while (start[-1] != '-') start--;
        assert_int_equal(sscanf(start, "%7[a-z]_layout %7s", name, layout), 2);
        strcat(strcat(strcat(strcat(found, *found ? " " : ""), name), "="), layout);
    }
    return found;
}

/* Strides as torch gives them: contiguous(), contiguous(memory_format=torch.channels_last), or slices. */
static void layouts_are_read_from_strides(void **state)
{
    (void)state;
    static const struct {
        const char *sizes, *strides, *expected;
    } cases[] = {
        /* contiguous */
        {"[8,256,14,14],[128,256,1,1]", "[50176,196,14,1],[256,1,1,1]", ""},
        {"[8,256,1,1],[128,256,1,1]", "[256,1,1,1],[256,1,1,1]", ""},
        {"[8,1,14,14],[16,1,3,3]", "[196,196,14,1],[9,9,3,1]", ""},
        {"[8,64,100],[32,64,1]", "[6400,100,1],[64,1,1]", ""},
        {"[2,8,4,6,6],[16,8,1,1,1]", "[1152,144,36,6,1],[8,1,1,1,1]", ""},
        {"[1,8,1,14],[16,8,1,3]", "[112,14,14,1],[24,3,3,1]", ""},
        /* both contiguous and channels-last, whatever the strides of sizes 1 */
        {"[8,256,14,14],[128,256,1,1]", "[50176,196,14,1],[256,1,256,256]", ""},
        {"[8,1,14,14],[16,1,3,3]", "[196,1,14,1],[9,1,3,1]", ""},
        {"[1,1,1,1],[1,1,1,1]", "[1,1,1,1],[7,1,5,3]", ""},
        /* channels-last */
        {"[8,256,14,14],[128,256,3,3]", "[50176,1,3584,256],[2304,1,768,256]", "in=NHWC fil=NHWC out=NHWC"},
        {"[8,256,14,14],[128,256,1,1]", "[50176,1,3584,256],[256,1,256,256]", "in=NHWC out=NHWC"},
        {"[8,256,14,14],[128,256,3,3]", "[50176,196,14,1],[2304,1,768,256]", "fil=NHWC out=NHWC"},
        {"[8,256,1,14],[128,256,1,3]", "[3584,1,3584,256],[768,1,768,256]", "in=NHWC fil=NHWC out=NHWC"},
        {"[1,256,14,14],[1,256,3,3]", "[1,1,3584,256],[5,1,768,256]", "in=NHWC fil=NHWC out=NHWC"},
        {"[8,64,100],[32,64,3]", "[6400,1,64],[192,1,64]", "in=NHWC fil=NHWC out=NHWC"},
        {"[2,8,4,6,6],[16,8,3,3,3]", "[1152,1,288,48,8],[216,1,72,24,8]", "in=NDHWC fil=NDHWC out=NDHWC"},
        {"[2,8,1,6,6],[16,8,1,1,1]", "[288,1,288,48,8],[8,1,8,8,8]", "in=NDHWC out=NDHWC"},
        /* slices: half of the channels, of the rows; other orders; overlapping; unknown */
        {"[8,128,14,14],[16,128,3,3]", "[50176,1,3584,256],[1152,9,3,1]", "in=NHWC out=NHWC"},
        {"[8,128,14,14],[16,128,3,3]", "[50176,2,3584,256],[1152,9,3,1]", "in=NHWC out=NHWC"},
        {"[8,128,14,14],[16,128,3,3]", "[50176,196,28,2],[1152,9,3,1]", ""},
        {"[8,256,14,14],[16,256,3,3]", "[1,1568,112,8],[2304,9,3,1]", ""},
        {"[8,256,14,14],[16,256,3,3]", "[50176,1,256,3584],[2304,9,3,1]", ""},
        {"[8,256,14,14],[16,256,3,3]", "[0,1,0,0],[2304,9,3,1]", ""},
        {"[8,256,14,14],[16,256,3,3]", "[50176,1,3584],[]", ""},
    };
    for (size_t i = 0; i < GT_LENGTH(cases); i++)
        assert_string_equal(layouts(cases[i].sizes, cases[i].strides, false), cases[i].expected);
    /* weights of transposed convolutions: inputs, outputs, height, width */
    assert_string_equal(layouts("[8,256,14,14],[256,128,1,1]", "[50176,196,14,1],[128,1,1,1]", true), "");
    assert_string_equal(layouts("[8,256,14,14],[256,128,2,2]", "[50176,1,3584,256],[512,1,256,128]", true),
                        "in=NHWC fil=NHWC out=NHWC");
}

static void gives_no_command_for_invalid_convolutions(void **state)
{
    (void)state;
    static const char *const odd[][4] = {
        {"aten::convolution", "[]", TYPES("float"), "[]"},
        {"aten::convolution", "[[128,3,32,32],[64,3,3]]", TYPES("float"), ""},
        {"aten::convolution", "[[128,3,32,32],[64,3,3,3]]", TYPES("long int"), ""},
        {"aten::convolution", "[[128,3,32,32,1,1],[64,3,3,3,1,1]]", TYPES("float"), ""},
        {"aten::conv2d", "[[128,3,32,32],[64,3,3,3]]", TYPES("float"), ""},
    };
    const char *concrete = "[\"\",\"\",\"\",\"[1, 1]\",\"[1, 1]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\"]";
    for (size_t i = 0; i < GT_LENGTH(odd); i++)
        assert_string_equal(command(GT_BENCH_MIOPEN, odd[i][0], odd[i][1], odd[i][2], odd[i][3], concrete),
                            "");
    assert_string_equal(
        command(GT_BENCH_MIOPEN, "aten::convolution", "[[128,3,32,32],[64,3,3,3]]", TYPES("float"), "", ""),
        "");
}

/* ---- logs ---- */

static void edited(gt_bench bench, const char *log, const char *expected)
{
    gt_buffer out = {0};
    gt_bench_edit_log(bench, text(log), &out);
    assert_string_equal(gt_buffer_str(&out).bytes, expected);
    gt_buffer_free(&out);
}

static void edits_what_hipblaslt_logs(void **state)
{
    (void)state;
    edited(
        GT_BENCH_HIPBLASLT,
        "hipblaslt-bench -m 8 --bias_type f32_r --aux_type f32_r   --compute_type f32_r --algo_method index "
        "--solution_index 1214 --activation_type none --any_stride --rotating 0 --cold_iters 0 --iters 0 \n",
        "hipblaslt-bench -m 8 --bias_type f32_r    --compute_type f32_r --algo_method heuristic "
        "--requested_solution 1 "
        "--activation_type none --any_stride --rotating 512 --cold_iters 100 --iters 100  --flush "
        "--initialization "
        "trig_float --use_gpu_timer --print_kernel_info\n");
    edited(GT_BENCH_HIPBLASLT, "[warn] nothing\n", "");
    edited(GT_BENCH_HIPBLASLT, "", "");
    /* each line, the last one without a line end; only the first solution */
    edited(GT_BENCH_HIPBLASLT,
           "hipblaslt-bench --iters 1\nhipblaslt-bench --solution_index 1 --solution_index 22",
           "hipblaslt-bench --iters 100 --flush --initialization trig_float --use_gpu_timer "
           "--print_kernel_info\n"
           "hipblaslt-bench --requested_solution 1 --solution_index 22 --flush --initialization trig_float "
           "--use_gpu_timer "
           "--print_kernel_info\n");
}

static void edits_what_miopen_logs(void **state)
{
    (void)state;
    edited(GT_BENCH_MIOPEN,
           "MIOpen(HIP): Info [get_device_name] Raw device name: gfx942\n"
           "MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver convbfp16 -n 128 -c 3 -m conv -g 1 "
           "-F 1 -t 1\n"
           "MIOpen(HIP): Command [LogCmdFindConvolution] ./bin/MIOpenDriver convbfp16 -n 1\n",
           "MIOpenDriver convbfp16 -n 128 -c 3 -m conv -g 1 -F 1 -t 1\n");
}

/* ---- times ---- */

static void reads_times_of_hipblaslt(void **state)
{
    (void)state;
    const char *values =
        "    T,N,0,1,2816,8944,1024,466824,673.85,110.494\n--Solution index: 1\n--Solution name: a\n"
        "--kernel name: b\n";
    assert_true(gt_bench_time_us(GT_BENCH_HIPBLASLT, text(values)) == 110.494);
    const char *with_headings = "version\n[0]:transA,transB,us,hipblaslt-Gflops\n   T,N, 7.5 ,466\n"
                                "[0]:transA,transB,us,hipblaslt-Gflops\n   T,N, 8.5 ,466\n";
    assert_true(gt_bench_time_us(GT_BENCH_HIPBLASLT, text(with_headings)) == 8.5);
    static const char *const none[] = {"",
                                       "\n",
                                       "a\nb\n",
                                       "transA,hipblaslt-Gflops,us\n",
                                       "hipblaslt-Gflops,us\n1,x\n",
                                       "hipblaslt-Gflops,us\n1\n",
                                       "hipblaslt-Gflops,us\n1,inf\n"};
    for (size_t i = 0; i < GT_LENGTH(none); i++)
        assert_true(isnan(gt_bench_time_us(GT_BENCH_HIPBLASLT, text(none[i]))));
}

static void reads_times_of_miopen(void **state)
{
    (void)state;
    const char *output =
        "stats: name, n, c, GFLOPs, GB/s, timeMs\nstats: fwd-conv3x3u1, 128, 3, 5432, 211, 0.083398\n"
        "Forward Convolution Verifies OK\n";
    assert_true(fabs(gt_bench_time_us(GT_BENCH_MIOPEN, text(output)) - 83.398) < 1e-12);
    assert_true(fabs(gt_bench_time_us(GT_BENCH_MIOPEN, text("stats: fwd-conv3x3u1, 211, 0.083398\n")) -
                     83.398) < 1e-12);
    assert_true(isnan(gt_bench_time_us(GT_BENCH_MIOPEN, text("no stats: 1, 2\n"))));
    assert_true(isnan(gt_bench_time_us(GT_BENCH_MIOPEN, text("stats: nothing\n"))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(swaps_the_operands_of_a_product),
        cmocka_unit_test(knows_batches_biases_and_types),
        cmocka_unit_test(knows_the_factor_of_what_is_added),
        cmocka_unit_test(unusual_strides_count_as_copied),
        cmocka_unit_test(gives_no_command_for_invalid_products),
        cmocka_unit_test(writes_convolutions),
        cmocka_unit_test(layouts_are_read_from_strides),
        cmocka_unit_test(gives_no_command_for_invalid_convolutions),
        cmocka_unit_test(edits_what_hipblaslt_logs),
        cmocka_unit_test(edits_what_miopen_logs),
        cmocka_unit_test(reads_times_of_hipblaslt),
        cmocka_unit_test(reads_times_of_miopen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
