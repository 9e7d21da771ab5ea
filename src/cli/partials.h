/* What `gputally partial` and `gputally merge` agree on. */
#pragma once

#include "base/image.h"
#include "cli/command.h"

/* The key of partials made by this call of `partial`: the same if and only if the same is read in the same
 * way. The caller frees it. */
char *gt_partial_key(const gt_call *call);
/* The options that decide it as the user typed them, each after a space; "" if there are none. */
char *gt_partial_options(const gt_call *call);

/* These options in the image of a partial. Loading gives "" if they are missing or damaged. */
void gt_partial_save_options(const char *options, gt_image *image);
char *gt_partial_load_options(const gt_image *image);
