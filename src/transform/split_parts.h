/* Internal to src/transform: cutting a trace at its steps, for split.c and match_blocks.c. */
#pragma once

#include "analysis/serving/serving.h"
#include "input/nsys/events.h"
#include "transform/split.h"

/* One output file. */
typedef struct gt_split_part {
    size_t idx; /* of a file with one step: the step */
    char *path;
    size_t *steps; /* indexes of its steps */
    size_t step_count, step_capacity;
    gt_step_mix mix;
    gt_step_events found;
} gt_split_part;

/* A trace and the files that are cut out of it. */
typedef struct gt_splitting {
    const gt_split_options *options;
    gt_plain_events *events;
    gt_nsys_export *export; /* of Nsight Systems; NULL: the trace is of PyTorch */
    gt_step_span *spans;
    gt_serving_step *steps; /* one per span */
    size_t step_count;
    bool repeats; /* the steps are repetitions, whose names say nothing */
    const char *dir;
    char *base;         /* name of the trace without its extensions */
    const char *ending; /* of the files */
    gt_split_part *parts;
    size_t count, capacity;
} gt_splitting;

/* Reads the events and finds the steps; without annotated ones, repetitions if these may be steps. The result
 * must be freed also after a failure, and borrows dir. */
bool gt_splitting_open(gt_splitting *s, const char *path, const char *dir, bool may_repeat,
                       const gt_read_options *read, gt_error *error);
void gt_splitting_free(gt_splitting *s);

/* Adds the file of these steps, whose name begins with the label and says how many of each phase there are.
 */
void gt_splitting_add(gt_splitting *s, gt_step_range range, const char *dir, const char *label);
/* Writes all files that were added; reads the trace again. */
bool gt_splitting_write(gt_splitting *s, gt_output *output, const char *path, unsigned threads,
                        gt_error *error);

/* Writes the file of a part of an export. */
bool gt_split_write_export(gt_output *output, const gt_split_part *part, gt_nsys_export *export,
                           gt_error *error);

/* Adds a field of a CSV file, in quotes if it needs them. */
void gt_split_add_field(gt_buffer *out, const char *text);
bool gt_split_write_text(gt_output *output, const char *dir, const char *name, const gt_buffer *text,
                         gt_error *error);
