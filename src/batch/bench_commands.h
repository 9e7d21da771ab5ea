/* Command lines of benchmark programs that run a single op: hipblaslt-bench for GEMMs, MIOpenDriver for
 * convolutions. They are made from the arguments of the op in a trace, or from the log of the libraries
 * while the op runs. */
#pragma once

#include "replay/replay.h"

typedef enum gt_bench { GT_BENCH_HIPBLASLT, GT_BENCH_MIOPEN } gt_bench;
const char *gt_bench_program(gt_bench bench); /* "hipblaslt-bench" */

/* Appends the command line for an op, without a line end. Returns false if its arguments do not determine
 * one. */
bool gt_bench_command(gt_bench bench, const gt_replay_op *op, gt_buffer *out);

/* Converts the log of a library to command lines for measuring, one per line; appends nothing if it has
 * none. */
void gt_bench_edit_log(gt_bench bench, gt_str log, gt_buffer *out);

/* The mean time in microseconds that the program printed; NaN if it printed none. */
double gt_bench_time_us(gt_bench bench, gt_str output);
