/* Escapes one at a time, for the reader of traces and the readers of their arguments alike. */
#include "json/string.h"

#include <string.h>

/* Four hexadecimal digits at `place`, or -1. */
static int hex4(const char *place, const char *end)
{
    if (end - place < 4) return -1;
    int value = 0;
    for (int i = 0; i < 4; i++) {
        char c = place[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* What the escape \u at *place stands for, whose first digits are `code`. */
static uint32_t surrogate(const char **place, const char *end, int code)
{
    const char *next = *place + 6;
    *place = next;
    if (code >= 0xDC00 || end - next < 6 || next[0] != '\\' || next[1] != 'u') return GT_REPLACEMENT;
    int low = hex4(next + 2, end);
    if (low < 0xDC00 || low > 0xDFFF) return GT_REPLACEMENT;
    *place = next + 6;
    return 0x10000u + (((uint32_t)code - 0xD800) << 10) + ((uint32_t)low - 0xDC00);
}

uint32_t gt_json_escape(const char **place, const char *end)
{
    static const char meanings[256] = {['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                       ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};
    if (end - *place < 2) return GT_JSON_NO_ESCAPE;
    unsigned char name = (unsigned char)(*place)[1];
    if (meanings[name]) {
        *place += 2;
        return (uint32_t)meanings[name];
    }
    int code = name == 'u' ? hex4(*place + 2, end) : -1;
    if (code < 0) return GT_JSON_NO_ESCAPE;
    if (code >= 0xD800 && code <= 0xDFFF) return surrogate(place, end, code);
    *place += 6;
    return (uint32_t)code;
}

bool gt_json_string_read(const char **place, const char *end, gt_buffer *scratch, gt_str *text)
{
    const char *begin = *place, *p = begin;
    scratch->len = 0;
    while (p < end && *p != '"') {
        if (*p != '\\') {
            p++;
            continue;
        }
        gt_buffer_add(scratch, begin, (size_t)(p - begin));
        uint32_t code_point = gt_json_escape(&p, end);
        if (code_point == GT_JSON_NO_ESCAPE) return false;
        gt_buffer_add_code_point(scratch, code_point);
        begin = p;
    }
    if (p == end) return false;
    *place = p + 1;
    *text = (gt_str){begin, (size_t)(p - begin)};
    if (scratch->len == 0) return true;
    gt_buffer_add(scratch, begin, (size_t)(p - begin));
    *text = gt_buffer_str(scratch);
    return true;
}

void gt_json_string_add(gt_buffer *out, gt_str text, gt_buffer *scratch)
{
    static const char digits[] = "0123456789abcdef";
    text = gt_utf8_repair(text, scratch);
    char *to = gt_buffer_reserve(out, 6 * text.len + 2), *begin = to;
    *to++ = '"';
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        if (c == '"' || c == '\\') {
            *to++ = '\\';
            *to++ = (char)c;
        } else if (c < 0x20) {
            memcpy(to, "\\u00", 4);
            to[4] = digits[c >> 4];
            to[5] = digits[c & 15];
            to += 6;
        } else {
            *to++ = (char)c;
        }
    }
    *to++ = '"';
    out->len += (size_t)(to - begin);
}
