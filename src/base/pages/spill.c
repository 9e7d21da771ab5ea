/* The temporary file: an unlinked file, mapped part by part. */
#include "base/pages/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MEBIBYTE = 1024 * 1024 };

void gt_spill_begin(gt_spill *spill, const char *folder)
{
    *spill = (gt_spill){.folder = folder, .descriptor = -1};
}

static bool is_writable_folder(const char *path)
{
    return access(path, W_OK | X_OK) == 0;
}

const char *gt_spill_folder(void)
{
    const char *chosen = getenv("TMPDIR");
    if (chosen && *chosen) return chosen;
    return is_writable_folder("/var/tmp") ? "/var/tmp" : "/tmp";
}

static const char *folder_of(const gt_spill *spill)
{
    return spill->folder ? spill->folder : gt_spill_folder();
}

static int open_without_name(const char *folder)
{
    int descriptor = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return descriptor;
    char name[4096]; /* not every file system has O_TMPFILE */
    int length = snprintf(name, sizeof name, "%s/gputally-XXXXXX", folder);
    if (length < 0 || (size_t)length >= sizeof name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    descriptor = mkostemp(name, O_CLOEXEC);
    if (descriptor >= 0) unlink(name);
    return descriptor;
}

/* Gives a part of the file disk space. Returns 0 or the errno. */
static int allocate(int descriptor, uint64_t offset, size_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        offset + bytes > limit.rlim_cur)
        return EFBIG; /* asking for more would be a signal */
    int failed;
    do failed = fallocate(descriptor, 0, (off_t)offset, (off_t)bytes) == 0 ? 0 : errno;
    while (failed == EINTR);
    return failed == EOPNOTSUPP ? posix_fallocate(descriptor, (off_t)offset, (off_t)bytes) : failed;
}

static char *fail(const gt_spill *spill, uint64_t bytes, int reason, gt_error *error)
{
    gt_fail(error,
            "%.500s: cannot write %" PRIu64 " MiB of temporary data: %s; set TMPDIR to another folder, or "
            "raise max_memory",
            folder_of(spill), bytes / MEBIBYTE, strerror(reason));
    return NULL;
}

bool gt_spill_read(int descriptor, void *to, uint64_t offset, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(descriptor, (char *)to + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += (size_t)got;
    }
    return true;
}

/* Nearly every file system does that. The page is as before afterwards. */
static bool reads_what_is_mapped(int descriptor, volatile char *begin, uint64_t offset)
{
    char read = 0;
    *begin = 1;
    bool is_read = gt_spill_read(descriptor, &read, offset, 1) && read == 1;
    *begin = 0;
    return is_read;
}

char *gt_spill_map(gt_spill *spill, size_t bytes, pthread_mutex_t *lock, gt_error *error)
{
    uint64_t offset = spill->size, end = offset + bytes;
    if (spill->descriptor < 0) spill->descriptor = open_without_name(folder_of(spill));
    if (spill->descriptor < 0) return fail(spill, end, errno, error);
    spill->size = end; /* other threads extend it after this part */
    pthread_mutex_unlock(lock);
    int failed = allocate(spill->descriptor, offset, bytes);
    char *begin = MAP_FAILED;
    if (!failed) {
        begin = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, spill->descriptor, (off_t)offset);
        failed = begin == MAP_FAILED ? errno : 0;
    }
    pthread_mutex_lock(lock);
    if (!failed && spill->count == GT_SPILL_REGIONS) failed = ENOMEM;
    if (!failed) {
        if (!spill->count) spill->is_coherent = reads_what_is_mapped(spill->descriptor, begin, offset);
        spill->regions[spill->count++] = (gt_spill_region){begin, bytes, offset};
        return begin;
    }
    if (begin != MAP_FAILED) munmap(begin, bytes);
    if (spill->size == end) spill->size = offset;
    return fail(spill, end, failed, error);
}

const gt_spill_region *gt_spill_region_of(const gt_spill *spill, const void *address)
{
    const char *at = address;
    for (size_t i = 0; i < spill->count; i++) {
        const gt_spill_region *region = &spill->regions[i];
        if (at >= region->begin && at < region->begin + region->bytes) return region;
    }
    return NULL;
}

bool gt_spill_discard(gt_spill *spill, char *begin, size_t bytes, pthread_mutex_t *lock, bool *zeros)
{
    const gt_spill_region *region = gt_spill_region_of(spill, begin);
    uint64_t offset = region->offset + (uint64_t)(begin - region->begin);
    pthread_mutex_unlock(lock);
    *zeros = fallocate(spill->descriptor, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                       (off_t)bytes) == 0;
    bool whole = *zeros || errno == EOPNOTSUPP; /* tmpfs and others */
    if (!*zeros) madvise(begin, bytes, MADV_DONTNEED);
    pthread_mutex_lock(lock);
    return whole;
}

void gt_spill_drop(gt_spill *spill, size_t bytes, bool write)
{
    while (bytes && spill->count) {
        if (spill->hand >= spill->count) spill->hand = spill->hand_offset = 0;
        const gt_spill_region *region = &spill->regions[spill->hand];
        size_t rest = region->bytes - spill->hand_offset, now = bytes < rest ? bytes : rest;
        madvise(region->begin + spill->hand_offset, now, MADV_DONTNEED);
        if (write)
            sync_file_range(spill->descriptor, (off_t)(region->offset + spill->hand_offset), (off_t)now,
                            SYNC_FILE_RANGE_WRITE);
        spill->hand_offset += now;
        bytes -= now;
        if (spill->hand_offset == region->bytes) {
            spill->hand++;
            spill->hand_offset = 0;
        }
    }
}

void gt_spill_end(gt_spill *spill)
{
    for (size_t i = 0; i < spill->count; i++) munmap(spill->regions[i].begin, spill->regions[i].bytes);
    if (spill->descriptor >= 0) close(spill->descriptor);
    gt_spill_begin(spill, spill->folder);
}

/* Only the mapping that this function is in: libraries may have been changed in memory, by tools through
 * which a program reads a cluster's files. And only if it is as in the file: what a debugger or another tool
 * has changed in it would be lost, and code that is not of a file at all. */
void gt_drop_code(void)
{
    FILE *file = fopen("/proc/self/smaps", "re");
    if (!file) return;
    uintptr_t code = (uintptr_t)gt_drop_code, begin = 0, end = 0;
    unsigned long long first, after, inode, kib;
    bool is_ours = false, is_done = false;
    char line[8192], access[8];
    while (!is_done && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%llx-%llx %7s %*x %*x:%*x %llu", &first, &after, access, &inode) == 4) {
            begin = (uintptr_t)first;
            end = (uintptr_t)after;
            is_ours = begin <= code && code < end && inode && strcmp(access, "r-xp") == 0;
        } else if (is_ours && sscanf(line, "Anonymous: %llu kB", &kib) == 1) {
            if (!kib) madvise((void *)begin, end - begin, MADV_DONTNEED);
            is_done = true;
        }
    }
    fclose(file);
}

int gt_resident_memory_open(void)
{
    return open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
}

bool gt_resident_memory_read(int descriptor, uint64_t *anonymous, uint64_t *all)
{
    char text[256];
    ssize_t length = descriptor < 0 ? -1 : pread(descriptor, text, sizeof text - 1, 0);
    if (length <= 0) return false;
    text[length] = 0;
    unsigned long long pages, shared;
    if (sscanf(text, "%*u %llu %llu", &pages, &shared) != 2) return false;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    *all = pages * page;
    *anonymous = (pages - shared) * page;
    return true;
}

bool gt_resident_memory(uint64_t *anonymous, uint64_t *all)
{
    int descriptor = gt_resident_memory_open();
    bool known = gt_resident_memory_read(descriptor, anonymous, all);
    if (descriptor >= 0) close(descriptor);
    return known;
}

uint64_t gt_peak_memory(void)
{
    char text[4096];
    int descriptor = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t length = descriptor < 0 ? -1 : read(descriptor, text, sizeof text - 1);
    if (descriptor >= 0) close(descriptor);
    if (length <= 0) return 0;
    text[length] = 0;
    const char *line = strstr(text, "\nVmHWM:");
    unsigned long long kib;
    return line && sscanf(line, "\nVmHWM: %llu", &kib) == 1 ? (uint64_t)kib * 1024 : 0;
}
