/* Which file is of which rank: Python's regular expressions and search patterns, and what is said of missing
 * files. What is expected is what Python's re.search and glob.glob give for the same expressions and names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/log.h"
#include "cli/inputs/inputs.h"

#define USUAL "rank[\\[\\-_/]?(?P<rank>\\d+)"

/* ---- regular expressions ---- */

static void ranks_in_names(void **state)
{
    (void)state;
    static const struct {
        const char *regex, *text;
        int64_t rank;
    } cases[] = {
        {USUAL, "rank0_trace.json", 0},
        {USUAL, "run/rank/12.json", 12},
        {USUAL, "rank-7.json", 7},
        {USUAL, "rank[31].json", 31},
        {USUAL, "rank_007.json.gz", 7},
        {USUAL, "crank12", 12},
        {USUAL, "rank.3", -1},
        {USUAL, "Rank3", -1},
        {"(?i)rank(\\d+)", "RANK44", 44},
        {"(?:gpu|dev)(\\d+)", "dev5", 5},
        {"node(\\d+)_(?P<rank>\\d+)", "node3_21", 21},
        {"^([0-9]{2,3})\\.json$", "123.json", 123},
        {"^([0-9]{2,3})\\.json$", "1.json", -1},
        {"[^\\d\\-](\\d+)[\\]^]", "a-1]b22^", 22},
        {"[^]](\\d)", "]1x2", 2},
        {"[\\w-]+\\.(\\d+)", "ab-c.9", 9},
        {"r(\\w+)", "rx1", -1}, /* not a number */
        {"r(\\d*)", "rx", -1},
        {"(\\d+)", "99999999999999999999", -1},
        {"[\\^](\\d)", "1^2", 2},
        {"[-^](\\d)", "^3", 3},
        {"\\s(\\d)\\b", "a4 5", 5},
        {"rank(\\d|\\d\\d)", "rank12", 1}, /* the first alternative that fits, not the longest */
        {"(?<=rank)(\\d+)", "4rank12", 12},
        {"rank(?!0)(\\d+?)$", "rank0rank34", 34},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gt_rank_regex regex;
        gt_error error;
        if (!gt_rank_regex_compile(&regex, cases[i].regex, "rank_regex", &error)) fail_msg("%s", error.text);
        int64_t rank;
        if (!gt_rank_regex_find(&regex, cases[i].text, &rank, &error)) fail_msg("%s", error.text);
        if (rank != cases[i].rank)
            fail_msg("%s in %s: %lld, not %lld", cases[i].regex, cases[i].text, (long long)rank,
                     (long long)cases[i].rank);
        gt_rank_regex_free(&regex);
    }
}

static void unusable_expressions(void **state)
{
    (void)state;
    static const char *const expressions[] = {"rank",     "rank(\\d+", "rank[0-9", "(?<=x*)(\\d)",
                                              "(\\d)\\2", "(\\d+**)",  "(a\\",     "(?P<rank",
                                              "([z-a])",  "[a\\",      "(?:\\d+)", "(\\K)"};
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
        gt_rank_regex regex;
        gt_error error;
        if (gt_rank_regex_compile(&regex, expressions[i], "rank_regex", &error))
            fail_msg("compiled: %s", expressions[i]);
        assert_non_null(strstr(error.text, "argument --rank_regex: "));
        assert_non_null(strstr(error.text, expressions[i]));
    }
}

/* Neither a hang nor a wrong rank: the message names option, expression and text. */
static void endless_expressions(void **state)
{
    (void)state;
    gt_rank_regex regex;
    gt_error error;
    int64_t rank = 5;
    assert_true(gt_rank_regex_compile(&regex, "(\\d+)+$", "rank_regex", &error));
    assert_false(gt_rank_regex_find(&regex, "1234567890123456789012345678901234567890x", &rank, &error));
    assert_int_equal(rank, -1);
    assert_string_equal(error.text, "argument --rank_regex: '(\\d+)+$': too many steps to match it against "
                                    "'1234567890123456789012345678901234567890x'");
    gt_rank_regex_free(&regex);
}

/* ---- files ---- */

static char folder[64];

static void touch(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file) fail_msg("%s", path);
    fclose(file);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/gputally-ranks-XXXXXX");
    if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
    mkdir("a", 0700);
    mkdir("a/b", 0700);
    mkdir(".hidden", 0700);
    if (symlink("..", "a/up") != 0) return -1;
    static const char *const files[] = {"rank0_trace.json", "rank1_trace.json.gz", "a/rank1.json",
                                        "a/b/rank2.json",   "a/b/other.json",      ".hidden/rank3.json",
                                        "a/.rank4.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) touch(files[i]);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return chdir("/") != 0 || system(command) != 0;
}

static void expect_paths(const char *pattern, const char *expected)
{
    gt_path_list paths = gt_path_pattern_find(pattern);
    char all[1024] = "";
    for (size_t i = 0; i < paths.count; i++) {
        strcat(all, i ? " " : "");
        strcat(all, paths.items[i]);
    }
    assert_string_equal(all, expected);
    gt_path_list_free(&paths);
}

static void files_by_pattern(void **state)
{
    (void)state;
    expect_paths("rank*", "rank0_trace.json rank1_trace.json.gz");
    expect_paths("*/rank?.json", "a/rank1.json");
    expect_paths("a/[!x]/*.json", "a/b/other.json a/b/rank2.json");
    expect_paths("a/.rank*", "a/.rank4.json");
    expect_paths("nothing/*", "");
    expect_paths("rank0_trace.json", "rank0_trace.json");
    expect_paths("a/b/**", "a/b/other.json a/b/rank2.json");
}

/* A link to a folder above is not followed for ever. */
static void files_in_all_folders(void **state)
{
    (void)state;
    expect_paths("**/b/rank2.json", "a/b/rank2.json");
    expect_paths("a/b/**/**/rank2.json", "a/b/rank2.json");
    expect_paths("**/rank1.json", "a/rank1.json");
}

static char warnings[1024];
static void keep_warnings(bool warning, const char *text)
{
    if (warning) snprintf(warnings + strlen(warnings), sizeof warnings - strlen(warnings), "%s\n", text);
}

static bool find(gt_rank_files *files, gt_rank_search search, gt_error *error)
{
    warnings[0] = 0;
    gt_log_to(keep_warnings);
    if (!search.rank_regex) search.rank_regex = USUAL;
    bool found = gt_rank_files_find(files, &search, error);
    gt_log_to(NULL);
    return found;
}

static void ranks_of_a_folder(void **state)
{
    (void)state;
    gt_rank_files files;
    gt_error error;
    assert_true(find(&files, (gt_rank_search){.folder = ".", .world_size = 2}, &error));
    assert_string_equal(files.paths[0], "./rank0_trace.json");
    assert_string_equal(files.paths[1], "./rank1_trace.json.gz");
    assert_string_equal(files.common_folder, ".");
    gt_rank_files_free(&files);
    assert_false(find(&files, (gt_rank_search){.folder = ".", .world_size = 3}, &error));
    assert_string_equal(error.text, "Expected trace file not found: ./rank2_trace.json");
    assert_true(
        find(&files, (gt_rank_search){.folder = ".", .world_size = 3, .allow_missing = true}, &error));
    assert_null(files.paths[2]);
    assert_string_equal(warnings, "rank 2: ./rank2_trace.json: file not found\n");
    gt_rank_files_free(&files);
}

static void ranks_of_a_pattern(void **state)
{
    (void)state;
    gt_rank_files files;
    gt_error error;
    assert_true(find(&files, (gt_rank_search){.pattern = "rank*_trace.json", .world_size = 1}, &error));
    assert_string_equal(files.paths[0], "rank0_trace.json");
    assert_string_equal(files.common_folder, folder);
    gt_rank_files_free(&files);
    static const char *const wrong[] = {"rank0.json", "*/rank*.json"};
    for (size_t i = 0; i < 2; i++) {
        assert_false(find(&files, (gt_rank_search){.pattern = wrong[i], .world_size = 1}, &error));
        assert_non_null(strstr(error.text, "exactly one '*'"));
    }
}

static void ranks_of_a_search(void **state)
{
    (void)state;
    gt_rank_files files;
    gt_error error;
    assert_true(find(&files, (gt_rank_search){.glob = "**/*.json*", .world_size = 3}, &error));
    assert_string_equal(files.paths[0], "rank0_trace.json");
    assert_string_equal(files.paths[1], "a/rank1.json");
    assert_string_equal(files.paths[2], "a/b/rank2.json");
    assert_string_equal(files.common_folder, folder);
    assert_non_null(strstr(warnings, "rank 1: using a/rank1.json, ignoring rank1_trace.json.gz\n"));
    gt_rank_files_free(&files);

    assert_true(
        find(&files, (gt_rank_search){.glob = "a/b/*", .world_size = 3, .allow_missing = true}, &error));
    assert_string_equal(warnings, "no trace for ranks 0, 1\n");
    assert_string_equal(strrchr(files.common_folder, '/'), "/b");
    gt_rank_files_free(&files);

    assert_false(find(&files, (gt_rank_search){.glob = "a/b/*", .world_size = 3}, &error));
    assert_string_equal(error.text,
                        "Missing ranks after glob resolution: [0, 1]. NcclAnalyser requires a complete rank "
                        "set (0..2) for correct results.");
    assert_false(find(&files, (gt_rank_search){.glob = "x*", .world_size = 3}, &error));
    assert_string_equal(error.text, "No files matched --trace_glob: x*");
    assert_false(
        find(&files, (gt_rank_search){.glob = "a/b/*", .rank_regex = "q(\\d)", .world_size = 1}, &error));
    assert_string_equal(error.text, "--trace_glob matched 2 file(s), but none matched --rank_regex 'q(\\d)'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_in_names),       cmocka_unit_test(unusable_expressions),
        cmocka_unit_test(endless_expressions),  cmocka_unit_test(files_by_pattern),
        cmocka_unit_test(files_in_all_folders), cmocka_unit_test(ranks_of_a_folder),
        cmocka_unit_test(ranks_of_a_pattern),   cmocka_unit_test(ranks_of_a_search),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
