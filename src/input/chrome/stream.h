/* Reader of the busiest stream of a GPU from a Chrome trace (JSON) of a JAX program. */
#ifndef GT_INPUT_CHROME_STREAM_H
#define GT_INPUT_CHROME_STREAM_H

#include "base/error.h"
#include "input/options.h"
#include "stream/stream.h"
#include "trace/jax/jax.h"

/* The GPU is the process "/device:GPU:<gpu>", else one with that in its name; its busiest stream is the
 * thread whose events last longest together. A file that ends early gives what is whole, with a warning,
 * unless options->strict. */
bool gt_chrome_stream_read(gt_stream *stream, int64_t gpu, gt_interner *strings,
                           const gt_read_options *options, gt_gpu_stream *out, gt_error *error);

#endif
