/* What a file was like when it was read, and whether it is still the same. */
#pragma once

#include "base/base.h"

/* A trace as it was when it was read. */
typedef struct gt_trace_identity {
    uint64_t size;
    int64_t modified_ns, changed_ns; /* mtime and ctime */
    uint64_t device, inode;
    uint64_t checksum;
} gt_trace_identity;

/* Everything but the checksum. False if there is no such regular file. */
bool gt_trace_identify(const char *path, gt_trace_identity *identity);
/* Adds the checksum to what gt_trace_identify found. False if the trace cannot be read or changes meanwhile.
 */
bool gt_trace_add_checksum(const char *path, gt_trace_identity *identity);

/* Whether all but the checksums are equal: no program can set ctime. */
bool gt_trace_has_same_times(const gt_trace_identity *a, const gt_trace_identity *b);
/* The same for one file that two machines see: only the numbers of its device differ. */
bool gt_trace_has_same_times_elsewhere(const gt_trace_identity *a, const gt_trace_identity *b);
