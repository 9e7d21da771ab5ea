/* Protocol Buffers: reading the fields of a message in memory, one after another.
 *
 *     gt_proto message = gt_proto_begin(bytes);
 *     gt_proto_field field;
 *     while (gt_proto_next(&message, &field))
 *         switch (field.number) {
 *         case 1: id = gt_proto_int(&field); break;
 *         case 2: name = gt_proto_bytes(&field); break;
 *         }
 *     if (message.damaged) ...
 *
 * Nothing is copied. A field of another wire type than the caller expects reads as 0 or "", and fields that
 * the caller does not name are skipped. */
#pragma once

#include "base/interner.h"

typedef enum gt_wire {
    GT_WIRE_VARINT = 0,
    GT_WIRE_FIXED64 = 1,
    GT_WIRE_BYTES = 2,
    GT_WIRE_FIXED32 = 5
} gt_wire;

typedef struct gt_proto {
    const uint8_t *at, *end;
    bool damaged; /* a field is truncated or invalid: nothing after it can be read */
} gt_proto;

typedef struct gt_proto_field {
    uint32_t number;
    gt_wire wire;
    uint64_t value; /* of VARINT, FIXED64 and FIXED32; the length of BYTES */
    const uint8_t *bytes;
} gt_proto_field;

static inline gt_proto gt_proto_begin(gt_str message)
{
    const uint8_t *bytes = (const uint8_t *)message.bytes;
    return (gt_proto){bytes, message.len ? bytes + message.len : bytes, false};
}

/* ---- numbers ---- */

const uint8_t *gt_varint_slow(const uint8_t *at, const uint8_t *end, uint64_t *value);

/* Reads the varint at `at` and returns its end; NULL if it is truncated or too long. If eight bytes are
 * available, they are read at once: their lower seven bits are moved together in three steps. */
static inline const uint8_t *gt_varint(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    if (at < end && *at < 0x80) {
        *value = *at;
        return at + 1;
    }
    uint64_t bytes, last;
    if (end - at < (ptrdiff_t)sizeof bytes) return gt_varint_slow(at, end, value);
    memcpy(&bytes, at, sizeof bytes);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    last = ~bytes & 0x8080808080808080u; /* its lowest bit is the top bit of the last byte */
    if (!last) return gt_varint_slow(at, end, value);
    bytes &= (last ^ (last - 1)) & 0x7f7f7f7f7f7f7f7fu;
    bytes = (bytes & 0x007f007f007f007fu) | (bytes & 0x7f007f007f007f00u) >> 1;
    bytes = (bytes & 0x00003fff00003fffu) | (bytes & 0x3fff00003fff0000u) >> 2;
    *value = (bytes & 0x0fffffffu) | (bytes & 0x0fffffff00000000u) >> 4;
    return at + (__builtin_ctzll(last) + 1) / 8;
}

/* ---- fields ---- */

/* Any field: the slow path of gt_proto_next. */
bool gt_proto_next_any(gt_proto *message, gt_proto_field *field);

/* The next field; false at the end and if the message is damaged. Groups are skipped. Varints and bytes of
 * fields below 16, which most fields are, are read inline. */
static inline bool gt_proto_next(gt_proto *message, gt_proto_field *field)
{
    const uint8_t *at = message->at;
    if (message->end - at >= 2 && at[0] >= 8 && at[0] < 0x80) {
        const gt_wire wire = (gt_wire)(at[0] & 7);
        field->number = at[0] >> 3;
        field->wire = wire;
        if ((wire == GT_WIRE_VARINT || wire == GT_WIRE_BYTES) &&
            (at = gt_varint(at + 1, message->end, &field->value))) {
            const uint64_t len = wire == GT_WIRE_BYTES ? field->value : 0;
            if (len <= (uint64_t)(message->end - at)) {
                field->bytes = at;
                message->at = at + len;
                return true;
            }
        }
    }
    return gt_proto_next_any(message, field);
}

/* int64, int32, enum, bool */
static inline int64_t gt_proto_int(const gt_proto_field *field)
{
    return field->wire == GT_WIRE_BYTES ? 0 : (int64_t)field->value;
}

double gt_proto_double(const gt_proto_field *field);

/* string, bytes; not NUL-terminated */
static inline gt_str gt_proto_bytes(const gt_proto_field *field)
{
    if (field->wire != GT_WIRE_BYTES) return (gt_str){"", 0};
    return (gt_str){(const char *)field->bytes, (size_t)field->value};
}

/* An empty message if the field is none. */
static inline gt_proto gt_proto_message(const gt_proto_field *field)
{
    return gt_proto_begin(gt_proto_bytes(field));
}

typedef struct gt_proto_ints {
    int64_t *items;
    size_t count, capacity;
} gt_proto_ints;
/* Adds the integers of a repeated field, packed or one by one. False if they are truncated. */
bool gt_proto_add_ints(gt_proto_ints *list, const gt_proto_field *field);
