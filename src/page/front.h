/* The facts for the first screen: a sentence, five numbers and, of one trace, the step as one bar
 * (web/README.md). They are made from sheets and from the tables of schema/page.h, so they are the same if
 * these come from an index. */
#pragma once

#include "page/page.h"

/* Adds a JSON object. */
void gt_page_add_facts(const gt_page_source *source, gt_buffer *json);

/* The comparison of B with A, the baseline (compare.c). Borrows everything. */
typedef struct gt_page_comparison {
    const char *names[2];
    const char *distrust[2];       /* why it cannot be trusted; NULL: it can */
    const gt_page_source *sources; /* of A and B, with work if they are traces */
    const gt_table_list *sheets;   /* those of the comparison */
    const char *const *conditions; /* of --fail_if */
    size_t condition_count;
    const char *why_no_waterfall; /* NULL: there is one, or it was not asked for */
} gt_page_comparison;
void gt_page_add_compare_facts(const gt_page_comparison *comparison, gt_buffer *json);
