/* A report's files appear together or not at all, whatever ends the program. */
#include "cli/command.h"
#include "output/file.h"
#include "output_help.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void put(gt_output *output, const char *path, const char *text)
{
    gt_error error;
    gt_file file;
    assert_true(gt_file_open(&file, output, path, &error));
    gt_file_write(&file, text, strlen(text));
    assert_true(gt_file_close(&file, &error));
}

static void files_appear_at_the_commit(void **state)
{
    (void)state;
    gt_error error;
    write_file(in_scratch("old.csv"), "old");
    gt_output *output = gt_output_new();
    put(output, in_scratch("a/b/new.csv"), "new one");
    put(output, in_scratch("old.csv"), "new two");
    assert_false(exists(in_scratch("a/b/new.csv")));
    expect_file(in_scratch("old.csv"), "old");

    assert_true(gt_output_commit(output, &error));
    assert_int_equal(gt_output_file_count(output), 2);
    assert_string_equal(gt_output_file_path(output, 0), in_scratch("a/b/new.csv"));
    assert_string_equal(gt_output_file_path(output, 1), in_scratch("old.csv"));
    gt_output_free(output);
    expect_file(in_scratch("a/b/new.csv"), "new one");
    expect_file(in_scratch("old.csv"), "new two");
    assert_int_equal(entries(in_scratch("a/b")), 1);
    assert_int_equal(entries(scratch), 2);
}

static void uncommitted_files_are_removed(void **state)
{
    (void)state;
    write_file(in_scratch("old.csv"), "old");
    mkdir(in_scratch("there"), 0777);
    gt_output *output = gt_output_new();
    put(output, in_scratch("there/made/deeper/new.csv"), "new");
    put(output, in_scratch("old.csv"), "new");
    gt_output_free(output);
    assert_int_equal(entries(scratch), 2);
    assert_int_equal(entries(in_scratch("there")), 0);
    expect_file(in_scratch("old.csv"), "old");
}

static void a_failed_commit_restores_the_old_files(void **state)
{
    (void)state;
    gt_error error;
    write_file(in_scratch("old.csv"), "old");
    gt_output *output = gt_output_new();
    put(output, in_scratch("old.csv"), "new");
    put(output, in_scratch("first.csv"), "new");
    put(output, in_scratch("blocked.csv"), "new");
    mkdir(in_scratch("blocked.csv"), 0777);
    assert_false(gt_output_commit(output, &error));
    char expected[600];
    snprintf(expected, sizeof expected, "cannot write %s: Is a directory", in_scratch("blocked.csv"));
    assert_string_equal(error.text, expected);
    gt_output_free(output);
    expect_file(in_scratch("old.csv"), "old");
    assert_int_equal(entries(scratch), 2);
}

static void a_link_stays_a_link(void **state)
{
    (void)state;
    gt_error error;
    mkdir(in_scratch("real"), 0777);
    write_file(in_scratch("real/file"), "old");
    assert_int_equal(symlink("real/file", in_scratch("link")), 0);
    gt_output *output = gt_output_new();
    put(output, in_scratch("link"), "new");
    assert_true(gt_output_commit(output, &error));
    gt_output_free(output);
    expect_file(in_scratch("real/file"), "new");
    struct stat info;
    assert_int_equal(lstat(in_scratch("link"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
}

static void expect_refused(const char *path, const char *reason)
{
    gt_error error;
    gt_output *output = gt_output_new();
    put(output, in_scratch("fine"), "x");
    assert_null(gt_output_add_file(output, path, &error));
    assert_non_null(strstr(error.text, reason));
    gt_output_free(output);
    assert_false(exists(in_scratch("fine")));
}

static void unwritable_paths_are_reported(void **state)
{
    (void)state;
    write_file(in_scratch("file"), "x");
    mkdir(in_scratch("folder"), 0777);
    expect_refused(in_scratch("file/inside.csv"), "/file: Not a directory");
    expect_refused(in_scratch("folder"), "/folder: Is a directory");
    expect_refused(in_scratch("folder/"), "/folder/: Is a directory");
    expect_refused("/dev/null", "cannot write /dev/null: not a regular file");
    expect_refused(in_scratch("fine"), "/fine: the report already has a file with this name");
    expect_refused(in_scratch("folder/../fine"), "the report already has a file with this name");
    expect_refused("/proc/nothing/here.csv", "cannot create folder /proc/nothing: ");
    expect_refused("", "with an empty name");
}

/* ---- child processes that end early ---- */

static int run_child(void (*child)(int ready), bool terminate)
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(ready[0]);
        gt_cleanup_install(); /* as the program does */
        child(ready[1]);
        _exit(99);
    }
    close(ready[1]);
    char byte;
    if (read(ready[0], &byte, 1) == 1 && terminate) kill(pid, SIGTERM);
    close(ready[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void write_and_say(int ready)
{
    gt_output *output = gt_output_new();
    put(output, in_scratch("made/unfinished.csv"), "x");
    if (!exists(in_scratch("made"))) _exit(98);
    if (write(ready, "x", 1) != 1) _exit(97);
}

static void write_and_exit(int ready)
{
    write_and_say(ready);
    exit(5);
}

static void write_and_wait(int ready)
{
    write_and_say(ready);
    for (;;) pause();
}

static void exit_leaves_nothing(void **state)
{
    (void)state;
    int status = run_child(write_and_exit, false);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 5);
    assert_int_equal(entries(scratch), 0);
}

static void a_signal_leaves_nothing(void **state)
{
    (void)state;
    int status = run_child(write_and_wait, true);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_int_equal(entries(scratch), 0);
}

/* A file-size limit acts like a full disk: a write in the middle fails. */
static void write_past_the_limit(int ready)
{
    (void)ready;
    gt_error error;
    gt_output *output = gt_output_new();
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){300000, 300000});
    gt_file file;
    if (!gt_file_open(&file, output, in_scratch("made/large.csv"), &error)) _exit(1);
    char block[1000] = {0};
    for (int i = 0; i < 1000; i++) gt_file_write(&file, block, sizeof block);
    if (gt_file_close(&file, &error)) _exit(2);
    char expected[600];
    snprintf(expected, sizeof expected, "cannot write %s: File too large", in_scratch("made/large.csv"));
    if (strcmp(error.text, expected) != 0) _exit(3);
    gt_output_free(output);
    _exit(0);
}

static void a_full_disk_leaves_nothing(void **state)
{
    (void)state;
    int status = run_child(write_past_the_limit, false);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(entries(scratch), 0);
}

/* Permissions do not restrict root: become nobody first. */
static void write_where_not_allowed(int ready)
{
    (void)ready;
    gt_error error;
    mkdir(in_scratch("closed"), 0777);
    chmod(in_scratch("closed"), 0555);
    chmod(scratch, 0755);
    if (geteuid() == 0 && seteuid(65534) != 0) _exit(1);
    gt_output *output = gt_output_new();
    char expected[600];
    snprintf(expected, sizeof expected, "cannot write %s: Permission denied", in_scratch("closed/a.csv"));
    if (gt_output_add_file(output, in_scratch("closed/a.csv"), &error)) _exit(2);
    if (strcmp(error.text, expected) != 0) _exit(3);
    snprintf(expected, sizeof expected, "cannot create folder %s: Permission denied", in_scratch("closed/b"));
    if (gt_output_add_folder(output, in_scratch("closed/b/c"), &error)) _exit(4);
    if (strcmp(error.text, expected) != 0) _exit(5);
    gt_output_free(output);
    _exit(0);
}

static void a_read_only_folder_is_reported(void **state)
{
    (void)state;
    int status = run_child(write_where_not_allowed, false);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(entries(in_scratch("closed")), 0);
}

static void large_writes_are_complete(void **state)
{
    (void)state;
    gt_error error;
    gt_output *output = gt_output_new();
    gt_file file;
    assert_true(gt_file_open(&file, output, in_scratch("large"), &error));
    size_t size = 3 * GT_FILE_BUFFER + 17;
    char *expected = malloc(size + 1);
    for (size_t i = 0; i < size; i++) expected[i] = (char)('a' + i % 23);
    expected[size] = 0;
    gt_file_write(&file, expected, 7);
    gt_file_write(&file, expected + 7, GT_FILE_BUFFER / 2);
    gt_file_write(&file, expected + 7 + GT_FILE_BUFFER / 2, GT_FILE_BUFFER / 2 + 1);
    size_t done = 8 + GT_FILE_BUFFER;
    gt_file_write(&file, expected + done, size - done);
    assert_true(gt_file_close(&file, &error));
    assert_true(gt_output_commit(output, &error));
    gt_output_free(output);
    expect_file(in_scratch("large"), expected);
    free(expected);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_scratch, remove_scratch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_appear_at_the_commit),
        TEST(uncommitted_files_are_removed),
        TEST(a_failed_commit_restores_the_old_files),
        TEST(a_link_stays_a_link),
        TEST(unwritable_paths_are_reported),
        TEST(exit_leaves_nothing),
        TEST(a_signal_leaves_nothing),
        TEST(a_full_disk_leaves_nothing),
        TEST(a_read_only_folder_is_reported),
        TEST(large_writes_are_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
