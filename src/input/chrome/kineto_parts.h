/* Internal to src/input/chrome: what the files of the PyTorch reader share. */
#pragma once

#include "index/index.h"
#include "input/chrome/kineto.h"
#include "input/json/record.h"

/* ---- kineto.c ---- */

/* The fields that are read, by column. */
extern const gt_field gt_kineto_fields[GT_EVENT_COLUMNS];

/* Whether Python functions are rows of the trace. */
static inline bool gt_kineto_has_python_rows(gt_kineto_options keep)
{
    return keep.python_functions || keep.every_event;
}

/* Whether they are kept separately from the rows, and whether memory events are. */
static inline bool gt_kineto_has_frames(gt_kineto_options keep)
{
    return keep.frames && !gt_kineto_has_python_rows(keep);
}
static inline bool gt_kineto_has_memory(gt_kineto_options keep)
{
    return keep.memory && !keep.every_event;
}

/* ---- kineto_index.c ---- */

/* An index has memory events where it has Python functions, in whatever form: only the page needs them, and
 * it needs both. */
static inline bool gt_kineto_index_has_memory(gt_kineto_options keep)
{
    return gt_kineto_has_python_rows(keep) || gt_kineto_has_frames(keep);
}

/* What the index has of the trace; false if that is not enough. */
bool gt_kineto_index_find(const gt_index *index, gt_kineto_options keep, gt_pytorch_stores *stores,
                          gt_run_info *run);
void gt_kineto_index_keep(gt_index *index, gt_kineto_options keep, const gt_pytorch_stores *stores,
                          const gt_run_info *run);
/* What an index without these events lacks, in the words of a message. */
const char *gt_kineto_index_missing(gt_kineto_options keep);
