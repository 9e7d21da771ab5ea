/* Bytes set aside on disk: records are added one after another and later read back in any order.
 *
 * The file has no name and is gone with the program. It is read through a mapping that is given back to the
 * system again and again, so that memory stays small however large it is. */
#ifndef GT_OUTPUT_SPOOL_H
#define GT_OUTPUT_SPOOL_H

#include "base/error.h"
#include "base/strings.h"

#include <stddef.h>
#include <stdint.h>

typedef struct gt_spool gt_spool;

/* In the folder of `path`, which must exist. NULL where that fails. */
gt_spool *gt_spool_open(const char *path, gt_error *error);
/* Adds a record; gives its place. The first failure is kept; sealing tells. */
uint64_t gt_spool_add(gt_spool *spool, const void *bytes, size_t len);
/* Nothing is added any more: from here on records can be read. */
bool gt_spool_seal(gt_spool *spool, gt_error *error);
/* A record, valid until the next one is read. */
gt_text gt_spool_read(gt_spool *spool, uint64_t place);
void gt_spool_close(gt_spool *spool); /* NULL is fine */

#endif
