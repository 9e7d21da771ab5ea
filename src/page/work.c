/* What GPU and host did, as tables that a page can draw: finds out what work_parts.h holds, and has each
 * table made from it. */
#include "page/work_parts.h"

gt_page_limits gt_page_limits_default(void)
{
    return (gt_page_limits){.gpu_events = 250000, .host_events = 200000};
}
