/* Shapes of ops. The expected numbers were computed by hand from the formulas in shapes.c. */
#include "pytorch_trace.h"

#include "findings/shapes.h"

#include <math.h>

static gt_str str(const char *text)
{
    return (gt_str){text, strlen(text)};
}

static gt_op_shape parse(const char *name, const char *dims, const char *types, const char *strides,
                         const char *concrete)
{
    return gt_op_shape_parse(str(name), str(dims), str(types), str(strides), str(concrete));
}

#define BF16 "\"c10::BFloat16\""

static void expect_number(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-12 * fabs(expected)))
        fail_msg("%.17g instead of %.17g", value, expected);
}

static void test_products(void **state)
{
    (void)state;
    gt_op_shape s = parse("aten::mm", "[[100,64],[64,200]]", "[\"float\",\"float\"]", "[[64,1],[200,1]]", "");
    assert_true(s.kind == GT_WORK_GEMM && s.is_known && s.is_aligned && s.type == GT_OPERAND_FLOAT);
    expect_number(s.batch, 1);
    expect_number(s.m, 100);
    expect_number(s.n, 200);
    expect_number(s.k, 64);
    expect_number(s.flops, 2560000);
    expect_number(s.elements, 6400 + 12800 + 20000);
    s = parse("aten::addmm", "[[200],[100,64],[64,200],[],[]]", "[\"float\"," BF16 "," BF16 ",\"\",\"\"]", "",
              "");
    assert_true(s.is_known && s.type == GT_OPERAND_BFLOAT16 && s.m == 100 && s.n == 200 && s.k == 64);
    s = parse("aten::bmm", "[[8,100,64],[8,64,200]]", "[\"c10::Half\",\"c10::Half\"]", "", "");
    assert_true(s.is_known && s.type == GT_OPERAND_HALF && s.batch == 8);
    expect_number(s.flops, 8 * 2560000);
    s = parse("aten::baddbmm", "[[8,100,200],[8,100,64],[8,64,200]]", "[\"\",\"float\",\"float\"]", "", "");
    assert_true(s.is_known && s.batch == 8 && s.k == 64);
}

static void test_alignment(void **state)
{
    (void)state;
    const char *types = "[" BF16 "," BF16 "]";
    /* 16 bytes are 8 values of two bytes, 4 of four. */
    assert_true(parse("aten::mm", "[[100,64],[64,200]]", types, "", "").is_aligned);
    assert_false(parse("aten::mm", "[[100,60],[60,200]]", types, "", "").is_aligned);
    assert_false(parse("aten::mm", "[[100,64],[64,204]]", types, "", "").is_aligned);
    assert_true(parse("aten::mm", "[[100,60],[60,204]]", "[\"float\",\"float\"]", "", "").is_aligned);
    assert_false(parse("aten::mm", "[[100,62],[62,204]]", "[\"float\",\"float\"]", "", "").is_aligned);
    /* An odd number of rows does not matter. */
    assert_true(parse("aten::mm", "[[101,64],[64,200]]", types, "[[64,1],[200,1]]", "").is_aligned);
    /* A transposed argument: its leading dimension is that of the untransposed one. */
    assert_false(parse("aten::mm", "[[64,101],[101,200]]", types, "[[101,1],[200,1]]", "").is_aligned);
    assert_false(parse("aten::mm", "[[101,64],[64,200]]", types, "[[1,101],[200,1]]", "").is_aligned);
    /* A slice of a padded matrix. */
    assert_true(parse("aten::mm", "[[100,60],[60,200]]", types, "[[64,1],[200,1]]", "").is_aligned);
}

static void test_convolutions(void **state)
{
    (void)state;
    gt_op_shape s = parse("aten::cudnn_convolution", "[[4,16,20,20],[32,16,3,3],[],[],[],[],[],[],[]]",
                          "[\"float\",\"float\",\"\",\"\",\"\",\"Scalar\"]", "",
                          "[\"\",\"\",\"[1, 1]\",\"[2, 2]\",\"[1, 1]\",\"1\"]");
    assert_true(s.kind == GT_WORK_CONVOLUTION && s.is_known && s.out_channels == 32 && s.in_channels == 16);
    expect_number(s.flops, 2.0 * 4 * 100 * 4608); /* 10 x 10 positions */
    expect_number(s.elements, 4 * 16 * 400 + 4608 + 4 * 32 * 100);
    /* aten::convolution has the stride before the padding. */
    s = parse("aten::convolution", "[[4,16,20,20],[32,16,3,3],[]]", "[\"float\",\"float\",\"\"]", "",
              "[\"\",\"\",\"\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\"]");
    expect_number(s.flops, 2.0 * 4 * 100 * 4608);
    s = parse("aten::miopen_convolution", "[[4,16,20,20],[32,16,3,3]]", "[" BF16 "," BF16 "]", "", "");
    expect_number(s.flops, 2.0 * 4 * 400 * 4608); /* no stride is known */
    assert_true(s.type == GT_OPERAND_BFLOAT16);
    s = parse("aten::convolution_backward", "[[4,32,10,10],[4,16,20,20],[32,16,3,3]]",
              "[\"\"," BF16 "," BF16 "]", "", "");
    assert_true(s.is_known && s.type == GT_OPERAND_BFLOAT16);
    expect_number(s.flops, 2 * 2.0 * 4 * 100 * 4608);
    expect_number(s.elements, 2.0 * (12800 + 25600 + 4608));
    /* A stride of 0, one that is no list, one that never ends. */
    const char *strides[] = {"[\"[0, 0]\",\"[0, 0]\"]", "[\"[2, 2\",\"[,]\",\"[]\"]",
                             "[\"[1, 1]\",\"[99999999999999999999999, 1]\"]", "{}", "[1,[2]]"};
    for (size_t i = 0; i < GT_LENGTH(strides); i++) {
        s = parse("aten::cudnn_convolution", "[[4,16,20,20],[32,16,3,3]]", "[\"float\",\"float\"]", "",
                  strides[i]);
        assert_true(s.is_known && s.flops >= 2.0 * 4 * 4608);
    }
}

static void test_attention(void **state)
{
    (void)state;
    /* B 2, S 128, H 4, D 64: 4 * 2 * 4 * 128 * 96 * 64 */
    double flops = 25165824;
    const char *types = "[" BF16 "," BF16 "," BF16 "]";
    gt_op_shape s =
        parse("aten::_flash_attention_forward", "[[2,128,4,64],[2,96,4,64],[2,96,4,64]]", types, "", "");
    assert_true(s.kind == GT_WORK_ATTENTION && s.is_known && s.type == GT_OPERAND_BFLOAT16 && s.head == 64);
    expect_number(s.flops, flops);
    s = parse("aten::_scaled_dot_product_cudnn_attention", "[[2,4,128,64],[2,4,96,64],[2,4,96,64]]", types,
              "", "");
    expect_number(s.flops, flops);
    s = parse("aten::_scaled_dot_product_efficient_attention", "[[2,4,128,64],[2,4,96,64],[2,4,96,64]]",
              types, "", "");
    expect_number(s.flops, flops);
    /* Backward: after the output's gradient. */
    s = parse("aten::_efficient_attention_backward", "[[2,128,4,64],[2,128,4,64],[2,96,4,64]]",
              "[\"float\"," BF16 "]", "", "");
    expect_number(s.flops, 2.5 * flops);
    assert_true(s.type == GT_OPERAND_BFLOAT16);
    s = parse("aten::_scaled_dot_product_attention_math", "[[2,4,128,64],[2,4,96,64]]", types, "", "");
    assert_true(s.kind == GT_WORK_ATTENTION_MATH && s.head == 64);
    expect_number(s.flops, flops);
    /* Without shapes. */
    s = parse("aten::_scaled_dot_product_attention_math", "", "", "", "");
    assert_true(!s.is_known && s.flops == 0 && s.head == 8 && s.type == GT_OPERAND_BFLOAT16);
}

static void test_other_ops(void **state)
{
    (void)state;
    gt_op_shape s = parse("aten::copy_", "[[4,5],[4,5],[]]", "[\"float\",\"float\",\"\"]", "", "");
    assert_true(s.kind == GT_WORK_COPY && s.copy == GT_CHANGE_LAYOUT);
    assert_true(parse("aten::copy_", "[[4],[4]]", "[\"float\"," BF16 "]", "", "").copy == GT_CHANGE_TYPE);
    assert_true(parse("aten::copy_", "[[4],[4]]", "[\"float\",\"\"]", "", "").copy == GT_CHANGE_UNKNOWN);
    assert_true(parse("aten::copy_", "", "", "", "").copy == GT_CHANGE_UNKNOWN);
    s = parse("aten::mul", "[[4,5],[]]", "[\"float\",\"Scalar\"]", "", "");
    assert_true(s.is_all_float && s.has_types && s.has_dims && s.kind == GT_WORK_OTHER);
    assert_false(parse("aten::mul", "[[4,5],[4,5]]", "[\"float\"," BF16 "]", "", "").is_all_float);
    assert_false(parse("aten::mul", "[[4,5]]", "[\"bool\",\"float\"]", "", "").is_all_float);
    s = parse("aten::_softmax", "[[2,3,50,70],[],[]]", "[\"float\",\"Scalar\",\"Scalar\"]", "", "");
    assert_true(s.kind == GT_WORK_SOFTMAX && s.size == 21000 && s.last == 70);
}

static void test_layouts(void **state)
{
    (void)state;
    const char *types = "[" BF16 "," BF16 "]", *dims = "[[4,16,20,20],[32,16,3,3]]";
    assert_true(
        parse("aten::convolution", dims, types, "[[6400,400,20,1],[144,9,3,1]]", "").is_channels_first);
    assert_false(
        parse("aten::convolution", dims, types, "[[6400,1,320,16],[144,9,3,1]]", "").is_channels_first);
    assert_true(parse("aten::convolution", dims, types, "", "").is_channels_first); /* the default */
    gt_op_shape s =
        parse("aten::native_batch_norm", "[[4,16,20,20],[16]]", types, "[[6400,400,20,1],[1]]", "");
    assert_true(s.kind == GT_WORK_BATCH_NORM && s.is_known && s.is_channels_first);
    expect_number(s.elements, 3 * 25600);
    s = parse("aten::native_batch_norm_backward", "[[4,16,20,20],[4,16,20,20]]", types,
              "[[6400,1,320,16],[1]]", "");
    assert_true(s.is_known && !s.is_channels_first && s.rank == 4 && s.tensors == 2);
    expect_number(s.elements, 5 * 25600);
    assert_true(parse("aten::copy_", "[[4,5],[4,5]]", types, "[[5,1],[5,1]]", "").keeps_strides);
    assert_false(parse("aten::copy_", "[[4,5],[4,5]]", types, "[[5,1],[1,4]]", "").keeps_strides);
    assert_false(parse("aten::copy_", "[[4,5],[4,5]]", types, "[[5,1]]", "").keeps_strides);
}

static void test_tensors_with_odd_rows(void **state)
{
    (void)state;
    const char *types = "[" BF16 "," BF16 "]";
    /* 100 x 501 values of two bytes, read twice and written once. */
    expect_number(parse("aten::add", "[[100,501],[100,501]]", types, "[[501,1],[501,1]]", "").odd_bytes,
                  3 * 100 * 501 * 2);
    /* The contiguous dimension counts, wherever it is. */
    expect_number(parse("aten::add", "[[501,100],[]]", types, "[[1,501],[]]", "").odd_bytes,
                  2 * 100 * 501 * 2);
    assert_true(parse("aten::add", "[[501,100],[]]", types, "[[100,1],[]]", "").odd_bytes > 0);
    assert_true(parse("aten::add", "[[501,104],[]]", types, "[[104,1],[]]", "").odd_bytes == 0);
    assert_true(parse("aten::add", "[[100,9],[]]", types, "[[9,1],[]]", "").odd_bytes == 0); /* too short */
    assert_true(parse("aten::add", "[[100,501],[]]", "[\"float\"]", "[[501,1]]", "").odd_bytes == 0);
    assert_true(parse("aten::mm", "[[100,501],[501,501]]", types, "[[501,1],[501,1]]", "").odd_bytes == 0);
}

/* Whatever a file says, shapes are finite or unknown. */
static void test_hostile_arguments(void **state)
{
    (void)state;
    const char *names[] = {"aten::mm",
                           "aten::addmm",
                           "aten::bmm",
                           "aten::convolution",
                           "aten::_softmax",
                           "aten::convolution_backward",
                           "aten::_flash_attention_backward",
                           "aten::copy_",
                           "aten::_scaled_dot_product_attention_math",
                           "aten::add",
                           ""};
    const char *values[] = {
        "",
        "[",
        "null",
        "0",
        "{}",
        "\"\"",
        "[]",
        "[[]]",
        "[[],[],[]]",
        "[null,1,\"x\",[[1]]]",
        "[[-1,-2],[-3,-4],[-5,-6]]",
        "[[1.5,2],[2,3.5],[1,1]]",
        "[[1e300,2],[2,1e300],[1,1]]",
        "[[9223372036854775807,9223372036854775807,9223372036854775807,8],"
        "[9223372036854775807,9223372036854775807,9223372036854775807,8],[1,1,1,1]]",
        "[[281474976710656,281474976710656,281474976710656,281474976710656,281474976710656,281474976710656],"
        "[281474976710656,281474976710656,281474976710656,281474976710656,281474976710656,281474976710656],"
        "[281474976710656,281474976710656,281474976710656,281474976710656,281474976710656,281474976710656]]",
        "[[99999999999999999999999,1],[1,1],[1,1]]",
        "[[[1,2],[3]],[[4]],[[5]]]",
        "[[0,0],[0,0],[0,0]]",
        "[[0,0,0,0],[0,0,0,0],[0,0,0,0]]",
        "[[1,2,3,4],[1],[1]]",
        "[[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],[1,1,1],[1,1,1]]"};
    const char *types[] = {
        "",       "[]",       "[\"float\",\"float\",\"float\"]", "[" BF16 "," BF16 "," BF16 "]", "[1,2,3]",
        "[\"\"]", "\"float\""};
    for (size_t n = 0; n < GT_LENGTH(names); n++)
        for (size_t d = 0; d < GT_LENGTH(values); d++)
            for (size_t t = 0; t < GT_LENGTH(types); t++)
                for (size_t s = 0; s < GT_LENGTH(values); s++) {
                    gt_op_shape shape = parse(names[n], values[d], types[t], values[s], values[s]);
                    assert_true(isfinite(shape.flops) && shape.flops >= 0);
                    assert_true(isfinite(shape.elements) && shape.elements >= 0);
                    assert_true(isfinite(shape.odd_bytes) && shape.odd_bytes >= 0);
                    assert_true(isfinite(shape.size) && isfinite(shape.head));
                }
}

static void test_the_shapes_of_a_trace(void **state)
{
    (void)state;
    trace_text t = new_trace();
    const char *args = "\"Input Dims\":[[100, 64], [64, 200]],\"Input type\":[\"float\",\"float\"],"
                       "\"Input Strides\":[[64, 1], [200, 1]],\"Concrete Inputs\":[\"\",\"%s\"]";
    char first[256], second[256];
    snprintf(first, sizeof first, args, "1");
    snprintf(second, sizeof second, args, "2");
    host(&t, "cpu_op", "aten::mm", 1000, 10, first);
    host(&t, "cpu_op", "aten::mm", 1100, 10, second);
    host(&t, "cpu_op", "aten::add", 1200, 10, first);
    host(&t, "cpu_op", "aten::zeros", 1300, 10, "");
    gt_pytorch_linked *linked = read_trace(&t, false);
    const gt_linked_view *trace = gt_pytorch_view(linked);
    gt_shapes *shapes = gt_shapes_new(&trace->events);
    uint32_t rows[] = {0, 1, 2, 3, 0}, found[5];
    gt_shapes_find(shapes, rows, 5, found);
    assert_int_equal(found[0], found[1]); /* concrete inputs of a product do not matter */
    assert_int_equal(found[0], found[4]);
    assert_int_not_equal(found[0], found[2]);
    assert_true(gt_shapes_get(shapes, found[0])->is_known);
    assert_true(gt_shapes_get(shapes, found[2])->kind == GT_WORK_OTHER);
    assert_false(gt_shapes_get(shapes, found[3])->has_dims);
    gt_buffer text = {0};
    gt_shapes_add_dims(shapes, found[0], 0, 1, &text);
    gt_buffer_add_cstr(&text, " ");
    gt_shapes_add_dims(shapes, found[0], 0, 2, &text);
    gt_shapes_add_dims(shapes, found[0], 7, 1, &text);
    gt_shapes_add_dims(shapes, found[3], 0, 1, &text);
    assert_string_equal(gt_buffer_str(&text).bytes, "[100, 64] [[100, 64], [64, 200]]");
    gt_buffer_free(&text);
    gt_shapes_free(shapes);
    gt_pytorch_linked_free(linked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_convolutions),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_other_ops),
        cmocka_unit_test(test_tensors_with_odd_rows),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_hostile_arguments),
        cmocka_unit_test(test_the_shapes_of_a_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
