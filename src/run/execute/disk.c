/* Whether everything that a run should have written is on the disk. A profiler that finds the disk full may
 * well end with status 0, so that its files are incomplete and nobody knows. */
#include "run/execute/execute.h"
#include "output/output.h"

#include <stdint.h>
#include <sys/statvfs.h>

enum { FULL_BELOW = 64 * 1024 }; /* bytes: a disk with less is full for everything that a profiler writes */

bool gt_disk_free_bytes(const char *folder, uint64_t *bytes)
{
    struct statvfs status;
    if (statvfs(folder, &status) != 0 || !status.f_blocks) return false; /* some file systems do not tell */
    *bytes = (uint64_t)status.f_bavail * status.f_frsize;
    return true;
}

bool gt_disk_was_full(const char *folder)
{
    uint64_t bytes;
    return gt_output_ran_out_of_space() || (gt_disk_free_bytes(folder, &bytes) && bytes < FULL_BELOW);
}
