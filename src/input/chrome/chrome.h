/* Readers of Chrome traces: JSON with a list of events, {"traceEvents": [...], ...} or a bare array of
 * events.
 *
 * Each reader keeps what one kind of report needs:
 *
 *     gt_chrome_read          rocprofv3's traces, for the pftrace reports; also Perfetto's format (chrome.c)
 *     gt_gpu_stream_read      the busiest stream of one GPU in a JAX trace (gpu_stream.c)
 *     gt_plain_events_read    the time and place of every event, for `gputally split` (events.c)
 *     gt_chrome_read_events   the fields that a gt_record_format lists (events.c)
 *
 * kineto.h has the readers of PyTorch traces. All of them read from a stream at its beginning, read a
 * truncated file as input/options.h describes, and on failure return NULL or false with an error that names
 * the file. */
#pragma once

#include "input/json/records.h"
#include "trace/events.h"
#include "trace/jax/jax.h"

gt_chrome *gt_chrome_read(gt_stream *stream, const gt_read_options *options, gt_error *error);

gt_plain_events *gt_plain_events_read(gt_stream *stream, const gt_read_options *options, gt_error *error);

/* The GPU is the process "/device:GPU:<gpu>", or else the first with that in its name. Its busiest stream is
 * the thread with the largest sum of durations. Strings are added to `strings`, which must outlive `out`. */
bool gt_gpu_stream_read(gt_stream *stream, int64_t gpu, gt_interner *strings, const gt_read_options *options,
                        gt_gpu_stream *out, gt_error *error);

/* Reads the events into the stores, of which the first gets the base time. `missing` is the message if the
 * document has no list of events. */
#define GT_NOT_PYTORCH "not a PyTorch trace (no 'traceEvents')"
bool gt_chrome_read_events(gt_stream *stream, const gt_record_format *format, const gt_record_stores *stores,
                           const char *missing, const gt_read_options *options, gt_error *error);

/* ---- for readers that take the document apart themselves ---- */

/* Each function reads the value at the cursor and returns false on failure. */
typedef struct gt_chrome_visitor {
    void *context;
    bool (*events)(void *context, gt_json *json);             /* the array of events */
    bool (*member)(void *context, gt_json *json, gt_str key); /* any other member; NULL: skip them */
} gt_chrome_visitor;

/* A function for `member`, or for it to call: notes baseTimeNanoseconds in the store and skips other members.
 */
bool gt_chrome_read_base_time(gt_json *json, gt_str key, gt_store *store);

/* The same for what options->run gets: deviceProperties, which is a list, and distributedInfo. */
bool gt_chrome_count_devices(gt_json *json, size_t *devices);
/* The devices themselves, for options->facts. */
struct gt_trace_facts;
bool gt_chrome_read_devices(gt_json *json, gt_interner *strings, struct gt_trace_facts *facts);
/* `members` may be NULL. */
bool gt_chrome_read_distributed(gt_json *json, gt_distributed_info *info, gt_trace_members *members);
/* A member for options->members: `prefix` comes before its name. Lists and objects are skipped. */
bool gt_chrome_note_member(gt_json *json, const char *prefix, gt_str key, gt_trace_members *members);

/* Reads the whole document. *found says whether it has a list of events. False if the JSON is damaged or
 * truncated, or a function of the visitor failed. */
bool gt_chrome_visit(gt_json *json, const gt_chrome_visitor *visitor, bool *found);

/* Decides whether the document is a trace, once gt_chrome_visit has returned `read` and *found. `events` is
 * how many events were read. */
bool gt_chrome_accept(const gt_json *json, bool read, bool found, size_t events, const char *missing,
                      const gt_read_options *options, gt_error *error);
