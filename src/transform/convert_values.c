/* Values are read when they are used: most stay the text that they are. See convert_values.h. */
#include "transform/convert_values.h"
#include "json/number.h"
#include "json/string.h"

#include <math.h>

bool gt_raw_is_string(gt_str value)
{
    return value.len >= 2 && value.bytes[0] == '"';
}

gt_str gt_raw_decoded(gt_str inside, gt_buffer *room)
{
    if (gt_json_string_is_plain(inside)) return inside;
    room->len = 0;
    size_t len = gt_json_string_decode(inside, gt_buffer_reserve(room, 3 * inside.len + 1));
    return (gt_str){room->bytes, len};
}

gt_str gt_raw_decode(gt_str value, gt_buffer *room)
{
    if (!gt_raw_is_string(value)) return value;
    return gt_raw_decoded((gt_str){value.bytes + 1, value.len - 2}, room);
}

bool gt_raw_int(gt_str value, int64_t *number)
{
    gt_json_number read;
    value = gt_json_unquote(value);
    if (!value.len || !gt_json_parse_number(value, &read) || !read.is_int) return false;
    *number = read.integer;
    return true;
}

bool gt_raw_ns(gt_str value, int64_t *ns)
{
    if (!value.len) return false;
    gt_json_number number;
    const char *at = value.bytes, *end = value.bytes + value.len;
    bool minus = at < end && *at == '-';
    int64_t whole = 0;
    int decimals = -1;
    for (at += minus; at < end && decimals < 3; at++) {
        if (*at == '.' && decimals < 0) {
            decimals = 0;
            continue;
        }
        if (*at < '0' || *at > '9' || whole > INT64_MAX / 10000) break;
        whole = whole * 10 + (*at - '0');
        decimals += decimals >= 0;
    }
    if (at == end && value.len > (size_t)minus) {
        for (int i = decimals < 0 ? 0 : decimals; i < 3; i++) whole *= 10;
        *ns = minus ? -whole : whole;
        return true;
    }
    if (!gt_json_parse_number(value, &number) || !(fabs(number.real) < 9e15)) return false;
    *ns = llrint(number.real * 1000.0);
    return true;
}

/* ---- notes ---- */

/* Integers of 64 bits without sign occur: addresses, hashes. */
static bool is_unsigned(gt_str word, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < word.len; i++) {
        if (word.bytes[i] < '0' || word.bytes[i] > '9') return false;
        if (__builtin_mul_overflow(*number, (uint64_t)10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(word.bytes[i] - '0'), number))
            return false;
    }
    return word.len > 0;
}

static void note_number(gt_timeline *timeline, uint32_t key, gt_str word)
{
    gt_json_number number;
    uint64_t large;
    if (!gt_json_parse_number(word, &number))
        gt_timeline_note_json(timeline, key, word);
    else if (number.is_int)
        gt_timeline_note_int(timeline, key, number.integer);
    else if (is_unsigned(word, &large))
        gt_timeline_note_uint(timeline, key, large);
    else
        gt_timeline_note_double(timeline, key, number.real);
}

void gt_raw_note(gt_timeline *timeline, uint32_t key, gt_str value, gt_buffer *room)
{
    switch (value.bytes[0]) {
    case '"':
        gt_timeline_note_string(timeline, key, gt_raw_decode(value, room));
        break;
    case '{':
    case '[':
        room->len = 0;
        gt_json_add_compact(room, value);
        gt_timeline_note_json(timeline, key, (gt_str){room->bytes, room->len});
        break;
    case 't':
    case 'f':
        gt_timeline_note_bool(timeline, key, value.bytes[0] == 't');
        break;
    case 'n':
        gt_timeline_note_json(timeline, key, value);
        break;
    default:
        note_number(timeline, key, value);
    }
}
