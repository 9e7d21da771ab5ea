/* The facts of one trace for the first screen: a sentence, five numbers and the step as one bar
 * (web/README.md). They are made from sheets and from the tables of schema/page.h, so they are the same if
 * these come from an index. */
#ifndef GT_PAGE_FRONT_H
#define GT_PAGE_FRONT_H

#include "page/page.h"

/* Adds a JSON object. */
void gt_page_add_facts(const gt_page_source *source, gt_buffer *json);

#endif
