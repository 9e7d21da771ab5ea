/* Index files on the command line (index/index.h). */
#pragma once

#include "cli/options.h"

/* Replaces each index file among the files by its trace. An index whose trace is also named is dropped. If
 * the trace is missing, the index stays; in a command without --index that is an error. */
bool gt_arguments_resolve_indexes(gt_arguments *arguments, gt_error *error);
