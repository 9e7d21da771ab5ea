/* The events of a Chrome trace: {"traceEvents": [...], ...}, or a bare array of events, as records. */
#ifndef GT_INPUT_CHROME_EVENTS_H
#define GT_INPUT_CHROME_EVENTS_H

#include "input/json/records.h"

/* Reads the events of a stream at its beginning into `store`, and those that the format puts aside into
 * `aside`, which may be NULL. A file that ends early gives what is whole, with a warning. `missing` is said
 * where there are no events at all, and should name them: "not a PyTorch trace: it has no 'traceEvents'". */
bool gt_chrome_read_events(gt_stream *stream, const gt_record_format *format, gt_store *store,
                           gt_store *aside, const char *missing, const gt_read_options *options,
                           gt_error *error);

/* For readers of their own: a document was read to its end one way or the other, `found` says whether it has
 * a list of events, `events` how many of them. Is that a trace? */
bool gt_chrome_accept(const gt_json *json, bool read, bool found, size_t events, const char *missing,
                      const gt_read_options *options, gt_error *error);

#endif
