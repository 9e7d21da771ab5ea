/* Lanes of stores with few and with many threads, compared with the processes and threads that were written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/team.h"
#include "trace/events.h"
#include "trace/pytorch/lanes.h"

#include <stdlib.h>

typedef struct written {
    gt_lane_ids *rows;
    size_t count;
    gt_store *store;
    gt_interner *strings;
    uint8_t width; /* expected */
} written;

static gt_lane_ids one_of(uint32_t lane)
{
    return (gt_lane_ids){.process = 1 + lane % 3, .thread = lane / 3};
}

/* Writes pieces of different lengths. */
static written write_rows(size_t count, gt_lane_ids (*at)(size_t row), uint8_t width)
{
    written w = {.rows = malloc((count + 1) * sizeof *w.rows), .count = count, .width = width};
    w.strings = gt_interner_new();
    w.store = gt_store_new(gt_event_columns, GT_EVENT_COLUMNS, w.strings);
    gt_store_writer *writer = gt_store_writer_new(gt_event_columns, GT_EVENT_COLUMNS, w.strings);
    for (size_t row = 0; row < count; row++) {
        gt_store_cell cells[GT_EVENT_COLUMNS] = {0};
        w.rows[row] = at(row);
        cells[GT_EVENT_PROCESS].text = w.rows[row].process;
        cells[GT_EVENT_THREAD].text = w.rows[row].thread;
        uint64_t present = UINT64_C(1) << GT_EVENT_PROCESS;
        if (w.rows[row].thread != GT_STR_NONE) present |= UINT64_C(1) << GT_EVENT_THREAD;
        gt_store_writer_add(writer, present, cells);
        if (row % 4999 == 17) gt_store_append(w.store, gt_store_writer_take(writer));
    }
    gt_store_append(w.store, gt_store_writer_take(writer));
    gt_store_writer_free(writer);
    return w;
}

static void free_written(written *w)
{
    gt_store_free(w->store);
    gt_interner_free(w->strings);
    free(w->rows);
}

/* Each row has its process and thread, and a lane that is new has the next number. */
static void check_rows(const gt_event_lanes *lanes, const gt_lane_ids *rows, size_t count)
{
    uint32_t known = 0;
    for (size_t row = 0; row < count; row++) {
        gt_lane_ids ids = gt_lane_ids_of(lanes, row);
        if (ids.process != rows[row].process || ids.thread != rows[row].thread ||
            gt_lane_of(lanes, row) > known)
            fail_msg("row %zu: lane %u of process %u, thread %u", row, gt_lane_of(lanes, row), ids.process,
                     ids.thread);
        known += gt_lane_of(lanes, row) == known;
    }
    assert_int_equal(lanes->count, known);
}

static void read_and_check(void *context)
{
    const written *w = context;
    gt_event_lanes lanes = gt_event_lanes_read(w->store);
    assert_int_equal(lanes.width, w->width);
    check_rows(&lanes, w->rows, w->count);
    gt_event_lanes_free(&lanes);
}

static void check_store(size_t count, gt_lane_ids (*at)(size_t row), uint8_t width)
{
    static const unsigned threads[] = {1, 2, 3};
    written w = write_rows(count, at, width);
    for (size_t i = 0; i < GT_LENGTH(threads); i++) gt_team_run(threads[i], read_and_check, &w);
    free_written(&w);
}

/* Other threads in each part of the trace, in another order, and some only at the end. */
static gt_lane_ids few(size_t row)
{
    uint32_t part = (uint32_t)(row / 9000);
    return one_of(row > 49000 ? 200 + (uint32_t)row % 50 : (uint32_t)(row / 7 * (part + 1)) % (3 + part));
}

static gt_lane_ids hundreds(size_t row)
{
    return one_of((uint32_t)(row * 7919 % 300));
}

static gt_lane_ids own_each(size_t row)
{
    return one_of((uint32_t)row);
}

static void test_few(void **state)
{
    (void)state;
    check_store(0, few, 1);
    check_store(1, few, 1);
    check_store(50000, few, 1);
}

static void test_many(void **state)
{
    (void)state;
    check_store(256, own_each, 1);
    check_store(257, own_each, 2);
    check_store(40000, hundreds, 2);
    check_store(65536, own_each, 2);
    check_store(65537, own_each, 4);
    check_store(100000, own_each, 4);
}

/* Adds rows of known and of new threads, until the numbers of the lanes need another width. */
static void check_append(size_t count, uint8_t width, uint8_t next_width)
{
    enum { ADDED = 3 };
    written w = write_rows(count, own_each, width);
    gt_event_lanes lanes = gt_event_lanes_read(w.store);
    gt_lane_ids *rows = malloc((count + 2 * ADDED) * sizeof *rows);
    for (size_t row = 0; row < count; row++) rows[row] = w.rows[row];
    for (size_t i = 0; i < ADDED; i++) rows[count + i] = one_of((uint32_t)(count - 1 - i));
    gt_event_lanes_append(&lanes, count, rows + count, ADDED);
    assert_int_equal(lanes.width, width);
    check_rows(&lanes, rows, count + ADDED);
    for (size_t i = 0; i < ADDED; i++) rows[count + ADDED + i] = one_of((uint32_t)(count + i % 2));
    gt_event_lanes_append(&lanes, count + ADDED, rows + count + ADDED, ADDED);
    assert_int_equal(lanes.width, next_width);
    assert_int_equal(lanes.count, count + 2);
    check_rows(&lanes, rows, count + 2 * ADDED);
    free(rows);
    gt_event_lanes_free(&lanes);
    free_written(&w);
}

static void test_append(void **state)
{
    (void)state;
    check_append(20, 1, 1);
    check_append(255, 1, 2);
    check_append(65535, 2, 4);
    check_append(70000, 4, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_few), cmocka_unit_test(test_many),
                                       cmocka_unit_test(test_append)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
