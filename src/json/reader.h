/* A pull reader for JSON text of any size: the caller asks for the next key, value or element, and the reader
 * fetches more text from its stream when needed. No tree is built; memory is one block of the stream, or one
 * value of at most GT_JSON_MAX_VALUE bytes. For
 * example, to add up the numbers of [1, 2, 3]:
 *
 *     gt_json_enter_array(&json);
 *     while (gt_json_next_element(&json) && gt_json_read_number(&json, &number)) sum += number.real;
 *     if (json.failed) ...
 *
 * It is our own because the C libraries in Debian parse 3 to 25 times slower than simdjson, which is C++ and
 * needs the whole document in memory; traces are read here in 0.6 to 1.0 of the time of a simdjson pass (make
 * bench).
 *
 * The grammar is strict, except where real traces need more: NaN and Infinity are numbers, strings may
 * contain raw control characters, invalid UTF-8 and lone surrogates (the last two are decoded as U+FFFD), and
 * a byte order mark is skipped.
 *
 * Every call that fails returns false and leaves the reader failed: json->failed is true, json->truncated
 * tells whether the text just ended early, and json->error says what is wrong and where. */
#pragma once

#include "json/number.h"
#include "stream/stream.h"

enum {
    GT_JSON_MAX_DEPTH = 1024,
    /* Of a string, key or number, and of a value that is kept in one piece (gt_json_set_mark). Compressed
     * input of a few kilobytes may contain one of gigabytes. */
    GT_JSON_MAX_VALUE = 64 << 20,
};

typedef enum gt_json_type {
    GT_JSON_NONE, /* nothing could be read */
    GT_JSON_OBJECT,
    GT_JSON_ARRAY,
    GT_JSON_STRING,
    GT_JSON_NUMBER,
    GT_JSON_TRUE,
    GT_JSON_FALSE,
    GT_JSON_NULL,
} gt_json_type;

typedef struct gt_json {
    const uint8_t *at, *end; /* the text that is not read yet */
    const uint8_t *block;    /* the beginning of the current block */
    uint64_t block_offset;   /* its offset in the stream */
    const uint8_t *mark;     /* if not NULL, text from here on is kept (gt_json_set_mark) */
    gt_stream *stream;
    gt_error error;
    bool failed, truncated;
    bool first; /* no member or element has been read since the opening bracket */
    bool last_block;
    bool escaped; /* the last key or string may contain escapes */
    unsigned depth;
} gt_json;

/* Begins at the stream's first byte, which is byte `offset` of the input. */
void gt_json_begin(gt_json *json, gt_stream *stream, uint64_t offset);
/* Continues at another offset of a seekable stream, at the same nesting depth. */
void gt_json_move(gt_json *json, uint64_t offset);
/* Begins at text in memory, after which GT_STREAM_PAD bytes must be readable. */
void gt_json_begin_str(gt_json *json, gt_str text);

/* The offset of the cursor in the (inflated) input. */
static inline uint64_t gt_json_offset(const gt_json *json)
{
    return json->block_offset + (uint64_t)(json->at - json->block);
}

/* The type of the next value. */
gt_json_type gt_json_peek(gt_json *json);

/* Objects: enter, then next_key until it returns false (end of the object, or failure); after each key its
 * value must be read or skipped. The key's bytes are raw (see string.h) and valid until the next call. Arrays
 * likewise. */
bool gt_json_enter_object(gt_json *json);
bool gt_json_next_key(gt_json *json, gt_str *key);
bool gt_json_enter_array(gt_json *json);
bool gt_json_next_element(gt_json *json);

/* Scalars. The string's bytes are raw (see string.h) and valid until the next call. */
bool gt_json_string(gt_json *json, gt_str *raw);
bool gt_json_read_number(gt_json *json, gt_json_number *number);
bool gt_json_literal(gt_json *json); /* true, false or null, as gt_json_peek returned */

/* Skips any value, checking its grammar. */
bool gt_json_skip(gt_json *json);
/* The byte after the object or array at p, inside of `depth` others. NULL if it is not valid, does not end
 * before `end` or contains something unusual: gt_json_skip then finds out. GT_STREAM_PAD bytes after `end`
 * must be readable. */
const uint8_t *gt_json_skip_text(const uint8_t *p, const uint8_t *end, unsigned depth);
/* From the end of an element of an array, which gt_json_skip_text has skipped, over those after it that
 * differ from it only in digits and are in memory as a whole. Returns the end of the last one. */
const uint8_t *gt_json_skip_alike(const uint8_t *element, const uint8_t *element_end, const uint8_t *end);
/* After the document's value: true if only white space follows. */
bool gt_json_finish(gt_json *json);

/* While a mark is set, the text from it on stays in one piece (its address may change at each call, and
 * json->mark with it): for a caller that needs a whole record. */
static inline void gt_json_set_mark(gt_json *json)
{
    json->mark = json->at;
}
static inline void gt_json_clear_mark(gt_json *json)
{
    json->mark = NULL;
}

/* Fetches the next block after what is left of the current one, for callers that look at the text themselves.
 * False at the end of the input (json->failed is not set) and if reading failed. */
bool gt_json_more(gt_json *json);

/* Fails the reader with a message that ends with the offset: "... at byte N". */
bool gt_json_fail(gt_json *json, const char *format, ...) __attribute__((format(printf, 2, 3)));
