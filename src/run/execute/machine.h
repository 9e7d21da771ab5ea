/* Where a run took place: the machine (machine.c) and the versions of what the command uses (versions.c). */
#pragma once

#include "run/execute/execute.h"

/* ---- versions (versions.c); strings are in the plan's arena, NULL: unknown ---- */

enum { GT_VERSIONS_MAX = 64 };

typedef struct gt_version {
    const char *name, *version;
} gt_version;

/* The interpreter of the command: its first word, that in the first line of the script (torchrun), or else
 * python3 in PATH. */
const char *gt_versions_python(const gt_plan *plan);
/* Known packages of that interpreter; fills up to GT_VERSIONS_MAX and returns how many. */
size_t gt_versions_packages(const gt_plan *plan, const char *python, gt_version *found);
/* The version in the name of the file that a library's link points to: "libnccl.so.2". */
const char *gt_versions_library(const gt_plan *plan, const char *name);
/* That of the outermost profiler; rocprofv3 has the version of the library next to it. */
const char *gt_versions_profiler(const gt_plan *plan);
const char *gt_versions_cuda(const gt_plan *plan); /* of the toolkit */
