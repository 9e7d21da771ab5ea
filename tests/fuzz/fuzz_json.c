/* Fuzzes the JSON pull reader. The first byte chooses the block size; the verdict must not depend on it. */
#include "input/json.h"

#include <stdlib.h>
#include <string.h>

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

/* Compressed text in blocks of a few bytes only costs time; fuzz_inflate and fuzz_kineto have compressed
 * input. */
static bool is_compressed(const uint8_t *data, size_t size)
{
    static const uint8_t gzip[] = {0x1F, 0x8B}, zstd[] = {0xB5, 0x2F, 0xFD}, skippable[] = {0x2A, 0x4D, 0x18};
    return size >= 4 && (memcmp(data, gzip, 2) == 0 || memcmp(data + 1, zstd, 3) == 0 ||
                         memcmp(data + 1, skippable, 3) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || is_compressed(data + 1, size - 1)) return 0;
    size_t block = 1 + data[0] % 64;
    if (accepts(data + 1, size - 1, 0) != accepts(data + 1, size - 1, block)) abort();
    return 0;
}
