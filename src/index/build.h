/* Which build of the program this is. What one build keeps in an index, another must not use: its readers and
 * sheets may differ, even under the same version number. */
#pragma once

#include "base/base.h"

/* A number that differs between builds: from the build id that the linker computed from the contents of the
 * program, or of the library. 0 if there is none; then nothing is kept. */
uint64_t gt_build_number(void);
