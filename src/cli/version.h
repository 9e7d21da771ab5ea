/* The version of the program, in one line or with how it was built and what it would use here. */
#pragma once

#include "base/base.h"

void gt_version_print(FILE *out);
void gt_version_print_verbose(FILE *out);
