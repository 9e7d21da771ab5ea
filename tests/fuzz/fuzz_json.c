/* Fuzzes the JSON pull reader. The first byte chooses the block size; the verdict must not depend on it, nor
 * on the instruction set. */
#include "json/reader.h"
#include "json/scan_set.h"
#include "compressed.h"

#include <stdlib.h>

static bool accepts(const uint8_t *data, size_t size, size_t block)
{
    gt_error error;
    gt_stream *stream = gt_stream_memory(data, size, block, &error);
    if (!stream) return false;
    gt_json json;
    gt_json_begin(&json, stream, 0);
    bool accepted = gt_json_skip(&json) && gt_json_finish(&json);
    if (accepted == json.failed) abort();
    gt_stream_close(stream);
    return accepted;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || is_compressed(data + 1, size - 1)) return 0;
    size_t block = 1 + data[0] % 64;
    bool accepted = accepts(data + 1, size - 1, 0);
    gt_error error;
    for (gt_scan_set set = GT_SET_SCALAR; set < GT_SCAN_SETS; set++) {
        bool used = gt_scan_set_use(gt_scan_set_name(set), &error);
        if (used != gt_scan_set_is_usable(set)) abort();
        if (used && accepted != accepts(data + 1, size - 1, block)) abort();
    }
    return 0;
}
