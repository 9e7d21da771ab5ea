/* Text as it stands on a terminal: what is safe to print, how many cells it takes, how to shorten it. */
#ifndef GT_OUTPUT_DISPLAY_H
#define GT_OUTPUT_DISPLAY_H

#include "base/buffer.h"

/* Adds the text with control and invisible characters as escapes, and without UTF-8 every other character as
 * '?'. */
void gt_display_add(gt_buffer *buffer, gt_str text, bool utf8);

/* Cells that text made by gt_display_add takes: two for wide characters, none for combining ones. */
size_t gt_display_width(gt_str text);

/* Adds the text in at most `width` cells, its middle replaced by "…" (or "...") where it is longer. */
void gt_display_add_cut(gt_buffer *buffer, gt_str text, size_t width, bool utf8);

#endif
