/* Partial files: what is written is read again; every truncated or changed file is noticed, or gives the same
 * image; partials of other versions and of traces that changed are recognised; other files are not replaced.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/memory.h"
#include "procs/part.h"
#include "index/checksum.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files of a test ---- */

static char folder[] = "/tmp/gputally-part-XXXXXX";
static char trace[64], part_path[64], other[64];

static int begin(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(trace, sizeof trace, "%s/a trace.json", folder);
    snprintf(part_path, sizeof part_path, "%s/a trace.json.gtpart", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(trace);
    unlink(part_path);
    unlink(other);
    return rmdir(folder); /* fails if a temporary file is left */
}

static void write_file(const char *path, const void *bytes, size_t len)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

static uint8_t *read_file(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *len = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*len);
    assert_int_equal(fread(bytes, 1, *len, file), *len);
    fclose(file);
    return bytes;
}

static const char key[] = "ranks, some options";
static const char text[] = "strings of the image";
static const int64_t numbers[] = {1, -2, 3000000000};

static void write_part(bool with_checksum)
{
    gt_image image = {0};
    gt_error error = {""};
    gt_part_new new = {.key = key, .trace_path = trace};
    assert_true(gt_trace_identify(trace, &new.identity));
    if (with_checksum) assert_true(gt_trace_add_checksum(trace, &new.identity));
    gt_image_add(&image, "some", "text", text, sizeof text);
    gt_image_add_numbers(&image, "some", "numbers", numbers, GT_LENGTH(numbers));
    if (!gt_part_write(part_path, &new, &image, &error)) fail_msg("%s", error.text);
    gt_image_free(&image);
}

/* Whether the partial can be used; then it must be the one that was written. */
static gt_part_state state_of(const char *path)
{
    gt_part_state state;
    gt_part *part = gt_part_open(path, false, &state);
    assert_true((part != NULL) == (state == GT_PART_SOUND));
    if (!part) return state;
    const char *found = gt_image_get_all(gt_part_image(part), "some", "text", 1, sizeof text);
    const int64_t *list =
        gt_image_get_all(gt_part_image(part), "some", "numbers", sizeof *list, GT_LENGTH(numbers));
    assert_non_null(found);
    assert_non_null(list);
    assert_memory_equal(found, text, sizeof text);
    assert_memory_equal(list, numbers, sizeof numbers);
    assert_string_equal(gt_part_key(part), key);
    assert_string_equal(gt_part_trace(part), trace);
    gt_part_close(part);
    return GT_PART_SOUND;
}

/* ---- tests ---- */

static void round_trip(void **state)
{
    (void)state;
    write_file(trace, "{}", 2);
    assert_int_equal(state_of(part_path), GT_PART_MISSING);
    write_part(true);
    assert_true(gt_part_is_part(part_path));
    assert_false(gt_part_is_part(trace));
    assert_int_equal(state_of(part_path), GT_PART_SOUND);
    write_part(true); /* over the first one */
    assert_int_equal(state_of(part_path), GT_PART_SOUND);
    assert_int_equal(state_of(trace), GT_PART_NO_PART);
    assert_int_equal(state_of(folder), GT_PART_NO_PART);
}

static void truncated(void **state)
{
    (void)state;
    size_t len;
    write_file(trace, "{}", 2);
    write_part(true);
    uint8_t *bytes = read_file(part_path, &len);
    size_t sound = 0;
    write_file(other, bytes, len);
    for (size_t cut = len; cut-- > 0;) {
        assert_int_equal(truncate(other, (off_t)cut), 0);
        gt_part_state found = state_of(other);
        sound += found == GT_PART_SOUND;
        if (cut < 8) assert_int_equal(found, GT_PART_NO_PART);
    }
    assert_int_equal(sound, 0);
    write_file(other, bytes, len);
    assert_int_equal(state_of(other), GT_PART_SOUND);
    free(bytes);
}

/* Only padding, which nobody reads, may change. */
static void changed(void **state)
{
    (void)state;
    size_t len, noticed = 0, foreign = 0;
    write_file(trace, "{}", 2);
    write_part(true);
    uint8_t *bytes = read_file(part_path, &len);
    write_file(other, bytes, len);
    int file = open(other, O_WRONLY);
    for (size_t at = 0; at < len; at++) {
        const uint8_t wrong = bytes[at] ^ (uint8_t)(1u << at % 8);
        assert_int_equal(pwrite(file, &wrong, 1, (off_t)at), 1);
        gt_part_state found = state_of(other);
        assert_int_equal(pwrite(file, &bytes[at], 1, (off_t)at), 1);
        noticed += found != GT_PART_SOUND;
        foreign += found == GT_PART_FOREIGN;
        bool is_head = at < 8 + 4 + 4 + 8;
        if (at < 8)
            assert_int_equal(found, GT_PART_NO_PART);
        else if (is_head)
            assert_int_equal(found, GT_PART_FOREIGN); /* byte order, format, version */
    }
    close(file);
    assert_int_equal(foreign, 16);
    assert_true(noticed > sizeof text + sizeof numbers + strlen(trace));
    free(bytes);
}

/* The images of a release and of a build before or after it differ: the release alone does not tell. */
static void of_the_release_alone(void **state)
{
    (void)state;
    size_t len;
    uint64_t version = gt_checksum(GT_VERSION, strlen(GT_VERSION));
    write_file(trace, "{}", 2);
    write_part(true);
    uint8_t *bytes = read_file(part_path, &len);
    memcpy(bytes + 8 + 4 + 4, &version, sizeof version);
    write_file(other, bytes, len);
    assert_int_equal(state_of(other), GT_PART_FOREIGN);
    free(bytes);
}

static void set_times(const char *path, int64_t modified_s)
{
    const struct timespec times[2] = {{.tv_sec = modified_s}, {.tv_sec = modified_s}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void check(bool current, bool stale)
{
    gt_part_state found;
    gt_part *part = gt_part_open(part_path, false, &found);
    assert_non_null(part);
    assert_int_equal(gt_part_is_current(part, trace), current);
    assert_int_equal(gt_part_is_stale(part), stale);
    gt_part_close(part);
}

static void traces_change(void **state)
{
    (void)state;
    write_file(trace, "{}", 2);
    set_times(trace, 1000000);
    write_part(true);
    check(true, false);
    set_times(trace, 2000000); /* the same contents */
    check(true, false);
    write_file(trace, "[]", 2);
    check(false, true);
    set_times(trace, 1000000); /* the old size and time, but not the old contents */
    check(false, true);
    write_file(trace, "{ }", 3);
    check(false, true);
    unlink(trace);
    check(false, false);
    write_file(trace, "{}", 2); /* it is back */
    check(true, false);
}

static void without_checksum(void **state)
{
    (void)state;
    write_file(trace, "{}", 2);
    set_times(trace, 1000000);
    write_part(false);
    check(false, false); /* just written: its times prove nothing yet */
    set_times(trace, 2000000);
    check(false, true);
}

static void other_files_stay(void **state)
{
    (void)state;
    gt_image image = {0};
    gt_error error = {""};
    size_t len;
    write_file(trace, "{}", 2);
    const gt_part_new new = {.key = key, .trace_path = trace};
    assert_false(gt_part_write(trace, &new, &image, &error));
    assert_non_null(strstr(error.text, "a trace.json: not a partial, so it is not replaced by one"));
    assert_false(gt_part_write(folder, &new, &image, &error));
    uint8_t *bytes = read_file(trace, &len);
    assert_int_equal(len, 2);
    assert_memory_equal(bytes, "{}", 2);
    free(bytes);
    write_file(other, "GTPA", 4); /* what is left of one after a crash */
    assert_true(gt_part_write(other, &new, &image, &error));
    char *missing = gt_format("%s/no/such/folder", folder);
    assert_false(gt_part_write(missing, &new, &image, &error));
    assert_non_null(strstr(error.text, "cannot create the partial"));
    gt_free(missing);
}

static void messages(void **state)
{
    (void)state;
    char *text_of_it = gt_part_describe("a.gtpart", GT_PART_DAMAGED);
    assert_string_equal(text_of_it, "a.gtpart: damaged partial; make it again with `gputally partial`");
    gt_free(text_of_it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),       cmocka_unit_test(truncated),
        cmocka_unit_test(changed),          cmocka_unit_test(traces_change),
        cmocka_unit_test(without_checksum), cmocka_unit_test(other_files_stay),
        cmocka_unit_test(messages),         cmocka_unit_test(of_the_release_alone),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
