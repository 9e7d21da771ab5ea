/* Each record stands behind its length of four bytes. */
#include "output/temp_store.h"

#include "base/memory.h"
#include "output/file.h"
#include "os/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    BUFFER = 256 * 1024,
    READS_HELD = 4096, /* after so many, what they touched is given back */
};

struct gt_temp_store {
    char *path; /* of the document, for the sentence */
    int descriptor, failure;
    uint64_t size;
    size_t used;
    char *buffer;
    const uint8_t *map;
    unsigned reads;
};

static int open_unnamed(const char *path)
{
    char *folder = gt_path_folder(path);
    int descriptor = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor < 0) { /* not every file system can */
        char *name = gt_format("%s/.gputally-XXXXXX", folder);
        descriptor = mkostemp(name, O_CLOEXEC);
        if (descriptor >= 0) unlink(name);
        gt_free(name);
    }
    gt_free(folder);
    return descriptor;
}

gt_temp_store *gt_temp_store_open(const char *path, gt_error *error)
{
    int descriptor = open_unnamed(path);
    if (descriptor < 0) {
        gt_fail_writing(error, path, errno);
        return NULL;
    }
    gt_temp_store *spool = gt_alloc_zero(1, sizeof *spool);
    spool->path = gt_strdup(path);
    spool->descriptor = descriptor;
    spool->buffer = gt_alloc(BUFFER);
    return spool;
}

static void write_through(gt_temp_store *spool, const char *bytes, size_t len)
{
    while (len > 0 && !spool->failure) {
        ssize_t written = write(spool->descriptor, bytes, len);
        if (written > 0) {
            bytes += written;
            len -= (size_t)written;
        } else if (written == 0 || errno != EINTR) {
            spool->failure = written == 0 ? ENOSPC : errno;
        }
    }
}

static void add(gt_temp_store *spool, const void *bytes, size_t len)
{
    if (len > BUFFER - spool->used) {
        write_through(spool, spool->buffer, spool->used);
        spool->used = 0;
    }
    if (len > BUFFER) {
        write_through(spool, bytes, len);
    } else if (len) {
        memcpy(spool->buffer + spool->used, bytes, len);
        spool->used += len;
    }
    spool->size += len;
}

uint64_t gt_temp_store_add(gt_temp_store *spool, const void *bytes, size_t len)
{
    uint64_t place = spool->size;
    uint32_t length = (uint32_t)len;
    if (len > UINT32_MAX) {
        if (!spool->failure) spool->failure = EFBIG;
        length = 0;
    }
    add(spool, &length, sizeof length);
    add(spool, bytes, length);
    return place;
}

bool gt_temp_store_seal(gt_temp_store *spool, gt_error *error)
{
    write_through(spool, spool->buffer, spool->used);
    if (spool->failure) return gt_fail_writing(error, spool->path, spool->failure);
    if (!spool->size) return true;
    void *map = mmap(NULL, spool->size, PROT_READ, MAP_SHARED, spool->descriptor, 0);
    if (map == MAP_FAILED) return gt_fail_writing(error, spool->path, errno);
    spool->map = map;
    return true;
}

gt_str gt_temp_store_read(gt_temp_store *spool, uint64_t place)
{
    uint32_t len;
    if (++spool->reads == READS_HELD) {
        madvise((void *)(uintptr_t)spool->map, spool->size, MADV_DONTNEED);
        spool->reads = 0;
    }
    memcpy(&len, spool->map + place, sizeof len);
    return (gt_str){(const char *)spool->map + place + sizeof len, len};
}

void gt_temp_store_close(gt_temp_store *spool)
{
    if (!spool) return;
    if (spool->map) munmap((void *)(uintptr_t)spool->map, spool->size);
    close(spool->descriptor);
    gt_free(spool->buffer);
    gt_free(spool->path);
    gt_free(spool);
}
