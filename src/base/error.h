/* What went wrong, as one sentence for the user.
 *
 * A function that can fail takes a gt_error, returns false (or NULL) and fills it. The sentence names the
 * file and the place in it; callers higher up may put the file's name in front with gt_error_prefix. */
#ifndef GT_BASE_ERROR_H
#define GT_BASE_ERROR_H

#include <stdbool.h>

typedef struct gt_error {
    char text[1024];
} gt_error;

/* Writes the sentence and returns false, so that `return gt_fail(error, ...)` reads as what it does. */
bool gt_fail(gt_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts "prefix: " before the sentence that is there. */
void gt_error_prefix(gt_error *error, const char *prefix);

#endif
