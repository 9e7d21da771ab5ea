/* For targets that read in blocks of a few bytes: they skip compressed input, which would only cost time and
 * is covered by fuzz_inflate and fuzz_kineto. */
#ifndef GT_FUZZ_COMPRESSED_H
#define GT_FUZZ_COMPRESSED_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool is_compressed(const uint8_t *data, size_t size)
{
    static const uint8_t gzip[] = {0x1F, 0x8B}, zstd[] = {0xB5, 0x2F, 0xFD}, skippable[] = {0x2A, 0x4D, 0x18};
    return size >= 4 && (memcmp(data, gzip, 2) == 0 || memcmp(data + 1, zstd, 3) == 0 ||
                         memcmp(data + 1, skippable, 3) == 0);
}

#endif
