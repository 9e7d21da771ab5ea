/* Fuzzes the fusing of single events: the output must be valid JSON, and fusing it again without a shift must
 * not change it. The first byte chooses the rank. */
#include "transform/fuse_event.h"

#include <stdlib.h>
#include <string.h>

static gt_buffer fused(const uint8_t *data, size_t size, const gt_fuse_change *change)
{
    gt_error error;
    gt_buffer out = {0};
    gt_stream *stream = gt_stream_memory(data, size, 64, &error);
    if (!stream) return out;
    gt_json json;
    gt_fuse_event event;
    bool is_event;
    gt_json_begin(&json, stream, 0);
    if (gt_fuse_event_read(&json, &event, &is_event) && is_event) gt_fuse_event_write(&event, change, &out);
    if (!gt_json_finish(&json)) out.len = 0;
    gt_stream_close(stream);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || (data[1] != '{' && data[1] != ' '))
        return 0; /* compressed input has its own fuzz targets */
    gt_fuse_change change = {.rank = data[0],
                             .moved = {{GT_FUSE_PROCESS, data[0] * (gt_wide_int)1000},
                                       {GT_FUSE_CORRELATION, data[0] * (gt_wide_int)10},
                                       {GT_FUSE_ID, data[0] * (gt_wide_int)10000000000}},
                             .moved_count = 3,
                             .shift_ns = data[0] * 12345 - 999999};
    gt_buffer once = fused(data + 1, size - 1, &change);
    if (once.len) {
        const gt_fuse_change same = {.rank = data[0]};
        gt_buffer twice = fused((const uint8_t *)once.bytes, once.len, &same);
        if (twice.len != once.len || memcmp(once.bytes, twice.bytes, once.len) != 0) abort();
        gt_buffer_free(&twice);
    }
    gt_buffer_free(&once);
    return 0;
}
