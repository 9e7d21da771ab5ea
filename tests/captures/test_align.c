/* Aligning the calls of a captured graph with the kernels of a launch. */
#include "analysis/captures/captures.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 32 };

/* Calls and kernels as words: a letter is a name; C and S are copies and memsets, whose kernels are c and s
 * with other names; '_' is a call whose kernel is not named; a call after '>' is nested. Of a kernel, the
 * digit after it is its stream. */
typedef struct graph {
    gt_align_call calls[MOST];
    gt_align_kernel kernels[MOST];
    size_t call_count, kernel_count;
} graph;

static graph parse(const char *calls, const char *kernels)
{
    graph g = {0};
    bool nested = false;
    for (; *calls; calls++) {
        if (*calls == '>') {
            nested = true;
            continue;
        }
        unsigned memory = *calls == 'C' ? GT_MEMORY_COPY : *calls == 'S' ? GT_MEMORY_SET : 0;
        bool named = *calls != '_' && !memory;
        g.calls[g.call_count++] = (gt_align_call){(uint32_t)*calls, named, nested, memory};
        nested = false;
    }
    for (; *kernels; kernels++) {
        unsigned memory = *kernels == 'c' ? GT_MEMORY_COPY : *kernels == 's' ? GT_MEMORY_SET : 0;
        gt_align_kernel k = {(uint32_t)*kernels, 0, memory};
        if (kernels[1] >= '0' && kernels[1] <= '9') k.stream = (uint32_t) * ++kernels;
        g.kernels[g.kernel_count++] = k;
    }
    return g;
}

/* The calls of the kernels, in their order, as numbers: "0 2 1". */
static void check(const char *calls, const char *kernels, gt_alignment_kind kind, const char *expected)
{
    graph g = parse(calls, kernels);
    gt_alignment a = gt_align_graph(g.calls, g.call_count, g.kernels, g.kernel_count);
    char text[MOST * 3 + 1] = "";
    for (size_t k = 0; gt_alignment_found(&a) && k < g.kernel_count; k++)
        for (size_t i = 0; i < a.count; i++)
            if (a.pairs[i].gpu == k) sprintf(text + strlen(text), "%s%u", *text ? " " : "", a.pairs[i].call);
    if (a.kind != kind || strcmp(text, expected) != 0)
        fail_msg("%s with %s: kind %d and %s, not %d and %s", calls, kernels, (int)a.kind, text, (int)kind,
                 expected);
    gt_alignment_free(&a);
}

static void one_stream(void **state)
{
    (void)state;
    check("abc", "abc", GT_ALIGNED_IN_ORDER, "0 1 2");
    check("a_c", "abc", GT_ALIGNED_IN_ORDER, "0 1 2");
    check("aCS", "acs", GT_ALIGNED_IN_ORDER, "0 1 2");
    check("", "", GT_NOT_ALIGNED_KERNELS, "");
    check("abc", "cab", GT_ALIGNED_BY_NAME, "2 0 1");
    check("aab", "aba", GT_ALIGNED_BY_NAME, "0 2 1");
    check("aCb", "bca", GT_ALIGNED_BY_NAME, "2 1 0");
    check("CCa", "acc", GT_ALIGNED_BY_NAME, "2 0 1");
    check("aC", "ab", GT_NOT_ALIGNED_COUNT, "");
    check("aC", "as", GT_NOT_ALIGNED_COUNT, "");
    check("a_", "ac", GT_NOT_ALIGNED_COUNT, "");
    check("aab", "abb", GT_NOT_ALIGNED_COUNT, "");
}

static void more_calls_than_kernels(void **state)
{
    (void)state;
    check("axb", "ab", GT_ALIGNED_SKIPPING, "0 2");
    check("xaxCx", "ac", GT_ALIGNED_SKIPPING, "1 3");
    check("xab", "ba", GT_NOT_ALIGNED, "");
    check("a", "ab", GT_NOT_ALIGNED, "");
}

/* Inner calls do not count if the outer ones are as many as the kernels. */
static void nested_calls(void **state)
{
    (void)state;
    check("a>_b>_", "ab", GT_ALIGNED_IN_ORDER, "0 2");
    check("_>__>_", "ab", GT_ALIGNED_IN_ORDER, "0 2");
    check("a>b", "ab", GT_ALIGNED_IN_ORDER, "0 1");
    check("b>_a>_", "ab", GT_ALIGNED_BY_NAME, "2 0");
    check("a>xb>xy", "ab", GT_ALIGNED_SKIPPING, "0 2");
}

static void several_streams(void **state)
{
    (void)state;
    check("ab", "a1b2", GT_ALIGNED_STREAMS, "0 1");
    check("ba", "a1b2", GT_ALIGNED_STREAMS, "1 0");
    check("aa", "a2a1", GT_ALIGNED_STREAMS, "0 1");           /* the first stream */
    check("abac", "a1a2b2c1", GT_ALIGNED_STREAMS, "2 0 1 3"); /* the longest run */
    check("axb", "a1b2", GT_ALIGNED_STREAMS, "0 2");
    check("a_", "a1b2", GT_NOT_ALIGNED_NAMES, "");
    check("aC", "a1c2", GT_ALIGNED_STREAMS, "0 1");
    check("bx", "a1b2", GT_NOT_ALIGNED_STREAMS, "");
    check("ab", "b1a1c2", GT_NOT_ALIGNED_STREAMS, "");
}

/* The first name in the order of the kernels, and how often both have it. */
static void counts_are_told(void **state)
{
    (void)state;
    graph g = parse("aabC", "bcxx");
    gt_alignment a = gt_align_graph(g.calls, g.call_count, g.kernels, g.kernel_count);
    assert_int_equal(a.kind, GT_NOT_ALIGNED_COUNT);
    assert_int_equal(a.name, 'x');
    assert_int_equal(a.name_calls, 0);
    assert_int_equal(a.name_kernels, 2);
    gt_alignment_free(&a);
}

static void kinds_of_memory_operations(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned call, kernel;
    } names[] = {{"hipMemcpyAsync", GT_MEMORY_COPY, GT_MEMORY_COPY},
                 {"Memcpy DtoD (Device -> Device)", GT_MEMORY_COPY, GT_MEMORY_COPY},
                 {"__amd_rocclr_copyBuffer", 0, GT_MEMORY_COPY},
                 {"cudaMemsetAsync", GT_MEMORY_SET, GT_MEMORY_SET},
                 {"__amd_rocclr_fillBufferAligned", 0, GT_MEMORY_SET},
                 {"memcpy_kernel", 0, 0}};
    for (size_t i = 0; i < GT_LENGTH(names); i++) {
        gt_str name = {names[i].name, strlen(names[i].name)};
        assert_int_equal(gt_memory_call(name), names[i].call);
        assert_int_equal(gt_memory_kernel(name), names[i].kernel);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_stream),      cmocka_unit_test(more_calls_than_kernels),
        cmocka_unit_test(nested_calls),    cmocka_unit_test(several_streams),
        cmocka_unit_test(counts_are_told), cmocka_unit_test(kinds_of_memory_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
