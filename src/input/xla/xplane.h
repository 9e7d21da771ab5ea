/* Readers of what JAX and XLA write: profiles (*.xplane.pb) and text dumps of compiled modules.
 *
 * A profile is one XSpace message. Of its planes, the events of GPUs are kept, with what the compiled modules
 * in the same file say about the ops that ran. A plain file is read block by block; compressed input is
 * decompressed into memory first. */
#pragma once

#include "input/options.h"
#include "stream/stream.h"
#include "trace/jax/jax.h"

/* Reads a profile from a stream at its beginning. A truncated profile is read up to its last complete plane,
 * with a warning, unless options->strict. NULL on failure. */
gt_jax *gt_xplane_read_stream(gt_stream *stream, const gt_read_options *options, gt_error *error);

/* The same, and the matrix products of the module whose name starts with `module`; of several modules, the
 * one with the lowest program id. */
gt_jax *gt_xplane_read_with_products(gt_stream *stream, const char *module, const gt_read_options *options,
                                     gt_error *error);

/* Whether a file that begins with these bytes is a profile: a plane with a name. */
bool gt_is_xplane(gt_str first_bytes);

/* ---- text dumps (*_gpu_after_optimizations.txt), for their collectives (dump.c) ---- */

/* The file may be compressed. `strings` must outlive the program. */
bool gt_xla_dump_read(gt_xla *program, const char *path, gt_interner *strings, gt_error *error);

/* Adds the collective of one line, if it has one: for gt_xla_dump_read and tests. */
void gt_xla_dump_add_line(gt_xla *program, gt_str line);
