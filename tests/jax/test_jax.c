/* The XPlane and HLO readers, on profiles that the tests write themselves: order and ids of events, launches,
 * records, truncation, collectives by number, damage. Expected values are computed by hand, from the
 * description of the format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/log.h"
#include "input/xla/xplane.h"
#include "proto_writer.h"
#include "report/jax.h"

/* ---- writing HLO ---- */

enum { F32 = 11, BF16 = 16, U8 = 6, TUPLE = 13 };

static gt_buffer array_shape(int type, size_t rank, const int64_t *dims)
{
    gt_buffer shape = {0}, layout = {0};
    put_int(&shape, 2, type);
    for (size_t i = 0; i < rank; i++) put_int(&shape, 3, dims[i]);
    for (size_t i = rank; i-- > 0;) put_int(&layout, 1, (int64_t)i);
    put_message(&shape, 5, &layout);
    return shape;
}
#define SHAPE(type, ...)                                                                                     \
    array_shape(type, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

static gt_buffer tuple_shape(gt_buffer a, gt_buffer b)
{
    gt_buffer shape = {0};
    put_int(&shape, 2, TUPLE);
    put_message(&shape, 4, &a);
    if (b.len) put_message(&shape, 4, &b);
    return shape;
}

static void put_instruction(gt_buffer *computation, int64_t id, const char *name, const char *opcode,
                            gt_buffer shape, const char *op_name, size_t operand_count)
{
    gt_buffer instruction = {0}, metadata = {0};
    put_text(&instruction, 1, name);
    put_text(&instruction, 2, opcode);
    put_message(&instruction, 3, &shape);
    if (op_name) put_text(&metadata, 2, op_name);
    if (op_name) put_message(&instruction, 7, &metadata);
    put_int(&instruction, 35, id);
    for (size_t i = 0; i < operand_count; i++) put_int(&instruction, 36, 1 + (int64_t)i); /* the first ones */
    put_message(computation, 2, &instruction);
}

static gt_buffer hlo_proto(const char *name, gt_buffer *computation, int64_t root)
{
    gt_buffer module = {0}, proto = {0};
    put_text(computation, 1, "main");
    put_int(computation, 5, 1);
    put_int(computation, 6, root);
    put_text(&module, 1, name);
    put_message(&module, 3, computation);
    put_message(&proto, 1, &module);
    return proto;
}

/* ---- writing planes ---- */

enum { STAT_CORRELATION = 1, STAT_OP, STAT_MODULE, STAT_PROTO };
static const char *const stat_names[] = {NULL, "correlation_id", "hlo_op", "hlo_module", "Hlo Proto"};

static void put_stat_names(gt_buffer *plane)
{
    for (int64_t id = 1; id <= STAT_PROTO; id++) {
        gt_buffer entry = {0}, metadata = {0};
        put_int(&metadata, 1, id);
        put_text(&metadata, 2, stat_names[id]);
        put_int(&entry, 1, id);
        put_message(&entry, 2, &metadata);
        put_message(plane, 5, &entry);
    }
}

static void put_kind(gt_buffer *plane, int64_t id, const char *name, gt_buffer proto)
{
    gt_buffer entry = {0}, metadata = {0}, stat = {0};
    put_int(&metadata, 1, id);
    put_text(&metadata, 2, name);
    if (proto.len) {
        put_int(&stat, 1, STAT_PROTO);
        put_message(&stat, 6, &proto);
        put_message(&metadata, 5, &stat);
    }
    put_int(&entry, 1, id);
    put_message(&entry, 2, &metadata);
    put_message(plane, 4, &entry);
}

static void put_event(gt_buffer *line, int64_t kind, int64_t offset_ps, int64_t dur_ps, int64_t correlation,
                      const char *op)
{
    gt_buffer event = {0}, stat = {0};
    put_int(&event, 1, kind);
    put_int(&event, 2, offset_ps);
    put_int(&event, 3, dur_ps);
    put_int(&stat, 1, STAT_CORRELATION);
    put_int(&stat, 3, correlation);
    put_message(&event, 4, &stat);
    if (op) {
        put_int(&stat, 1, STAT_OP);
        put_text(&stat, 5, op);
        put_message(&event, 4, &stat);
        put_int(&stat, 1, STAT_MODULE);
        put_text(&stat, 5, "jit_f");
        put_message(&event, 4, &stat);
    }
    put_message(line, 4, &event);
}

static void put_line(gt_buffer *plane, int64_t id, const char *name, int64_t timestamp_ns, gt_buffer *events)
{
    gt_buffer line = {0};
    put_int(&line, 1, id);
    put_text(&line, 2, name);
    put_int(&line, 3, timestamp_ns);
    gt_buffer_add(&line, events->bytes, events->len);
    gt_buffer_free(events);
    *events = (gt_buffer){0};
    put_message(plane, 3, &line);
}

static void put_plane(gt_buffer *space, int64_t id, const char *name, gt_buffer *plane)
{
    gt_buffer whole = {0};
    if (id) put_int(&whole, 1, id);
    put_text(&whole, 2, name);
    gt_buffer_add(&whole, plane->bytes, plane->len);
    put_stat_names(&whole);
    gt_buffer_free(plane);
    *plane = (gt_buffer){0};
    put_message(space, 1, &whole);
}

static gt_jax *read_in_blocks(gt_buffer *space, bool strict, size_t block)
{
    gt_error error = {""};
    gt_read_options options = {.threads = 1, .strict = strict};
    gt_stream *stream = gt_stream_memory(space->bytes, space->len, block, &error);
    gt_jax *trace = gt_xplane_read_stream(stream, &options, &error);
    gt_stream_close(stream);
    assert_true(trace || error.text[0]);
    return trace;
}

static gt_jax *read_space(gt_buffer *space, bool strict)
{
    return read_in_blocks(space, strict, 0);
}

static const char *text_of(const gt_jax *trace, uint32_t id)
{
    return gt_interner_get(trace->strings, id).bytes;
}

/* ---- tests ---- */

static void check_order_and_launches(const gt_jax *trace);

/* Two GPUs in the wrong order in the file, two streams out of order, equal starts: the longer first. There
 * are unknown fields between the others: a group, eight bytes, a string with a large field number. The file
 * is read through windows of several sizes. */
static void test_order_and_launches(void **state)
{
    (void)state;
    static const char unknown[] = "\x3b\x08\x05\x3c\x61"
                                  "12345678"
                                  "\xa2\x01\x03"
                                  "abc";
    static const size_t blocks[] = {0, 1, 3, 20, 64};
    gt_buffer space = {0}, plane = {0}, events = {0}, none = {0};
    put_kind(&plane, 7, "late", none);
    gt_buffer_add(&plane, unknown, sizeof unknown - 1);
    put_event(&events, 7, 0, 1000, 5, NULL);
    gt_buffer_add(&events, unknown, sizeof unknown - 1);
    put_line(&plane, 3, "Stream #3", 10, &events);
    put_plane(&space, 1, "/device:GPU:1", &plane);

    put_kind(&plane, 1, "a", none);
    put_kind(&plane, 2, "MemcpyD2H", none);
    put_event(&events, 1, 5000000, 2000, 1, NULL);
    put_event(&events, 1, 5000000, 9000, 2, NULL);
    put_event(&events, 2, 1000000, 0, 3, NULL);
    put_line(&plane, 9, "Stream #9(Kernel)", 1000, &events);
    put_event(&events, 1, 0, 4000, 4, NULL);
    put_line(&plane, 8, "Stream #8", 2000, &events);
    put_plane(&space, 0, "/device:GPU:0", &plane);

    put_kind(&plane, 1, "launch", none);
    put_event(&events, 1, 3000000, 10, 1, NULL); /* later, on a lower thread: not chosen */
    put_line(&plane, 20, "main", 0, &events);
    put_event(&events, 1, 1500000, 10, 1, NULL);
    put_line(&plane, 21, "worker", 0, &events);
    put_plane(&space, 0, "/host:CPU", &plane);

    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        gt_jax *trace = read_in_blocks(&space, true, blocks[i]);
        assert_non_null(trace);
        check_order_and_launches(trace);
        gt_jax_free(trace);
    }
    gt_buffer_free(&space);
}

static void check_order_and_launches(const gt_jax *trace)
{
    assert_int_equal(trace->count, 5);
    assert_int_equal(trace->gpu_count, 2);
    static const struct {
        uint32_t pid, tid;
        double start_us, dur_us;
        gt_jax_kind kind;
    } expected[] = {
        {1, 8, 2.0, 0.004, GT_JAX_KERNEL},  {1, 9, 2.0, 1e-6, GT_JAX_MEMCPY},
        {1, 9, 6.0, 0.009, GT_JAX_KERNEL},  {1, 9, 6.0, 0.002, GT_JAX_KERNEL},
        {2, 3, 0.01, 0.001, GT_JAX_KERNEL},
    };
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(gt_jax_uid(trace, i), i);
        assert_int_equal(gt_jax_pid(trace, i), expected[i].pid);
        assert_int_equal(gt_jax_line_of(trace, i)->tid, expected[i].tid);
        assert_true(gt_jax_start_us(trace, i) == expected[i].start_us);
        assert_true(gt_jax_dur_us(trace, i) == expected[i].dur_us);
        assert_int_equal(trace->kind[i], expected[i].kind);
    }
    assert_true(trace->launch_us[3] == 1.5);
    assert_true(isnan(trace->launch_us[0]));
}

/* A profile with one kernel per op, of a module with one instruction of each kind. */
static gt_buffer profile_of(gt_buffer *computation, int64_t root, const char *const *ops)
{
    gt_buffer space = {0}, plane = {0}, events = {0}, none = {0};
    put_kind(&plane, 77, "jit_f(77)", hlo_proto("jit_f", computation, root));
    put_plane(&space, 0, "/host:metadata", &plane);
    put_kind(&plane, 1, "kernel", none);
    for (int64_t i = 0; ops[i]; i++) put_event(&events, 1, i * 1000, 1000, i, ops[i]);
    put_line(&plane, 1, "Stream #1", 0, &events);
    put_plane(&space, 0, "/device:GPU:0", &plane);
    put_kind(&plane, 1, "launch", none);
    for (int64_t i = 0; ops[i]; i++) put_event(&events, 1, i * 1000, 10, i, NULL);
    put_line(&plane, 1, "main", 0, &events);
    put_plane(&space, 0, "/host:CPU", &plane);
    return space;
}

static void test_records(void **state)
{
    (void)state;
    gt_buffer computation = {0};
    put_instruction(&computation, 1, "p0", "parameter", SHAPE(BF16, 8, 16), NULL, 0);
    put_instruction(&computation, 2, "bytes", "parameter", SHAPE(U8, 16), NULL,
                    0); /* no record: its type is unknown */
    put_instruction(&computation, 3, "cut", "add", SHAPE(BF16, 8, 16), "jit(f)/jvp(bsd,de->bse)/dot", 2);
    put_instruction(&computation, 4, "kept", "add", SHAPE(F32, 4), "jit(f), x", 1);
    put_instruction(&computation, 5, "pair", "fusion", tuple_shape(SHAPE(F32, 4), SHAPE(U8, 2)), "a", 0);
    put_instruction(&computation, 6, "nested", "start",
                    tuple_shape(tuple_shape(SHAPE(BF16, 8, 16), (gt_buffer){0}), SHAPE(BF16, 64, 16)), "g",
                    1);
    put_instruction(&computation, 7, "many", "fusion", SHAPE(F32, 1), "m", 6);
    put_instruction(&computation, 9, "result", "tuple", SHAPE(F32, 1), "root", 1);
    static const char *const ops[] = {"cut",    "kept",  "pair",    "nested", "many",
                                      "result", "bytes", "nothing", NULL};
    gt_buffer space = profile_of(&computation, 9, ops);
    gt_jax *trace = read_space(&space, true);
    assert_non_null(trace);
    assert_int_equal(trace->count, 8);
    const gt_hlo_record *r = gt_jax_record(trace, 0);
    assert_string_equal(text_of(trace, r->output), "bf16[8,16]{1,0}");
    assert_string_equal(text_of(trace, r->metadata), "metadata={op_name=\"jit(f)/jvp(bsd");
    assert_int_equal(r->operand_count, 2);
    assert_string_equal(text_of(trace, r->operands[0]), "bf16[8,16]{1,0}");
    assert_string_equal(text_of(trace, r->operands[1]), "%bytes");
    assert_int_equal(r->custom_call_target, GT_STR_NONE);
    r = gt_jax_record(trace, 1);
    assert_string_equal(text_of(trace, r->metadata),
                        "metadata={op_name=\"jit(f) x\""); /* no comma after ")" */
    r = gt_jax_record(trace, 2);
    assert_string_equal(text_of(trace, r->output), "(f32[4]{0},u8[2]{0})");
    assert_int_equal(r->operand_count, 1);
    assert_string_equal(text_of(trace, r->operands[0]), "");
    r = gt_jax_record(trace, 3);
    assert_string_equal(text_of(trace, r->output), "((bf16[8,16]{1,0})");
    assert_int_equal(r->operand_count, 1);
    assert_string_equal(text_of(trace, r->operands[0]), "bf16[64,16]{1,0}");
    r = gt_jax_record(trace, 4);
    assert_string_equal(text_of(trace, r->operands[4]), "(f32[4]{0},u8[2]{0})");
    assert_string_equal(text_of(trace, r->operands[5]), "/*index=5*/%nested");
    for (size_t i = 5; i < 8; i++) assert_null(gt_jax_record(trace, i)); /* root, bytes, missing */
    gt_jax_free(trace);
    gt_buffer_free(&space);
}

static void test_collectives_by_number(void **state)
{
    (void)state;
    gt_buffer computation = {0};
    put_instruction(&computation, 1, "reduce-scatter-start.1", "s", SHAPE(F32, 11), "b", 0);
    put_instruction(&computation, 2, "reduce-scatter-start.0", "s", SHAPE(F32, 10), "a", 0);
    put_instruction(&computation, 3, "all-gather-done", "s", SHAPE(F32, 20), "c", 0);
    static const char *const ops[] = {"reduce-scatter.2", "reduce-scatter.0", "reduce-scatter.1",
                                      "all-gather.12",    "all-to-all.1",     NULL};
    gt_buffer space = profile_of(&computation, 99, ops);
    gt_jax *trace = read_space(&space, true);
    assert_non_null(trace);
    static const char *const outputs[] = {"f32[11]{0}", "f32[10]{0}", "f32[11]{0}", "f32[20]{0}"};
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(text_of(trace, gt_jax_record(trace, i)->output), outputs[i]);
    assert_null(gt_jax_record(trace, 4));
    gt_jax_free(trace);
    gt_buffer_free(&space);
}

static size_t warnings;

static void count_warnings(bool warning, const char *text)
{
    (void)text;
    warnings += warning;
}

/* A truncated file is rejected, or read up to its last complete plane; nothing is read past its end. */
static void test_truncated_files(void **state)
{
    (void)state;
    gt_buffer computation = {0};
    put_instruction(&computation, 1, "p0", "parameter", SHAPE(BF16, 8, 16), NULL, 0);
    static const char *const ops[] = {"p0", NULL};
    gt_buffer space = profile_of(&computation, 99, ops);
    gt_log_to(count_warnings);
    size_t read = 0;
    for (size_t len = 0; len < space.len; len++) {
        gt_buffer cut = {.bytes = malloc(len + 1), .len = len};
        memcpy(cut.bytes, space.bytes, len);
        warnings = 0;
        gt_jax *trace = read_space(&cut, false);
        if (trace && trace->count) {
            read++;
            assert_int_equal(trace->count, 1);
            assert_null(gt_jax_record(trace, 0)); /* the host's plane is the last one */
        }
        gt_jax_free(trace);
        free(cut.bytes);
    }
    assert_true(read > 0);
    gt_log_to(NULL);
    gt_buffer_free(&space);
}

static void test_empty_profiles(void **state)
{
    (void)state;
    gt_buffer space = {0}, plane = {0};
    put_plane(&space, 0, "/host:CPU", &plane);
    gt_jax *trace = read_space(&space, true);
    assert_non_null(trace);
    gt_table_list tables = {0};
    gt_error error = {""};
    assert_false(gt_jax_tables(trace, &(gt_jax_options){0}, &tables, &error));
    assert_string_equal(error.text, "nothing in this profile ran on a GPU");
    gt_jax_free(trace);
    gt_buffer_free(&space);
}

/* No kernel of class XLA, and a keyword without matches: sheets without rows, not a failure. */
static void test_sheets_without_rows(void **state)
{
    (void)state;
    gt_buffer space = {0}, plane = {0}, events = {0}, none = {0};
    put_kind(&plane, 1, "Cijk_gemm", none);
    put_event(&events, 1, 0, 5000000, 1, NULL);
    put_line(&plane, 1, "Stream #1", 0, &events);
    put_plane(&space, 0, "/device:GPU:0", &plane);
    gt_jax *trace = read_space(&space, true);
    gt_table_list tables = {0};
    gt_error error = {""};
    assert_true(gt_jax_tables(trace, &(gt_jax_options){0}, &tables, &error));
    assert_int_equal(tables.count, 8);
    assert_int_equal(gt_table_list_find(&tables, GT_SHEET("kernel_launchers"))->row_count, 1);
    assert_int_equal(gt_table_list_find(&tables, GT_SHEET("xla_summary"))->row_count, 0);
    assert_int_equal(gt_table_list_find(&tables, GT_SHEET("xla_summary"))->column_count, 10);
    gt_table_list_free(&tables);
    const char *const words[] = {"nowhere"};
    gt_log_to(count_warnings);
    assert_true(gt_jax_tables(trace, &(gt_jax_options){words, 1}, &tables, &error));
    gt_log_to(NULL);
    assert_int_equal(gt_table_list_find(&tables, GT_SHEET("kernel_launchers_unique_args"))->row_count, 0);
    assert_int_equal(gt_table_list_find(&tables, GT_SHEET("gpu_timeline"))->row_count, 8);
    gt_table_list_free(&tables);
    gt_jax_free(trace);
    gt_buffer_free(&space);
}

static void test_detection(void **state)
{
    (void)state;
    gt_buffer space = {0}, plane = {0};
    put_plane(&space, 3, "/host:CPU", &plane);
    assert_true(gt_is_xplane(gt_buffer_str(&space)));
    assert_true(gt_is_xplane((gt_str){space.bytes, 15})); /* the plane is truncated */
    assert_false(gt_is_xplane((gt_str){"{\"traceEvents\":[]}", 18}));
    assert_false(gt_is_xplane((gt_str){"\n\n{\"a\": 1}", 10}));
    assert_false(gt_is_xplane((gt_str){"\x0a\x04\x40\x01\x50\x02", 6})); /* a Perfetto packet: other fields */
    assert_false(gt_is_xplane((gt_str){"\x0a\x06\x12\x04\x0a\x02\x08\x01", 8}));
    assert_false(gt_is_xplane((gt_str){"", 0}));
    gt_buffer_free(&space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_launches),
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_collectives_by_number),
        cmocka_unit_test(test_truncated_files),
        cmocka_unit_test(test_empty_profiles),
        cmocka_unit_test(test_sheets_without_rows),
        cmocka_unit_test(test_detection),
    };
    gt_log_quiet(true);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
