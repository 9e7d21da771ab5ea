/* Private to python_regex.c: Python's syntax translated to PCRE2's. */
#ifndef GT_COMPAT_PYTHON_REGEX_SYNTAX_H
#define GT_COMPAT_PYTHON_REGEX_SYNTAX_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GT_REGEX_ASCII = 1,
    GT_REGEX_IGNORE_CASE = 2,
    GT_REGEX_MULTI_LINE = 4,
    GT_REGEX_DOT_ALL = 8,
    GT_REGEX_VERBOSE = 16,
    GT_REGEX_UNICODE = 32, /* is the default: has no effect */
};

/* How many characters an expression can match. */
typedef struct gt_regex_width {
    uint64_t min, max;
} gt_regex_width;

typedef struct gt_regex_group {
    gt_str name; /* empty for none; points into the expression */
    bool closed;
    gt_regex_width width;
} gt_regex_group;

typedef struct gt_regex_translation {
    const char *begin, *at, *end; /* of the expression, valid UTF-8; at: what is not yet translated */
    gt_buffer out;                /* the same in PCRE2's syntax */
    gt_regex_group *groups;       /* group 1 first */
    size_t count, capacity;
    size_t lookbehind;               /* how many are open */
    size_t groups_before_lookbehind; /* groups that began before the outermost of them */
    bool variable_lookbehind;        /* one has no fixed width */
    size_t condition;                /* the highest group that a condition names */
    const char *condition_at;
    unsigned global_flags;
    gt_error *error;
} gt_regex_translation;

/* Translates the expression from `at` on; begin, at, end and error are set by the caller, who also frees
 * `out` and `groups`. False if Python would refuse the expression. */
bool gt_regex_translate(gt_regex_translation *t);

#endif
