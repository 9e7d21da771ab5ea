/* PyTorch traces in Perfetto's protobuf: every argument of the Chrome trace is an annotation. */
#ifndef GT_INPUT_CHROME_KINETO_PERFETTO_H
#define GT_INPUT_CHROME_KINETO_PERFETTO_H

#include "input/chrome/kineto.h"

/* As gt_kineto_read_stores. */
bool gt_kineto_read_perfetto(gt_stream *stream, gt_kineto_options keep, const gt_read_options *options,
                             gt_store *store, gt_store *arrows, gt_error *error);

#endif
