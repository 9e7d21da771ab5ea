/* Buffers and UTF-8; see buffer.h. */
#include "base/buffer.h"

#include "base/number.h"

#include <stdarg.h>

/* ---- buffers ---- */

char *gt_buffer_reserve(gt_buffer *buffer, size_t need)
{
    if (buffer->capacity - buffer->len < need || !buffer->bytes)
        buffer->bytes = gt_grow(buffer->bytes, &buffer->capacity, buffer->len + (need ? need : 1), 1);
    return buffer->bytes + buffer->len;
}

void gt_buffer_add(gt_buffer *buffer, const void *bytes, size_t len)
{
    if (len == 0) return;
    memcpy(gt_buffer_reserve(buffer, len), bytes, len);
    buffer->len += len;
}

void gt_buffer_add_cstr(gt_buffer *buffer, const char *text)
{
    gt_buffer_add(buffer, text, strlen(text));
}

void gt_buffer_add_spaces(gt_buffer *buffer, size_t count)
{
    memset(gt_buffer_reserve(buffer, count), ' ', count);
    buffer->len += count;
}

void gt_buffer_add_int(gt_buffer *buffer, int64_t value)
{
    buffer->len += gt_print_int(gt_buffer_reserve(buffer, GT_NUMBER_MAX), value);
}

void gt_buffer_add_double(gt_buffer *buffer, double value)
{
    buffer->len += gt_print_double(gt_buffer_reserve(buffer, GT_NUMBER_MAX), value);
}

void gt_buffer_add_format(gt_buffer *buffer, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    if (len > 0) vsnprintf(gt_buffer_reserve(buffer, (size_t)len + 1), (size_t)len + 1, format, again);
    if (len > 0) buffer->len += (size_t)len;
    va_end(again);
    va_end(args);
}

void gt_buffer_add_code_point(gt_buffer *buffer, uint32_t code_point)
{
    buffer->len += gt_utf8_put(gt_buffer_reserve(buffer, 4), code_point);
}

gt_str gt_buffer_str(gt_buffer *buffer)
{
    *gt_buffer_reserve(buffer, 1) = 0;
    return (gt_str){buffer->bytes, buffer->len};
}

char *gt_buffer_take(gt_buffer *buffer)
{
    *gt_buffer_reserve(buffer, 1) = 0;
    char *bytes = buffer->bytes;
    *buffer = (gt_buffer){0};
    return bytes;
}

char *gt_buffer_move(gt_buffer *buffer, gt_arena *arena)
{
    gt_str text = gt_buffer_str(buffer);
    char *copy = gt_arena_bytes(arena, text.bytes, text.len);
    gt_buffer_free(buffer);
    return copy;
}

void gt_buffer_free(gt_buffer *buffer)
{
    gt_free(buffer->bytes);
    *buffer = (gt_buffer){0};
}

/* ---- UTF-8 ---- */

/* First bytes of multi-byte characters: how many bytes follow, and the range of the first of these. The
 * bounds exclude surrogates, code points beyond U+10FFFF and overlong forms. */
static const struct {
    unsigned char first, last, following, low, high;
} leads[] = {
    {0xC2, 0xDF, 1, 0x80, 0xBF}, {0xE0, 0xE0, 2, 0xA0, 0xBF}, {0xE1, 0xEC, 2, 0x80, 0xBF},
    {0xED, 0xED, 2, 0x80, 0x9F}, {0xEE, 0xEF, 2, 0x80, 0xBF}, {0xF0, 0xF0, 3, 0x90, 0xBF},
    {0xF1, 0xF3, 3, 0x80, 0xBF}, {0xF4, 0xF4, 3, 0x80, 0x8F},
};

static uint32_t next_or_invalid(const char **place, const char *end, bool *valid)
{
    unsigned char lead = (unsigned char)*(*place)++;
    if (lead < 0x80) return lead;
    for (size_t i = 0; i < GT_LENGTH(leads); i++) {
        if (lead < leads[i].first || lead > leads[i].last) continue;
        uint32_t code_point = lead & (0x3Fu >> leads[i].following);
        unsigned char low = leads[i].low, high = leads[i].high;
        for (int left = leads[i].following; left > 0; left--) {
            if (*place == end) break;
            unsigned char byte = (unsigned char)**place;
            if (byte < low || byte > high) break;
            code_point = code_point << 6 | (byte & 0x3F);
            ++*place;
            if (left == 1) return code_point;
            low = 0x80;
            high = 0xBF;
        }
        break;
    }
    *valid = false;
    return GT_REPLACEMENT;
}

uint32_t gt_utf8_next(const char **place, const char *end)
{
    bool valid = true;
    return next_or_invalid(place, end, &valid);
}

size_t gt_utf8_put(char *out, uint32_t code_point)
{
    if (code_point < 0x80) {
        out[0] = (char)code_point;
        return 1;
    }
    size_t following = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
    for (size_t i = following; i > 0; i--, code_point >>= 6) out[i] = (char)(0x80 | (code_point & 0x3F));
    out[0] = (char)((0xFF00u >> (following + 1) & 0xFF) | code_point);
    return following + 1;
}

static const char *skip_ascii(const char *place, const char *end)
{
    uint64_t chunk;
    while (end - place >= (ptrdiff_t)sizeof chunk) {
        memcpy(&chunk, place, sizeof chunk);
        if (chunk & 0x8080808080808080u) break;
        place += sizeof chunk;
    }
    while (place < end && (unsigned char)*place < 0x80) place++;
    return place;
}

bool gt_utf8_is_valid(gt_str text)
{
    const char *place = text.bytes, *end = text.bytes + text.len;
    bool valid = true;
    while ((place = skip_ascii(place, end)) < end && valid) next_or_invalid(&place, end, &valid);
    return valid;
}

gt_str gt_utf8_repair(gt_str text, gt_buffer *scratch)
{
    if (gt_utf8_is_valid(text)) return text;
    scratch->len = 0;
    const char *place = text.bytes, *end = text.bytes + text.len;
    while (place < end) gt_buffer_add_code_point(scratch, gt_utf8_next(&place, end));
    return gt_buffer_str(scratch);
}
