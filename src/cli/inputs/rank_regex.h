/* A Python regular expression that finds the rank number in a path: --rank_regex. */
#ifndef GT_CLI_INPUTS_RANK_REGEX_H
#define GT_CLI_INPUTS_RANK_REGEX_H

#include "compat/python_regex.h"

#include <stddef.h>
#include <stdint.h>

typedef struct gt_rank_regex {
    gt_python_regex python;
    size_t group;       /* with the number: the group named "rank", else the first one */
    const char *option; /* for messages; with `text` it must outlive the expression */
    const char *text;
} gt_rank_regex;

bool gt_rank_regex_compile(gt_rank_regex *regex, const char *python, const char *option, gt_error *error);
void gt_rank_regex_free(gt_rank_regex *regex);

/* The rank in the text; -1 if there is none. False if the expression takes too many steps on this text. */
bool gt_rank_regex_find(const gt_rank_regex *regex, const char *text, int64_t *rank, gt_error *error);

#endif
