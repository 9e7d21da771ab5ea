/* Command lines of benchmark programs that run one op alone: hipblaslt-bench for matrix products,
 * MIOpenDriver for convolutions. Made of what a trace says of the op, or of what the libraries log when the
 * op runs. */
#ifndef GT_BATCH_BENCH_COMMANDS_H
#define GT_BATCH_BENCH_COMMANDS_H

#include "base/buffer.h"

#include <stdbool.h>

/* An op as the trace has it: JSON texts, "" where absent. */
typedef struct gt_bench_op {
    const char *name; /* aten::mm */
    gt_str dims, types, strides, concrete;
} gt_bench_op;

typedef enum gt_bench { GT_BENCH_HIPBLASLT, GT_BENCH_MIOPEN } gt_bench;
const char *gt_bench_program(gt_bench bench); /* "hipblaslt-bench" */

/* Adds the command line for an op, without a line end. False where its arguments do not tell one. */
bool gt_bench_command(gt_bench bench, const gt_bench_op *op, gt_buffer *out);
bool gt_hipblaslt_command(const gt_bench_op *op, gt_buffer *out);
bool gt_miopen_command(const gt_bench_op *op, gt_buffer *out);

/* From a library's log to command lines for measuring, each with its line end; nothing where it has none. */
void gt_bench_edit_log(gt_bench bench, gt_str log, gt_buffer *out);

/* The mean time in microseconds that the program printed; NaN where it printed none. */
double gt_bench_time_us(gt_bench bench, gt_str output);

#endif
