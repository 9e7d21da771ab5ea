/* Python regular expressions (re.search of str patterns), on top of PCRE2.
 *
 * An expression goes to PCRE2, and constructs that PCRE2 reads differently are rewritten or refused: \d \w \s
 * \b are by Python's Unicode tables or by ASCII under (?a), \Z is the very end, {,n} is {0,n}, $ is also
 * before a last line feed. Refused are what Python does not have ("(*COMMIT)", "\K", "(?R)"), \N{name}, and
 * the flags a, u and x for a part of an expression. A few expressions that Python refuses are taken, such as
 * references to groups that follow.
 *
 * Matching is limited: an expression that backtracks without end gives an error instead of running for hours.
 *
 *     gt_python_regex regex;
 *     gt_python_match match = {0};
 *     if (!gt_python_regex_compile(&regex, "rank(?P<rank>\\d+)", &error)) return false;
 *     size_t rank = gt_python_regex_group(&regex, "rank");
 *     if (gt_python_regex_search(&regex, name, &match, &error) && match.found) use(match.groups[rank]);
 *     gt_python_match_free(&match);
 *     gt_python_regex_free(&regex);
 */
#pragma once

#include "base/base.h"

typedef struct gt_python_regex {
    struct pcre2_real_code_8 *code;
    size_t group_count; /* without group 0 */
} gt_python_regex;

typedef struct gt_python_match {
    bool found;
    gt_str *groups; /* group 0 is the whole match; bytes is NULL for a group that took no part */
    size_t capacity;
    gt_buffer text; /* the subject, if bytes of it were not UTF-8 and had to be replaced by U+FFFD */
} gt_python_match;  /* {0} before its first use */

/* False if the expression is not valid or not supported; the error says why and at which character:
 * "unsupported group
 * (?R at position 4". */
bool gt_python_regex_compile(gt_python_regex *regex, const char *python, gt_error *error);
void gt_python_regex_free(gt_python_regex *regex);

/* The number of the group of that name; 0 if there is none. */
size_t gt_python_regex_group(const gt_python_regex *regex, const char *name);

/* Looks for the expression anywhere in the text, as re.search does. The groups point into the text (or into
 * match->text) until the match is used again or freed. False only if matching was given up, because it took
 * too many steps or too much memory. */
bool gt_python_regex_search(const gt_python_regex *regex, gt_str text, gt_python_match *match,
                            gt_error *error);
void gt_python_match_free(gt_python_match *match);
