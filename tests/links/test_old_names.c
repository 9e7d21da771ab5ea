/* The table of old names compared with the tables of commands and steps: nothing is missing, and every row
 * starts something that exists. */
#include "cli/command.h"
#include "base/memory.h"
#include "cli/links/links.h"
#include "cli/sweep/sweep.h"
#include "os/paths.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

static const gt_command *find_step(const char *name)
{
    for (const gt_command *step = gt_sweep_steps; step->name; step++)
        if (strcmp(step->name, name) == 0) return step;
    return NULL;
}

/* How many rows start `what` under a file with this name, and are of the kind. */
static size_t count_rows(const char *file, gt_old_kind kind, const char *what)
{
    size_t count = 0;
    for (size_t i = 0; i < gt_old_name_count(); i++) {
        gt_old_name row = gt_old_name_at(i);
        count +=
            row.kind == kind && strcmp(gt_path_name(row.path), file) == 0 && strcmp(row.starts, what) == 0;
    }
    return count;
}

static void every_command_with_an_old_name_is_a_link(void **state)
{
    (void)state;
    for (size_t i = 0; i < gt_command_count; i++)
        if (gt_commands[i].old_name)
            assert_int_equal(count_rows(gt_commands[i].old_name, GT_OLD_LINK, gt_commands[i].old_name), 1);
    assert_int_equal(count_rows("madengine", GT_OLD_LINK, "madengine"), 1);
}

static void every_step_with_a_script_is_a_wrapper(void **state)
{
    (void)state;
    for (const gt_command *step = gt_sweep_steps; step->name; step++) {
        if (!step->old_name) continue;
        char what[64];
        snprintf(what, sizeof what, "sweep %s", step->name);
        bool shell = strcmp(step->old_name + strlen(step->old_name) - 3, ".sh") == 0;
        if (count_rows(step->old_name, shell ? GT_OLD_SHELL : GT_OLD_PYTHON, what) == 0)
            fail_msg("no old name for sweep %s (%s)", step->name, step->old_name);
    }
}

static void every_row_starts_something(void **state)
{
    (void)state;
    for (size_t i = 0; i < gt_old_name_count(); i++) {
        gt_old_name row = gt_old_name_at(i);
        if (row.kind == GT_OLD_PACKAGE || row.kind == GT_OLD_JOB_FILE) {
            assert_null(row.starts);
            continue;
        }
        bool step = strncmp(row.starts, "sweep ", 6) == 0;
        bool exists = step ? find_step(row.starts + 6) != NULL
                           : strcmp(row.starts, "madengine") == 0 || gt_command_find(row.starts) ||
                                 gt_command_find_by_old_name(row.starts);
        if (!exists) fail_msg("%s starts %s", row.path, row.starts);
    }
}

static void no_path_occurs_twice(void **state)
{
    (void)state;
    for (size_t i = 0; i < gt_old_name_count(); i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(gt_old_name_at(i).path, gt_old_name_at(k).path);
}

static void every_text_has_the_mark(void **state)
{
    (void)state;
    for (size_t i = 0; i < gt_old_name_count(); i++) {
        gt_old_name row = gt_old_name_at(i);
        if (row.kind == GT_OLD_LINK) continue;
        gt_buffer text = {0};
        gt_old_name_text(&text, &row, "/a\"b\\c\n\xff'd/gputally");
        const char *mark = strstr(gt_buffer_str(&text).bytes, GT_LINKS_MARK);
        assert_non_null(mark);
        assert_true(mark - text.bytes < 200);
        gt_buffer_free(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_with_an_old_name_is_a_link),
        cmocka_unit_test(every_step_with_a_script_is_a_wrapper),
        cmocka_unit_test(every_row_starts_something),
        cmocka_unit_test(no_path_occurs_twice),
        cmocka_unit_test(every_text_has_the_mark),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
