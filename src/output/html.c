/* Escaping for HTML pages; see html.h. */
#include "output/html.h"
#include "output/entity.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void gt_html_add_text(gt_buffer *page, const char *text)
{
    gt_buffer scratch = {0};
    gt_str sound = gt_utf8_repair((gt_str){text, strlen(text)}, &scratch);
    for (size_t i = 0; i < sound.len; i++) {
        const char *escape = sound.bytes[i] == '\'' ? "&#39;" : gt_entity(sound.bytes[i]);
        if (escape)
            gt_buffer_add_cstr(page, escape);
        else
            gt_buffer_add(page, sound.bytes + i, 1);
    }
    gt_buffer_free(&scratch);
}

void gt_html_add_address(gt_buffer *page, const char *path)
{
    for (; *path; path++) {
        unsigned char byte = (unsigned char)*path;
        char escaped[4];
        bool plain = byte < 0x80 && (isalnum(byte) || strchr("-._~/", byte));
        snprintf(escaped, sizeof escaped, plain ? "%c" : "%%%02X", byte);
        gt_buffer_add_cstr(page, escaped);
    }
}

void gt_html_add_base64(gt_buffer *page, const void *bytes, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *in = bytes;
    char *out = gt_buffer_reserve(page, len / 3 * 4 + 4);
    size_t used = 0;
    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        uint32_t three =
            (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) | (left > 2 ? in[i + 2] : 0);
        for (size_t k = 0; k < 4; k++) out[used++] = k <= left ? digits[three >> (18 - 6 * k) & 63] : '=';
    }
    page->len += used;
}
