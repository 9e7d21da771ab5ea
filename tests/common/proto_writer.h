/* Writes protobuf messages for tests, field by field; independent of the reader. */
#ifndef PROTO_WRITER_H
#define PROTO_WRITER_H

#include "base/buffer.h"

#include <string.h>

static inline void put_varint(gt_buffer *out, uint64_t value)
{
    do {
        uint8_t byte = value & 0x7f;
        value >>= 7;
        if (value) byte |= 0x80;
        gt_buffer_add(out, &byte, 1);
    } while (value);
}

static inline void put_int(gt_buffer *out, unsigned field, int64_t value)
{
    put_varint(out, field << 3);
    put_varint(out, (uint64_t)value);
}

static inline void put_bytes(gt_buffer *out, unsigned field, const void *bytes, size_t len)
{
    put_varint(out, field << 3 | 2);
    put_varint(out, len);
    if (len) gt_buffer_add(out, bytes, len);
}

static inline void put_text(gt_buffer *out, unsigned field, const char *text)
{
    put_bytes(out, field, text, strlen(text));
}

/* Adds the message as a field and empties it. */
static inline void put_message(gt_buffer *out, unsigned field, gt_buffer *message)
{
    put_bytes(out, field, message->bytes, message->len);
    gt_buffer_free(message);
    *message = (gt_buffer){0};
}

#endif
