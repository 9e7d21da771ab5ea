/* Of rocprofv3's JSON, what only the extra sheets need: API calls, counters, agents, and the tables of names
 * that their records point into. Names may come before or after the records, so they are put together at the
 * end. */
#ifndef GT_INPUT_ROCPROF_JSON_EXTRA_H
#define GT_INPUT_ROCPROF_JSON_EXTRA_H

#include "json/reader.h"
#include "input/options.h"
#include "trace/rocprof/rocprof.h"

typedef struct gt_rocprof_extra gt_rocprof_extra;

/* For one process of the file. */
gt_rocprof_extra *gt_rocprof_extra_new(gt_rocprof *run, const gt_read_options *options);
void gt_rocprof_extra_free(gt_rocprof_extra *extra);

/* Each reads the value at the cursor; false where the JSON failed. */
bool gt_rocprof_extra_calls(gt_rocprof_extra *extra, gt_json *json, gt_call_domain domain);
bool gt_rocprof_extra_names(gt_rocprof_extra *extra, gt_json *json);            /* "strings" */
bool gt_rocprof_extra_counter_names(gt_rocprof_extra *extra, gt_json *json);    /* "counters" */
bool gt_rocprof_extra_callback_records(gt_rocprof_extra *extra, gt_json *json); /* "callback_records" */
bool gt_rocprof_extra_agents(gt_rocprof_extra *extra, gt_json *json);           /* "agents" */

/* Once the process has been read: calls, counters and agents go into the run, and directions of copies are
 * given gt_copy_direction for rocprofv3's operation numbers. */
void gt_rocprof_extra_finish(gt_rocprof_extra *extra);

#endif
