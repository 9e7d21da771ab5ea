/* JSON strings: what their bytes mean, and how text is written as a string.
 *
 * "Raw" bytes are those between the quotes as they are in a file, with their escapes. Most raw strings mean
 * themselves; gt_json_string_is_plain finds out. Decoding never fails on text that the reader has accepted:
 * lone surrogates and bytes that are not UTF-8 become U+FFFD, because real traces contain both. */
#pragma once

#include "base/base.h"

/* ---- reading ---- */

enum { GT_JSON_NO_ESCAPE = 0x110000 }; /* above all code points */

/* The code point that the escape at *place, a backslash, stands for; *place moves past it. Two \u escapes
 * that form a surrogate pair are one escape; half a pair is U+FFFD. If JSON has no such escape, *place stays.
 */
uint32_t gt_json_escape(const char **place, const char *end);

/* Where in a string's raw bytes an escape begins that JSON does not have; NULL if there is none. */
const char *gt_json_string_bad_escape(gt_str raw);

/* Whether the raw bytes mean themselves: no escape, and valid UTF-8. */
bool gt_json_string_is_plain(gt_str raw);

/* Writes the meaning of a string's raw bytes to `out` (which has room for 3 bytes per raw byte) and returns
 * its length. From an escape on that JSON does not have, the rest of the string becomes one U+FFFD. */
size_t gt_json_string_decode(gt_str raw, char *out);

/* The meaning of the string whose opening quote is before *place, which moves past the closing quote. The
 * result points into the input if it has no escapes, otherwise into `scratch`, which is emptied first. False
 * if an escape is wrong or the closing quote is missing. */
bool gt_json_string_read(const char **place, const char *end, gt_buffer *scratch, gt_str *text);

/* The raw bytes of a JSON value that is a string; any other value as it is. */
static inline gt_str gt_json_unquote(gt_str value)
{
    bool is_string = value.len >= 2 && value.bytes[0] == '"';
    return is_string ? (gt_str){value.bytes + 1, value.len - 2} : value;
}

/* ---- writing ---- */

/* Adds the text as a JSON string, including the quotes. Control characters become \u00XX; bytes that are not
 * UTF-8 become U+FFFD, for which `scratch` is used. */
void gt_json_string_add(gt_buffer *out, gt_str text, gt_buffer *scratch);
/* The same as Python's json.dump(ensure_ascii=False) writes it: with \n, \r, \t, \b and \f. */
void gt_json_string_add_short(gt_buffer *out, gt_str text, gt_buffer *scratch);

/* ---- JSON text from JSON text ---- */

/* Adds a string's raw bytes in ASCII: control characters and everything beyond ASCII as \uXXXX, as Python's
 * json.dump does. Escapes stay as they are. */
void gt_json_raw_add_ascii(gt_buffer *out, gt_str raw);
/* Adds JSON text that begins and ends outside of strings, without the white space between tokens and with its
 * strings in ASCII. GT_STREAM_PAD bytes after the text must be readable. */
void gt_json_add_ascii(gt_buffer *out, gt_str json);
/* Adds JSON text that begins and ends outside of strings, without the white space between tokens. */
void gt_json_add_compact(gt_buffer *out, gt_str json);
/* The same for valid JSON with GT_STREAM_PAD readable bytes after it, which is faster: writes to `out`, which
 * has room for as many bytes, and returns the length. */
size_t gt_json_compact(gt_str json, char *out);
