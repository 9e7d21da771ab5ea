/* The part of the man page that lists commands and options, in roff: the build puts it between the parts
 * written by hand (docs/man). */
#ifndef GT_CLI_MANUAL_H
#define GT_CLI_MANUAL_H

#include <stdio.h>

void gt_manual_print(FILE *out);

#endif
