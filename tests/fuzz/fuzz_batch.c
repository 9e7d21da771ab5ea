/* Fuzzes the batch report: any traces as the ranks of a run, all sheets. A NUL separates two ranks; a single
 * trace is used for both. */
#include "quiet.h"
#include "sound_table.h"
#include "report/batch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A file in memory, and a path that opens it. */
static int make_file(const uint8_t *data, size_t size, char path[32])
{
    int file = memfd_create("trace", MFD_CLOEXEC);
    if (file < 0 || write(file, data, size) != (ssize_t)size) abort();
    snprintf(path, 32, "/proc/self/fd/%d", file);
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t numbers[] = {0, 7};
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    size_t first = end ? (size_t)(end - data) : size, rest = end ? size - first - 1 : size;
    char first_path[32], second_path[32];
    int files[] = {make_file(data, first, first_path), make_file(end ? end + 1 : data, rest, second_path)};
    char *const paths[] = {first_path, second_path};
    gt_read_options options = {.threads = 1};
    gt_batch_ranks ranks;
    gt_error error;
    if (gt_batch_ranks_read(&ranks, &(gt_batch_request){paths, numbers, 2, true, &options}, &error)) {
        gt_table_list tables = {0};
        gt_batch_tables(&ranks, NULL, &tables);
        gt_batch_collective_tables(&ranks, &tables);
        for (size_t i = 0; i < tables.count; i++) check_table(tables.items[i]);
        gt_table_list_free(&tables);
        gt_batch_ranks_free(&ranks);
    }
    for (size_t i = 0; i < 2; i++) close(files[i]);
    return 0;
}
