/* A short look at a file tells the same format as its first block, whatever the block has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "input/detect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { LARGE = 3 * GT_STREAM_BLOCK, SHORT = 48 * 1024, LONG = 150 * 1024 };

static char path[] = "/tmp/gputally-detect-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int descriptor = mkstemp(path);
    return descriptor < 0 ? -1 : close(descriptor);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

/* Letters that gzip cannot make much smaller, so that the stored file is large, too. */
static void add_letters(gt_buffer *text, size_t count)
{
    static uint32_t r = 12345;
    for (size_t i = 0; i < count; i++) {
        r = r * 1664525 + 1013904223;
        char letter = (char)('a' + (r >> 24) % 26);
        gt_buffer_add(text, &letter, 1);
    }
}

/* `before`, then so many letters, then `after`, then letters until it is large. */
static gt_buffer make_text(const char *before, size_t letters, const char *after)
{
    gt_buffer text = {0};
    gt_buffer_add_cstr(&text, before);
    add_letters(&text, letters);
    gt_buffer_add_cstr(&text, after);
    add_letters(&text, LARGE);
    return text;
}

static void write_text(const gt_buffer *text, bool packed)
{
    gzFile file = gzopen(path, packed ? "wb6" : "wbT"); /* T: as it is */
    assert_int_equal(gzwrite(file, text->bytes, (unsigned)text->len), (int)text->len);
    gzclose(file);
}

static gt_trace_format look_long(void)
{
    gt_error error;
    gt_trace_format format;
    gt_stream *stream = gt_stream_open(path, &error);
    assert_non_null(stream);
    assert_true(gt_detect(stream, &format, &error));
    gt_stream_close(stream);
    return format;
}

/* Also that the stream is still at its beginning. *is_short: a short block was enough. */
static gt_trace_format look_short(const gt_buffer *text, bool *is_short)
{
    gt_error error;
    gt_trace_format format;
    const uint8_t *block;
    size_t len;
    gt_stream *stream = gt_detect_file(path, &format, &error);
    assert_non_null(stream);
    assert_true(gt_stream_next(stream, NULL, 0, &block, &len, &error));
    assert_true(len > 0 && len <= text->len);
    assert_memory_equal(block, text->bytes, len);
    *is_short = len < GT_STREAM_BLOCK;
    gt_stream_close(stream);
    return format;
}

static void check(const char *before, size_t letters, const char *after, bool in_short,
                  gt_trace_format expected)
{
    gt_buffer text = make_text(before, letters, after);
    for (int packed = 0; packed < 2; packed++) {
        write_text(&text, packed);
        assert_int_equal(look_long(), expected);
        bool is_short;
        assert_int_equal(look_short(&text, &is_short), expected);
        assert_int_equal(is_short, in_short);
    }
    gt_buffer_free(&text);
}

static void test_key_in_short_look(void **state)
{
    (void)state;
    check("{\"traceEvents\": [\"", 0, "\"", true, GT_FORMAT_KINETO_JSON);
    check("{\"a\": \"", SHORT, "\", \"traceEvents\": [\"", true, GT_FORMAT_KINETO_JSON);
    check("{\"a\": \"", SHORT, "\", \"rocprofiler-sdk-tool\": [\"", true, GT_FORMAT_ROCPROF_JSON);
}

static void test_key_behind_short_look(void **state)
{
    (void)state;
    check("{\"a\": \"", LONG, "\", \"traceEvents\": [\"", false, GT_FORMAT_KINETO_JSON);
    check("{\"a\": \"", LONG, "\", \"rocprofiler-sdk-tool\": [\"", false, GT_FORMAT_ROCPROF_JSON);
    check("\n[{\"a\": \"", LONG, "\", \"ph\": \"", false, GT_FORMAT_KINETO_JSON);
}

static void test_no_key(void **state)
{
    (void)state;
    check("{\"a\": \"", LARGE, "\", \"traceEvents\": [\"", false, GT_FORMAT_OTHER_JSON);
    check("letters", 0, "", false, GT_FORMAT_UNKNOWN);
    check("SQLite format 3", 0, "", false, GT_FORMAT_UNKNOWN); /* the NUL is missing */
}

static void test_cannot_be_read(void **state)
{
    (void)state;
    gt_error error = {""};
    gt_trace_format format;
    gt_buffer text = make_text("{\"a\": \"", LONG, "\", \"traceEvents\": [\"");
    write_text(&text, true);
    gt_buffer_free(&text);
    FILE *file = fopen(path, "r+b"); /* the first bytes behind the header */
    assert_int_equal(fseek(file, 10, SEEK_SET), 0);
    for (int i = 0; i < 64; i++) assert_int_not_equal(fputc(0xFF, file), EOF);
    fclose(file);
    assert_null(gt_detect_file(path, &format, &error));
    assert_non_null(strstr(error.text, path));
    assert_null(gt_detect_file("/nonexistent/trace.json", &format, &error));
    assert_non_null(strstr(error.text, "/nonexistent/trace.json"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_key_in_short_look),
        cmocka_unit_test(test_key_behind_short_look),
        cmocka_unit_test(test_no_key),
        cmocka_unit_test(test_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
