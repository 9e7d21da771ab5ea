/* Reading stored bytes: pread if the file allows it, so that several threads can share it; read from pipes;
 * memcpy from memory. Files are not mapped: reading into a small buffer that stays in the cache is faster
 * than page faults. */
#include "stream/raw_input.h"
#include "os/own.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

static bool cannot_read(const gt_raw_input *stored, gt_error *error)
{
    return gt_fail(error, "cannot read %s: %s", stored->path, strerror(errno));
}

/* Waits until a pipe has data. False if gt_raw_input_stop was called. */
static bool wait_for_pipe(const gt_raw_input *stored)
{
    struct pollfd waited[2] = {{.fd = stored->fd, .events = POLLIN},
                               {.fd = stored->stop_pipe[0], .events = POLLIN}};
    while (poll(waited, 2, -1) < 0 && errno == EINTR) {
    }
    return !waited[1].revents;
}

static bool read_fd(gt_raw_input *stored, uint8_t *out, size_t room, size_t *got, gt_error *error)
{
    while (*got < room) {
        ssize_t n;
        if (stored->regular) {
            n = pread(stored->fd, out + *got, room - *got, (off_t)(stored->base + stored->offset + *got));
        } else {
            if (!wait_for_pipe(stored)) return true;
            n = read(stored->fd, out + *got, room - *got);
        }
        if (n == 0) return true;
        if (n > 0)
            *got += (size_t)n;
        else if (errno != EINTR)
            return cannot_read(stored, error);
    }
    return true;
}

static size_t read_memory(const gt_raw_input *stored, uint8_t *out, size_t room)
{
    uint64_t left = stored->offset < stored->size ? stored->size - stored->offset : 0;
    size_t len = left < room ? (size_t)left : room;
    if (len) memcpy(out, stored->memory + stored->offset, len);
    return len;
}

bool gt_raw_input_read(gt_raw_input *stored, uint8_t *out, size_t room, size_t *got, gt_error *error)
{
    bool read = true;
    *got = 0;
    if (stored->memory) {
        *got = read_memory(stored, out, room);
    } else {
        size_t from_head = stored->head_left < room ? stored->head_left : room;
        if (from_head) memcpy(out, stored->head + stored->head_len - stored->head_left, from_head);
        stored->head_left -= from_head;
        *got = from_head;
        read = read_fd(stored, out, room, got, error);
    }
    stored->offset += *got;
    atomic_fetch_add_explicit(&stored->consumed, *got, memory_order_relaxed);
    return read;
}

/* A pipe can be read only once, so the bytes taken for recognising compression are kept for the first read.
 */
static bool look_at_head(gt_raw_input *stored, gt_error *error)
{
    if (!read_fd(stored, stored->head, sizeof stored->head, &stored->head_len, error)) return false;
    if (!stored->regular) stored->head_left = stored->head_len;
    return true;
}

static bool prepare_file(gt_raw_input *stored, gt_error *error)
{
    struct stat status;
    if (fstat(stored->fd, &status) != 0) return cannot_read(stored, error);
    if (S_ISDIR(status.st_mode)) return gt_fail(error, "%s is a folder, not a file", stored->path);
    stored->regular = S_ISREG(status.st_mode);
    if (stored->regular) {
        off_t at = lseek(stored->fd, 0, SEEK_CUR);
        stored->base = at > 0 ? (uint64_t)at : 0;
        if (status.st_size > at) stored->size = (uint64_t)(status.st_size - at);
    } else if (pipe2(stored->stop_pipe, O_CLOEXEC) != 0) {
        return cannot_read(stored, error);
    }
    return look_at_head(stored, error);
}

bool gt_raw_input_open(gt_raw_input *stored, const char *path, gt_error *error)
{
    *stored = (gt_raw_input){.path = path, .fd = STDIN_FILENO, .stop_pipe = {-1, -1}};
    if (strcmp(path, "-") == 0) {
        stored->path = "standard input";
    } else {
        stored->fd = gt_open(path, O_RDONLY | O_CLOEXEC);
        if (stored->fd < 0) return gt_fail(error, "cannot open %s: %s", path, strerror(errno));
        stored->owns_fd = true;
    }
    if (prepare_file(stored, error)) return true;
    gt_raw_input_close(stored);
    return false;
}

void gt_raw_input_memory(gt_raw_input *stored, const void *bytes, size_t len)
{
    *stored = (gt_raw_input){
        .path = "memory", .memory = bytes ? bytes : (const void *)"", .fd = -1, .regular = true};
    stored->size = len;
    stored->stop_pipe[0] = stored->stop_pipe[1] = -1;
    stored->head_len = len < GT_STORED_HEAD ? len : GT_STORED_HEAD;
    memcpy(stored->head, stored->memory, stored->head_len);
}

void gt_raw_input_share(gt_raw_input *stored, const gt_raw_input *original, uint64_t offset)
{
    *stored = (gt_raw_input){.path = original->path,
                             .memory = original->memory,
                             .fd = original->fd,
                             .regular = original->regular,
                             .base = original->base,
                             .size = original->size,
                             .offset = offset,
                             .stop_pipe = {-1, -1}};
}

void gt_raw_input_close(gt_raw_input *stored)
{
    if (stored->owns_fd) close(stored->fd);
    for (int i = 0; i < 2; i++)
        if (stored->stop_pipe[i] >= 0) close(stored->stop_pipe[i]);
}

void gt_raw_input_stop(gt_raw_input *stored)
{
    if (stored->stop_pipe[1] < 0) return;
    while (write(stored->stop_pipe[1], "", 1) < 0 && errno == EINTR) {
    }
}
