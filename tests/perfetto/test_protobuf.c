/* The wire-format reader: every kind of field, and every way in which a message can be truncated. Bytes are
 * written by hand from the description of the format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/protobuf.h"

#define MESSAGE(bytes) gt_proto_begin((gt_str){bytes, sizeof(bytes) - 1})

static void test_each_kind(void **state)
{
    (void)state;
    /* 1: varint 300; 2: "hi"; 3: double 1.5; 4: fixed32 7; 5: varint -1 */
    gt_proto m = MESSAGE("\x08\xac\x02\x12\x02hi\x19\0\0\0\0\0\0\xf8\x3f\x25\x07\0\0\0\x28\xff\xff\xff\xff"
                         "\xff\xff\xff\xff\xff\x01");
    gt_proto_field field;
    assert_true(gt_proto_next(&m, &field));
    assert_int_equal(field.number, 1);
    assert_int_equal(gt_proto_int(&field), 300);
    assert_int_equal(gt_proto_bytes(&field).len, 0); /* it is not an integer */
    assert_true(gt_proto_next(&m, &field));
    assert_int_equal(gt_proto_bytes(&field).len, 2);
    assert_memory_equal(gt_proto_bytes(&field).bytes, "hi", 2);
    assert_int_equal(gt_proto_int(&field), 0);
    assert_true(gt_proto_next(&m, &field));
    assert_true(gt_proto_double(&field) == 1.5);
    assert_true(gt_proto_next(&m, &field));
    assert_int_equal(field.number, 4);
    assert_int_equal(gt_proto_int(&field), 7);
    assert_true(gt_proto_next(&m, &field));
    assert_int_equal(gt_proto_int(&field), -1);
    assert_false(gt_proto_next(&m, &field));
    assert_false(m.damaged);
}

/* Field 1 is a group that contains a group, a string and numbers; field 2 follows. */
static void test_groups_are_skipped(void **state)
{
    (void)state;
    gt_proto m = MESSAGE("\x0b\x13\x08\x05\x14\x12\x01\x0c\x1d\1\2\3\4\x19\1\2\3\4\5\6\7\x08\x0c\x10\x2a");
    gt_proto_field field;
    assert_true(gt_proto_next(&m, &field));
    assert_int_equal(field.number, 2);
    assert_int_equal(gt_proto_int(&field), 42);
    assert_false(gt_proto_next(&m, &field));
    assert_false(m.damaged);
}

static void test_damage(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
    } cases[] = {
        {"\x08", 1},                                              /* no value */
        {"\x08\x80", 2},                                          /* half a value */
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12}, /* more than ten bytes */
        {"\x12\x05hi", 4},                                        /* fewer bytes than its length */
        {"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01hi", 13},   /* a length that wraps around */
        {"\x19\0\0\0", 4},                                        /* half a double */
        {"\x25\0", 2},                                            /* half a fixed32 */
        {"\x0b\x08\x01", 3},                                      /* a group without its end */
        {"\x0c", 1},                                              /* an end without a group */
        {"\x0e\x01", 2},                                          /* undefined wire type */
        {"\x00\x01", 2},                                          /* field 0 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *exact = malloc(cases[i].len); /* so that AddressSanitizer reports reads past the end */
        memcpy(exact, cases[i].bytes, cases[i].len);
        gt_proto m = gt_proto_begin((gt_str){exact, cases[i].len});
        gt_proto_field field;
        assert_false(gt_proto_next(&m, &field));
        assert_true(m.damaged);
        assert_false(gt_proto_next(&m, &field));
        free(exact);
    }
}

static void test_packed_and_single_ints(void **state)
{
    (void)state;
    gt_proto m = MESSAGE("\x0a\x04\x01\xac\x02\x03\x08\x09\x0a\x01\x80");
    gt_proto_field field;
    gt_proto_ints list = {0};
    assert_true(gt_proto_next(&m, &field));
    assert_true(gt_proto_add_ints(&list, &field));
    assert_true(gt_proto_next(&m, &field));
    assert_true(gt_proto_add_ints(&list, &field));
    assert_true(gt_proto_next(&m, &field));
    assert_false(gt_proto_add_ints(&list, &field)); /* truncated */
    assert_int_equal(list.count, 4);
    const int64_t expected[] = {1, 300, 3, 9};
    assert_memory_equal(list.items, expected, sizeof expected);
    free(list.items);
}

/* Varints of every length, followed by every number of bytes. Their bytes are computed by division. */
static void test_numbers_of_every_length(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits <= 64; bits++) {
        const uint64_t value = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - (bits & 1);
        uint8_t written[10];
        size_t len = 0;
        uint64_t rest = value;
        for (; rest >= 128; rest /= 128) written[len++] = (uint8_t)(128 + rest % 128);
        written[len++] = (uint8_t)rest;
        for (size_t extra = 0; extra < 12; extra++) {
            uint8_t *exact = malloc(len + extra);
            memset(exact, 0xff, len + extra);
            memcpy(exact, written, len);
            uint64_t read;
            assert_ptr_equal(gt_varint(exact, exact + len + extra, &read), exact + len);
            assert_int_equal(read, value);
            assert_null(gt_varint(exact, exact + len - 1, &read));
            free(exact);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_kind),
        cmocka_unit_test(test_groups_are_skipped),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_packed_and_single_ints),
        cmocka_unit_test(test_numbers_of_every_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
