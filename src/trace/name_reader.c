#include "trace/name_reader.h"

static const int64_t MOST = INT64_C(1) << 52;

bool gt_name_skip(gt_name_reader *r, const char *text)
{
    size_t len = strlen(text);
    if ((size_t)(r->end - r->at) < len || memcmp(r->at, text, len) != 0) return false;
    r->at += len;
    return true;
}

bool gt_name_is_word(char c)
{
    return gt_is_letter(c) || gt_is_digit(c) || c == '_' || (c & 0x80);
}

bool gt_name_number(gt_name_reader *r, int64_t *number)
{
    *number = 0;
    if (r->at == r->end || !gt_is_digit(*r->at)) return false;
    for (; r->at < r->end && gt_is_digit(*r->at); r->at++)
        if (*number < MOST) *number = *number * 10 + (*r->at - '0');
    return true;
}

bool gt_name_value(gt_name_reader body, const char *key, gt_name_reader *value)
{
    size_t len = strlen(key);
    bool found = false;
    for (const char *at = body.at; at < body.end;) {
        const char *word = at;
        while (at < body.end && gt_name_is_word(*at)) at++;
        if (at == word || at == body.end || *at != '=') {
            at = at == word ? at + 1 : at;
            continue;
        }
        bool is_key = (size_t)(at - word) == len && memcmp(word, key, len) == 0;
        const char *begin = ++at;
        if (at < body.end && *at == '[') { /* a list, which may contain spaces */
            const char *close = memchr(at, ']', (size_t)(body.end - at));
            if (close) at = close + 1;
        }
        while (at < body.end && !gt_is_blank(*at)) at++;
        if (is_key) *value = (gt_name_reader){begin, at};
        found |= is_key;
    }
    return found;
}
