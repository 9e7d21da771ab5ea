/* The index of a rocprofv3 file or an export of Nsight Systems; see indexed_run.h. */
#include "input/indexed_run.h"

static gt_rocprof *find_in_index(const gt_index *index, const char *key)
{
    gt_image image = {0};
    if (!gt_index_find(index, key, &image)) return NULL;
    gt_rocprof *run = gt_rocprof_load(&image);
    gt_image_free(&image);
    if (run)
        gt_index_lend(index, run->strings);
    else
        gt_index_reject(index);
    return run;
}

static void keep_in_index(gt_index *index, gt_index_kind kind, const char *key, gt_rocprof *run)
{
    gt_image image = {0};
    gt_rocprof_save(run, &image);
    gt_index_keep(index, kind, key, &image);
    gt_image_free(&image);
}

gt_rocprof *gt_indexed_run_read(gt_stream *stream, const char *path, const gt_read_options *options,
                                gt_index_kind kind, const char *key, gt_run_reader *read, gt_error *error)
{
    gt_index *index = gt_index_open(options->index, path);
    gt_rocprof *run = find_in_index(index, key);
    if (!run && gt_index_is_alone(index)) {
        gt_index_fail_alone(index, key, error);
    } else if (!run) {
        gt_log_listener listener = {0};
        gt_log_listen(&listener);
        run = read(stream, path, options, error);
        gt_log_unlisten(&listener);
        /* What the reader warns of, it must warn of every time. */
        if (run && gt_index_keeps(index) && !listener.count) keep_in_index(index, kind, key, run);
    }
    gt_index_close(index);
    if (run && stream) gt_stream_finish(stream);
    return run;
}
