/* Fusing ranks: the check case of the specification, and single events in all forms that occur in traces. */
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
#include "stream/stream.h"
#include "output/file.h"
#include "transform/fuse.h"
#include "transform/fuse_event.h"

static char folder[] = "/tmp/gputally-fuse-XXXXXX";

static char *path_of(const char *name)
{
    return gt_format("%s/%s", folder, name);
}

static char *write_file(const char *name, const char *text)
{
    char *path = path_of(name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static char *read_text(const char *path, size_t *len)
{
    gt_error error;
    gt_buffer all = {0};
    const uint8_t *text = NULL;
    gt_stream *stream = gt_stream_open(path, &error);
    assert_non_null(stream);
    for (;;) {
        assert_true(gt_stream_next(stream, text, 0, &text, len, &error));
        if (!*len) break;
        gt_buffer_add(&all, text, *len);
    }
    assert_null(gt_stream_damage(stream));
    gt_stream_close(stream);
    *len = all.len;
    gt_buffer_add(&all, "", 1);
    return all.bytes;
}

/* ---- one event ---- */

static void expect_event(const char *before, const gt_fuse_change *change, const char *after)
{
    gt_error error;
    gt_buffer out = {0};
    gt_json json;
    gt_fuse_event event;
    bool is_event;
    gt_stream *stream = gt_stream_memory(before, strlen(before), 7, &error); /* with every block boundary */
    gt_json_begin(&json, stream, 0);
    if (!gt_fuse_event_read(&json, &event, &is_event)) fail_msg("%s", json.error.text);
    assert_true(is_event);
    gt_fuse_event_write(&event, change, &out);
    gt_buffer_add(&out, "", 1);
    assert_string_equal(out.bytes, after);
    gt_buffer_free(&out);
    gt_stream_close(stream);
}

static const gt_fuse_change change_of_rank_2 = {
    .rank = 2,
    .moved = {{GT_FUSE_PROCESS, 2000}, {GT_FUSE_CORRELATION, 200}, {GT_FUSE_ID, 20}},
    .moved_count = 3,
};

static void events_are_changed_in_place(void **state)
{
    (void)state;
    const gt_fuse_change *change = &change_of_rank_2;
    expect_event("{\"pid\": 10, \"ts\": 1.50, \"args\": {\"correlation\": 42}}", change,
                 "{\"pid\":2010,\"ts\":1.50,\"args\":{\"correlation\":242,\"rank\":2,\"pid_raw\":10,"
                 "\"correlation_raw\":42}}");
    expect_event("{}", change, "{\"args\":{\"rank\":2}}");
    expect_event("{\"id\":-3}", change, "{\"id\":17,\"args\":{\"rank\":2,\"id_raw\":-3}}");
    expect_event("{\"args\":{ },\"pid\":\"Traces\"}", change,
                 "{\"args\":{\"rank\":2,\"pid_raw\":\"Traces\"},\"pid\":\"Traces\"}");
    expect_event("{\"args\":null,\"id\":1.0}", change, "{\"args\":{\"rank\":2,\"id_raw\":1.0},\"id\":1.0}");
    expect_event("{\"args\":[1 , 2],\"id\":7}", change, "{\"args\":[1,2],\"id\":27}");
}

static void a_fused_event_can_be_fused_again(void **state)
{
    (void)state;
    expect_event("{\"args\":{\"rank\":7,\"pid_raw\":3},\"pid\":11}", &change_of_rank_2,
                 "{\"args\":{\"rank\":2,\"pid_raw\":11},\"pid\":2011}");
}

static void the_last_of_duplicate_keys_counts(void **state)
{
    (void)state;
    expect_event("{\"pid\":1,\"args\":{\"correlation\":5},\"pid\":2,\"args\":{}}", &change_of_rank_2,
                 "{\"pid\":1,\"args\":{\"correlation\":5},\"pid\":2002,\"args\":{\"rank\":2,\"pid_raw\":2}}");
}

static void text_becomes_ascii(void **state)
{
    (void)state;
    const gt_fuse_change none = {0};
    expect_event("{\"name\":\"\xC3\xA9\xF0\x9F\x98\x80\\u00e9\\n\x01\t\xFF\"}", &none,
                 "{\"name\":\"\\u00e9\\ud83d\\ude00\\u00e9\\n\\u0001\\u0009\\ufffd\",\"args\":{\"rank\":0}}");
}

static void integers_of_more_than_64_bits_are_shifted(void **state)
{
    (void)state;
    gt_fuse_change change = {.moved = {{GT_FUSE_ID, ((gt_wide_int)1000000000000) * 1000000000000}},
                             .moved_count = 1};
    expect_event("{\"id\":18446744073709551615}", &change,
                 "{\"id\":1000018446744073709551615,\"args\":{\"rank\":0,\"id_raw\":18446744073709551615}}");
}

/* ---- the check case of the specification ---- */

static const char rank_trace[] =
    "{\"schemaVersion\":1,\"traceEvents\":["
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":10,\"tid\":10,\"ts\":1,"
    "\"dur\":2,"
    "\"args\":{\"correlation\":42}},"
    "{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":42,\"pid\":10,\"tid\":10,\"ts\":1},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":5,\"dur\":1,\"args\":{"
    "\"correlation\":42}},"
    "{\"ph\":\"i\",\"name\":\"Iteration Start\",\"pid\":\"Traces\",\"ts\":1},"
    "{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"PyTorch Profiler (0)\",\"pid\":\"Spans\",\"ts\":1,\"dur\":9},"
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":10,\"args\":{\"name\":\"python\"}}]}";

static const char *const fused_lines[] = {
    "{\"traceEvents\":[",
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":10,\"tid\":10,\"ts\":1,"
    "\"dur\":2,"
    "\"args\":{\"correlation\":42,\"rank\":0,\"pid_raw\":10,\"correlation_raw\":42}},",
    "{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":42,\"pid\":10,\"tid\":10,\"ts\":1,"
    "\"args\":{\"rank\":0,\"pid_raw\":10,\"id_raw\":42}},",
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":5,\"dur\":1,"
    "\"args\":{\"correlation\":42,\"rank\":0,\"pid_raw\":0,\"correlation_raw\":42}},",
    "{\"ph\":\"i\",\"name\":\"Iteration "
    "Start\",\"pid\":\"Traces\",\"ts\":1,\"args\":{\"rank\":0,\"pid_raw\":\"Traces\"}},",
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1010,\"tid\":10,\"ts\":1,"
    "\"dur\":2,"
    "\"args\":{\"correlation\":1042,\"rank\":1,\"pid_raw\":10,\"correlation_raw\":42}},",
    "{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":1042,\"pid\":1010,\"tid\":10,\"ts\":1,"
    "\"args\":{\"rank\":1,\"pid_raw\":10,\"id_raw\":42}},",
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":1000,\"tid\":7,\"ts\":5,\"dur\":1,"
    "\"args\":{\"correlation\":1042,\"rank\":1,\"pid_raw\":0,\"correlation_raw\":42}},",
    "{\"ph\":\"i\",\"name\":\"Iteration "
    "Start\",\"pid\":\"Traces\",\"ts\":1,\"args\":{\"rank\":1,\"pid_raw\":\"Traces\"}},",
    "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":0,\"tid\":0,\"args\":{\"name\":\"RANK 0 - GPU\"}},",
    "{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":0,\"tid\":0,\"args\":{\"sort_index\":1}},",
    "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":10,\"tid\":0,\"args\":{\"name\":\"RANK 0 - CPU\"}},",
    "{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":10,\"tid\":0,\"args\":{\"sort_index\":0}},",
    "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1000,\"tid\":0,\"args\":{\"name\":\"RANK 1 - GPU\"}},",
    "{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":1000,\"tid\":0,\"args\":{\"sort_index\":3}},",
    "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1010,\"tid\":0,\"args\":{\"name\":\"RANK 1 - CPU\"}},",
    "{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":1010,\"tid\":0,\"args\":{\"sort_index\":2}}",
    "]}",
};

static void two_ranks_as_specified(void **state)
{
    (void)state;
    static const char *const dropped[] = {"Trace", "python_function"};
    char *paths[] = {write_file("a.json", rank_trace), write_file("b.json", rank_trace)};
    char *fused = path_of("fused.json.gz");
    gt_buffer expected = {0};
    for (size_t i = 0; i < sizeof fused_lines / sizeof *fused_lines; i++) {
        gt_buffer_add_cstr(&expected, fused_lines[i]);
        gt_buffer_add_cstr(&expected, "\n");
    }
    for (unsigned threads = 1; threads <= 3; threads++) {
        gt_error error;
        gt_fuse_result result;
        gt_fuse_options options = {.dropped = dropped, .dropped_count = 2, .threads = threads};
        gt_output *output = gt_output_new();
        if (!gt_fuse(output, fused, paths, 2, &options, &result, &error)) fail_msg("%s", error.text);
        assert_true(gt_output_commit(output, &error));
        gt_output_free(output);
        size_t len;
        char *text = read_text(fused, &len);
        assert_string_equal(text, gt_buffer_str(&expected).bytes);
        free(text);
        assert_int_equal(result.events_read, 12);
        assert_int_equal(result.events_written, 16);
        assert_int_equal(result.processes, 4);
    }
    gt_buffer_free(&expected);
    unlink(fused);
    free(fused);
    for (size_t i = 0; i < 2; i++) {
        unlink(paths[i]);
        free(paths[i]);
    }
}

/* ---- the output file ---- */

typedef struct piece {
    unsigned number;
    bool counts;
} piece;

static unsigned taken;

static void make_piece(void *context, gt_buffer *text)
{
    const piece *p = context;
    for (unsigned i = 0; i < 1000 * (p->number % 7); i++) {
        char line[32];
        gt_buffer_add(text, line, (size_t)snprintf(line, sizeof line, "%u %u\n", p->number, i));
    }
}

static bool take_piece(void *context)
{
    const piece *p = context;
    assert_int_equal(p->number, taken++);
    return p->counts;
}

static void pieces_are_written_in_order(void **state)
{
    (void)state;
    static const gt_text_file_job work = {make_piece, take_piece};
    static piece pieces[100];
    static const char *const names[] = {"pieces.txt", "pieces.txt.gz"};
    gt_buffer expected = {0};
    for (unsigned i = 0; i < 100; i++) {
        pieces[i] = (piece){i, i % 5 != 3};
        if (pieces[i].counts) make_piece(&pieces[i], &expected);
    }
    for (unsigned round = 0; round < 8; round++) {
        gt_error error;
        char *path = path_of(names[round % 2]);
        gt_output *output = gt_output_new();
        gt_text_file *file = gt_text_file_open(output, path, 1 + round / 2, &error);
        assert_non_null(file);
        taken = 0;
        for (unsigned i = 0; i < 100; i++) {
            gt_text_file_add(file, &work, &pieces[i]);
            if (i == 50) gt_text_file_finish_pieces(file);
            if (i == 50) assert_int_equal(taken, 51);
        }
        gt_text_file_write(file, (gt_str){"end", 3});
        assert_true(gt_text_file_close(file, &error));
        assert_true(gt_output_commit(output, &error));
        gt_output_free(output);
        size_t len;
        char *text = read_text(path, &len);
        assert_int_equal(len, expected.len + 3);
        assert_memory_equal(text, expected.bytes, expected.len);
        free(text);
        unlink(path);
        free(path);
    }
    gt_buffer_free(&expected);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_changed_in_place),
        cmocka_unit_test(a_fused_event_can_be_fused_again),
        cmocka_unit_test(the_last_of_duplicate_keys_counts),
        cmocka_unit_test(text_becomes_ascii),
        cmocka_unit_test(integers_of_more_than_64_bits_are_shifted),
        cmocka_unit_test(two_ranks_as_specified),
        cmocka_unit_test(pieces_are_written_in_order),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
