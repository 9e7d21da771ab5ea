/* Searching for many words in one pass, compared with searching for each of them alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/keywords.h"

static gt_keyword_set find(gt_keywords *words, const char *text)
{
    return gt_keywords_find(words, (gt_str){text, strlen(text)});
}

static void words_are_found_at_every_position(void **state)
{
    (void)state;
    gt_keywords *words = gt_keywords_new();
    gt_keyword_set he = gt_keywords_add(words, "he"), she = gt_keywords_add(words, "she"),
                   hers = gt_keywords_add(words, "hers"), either = gt_keywords_add(words, " sgl::  she "),
                   none = gt_keywords_add(words, "");
    const struct {
        const char *text;
        int he, she, hers, either;
    } cases[] = {
        {"", 0, 0, 0, 0},         {"h", 0, 0, 0, 0},       {"he", 1, 0, 0, 0},          {"xHEx", 1, 0, 0, 0},
        {"uSheRs", 1, 1, 1, 1},   {"sshe", 1, 1, 0, 1},    {"s he", 1, 0, 0, 0},        {"sh e", 0, 0, 0, 0},
        {"a sGl::b", 0, 0, 0, 1}, {"hehers-", 1, 0, 1, 0}, {"h\xC3\xA9he", 1, 0, 0, 0}, {"sgl:", 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gt_keyword_set found = find(words, cases[i].text);
        assert_int_equal(gt_keyword_sets_intersect(&found, &he), cases[i].he);
        assert_int_equal(gt_keyword_sets_intersect(&found, &she), cases[i].she);
        assert_int_equal(gt_keyword_sets_intersect(&found, &hers), cases[i].hers);
        assert_int_equal(gt_keyword_sets_intersect(&found, &either), cases[i].either);
        assert_false(gt_keyword_sets_intersect(&found, &none));
    }
    gt_keywords_free(words);
}

/* The maximum number of words, of two letters each, so that they overlap each other in every way. */
static void random_words_in_random_strings(void **state)
{
    (void)state;
    char list[GT_KEYWORDS_MAX][12];
    gt_keyword_set sets[GT_KEYWORDS_MAX];
    srand(7);
    for (int round = 0; round < 20; round++) {
        gt_keywords *words = gt_keywords_new();
        for (size_t i = 0; i < GT_KEYWORDS_MAX; i++) {
            size_t len = 1 + (size_t)rand() % 10;
            for (size_t c = 0; c < len; c++) list[i][c] = "a_"[rand() % 2];
            list[i][len] = 0;
            sets[i] = gt_keywords_add(words, list[i]);
        }
        for (int t = 0; t < 200; t++) {
            char text[40];
            size_t len = (size_t)rand() % sizeof text;
            for (size_t c = 0; c < len; c++) text[c] = "aA__-"[rand() % 5];
            gt_keyword_set found = gt_keywords_find(words, (gt_str){text, len});
            for (size_t c = 0; c < len; c++)
                if (text[c] == 'A') text[c] = 'a';
            for (size_t i = 0; i < GT_KEYWORDS_MAX; i++)
                assert_int_equal(gt_keyword_sets_intersect(&found, &sets[i]),
                                 memmem(text, len, list[i], strlen(list[i])) != NULL);
        }
        gt_keywords_free(words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_found_at_every_position),
        cmocka_unit_test(random_words_in_random_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
