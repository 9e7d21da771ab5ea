/* Names of sglang's profiler end in a number that changes from run to run: sglang_profiler::gemm_17 and
 * sglang_profiler::gemm_18 are the same op. */
#ifndef GT_TRACE_PYTORCH_PROFILER_NAMES_H
#define GT_TRACE_PYTORCH_PROFILER_NAMES_H

#include "trace/pytorch/pytorch.h"

/* Takes the numbers off the names of ops. Needs tree and links. */
void gt_profiler_names_strip(gt_pytorch *trace);

#endif
