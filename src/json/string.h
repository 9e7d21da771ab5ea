/* Strings as JSON writes them: what an escape stands for. */
#ifndef GT_JSON_STRING_H
#define GT_JSON_STRING_H

#include "base/buffer.h"

enum { GT_JSON_NO_ESCAPE = 0x110000 }; /* above all code points */

/* The code point that the escape at *place, a backslash, stands for; *place moves behind it. Two \u that are
 * a pair of surrogates are one escape; half a pair is U+FFFD. Where JSON has no such escape *place stays. */
uint32_t gt_json_escape(const char **place, const char *end);

/* The meaning of the string whose opening quote is before *place, which moves behind the closing one. It lies
 * where it was read if it has no escapes, else in `scratch`, which is emptied first. False where an escape is
 * none or the closing quote is missing. */
bool gt_json_string_read(const char **place, const char *end, gt_buffer *scratch, gt_str *text);

/* Adds the text as a JSON string, quotes and all. Bytes that are not UTF-8 become U+FFFD; `scratch` is used
 * for that. */
void gt_json_string_add(gt_buffer *out, gt_str text, gt_buffer *scratch);

#endif
