/* Facts for the first screen. */
#include "page/front.h"

void gt_page_add_facts(const gt_page_source *source, gt_buffer *json)
{
    (void)source;
    gt_buffer_add_cstr(json, "{}");
}
