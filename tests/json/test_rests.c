/* Records whose last values are the same again and again, as those of kernel dispatches are: they are found
 * as one text, and read as they were written. Some records have something else instead: a value of another
 * type, a key twice or not at all, more white space. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/memory.h"
#include "input/json/records.h"
#include "instruction_sets.h"
#include "written_text.h"

#include <inttypes.h>
#include <stdlib.h>

enum { START, KERNEL, NUMBER, BYTES, BLOCK_X, BLOCK_Y, GRID_X, GRID_Y, STREAM, FIELDS };

static const gt_field fields[FIELDS] = {
    [START] = {"start", GT_FIELD_INT, false},          [KERNEL] = {"info/kernel", GT_FIELD_INT, false},
    [NUMBER] = {"info/number", GT_FIELD_INT, false},   [BYTES] = {"info/bytes", GT_FIELD_INT, false},
    [BLOCK_X] = {"info/block/x", GT_FIELD_INT, false}, [BLOCK_Y] = {"info/block/y", GT_FIELD_INT, false},
    [GRID_X] = {"info/grid/x", GT_FIELD_INT, false},   [GRID_Y] = {"info/grid/y", GT_FIELD_INT, false},
    [STREAM] = {"stream/handle", GT_FIELD_INT, false},
};

static uint64_t state = 0x2345678;

static uint32_t random32(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 11);
}

typedef struct expected {
    uint64_t present, mistyped;
    int64_t values[FIELDS];
} expected;

static void expect(expected *e, int field, int64_t value)
{
    e->present |= UINT64_C(1) << field;
    e->mistyped &= ~(UINT64_C(1) << field);
    e->values[field] = value;
}

/* The last values of a record; `odd` is 0 for the usual ones. */
static void put_rest(text *t, expected *e, int kind, unsigned odd)
{
    int64_t grid = (int64_t)(kind % 7) * 1000 + kind;
    expect(e, BYTES, kind % 3 ? kind * 512 : 0);
    expect(e, BLOCK_X, 64 << kind % 5);
    expect(e, BLOCK_Y, 1 + kind % 2);
    expect(e, GRID_X, grid);
    expect(e, GRID_Y, kind % 11 - 5);
    expect(e, STREAM, kind % 4);
    put(t, ",\"bytes\":%" PRId64 ",\"unused\":%d,\"block\":{\"x\":%" PRId64, e->values[BYTES], kind % 2,
        e->values[BLOCK_X]);
    if (odd == 1) put(t, ",  \"more\" : %d", kind);
    if (odd == 2) put(t, ",\"name\":\"%d\"", kind);
    put(t, ",\"y\":%" PRId64 "},\"grid\":{", e->values[BLOCK_Y]);
    if (odd == 3) {
        put(t, "\"x\":\"17 rows\"");
        e->mistyped |= UINT64_C(1) << GRID_X;
        e->present &= ~(UINT64_C(1) << GRID_X);
    } else if (odd == 4) {
        put(t, "\"x\":1.5");
        e->mistyped |= UINT64_C(1) << GRID_X;
        e->present &= ~(UINT64_C(1) << GRID_X);
    } else if (odd == 5) {
        put(t, "\"x\":null");
        e->present &= ~(UINT64_C(1) << GRID_X);
    } else {
        put(t, "\"x\":%" PRId64, grid);
    }
    put(t, ",\"y\":%" PRId64 "}", e->values[GRID_Y]);
    if (odd == 6) {
        put(t, ",\"number\":%d", -kind); /* a second time */
        expect(e, NUMBER, -kind);
    }
    if (odd == 7) {
        put(t, "}}");
        e->present &= ~(UINT64_C(1) << STREAM);
        return;
    }
    put(t, "},\"stream\":{\"handle\":%" PRId64 "}%s}", e->values[STREAM], odd == 8 ? " " : "");
}

enum { ODD = 9, KINDS = 200 };

/* Usual records first, then odd ones among them. */
static void put_records(text *t, expected *all, size_t count)
{
    put(t, "[");
    for (size_t i = 0; i < count; i++) {
        expected *e = &all[i];
        int kind = (int)(random32() % KINDS);
        unsigned odd = i > count / 4 && random32() % 16 == 0 ? 1 + random32() % (ODD - 1) : 0;
        *e = (expected){0};
        expect(e, START, (int64_t)random32() * 1000);
        expect(e, KERNEL, kind % 80);
        expect(e, NUMBER, (int64_t)i);
        put(t, "%s{\"size\":184,\"start\":%" PRId64 ",\"info\":{\"kernel\":%" PRId64 ",\"number\":%" PRId64,
            i ? "," : "", e->values[START], e->values[KERNEL], e->values[NUMBER]);
        put_rest(t, e, kind, odd);
    }
    put(t, "]");
}

static void assert_record(const gt_record *record, const expected *e)
{
    assert_int_equal(record->present, e->present);
    assert_int_equal(record->mistyped, e->mistyped);
    for (size_t field = 0; field < FIELDS; field++)
        if (e->present >> field & 1) assert_int_equal(record->cells[field].integer, e->values[field]);
}

/* Returns how many records were known to their end. */
static uint64_t read_records(const text *t, size_t block, const expected *all, size_t count)
{
    gt_error error;
    gt_stream *stream = gt_stream_memory(t->items, t->count, block, &error);
    gt_interner *strings = gt_interner_new();
    gt_record_reader *reader = gt_record_reader_new(fields, FIELDS, strings);
    gt_json json;
    gt_record record;
    gt_json_begin(&json, stream, 0);
    assert_true(gt_json_enter_array(&json));
    for (size_t i = 0; i < count; i++) {
        assert_true(gt_json_next_element(&json));
        assert_true(gt_record_read(reader, &json, &record));
        assert_record(&record, &all[i]);
    }
    assert_false(gt_json_next_element(&json));
    assert_true(gt_json_finish(&json));
    uint64_t hits = gt_record_reader_rest_hits(reader);
    gt_record_reader_free(reader);
    gt_interner_free(strings);
    gt_stream_close(stream);
    return hits;
}

static void records_are_read_as_they_were_written(void **unused)
{
    (void)unused;
    static const size_t blocks[] = {0, 1000, 4096, 100};
    const size_t count = getenv("GPUTALLY_TEST_EMULATED") ? 3000 : 20000;
    expected *all = gt_alloc(count * sizeof *all);
    text t = {0};
    put_records(&t, all, count);
    assert_true(read_records(&t, 0, all, count) > count / 2);
    for (size_t i = 0; i < GT_LENGTH(blocks); i++) read_records(&t, blocks[i], all, count);
    free(t.items);
    gt_free(all);
}

/* What follows a value is never the same: it is given up soon. */
static void rests_that_differ_are_not_looked_for(void **unused)
{
    (void)unused;
    enum { COUNT = 3000 };
    expected *all = gt_alloc(COUNT * sizeof *all);
    text t = {0};
    put(&t, "[");
    for (size_t i = 0; i < COUNT; i++) {
        all[i] = (expected){0};
        expect(&all[i], START, (int64_t)i);
        for (int field = BYTES; field < FIELDS; field++) expect(&all[i], field, (int64_t)random32() << 8);
        const int64_t *v = all[i].values;
        put(&t,
            "%s{\"start\":%" PRId64 ",\"info\":{\"bytes\":%" PRId64 ",\"block\":{\"x\":%" PRId64
            ",\"y\":%" PRId64 "},\"grid\":{\"x\":%" PRId64 ",\"y\":%" PRId64
            "}},\"stream\":{\"handle\":%" PRId64 "}}",
            i ? "," : "", v[START], v[BYTES], v[BLOCK_X], v[BLOCK_Y], v[GRID_X], v[GRID_Y], v[STREAM]);
    }
    put(&t, "]");
    assert_int_equal(read_records(&t, 0, all, COUNT), 0);
    free(t.items);
    gt_free(all);
}

static int tests_of_set(gt_scan_set set)
{
    (void)set;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_read_as_they_were_written),
        cmocka_unit_test(rests_that_differ_are_not_looked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return run_per_set(argc, argv, tests_of_set);
}
