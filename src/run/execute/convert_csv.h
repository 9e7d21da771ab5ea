/* Tables of a rocprofv3 run whose files are of another format: kernel_trace.csv, hip_api_trace.csv,
 * memory_copy_trace.csv with the columns that rocprofv3 gives them. */
#ifndef GT_RUN_EXECUTE_CONVERT_CSV_H
#define GT_RUN_EXECUTE_CONVERT_CSV_H

#include "base/error.h"
#include "os/shell_words.h"

/* Reads the folder as one run and writes the tables that have rows into `to`. `kernels` counts dispatches.
 * Paths that were written are added. */
bool gt_convert_csv(const char *folder, const char *to, size_t *kernels, gt_arg_list *written,
                    gt_arena *arena, gt_error *error);

#endif
