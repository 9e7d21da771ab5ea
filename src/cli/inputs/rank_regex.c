/* The group with the rank, and parsing its digits. */
#include "cli/inputs/rank_regex.h"

#include <string.h>

/* "argument --rank_regex: 'rank(': missing ), unterminated subpattern at position 4" */
static bool fail(const gt_rank_regex *regex, const gt_error *why, gt_error *error)
{
    return gt_fail(error, "argument --%s: '%.200s': %.200s", regex->option, regex->text, why->text);
}

bool gt_rank_regex_compile(gt_rank_regex *regex, const char *python, const char *option, gt_error *error)
{
    gt_error why;
    *regex = (gt_rank_regex){.option = option, .text = python};
    if (!gt_python_regex_compile(&regex->python, python, &why)) return fail(regex, &why, error);
    regex->group = gt_python_regex_group(&regex->python, "rank");
    if (!regex->group) regex->group = 1;
    if (regex->python.group_count) return true;
    gt_python_regex_free(&regex->python);
    gt_fail(&why, "no group for the rank number");
    return fail(regex, &why, error);
}

void gt_rank_regex_free(gt_rank_regex *regex)
{
    gt_python_regex_free(&regex->python);
}

/* ASCII digits, like Python's int(); -1 for anything else. */
static int64_t number_of(gt_str digits)
{
    int64_t number = digits.len ? 0 : -1;
    for (size_t i = 0; i < digits.len && number >= 0; i++)
        number =
            gt_is_digit(digits.bytes[i]) && number < INT32_MAX ? number * 10 + (digits.bytes[i] - '0') : -1;
    return number;
}

bool gt_rank_regex_find(const gt_rank_regex *regex, const char *text, int64_t *rank, gt_error *error)
{
    gt_python_match match = {0};
    gt_error why;
    bool searched = gt_python_regex_search(&regex->python, (gt_str){text, strlen(text)}, &match, &why);
    *rank = searched && match.found ? number_of(match.groups[regex->group]) : -1;
    gt_python_match_free(&match);
    return searched || fail(regex, &why, error);
}
