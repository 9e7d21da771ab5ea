/* Parts of a report side by side: strings of their own that are joined in the order in which sheets are
 * taken, the error of the first part that fails, and one part after the other. */
#include "test_table_strings.h"
#include "base/memory.h"
#include "base/team.h"
#include "table/side_by_side.h"

#include <stdatomic.h>

enum { PARTS = 40 };

static const unsigned threads[] = {1, 2, 8};

typedef struct job {
    gt_side_parts parts;
    size_t first_bad; /* PARTS: none */
    atomic_size_t together, most, made;
    gt_table_list tables;
    bool done;
    gt_error error;
} job;

/* A sheet with one cell that all parts have, and one of its own. */
static bool make_part(void *context, size_t part)
{
    job *j = context;
    size_t now = atomic_fetch_add(&j->together, 1) + 1, most = atomic_load(&j->most);
    while (now > most && !atomic_compare_exchange_weak(&j->most, &most, now)) continue;
    char own[32];
    snprintf(own, sizeof own, "part %zu", part);
    gt_table *sheet = gt_table_new(gt_sheet_named("sheet"), j->parts.own[part]);
    gt_table_add_rows(sheet, 2);
    uint32_t *texts = gt_table_add_unset(sheet, gt_col_named("text"), GT_TYPE_STRING)->texts;
    texts[0] = gt_interner_add_cstr(j->parts.own[part], "common");
    texts[1] = gt_interner_add_cstr(j->parts.own[part], own);
    gt_table_list_add(&j->parts.sheets[part], sheet);
    atomic_fetch_add(&j->made, 1);
    atomic_fetch_sub(&j->together, 1);
    if (part < j->first_bad) return true;
    gt_fail(&j->parts.errors[part], "part %zu failed", part);
    return false;
}

static void make_all(void *context)
{
    job *j = context;
    gt_side_parts_begin(&j->parts);
    j->done = gt_side_parts_make(&j->parts, make_part, j, &j->error);
    for (size_t i = PARTS; j->done && i-- > 0;) gt_side_parts_take(&j->parts, i, &j->tables);
    gt_side_parts_end(&j->parts);
}

static void expect_sheets(const job *j)
{
    assert_int_equal(j->tables.count, PARTS);
    for (size_t i = 0; i < PARTS; i++) {
        const gt_table *sheet = j->tables.items[i];
        char own[32];
        snprintf(own, sizeof own, "part %zu", PARTS - 1 - i); /* they were taken from the last to the first */
        assert_ptr_equal(sheet->strings, strings);
        assert_string_equal(gt_interner_get(strings, sheet->columns[0].texts[0]).bytes, "common");
        assert_string_equal(gt_interner_get(strings, sheet->columns[0].texts[1]).bytes, own);
        assert_int_equal(sheet->columns[0].texts[0], j->tables.items[0]->columns[0].texts[0]);
    }
}

static void sheets_have_the_strings_of_the_trace(void **state)
{
    (void)state;
    for (size_t t = 0; t < GT_LENGTH(threads); t++)
        for (int in_turn = 0; in_turn <= 1; in_turn++) {
            job j = {.parts = {.strings = strings, .count = PARTS, .in_turn = in_turn, .shares = 1u << 3},
                     .first_bad = PARTS};
            gt_team_run(threads[t], make_all, &j);
            assert_true(j.done);
            expect_sheets(&j);
            gt_table_list_free(&j.tables);
        }
}

static void the_first_error_counts(void **state)
{
    (void)state;
    for (size_t t = 0; t < GT_LENGTH(threads); t++)
        for (int in_turn = 0; in_turn <= 1; in_turn++) {
            job j = {.parts = {.strings = strings, .count = PARTS, .in_turn = in_turn}, .first_bad = 7};
            gt_team_run(threads[t], make_all, &j);
            assert_false(j.done);
            assert_string_equal(j.error.text, "part 7 failed");
            assert_int_equal(j.tables.count, 0);
            if (in_turn) assert_int_equal(j.made, 8);
        }
}

static void few_run_at_once(void **state)
{
    (void)state;
    job j = {.parts = {.strings = strings, .count = PARTS, .at_once = 2}, .first_bad = PARTS};
    gt_team_run(8, make_all, &j);
    assert_true(j.done);
    assert_in_range(j.most, 1, 2);
    gt_table_list_free(&j.tables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sheets_have_the_strings_of_the_trace),
        cmocka_unit_test(the_first_error_counts),
        cmocka_unit_test(few_run_at_once),
    };
    return cmocka_run_group_tests(tests, make_strings, free_strings);
}
