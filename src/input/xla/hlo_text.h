/* How the compiler writes shapes and attributes as text, and what readers of that text make of it. */
#ifndef GT_INPUT_XLA_HLO_TEXT_H
#define GT_INPUT_XLA_HLO_TEXT_H

#include "base/buffer.h"

/* Adds the text of a ShapeProto: bf16[8,16]{1,0}, (f32[], s8[1024]{0}). */
void gt_hlo_add_shape(gt_buffer *out, gt_str shape_proto);

/* Adds the text without commas behind ")", without blanks behind other commas and, if asked for, without
 * blanks before
 * "%". */
void gt_hlo_add_squeezed(gt_buffer *out, gt_str text, bool before_percent);

/* How many of the bytes are letters, digits or in `others`, from the first on. */
size_t gt_hlo_span(gt_str text, const char *others);

/* Whether braces balance outside of quotes, from "{" on: such a configuration is printed as it is. */
bool gt_hlo_is_raw_config(gt_str config);

#endif
