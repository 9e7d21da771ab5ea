/* Fields by their heads alone: a number and a length, at most twenty bytes. */
#include "input/xla/file.h"

enum { HEAD_MAX = 20 };

static bool show(xfile *file, xrange range, size_t want, gt_str *shown)
{
    if (!gt_window_show(&file->window, range.begin, want, shown, file->error)) {
        file->failed = true;
        return false;
    }
    if (shown->len > range.end - range.begin) shown->len = (size_t)(range.end - range.begin);
    return true;
}

/* A group, fixed bytes, a field with a large number: the general reader, with all of the message where it
 * must be. */
static bool next_any(xfile *file, xrange *message, xfield *field, bool *damaged)
{
    for (size_t want = HEAD_MAX;; want = want < SIZE_MAX / 2 ? want * 2 : SIZE_MAX) {
        gt_str bytes;
        if (!show(file, *message, want, &bytes)) break;
        gt_proto proto = gt_proto_begin(bytes);
        gt_proto_field read;
        if (gt_proto_next_any(&proto, &read)) {
            const uint64_t begin = message->begin;
            *field = (xfield){.number = read.number, .wire = read.wire, .value = gt_proto_int(&read)};
            if (read.wire == GT_WIRE_BYTES) {
                field->body.begin = begin + (uint64_t)((const char *)read.bytes - bytes.bytes);
                field->body.end = field->body.begin + read.value;
            }
            message->begin = begin + (uint64_t)((const char *)proto.at - bytes.bytes);
            return true;
        }
        if (bytes.len < want || bytes.len == message->end - message->begin) { /* there is no more of it */
            if (!proto.damaged) return false;
            break;
        }
    }
    *damaged = true;
    return false;
}

bool xfile_next(xfile *file, xrange *message, xfield *field, bool *damaged)
{
    if (message->begin >= message->end) return false;
    gt_str head;
    if (!show(file, *message, HEAD_MAX, &head) || !head.len) { /* none: the file is shorter than it was */
        *damaged = true;
        return false;
    }
    const uint8_t *at = (const uint8_t *)head.bytes, *end = at + head.len, *behind = NULL;
    const gt_wire wire = (gt_wire)(at[0] & 7);
    uint64_t value;
    if (at[0] >= 8 && at[0] < 0x80 && (wire == GT_WIRE_BYTES || wire == GT_WIRE_VARINT))
        behind = gt_varint(at + 1, end, &value);
    if (!behind) return next_any(file, message, field, damaged);
    const uint64_t body = message->begin + (uint64_t)(behind - at), len = wire == GT_WIRE_BYTES ? value : 0;
    if (len > message->end - body) {
        *damaged = true;
        return false;
    }
    *field = (xfield){.number = at[0] >> 3, .wire = wire, .body = {body, body + len}};
    if (wire == GT_WIRE_VARINT) field->value = (int64_t)value;
    message->begin = body + len;
    return true;
}

bool xfile_show(xfile *file, xrange range, gt_str *bytes)
{
    const uint64_t len = range.end - range.begin;
    return len <= SIZE_MAX && show(file, range, (size_t)len, bytes) && bytes->len == len;
}

bool xfile_copy(xfile *file, xrange range, gt_arena *arena, gt_str *bytes)
{
    if (!xfile_show(file, range, bytes)) return false;
    bytes->bytes = gt_arena_bytes(arena, bytes->bytes, bytes->len);
    return true;
}
