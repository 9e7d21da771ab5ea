/* The wire format: each field has a number and a wire type, followed by a varint, 4 or 8 bytes, or a length
 * and that many bytes. */
#include "base/protobuf.h"
#include "base/memory.h"

enum { GROUP_BEGIN = 3, GROUP_END = 4, VARINT_MAX = 10, NUMBER_MAX = (1 << 29) - 1 };

static bool fail(gt_proto *m)
{
    m->damaged = true;
    m->at = m->end;
    return false;
}

const uint8_t *gt_varint_slow(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < VARINT_MAX && at < end; i++) {
        uint8_t byte = *at++;
        sum |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *value = sum;
            return at;
        }
    }
    return NULL;
}

static inline bool read_varint(gt_proto *m, uint64_t *value)
{
    const uint8_t *after = gt_varint(m->at, m->end, value);
    if (!after) return fail(m);
    m->at = after;
    return true;
}

static bool read_fixed(gt_proto *m, size_t size, uint64_t *value)
{
    if ((size_t)(m->end - m->at) < size) return fail(m);
    *value = 0;
    for (size_t i = 0; i < size; i++) *value |= (uint64_t)m->at[i] << (8 * i); /* little-endian */
    m->at += size;
    return true;
}

static inline bool read_bytes(gt_proto *m, gt_proto_field *field)
{
    if (!read_varint(m, &field->value)) return false;
    if (field->value > (uint64_t)(m->end - m->at)) return fail(m);
    field->bytes = m->at;
    m->at += field->value;
    return true;
}

static bool skip_group(gt_proto *m)
{
    gt_proto_field inside;
    for (size_t depth = 1; depth;) {
        uint64_t tag;
        if (!read_varint(m, &tag)) return false;
        switch (tag & 7) {
        case GROUP_BEGIN:
            depth++;
            break;
        case GROUP_END:
            depth--;
            break;
        case GT_WIRE_VARINT:
            if (!read_varint(m, &tag)) return false;
            break;
        case GT_WIRE_BYTES:
            if (!read_bytes(m, &inside)) return false;
            break;
        case GT_WIRE_FIXED64:
        case GT_WIRE_FIXED32:
            if (!read_fixed(m, (tag & 7) == GT_WIRE_FIXED64 ? 8 : 4, &tag)) return false;
            break;
        default:
            return fail(m);
        }
    }
    return true;
}

bool gt_proto_next_any(gt_proto *m, gt_proto_field *field)
{
    while (m->at < m->end) {
        uint64_t tag;
        if (!read_varint(m, &tag)) return false;
        if (tag < 8 || tag >> 3 > NUMBER_MAX) return fail(m);
        field->number = (uint32_t)(tag >> 3);
        field->wire = (gt_wire)(tag & 7);
        switch (tag & 7) {
        case GT_WIRE_VARINT:
            return read_varint(m, &field->value);
        case GT_WIRE_BYTES:
            return read_bytes(m, field);
        case GT_WIRE_FIXED64:
            return read_fixed(m, 8, &field->value);
        case GT_WIRE_FIXED32:
            return read_fixed(m, 4, &field->value);
        case GROUP_BEGIN:
            if (!skip_group(m)) return false;
            break;
        default:
            return fail(m);
        }
    }
    return false;
}

double gt_proto_double(const gt_proto_field *field)
{
    double value = 0;
    if (field->wire == GT_WIRE_FIXED64) memcpy(&value, &field->value, sizeof value);
    return value;
}

bool gt_proto_add_ints(gt_proto_ints *list, const gt_proto_field *field)
{
    if (field->wire != GT_WIRE_BYTES) {
        GT_PUSH(list->items, list->count, list->capacity, gt_proto_int(field));
        return true;
    }
    gt_proto packed = gt_proto_message(field);
    uint64_t value;
    while (packed.at < packed.end && read_varint(&packed, &value))
        GT_PUSH(list->items, list->count, list->capacity, (int64_t)value);
    return !packed.damaged;
}
