/* The scanning loops of every instruction set that the processor has, compared with scalar reference loops:
 * every offset, every length, random and adversarial bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "input/json/learned_tree.h"
#include "instruction_sets.h"
#include "json/scan.h"

#include <stdlib.h>

enum { TEXT = 320, ROUNDS = 3000 };

static const gt_scan_loops *loops; /* of the set under test */
static uint8_t buffer[64 + TEXT + GT_SCAN_PAD];
static uint64_t state = 88172645463325252u;

static uint32_t random32(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 11);
}

/* Bytes that matter to the loops are frequent, so that every combination occurs. */
static void fill(unsigned kind)
{
    static const char alphabet[] = "\"\\[]{} \n\t\rayx0:,_";
    for (size_t i = 0; i < sizeof buffer; i++) {
        uint32_t r = random32();
        if (kind == 0)
            buffer[i] = (uint8_t)alphabet[r % (sizeof alphabet - 1)];
        else if (kind == 1)
            buffer[i] = r % 16 ? 'a' : (uint8_t)alphabet[r / 16 % (sizeof alphabet - 1)];
        else if (kind == 2)
            buffer[i] = (uint8_t)r;
        else if (kind == 3)
            buffer[i] = r % 8 ? '\\' : '"';
        else
            buffer[i] = r % 20 ? ' ' : 'x';
    }
}

static const uint8_t *end_of_containers(const uint8_t *p, const uint8_t *end, size_t depth, bool is_in_string)
{
    if (is_in_string) {
        p = gt_scan_string_scalar(p, end);
        if (p == end) return NULL;
        p++;
    }
    while (p && depth--) p = gt_scan_container_scalar(p, end);
    return p;
}

static void compare_all(const uint8_t *p, const uint8_t *end)
{
    assert_ptr_equal(loops->quote(p, end), gt_scan_quote_scalar(p, end));
    assert_ptr_equal(loops->string(p, end), gt_scan_string_scalar(p, end));
    assert_ptr_equal(loops->space(p, end), gt_scan_space_scalar(p, end));
    assert_ptr_equal(loops->container(p, end), gt_scan_container_scalar(p, end));
    for (size_t depth = 1; depth <= 3; depth++)
        for (int is_in_string = 0; is_in_string <= 1; is_in_string++)
            assert_ptr_equal(loops->long_containers(p, end, depth, is_in_string),
                             end_of_containers(p, end, depth, is_in_string));
}

static void scanners_agree_with_scalar_loops(void **unused)
{
    (void)unused;
    for (unsigned round = 0; round < ROUNDS; round++) {
        fill(round % 6);
        for (unsigned i = 0; i < 40; i++) {
            size_t from = random32() % 64, len = random32() % TEXT;
            compare_all(buffer + from, buffer + from + len);
        }
    }
}

static void every_offset_and_length(void **unused)
{
    (void)unused;
    for (unsigned kind = 0; kind < 6; kind++) {
        fill(kind);
        for (size_t from = 0; from < 33; from++)
            for (size_t len = 0; len <= TEXT - 33; len++) compare_all(buffer + from, buffer + from + len);
    }
}

static void comparison_detects_each_single_byte(void **unused)
{
    (void)unused;
    uint8_t other[sizeof buffer];
    fill(2);
    for (size_t from = 0; from < 17; from++)
        for (size_t len = 0; len < 200; len += len < 70 ? 1 : 9) {
            memset(other, 0x5A, sizeof other); /* bytes after the string differ and must be ignored */
            for (size_t i = 0; i < 16; i++) other[len + i] = (uint8_t)~buffer[from + len + i];
            memcpy(other, buffer + from, len);
            assert_true(loops->same(buffer + from, other, len));
            assert_int_equal(loops->same_length(buffer + from, other, len), len);
            for (size_t bad = 0; bad < len; bad++) {
                other[bad] ^= 0x80;
                assert_false(loops->same(buffer + from, other, len));
                assert_false(gt_scan_same_scalar(buffer + from, other, len));
                assert_int_equal(loops->same_length(buffer + from, other, len), bad);
                assert_int_equal(gt_scan_same_length_scalar(buffer + from, other, len), bad);
                other[bad] ^= 0x80;
            }
        }
}

static void known_positions(void **unused)
{
    (void)unused;
    static const uint8_t text[128] = "abc\\\"def\"ghi]  ]x[\"]\"]";
    assert_ptr_equal(loops->quote(text, text + 60), text + 3);
    assert_ptr_equal(loops->string(text, text + 60), text + 8);
    assert_ptr_equal(loops->string(text, text + 5), text + 5); /* the escaped quote does not close */
    assert_ptr_equal(loops->string(text, text + 4), text + 4); /* the escape is split between blocks */
    assert_ptr_equal(loops->space(text + 13, text + 60), text + 15);
    assert_ptr_equal(loops->container(text + 9, text + 60), text + 13);
    assert_ptr_equal(loops->container(text + 18, text + 60),
                     text + 22); /* the bracket in the string does not count */
    assert_null(loops->container(text + 18, text + 21));
}

static void chosen_set_is_usable(void **unused)
{
    (void)unused;
    gt_error error;
    gt_scan_set best = gt_scan_set_chosen();
    assert_true(gt_scan_set_is_usable(best));
    for (gt_scan_set set = best + 1; set < GT_SCAN_SETS; set++) assert_false(gt_scan_set_is_usable(set));
    assert_true(gt_scan_set_use("scalar", &error));
    assert_int_equal(gt_scan_set_chosen(), GT_SET_SCALAR);
    assert_false(gt_scan_set_use("mmx", &error));
    assert_non_null(strstr(error.text, "'mmx'"));
    assert_int_equal(gt_scan_set_chosen(), GT_SET_SCALAR);
    assert_true(gt_scan_set_use(gt_scan_set_name(best), &error));
}

static int tests_of_set(gt_scan_set set)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scanners_agree_with_scalar_loops),
        cmocka_unit_test(every_offset_and_length),
        cmocka_unit_test(comparison_detects_each_single_byte),
        cmocka_unit_test(known_positions),
    };
    loops = gt_learned_set_of(set)->scan;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chosen_set_is_usable)};
    return cmocka_run_group_tests(tests, NULL, NULL) + run_per_set(argc, argv, tests_of_set);
}
