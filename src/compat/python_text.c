/* How does Python print a text? Quoted, with escapes for what cannot be seen.
 *
 * Which characters those are is a table of Unicode, unprintable.inc. */
#include "compat/python_text.h"

#include <stdio.h>
#include <string.h>

static const struct {
    uint32_t first, last;
} unprintable[] = {
#include "base/length.h"
#include "compat/unprintable.inc"
};

bool gt_is_printable(uint32_t code_point)
{
    if (code_point >= 0x20 && code_point < 0x7F) return true;
    size_t low = 0, high = GT_LENGTH(unprintable);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (code_point < unprintable[middle].first) {
            high = middle;
        } else if (code_point > unprintable[middle].last) {
            low = middle + 1;
        } else {
            return false;
        }
    }
    return true;
}

void gt_python_add_escape(gt_buffer *buffer, uint32_t code_point)
{
    static const struct {
        uint32_t code_point;
        char escape[3];
    } short_escapes[] = {{'\n', "\\n"}, {'\r', "\\r"}, {'\t', "\\t"}};
    for (size_t i = 0; i < GT_LENGTH(short_escapes); i++) {
        if (short_escapes[i].code_point != code_point) continue;
        gt_buffer_add_cstr(buffer, short_escapes[i].escape);
        return;
    }
    char escape[16];
    snprintf(escape, sizeof escape,
             code_point < 0x100     ? "\\x%02x"
             : code_point < 0x10000 ? "\\u%04x"
                                    : "\\U%08x",
             code_point);
    gt_buffer_add_cstr(buffer, escape);
}

static bool means_itself(char c, char quote)
{
    return c >= 0x20 && c < 0x7F && c != quote && c != '\\';
}

void gt_python_add_repr(gt_buffer *buffer, gt_str text)
{
    bool only_single = memchr(text.bytes, '\'', text.len) && !memchr(text.bytes, '"', text.len);
    char quote = only_single ? '"' : '\'';
    gt_buffer_add(buffer, &quote, 1);
    const char *place = text.bytes, *end = text.bytes + text.len;
    for (;;) {
        const char *plain = place;
        while (place < end && means_itself(*place, quote)) place++;
        gt_buffer_add(buffer, plain, (size_t)(place - plain));
        if (place == end) break;
        uint32_t code_point = gt_utf8_next(&place, end);
        if (code_point == (unsigned char)quote || code_point == '\\') gt_buffer_add(buffer, "\\", 1);
        if (gt_is_printable(code_point)) {
            gt_buffer_add_code_point(buffer, code_point);
        } else {
            gt_python_add_escape(buffer, code_point);
        }
    }
    gt_buffer_add(buffer, &quote, 1);
}
