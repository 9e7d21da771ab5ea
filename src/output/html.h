/* Pieces of an HTML page that need care: texts, addresses, pictures in the page itself. */
#ifndef GT_OUTPUT_HTML_H
#define GT_OUTPUT_HTML_H

#include "base/buffer.h"

/* The text with &, <, >, " and ' escaped, fit for an element or an attribute. Bytes that are not UTF-8 become
 * U+FFFD. */
void gt_html_add_text(gt_buffer *page, const char *text);
/* A path as an address: bytes that have a meaning in one are written %20. */
void gt_html_add_address(gt_buffer *page, const char *path);
void gt_html_add_base64(gt_buffer *page, const void *bytes, size_t len);

#endif
