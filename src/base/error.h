/* What went wrong, as one message for the user.
 *
 * A function that can fail takes a gt_error, which may be NULL, fills it and returns false (or NULL). The
 * message names the file and the place in it; callers may add the file name with gt_error_prefix. Running
 * out of memory and internal errors are not passed up like this: see base/guard.h. */
#pragma once

#include <stdbool.h>

typedef struct gt_error {
    char text[1024];
} gt_error;

/* Writes the message. Always returns false, for `return gt_fail(error, ...)`. */
bool gt_fail(gt_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts "prefix: " before the message. */
void gt_error_prefix(gt_error *error, const char *prefix);
