/* Stable sort of 64-bit keys that carry a row each. Only src/table uses this. */
#ifndef GT_TABLE_RADIX_H
#define GT_TABLE_RADIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Brings both arrays into ascending order of the keys. `keys` is used as work space: on return it holds the
 * sorted keys only if keep_keys. */
void gt_radix_sort(uint64_t *keys, uint32_t *rows, size_t count, bool keep_keys);

#endif
