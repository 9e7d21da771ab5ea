/* Reads a file block by block, so that one that never ends is noticed. */
#include "base/small_file.h"
#include "base/guard.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool gt_read_small_file(const char *path, size_t most, gt_buffer *text, gt_error *error)
{
    FILE *file = fopen(path, "rbe");
    if (!file) return gt_fail(error, "%s: %s", path, strerror(errno));
    gt_guard_add(gt_close_file, file);
    size_t before = text->len, got;
    errno = 0;
    while (text->len - before <= most && (got = fread(gt_buffer_reserve(text, 4096), 1, 4096, file)) > 0)
        text->len += got;
    bool sound = !ferror(file);
    if (!sound)
        gt_fail(error, "%s: %s", path, strerror(errno));
    else if (text->len - before > most)
        sound = gt_fail(error, "%s: is larger than %zu bytes", path, most);
    gt_guard_remove(file);
    fclose(file);
    return sound;
}
