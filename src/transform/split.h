/* Cuts a trace of an inference server into traces of steps.
 *
 * The trace is read twice: once for the times and places of its events, and once for the text of the
 * chosen ones, which is stored on disk, so that memory does not grow with the text of the events. Each
 * file is a complete trace: the events of the steps' thread, what it launched on the GPU, the names of
 * processes and threads, and all other members of the document. execution_details.json and .csv describe
 * the files. */
#pragma once

#include "input/options.h"
#include "output/output.h"

typedef struct gt_split_options {
    bool has_range;
    size_t range_begin, range_end; /* steps; limited to the last one */
    bool single_steps;             /* one file per step */
    bool steady_state;             /* three windows */
    bool divide_phases;            /* one file per sequence of steps of one phase */
    size_t window_steps;
    int64_t requests;                  /* expected concurrent requests; 0: unknown */
    double output_tokens, token_ratio; /* NaN: unknown */
} gt_split_options;

typedef struct gt_split_result {
    size_t events, steps, files;
} gt_split_result;

/* Adds the files to the output. `path` must be a file that can be read twice. */
bool gt_split(gt_output *output, const char *path, const char *dir, const gt_split_options *options,
              const gt_read_options *read, gt_split_result *result, gt_error *error);
