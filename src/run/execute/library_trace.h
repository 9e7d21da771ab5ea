/* Calls of math libraries, counted from what the libraries print of themselves: library_trace.csv. */
#ifndef GT_RUN_EXECUTE_LIBRARY_TRACE_H
#define GT_RUN_EXECUTE_LIBRARY_TRACE_H

#include "base/error.h"
#include "base/interner.h"
#include "os/shell_words.h"

typedef struct gt_library_trace gt_library_trace;

/* `modes` are those of the plan: "rocblas_trace", "hipblaslt_trace", "tensile_trace", "miopen_trace",
 * "rccl_trace". */
gt_library_trace *gt_library_trace_new(const gt_arg_list *modes);
void gt_library_trace_free(gt_library_trace *trace);

/* Counts the line where it is a library's; whether it was. */
bool gt_library_trace_see(gt_library_trace *trace, gt_str line);

/* Writes the table, also where nothing was counted: jobid, created_date, model, library, config, calls; lines
 * end with CRLF. */
bool gt_library_trace_write(const gt_library_trace *trace, const char *path, const char *model,
                            gt_error *error);

#endif
