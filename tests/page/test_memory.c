/* Memory events: which are read, with which options, and which points of them the page has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/team.h"
#include "input/chrome/kineto.h"
#include "page/work_parts.h"
#include "schema/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- traces ---- */

static gt_buffer begin_trace(void)
{
    gt_buffer text = {0};
    gt_buffer_add_cstr(
        &text, "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 1, "
               "\"tid\": 1, \"ts\": 1000, \"dur\": 5}");
    return text;
}

/* Keys in the order of PyTorch 2. */
static void add_memory(gt_buffer *text, int type, int device, double ts, long long allocated,
                       long long reserved)
{
    char *event =
        gt_format(",\n{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\", "
                  "\"pid\": 1, \"tid\": 1, \"ts\": %.3f, \"args\": {\"Total Reserved\": %lld, \"Total "
                  "Allocated\": %lld, \"Bytes\": 8, \"Addr\": 137278998387200, \"Device Id\": %d, \"Device "
                  "Type\": %d, \"Ev Idx\": 7}}",
                  ts, reserved, allocated, device, type);
    gt_buffer_add_cstr(text, event);
    gt_free(event);
}

static gt_pytorch_read *read_trace(const gt_buffer *text, gt_kineto_options keep)
{
    gt_error error;
    gt_read_options options = {.threads = 1};
    gt_buffer whole = {0};
    gt_buffer_add(&whole, text->bytes, text->len);
    gt_buffer_add_cstr(&whole, "]}");
    gt_stream *stream = gt_stream_memory((const uint8_t *)whole.bytes, whole.len, 0, &error);
    gt_pytorch_read *read = gt_kineto_read_stream(stream, keep, &options, &error);
    if (!read) fail_msg("%s", error.text);
    gt_stream_close(stream);
    gt_buffer_free(&whole);
    return read;
}

/* The table of the page. */
typedef struct page_memory {
    gt_pytorch_read *read;
    gt_findings findings;
    gt_table_list tables;
    const gt_table *table; /* NULL: none */
} page_memory;

static page_memory make_page(gt_buffer *text)
{
    page_memory m = {.read = read_trace(text, (gt_kineto_options){.frames = true, .memory = true})};
    m.findings.schedule = gt_schedule_new(gt_pytorch_read_view(m.read));
    gt_page_work work = {.findings = &m.findings, .schedule = m.findings.schedule};
    gt_page_add_memory(&work, &m.tables);
    m.table = gt_table_list_find(&m.tables, GT_SHEET_PAGE_MEMORY);
    gt_buffer_free(text);
    return m;
}

static void free_page(page_memory *m)
{
    gt_table_list_free(&m->tables);
    gt_schedule_free(m->findings.schedule);
    gt_pytorch_read_free(m->read);
}

typedef struct point {
    int64_t device, start, allocated, reserved;
} point;

static point point_at(const gt_table *table, size_t row)
{
    return (point){table->columns[0].ints[row], table->columns[1].ints[row], table->columns[2].ints[row],
                   table->columns[3].ints[row]};
}

static void expect_points(const gt_table *table, const point *expected, size_t count)
{
    assert_non_null(table);
    assert_int_equal(table->row_count, count);
    for (size_t i = 0; i < count; i++) {
        point found = point_at(table, i);
        assert_memory_equal(&found, &expected[i], sizeof found);
    }
}

/* ---- reading ---- */

static void memory_of_devices(void **state)
{
    (void)state;
    gt_buffer text = begin_trace();
    add_memory(&text, 0, -1, 1001, 64, 0); /* the CPU */
    add_memory(&text, 1, 0, 1002, 1000, 4096);
    add_memory(&text, 6, 3, 1004, 70, 80);       /* HIP */
    add_memory(&text, 1, 0, 1003.5, 3000, 4096); /* not in order */
    add_memory(&text, 1, 0, 1003, 2000, 4096);
    add_memory(&text, 1, 0, 999, 500, 4096); /* before the first event */
    page_memory m = make_page(&text);
    const point expected[] = {{0, 0, 500, 4096},
                              {0, 2000, 1000, 4096},
                              {0, 3000, 2000, 4096},
                              {0, 3500, 3000, 4096},
                              {3, 4000, 70, 80}};
    expect_points(m.table, expected, GT_LENGTH(expected));
    free_page(&m);
}

static void events_that_say_nothing(void **state)
{
    (void)state;
    static const char *const others[] = {
        /* another instant */
        "{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"name\": \"[OutOfMemory]\", \"pid\": 1, \"tid\": "
        "1, \"ts\": "
        "1001, \"args\": {\"Total Allocated\": 1, \"Total Reserved\": 2, \"Device Type\": 1, \"Device Id\": "
        "0}}",
        /* PyTorch 1.8: no totals */
        "{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"name\": \"[memory]\", \"pid\": 1, \"tid\": 1, "
        "\"ts\": 1001, "
        "\"args\": {\"Device Type\": 1, \"Device Id\": 0, \"Bytes\": 512}}",
        /* other types */
        "{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"name\": \"[memory]\", \"pid\": 1, \"tid\": 1, "
        "\"ts\": 1001, "
        "\"args\": {\"Total Allocated\": \"1\", \"Total Reserved\": null, \"Device Type\": [], \"Device "
        "Id\": {}}}",
        /* no time */
        "{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"name\": \"[memory]\", \"pid\": 1, \"tid\": 1, "
        "\"args\": {\"Total Allocated\": 1, \"Total Reserved\": 2, \"Device Type\": 1, \"Device Id\": 0}}",
        /* less than nothing */
        "{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"name\": \"[memory]\", \"pid\": 1, \"tid\": 1, "
        "\"ts\": 1001, "
        "\"args\": {\"Total Allocated\": -5, \"Total Reserved\": 2, \"Device Type\": 1, \"Device Id\": 0}}",
        /* more than there can be */
        "{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"name\": \"[memory]\", \"pid\": 1, \"tid\": 1, "
        "\"ts\": 1001, "
        "\"args\": {\"Total Allocated\": 1, \"Total Reserved\": 9007199254740993, \"Device Type\": 1, "
        "\"Device Id\": 0}}",
        "{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"name\": \"[memory]\"}",
        "{\"ph\": \"i\", \"cat\": \"cpu_instant_event\"}",
    };
    gt_buffer text = begin_trace();
    for (size_t i = 0; i < GT_LENGTH(others); i++) {
        gt_buffer_add_cstr(&text, ",\n");
        gt_buffer_add_cstr(&text, others[i]);
    }
    page_memory m = make_page(&text);
    assert_true(!m.table || !m.table->row_count);
    free_page(&m);
}

/* Several processes may use a device: the one with more events is shown. */
static void one_process_per_device(void **state)
{
    (void)state;
    gt_buffer text = begin_trace();
    add_memory(&text, 1, 0, 1001, 10, 20);
    size_t at = text.len;
    add_memory(&text, 1, 0, 1002, 30, 40);
    add_memory(&text, 1, 0, 1003, 50, 60);
    gt_buffer_str(&text); /* NUL-terminated for strstr */
    for (char *pid; (pid = strstr(text.bytes + at, "\"pid\": 1")); pid[7] = '2') {
    }
    page_memory m = make_page(&text);
    const point expected[] = {{0, 2000, 30, 40}, {0, 3000, 50, 60}};
    expect_points(m.table, expected, GT_LENGTH(expected));
    free_page(&m);
}

/* With any options the rows are the same, and memory events are there only if they are wanted. */
static void options_and_rows(void **state)
{
    (void)state;
    gt_buffer text = begin_trace();
    add_memory(&text, 1, 0, 1002, 1000, 4096);
    gt_buffer_add_cstr(
        &text, ",\n{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"f\", \"pid\": 1, \"tid\": 1, "
               "\"ts\": 1000, \"dur\": 9}, {\"ph\": \"s\", \"cat\": \"ac2g\", \"id\": 3, \"pid\": 1, "
               "\"tid\": 1, \"ts\": 1001, \"name\": \"ac2g\"}");
    add_memory(&text, 1, 0, 1003, 2000, 4096);
    for (unsigned bits = 0; bits < 16; bits++) {
        gt_kineto_options keep = {
            .python_functions = bits & 1, .frames = bits & 2, .memory = bits & 4, .every_event = bits & 8};
        gt_pytorch_read *read = read_trace(&text, keep);
        const gt_event_view *view = gt_pytorch_read_view(read);
        gt_memory_events memory = gt_memory_events_unpack(view->memory, view->strings);
        bool wanted = keep.memory && !keep.every_event;
        assert_int_equal(view->memory != NULL, wanted);
        assert_int_equal(memory.count, wanted ? 2 : 0);
        assert_int_equal(view->count, keep.every_event ? 4 : keep.python_functions ? 2 : 1);
        assert_int_equal(view->uid_count, 5);
        if (wanted) assert_int_equal(memory.allocated[1], 2000);
        bool has_frames = keep.frames && !keep.python_functions && !keep.every_event;
        assert_int_equal(view->frames != NULL, has_frames);
        if (has_frames) assert_int_equal(gt_store_count(view->frames), 1);
        gt_memory_events_free(&memory);
        gt_pytorch_read_free(read);
    }
    gt_buffer_free(&text);
}

/* ---- thinning out ---- */

/* A saw of 20,000 events with one high and one low point, then silence, then one more event: of each stretch
 * of time the highest and the lowest value stay, and after the saw its last value holds. */
static void many_events(void **state)
{
    (void)state;
    enum { EVENTS = 20000, HIGH = 7777, LOW = 12345 };
    int64_t *allocated = gt_alloc(EVENTS * sizeof *allocated);
    gt_buffer text = begin_trace();
    for (int i = 0; i < EVENTS; i++) {
        allocated[i] = 1000000 + (i * 37) % 1000 * 512;
        if (i == HIGH) allocated[i] = INT64_C(1) << 40;
        if (i == LOW) allocated[i] = 3;
        add_memory(&text, 1, 0, 1000 + i, allocated[i], i < 500 ? 1000 : i == 600 ? 9000 : 5000);
    }
    add_memory(&text, 1, 0, 1000 + 10 * EVENTS, 42, 5000);
    page_memory m = make_page(&text);
    size_t rows = m.table->row_count;
    assert_in_range(rows, 200, 4000);
    bool high = false, low = false, spike = false, after = false;
    for (size_t i = 0; i < rows; i++) {
        point p = point_at(m.table, i);
        assert_true(i == 0 || p.start > point_at(m.table, i - 1).start);
        if (i + 1 < rows) assert_int_equal(p.allocated, allocated[p.start / 1000]);
        high |= p.start == HIGH * 1000;
        low |= p.start == LOW * 1000;
        spike |= p.start == 600 * 1000 && p.reserved == 9000;
        after |= p.start == (EVENTS - 1) * 1000;
    }
    assert_true(high && low && spike && after);
    assert_int_equal(point_at(m.table, 0).start, 0);
    assert_int_equal(point_at(m.table, rows - 1).allocated, 42);
    /* Any stretch that is longer than two slots has its highest value. */
    int64_t slot = (int64_t)10 * EVENTS * 1000 / 800;
    for (int64_t from = 0; from + 3 * slot < (int64_t)EVENTS * 1000; from += slot) {
        int64_t most = 0, shown = 0;
        for (int64_t i = from / 1000 + 1; i < (from + 3 * slot) / 1000; i++)
            if (allocated[i] > most) most = allocated[i];
        for (size_t i = 0; i < rows; i++) {
            point p = point_at(m.table, i);
            if (p.start >= from - slot && p.start <= from + 4 * slot && p.allocated > shown)
                shown = p.allocated;
        }
        assert_true(shown >= most);
    }
    gt_free(allocated);
    free_page(&m);
}

/* All at one time, and times so far apart that their distance is no time of a profile. */
static void strange_times(void **state)
{
    (void)state;
    gt_buffer text = begin_trace();
    for (int i = 0; i < 5000; i++) add_memory(&text, 1, 0, 1000, i, 5000 - i);
    for (int i = 0; i < 5000; i++) add_memory(&text, 1, 1, i % 2 ? 1e300 : 0, i, 5000);
    page_memory m = make_page(&text);
    size_t rows[2] = {0};
    for (size_t i = 0; i < m.table->row_count; i++) rows[point_at(m.table, i).device]++;
    assert_int_equal(rows[0], 2); /* the first: least allocated, most reserved; the last: the opposite */
    assert_in_range(rows[1], 2, 4000);
    free_page(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_of_devices),
        cmocka_unit_test(events_that_say_nothing),
        cmocka_unit_test(one_process_per_device),
        cmocka_unit_test(options_and_rows),
        cmocka_unit_test(many_events),
        cmocka_unit_test(strange_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
