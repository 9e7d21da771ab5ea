/* Files that were written, as an image: paths, each with a NUL, and what tells whether a file has changed. A
 * file that was replaced has another time, even if another program wrote the same bytes; then the work is
 * done again, which is harmless. */
#include "output/written.h"

#include <sys/stat.h>

static const char owner[] = "written";

typedef struct file_facts {
    int64_t bytes, changed_s, changed_ns; /* -1 if the file is not there */
} file_facts;

static file_facts facts_of(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) return (file_facts){-1, -1, -1};
    return (file_facts){(int64_t)status.st_size, (int64_t)status.st_mtim.tv_sec,
                        (int64_t)status.st_mtim.tv_nsec};
}

void gt_written_add_path(gt_written *written, const char *path)
{
    GT_PUSH(written->paths, written->count, written->capacity, gt_strdup(path));
}

void gt_written_add(gt_written *written, const gt_output *output)
{
    for (size_t i = 0; i < gt_output_file_count(output); i++)
        gt_written_add_path(written, gt_output_file_path(output, i));
}

void gt_written_free(gt_written *written)
{
    for (size_t i = 0; i < written->count; i++) gt_free(written->paths[i]);
    gt_free(written->paths);
    *written = (gt_written){0};
}

void gt_written_save(const gt_written *written, gt_image *image)
{
    gt_buffer paths = {0};
    file_facts *facts = gt_alloc((written->count + 1) * sizeof *facts);
    for (size_t i = 0; i < written->count; i++) {
        gt_buffer_add(&paths, written->paths[i], strlen(written->paths[i]) + 1);
        facts[i] = facts_of(written->paths[i]);
    }
    gt_image_give(image, owner, "paths", paths.bytes, paths.len);
    gt_image_give(image, owner, "facts", facts, written->count * sizeof *facts);
}

bool gt_written_are_there(const gt_image *image)
{
    size_t bytes = 0, count = 0;
    const char *paths = gt_image_get(image, owner, "paths", 1, &bytes);
    const char *facts = gt_image_get(image, owner, "facts", sizeof(file_facts), &count);
    if (!paths || !facts || (bytes && paths[bytes - 1])) return false;
    for (size_t i = 0; i < count; i++) {
        if (!bytes) return false;
        file_facts now = facts_of(paths);
        if (now.bytes < 0 || memcmp(&now, facts + i * sizeof now, sizeof now) != 0) return false;
        size_t len = strlen(paths) + 1;
        paths += len;
        bytes -= len;
    }
    return !bytes;
}
