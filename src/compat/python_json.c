/* Translates token by token. A comma is held back until something other than a closing bracket follows it,
 * which is how trailing ones go away. */
#include "compat/python_json.h"
#include "json/string.h"
#include "base/length.h"

#include <ctype.h>
#include <string.h>

typedef struct reader {
    const char *begin, *at, *end;
    gt_buffer *json;
    bool comma; /* one was read and not written yet */
    gt_error *error;
} reader;

static const struct {
    const char *python, *json;
} words[] = {{"True", "true"}, {"False", "false"}, {"None", "null"}};

static bool fail(const reader *r, const char *what)
{
    return gt_fail(r->error, "%s at character %zu", what, (size_t)(r->at - r->begin) + 1);
}

static void flush_comma(reader *r)
{
    if (r->comma) gt_buffer_add_cstr(r->json, ",");
    r->comma = false;
}

static int digit_value(char c)
{
    return isdigit((unsigned char)c)    ? c - '0'
           : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
                                        : 99;
}

/* Digits of \x41, \u0041, \U00000041 or \101. */
static bool take_code(reader *r, int base, int least, int most, gt_buffer *text)
{
    uint32_t code = 0;
    int count = 0;
    for (; count < most && r->at < r->end && digit_value(*r->at) < base; count++, r->at++)
        code = code * (uint32_t)base + (uint32_t)digit_value(*r->at);
    if (count < least || code > 0x10FFFF) return fail(r, "an escape that Python does not have");
    gt_buffer_add_code_point(text, code >= 0xD800 && code < 0xE000 ? GT_REPLACEMENT : code);
    return true;
}

static bool take_escape(reader *r, gt_buffer *text)
{
    static const char letters[] = "abfnrtv\\'\"", meanings[] = "\a\b\f\n\r\t\v\\'\"";
    if (r->at == r->end) return fail(r, "a text that does not end");
    char c = *r->at;
    const char *letter = c ? strchr(letters, c) : NULL;
    if (c >= '0' && c <= '7') return take_code(r, 8, 1, 3, text);
    r->at++;
    if (c == 'x') return take_code(r, 16, 2, 2, text);
    if (c == 'u') return take_code(r, 16, 4, 4, text);
    if (c == 'U') return take_code(r, 16, 8, 8, text);
    if (c == '\n') return true; /* the line goes on */
    if (letter)
        gt_buffer_add(text, &meanings[letter - letters], 1);
    else
        gt_buffer_add(text, (char[]){'\\', c}, 2);
    return true;
}

static bool take_text(reader *r)
{
    gt_buffer text = {0}, scratch = {0};
    char quote = *r->at++;
    bool sound = true;
    while (sound && r->at < r->end && *r->at != quote) {
        if (*r->at == '\\') {
            r->at++;
            sound = take_escape(r, &text);
        } else if (*r->at == '\n') {
            sound = fail(r, "a text that does not end on its line");
        } else {
            gt_buffer_add(&text, r->at++, 1);
        }
    }
    if (sound && r->at == r->end) sound = fail(r, "a text that does not end");
    if (sound) {
        r->at++;
        gt_json_string_add(r->json, gt_buffer_str(&text), &scratch);
    }
    gt_buffer_free(&text);
    gt_buffer_free(&scratch);
    return sound;
}

static bool take_word(reader *r)
{
    size_t len = 0, left = (size_t)(r->end - r->at);
    while (len < left && (isalnum((unsigned char)r->at[len]) || r->at[len] == '_')) len++;
    for (size_t i = 0; i < GT_LENGTH(words); i++) {
        if (strlen(words[i].python) != len || memcmp(r->at, words[i].python, len) != 0) continue;
        gt_buffer_add_cstr(r->json, words[i].json);
        r->at += len;
        return true;
    }
    return fail(r, "neither JSON nor a Python literal");
}

/* A number as JSON has it: "+1" and "1_000" lose what JSON lacks, ".5" and "1." get a digit. */
static bool take_number(reader *r)
{
    if (*r->at == '+') r->at++;
    char before = 0;
    for (; r->at < r->end && *r->at && strchr("+-.0123456789eE_", *r->at); r->at++) {
        if (*r->at == '_') continue;
        bool is_digit = isdigit((unsigned char)*r->at);
        if ((*r->at == '.' && !isdigit((unsigned char)before)) || (before == '.' && !is_digit))
            gt_buffer_add_cstr(r->json, "0");
        gt_buffer_add(r->json, r->at, 1);
        before = *r->at;
    }
    if (before == '.') gt_buffer_add_cstr(r->json, "0");
    return true;
}

static bool take_token(reader *r)
{
    char c = *r->at;
    if (strchr("]})", c)) {
        r->comma = false;
        gt_buffer_add_cstr(r->json, c == ')' ? "]" : (char[]){c, 0});
        r->at++;
        return true;
    }
    flush_comma(r);
    if (c == ',') {
        r->comma = true;
        r->at++;
        return true;
    }
    if (strchr("[{(:", c)) {
        gt_buffer_add_cstr(r->json, c == '(' ? "[" : (char[]){c, 0});
        r->at++;
        return true;
    }
    if (c == '\'' || c == '"') return take_text(r);
    if (strchr("+-.0123456789", c)) return take_number(r);
    return take_word(r);
}

bool gt_python_to_json(gt_str literal, gt_buffer *json, gt_error *error)
{
    reader r = {.begin = literal.bytes,
                .at = literal.bytes,
                .end = literal.bytes + literal.len,
                .json = json,
                .error = error};
    for (;;) {
        while (r.at < r.end && isspace((unsigned char)*r.at)) r.at++;
        if (r.at == r.end) break;
        if (*r.at == 0) return fail(&r, "neither JSON nor a Python literal");
        if (!take_token(&r)) return false;
    }
    flush_comma(&r);
    return true;
}
