/* A Python regular expression that finds a rank's number in a path: --rank_regex. */
#ifndef GT_CLI_INPUTS_RANK_REGEX_H
#define GT_CLI_INPUTS_RANK_REGEX_H

#include "compat/python_regex.h"

#include <stddef.h>
#include <stdint.h>

typedef struct gt_rank_regex {
    gt_python_regex python;
    size_t group; /* that holds the number: the one named "rank", else the first */
} gt_rank_regex;

/* `option` is the one that messages name. */
bool gt_rank_regex_compile(gt_rank_regex *regex, const char *python, const char *option, gt_error *error);
void gt_rank_regex_free(gt_rank_regex *regex);

/* The rank that the text tells; -1 where it tells none. */
int64_t gt_rank_regex_find(const gt_rank_regex *regex, const char *text);

#endif
