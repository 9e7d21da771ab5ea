/* The version of the program, in one line or with how it was built and what it would use here. */
#ifndef GT_CLI_VERSION_H
#define GT_CLI_VERSION_H

#include <stdio.h>

void gt_version_print(FILE *out);
void gt_version_print_verbose(FILE *out);

#endif
