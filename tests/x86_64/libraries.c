/* Stand-ins for the libraries under the file layer, so that cross-compiled tests link without them: a CRC-32
 * computed bit by bit, a zstd that recognises nothing, and our own inflate in place of ISA-L's. */
#include "stream/inflate.h"
#include "stream/unpack.h"

#include <libdeflate.h>

uint32_t libdeflate_crc32(uint32_t crc, const void *bytes, size_t len)
{
    crc = ~crc;
    for (const uint8_t *at = bytes, *end = at + len; at < end; at++) {
        crc ^= *at;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (0xEDB88320u & -(crc & 1));
    }
    return ~crc;
}

static bool recognises_nothing(const uint8_t *head, size_t len)
{
    (void)head;
    (void)len;
    return false;
}

const gt_unpacker_kind gt_unpack_zstd = {.recognises = recognises_nothing};

static void begin(void *state)
{
    gt_inflater_own.begin(state);
}

static gt_inflate_result run(void *state, const uint8_t **in, const uint8_t *in_end, bool last,
                             const uint8_t *history, uint8_t **out, uint8_t *out_end)
{
    return gt_inflater_own.run(state, in, in_end, last, history, out, out_end);
}

static const char *why(const void *state)
{
    return gt_inflater_own.why(state);
}

const gt_inflater gt_inflater_isal = {"stand-in", 1 << 17, begin, run, why};
