/* Running child processes: output, exit codes, signals and time limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "os/child.h"
#include "base/memory.h"
#include "base/buffer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char log_path[] = "/tmp/gt_child_XXXXXX";

static gt_child_result run_shell(const char *script, gt_child_setup setup)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    setup.argv = argv;
    setup.log_path = log_path;
    setup.silent = true;
    gt_child_result result;
    gt_error error;
    assert_true(gt_child_run(&setup, &result, &error));
    return result;
}

static void read_log(char text[4096])
{
    FILE *file = fopen(log_path, "r");
    assert_non_null(file);
    text[fread(text, 1, 4095, file)] = 0;
    fclose(file);
}

static void assert_log(const char *expected)
{
    char text[4096];
    read_log(text);
    assert_string_equal(text, expected);
}

static void keeps_output_and_exit_code(void **state)
{
    (void)state;
    gt_child_result result = run_shell("echo out; exit 5", (gt_child_setup){0});
    assert_int_equal(result.exit_code, 5);
    assert_false(result.timed_out);
    assert_int_equal(result.interrupted, 0);
    assert_log("out\n");
    run_shell("echo again >&2", (gt_child_setup){.log_append = true});
    assert_log("out\nagain\n");
    assert_int_equal(run_shell("kill -9 $$", (gt_child_setup){0}).exit_code, 137);
}

static void uses_the_given_directory_and_environment(void **state)
{
    (void)state;
    const char *environment[] = {"PATH=/usr/bin:/bin", "GT_WORD=two words; $HOME", NULL};
    run_shell("pwd; echo \"$GT_WORD\"", (gt_child_setup){.directory = "/", .environment = environment});
    assert_log("/\ntwo words; $HOME\n");
}

static void reports_why_it_cannot_start(void **state)
{
    (void)state;
    gt_child_result result;
    gt_error error;
    const char *argv[] = {"gputally-no-such-program", NULL};
    assert_false(gt_child_run(&(gt_child_setup){.argv = argv}, &result, &error));
    assert_int_equal(result.exit_code, 127);
    assert_string_equal(error.text, "cannot run gputally-no-such-program: No such file or directory");
    const char *folder[] = {"/", NULL};
    assert_false(gt_child_run(&(gt_child_setup){.argv = folder}, &result, &error));
    assert_int_equal(result.exit_code, 126);
    const char *echo[] = {"echo", NULL};
    assert_false(gt_child_run(&(gt_child_setup){.argv = echo, .directory = "/no/such"}, &result, &error));
    assert_string_equal(error.text, "cannot run echo in the folder /no/such: No such file or directory");
}

/* A time limit that is long enough for the shell to get as far as a test needs is found by trying: on a
 * loaded machine, the first ones may be too short. */
static const double time_limits_s[] = {0.2, 2, 20, 200};

static void timeout_ends_the_whole_process_group(void **state)
{
    (void)state;
    int pid = 0;
    for (size_t i = 0; i < GT_LENGTH(time_limits_s) && pid == 0; i++) {
        gt_child_result result =
            run_shell("sleep 1000 & echo $!; wait", (gt_child_setup){.timeout_s = time_limits_s[i]});
        assert_true(result.timed_out);
        assert_int_equal(result.exit_code, 128 + SIGTERM);
        assert_true(result.seconds < 1000);
        char log[4096];
        read_log(log);
        pid = atoi(log);
    }
    assert_int_not_equal(pid, 0);
    char name[64], line[256];
    snprintf(name, sizeof name, "/proc/%d/stat", pid);
    for (;;) { /* hangs if the process stays; where nothing reaps orphans, it stays as a zombie */
        FILE *file = fopen(name, "r");
        if (!file) break;
        if (!fgets(line, sizeof line, file)) line[0] = 0;
        fclose(file);
        if (!*line || strstr(line, ") Z")) break;
        usleep(20000);
    }
}

static void kills_a_child_that_ignores_sigterm(void **state)
{
    (void)state;
    gt_child_result result = {0};
    for (size_t i = 0; i < GT_LENGTH(time_limits_s) && result.exit_code != 128 + SIGKILL; i++) {
        result = run_shell("trap '' TERM; while :; do sleep 0.1; done",
                           (gt_child_setup){.timeout_s = time_limits_s[i], .grace_s = 0.3});
        assert_true(result.timed_out);
    }
    assert_int_equal(result.exit_code, 128 + SIGKILL);
}

/* The rest gets SIGTERM; one that ignores it, SIGKILL. What ends by itself within a second is no rest. */
static void ends_what_is_left(void **state)
{
    (void)state;
    static const char *const scripts[] = {"sleep 1000 & setsid sleep 1000 & exit 3",
                                          "(trap '' TERM; while :; do sleep 0.1; done) & exit 3",
                                          "sleep 0.1 & exit 3"};
    static const int least[] = {2, 1, 0};
    for (size_t i = 0; i < GT_LENGTH(scripts); i++) {
        gt_child_result result = run_shell(scripts[i], (gt_child_setup){.ends_rest = true, .grace_s = 0.3});
        assert_int_equal(result.exit_code, 3);
        assert_false(result.timed_out);
        assert_int_equal(result.interrupted, 0);
        assert_int_equal(result.left, 0);
        assert_true(result.ended_rest >= least[i]);
        if (!least[i]) assert_int_equal(result.ended_rest, 0);
    }
}

static void *interrupt_when_ready(void *unused)
{
    char log[4096] = "";
    for (; strcmp(log, "ready\n") != 0; usleep(20000)) read_log(log);
    kill(getpid(), SIGINT);
    return unused;
}

static void forwards_signals(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(truncate(log_path, 0), 0);
    pthread_create(&thread, NULL, interrupt_when_ready, NULL);
    gt_child_result result = run_shell(
        "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.05; done", (gt_child_setup){0});
    pthread_join(thread, NULL);
    assert_int_equal(result.interrupted, SIGINT);
    assert_int_equal(result.exit_code, 9);
    assert_log("ready\ncaught\n");
}

static void ignore_signal(int number)
{
    (void)number;
}

static void *terminate_when_ended(void *unused)
{
    char log[4096] = "";
    while (!strstr(log, "ready")) usleep(20000), read_log(log);
    usleep(200000);
    kill(getpid(), SIGTERM);
    return unused;
}

/* SLURM tells all processes of a job to end: the command may hear it first. */
static void waits_for_its_own_signal_in_slurm(void **state)
{
    (void)state;
    pthread_t thread;
    signal(SIGTERM, ignore_signal);
    assert_int_equal(truncate(log_path, 0), 0);
    pthread_create(&thread, NULL, terminate_when_ended, NULL);
    gt_child_result result = run_shell("echo ready; kill -TERM $$", (gt_child_setup){.in_slurm = true});
    pthread_join(thread, NULL);
    signal(SIGTERM, SIG_DFL);
    assert_int_equal(result.interrupted, SIGTERM);
    assert_int_equal(result.exit_code, 128 + SIGTERM);
    result = run_shell("kill -TERM $$", (gt_child_setup){.in_slurm = true}); /* nobody else is told */
    assert_int_equal(result.interrupted, 0);
}

static void does_not_wait_for_background_processes(void **state)
{
    (void)state;
    gt_child_result result = run_shell("sleep 1000 & echo $!; exit 3", (gt_child_setup){0});
    assert_int_equal(result.exit_code, 3);
    assert_true(result.seconds < 1000);
    char log[4096];
    read_log(log);
    kill(atoi(log), SIGKILL);
}

static bool collect(void *context, gt_child_stream stream, gt_str line)
{
    gt_buffer *seen = context;
    gt_buffer_add_cstr(seen, stream == GT_CHILD_STDERR ? "E[" : "O[");
    gt_buffer_add(seen, line.bytes, line.len);
    gt_buffer_add_cstr(seen, "]");
    return !memmem(line.bytes, line.len, "hide", 4);
}

static void line_callback_can_drop_lines(void **state)
{
    (void)state;
    gt_buffer seen = {0};
    run_shell(
        "printf 'a\\nhide me\\n50%%\\r100%%\\r\\n'; sleep 0.1; printf 'par'; sleep 0.1; printf 'tial\\nlast'",
        (gt_child_setup){.line = collect, .line_context = &seen});
    assert_string_equal(gt_buffer_str(&seen).bytes, "O[a]O[hide me]O[50%]O[100%]O[partial]O[last]");
    assert_log("a\n50%\r100%\r\npartial\nlast");
    seen.len = 0;
    run_shell("echo e >&2", (gt_child_setup){.line = collect, .line_context = &seen});
    assert_string_equal(gt_buffer_str(&seen).bytes, "E[e]");
    seen.len = 0;
    run_shell("echo e >&2", (gt_child_setup){.line = collect, .line_context = &seen, .merge = true});
    assert_string_equal(gt_buffer_str(&seen).bytes, "O[e]");
    gt_buffer_free(&seen);
}

static void prompts_appear_before_their_line_ends(void **state)
{
    (void)state;
    gt_buffer seen = {0};
    run_shell("wait_for() { until grep -q \"$1\" \"$GT_LOG\"; do sleep 0.05; done; }; "
              "printf 'Name: '; wait_for Name; seen=$(cat \"$GT_LOG\"); echo \"${seen}bob\"; "
              "printf 'hide slow'; wait_for slow; echo ly; echo hide fast",
              (gt_child_setup){.line = collect, .line_context = &seen});
    assert_string_equal(gt_buffer_str(&seen).bytes, "O[Name: Name: bob]O[hide slowly]O[hide fast]");
    assert_log("Name: Name: bob\nhide slowly\n");
    gt_buffer_free(&seen);
}

static bool measure(void *context, gt_child_stream stream, gt_str line)
{
    (void)stream;
    *(size_t *)context += line.len;
    return false;
}

static void accepts_lines_of_any_length(void **state)
{
    (void)state;
    size_t total = 0;
    run_shell("head -c 5000000 /dev/zero | tr '\\0' x",
              (gt_child_setup){.line = measure, .line_context = &total});
    assert_int_equal(total, 5000000);
}

/* A script whose interpreter is missing fails as a program does whose loader is missing. */
static void names_a_missing_loader(void **state)
{
    (void)state;
    char path[] = "/tmp/gt_loader_XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0 && write(descriptor, "#!/nowhere/ld.so\n", 17) == 17);
    assert_int_equal(fchmod(descriptor, 0700), 0);
    close(descriptor);
    const int none[] = {-1, -1, -1};
    const char *argv[] = {path, NULL}, *missing[] = {"/nowhere/program", NULL};
    gt_spawned child;
    int failure = gt_child_spawn(argv, NULL, none, 3, "test", &child);
    assert_non_null(strstr(gt_child_spawn_problem(path, failure), "glibc"));
    unlink(path);
    failure = gt_child_spawn(missing, NULL, none, 3, "test", &child);
    assert_string_equal(gt_child_spawn_problem(missing[0], failure), strerror(ENOENT));
}

/* Waits until the command has ended, and gets the signal with the last bytes, which are read after that. */
static bool send_at_the_end(void *context, gt_child_stream stream, gt_str line)
{
    (void)context;
    (void)stream;
    if (line.len == 5) usleep(300000);
    if (line.len == 4) raise(SIGHUP);
    return true;
}

static void notes_a_signal_after_the_end(void **state)
{
    (void)state;
    const gt_child_result result =
        run_shell("echo first; printf last", (gt_child_setup){.line = send_at_the_end});
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(result.interrupted, SIGHUP);
}

int main(void)
{
    int descriptor = mkstemp(log_path);
    if (descriptor < 0) return 1;
    close(descriptor);
    setenv("GT_LOG", log_path, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_output_and_exit_code),
        cmocka_unit_test(uses_the_given_directory_and_environment),
        cmocka_unit_test(reports_why_it_cannot_start),
        cmocka_unit_test(timeout_ends_the_whole_process_group),
        cmocka_unit_test(kills_a_child_that_ignores_sigterm),
        cmocka_unit_test(ends_what_is_left),
        cmocka_unit_test(forwards_signals),
        cmocka_unit_test(notes_a_signal_after_the_end),
        cmocka_unit_test(waits_for_its_own_signal_in_slurm),
        cmocka_unit_test(does_not_wait_for_background_processes),
        cmocka_unit_test(line_callback_can_drop_lines),
        cmocka_unit_test(accepts_lines_of_any_length),
        cmocka_unit_test(names_a_missing_loader),
        cmocka_unit_test(prompts_appear_before_their_line_ends),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(log_path);
    return failed;
}
