/* How any trace is to be read. */
#ifndef GT_INPUT_OPTIONS_H
#define GT_INPUT_OPTIONS_H

#include <stdbool.h>

typedef struct gt_read_options {
    unsigned threads; /* at most so many parse at once; 0 or 1: one */
    bool strict;      /* input that ends early is an error and not a warning */
    bool is_part;     /* of a larger piece of work, whose progress line stands already */
    unsigned
        wanted; /* of a rocprofv3 run, beyond what a plain report needs: GT_WANT_ bits of trace/rocprof.h */
    bool long_names; /* of a rocprofv3 CSV file: kernel names as they stand there, not cut short */
} gt_read_options;

#endif
