/* How much memory to use: sizes that a user typed, and the limits that the system sets. */
#pragma once

#include "base/error.h"

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

/* For gt_memory_set_limit: what the user asked for, or if that is 0 a limit of the system: of the control
 * groups, which end the process without a message, or RLIMIT_DATA. An eighth of these is left for memory that
 * is not counted. */
typedef struct gt_memory_bound {
    uint64_t bytes; /* 0: none */
    const char *name;
} gt_memory_bound;

gt_memory_bound gt_memory_bound_find(uint64_t bytes);

/* As many of the threads as have room for their buffers; at least one. */
unsigned gt_memory_threads(gt_memory_bound bound, unsigned threads);
