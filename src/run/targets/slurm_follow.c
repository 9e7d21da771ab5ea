/* Shows the output of a job while it runs: a file that another machine appends to. */
#include "run/targets/slurm_job.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 64 * 1024 };

static void write_all(gt_follower *f, const char *bytes, size_t len)
{
    while (len && f->shown_at >= 0) {
        ssize_t n = write(f->shown_at, bytes, len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) f->shown_at = -1; /* its reader has gone */
        if (n > 0) bytes += n, len -= (size_t)n;
    }
}

static bool open_file(gt_follower *f)
{
    struct stat status;
    if (f->descriptor >= 0) {
        /* A job that is started again truncates or replaces the file. */
        bool replaced = stat(f->path, &status) == 0 && status.st_ino != f->inode;
        bool truncated = fstat(f->descriptor, &status) == 0 && status.st_size < f->offset;
        if (truncated || replaced) f->offset = 0;
        if (!replaced) return true;
        close(f->descriptor);
    }
    f->descriptor = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (f->descriptor < 0) return false;
    if (fstat(f->descriptor, &status) == 0) f->inode = status.st_ino;
    return true;
}

void gt_follower_show(gt_follower *f)
{
    char block[BLOCK];
    ssize_t n;
    if (!open_file(f)) return;
    while ((n = pread(f->descriptor, block, sizeof block, f->offset)) > 0) {
        f->offset += n;
        write_all(f, block, (size_t)n);
    }
}

void gt_follower_end(gt_follower *f)
{
    if (f->descriptor >= 0) {
        gt_follower_show(f);
        close(f->descriptor);
        f->descriptor = -1;
    }
    gt_follower_show(f);
    if (f->descriptor >= 0) close(f->descriptor);
    f->descriptor = -1;
}
