/* Types that the parts of a pool share. */
#ifndef GT_BASE_PAGES_TYPES_H
#define GT_BASE_PAGES_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gt_pages gt_pages;

typedef struct gt_pages_limits {
    uint64_t bytes; /* resident memory of the process, or with `added` of what the pool adds to it */
    bool added;     /* for the library: the memory of the process before does not count */
    bool promised;  /* the user asked for it: if it cannot be kept, allocations fail */
    bool outside;   /* all blocks go to the file; `bytes` are what may be resident before pages of it leave */
    bool reclaim;   /* of a control group: written pages should be clean soon */
    const char *folder; /* of the temporary file; NULL: gt_spill_folder() */
    size_t smallest;    /* smaller blocks are malloc's; 0: GT_LARGE_BYTES. For tests */
} gt_pages_limits;

#endif
