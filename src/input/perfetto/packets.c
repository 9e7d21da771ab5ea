/* Packets from a stream. A trace is a message whose field 1 is repeated: each is a packet. A packet that is
 * cut by the end of a block is passed back to the stream, which returns it in one piece with the next block.
 */
#include "input/perfetto/packets.h"
#include "base/guard.h"
#include "base/progress.h"

#include <zlib.h>

enum { PACKET_MAX = 256 << 20 };

void gt_packets_begin(gt_packets *p, gt_stream *stream)
{
    *p = (gt_packets){.stream = stream, .inner = gt_proto_begin((gt_str){"", 0})};
}

void gt_packets_end(gt_packets *p)
{
    gt_buffer_free(&p->inflated);
}

bool gt_packets_fail(gt_packets *p, const char *what)
{
    p->failed = true;
    return gt_fail(&p->error, "%s: %s at byte %llu", gt_stream_path(p->stream), what,
                   (unsigned long long)p->offset);
}

static bool fail_truncated(gt_packets *p)
{
    p->failed = p->truncated = true;
    return false;
}

static bool read_more(gt_packets *p)
{
    size_t kept = (size_t)(p->end - p->at), len;
    const uint8_t *text;
    p->block_offset += (uint64_t)(p->at - p->block);
    if (!gt_stream_next(p->stream, p->at, kept, &text, &len, &p->error)) {
        p->failed = true;
        return false;
    }
    p->block = p->at = text;
    p->end = text + len;
    p->last_block = len == kept;
    gt_progress_add(len - kept, 0);
    return true;
}

int gt_peek_varint(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    *value = 0;
    for (int i = 0; i < 10; i++) {
        if (at + i >= end) return 0;
        *value |= (uint64_t)(at[i] & 0x7f) << (7 * i);
        if (at[i] < 0x80) return i + 1;
    }
    return -1;
}

typedef struct header {
    uint64_t tag, len; /* len: of the value after the header */
    int size;          /* like gt_peek_varint's */
} header;

static header peek_header(const uint8_t *at, const uint8_t *end)
{
    header h = {0};
    int tag = gt_peek_varint(at, end, &h.tag), value = 0;
    if (tag <= 0) {
        h.size = tag;
        return h;
    }
    switch (h.tag & 7) {
    case GT_WIRE_BYTES:
        value = gt_peek_varint(at + tag, end, &h.len);
        h.size = value <= 0 ? value : tag + value;
        break;
    case GT_WIRE_VARINT:
        value = gt_peek_varint(at + tag, end, &h.len);
        h.size = value <= 0 ? value : tag + value;
        h.len = 0;
        break;
    case GT_WIRE_FIXED64:
    case GT_WIRE_FIXED32:
        h.size = tag;
        h.len = (h.tag & 7) == GT_WIRE_FIXED64 ? 8 : 4;
        break;
    default:
        h.size = -1;
    }
    if (h.tag < 8 || h.len > PACKET_MAX) h.size = -1;
    return h;
}

/* The next packet that is not compressed in another; false at the end. */
static bool next_stored_packet(gt_packets *p, gt_str *bytes)
{
    for (;;) {
        header h = {0};
        if (p->at < p->end) h = peek_header(p->at, p->end);
        p->offset = p->block_offset + (uint64_t)(p->at - p->block);
        if (h.size < 0) return gt_packets_fail(p, "invalid Perfetto packet");
        if (h.size > 0 && h.len <= (uint64_t)(p->end - p->at - h.size)) {
            *bytes = (gt_str){(const char *)p->at + h.size, (size_t)h.len};
            p->at += (size_t)h.size + (size_t)h.len;
            if (h.tag == (GT_PF_TRACE_PACKET << 3 | GT_WIRE_BYTES)) return true;
            continue;
        }
        if (p->last_block) return p->at == p->end ? false : fail_truncated(p);
        if (!read_more(p)) return false;
    }
}

static void end_inflate(void *z)
{
    inflateEnd(z);
}

bool gt_packets_inflate(gt_packets *p, gt_str compressed)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)compressed.bytes, .avail_in = (uInt)compressed.len};
    if (inflateInit(&z) != Z_OK) gt_raise_out_of_memory(sizeof z);
    gt_guard_add(end_inflate, &z);
    p->inflated.len = 0;
    int result = Z_OK;
    while (result == Z_OK && p->inflated.len < PACKET_MAX) {
        enum { STEP = 1 << 16 };
        z.next_out = (Bytef *)gt_buffer_reserve(&p->inflated, STEP);
        z.avail_out = STEP;
        result = inflate(&z, Z_NO_FLUSH);
        p->inflated.len += STEP - z.avail_out;
        if (result == Z_OK && !z.avail_in && z.avail_out) break;
    }
    gt_guard_remove(&z);
    inflateEnd(&z);
    if (result == Z_MEM_ERROR) gt_raise_out_of_memory(sizeof z);
    if (result != Z_STREAM_END) return gt_packets_fail(p, "damaged compressed packets");
    p->inner = gt_proto_begin((gt_str){p->inflated.bytes, p->inflated.len});
    return true;
}

bool gt_packets_next(gt_packets *p, gt_str *bytes, bool *is_inner)
{
    gt_proto_field field;
    *is_inner = true;
    while (p->inner.at < p->inner.end)
        if (gt_proto_next(&p->inner, &field) && field.number == GT_PF_TRACE_PACKET) {
            *bytes = gt_proto_bytes(&field);
            return true;
        }
    if (p->inner.damaged) return gt_packets_fail(p, "damaged compressed packets");
    *is_inner = false;
    return next_stored_packet(p, bytes);
}

/* The fields that a packet may begin with, and their wire types. Other formats that begin with the same byte
 * have none of these in this place. */
static const struct {
    uint32_t number;
    gt_wire wire;
} first_fields[] = {
    {GT_PF_PACKET_CLOCK_SNAPSHOT, GT_WIRE_BYTES},     {GT_PF_PACKET_TIMESTAMP, GT_WIRE_VARINT},
    {GT_PF_PACKET_SEQUENCE_ID, GT_WIRE_VARINT},       {GT_PF_PACKET_TRACK_EVENT, GT_WIRE_BYTES},
    {GT_PF_PACKET_INTERNED_DATA, GT_WIRE_BYTES},      {GT_PF_PACKET_SEQUENCE_FLAGS, GT_WIRE_VARINT},
    {GT_PF_PACKET_TRACE_CONFIG, GT_WIRE_BYTES},       {GT_PF_PACKET_TRACE_STATS, GT_WIRE_BYTES},
    {GT_PF_PACKET_SYNC_MARKER, GT_WIRE_BYTES},        {GT_PF_PACKET_STATE_CLEARED, GT_WIRE_VARINT},
    {GT_PF_PACKET_PROCESS_DESCRIPTOR, GT_WIRE_BYTES}, {GT_PF_PACKET_THREAD_DESCRIPTOR, GT_WIRE_BYTES},
    {GT_PF_PACKET_SYSTEM_INFO, GT_WIRE_BYTES},        {GT_PF_PACKET_COMPRESSED_PACKETS, GT_WIRE_BYTES},
    {GT_PF_PACKET_CLOCK_ID, GT_WIRE_VARINT},          {GT_PF_PACKET_DEFAULTS, GT_WIRE_BYTES},
    {GT_PF_PACKET_TRACK_DESCRIPTOR, GT_WIRE_BYTES},   {GT_PF_PACKET_TRUSTED_PID, GT_WIRE_VARINT},
    {GT_PF_PACKET_TRACE_UUID, GT_WIRE_BYTES},
};

bool gt_is_perfetto(gt_str first_bytes)
{
    const uint8_t *at = (const uint8_t *)first_bytes.bytes, *end = at + first_bytes.len;
    header outer = peek_header(at, end);
    if (outer.size <= 0 || outer.tag != (GT_PF_TRACE_PACKET << 3 | GT_WIRE_BYTES) || !outer.len) return false;
    at += outer.size;
    bool is_whole = outer.len <= (uint64_t)(end - at);
    if (is_whole && (uint64_t)(end - at) > outer.len &&
        at[outer.len] != (GT_PF_TRACE_PACKET << 3 | GT_WIRE_BYTES))
        return false;
    header inner = peek_header(at, end);
    if (inner.size <= 0 || (is_whole && (uint64_t)inner.size + inner.len > outer.len)) return false;
    for (size_t i = 0; i < GT_LENGTH(first_fields); i++)
        if (inner.tag == (first_fields[i].number << 3 | first_fields[i].wire)) return true;
    return false;
}
