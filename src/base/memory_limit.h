/* How much memory to use: sizes that a user typed, and the limits that the system sets. */
#ifndef GT_BASE_MEMORY_LIMIT_H
#define GT_BASE_MEMORY_LIMIT_H

#include "base/error.h"
#include "base/pages/pages.h"

#include <stdbool.h>
#include <stdint.h>

/* With less, not even the buffers of one thread fit. */
#define GT_MEMORY_MIN ((uint64_t)32 << 20)

/* A number of bytes: "2147483648", "2G", "2GiB", "1.5g"; K, M, G and T are powers of 1,024, as are KiB and so
 * on, while KB and so on are powers of 1,000. False if it is none. */
bool gt_memory_parse(const char *text, uint64_t *bytes);
/* The same, and at least GT_MEMORY_MIN; the error says what is wrong with the text. */
bool gt_memory_parse_limit(const char *text, uint64_t *bytes, gt_error *error);

/* Bytes of memory that this process may use: what gt_memory_set_limit has set, the machine's memory or the
 * limit of its control group, whichever is least; 0 if none is known. */
uint64_t gt_memory_limit(void);

/* The smallest limit of the control groups that a process is in, of version 2 or 1; 0 if there is none. The
 * files are /proc/self/cgroup and the folder /sys/fs/cgroup, or others in tests. */
uint64_t gt_memory_of_groups(const char *list, const char *folder);

/* The limits for a pool: `bytes` that the user asked for, or if 0 those of the system: of the control groups
 * and RLIMIT_DATA. The latter are not promised, and an eighth of them is left for others. */
gt_pages_limits gt_memory_limits(uint64_t bytes);

/* As many of the threads as have room for their buffers; at least one. The limits are as above. */
unsigned gt_memory_threads(const gt_pages_limits *limits, unsigned threads);

#endif
