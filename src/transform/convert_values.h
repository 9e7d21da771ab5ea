/* JSON values as they stand in a trace, and what a timeline takes of them. */
#ifndef GT_TRANSFORM_CONVERT_VALUES_H
#define GT_TRANSFORM_CONVERT_VALUES_H

#include "base/buffer.h"
#include "output/trace/timeline.h"

bool gt_raw_is_string(gt_str value);
/* What stands between the quotes of a string, without escapes; in `room` where it had any. */
gt_str gt_raw_decoded(gt_str inside, gt_buffer *room);
/* The same of a string with its quotes; another value is its own text. */
gt_str gt_raw_decode(gt_str value, gt_buffer *room);
/* A whole number, also within quotes. */
bool gt_raw_int(gt_str value, int64_t *number);
/* Microseconds with decimals as nanoseconds: exact where there are at most three of them. */
bool gt_raw_ns(gt_str value, int64_t *ns);

/* Notes a value of any type, of at least one byte, with the event being said. */
void gt_raw_note(gt_timeline *timeline, uint32_t key, gt_str value, gt_buffer *room);

#endif
