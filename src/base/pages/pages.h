/* Large blocks of memory: whole pages, straight from the system.
 *
 * Columns and tables are few and large. The page faults of fresh memory cost more than what is computed with
 * it, so freed pages are kept and given out again, and larger pools use huge pages. A pool never keeps so
 * much that the peak of the memory in use rises: before fresh pages would make a new peak, as many of the
 * freed ones go back to the system. Many threads (gt_pages_share) may raise it by half, because returning
 * pages interrupts the cores of all of them.
 *
 * With a limit (gt_pages_limit), what does not fit is in a temporary file: see base/pages/spill.h. */
#ifndef GT_BASE_PAGES_PAGES_H
#define GT_BASE_PAGES_PAGES_H

#include "base/error.h"
#include "base/pages/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A smaller block is malloc's. */
enum { GT_LARGE_BYTES = 256 * 1024 };

gt_pages *gt_pages_new(void); /* NULL if there is no memory */
/* All blocks of the pool must have been freed. NULL does nothing. */
void gt_pages_destroy(gt_pages *pool);
/* Returns freed pages to the system and ends the thread of the pool, if it has one. */
void gt_pages_rest(gt_pages *pool);

typedef struct gt_pages_request {
    size_t bytes;
    bool zero; /* all bytes are 0 */
    bool cold; /* written once and seldom read: it goes to the temporary file first */
    bool *
        is_fresh; /* set if the block is in memory that the system has not given pages yet; NULL: not asked */
} gt_pages_request;

/* A block, aligned to 256 bytes. NULL if there is none: if the error has a text, the limit is why; otherwise
 * the caller may try malloc. */
void *gt_pages_alloc(gt_pages *pool, gt_pages_request request, gt_error *error);
/* Changes the size of a block, which may move; NULL as above, and the block is as it was. */
void *gt_pages_resize(void *block, size_t bytes, gt_error *error);
void gt_pages_free(void *block);

/* Whether a pool, whichever it is, gave out this block. Any thread may ask. */
bool gt_pages_owns(const void *block);
size_t gt_pages_size(const void *block); /* bytes that can be used */

/* ---- limits ---- */

void gt_pages_limit(gt_pages *pool, const gt_pages_limits *limits);
uint64_t gt_pages_limit_bytes(const gt_pages *pool); /* 0: none */
bool gt_pages_is_promised(const gt_pages *pool);     /* there is a limit, and the user asked for it */
size_t gt_pages_smallest(const gt_pages *pool);

/* Takes pages of the temporary file out of resident memory if there is too much of it. Cheap, and meant to
 * be called often: a thread does it, too, but on a busy machine it may come too late. */
void gt_pages_poll(gt_pages *pool);
/* Returns the memory of freed pages to the system. */
void gt_pages_give_back(gt_pages *pool);
/* From now on, freed pages stay in the pool: the process ends soon, and giving back all at once is cheaper.
 */
void gt_pages_keep(gt_pages *pool);
/* Whether many threads use the pool. Without effect if it has a limit. */
void gt_pages_share(gt_pages *pool, bool many);
/* Takes all pages of the temporary file out of resident memory. */
void gt_pages_drop(gt_pages *pool);

/* Copies bytes of a block that is in the temporary file, without making its pages resident. False if it is
 * not there, or cannot be read. */
bool gt_pages_read(gt_pages *pool, void *to, const void *from, size_t bytes);
bool gt_pages_is_in_file(gt_pages *pool, const void *address);

/* For tests. */
typedef struct gt_pages_counts {
    size_t used, kept; /* anonymous bytes of blocks, and of freed pages that are still there */
    size_t peak;       /* the highest used + kept */
    size_t in_file;    /* bytes of blocks in the temporary file */
    size_t file_bytes; /* of the file */
    size_t dropped;    /* bytes of the file that were taken out of resident memory so far */
} gt_pages_counts;

gt_pages_counts gt_pages_count(gt_pages *pool);

#endif
