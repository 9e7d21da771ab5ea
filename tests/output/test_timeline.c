/* Lanes, the spool, scanning a store, and timelines written in both formats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/memory.h"
#include "output/trace/timeline_format.h"
#include "output/file.h"
#include "output/trace/timeline.h"
#include "trace/store.h"

/* ---- lanes ---- */

typedef struct span {
    int64_t start, end;
    size_t lane; /* the expected lane */
} span;

static void check_lanes(bool nests, const span *spans, size_t count)
{
    gt_lanes lanes = {.nests = nests};
    for (size_t i = 0; i < count; i++)
        assert_int_equal(gt_lanes_place(&lanes, spans[i].start, spans[i].end), spans[i].lane);
    gt_lanes_free(&lanes);
}

static void consecutive_slices_share_a_lane(void **state)
{
    (void)state;
    static const span spans[] = {{0, 10, 0}, {10, 20, 0}, {20, 20, 0}, {20, 25, 0}, {30, 40, 0}};
    check_lanes(false, spans, 5);
    check_lanes(true, spans, 5);
}

static void inner_slices_nest_on_threads_only(void **state)
{
    (void)state;
    static const span nested[] = {{0, 100, 0}, {0, 50, 0},   {10, 20, 0},
                                  {20, 50, 0}, {50, 100, 0}, {100, 110, 0}};
    static const span flat[] = {{0, 100, 0}, {0, 50, 1},   {10, 20, 2},
                                {20, 50, 2}, {50, 100, 1}, {100, 110, 0}};
    check_lanes(true, nested, 6);
    check_lanes(false, flat, 6);
}

static void overlapping_slices_move_to_the_first_free_lane(void **state)
{
    (void)state;
    static const span spans[] = {{0, 100, 0},  {50, 150, 1},  {60, 160, 2},
                                 {90, 155, 2}, {100, 120, 0}, {160, 170, 0}};
    check_lanes(true, spans, 6);
}

/* However many slices overlap, no two share a lane, and placing them stays fast. */
static void many_overlapping_slices(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    for (int nests = 0; nests < 2; nests++) {
        gt_lanes lanes = {.nests = nests};
        char *taken = gt_alloc_zero(COUNT, 1);
        for (int64_t i = 0; i < COUNT; i++) {
            size_t lane = gt_lanes_place(&lanes, i, INT64_C(1000000) + i);
            assert_true(lane < COUNT && !taken[lane]);
            taken[lane] = 1;
        }
        assert_int_equal(gt_lanes_place(&lanes, INT64_C(1000000), INT64_C(1000001)), 0);
        free(taken);
        gt_lanes_free(&lanes);
    }
}

/* ---- the spool ---- */

static void records_come_back_in_any_order(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    char folder[] = "/tmp/gputally-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *path = gt_format("%s/out", folder);
    gt_error error;
    gt_temp_store *spool = gt_temp_store_open(path, &error);
    assert_non_null(spool);
    static uint64_t places[COUNT];
    static char record[COUNT];
    for (size_t i = 0; i < COUNT; i++) { /* lengths from 0 on; 2000 records exceed the buffer */
        memset(record, (int)(i % 251), i);
        places[i] = gt_temp_store_add(spool, record, i % 3000);
    }
    assert_true(gt_temp_store_seal(spool, &error));
    for (size_t i = COUNT; i-- > 0;) {
        gt_str back = gt_temp_store_read(spool, places[i]);
        assert_int_equal(back.len, i % 3000);
        for (size_t at = 0; at < back.len; at += 97) assert_int_equal((uint8_t)back.bytes[at], i % 251);
    }
    gt_temp_store_close(spool);
    assert_int_equal(rmdir(folder), 0); /* no file is left there */
    free(path);
}

static void a_missing_folder_is_reported(void **state)
{
    (void)state;
    gt_error error;
    assert_null(gt_temp_store_open("/nonexistent/folder/out.pftrace", &error));
    assert_non_null(strstr(error.text, "cannot write /nonexistent/folder/out.pftrace"));
}

/* ---- scanning a store ---- */

static void scans_agree_with_columns(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    static const gt_store_column columns[] = {{GT_STORE_INT, -7}, {GT_STORE_STRING, 0}, {GT_STORE_TIME, 0}};
    gt_interner *strings = gt_interner_new(), *own = gt_interner_new();
    gt_store *store = gt_store_new(columns, 3, strings);
    gt_store_writer *writer = gt_store_writer_new(columns, 3, own);
    gt_interner_add_cstr(strings, "makes the ids differ");
    for (int64_t i = 0; i < COUNT; i++) {
        gt_store_cell cells[3] = {
            {.integer = i * i}, {.text = gt_interner_add(own, &i, 1)}, {.time = (double)i / 8}};
        gt_store_writer_add(writer, i % 5 == 0 ? 2 : i % 7 == 0 ? 5 : 7, cells);
    }
    gt_store_append(store, gt_store_writer_take(writer));
    gt_store_adopt_strings(store, own);
    gt_store_writer_free(writer);
    int64_t *ints = gt_store_ints(store, 0);
    uint32_t *texts = gt_store_string_ids(store, 1);
    double *times = gt_store_times(store, 2);
    gt_store_cell cells[3];
    gt_store_scan *scan = gt_store_scan_new(store);
    size_t seen = 0;
    for (; gt_store_scan_next(scan, cells); seen++) {
        assert_int_equal(cells[0].integer, ints[seen]);
        assert_int_equal(cells[1].text, texts[seen]);
        assert_memory_equal(&cells[2].time, &times[seen], sizeof *times);
    }
    assert_int_equal(seen, COUNT);
    assert_false(gt_store_scan_next(scan, cells));
    gt_store_scan_free(scan);
    free(ints);
    free(texts);
    free(times);
    gt_store_free(store);
    gt_interner_free(strings);
    gt_interner_free(own);
}

/* ---- timelines ---- */

static gt_str text(const char *bytes)
{
    return (gt_str){bytes, strlen(bytes)};
}

/* A slice, one inside it that is written before it, a mark and a value; returns the file's bytes. */
static char *small_timeline(gt_timeline_format format, size_t *len, gt_timeline_totals *totals)
{
    char path[] = "/tmp/gputally-test-XXXXXX";
    int made = mkstemp(path);
    assert_true(made >= 0);
    close(made);
    gt_error error;
    gt_output *output = gt_output_new();
    gt_timeline *t = gt_timeline_new(output, path, format, 1, &error);
    assert_non_null(t);
    gt_interner *strings = gt_timeline_strings(t);
    uint32_t process = gt_timeline_process(t, 5, text("p\"1"));
    uint32_t thread = gt_timeline_track(t, process, (gt_track_spec){GT_FORM_THREAD, 6, text("main")});
    uint32_t counter =
        gt_timeline_track(t, process, (gt_track_spec){GT_FORM_COUNTER, GT_NO_TID, text("load")});
    uint32_t cat = gt_interner_add_cstr(strings, "c"), key = gt_interner_add_cstr(strings, "k");
    gt_timeline_begin(t, GT_TIMELINE_SLICE, thread, 1500, 1600, cat, gt_interner_add_cstr(strings, "inner"));
    gt_timeline_arg_json(t, key, text("[1,[]]"));
    gt_timeline_end(t);
    gt_timeline_begin(t, GT_TIMELINE_SLICE, thread, 1000, 2001, cat, gt_interner_add_cstr(strings, "outer"));
    gt_timeline_arg_int(t, key, -3);
    gt_timeline_end(t);
    gt_timeline_begin(t, GT_TIMELINE_MARK, thread, 1700, 0, cat, gt_interner_add_cstr(strings, "mark"));
    gt_timeline_arg_bool(t, key, true);
    gt_timeline_end(t);
    gt_timeline_begin(t, GT_TIMELINE_VALUE, counter, 1800, 0, cat, gt_interner_add_cstr(strings, "load"));
    gt_timeline_value(t, 0.5);
    gt_timeline_end(t);
    assert_true(gt_timeline_finish(t, totals, &error));
    assert_true(gt_output_commit(output, &error));
    gt_output_free(output);
    FILE *file = fopen(path, "rb");
    char *bytes = gt_alloc_zero(1, 4096);
    *len = fread(bytes, 1, 4095, file);
    fclose(file);
    unlink(path);
    return bytes;
}

static void a_small_chrome_trace(void **state)
{
    (void)state;
    size_t len;
    gt_timeline_totals totals;
    char *bytes = small_timeline(GT_TIMELINE_CHROME, &len, &totals);
    assert_string_equal(
        bytes,
        "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":5,\"tid\":0,\"args\":{\"name\":\"p\\\"1\"}},\n"
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":5,\"tid\":6,\"args\":{\"name\":\"main\"}},\n"
        "{\"ph\":\"X\",\"cat\":\"c\",\"name\":\"outer\",\"args\":{\"k\":-3},\"pid\":5,\"tid\":6,\"ts\":1.000,"
        "\"dur\":1.001},\n"
        "{\"ph\":\"X\",\"cat\":\"c\",\"name\":\"inner\",\"args\":{\"k\":[1,[]]},\"pid\":5,\"tid\":6,\"ts\":1."
        "500,\"dur\":0.100},\n"
        "{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"c\",\"name\":\"mark\",\"args\":{\"k\":true},\"pid\":5,\"tid\":6,"
        "\"ts\":1.700},\n"
        "{\"ph\":\"C\",\"cat\":\"c\",\"name\":\"load\",\"args\":{\"value\":0.5},\"pid\":5,\"tid\":100000000,"
        "\"ts\":1.800}\n"
        "]}\n");
    assert_int_equal(totals.events, 4);
    assert_int_equal(totals.tracks, 2);
    assert_int_equal(totals.extra_tracks, 0);
    free(bytes);
}

/* The packets of the two ends: the inner one before the mark, the outer one at the very end. */
static void a_perfetto_trace_ends_its_slices_in_order(void **state)
{
    (void)state;
    size_t len;
    gt_timeline_totals totals;
    char *bytes = small_timeline(GT_TIMELINE_PERFETTO, &len, &totals);
    static const uint8_t first[] = {0x0A, 0x21, 0x50, 0x01,
                                    0x68, 0x03, 0x62}; /* sequence 1, cleared, interned */
    assert_int_equal(bytes[0], first[0]);
    assert_memory_equal(bytes + 2, first + 2, 5);
    /* timestamp, sequence, flags, event {type, track}: 2001 is D1 0F, 1600 is C0 0C, a mark at 1700 A4 0D */
    static const uint8_t inner_end[] = {0x40, 0xC0, 0x0C, 0x50, 0x01, 0x68, 0x02, 0x5A};
    static const uint8_t mark[] = {0x40, 0xA4, 0x0D, 0x50, 0x01, 0x68, 0x02, 0x5A};
    static const uint8_t outer_end[] = {0x40, 0xD1, 0x0F, 0x50, 0x01, 0x68, 0x02, 0x5A};
    char *a = memmem(bytes, len, inner_end, sizeof inner_end), *b = memmem(bytes, len, mark, sizeof mark);
    char *c = memmem(bytes, len, outer_end, sizeof outer_end);
    assert_true(a && b && c && a < b && b < c);
    assert_int_equal(totals.events, 4);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(consecutive_slices_share_a_lane),
        cmocka_unit_test(inner_slices_nest_on_threads_only),
        cmocka_unit_test(overlapping_slices_move_to_the_first_free_lane),
        cmocka_unit_test(many_overlapping_slices),
        cmocka_unit_test(records_come_back_in_any_order),
        cmocka_unit_test(a_missing_folder_is_reported),
        cmocka_unit_test(scans_agree_with_columns),
        cmocka_unit_test(a_small_chrome_trace),
        cmocka_unit_test(a_perfetto_trace_ends_its_slices_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
