/* The pull reader. Each call works on the current block; if that ends in the middle of a token, the beginning
 * of the token is kept, the next block is fetched after it, and the token is read again. */
#include "json/reader.h"
#include "json/string.h"
#include "json/scan.h"

static const uint8_t nothing[GT_STREAM_PAD];

void gt_json_begin(gt_json *json, gt_stream *stream, uint64_t offset)
{
    *json =
        (gt_json){.stream = stream, .block_offset = offset, .block = nothing, .at = nothing, .end = nothing};
    json->first = true;
    if (offset) return;
    while (json->end - json->at < 3 && gt_json_more(json)) {
    }
    if (json->end - json->at >= 3 && memcmp(json->at, "\xEF\xBB\xBF", 3) == 0) json->at += 3;
}

void gt_json_move(gt_json *json, uint64_t offset)
{
    gt_stream_move(json->stream, offset);
    json->block = json->at = json->end = nothing;
    json->block_offset = offset;
    json->mark = NULL;
    json->last_block = false;
}

void gt_json_begin_str(gt_json *json, gt_str text)
{
    const uint8_t *bytes = (const uint8_t *)text.bytes;
    *json =
        (gt_json){.block = bytes, .at = bytes, .end = bytes + text.len, .last_block = true, .first = true};
}

bool gt_json_fail(gt_json *json, const char *format, ...)
{
    if (json->failed) return false;
    json->failed = true;
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return gt_fail(&json->error, "%s at byte %llu", text, (unsigned long long)gt_json_offset(json));
}

static bool too_large(gt_json *json)
{
    return gt_json_fail(json, "a value is larger than %d MiB", GT_JSON_MAX_VALUE >> 20);
}

bool gt_json_more(gt_json *json)
{
    if (json->failed || json->last_block) return false;
    const uint8_t *keep = json->mark ? json->mark : json->at;
    if (json->end - keep > GT_JSON_MAX_VALUE) return too_large(json);
    size_t keep_len = (size_t)(json->end - keep), at = (size_t)(json->at - keep), len;
    uint64_t offset = json->block_offset + (uint64_t)(keep - json->block);
    const uint8_t *text;
    if (!gt_stream_next(json->stream, keep, keep_len, &text, &len, &json->error)) {
        json->failed = true;
        return false;
    }
    json->block = text;
    json->block_offset = offset;
    json->at = text + at;
    json->end = text + len;
    if (json->mark) json->mark = text;
    json->last_block = len == keep_len;
    return !json->last_block;
}

static bool ended(gt_json *json)
{
    if (json->failed) return false;
    json->truncated = true;
    json->at = json->end;
    return gt_json_fail(json, "the JSON text ends early");
}

/* Moves to the next byte that is not white space. */
static bool next_byte(gt_json *json, uint8_t *byte)
{
    for (;;) {
        json->at = gt_scan_space(json->at, json->end);
        if (json->at < json->end) break;
        if (!gt_json_more(json)) return ended(json);
    }
    *byte = *json->at;
    return true;
}

static bool unexpected(gt_json *json, const char *expected)
{
    uint8_t c = *json->at;
    if (c >= 0x20 && c < 0x7F) return gt_json_fail(json, "expected %s but found '%c'", expected, c);
    return gt_json_fail(json, "expected %s but found the byte 0x%02X", expected, c);
}

static gt_json_type type_of(uint8_t c)
{
    switch (c) {
    case '{':
        return GT_JSON_OBJECT;
    case '[':
        return GT_JSON_ARRAY;
    case '"':
        return GT_JSON_STRING;
    case 't':
        return GT_JSON_TRUE;
    case 'f':
        return GT_JSON_FALSE;
    case 'n':
        return GT_JSON_NULL;
    case '-':
    case 'N':
    case 'I':
        return GT_JSON_NUMBER;
    default:
        return c >= '0' && c <= '9' ? GT_JSON_NUMBER : GT_JSON_NONE;
    }
}

gt_json_type gt_json_peek(gt_json *json)
{
    uint8_t c;
    if (json->failed || !next_byte(json, &c)) return GT_JSON_NONE;
    gt_json_type type = type_of(c);
    if (type == GT_JSON_NONE) unexpected(json, "a value");
    return type;
}

static bool enter(gt_json *json, uint8_t bracket, const char *what)
{
    uint8_t c;
    if (json->failed || !next_byte(json, &c)) return false;
    if (c != bracket) return unexpected(json, what);
    if (++json->depth > GT_JSON_MAX_DEPTH)
        return gt_json_fail(json, "values are nested more than %d deep", GT_JSON_MAX_DEPTH);
    json->at++;
    json->first = true;
    return true;
}

bool gt_json_enter_object(gt_json *json)
{
    return enter(json, '{', "an object");
}
bool gt_json_enter_array(gt_json *json)
{
    return enter(json, '[', "an array");
}

static void leave(gt_json *json)
{
    json->at++;
    json->depth--;
    json->first = false;
}

/* Skips the comma between members or elements; false at the closing bracket, which is skipped too. */
static bool next_item(gt_json *json, uint8_t close, const char *comma_or_close, uint8_t *c)
{
    if (json->failed || !next_byte(json, c)) return false;
    if (*c == close) {
        leave(json);
        return false;
    }
    if (!json->first) {
        if (*c != ',') return unexpected(json, comma_or_close);
        json->at++;
        if (!next_byte(json, c)) return false;
    }
    return true;
}

/* The string at the cursor, which is on its opening quote; the cursor moves past the closing one. */
static bool read_string(gt_json *json, gt_str *raw)
{
    const uint8_t *close = gt_scan_quote(json->at + 1, json->end);
    json->escaped = close == json->end || *close == '\\';
    while (json->escaped) {
        close = gt_scan_string(json->at + 1, json->end);
        if (close - json->at > GT_JSON_MAX_VALUE) return too_large(json);
        if (close < json->end) break;
        if (!gt_json_more(json)) return ended(json);
    }
    *raw = (gt_str){(const char *)json->at + 1, (size_t)(close - json->at) - 1};
    const char *bad = json->escaped ? gt_json_string_bad_escape(*raw) : NULL;
    if (bad) {
        json->at = (const uint8_t *)bad;
        return gt_json_fail(json, "invalid escape in a string");
    }
    json->at += raw->len + 2;
    return true;
}

bool gt_json_next_key(gt_json *json, gt_str *key)
{
    uint8_t c;
    if (!next_item(json, '}', "',' or '}'", &c)) return false;
    if (c != '"') return unexpected(json, "a key");
    /* The colon is read together with the key, so that the key's bytes are not moved by the next block. */
    for (;;) {
        if (!read_string(json, key)) return false;
        const uint8_t *colon = gt_scan_space(json->at, json->end);
        if (colon < json->end) {
            json->at = colon;
            if (*colon != ':') return unexpected(json, "':'");
            json->at++;
            return true;
        }
        json->at = (const uint8_t *)key->bytes - 1;
        if (!gt_json_more(json)) return ended(json);
    }
}

bool gt_json_next_element(gt_json *json)
{
    uint8_t c;
    if (!next_item(json, ']', "',' or ']'", &c)) return false;
    json->first = false;
    if (type_of(c) == GT_JSON_NONE) return unexpected(json, "a value");
    return true;
}

bool gt_json_string(gt_json *json, gt_str *raw)
{
    uint8_t c;
    if (json->failed || !next_byte(json, &c)) return false;
    if (c != '"') return unexpected(json, "a string");
    json->first = false;
    return read_string(json, raw);
}

/* The bytes that a number or literal may consist of: it ends at the first other byte. */
static const uint8_t *word_end(const uint8_t *p, const uint8_t *end)
{
    while (p < end && ((*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                       *p == '+' || *p == '-' || *p == '.'))
        p++;
    return p;
}

/* A complete word: the byte after it is in the block too, or the input ends with it. */
static bool read_word(gt_json *json, gt_str *word)
{
    for (;;) {
        const uint8_t *end = word_end(json->at, json->end);
        if (end < json->end || (json->last_block && end > json->at)) {
            *word = (gt_str){(const char *)json->at, (size_t)(end - json->at)};
            return true;
        }
        if (!gt_json_more(json) && (json->failed || json->at == json->end)) return ended(json);
    }
}

bool gt_json_read_number(gt_json *json, gt_json_number *number)
{
    uint8_t c;
    gt_str word;
    if (json->failed || !next_byte(json, &c) || !read_word(json, &word)) return false;
    if (!gt_json_parse_number(word, number)) {
        if (json->last_block && json->at + word.len == json->end && json->depth) return ended(json);
        return gt_json_fail(json, "'%.*s' is not a number", word.len > 40 ? 40 : (int)word.len, word.bytes);
    }
    json->at += word.len;
    json->first = false;
    return true;
}

bool gt_json_literal(gt_json *json)
{
    static const char *const literals[] = {"true", "false", "null"};
    uint8_t c;
    gt_str word;
    if (json->failed || !next_byte(json, &c) || !read_word(json, &word)) return false;
    for (size_t i = 0; i < 3; i++) {
        size_t len = strlen(literals[i]);
        if (word.len == len && memcmp(word.bytes, literals[i], len) == 0) {
            json->at += len;
            json->first = false;
            return true;
        }
        if (word.len < len && memcmp(word.bytes, literals[i], word.len) == 0 && json->last_block &&
            json->at + word.len == json->end)
            return ended(json);
    }
    return gt_json_fail(json, "'%.*s' is not a value", word.len > 40 ? 40 : (int)word.len, word.bytes);
}

static bool skip_scalar(gt_json *json, gt_json_type type)
{
    gt_str raw;
    gt_json_number number;
    switch (type) {
    case GT_JSON_STRING:
        return gt_json_string(json, &raw);
    case GT_JSON_NUMBER:
        return gt_json_read_number(json, &number);
    default:
        return gt_json_literal(json);
    }
}

bool gt_json_skip(gt_json *json)
{
    unsigned outside = json->depth;
    uint8_t in_object[GT_JSON_MAX_DEPTH + 2]; /* by depth: whether the container is an object */
    gt_str key;
    do {
        /* At a value: enter it or skip it. */
        gt_json_type type = gt_json_peek(json);
        if (type == GT_JSON_NONE) return false;
        if (type == GT_JSON_OBJECT || type == GT_JSON_ARRAY) {
            /* The elements of a container that does not end in this block are tried again, one by one; at
             * most two attempts look at the same text. */
            const uint8_t *after =
                json->depth <= outside + 1 ? gt_json_skip_text(json->at, json->end, json->depth) : NULL;
            if (after) {
                bool is_element = json->depth > outside && !in_object[json->depth];
                json->at = is_element ? gt_json_skip_alike(json->at, after, json->end) : after;
                json->first = false;
            } else {
                if (!enter(json, type == GT_JSON_OBJECT ? '{' : '[', "a value")) return false;
                in_object[json->depth] = type == GT_JSON_OBJECT;
            }
        } else if (!skip_scalar(json, type)) {
            return false;
        }
        /* After a value or an opening bracket: to the next value, out of every container that ends. */
        while (json->depth > outside) {
            unsigned depth = json->depth;
            if (in_object[depth] ? gt_json_next_key(json, &key) : gt_json_next_element(json)) break;
            if (json->failed) return false;
        }
    } while (json->depth > outside);
    return true;
}

bool gt_json_finish(gt_json *json)
{
    if (json->failed) return false;
    do {
        json->at = gt_scan_space(json->at, json->end);
        if (json->at < json->end) return gt_json_fail(json, "text follows the end of the JSON document");
    } while (gt_json_more(json));
    return !json->failed;
}
