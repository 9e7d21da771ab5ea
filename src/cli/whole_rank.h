/* Reading the whole trace of a rank for a report on all ranks: its collectives, the facts that findings need,
 * and the extra sheets. */
#pragma once

#include "cli/command.h"
#include "report/collective.h"
#include "stream/stream.h"

typedef struct gt_whole_rank {
    const gt_call *call; /* with the options of gt_communication_group and gt_extra_group, which are valid */
    const gt_read_options *read;
    const char *path;
    int64_t rank;
    bool (*accepts)(gt_stream *stream, gt_error *error); /* whether to read such a file; NULL: always */
    gt_interner *strings;                                /* of the extra sheets */
} gt_whole_rank;

/* What `gputally report` finds in the trace for the report of all ranks; the extra sheets go to `extra`. NULL
 * if the trace cannot be read completely (*is_read is false, with the error), or only the reader of
 * collectives can say whether the rank counts. */
gt_rank_collectives *gt_whole_rank_read(const gt_whole_rank *whole, gt_extra_sheets *extra, bool *is_read,
                                        gt_error *error);
