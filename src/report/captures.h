/* Folders of capture traces, for reports on traces of inference servers: which file is of which batch size,
 * and merging them into a trace (analysis/captures/captures.h).
 *
 * The file execution_details.json of a folder says what its capture traces are of. Without it, all of them
 * are read to find out, and it can be written, as TraceLens does. */
#pragma once

#include "analysis/captures/captures.h"
#include "input/options.h"

/* What TraceLens and newer versions of vLLM call such a folder; it is next to the trace. */
#define GT_CAPTURE_FOLDER "capture_traces"

typedef struct gt_capture_options {
    const gt_read_options *read;
    bool writes_details;               /* write execution_details.json if the folder has none */
    void (*journal)(const char *line); /* gets what TraceLens prints, instead of a summary; NULL: a summary */
    bool serve_all;                    /* see gt_capture_source */
} gt_capture_options;

typedef struct gt_captures gt_captures;
/* Finds out what the files of a folder are of. NULL if it has no capture traces, or its
 * execution_details.json is damaged. Borrows its arguments. */
gt_captures *gt_captures_open(const char *folder, gt_capture_options options, gt_error *error);
void gt_captures_free(gt_captures *captures); /* accepts NULL */

/* Says that the trace has graph launches, whose kernels only captures could tell the ops of. */
void gt_captures_hint(const gt_event_view *trace);

/* Merges the captures into the trace and says how that went. False if a capture cannot be read and the
 * options say that this is an error. */
bool gt_captures_merge_into(gt_captures *captures, gt_pytorch_linked *trace, gt_error *error);
