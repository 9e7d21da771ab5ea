/* What GPU and host did, as tables that a page can draw (schema/page.h).
 *
 * A page stays small, however large the trace: up to the limits below it has every event, beyond them it has
 * bins of time, the events of a stretch, and the longer ones of the host, and says so (page_facts,
 * page_lanes). Sums by kernel, call and step are always those of all events. */
#pragma once

#include "findings/findings.h"

typedef struct gt_page_limits {
    size_t gpu_events, host_events;
} gt_page_limits;
gt_page_limits gt_page_limits_default(void);

/* Appends the tables of schema/page.h that the findings' schedule has something for. Their strings are the
 * schedule's. The interner gets new strings, so only one thread at a time may use it. */
void gt_page_add_work(const gt_findings *findings, const gt_page_limits *limits, gt_table_list *tables);
