/* How any trace is to be read. */
#ifndef GT_INPUT_OPTIONS_H
#define GT_INPUT_OPTIONS_H

#include <stdbool.h>

typedef struct gt_read_options {
    unsigned threads; /* at most so many parse at once; 0 or 1: one */
    bool strict;      /* input that ends early is an error and not a warning */
} gt_read_options;

#endif
