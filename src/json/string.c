/* Strings: escapes one at a time, whole strings, and JSON text that is copied in another form. */
#include "json/string.h"

#include "json/scan.h"

/* ---- reading ---- */

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

/* The code point of the escape \u at *place whose four digits are `code`, a surrogate. */
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

const char *gt_json_string_bad_escape(gt_str raw)
{
    const char *p = raw.bytes, *end = p + raw.len;
    while ((p = memchr(p, '\\', (size_t)(end - p))))
        if (gt_json_escape(&p, end) == GT_JSON_NO_ESCAPE) return p;
    return NULL;
}

/* The length of the UTF-8 sequence at p, 0 if it is invalid. */
static size_t utf8_len(const uint8_t *p, const uint8_t *end)
{
    if (p[0] < 0x80) return 1;
    size_t left = (size_t)(end - p);
    bool second = left >= 2 && (p[1] & 0xC0) == 0x80;
    bool third = left >= 3 && (p[2] & 0xC0) == 0x80;
    bool fourth = left >= 4 && (p[3] & 0xC0) == 0x80;
    if (p[0] >= 0xC2 && p[0] <= 0xDF) return second ? 2 : 0;
    if (p[0] >= 0xE0 && p[0] <= 0xEF) {
        if (!second || !third || (p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F)) return 0;
        return 3;
    }
    if (p[0] >= 0xF0 && p[0] <= 0xF4) {
        if (!second || !third || !fourth || (p[0] == 0xF0 && p[1] < 0x90) || (p[0] == 0xF4 && p[1] > 0x8F))
            return 0;
        return 4;
    }
    return 0;
}

bool gt_json_string_is_plain(gt_str raw)
{
    const uint8_t *p = (const uint8_t *)raw.bytes, *end = p + raw.len;
    while (p < end) {
        if (*p == '\\') return false;
        size_t len = utf8_len(p, end);
        if (!len) return false;
        p += len;
    }
    return true;
}

size_t gt_json_string_decode(gt_str raw, char *out)
{
    const char *p = raw.bytes, *end = p + raw.len;
    char *start = out;
    while (p < end) {
        size_t len = *p == '\\' ? 0 : utf8_len((const uint8_t *)p, (const uint8_t *)end);
        if (len) {
            memcpy(out, p, len);
            out += len;
            p += len;
            continue;
        }
        uint32_t code_point = *p == '\\' ? gt_json_escape(&p, end) : gt_utf8_next(&p, end);
        if (code_point == GT_JSON_NO_ESCAPE) {
            p = end;
            code_point = GT_REPLACEMENT;
        }
        out += gt_utf8_put(out, code_point);
    }
    return (size_t)(out - start);
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

/* ---- writing ---- */

static const char hex_digits[] = "0123456789abcdef";

/* The character at the beginning if it is DEL, a control character of U+0080 to U+009F or a line break of
 * Unicode; 0 otherwise. JSON allows them in strings, but YAML and JavaScript do not, and other readers take
 * U+0085, U+2028 and U+2029 for line ends. */
static unsigned special_code(const char *bytes, size_t len)
{
    const unsigned char *at = (const unsigned char *)bytes;
    if (at[0] == 0x7F) return 0x7F;
    if (len >= 2 && at[0] == 0xC2 && at[1] < 0xA0) return at[1];
    if (len >= 3 && at[0] == 0xE2 && at[1] == 0x80 && (at[2] == 0xA8 || at[2] == 0xA9))
        return 0x2000u + (at[2] & 0x3Fu);
    return 0;
}

/* short_escapes: the letter of the short escape by byte, 0 for none. */
static void add_string(gt_buffer *out, gt_str text, gt_buffer *scratch, const char short_escapes[0x20])
{
    text = gt_utf8_repair(text, scratch);
    char *to = gt_buffer_reserve(out, 6 * text.len + 3), *begin = to;
    unsigned special;
    *to++ = '"';
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        if (c == '"' || c == '\\') {
            *to++ = '\\';
            *to++ = (char)c;
        } else if (c < 0x20 && short_escapes[c]) {
            *to++ = '\\';
            *to++ = short_escapes[c];
        } else if (c >= 0x7F && (c > 0x7F || !short_escapes['\n']) &&
                   (special = special_code(text.bytes + i, text.len - i))) {
            to += snprintf(to, 7, "\\u%04x", special);
            i += special < 0x80 ? 0 : special < 0x800 ? 1 : 2;
        } else if (c < 0x20) {
            memcpy(to, "\\u00", 4);
            to[4] = hex_digits[c >> 4];
            to[5] = hex_digits[c & 15];
            to += 6;
        } else {
            *to++ = (char)c;
        }
    }
    *to++ = '"';
    out->len += (size_t)(to - begin);
}

void gt_json_string_add(gt_buffer *out, gt_str text, gt_buffer *scratch)
{
    static const char none[0x20];
    add_string(out, text, scratch, none);
}

void gt_json_string_add_short(gt_buffer *out, gt_str text, gt_buffer *scratch)
{
    static const char letters[0x20] = {['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't', ['\b'] = 'b', ['\f'] = 'f'};
    add_string(out, text, scratch, letters);
}

/* ---- JSON text from JSON text ---- */

static void add_code_unit(gt_buffer *out, unsigned unit)
{
    char escape[8];
    gt_buffer_add(out, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", unit & 0xFFFF));
}

/* Raw bytes of which some are not ASCII or are control characters. */
static void add_escaped(gt_buffer *out, gt_str raw)
{
    const char *at = raw.bytes, *end = at + raw.len;
    while (at < end) {
        uint32_t code = gt_utf8_next(&at, end);
        if (code >= 0x20 && code < 0x7F) {
            char byte = (char)code;
            gt_buffer_add(out, &byte, 1);
        } else if (code >= 0x10000) {
            add_code_unit(out, 0xD800 + ((code - 0x10000) >> 10));
            add_code_unit(out, 0xDC00 + (code & 0x3FF));
        } else {
            add_code_unit(out, code);
        }
    }
}

static bool is_printable_ascii(gt_str raw)
{
    unsigned odd = 0;
    for (size_t i = 0; i < raw.len; i++) odd |= (uint8_t)((uint8_t)raw.bytes[i] - 0x20) >= 0x5F;
    return !odd;
}

void gt_json_raw_add_ascii(gt_buffer *out, gt_str raw)
{
    if (is_printable_ascii(raw))
        gt_buffer_add(out, raw.bytes, raw.len);
    else
        add_escaped(out, raw);
}

void gt_json_add_ascii(gt_buffer *out, gt_str json)
{
    const uint8_t *at = (const uint8_t *)json.bytes, *end = at + json.len;
    char *to = gt_buffer_reserve(out, json.len); /* enough for everything that is copied unchanged */
    while (at < end) {
        if (*at != '"') {
            *to = (char)*at;
            to += *at++ > ' ';
            continue;
        }
        const uint8_t *close = gt_scan_string(at + 1, end);
        gt_str raw = {(const char *)at + 1, (size_t)(close - at) - 1};
        if (is_printable_ascii(raw)) {
            memcpy(to, at, raw.len + 2);
            to += raw.len + 2;
        } else {
            out->len = (size_t)(to - out->bytes);
            gt_buffer_add(out, "\"", 1);
            add_escaped(out, raw);
            gt_buffer_add(out, "\"", 1);
            to = gt_buffer_reserve(out, (size_t)(end - close));
        }
        at = close + 1;
    }
    out->len = (size_t)(to - out->bytes);
}

void gt_json_add_compact(gt_buffer *out, gt_str json)
{
    char *to = gt_buffer_reserve(out, json.len), *begin = to;
    bool in_string = false;
    for (size_t i = 0; i < json.len; i++) {
        char byte = json.bytes[i];
        if (!in_string && (byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r')) continue;
        *to++ = byte;
        if (byte == '"') in_string = !in_string;
        if (in_string && byte == '\\' && i + 1 < json.len) *to++ = json.bytes[++i];
    }
    out->len += (size_t)(to - begin);
}

size_t gt_json_compact(gt_str json, char *out)
{
    const char *p = json.bytes, *end = p + json.len;
    char *start = out;
    while (p < end) {
        if (*p == '"') {
            const char *close = (const char *)gt_scan_string((const uint8_t *)p + 1, (const uint8_t *)end);
            size_t len = (size_t)(close - p) + 1;
            memcpy(out, p, len);
            out += len;
            p += len;
        } else {
            if (*p != ' ' && *p != '\n' && *p != '\t' && *p != '\r') *out++ = *p;
            p++;
        }
    }
    return (size_t)(out - start);
}
