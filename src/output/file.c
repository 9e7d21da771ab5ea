/* Buffered files and the temporary store; the first failure is kept until the file is closed or sealed. */
#include "output/file.h"

#include "base/guard.h"
#include "os/own.h"
#include "os/paths.h"

#include <sys/mman.h>
#include <sys/uio.h>

enum { APPEND = -1 };

/* What a file in memory begins with: many sheets are small, and several threads write several at a time. */
enum { SMALL_BUFFER = 32 * 1024 };

/* Writes everything, at the offset or at the current position. Returns 0 or errno. */
static int write_fully(int descriptor, off_t offset, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t written =
            offset == APPEND ? write(descriptor, bytes, len) : pwrite(descriptor, bytes, len, offset);
        if (written == 0) return ENOSPC;
        if (written < 0 && errno != EINTR) return errno;
        if (written < 0) continue;
        bytes += written;
        len -= (size_t)written;
        if (offset != APPEND) offset += written;
    }
    return 0;
}

int gt_write_fully(int descriptor, const void *bytes, size_t len)
{
    return write_fully(descriptor, APPEND, bytes, len);
}

int gt_write_both(int descriptor, gt_str first, gt_str second)
{
    struct iovec parts[] = {{(void *)(uintptr_t)first.bytes, first.len},
                            {(void *)(uintptr_t)second.bytes, second.len}};
    ssize_t written = first.len ? writev(descriptor, parts, 2) : 0;
    if (written < 0 && errno != EINTR) return errno;
    size_t done = written > 0 ? (size_t)written : 0;
    size_t of_first = done < first.len ? done : first.len, of_second = done - of_first;
    int failure = write_fully(descriptor, APPEND, first.bytes + of_first, first.len - of_first);
    if (failure) return failure;
    return write_fully(descriptor, APPEND, second.bytes + of_second, second.len - of_second);
}

/* ---- buffered files ---- */

static void close_descriptor(void *file)
{
    close(((gt_file *)file)->descriptor);
}

bool gt_file_open(gt_file *file, gt_output *output, const char *path, gt_error *error)
{
    const char *temporary = gt_output_add_file(output, path, error);
    if (!temporary) return false;
    int descriptor = gt_own_reopen(temporary, O_WRONLY);
    if (descriptor < 0) return gt_fail_writing(error, path, errno);
    *file = (gt_file){.descriptor = descriptor, .csv_safe = gt_output_is_csv_safe(output)};
    gt_guard_add(close_descriptor, file);
    file->path = gt_strdup(path);
    file->buffer = gt_alloc(GT_FILE_BUFFER);
    file->capacity = GT_FILE_BUFFER;
    return true;
}

void gt_file_begin_memory(gt_file *file, bool csv_safe)
{
    *file = (gt_file){.descriptor = -1, .csv_safe = csv_safe, .in_memory = true};
    file->buffer = gt_alloc(SMALL_BUFFER);
    file->capacity = SMALL_BUFFER;
}

void gt_file_end_memory(gt_file *file)
{
    gt_free(file->buffer);
    *file = (gt_file){0};
}

/* Any call makes room for GT_FILE_BUFFER bytes more. */
static void grow(gt_file *file)
{
    size_t capacity = file->capacity * 2 + GT_FILE_BUFFER;
    file->buffer = gt_realloc(file->buffer, capacity);
    file->capacity = capacity;
}

static void write_through(gt_file *file, const void *bytes, size_t len)
{
    if (!file->failure) file->failure = write_fully(file->descriptor, APPEND, bytes, len);
}

void gt_file_flush(gt_file *file)
{
    if (file->in_memory) {
        grow(file);
        return;
    }
    write_through(file, file->buffer, file->used);
    file->used = 0;
}

void gt_file_write(gt_file *file, const void *bytes, size_t len)
{
    while (file->in_memory && file->capacity - file->used < len) grow(file);
    if (len > GT_FILE_BUFFER / 2 && !file->in_memory) {
        gt_file_flush(file);
        write_through(file, bytes, len);
        return;
    }
    if (len) memcpy(gt_file_room(file, len), bytes, len);
    file->used += len;
}

void gt_file_overwrite(gt_file *file, uint64_t offset, const void *bytes, size_t len)
{
    gt_file_flush(file);
    if (!file->failure) file->failure = write_fully(file->descriptor, (off_t)offset, bytes, len);
}

bool gt_file_close(gt_file *file, gt_error *error)
{
    gt_file_flush(file);
    gt_guard_remove(file);
    if (close(file->descriptor) != 0 && !file->failure && errno != EINTR) file->failure = errno;
    bool ok = !file->failure || gt_fail_writing(error, file->path, file->failure);
    gt_free_all(file->buffer, file->path);
    return ok;
}

bool gt_output_write_file(gt_output *output, const char *path, gt_str text, gt_error *error)
{
    gt_file file = {0};
    if (!gt_file_open(&file, output, path, error)) return false;
    gt_file_write(&file, text.bytes, text.len);
    return gt_file_close(&file, error);
}

/* ---- the temporary store: each record after its length, four bytes ---- */

enum {
    STORE_BUFFER = 256 * 1024,
    READS_PER_RELEASE = 4096,        /* after that many reads, or bytes of long records, */
    BYTES_PER_RELEASE = 1024 * 1024, /* the pages they touched are released */
};

struct gt_temp_store {
    char *path; /* of the document, for error messages */
    int descriptor, failure;
    uint64_t size;
    size_t used;
    char *buffer;
    const uint8_t *map;
    unsigned reads;    /* since pages were released */
    size_t read_bytes; /* in these */
};

static int open_unnamed(const char *path)
{
    char *folder = gt_path_folder(path);
    int descriptor = gt_open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor < 0) { /* not every file system has O_TMPFILE */
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
    gt_temp_store *store = gt_alloc_zero(1, sizeof *store);
    store->path = gt_strdup(path);
    store->descriptor = descriptor;
    store->buffer = gt_alloc(STORE_BUFFER);
    return store;
}

static void write_to_store(gt_temp_store *store, const void *bytes, size_t len)
{
    if (!store->failure) store->failure = write_fully(store->descriptor, APPEND, bytes, len);
}

static void add_bytes(gt_temp_store *store, const void *bytes, size_t len)
{
    if (len > STORE_BUFFER - store->used) {
        write_to_store(store, store->buffer, store->used);
        store->used = 0;
    }
    if (len > STORE_BUFFER) {
        write_to_store(store, bytes, len);
    } else if (len) {
        memcpy(store->buffer + store->used, bytes, len);
        store->used += len;
    }
    store->size += len;
}

uint64_t gt_temp_store_add(gt_temp_store *store, const void *bytes, size_t len)
{
    uint64_t position = store->size;
    uint32_t length = (uint32_t)len;
    if (len > UINT32_MAX) {
        if (!store->failure) store->failure = EFBIG;
        length = 0;
    }
    add_bytes(store, &length, sizeof length);
    add_bytes(store, bytes, length);
    return position;
}

bool gt_temp_store_seal(gt_temp_store *store, gt_error *error)
{
    write_to_store(store, store->buffer, store->used);
    if (store->failure) return gt_fail_writing(error, store->path, store->failure);
    if (!store->size) return true;
    void *map = mmap(NULL, store->size, PROT_READ, MAP_SHARED, store->descriptor, 0);
    if (map == MAP_FAILED) return gt_fail_writing(error, store->path, errno);
    store->map = map;
    return true;
}

gt_str gt_temp_store_read(gt_temp_store *store, uint64_t position)
{
    uint32_t len;
    if (++store->reads >= READS_PER_RELEASE || store->read_bytes >= BYTES_PER_RELEASE) {
        madvise((void *)(uintptr_t)store->map, store->size, MADV_DONTNEED);
        store->reads = 0;
        store->read_bytes = 0;
    }
    memcpy(&len, store->map + position, sizeof len);
    store->read_bytes += len;
    return (gt_str){(const char *)store->map + position + sizeof len, len};
}

void gt_temp_store_close(gt_temp_store *store)
{
    if (!store) return;
    if (store->map) munmap((void *)(uintptr_t)store->map, store->size);
    close(store->descriptor);
    gt_free_all(store->buffer, store->path, store);
}
