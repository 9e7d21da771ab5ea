/* Internal to src/page: what of the page is the same for all traces, embedded when gputally is built
 * (cmake/Page.cmake). */
#pragma once

#include "base/base.h"

gt_str gt_page_frame(void);   /* web/page.html, with @NAME@ where something is put in */
gt_str gt_page_style(void);   /* all style sheets */
gt_str gt_page_program(void); /* all modules */

/* Adds the content security policy: nothing but this style and this program has an effect, and nothing is
 * loaded. Workers and pictures are made from what is in the page. */
void gt_page_add_policy(gt_buffer *out);
