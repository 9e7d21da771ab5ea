/* Warnings that are repeated: for other files, with other numbers, from many threads, and in a guarded call.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/guard.h"
#include "base/log.h"
#include "base/repeats.h"
#include "base/team.h"

static char printed[65536];

static void print(void *context, bool warning, const char *text)
{
    (void)context;
    snprintf(printed + strlen(printed), sizeof printed - strlen(printed), "%s%s\n", warning ? "W " : "I ",
             text);
}

static void take_log(bool warning, const char *text)
{
    print(NULL, warning, text);
}

static void take_warning(void *context, const char *text)
{
    print(context, true, text);
}

static void counts_what_differs_only_in_the_file(void **state)
{
    (void)state;
    gt_repeats *list = NULL;
    printed[0] = 0;
    assert_true(gt_repeats_add(&list, true, "a.json: no shapes", "a.json", false));
    assert_false(gt_repeats_add(&list, true, "b.json: no shapes", "b.json", false));
    assert_false(gt_repeats_add(&list, true, "c.json: no shapes", "c.json", false));
    assert_true(gt_repeats_add(&list, true, "c.json: 2 shapes", "c.json", false));
    assert_true(gt_repeats_add(&list, true, "c.json: 3 shapes", "c.json", false));   /* numbers matter */
    assert_true(gt_repeats_add(&list, false, "a.json: no shapes", "a.json", false)); /* no warning */
    assert_true(gt_repeats_add(&list, true, "no sheet in a.xlsx", "a.xlsx", true));
    assert_false(gt_repeats_add(&list, true, "no sheet in b.xlsx", "b.xlsx", true));
    assert_true(gt_repeats_add(&list, true, "7 of 10 ops", "a", true));
    assert_false(gt_repeats_add(&list, true, "12 of 9 ops", "b", true));
    assert_true(gt_repeats_add(&list, true, "12 of x ops", "b", true));
    assert_true(gt_repeats_add(&list, true, "plain", NULL, false));
    assert_false(gt_repeats_add(&list, true, "plain", NULL, false));
    gt_repeats_end(&list, print, NULL);
    assert_string_equal(printed, "W 2 more files: no shapes\nW 1 more file: no sheet in ...\n"
                                 "W 1 more file: 7 of 10 ops\nW 1 more time: plain\n");
    assert_null(list);
}

/* More different messages than are kept are all printed, and none is lost. */
static void many_messages(void **state)
{
    (void)state;
    gt_repeats *list = NULL;
    size_t new = 0;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 3000; i++) {
            char text[32];
            snprintf(text, sizeof text, "message %d", i);
            new += gt_repeats_add(&list, true, text, NULL, false);
        }
    assert_int_equal(new, 3000 + 3000 - 1024);
    printed[0] = 0;
    gt_repeats_end(&list, print, NULL);
    assert_non_null(strstr(printed, "W 1 more time: message 1023\n"));
    assert_null(strstr(printed, "message 1024\n"));
}

static void warn_of(void *context, size_t index)
{
    (void)context;
    char file[32];
    snprintf(file, sizeof file, "rank%zu.json", index);
    for (int i = 0; i < 100; i++) {
        const char *before = gt_log_about(file);
        gt_warn("truncated");
        gt_log_about(before);
    }
    gt_warn("of the caller's file");
}

static void warn_of_four(void *context)
{
    gt_parallel_each(4, warn_of, context);
}

/* Threads warn about their own files, and otherwise about that of the thread that started them. */
static void files_of_threads(void **state)
{
    (void)state;
    printed[0] = 0;
    gt_log_to(take_log);
    gt_log_about("all.json");
    gt_team_run(4, warn_of_four, NULL);
    gt_log_about(NULL);
    gt_log_end_repeats();
    gt_log_to(NULL);
    assert_non_null(strstr(printed, ".json: truncated\n"));
    assert_non_null(strstr(printed, "W 399 more files: truncated\n"));
    assert_non_null(strstr(printed, "W all.json: of the caller's file\n"));
    assert_non_null(strstr(printed, "W 3 more files: of the caller's file\n"));
}

static void warns_once(void **state)
{
    (void)state;
    printed[0] = 0;
    gt_log_to(take_log);
    gt_log_about("all.json");
    for (int i = 0; i < 6; i++) gt_warn_once("pipe%d: skipped", i % 2);
    gt_log_about(NULL);
    gt_log_end_repeats();
    gt_log_to(NULL);
    assert_string_equal(printed, "W pipe0: skipped\nW pipe1: skipped\n");
}

static void warn_and_fail(void *context)
{
    gt_warn("cut");
    gt_warn("cut");
    gt_hint("%d of 9", 3);
    gt_hint("%d of 9", 4);
    gt_log_about("gone.json");
    gt_warn("cut");
    if (context) gt_raise("no luck");
    gt_log_about(NULL);
}

/* A guarded call counts on its own and forgets its files, also if it fails. */
static void guarded_calls(void **state)
{
    (void)state;
    for (int fails = 0; fails < 2; fails++) {
        gt_error error;
        gt_heap *heap = gt_heap_new();
        printed[0] = 0;
        bool whole = gt_guard_run(&(gt_guard_options){.heap = heap, .warning = take_warning}, warn_and_fail,
                                  fails ? &error : NULL, &error);
        assert_int_equal(whole, !fails);
        assert_string_equal(printed, "W cut\nW 3 of 9\nW 2 more times: cut\nW 1 more time: 3 of 9\n");
        gt_heap_free(heap);
        assert_null(gt_log_about(NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_what_differs_only_in_the_file),
        cmocka_unit_test(many_messages),
        cmocka_unit_test(files_of_threads),
        cmocka_unit_test(warns_once),
        cmocka_unit_test(guarded_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
