/* Reading the names of steps piece by piece. */
#pragma once

#include "base/base.h"

/* What is left of a name. */
typedef struct gt_name_reader {
    const char *at, *end;
} gt_name_reader;

static inline gt_name_reader gt_name_read(gt_str name)
{
    return (gt_name_reader){name.bytes, name.bytes + name.len};
}

/* Whether the rest begins with this text, which is passed. */
bool gt_name_skip(gt_name_reader *r, const char *text);
/* Whether the rest begins with a digit; passes the number. Numbers that are too large to calculate with are
 * limited. */
bool gt_name_number(gt_name_reader *r, int64_t *number);
/* Part of a word: a letter, a digit, '_', or any byte that is not ASCII. */
bool gt_name_is_word(char c);
/* The value of the last key=value with this key, which ends at white space, or after the bracket that closes
 * a list. */
bool gt_name_value(gt_name_reader body, const char *key, gt_name_reader *value);
