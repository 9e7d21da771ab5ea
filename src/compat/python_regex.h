/* Python regular expressions, as far as POSIX ones can say the same: groups, sets, \d \w \s \b, repetition.
 */
#ifndef GT_COMPAT_PYTHON_REGEX_H
#define GT_COMPAT_PYTHON_REGEX_H

#include "base/error.h"

#include <regex.h>
#include <stddef.h>

typedef struct gt_python_regex {
    regex_t compiled;
    size_t first_group; /* the first that captures; 0 where none does */
    size_t named_group; /* the one with the name asked for; 0 where there is none */
} gt_python_regex;

/* What POSIX expressions cannot say (lookaround, backreferences, lazy repetition) is refused by name. `group`
 * may be NULL. */
bool gt_python_regex_compile(gt_python_regex *regex, const char *python, const char *group, gt_error *error);
void gt_python_regex_free(gt_python_regex *regex);

/* Whether the expression is found anywhere in the text, as re.search has it. */
bool gt_python_regex_matches(const gt_python_regex *regex, const char *text);

#endif
