/* What GPU and host did, as tables that a page can draw: finds out what work_parts.h holds, and has each
 * table made from it. */
#include "page/work_parts.h"

#include "base/memory.h"
#include "schema/page.h"

gt_page_limits gt_page_limits_default(void)
{
    return (gt_page_limits){.gpu_events = 250000, .host_events = 200000};
}

static void add_fact(gt_table *facts, const char *name, int64_t value)
{
    size_t row = gt_table_add_row(facts);
    gt_table_set_cstr(facts, 0, row, name);
    gt_table_set_int(facts, 1, row, value);
}

void gt_page_add_work(const gt_findings *findings, const gt_page_limits *limits, gt_table_list *tables)
{
    static const gt_column_head heads[] = {{GT_COL_PAGE_NAME, GT_TYPE_STRING},
                                           {GT_COL_PAGE_VALUE, GT_TYPE_INT}};
    const gt_schedule *s = findings->schedule;
    gt_table *facts = gt_table_new(GT_SHEET_PAGE_FACTS, s->strings);
    (void)limits;
    gt_table_add_columns(facts, heads, GT_LENGTH(heads));
    add_fact(facts, "window_start", s->window.start_ns);
    add_fact(facts, "window_end", s->window.end_ns);
    gt_table_list_add(tables, facts);
}
