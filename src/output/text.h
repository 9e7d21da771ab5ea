/* Strings as documents need them: escaped for XML and HTML, and as unique names. */
#pragma once

#include "base/base.h"

/* The escape of a character in XML and HTML, such as "&amp;"; NULL if it needs none. Inline because it is
 * called for every byte of a workbook. */
static inline const char *gt_xml_entity(char byte)
{
    switch (byte) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    default:
        return NULL;
    }
}

/* Adds the text with &, <, >, " and ' escaped, for an element or an attribute. Bytes that are not UTF-8
 * become U+FFFD. */
void gt_html_add_text(gt_buffer *page, const char *text);
/* Adds a path as a URL: bytes that have a meaning in a URL are percent-encoded. */
void gt_html_add_url(gt_buffer *page, const char *path);
void gt_html_add_base64(gt_buffer *page, const void *bytes, size_t len);

/* Names of files, sheets, SQL tables or columns that differ in more than case. */
typedef struct gt_name_set {
    char **names;
    size_t count, capacity;
} gt_name_set;

/* `wanted`, or if that is taken `wanted` with _2, _3, ... appended, cut to at most `max_chars` code points.
 * The name belongs to the set. */
const char *gt_name_set_add(gt_name_set *names, const char *wanted, size_t max_chars);
void gt_name_set_free(gt_name_set *names);
