/* Reader of XLA's text dumps (*_gpu_after_optimizations.txt): the collectives in them. */
#ifndef GT_INPUT_XLA_DUMP_H
#define GT_INPUT_XLA_DUMP_H

#include "base/error.h"
#include "trace/jax/jax.h"

#include <stdbool.h>

/* The file may be compressed. */
bool gt_xla_dump_read(gt_xla *program, const char *path, gt_interner *strings, gt_error *error);

/* Adds the collective of a line, if it has one: for gt_xla_dump_read and tests. */
void gt_xla_dump_add_line(gt_xla *program, gt_str line);

#endif
