/* Alignments of kernels with references, from align_cases.txt; what names say; layers and their roles.
 * Expected values come from an implementation in Python. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "analysis/graphs/align.h"
#include "analysis/graphs/layers.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- alignments ---- */

enum { NAMES_MAX = 16, SEQUENCE_MAX = 512, LINE_MAX_LEN = 8192, LEARNED = 5 };

typedef struct lists {
    gt_interner *strings;
    gt_graph_names names;
    uint32_t kernels[NAMES_MAX], ops[NAMES_MAX]; /* string ids */
    size_t kernel_count, op_count;
} lists;

typedef struct alignment_case {
    char title[64];
    gt_graph_kernel kernels[SEQUENCE_MAX];
    gt_graph_token tokens[SEQUENCE_MAX];
    size_t kernel_count, token_count, pair_count;
    long worth, fits, pairs[SEQUENCE_MAX];
} alignment_case;

/* The next number of a line, after a blank or a comma. */
static bool read_number(char **at, long *number)
{
    while (**at == ' ' || **at == ',') ++*at;
    char *end;
    *number = strtol(*at, &end, 10);
    bool found = end > *at;
    *at = end;
    return found;
}

static uint32_t grid_of(const lists *l, long blocks)
{
    char text[32];
    snprintf(text, sizeof text, "[%ld,1,1]", blocks);
    return gt_interner_add_cstr(l->strings, text);
}

static void read_kernels(const lists *l, alignment_case *c, char *at)
{
    for (long name, grid; read_number(&at, &name) && read_number(&at, &grid);) {
        assert_true(c->kernel_count < SEQUENCE_MAX);
        uint32_t id = l->kernels[name];
        bool is_memory = gt_str_starts_with(gt_interner_get(l->strings, id), "Memcpy");
        c->kernels[c->kernel_count++] = (gt_graph_kernel){id, grid_of(l, grid), is_memory};
    }
}

static void read_tokens(const lists *l, alignment_case *c, char *at)
{
    for (long name, grid, op, is_memory; read_number(&at, &name) && read_number(&at, &grid) &&
                                         read_number(&at, &op) && read_number(&at, &is_memory);) {
        assert_true(c->token_count < SEQUENCE_MAX);
        gt_graph_token token = {.op = l->ops[op], .is_memory = is_memory != 0};
        if (name >= 0) {
            token.name = l->kernels[name];
            token.grid = grid_of(l, grid);
        }
        c->tokens[c->token_count++] = token;
    }
}

/* The ops of the first kernels, as the title says. */
static gt_stem_ops learn(lists *l, const alignment_case *c)
{
    static const size_t ops[LEARNED] = {0, 0, 0, 1, 2};
    gt_stem_ops learned = {0};
    for (size_t i = 0; i < LEARNED && strstr(c->title, "learned"); i++)
        gt_stem_ops_add(&learned, gt_graph_kernel_name(&l->names, l->kernels[i]).stem, l->ops[ops[i]]);
    return learned;
}

static void check_case(lists *l, const alignment_case *c)
{
    gt_stem_ops learned = learn(l, c);
    const gt_graph_facts facts = {&l->names, &learned};
    uint32_t token_of[SEQUENCE_MAX];
    int64_t worth = gt_graph_align(&facts, c->kernels, c->kernel_count, c->tokens, c->token_count, token_of);
    gt_graph_fit fit =
        gt_graph_fit_of(&facts, c->kernels, c->kernel_count, c->tokens, c->token_count, token_of);
    if (worth != c->worth) print_error("%s: worth %ld, expected %ld\n", c->title, (long)worth, c->worth);
    assert_int_equal(worth, c->worth);
    assert_int_equal(fit.is_same_model, c->fits);
    assert_int_equal(c->pair_count, c->kernel_count);
    for (size_t i = 0; i < c->kernel_count; i++) {
        long token = token_of[i] == GT_NO_TOKEN ? -1 : (long)token_of[i];
        if (token != c->pairs[i])
            print_error("%s: kernel %zu: token %ld, expected %ld\n", c->title, i, token, c->pairs[i]);
        assert_int_equal(token, c->pairs[i]);
    }
    gt_stem_ops_free(&learned);
}

/* What follows a word at the beginning of a line; NULL: the line begins otherwise. */
static char *after(char *line, const char *word)
{
    size_t len = strlen(word);
    return strncmp(line, word, len) == 0 && line[len] == ' ' ? line + len + 1 : NULL;
}

static void read_line(lists *l, alignment_case *c, char *line)
{
    char *rest;
    if ((rest = after(line, "name"))) {
        l->kernels[l->kernel_count++] = gt_interner_add_cstr(l->strings, rest);
    } else if ((rest = after(line, "op"))) {
        l->ops[l->op_count++] = gt_interner_add_cstr(l->strings, rest);
    } else if ((rest = after(line, "case"))) {
        memset(c, 0, sizeof *c);
        snprintf(c->title, sizeof c->title, "%s", rest);
    } else if ((rest = after(line, "kernels"))) {
        read_kernels(l, c, rest);
    } else if ((rest = after(line, "tokens"))) {
        read_tokens(l, c, rest);
    } else if ((rest = after(line, "worth"))) {
        assert_true(read_number(&rest, &c->worth) && read_number(&rest, &c->fits));
    } else if ((rest = after(line, "pairs"))) {
        while (read_number(&rest, &c->pairs[c->pair_count])) c->pair_count++;
        check_case(l, c);
    }
}

static void alignments_are_the_best(void **unused)
{
    enum { CASES = 18 };
    static alignment_case c;
    (void)unused;
    lists l = {.strings = gt_interner_new()};
    l.names = gt_graph_names_new(l.strings);
    FILE *file = fopen(GT_TESTS "/graphs/align_cases.txt", "r");
    assert_non_null(file);
    char *line = NULL;
    size_t capacity = 0, cases = 0;
    for (ssize_t len; (len = getline(&line, &capacity, file)) > 0;) {
        line[len - 1] = 0;
        cases += after(line, "pairs") != NULL;
        read_line(&l, &c, line);
    }
    assert_int_equal(cases, CASES);
    free(line);
    fclose(file);
    gt_graph_names_free(&l.names);
    gt_interner_free(l.strings);
}

/* ---- names ---- */

static const struct {
    const char *name, *op; /* NULL: many ops launch it */
    bool is_helper;
} kernel_names[] = {
    {"nvjet_hsh_64x8_64x16_1x1_h_bz_TNN", NULL, false},
    {"void cublasLt::splitKreduce_kernel<32, 16, int, float>(int)", NULL, true},
    {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, true>(int)",
     "aten::_fused_rms_norm", false},
    {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, false>(int)",
     "aten::native_layer_norm", false},
    {"void pytorch_flash::flash_fwd_splitkv_combine_kernel<64>(Flash_fwd_params)", NULL, true},
    {"void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda(int)>(int)",
     "aten::copy_", false},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::silu_kernel(int)>(int)", "aten::silu",
     false},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, "
     "at::native::binary_internal::MulFunctor<float> > >(int)",
     "aten::mul", false},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)",
     "aten::add", false},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctorOnSelf_add<float> >(int)",
     "aten::add_", false},
    {"void at::native::elementwise_kernel<128, 2, at::native::CompareFunctor<long> >(int)", NULL, false},
    {"Memcpy DtoD (Device -> Device)", "aten::copy_", false},
    {"Memset (Device)", "aten::zero_", false},
    {"void at::native::index_elementwise_kernel<128, 4, at::native::index_put_kernel_impl<int> >(int)",
     "aten::_index_put_impl_", false},
    {"_fwd_kernel_stage2", NULL, true},
    {"kernel_paged_attention_2d_reduce", NULL, true},
    {"triton_poi_fused_mul_3", NULL, false},
    {"void vllm::act_and_mul_kernel<int>(int)", "_C::silu_and_mul", false},
};

static void names_tell_helpers_and_ops(void **unused)
{
    (void)unused;
    gt_interner *strings = gt_interner_new();
    gt_graph_names names = gt_graph_names_new(strings);
    for (size_t i = 0; i < GT_LENGTH(kernel_names); i++) {
        gt_kernel_name name =
            gt_graph_kernel_name(&names, gt_interner_add_cstr(strings, kernel_names[i].name));
        assert_int_equal(name.is_helper, kernel_names[i].is_helper);
        assert_string_equal(gt_interner_get(strings, name.op).bytes,
                            kernel_names[i].op ? kernel_names[i].op : "");
    }
    gt_graph_names_free(&names);
    gt_interner_free(strings);
}

static const struct {
    const char *op;
    uint8_t class;
} op_classes[] = {
    {"aten::mm", GT_CLASS_GEMM},
    {"aten::linear", GT_CLASS_GEMM},
    {"aten::linear_backward", GT_OP_CLASS_NONE},
    {"custom_gemm_op", GT_CLASS_GEMM},
    {"trtllm::fp8_mm", GT_CLASS_GEMM},
    {"aten::_scaled_dot_product_flash_attention", GT_CLASS_ATTENTION},
    {"aten::_fused_rms_norm", GT_CLASS_NORM},
    {"aten::copy_", GT_OP_CLASS_COPY},
    {"aten::copy_to", GT_OP_CLASS_NONE},
    {"aten::clone", GT_OP_CLASS_COPY},
    {"vllm::moe_forward", GT_CLASS_MOE_GEMM},
    {"_C::rotary_embedding", GT_CLASS_ROPE},
    {"aten::_index_put_impl_", GT_CLASS_KV_CACHE},
    {"_C_cache_ops::reshape_and_cache", GT_CLASS_KV_CACHE},
    {"aten::silu", GT_CLASS_ACTIVATION},
    {"aten::_softmax", GT_CLASS_SOFTMAX},
    {"aten::argmax", GT_CLASS_SAMPLING},
    {"aten::embedding", GT_CLASS_EMBEDDING},
    {"aten::add", GT_OP_CLASS_NONE},
    {"cudaLaunchKernel", GT_OP_CLASS_NONE},
};

static void ops_have_classes(void **unused)
{
    (void)unused;
    gt_interner *strings = gt_interner_new();
    gt_graph_names names = gt_graph_names_new(strings);
    for (size_t i = 0; i < GT_LENGTH(op_classes); i++)
        assert_int_equal(gt_graph_op_class(&names, gt_interner_add_cstr(strings, op_classes[i].op)),
                         op_classes[i].class);
    gt_graph_names_free(&names);
    gt_interner_free(strings);
}

/* 19 of 20 kernels of a stem are enough to be sure, 18 are not. */
static void names_are_learned(void **unused)
{
    enum { STEM = 4, OTHER_STEM = 5, MM = 20, LINEAR = 21 };
    (void)unused;
    gt_stem_ops learned = {0};
    gt_stem_ops_add(&learned, STEM, LINEAR);
    for (int i = 0; i < 18; i++) gt_stem_ops_add(&learned, STEM, MM);
    assert_int_equal(gt_stem_ops_sure(&learned, STEM), GT_STR_NONE);
    gt_stem_ops_add(&learned, STEM, MM);
    assert_int_equal(gt_stem_ops_sure(&learned, STEM), MM);
    assert_true(gt_stem_ops_has(&learned, STEM, LINEAR));
    assert_false(gt_stem_ops_has(&learned, OTHER_STEM, MM));
    assert_int_equal(gt_stem_ops_sure(&learned, OTHER_STEM), GT_STR_NONE);
    gt_stem_ops_free(&learned);
}

/* ---- layers ---- */

/* Stems as digits. */
static const struct {
    const char *stems;
    bool found;
    size_t first, period, count;
} layer_cases[] = {
    {"0123412341234123412349", true, 1, 4, 5},
    {"12312312312312", true, 0, 3, 4},
    {"123456789abc", false, 0, 0, 0},
    {"00121312131213121312131213", true, 2, 4, 6},
    {"512345612345612345612345", true, 1, 6, 4}, /* the last layer lacks one of six */
    {"51234561234561234561234", true, 1, 6, 3},  /* ... and two of six */
    {"111111111111", true, 0, 3, 4},
    {"7897812341234666", true, 5, 4, 2},
    {"123124123124123124123124", true, 0, 6, 4},
};

static void layers_repeat(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < GT_LENGTH(layer_cases); i++) {
        uint32_t stems[64];
        size_t count = strlen(layer_cases[i].stems);
        gt_layers layers = {0};
        for (size_t k = 0; k < count; k++) stems[k] = (uint32_t)layer_cases[i].stems[k];
        assert_int_equal(gt_layers_find(stems, count, &layers), layer_cases[i].found);
        assert_int_equal(layers.first, layer_cases[i].first);
        assert_int_equal(layers.period, layer_cases[i].period);
        assert_int_equal(layers.count, layer_cases[i].count);
    }
}

/* N norm, G gemm, A attention, a its helper, g a helper of a gemm, E experts, x anything else. */
static const struct {
    const char *kernels, *roles[10];
} role_cases[] = {
    {"NGxAaGNGxG", {"", "qkv_proj", "", "", "", "o_proj", "", "mlp", "", "mlp"}},
    {"GgAGNGxEEN", {"qkv_proj", "qkv_proj", "", "o_proj", "", "router", "", "experts", "experts", ""}},
    {"GNGx", {"", "", "", ""}},
};

static uint8_t class_of_letter(char letter)
{
    switch (letter) {
    case 'N':
        return GT_CLASS_NORM;
    case 'G':
    case 'g':
        return GT_CLASS_GEMM;
    case 'A':
    case 'a':
        return GT_CLASS_ATTENTION;
    case 'E':
        return GT_CLASS_MOE_GEMM;
    default:
        return GT_CLASS_ELEMENTWISE;
    }
}

static void gemms_have_roles(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < GT_LENGTH(role_cases); i++) {
        uint8_t classes[16];
        bool is_helper[16];
        gt_layer_role roles[16];
        size_t count = strlen(role_cases[i].kernels);
        for (size_t k = 0; k < count; k++) {
            char letter = role_cases[i].kernels[k];
            classes[k] = class_of_letter(letter);
            is_helper[k] = letter == 'a' || letter == 'g';
        }
        gt_layer_roles_find(classes, is_helper, count, roles);
        for (size_t k = 0; k < count; k++)
            assert_string_equal(gt_layer_role_name(roles[k]), role_cases[i].roles[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alignments_are_the_best), cmocka_unit_test(names_tell_helpers_and_ops),
        cmocka_unit_test(ops_have_classes),        cmocka_unit_test(names_are_learned),
        cmocka_unit_test(layers_repeat),           cmocka_unit_test(gemms_have_roles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
