/* A pull reader for JSON text of any size: the caller asks for the next key, value or element, and the reader
 * fetches more text from its stream as it needs it. Nothing is built; memory is one block of the stream.
 *
 * Written by hand because the C libraries in Debian parse 3 to 25 times slower than simdjson, which is C++
 * and wants the whole document in memory; traces are read here at 0.6 to 1.0 of the time of a simdjson pass
 * (make bench).
 *
 * Strict in its grammar and forgiving where real traces need it: NaN and Infinity are numbers, strings may
 * hold raw control characters, invalid UTF-8 and lone surrogates (both read as U+FFFD), and a byte order mark
 * is passed over.
 *
 * Every call that fails returns false and leaves the reader failed: json->failed is then true,
 * json->truncated tells whether the text merely ended early, and json->error says what was wrong and where.
 */
#ifndef GT_JSON_READER_H
#define GT_JSON_READER_H

#include "base/error.h"
#include "base/interner.h"
#include "json/number.h"
#include "stream/stream.h"

enum { GT_JSON_MAX_DEPTH = 1024 };

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
    const uint8_t *at, *end; /* the text not yet read */
    const uint8_t *block;    /* where the text in hand begins */
    uint64_t block_offset;   /* its place in the stream */
    const uint8_t *mark;     /* where not NULL, text from here on is kept in hand (gt_json_set_mark) */
    gt_stream *stream;
    gt_error error;
    bool failed, truncated;
    bool first; /* no member or element has been read since the bracket opened */
    bool last_block;
    bool escaped; /* the key or string read last may hold escapes */
    unsigned depth;
} gt_json;

/* Begins at the stream's first byte, which is byte `offset` of the input. */
void gt_json_begin(gt_json *json, gt_stream *stream, uint64_t offset);
/* Goes on at another place of a seekable stream, keeping the nesting as it is. */
void gt_json_move(gt_json *json, uint64_t offset);
/* Begins at text in memory, behind which GT_STREAM_PAD bytes can be read. */
void gt_json_begin_str(gt_json *json, gt_str text);

/* The place of the cursor in the (inflated) input. */
static inline uint64_t gt_json_offset(const gt_json *json)
{
    return json->block_offset + (uint64_t)(json->at - json->block);
}

/* What comes next. */
gt_json_type gt_json_peek(gt_json *json);

/* Objects: enter, then next_key until it returns false (end of the object, or failure); each key is followed
 * by reading or skipping its value. The key's bytes hold until the next call and are as written, escapes and
 * all. */
bool gt_json_enter_object(gt_json *json);
bool gt_json_next_key(gt_json *json, gt_str *key);
bool gt_json_enter_array(gt_json *json);
bool gt_json_next_element(gt_json *json);

/* Scalars. The string's bytes are as written (see json_text.h) and hold until the next call. */
bool gt_json_string(gt_json *json, gt_str *raw);
bool gt_json_read_number(gt_json *json, gt_json_number *number);
bool gt_json_literal(gt_json *json); /* true, false or null, as gt_json_peek said */

/* Passes over any value, checking its grammar. */
bool gt_json_skip(gt_json *json);
/* After the document's value: true where nothing but white space follows. */
bool gt_json_finish(gt_json *json);

/* While a mark is set, text from it on stays in one piece (its address may change at each call; json->mark
 * moves with it): for a caller that wants to look at a whole record. */
static inline void gt_json_set_mark(gt_json *json)
{
    json->mark = json->at;
}
static inline void gt_json_clear_mark(gt_json *json)
{
    json->mark = NULL;
}

/* More text behind what is in hand, for callers that look at the text themselves. False at the end of the
 * input (json->failed is not set) and where reading failed. */
bool gt_json_more(gt_json *json);

/* Fails the reader with a sentence that ends in the place: "... at byte N". */
bool gt_json_fail(gt_json *json, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
