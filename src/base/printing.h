/* What the program prints must not command the terminal: names of files and kernels may contain escape
 * characters. The command line has its two streams escape them, so that no place that prints has to. */
#ifndef GT_BASE_PRINTING_H
#define GT_BASE_PRINTING_H

#include <stdio.h>

/* From now on stdout and stderr print control characters other than line breaks and tabs, bytes that are not
 * UTF-8 and characters that change the direction of text as \x1b or \u202e. For the start of main; the
 * library does not do this. Does nothing if the C library has no streams of this kind. */
void gt_print_escaped(void);

/* Prints bytes that may command the terminal: colours, erasing a line. */
void gt_print_raw(FILE *file, const char *bytes, size_t len);

/* The descriptor of a stream, also after gt_print_escaped. */
int gt_print_descriptor(FILE *file);

#endif
