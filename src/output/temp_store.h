/* Bytes set aside on disk: records are added one after another and later read back in any order.
 *
 * The file has no name and is gone with the program. It is read through a mapping that is given back to the
 * system again and again, so that memory stays small however large it is. */
#ifndef GT_OUTPUT_TEMP_STORE_H
#define GT_OUTPUT_TEMP_STORE_H

#include "base/error.h"
#include "base/interner.h"

#include <stddef.h>
#include <stdint.h>

typedef struct gt_temp_store gt_temp_store;

/* In the folder of `path`, which must exist. NULL where that fails. */
gt_temp_store *gt_temp_store_open(const char *path, gt_error *error);
/* Adds a record; gives its place. The first failure is kept; sealing tells. */
uint64_t gt_temp_store_add(gt_temp_store *spool, const void *bytes, size_t len);
/* Nothing is added any more: from here on records can be read. */
bool gt_temp_store_seal(gt_temp_store *spool, gt_error *error);
/* A record, valid until the next one is read. */
gt_str gt_temp_store_read(gt_temp_store *spool, uint64_t place);
void gt_temp_store_close(gt_temp_store *spool); /* NULL is fine */

#endif
