/* The Perfetto reader, on traces written field by field: sequences, interning, clocks, tracks, annotations,
 * damage. */
#include "input/perfetto/perfetto.h"
#include "proto_writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <zlib.h>

enum { BEGIN = 1, END = 2, INSTANT = 3, COUNTER = 4 };

/* ---- writing ---- */

static void put_double(gt_buffer *out, unsigned field, double value)
{
    put_varint(out, field << 3 | 1);
    gt_buffer_add(out, &value, sizeof value);
}

static void put_packet(gt_buffer *trace, gt_buffer *packet)
{
    put_message(trace, 1, packet);
}

static void put_name(gt_buffer *interned, unsigned table, int64_t iid, const char *name)
{
    gt_buffer entry = {0};
    put_int(&entry, 1, iid);
    put_text(&entry, 2, name);
    put_message(interned, table, &entry);
}

static void put_track(gt_buffer *trace, int64_t uuid, int64_t parent, unsigned owner, int64_t pid,
                      int64_t tid)
{
    gt_buffer packet = {0}, track = {0}, about = {0};
    put_int(&track, 1, uuid);
    if (parent) put_int(&track, 5, parent);
    if (owner) {
        put_int(&about, 1, pid);
        if (owner == 4) put_int(&about, 2, tid);
        put_message(&track, owner, &about);
    }
    put_text(&track, 2, "track");
    put_message(&packet, 60, &track);
    put_packet(trace, &packet);
}

static void put_event(gt_buffer *trace, int64_t sequence, int64_t time, int64_t track, int64_t type,
                      gt_buffer *rest)
{
    gt_buffer packet = {0}, event = {0};
    put_int(&packet, 8, time);
    put_int(&packet, 10, sequence);
    put_int(&event, 9, type);
    if (track) put_int(&event, 11, track);
    if (rest) gt_buffer_add(&event, rest->bytes, rest->len);
    if (rest) gt_buffer_free(rest);
    if (rest) *rest = (gt_buffer){0};
    put_message(&packet, 11, &event);
    put_packet(trace, &packet);
}

/* ---- reading ---- */

typedef struct opened {
    gt_stream *stream;
    gt_interner *strings;
    gt_perfetto *trace;
} opened;

static opened open_trace(const gt_buffer *bytes, size_t block)
{
    gt_error error;
    opened o = {.stream = gt_stream_memory(bytes->bytes, bytes->len, block, &error),
                .strings = gt_interner_new()};
    assert_non_null(o.stream);
    o.trace = gt_perfetto_new(o.stream, o.strings);
    return o;
}

static void close_trace(opened *o)
{
    gt_perfetto_free(o->trace);
    gt_interner_free(o->strings);
    gt_stream_close(o->stream);
}

static const char *text(const opened *o, uint32_t id)
{
    return gt_interner_get(o->strings, id).bytes;
}

static bool accepts(const opened *o, size_t kept, bool strict, gt_error *error)
{
    gt_read_options options = {.threads = 1, .strict = strict};
    return gt_perfetto_accept(o->trace, kept, "events", &options, error);
}

/* Two sequences with the same ids for different names; one is cleared and defines them again. */
static void names_belong_to_sequences(void **state)
{
    (void)state;
    static const char *const expected[] = {"one", "uno", "", "eins"};
    gt_buffer trace = {0}, packet = {0}, interned = {0}, rest = {0};
    for (int64_t sequence = 1; sequence <= 2; sequence++) {
        put_int(&packet, 10, sequence);
        put_int(&packet, 13, 1);
        put_name(&interned, 2, 5, sequence == 1 ? "one" : "uno");
        put_message(&packet, 12, &interned);
        put_packet(&trace, &packet);
    }
    for (int64_t sequence = 1; sequence <= 2; sequence++) {
        put_int(&rest, 10, 5);
        put_event(&trace, sequence, 100, 9, INSTANT, &rest);
    }
    put_int(&packet, 10, 1);
    put_int(&packet, 41, 1); /* incremental_state_cleared */
    put_packet(&trace, &packet);
    put_int(&rest, 10, 5);
    put_event(&trace, 1, 100, 9, INSTANT, &rest);
    /* Names after the event in the same packet apply to it. */
    gt_buffer event = {0};
    put_int(&event, 9, INSTANT);
    put_int(&event, 10, 5);
    put_message(&packet, 11, &event);
    put_name(&interned, 2, 5, "eins");
    put_message(&packet, 12, &interned);
    put_int(&packet, 10, 1);
    put_packet(&trace, &packet);
    for (size_t block = 0; block < 40; block += 13) {
        opened o = open_trace(&trace, block);
        gt_perfetto_event e;
        for (size_t i = 0; i < 4; i++) {
            assert_true(gt_perfetto_next(o.trace, &e));
            assert_string_equal(text(&o, e.name), expected[i]);
        }
        assert_false(gt_perfetto_next(o.trace, &e));
        gt_error error;
        assert_true(accepts(&o, 4, true, &error));
        close_trace(&o);
    }
    gt_buffer_free(&trace);
}

/* The SDK's clock counts increments from a snapshot; an absolute packet in between does not change it. */
static void times_come_from_clocks(void **state)
{
    (void)state;
    gt_buffer trace = {0}, packet = {0}, clocks = {0}, clock = {0}, defaults = {0};
    put_int(&clock, 1, 6);
    put_int(&clock, 2, 1000000);
    put_message(&clocks, 1, &clock);
    put_int(&clock, 1, 64);
    put_int(&clock, 2, 500);
    put_int(&clock, 3, 1);
    put_int(&clock, 4, 1000); /* counts microseconds */
    put_message(&clocks, 1, &clock);
    put_int(&packet, 10, 1);
    put_int(&packet, 13, 1);
    put_message(&packet, 6, &clocks);
    put_int(&defaults, 58, 64);
    put_message(&packet, 59, &defaults);
    put_packet(&trace, &packet);
    put_event(&trace, 1, 3, 9, INSTANT, NULL);
    gt_buffer event = {0};
    put_int(&packet, 8, 777);
    put_int(&packet, 58, 6);
    put_int(&packet, 10, 1);
    put_int(&event, 9, INSTANT);
    put_message(&packet, 11, &event);
    put_packet(&trace, &packet);
    put_event(&trace, 1, 4, 9, INSTANT, NULL);
    put_event(&trace, 2, 888, 9, INSTANT, NULL); /* another sequence uses the clock of the trace */
    static const int64_t expected[] = {1003000, 777, 1007000, 888};
    opened o = open_trace(&trace, 0);
    gt_perfetto_event e;
    for (size_t i = 0; i < 4; i++) {
        assert_true(gt_perfetto_next(o.trace, &e));
        assert_int_equal(e.time_ns, expected[i]);
    }
    close_trace(&o);
    gt_buffer_free(&trace);
}

static void tracks_lead_to_processes(void **state)
{
    (void)state;
    gt_buffer trace = {0}, packet = {0}, defaults = {0}, event_defaults = {0};
    put_track(&trace, 10, 0, 3, 77, 0);
    put_track(&trace, 11, 10, 4, 77, 78);
    put_track(&trace, 12, 10, 0, 0, 0);
    put_track(&trace, 13, 12, 0, 0, 0);
    put_track(&trace, 14, 15, 0, 0, 0); /* its parents form a cycle */
    put_track(&trace, 15, 14, 0, 0, 0);
    put_int(&packet, 10, 3);
    put_int(&event_defaults, 11, 11);
    put_message(&defaults, 11, &event_defaults);
    put_message(&packet, 59, &defaults);
    put_packet(&trace, &packet);
    static const struct {
        int64_t uuid, pid;
        gt_track_kind kind;
    } cases[] = {{10, 77, GT_TRACK_PROCESS}, {11, 77, GT_TRACK_THREAD}, {13, 77, GT_TRACK_CUSTOM},
                 {14, 0, GT_TRACK_CUSTOM},   {99, 0, GT_TRACK_CUSTOM},  {0, 77, GT_TRACK_THREAD}};
    for (size_t i = 0; i < 6; i++) put_event(&trace, 3, 1, cases[i].uuid, BEGIN, NULL);
    opened o = open_trace(&trace, 0);
    gt_perfetto_event e;
    for (size_t i = 0; i < 6; i++) {
        assert_true(gt_perfetto_next(o.trace, &e));
        assert_int_equal(gt_perfetto_pid(o.trace, e.track), cases[i].pid);
        assert_int_equal(gt_perfetto_track_of(o.trace, e.track)->kind, cases[i].kind);
    }
    assert_int_equal(gt_perfetto_track_of(o.trace, e.track)->tid, 78);
    close_trace(&o);
    gt_buffer_free(&trace);
}

static void counters_flows_and_old_phases(void **state)
{
    (void)state;
    gt_buffer trace = {0}, rest = {0}, old = {0};
    uint64_t flow = 0x8000000000000001u;
    put_int(&rest, 30, 4096);
    put_event(&trace, 1, 5, 9, COUNTER, &rest);
    put_double(&rest, 44, 0.5);
    put_event(&trace, 1, 5, 9, COUNTER, &rest);
    put_varint(&rest, 47 << 3 | 1);
    gt_buffer_add(&rest, &flow, 8);
    put_int(&rest, 36, 7);
    put_event(&trace, 1, 6, 9, BEGIN, &rest);
    put_int(&old, 2, 'X');
    put_int(&old, 3, 12);
    put_message(&rest, 6, &old);
    put_event(&trace, 1, 7, 9, 0, &rest);
    put_int(&old, 2, 's'); /* not a slice */
    put_message(&rest, 6, &old);
    put_event(&trace, 1, 7, 9, 0, &rest);
    opened o = open_trace(&trace, 0);
    gt_perfetto_event e;
    assert_true(gt_perfetto_next(o.trace, &e));
    assert_true(e.type == GT_PERFETTO_COUNTER && e.value == 4096);
    assert_true(gt_perfetto_next(o.trace, &e));
    assert_true(e.value == 0.5);
    assert_true(gt_perfetto_next(o.trace, &e));
    assert_int_equal(e.flow_count, 2);
    assert_true(e.flows[0] == flow && e.flows[1] == 7);
    assert_true(gt_perfetto_next(o.trace, &e));
    assert_true(e.type == GT_PERFETTO_COMPLETE && e.dur_ns == 12000);
    assert_false(gt_perfetto_next(o.trace, &e));
    close_trace(&o);
    gt_buffer_free(&trace);
}

/* ---- annotations ---- */

static void put_note(gt_buffer *rest, gt_buffer *note)
{
    put_text(note, 10, "n");
    put_message(rest, 4, note);
}

/* The annotation written by `fill`, as JSON. */
static void check_note(void (*fill)(gt_buffer *note), const char *json)
{
    gt_buffer trace = {0}, rest = {0}, made = {0}, out = {0};
    fill(&made);
    put_note(&rest, &made);
    put_event(&trace, 1, 1, 9, BEGIN, &rest);
    opened o = open_trace(&trace, 0);
    gt_perfetto_event e;
    gt_note note;
    assert_true(gt_perfetto_next(o.trace, &e));
    gt_proto notes = gt_proto_begin(e.notes);
    assert_true(gt_perfetto_next_note(o.trace, &notes, &note));
    assert_string_equal(text(&o, note.name), "n");
    gt_note_add_json(o.trace, &out, &note);
    assert_string_equal(gt_buffer_str(&out).bytes, json);
    assert_false(gt_perfetto_next_note(o.trace, &notes, &note));
    gt_buffer_free(&out);
    close_trace(&o);
    gt_buffer_free(&trace);
}

static void a_list(gt_buffer *note)
{
    gt_buffer item = {0};
    put_int(&item, 4, -3);
    put_message(note, 12, &item);
    put_text(&item, 6, "a\"b\n");
    put_message(note, 12, &item);
    put_message(note, 12, &item); /* an empty list */
    gt_buffer inner = {0};
    put_text(&inner, 10, "k");
    put_int(&inner, 2, 1);
    put_message(&item, 11, &inner);
    put_message(note, 12, &item);
}

static void an_old_dict(gt_buffer *note)
{
    gt_buffer nested = {0}, value = {0};
    put_int(&nested, 1, 1);
    put_text(&nested, 2, "x");
    put_int(&value, 5, 8);
    put_message(&nested, 3, &value);
    put_text(&nested, 2, "y");
    put_int(&value, 1, 2);
    put_message(&nested, 3, &value);
    put_message(note, 8, &nested);
}

static void a_pointer(gt_buffer *note)
{
    put_int(note, 7, 0xbeef);
}

static void a_large_number(gt_buffer *note)
{
    put_int(note, 3, -1);
}

static void a_fraction(gt_buffer *note)
{
    put_double(note, 5, 0.1);
}

static void annotations_are_json(void **state)
{
    (void)state;
    check_note(a_list, "[-3,\"a\\\"b\\u000a\",[],{\"k\":true}]");
    check_note(an_old_dict, "{\"x\":8,\"y\":[]}");
    check_note(a_pointer, "\"0xbeef\"");
    check_note(a_large_number, "18446744073709551615");
    check_note(a_fraction, "0.1");
}

static void numbers_are_printed_like_python(void **state)
{
    (void)state;
    static const struct {
        gt_note note;
        bool is_int;
        int64_t value;
    } cases[] = {
        {{.type = GT_NOTE_INT, .number = (uint64_t)-5}, true, -5},
        {{.type = GT_NOTE_BOOL, .number = 1}, true, 1},
        {{.type = GT_NOTE_UINT, .number = UINT64_MAX}, false, 0},
        {{.type = GT_NOTE_STRING, .text = {"42", 2}}, true, 42},
        {{.type = GT_NOTE_STRING, .text = {"0x1", 3}}, false, 0},
        {{.type = GT_NOTE_STRING, .text = {"1.5", 3}}, false, 0},
        {{.type = GT_NOTE_POINTER, .number = 7}, false, 0},
        {{.type = GT_NOTE_DOUBLE, .number = 0xc00c000000000000}, true, -3}, /* -3.5 */
        {{.type = GT_NOTE_DOUBLE, .number = 0x7ff0000000000000}, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value = 0;
        assert_int_equal(gt_note_int(&cases[i].note, &value), cases[i].is_int);
        if (cases[i].is_int) assert_int_equal(value, cases[i].value);
    }
}

/* ---- damage ---- */

static size_t count_events(opened *o)
{
    gt_perfetto_event e;
    size_t count = 0;
    while (gt_perfetto_next(o->trace, &e)) count++;
    return count;
}

static void truncation_is_reported(void **state)
{
    (void)state;
    gt_buffer trace = {0};
    size_t ends[5] = {0};
    for (size_t i = 1; i < 5; i++) {
        put_event(&trace, 1, 1000000 * (int64_t)i, 9, BEGIN, NULL);
        ends[i] = trace.len;
    }
    for (size_t cut = 1; cut < trace.len; cut++) {
        gt_buffer part = {trace.bytes, cut, cut};
        opened o = open_trace(&part, 7);
        size_t whole = 0;
        while (whole < 4 && ends[whole + 1] <= cut) whole++;
        assert_int_equal(count_events(&o), whole);
        gt_error error = {""};
        bool between = cut == ends[whole];
        assert_int_equal(accepts(&o, whole, true, &error), between);
        if (!between) assert_non_null(strstr(error.text, "truncated"));
        close_trace(&o);
    }
    gt_buffer_free(&trace);
}

static void other_damage_is_an_error(void **state)
{
    (void)state;
    gt_buffer trace = {0}, packet = {0};
    put_event(&trace, 1, 5, 9, BEGIN, NULL);
    put_bytes(&packet, 11, "\x0a\x7f", 2); /* a field that is longer than the event */
    put_packet(&trace, &packet);
    opened o = open_trace(&trace, 0);
    gt_error error = {""};
    assert_int_equal(count_events(&o), 1);
    assert_false(accepts(&o, 1, false, &error));
    assert_non_null(strstr(error.text, "damaged event in the packet at byte "));
    close_trace(&o);
    gt_buffer_free(&trace);
}

static void packets_may_be_compressed(void **state)
{
    (void)state;
    gt_buffer inner = {0}, trace = {0}, packet = {0};
    for (int i = 0; i < 1000; i++) put_event(&inner, 1, i, 9, BEGIN, NULL);
    uLongf size = compressBound(inner.len);
    unsigned char *packed = malloc(size);
    assert_int_equal(compress(packed, &size, (unsigned char *)inner.bytes, inner.len), Z_OK);
    put_bytes(&packet, 50, packed, size);
    put_packet(&trace, &packet);
    put_event(&trace, 1, 7, 9, BEGIN, NULL);
    opened o = open_trace(&trace, 0);
    gt_error error = {""};
    assert_int_equal(count_events(&o), 1001);
    assert_true(accepts(&o, 1001, true, &error));
    close_trace(&o);
    trace.bytes[20] ^= 1;
    o = open_trace(&trace, 0);
    count_events(&o);
    assert_false(accepts(&o, 1, false, &error));
    assert_non_null(strstr(error.text, "damaged compressed packets"));
    close_trace(&o);
    free(packed);
    gt_buffer_free(&inner);
    gt_buffer_free(&trace);
}

static void the_format_is_detected_by_its_bytes(void **state)
{
    (void)state;
    gt_buffer trace = {0};
    put_track(&trace, 10, 0, 3, 77, 0);
    assert_true(gt_is_perfetto((gt_str){trace.bytes, trace.len}));
    assert_true(gt_is_perfetto((gt_str){trace.bytes, trace.len / 2}));
    put_int(&trace, 3, 4); /* followed by other data */
    assert_false(gt_is_perfetto((gt_str){trace.bytes, trace.len}));
    assert_false(gt_is_perfetto((gt_str){"", 0}));
    assert_false(gt_is_perfetto((gt_str){"\n{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"a\"}]}", 45}));
    assert_false(gt_is_perfetto((gt_str){"\n\"Kind\",\"Agent_Id\"\n", 19}));
    gt_buffer_free(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_belong_to_sequences), cmocka_unit_test(times_come_from_clocks),
        cmocka_unit_test(tracks_lead_to_processes),  cmocka_unit_test(counters_flows_and_old_phases),
        cmocka_unit_test(annotations_are_json),      cmocka_unit_test(numbers_are_printed_like_python),
        cmocka_unit_test(truncation_is_reported),    cmocka_unit_test(other_damage_is_an_error),
        cmocka_unit_test(packets_may_be_compressed), cmocka_unit_test(the_format_is_detected_by_its_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
