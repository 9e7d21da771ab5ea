/* The group that holds the rank, and reading its digits. */
#include "cli/inputs/rank_regex.h"
#include "base/memory.h"

#include <ctype.h>
#include <stdlib.h>

static bool compile(gt_rank_regex *regex, const char *python, gt_error *why)
{
    if (!gt_python_regex_compile(&regex->python, python, "rank", why)) return false;
    regex->group = regex->python.named_group ? regex->python.named_group : regex->python.first_group;
    if (regex->group) return true;
    gt_python_regex_free(&regex->python);
    return gt_fail(why, "it has no group for the rank's number");
}

bool gt_rank_regex_compile(gt_rank_regex *regex, const char *python, const char *option, gt_error *error)
{
    gt_error why;
    return compile(regex, python, &why) ||
           gt_fail(error, "argument --%s: '%.200s': %.200s", option, python, why.text);
}

void gt_rank_regex_free(gt_rank_regex *regex)
{
    gt_python_regex_free(&regex->python);
}

int64_t gt_rank_regex_find(const gt_rank_regex *regex, const char *text)
{
    regmatch_t *found = gt_alloc((regex->python.compiled.re_nsub + 1) * sizeof *found);
    int64_t rank = -1;
    if (regexec(&regex->python.compiled, text, regex->python.compiled.re_nsub + 1, found, 0) == 0 &&
        found[regex->group].rm_so >= 0) {
        regmatch_t number = found[regex->group];
        rank = number.rm_so == number.rm_eo ? -1 : 0;
        for (regoff_t i = number.rm_so; i < number.rm_eo && rank >= 0; i++)
            rank = isdigit((unsigned char)text[i]) && rank < INT32_MAX ? rank * 10 + (text[i] - '0') : -1;
    }
    gt_free(found);
    return rank;
}
