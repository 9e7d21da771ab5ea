/* Fuzzes the rocprofv3 JSON reader, including compressed input. */
#include "input/rocprof/readers.h"
#include "quiet.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    gt_error error = {{0}};
    gt_read_options options = {
        .threads = 1, .strict = data[0] & 1, .wanted = data[0] & 128 ? GT_WANT_ALL : 0};
    gt_stream *stream = gt_stream_memory(data + 1, size - 1, data[0] / 2 % 3 ? 1 + data[0] : 0, &error);
    if (!stream) return 0;
    gt_rocprof *run = gt_rocprof_read_stream(stream, &options, &error);
    if (run)
        free(gt_rocprof_dispatch_names(run));
    else if (!error.text[0])
        abort(); /* a failure without a message */
    gt_rocprof_free(run);
    gt_stream_close(stream);
    return 0;
}
