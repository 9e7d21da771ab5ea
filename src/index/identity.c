/* What a file was like when it was read. */
#include "index/identity.h"
#include "base/guard.h"
#include "index/checksum.h"
#include "os/own.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

bool gt_trace_identify(const char *path, gt_trace_identity *identity)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return false;
    *identity = (gt_trace_identity){
        .size = (uint64_t)status.st_size,
        .modified_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec,
        .changed_ns = (int64_t)status.st_ctim.tv_sec * 1000000000 + status.st_ctim.tv_nsec,
        .device = (uint64_t)status.st_dev,
        .inode = (uint64_t)status.st_ino,
    };
    return true;
}

bool gt_trace_has_same_times_elsewhere(const gt_trace_identity *a, const gt_trace_identity *b)
{
    return a->size == b->size && a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns &&
           a->inode == b->inode;
}

bool gt_trace_has_same_times(const gt_trace_identity *a, const gt_trace_identity *b)
{
    return gt_trace_has_same_times_elsewhere(a, b) && a->device == b->device;
}

bool gt_trace_add_checksum(const char *path, gt_trace_identity *identity)
{
    gt_trace_identity after;
    int descriptor = gt_open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return false;
    gt_guard_add(gt_close_descriptor, gt_descriptor(descriptor));
    bool read = gt_checksum_file(descriptor, identity->size, &identity->checksum);
    gt_guard_remove(gt_descriptor(descriptor));
    close(descriptor);
    return read && gt_trace_identify(path, &after) && gt_trace_has_same_times(identity, &after);
}
