/* What stands between a JSON token's bytes and its meaning: escapes, UTF-8 and numbers. */
#ifndef GT_JSON_TEXT_H
#define GT_JSON_TEXT_H

#include "json/reader.h"

/* Where in a string's raw bytes an escape begins that JSON does not have; NULL where all are sound. */
const char *gt_json_string_bad_escape(gt_str raw);

/* Whether the raw bytes mean themselves: no escape, and valid UTF-8. */
bool gt_json_string_is_plain(gt_str raw);

/* Writes the meaning of a string's raw bytes to `out` (room for 3 bytes a raw byte) and returns its length.
 * Escapes are resolved; lone surrogates and bytes that are not UTF-8 become U+FFFD, and so does the rest of
 * the string from an escape on that JSON does not have. */
size_t gt_json_string_decode(gt_str raw, char *out);

/* Reads a number as written; false where the word is not one. */
bool gt_json_parse_number(gt_str word, gt_json_number *number);

#endif
