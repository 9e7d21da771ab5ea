/* Failures that no function returns: running out of memory, and internal errors (bugs). base/guard.h explains
 * what they end, and base/guard.c has the functions. */
#pragma once

#include <stddef.h>

/* Ends the guarded call, or without a guard the program, with this message. */
_Noreturn void gt_raise(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void gt_raise_out_of_memory(size_t bytes); /* "out of memory: cannot allocate N bytes" */
/* "internal error: ...": for what only a bug can cause. The program ends with GT_EXIT_INTERNAL. */
_Noreturn void gt_raise_internal(const char *format, ...) __attribute__((format(printf, 1, 2)));
enum { GT_EXIT_INTERNAL = 70 };

/* An assertion that is also checked in release builds. */
#define GT_CHECK(condition)                                                                                  \
    ((condition) ? (void)0 : gt_raise_internal("%s:%d: not true: %s", __FILE__, __LINE__, #condition))
