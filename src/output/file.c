/* Buffered writing; the first failure is kept until the file is closed. */
#include "output/file.h"

#include "base/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void close_descriptor(void *file)
{
    close(((gt_file *)file)->descriptor);
}

bool gt_file_open(gt_file *file, gt_output *output, const char *path, gt_error *error)
{
    const char *temporary = gt_output_add_file(output, path, error);
    if (!temporary) return false;
    int descriptor = open(temporary, O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return gt_fail_writing(error, path, errno);
    *file = (gt_file){.descriptor = descriptor};
    gt_guard_add(close_descriptor, file);
    file->path = gt_strdup(path);
    file->buffer = gt_alloc(GT_FILE_BUFFER);
    return true;
}

static void write_through(gt_file *file, const char *bytes, size_t len)
{
    while (len > 0 && !file->failure) {
        ssize_t written = write(file->descriptor, bytes, len);
        if (written > 0) {
            bytes += written;
            len -= (size_t)written;
        } else if (written == 0) {
            file->failure = ENOSPC;
        } else if (errno != EINTR) {
            file->failure = errno;
        }
    }
}

void gt_file_flush(gt_file *file)
{
    write_through(file, file->buffer, file->used);
    file->used = 0;
}

void gt_file_write(gt_file *file, const void *bytes, size_t len)
{
    if (len > GT_FILE_BUFFER / 2) {
        gt_file_flush(file);
        write_through(file, bytes, len);
        return;
    }
    memcpy(gt_file_room(file, len), bytes, len);
    file->used += len;
}

bool gt_file_close(gt_file *file, gt_error *error)
{
    gt_file_flush(file);
    gt_guard_remove(file);
    if (close(file->descriptor) != 0 && !file->failure && errno != EINTR) file->failure = errno;
    bool ok = !file->failure || gt_fail_writing(error, file->path, file->failure);
    gt_free(file->buffer);
    gt_free(file->path);
    return ok;
}

bool gt_output_whole_file(gt_output *output, const char *path, gt_str text, gt_error *error)
{
    gt_file file = {0};
    if (!gt_file_open(&file, output, path, error)) return false;
    gt_file_write(&file, text.bytes, text.len);
    return gt_file_close(&file, error);
}
