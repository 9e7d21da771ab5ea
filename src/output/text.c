/* Escaping for XML and HTML, and unique names; see text.h. */
#include "output/text.h"

/* ---- XML and HTML ---- */

void gt_html_add_text(gt_buffer *page, const char *text)
{
    gt_buffer scratch = {0};
    gt_str valid = gt_utf8_repair((gt_str){text, strlen(text)}, &scratch);
    for (size_t i = 0; i < valid.len; i++) {
        const char *escape = valid.bytes[i] == '\'' ? "&#39;" : gt_xml_entity(valid.bytes[i]);
        if (escape)
            gt_buffer_add_cstr(page, escape);
        else
            gt_buffer_add(page, valid.bytes + i, 1);
    }
    gt_buffer_free(&scratch);
}

void gt_html_add_url(gt_buffer *page, const char *path)
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
    const uint8_t *in = bytes, *end = in + len - len % 3;
    char *begin = gt_buffer_reserve(page, len / 3 * 4 + 4), *out = begin;
    for (; in < end; in += 3) {
        uint32_t three = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | in[2];
        *out++ = digits[three >> 18];
        *out++ = digits[three >> 12 & 63];
        *out++ = digits[three >> 6 & 63];
        *out++ = digits[three & 63];
    }
    if (len % 3) {
        uint32_t two = (uint32_t)in[0] << 8 | (len % 3 == 2 ? in[1] : 0u);
        *out++ = digits[two >> 10];
        *out++ = digits[two >> 4 & 63];
        *out++ = len % 3 == 2 ? digits[two << 2 & 63] : '=';
        *out++ = '=';
    }
    page->len += (size_t)(out - begin);
}

/* ---- unique names ---- */

static bool is_taken(const gt_name_set *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcasecmp(names->names[i], name) == 0) return true;
    return false;
}

/* The length in bytes of the first `chars` code points. */
static size_t bytes_of_chars(const char *text, size_t chars)
{
    const char *place = text, *end = text + strlen(text);
    while (place < end && chars-- > 0) gt_utf8_next(&place, end);
    return (size_t)(place - text);
}

const char *gt_name_set_add(gt_name_set *names, const char *wanted, size_t max_chars)
{
    char *name = gt_format("%.*s", (int)bytes_of_chars(wanted, max_chars), wanted);
    for (unsigned number = 2; is_taken(names, name); number++) {
        char suffix[16];
        size_t suffix_len = (size_t)snprintf(suffix, sizeof suffix, "_%u", number);
        size_t kept = max_chars > suffix_len ? max_chars - suffix_len : 0;
        gt_free(name);
        name = gt_format("%.*s%s", (int)bytes_of_chars(wanted, kept), wanted, suffix);
    }
    GT_PUSH(names->names, names->count, names->capacity, name);
    return name;
}

void gt_name_set_free(gt_name_set *names)
{
    for (size_t i = 0; i < names->count; i++) gt_free(names->names[i]);
    gt_free(names->names);
    *names = (gt_name_set){0};
}
