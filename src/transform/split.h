/* Cuts a trace of an inference server into traces of steps.
 *
 * The trace is read twice: once for when and where its events were, and once for the text of those that are
 * wanted, which is set aside on disk; so memory does not grow with what events say. Each file is a whole
 * trace: what the steps' thread did, what it sent to the GPU, the names of processes and threads, and all
 * that stands beside the events. Beside the files, execution_details.json and .csv say what is in them. */
#ifndef GT_TRANSFORM_SPLIT_H
#define GT_TRANSFORM_SPLIT_H

#include "base/error.h"
#include "input/options.h"
#include "output/output.h"

typedef struct gt_split_options {
    bool has_range;
    size_t range_begin, range_end; /* steps; an end behind the last is the last */
    bool single_steps;             /* a file a step */
    bool steady_state;             /* three windows */
    bool divide_phases;            /* a file for each row of steps of one phase */
    size_t window_steps;
    int64_t requests;                  /* at once, as was meant; 0: not told */
    double output_tokens, token_ratio; /* NaN: not told */
} gt_split_options;

typedef struct gt_split_result {
    size_t events, steps, files;
} gt_split_result;

/* Adds the files to the output. `path` must be a file that can be read twice. */
bool gt_split(gt_output *output, const char *path, const char *dir, const gt_split_options *options,
              const gt_read_options *read, gt_split_result *result, gt_error *error);

#endif
