/* Events by start, found by halving. */
#include "trace/pytorch/gpu_stream.h"
#include "base/memory.h"

#include <stdlib.h>

void gt_gpu_stream_free(gt_gpu_stream *stream)
{
    gt_free(stream->items);
    *stream = (gt_gpu_stream){0};
}

size_t gt_gpu_stream_from(const gt_gpu_stream *stream, double start_us)
{
    size_t begin = 0, end = stream->count;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (stream->items[middle].start_us < start_us)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}
