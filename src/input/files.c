/* Sizes of trace files, for reading many of them; see files.h. */
#include "input/files.h"
#include "base/many.h"
#include "base/memory_limit.h"
#include "base/progress.h"
#include "input/file_parts.h"
#include "os/paths.h"

enum {
    PACKED_BYTE = 12,  /* expansion of gzip and zstd traces, approximately */
    KEPT_SHARE = 3,    /* a third of a trace is kept, with what is needed to make its sheets, or less */
    USABLE_MEMORY = 2, /* traces may take one half of the memory */
};

static bool is_packed(const char *path)
{
    const char *ending = strrchr(path, '.');
    return ending && (strcmp(ending, ".gz") == 0 || strcmp(ending, ".zst") == 0);
}

gt_file_sizes gt_file_sizes_find(const char *const *paths, size_t count)
{
    gt_file_sizes sizes = {.memory = gt_alloc_zero(count, sizeof *sizes.memory),
                           .sizes = gt_alloc_zero(count, sizeof *sizes.sizes),
                           .limit = gt_memory_limit() / USABLE_MEMORY};
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = paths[i] ? gt_path_bytes(paths[i]) : 0;
        sizes.memory[i] = bytes * (paths[i] && is_packed(paths[i]) ? PACKED_BYTE : 1) / KEPT_SHARE;
        sizes.sizes[i] = bytes;
        sizes.bytes += bytes;
    }
    return sizes;
}

void gt_file_sizes_free(gt_file_sizes *sizes)
{
    gt_free_all(sizes->memory, sizes->sizes);
    *sizes = (gt_file_sizes){0};
}

void gt_files_progress(size_t count, const char *one, const char *many, uint64_t bytes)
{
    char title[64];
    snprintf(title, sizeof title, "%zu %s", count, gt_noun(count, one, many));
    gt_progress_begin_all(title, bytes);
}

size_t gt_files_work(const gt_file_work *files)
{
    gt_file_sizes sizes = gt_file_sizes_find(files->paths, files->count);
    gt_files_progress(files->count, files->one, files->many, sizes.bytes);
    size_t end = gt_parts_are_used(files)
                     ? gt_parts_work(files, &sizes)
                     : gt_many_run(&(gt_many){.count = files->count,
                                              .sizes = sizes.memory,
                                              .limit = files->without_limit ? 0 : sizes.limit,
                                              .work = files->work,
                                              .finish = files->finish,
                                              .context = files->context});
    gt_progress_end_all();
    gt_file_sizes_free(&sizes);
    return end;
}
