/* The temporary file of a pool of pages: blocks that do not fit into memory.
 *
 * The file has no name, so that nothing remains however the process ends. It is mapped: a block in it is used
 * like any other. Its disk space is allocated before it is used, because a full disk would otherwise be a
 * SIGBUS. Pages of the file count as resident memory while they are mapped; gt_spill_drop unmaps the oldest,
 * and the next access maps them again. */
#ifndef GT_BASE_PAGES_SPILL_H
#define GT_BASE_PAGES_SPILL_H

#include "base/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GT_SPILL_REGIONS = 512 };

typedef struct gt_spill_region {
    char *begin;
    size_t bytes;
    uint64_t offset; /* in the file */
} gt_spill_region;

typedef struct gt_spill {
    const char *folder; /* NULL: gt_spill_folder() */
    int descriptor;     /* -1: not open */
    uint64_t size;
    gt_spill_region regions[GT_SPILL_REGIONS];
    size_t count;
    size_t hand, hand_offset; /* what is dropped next */
    bool is_coherent;         /* reading the file gives what was written to mapped pages */
} gt_spill;

void gt_spill_begin(gt_spill *spill, const char *folder);
/* The functions with a lock are called with it held, and release it while they wait for the file system. */

/* Makes the file larger by this and maps the new part, all zeros; NULL with the reason. */
char *gt_spill_map(gt_spill *spill, size_t bytes, pthread_mutex_t *lock, gt_error *error);
/* The part of the file that an address is in. */
const gt_spill_region *gt_spill_region_of(const gt_spill *spill, const void *address);
/* Discards the content of freed pages, so that nobody writes it to the disk, and says whether they are zeros
 * now. False if their disk space may be lost: they must not be used again. */
bool gt_spill_discard(gt_spill *spill, char *begin, size_t bytes, pthread_mutex_t *lock, bool *zeros);
/* Takes the next `bytes` out of resident memory, in the order in which they were mapped, then from the start
 * again. With `write`, they are also being written to the disk, so that the system can reuse their memory. */
void gt_spill_drop(gt_spill *spill, size_t bytes, bool write);
/* Copies a part of the file. False if it cannot be read. */
bool gt_spill_read(int descriptor, void *to, uint64_t offset, size_t bytes);
void gt_spill_end(gt_spill *spill); /* unmaps all of it and closes the file */

/* $TMPDIR, or /var/tmp, or /tmp: /tmp is often in memory. */
const char *gt_spill_folder(void);

/* Takes the code of the program out of resident memory. What is still needed comes back. */
void gt_drop_code(void);

/* The most resident memory that this process has had so far; 0 if the system does not say. */
uint64_t gt_peak_memory(void);
/* Resident memory of this process, anonymous and all; false if the system does not say. */
bool gt_resident_memory(uint64_t *anonymous, uint64_t *all);
/* The same from an open file, which takes a fifth of the time; -1 if it cannot be opened. */
int gt_resident_memory_open(void);
bool gt_resident_memory_read(int descriptor, uint64_t *anonymous, uint64_t *all);

#endif
