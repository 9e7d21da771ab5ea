/* Tables as Markdown, laid out as Python's tabulate does in its "pipe" format. */
#ifndef GT_OUTPUT_MARKDOWN_H
#define GT_OUTPUT_MARKDOWN_H

#include "base/buffer.h"
#include "table/table.h"

/* Adds the header, the rule and the first `rows_max` rows, as lines without a newline behind the last.
 * Numbers are right-aligned with their points below each other, six digits of a FLOAT; text is left-aligned.
 */
void gt_markdown_add(gt_buffer *out, const gt_table *table, size_t rows_max);

#endif
