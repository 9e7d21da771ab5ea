/* Reader of JAX profiles: *.xplane.pb, one XSpace message (XLA's profiler; TensorBoard's "xplane" files).
 *
 * The message is held in memory while it is read; what is kept are the events of GPUs and what the compiled
 * modules in it say of the ops that ran. */
#ifndef GT_INPUT_XLA_XPLANE_H
#define GT_INPUT_XLA_XPLANE_H

#include "input/options.h"
#include "stream/stream.h"
#include "trace/jax/jax.h"

/* NULL where the profile cannot be read. One that ends early is read as far as its planes are whole, with a
 * warning, unless options->strict. */
gt_jax *gt_xplane_read_stream(gt_stream *stream, const gt_read_options *options, gt_error *error);

/* The same, and the matrix products of the module whose name begins so; of several, that with the lowest
 * number. */
gt_jax *gt_xplane_read_with_products(gt_stream *stream, const char *module, const gt_read_options *options,
                                     gt_error *error);

/* Whether the bytes begin as such a profile does: a plane with a name. */
bool gt_is_xplane(gt_str first_bytes);

#endif
