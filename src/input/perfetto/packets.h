/* The packets of a Perfetto trace, one after another from a stream, compressed ones unpacked. */
#ifndef GT_INPUT_PERFETTO_PACKETS_H
#define GT_INPUT_PERFETTO_PACKETS_H

#include "base/buffer.h"
#include "base/protobuf.h"
#include "stream/stream.h"

typedef struct gt_packets {
    gt_stream *stream;
    const uint8_t *block, *at, *end;
    uint64_t block_offset;
    uint64_t offset; /* of the packet read last */
    bool last_block, failed, truncated;
    gt_error error;
    gt_buffer inflated;
    gt_proto inner; /* packets of a compressed one */
} gt_packets;

void gt_packets_begin(gt_packets *packets, gt_stream *stream);
void gt_packets_end(gt_packets *packets);

/* The bytes of the next packet, valid until the next call; false at the end and where reading failed. Packets
 * from inside a compressed one are told apart, since they may not hold compressed ones themselves. */
bool gt_packets_next(gt_packets *packets, gt_str *bytes, bool *is_inner);
/* The packets in these bytes become those read next. */
bool gt_packets_inflate(gt_packets *packets, gt_str compressed);

/* Fails with a sentence that ends in the place of the packet: "... at byte N". */
bool gt_packets_fail(gt_packets *packets, const char *what);

/* A varint within [at, end): its size in bytes; 0 where it is cut off, -1 where it is none. */
int gt_peek_varint(const uint8_t *at, const uint8_t *end, uint64_t *value);

#endif
