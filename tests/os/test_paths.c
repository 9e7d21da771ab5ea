/* Parts of paths, small files, and programs that are started without a watch. */
#include "os/child.h"
#include "os/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void expect(char *found, const char *expected)
{
    assert_string_equal(found, expected);
    free(found);
}

/* As POSIX basename and dirname, except for '/' at the end. */
static void paths_have_parts(void **state)
{
    (void)state;
    assert_string_equal(gt_path_name("a/b.json"), "b.json");
    assert_string_equal(gt_path_name("b.json"), "b.json");
    assert_string_equal(gt_path_name("a/"), "");
    expect(gt_path_folder("a/b/c"), "a/b");
    expect(gt_path_folder("c"), ".");
    expect(gt_path_folder("/c"), "/");
    expect(gt_path_sibling("a/b/c.csv", "d"), "a/b/d");
    expect(gt_path_sibling("c.csv", "d"), "d");
    expect(gt_path_replace_extension("a.b/c.csv", "_x.csv"), "a.b/c_x.csv");
    expect(gt_path_replace_extension("a.b/c", ".csv"), "a.b/c.csv");
    expect(gt_path_replace_extension("a/.hidden", ".csv"), "a/.hidden.csv");
}

static void files_are_asked_about(void **state)
{
    (void)state;
    char folder[] = "/tmp/gputally-paths-XXXXXX", path[64], link_path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(link_path, sizeof link_path, "%s/link", folder);
    FILE *file = fopen(path, "w");
    fputs("12345", file);
    fclose(file);
    assert_int_equal(symlink("file", link_path), 0);
    assert_true(gt_path_is_file(path) && !gt_path_is_folder(path));
    assert_true(gt_path_is_folder(folder) && !gt_path_is_file(folder));
    assert_int_equal(gt_path_bytes(path), 5);
    assert_int_equal(gt_path_bytes("/nonexistent"), 0);
    assert_true(gt_path_is_same_file(path, link_path));
    assert_false(gt_path_is_same_file(path, folder));
    assert_false(gt_path_is_same_file(path, NULL));
    gt_buffer text = {0};
    gt_error error;
    assert_true(gt_read_small_file(path, 5, &text, &error));
    assert_string_equal(gt_buffer_str(&text).bytes, "12345");
    assert_false(gt_read_small_file(path, 4, &text, &error));
    assert_non_null(strstr(error.text, "larger than 4 bytes"));
    gt_buffer_free(&text);
    char hidden[64];
    snprintf(hidden, sizeof hidden, "%s/.hidden", folder);
    fclose(fopen(hidden, "w"));
    gt_folder_list names = gt_list_folder(folder);
    assert_int_equal(names.count, 2);
    assert_string_equal(names.items[0], "file");
    assert_string_equal(names.items[1], "link");
    gt_folder_list_free(&names);
    names = gt_list_folder("/nonexistent");
    assert_int_equal(names.count, 0);
    gt_folder_list_free(&names);
    unlink(hidden);
    unlink(link_path);
    unlink(path);
    rmdir(folder);
}

/* The descriptors arrive under their new numbers, even if they had each other's before. */
static void programs_get_their_descriptors(void **state)
{
    (void)state;
    int ends[2], input[2];
    gt_spawned child;
    gt_buffer printed = {0};
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(input), 0);
    assert_int_equal(write(input[1], "in", 2), 2);
    close(input[1]);
    static const char *const argv[] = {"sh", "-c", "cat <&3; pwd; cat; echo lost >&2; exit 7", NULL};
    assert_int_equal(gt_child_spawn(argv, "/usr", (int[]){-1, ends[1], -1, input[0]}, 4, "sh", &child), 0);
    close(ends[1]);
    close(input[0]);
    gt_spawn_end end = gt_child_finish(&child, 0, ends[0], &printed, 5);
    close(ends[0]);
    assert_int_equal(WEXITSTATUS(end.status), 7);
    assert_false(end.timed_out);
    assert_string_equal(gt_buffer_str(&printed).bytes, "in/us"); /* the rest is dropped */
    gt_buffer_free(&printed);
    static const char *const missing[] = {"gputally-no-such-program", NULL};
    assert_int_equal(gt_child_spawn(missing, NULL, (int[]){-1, -1, -1}, 3, "none", &child), ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_have_parts),
        cmocka_unit_test(files_are_asked_about),
        cmocka_unit_test(programs_get_their_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
