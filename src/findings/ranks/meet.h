/* Internal to src/findings/ranks: kernels of different ranks that end together (meet.c). */
#pragma once

#include "findings/ranks/model.h"

typedef struct gt_meetings {
    size_t count, capacity;
    size_t collectives; /* the first ones; the others are a send and its receive */
    size_t *ends;       /* meeting i has rows[ends[i - 1]] to rows[ends[i] - 1], in order of ranks */
    uint32_t *rows;     /* of nccl_long */
    size_t row_count, row_capacity;
} gt_meetings;

/* Also sets the stages of the model. */
gt_meetings gt_maker_find_meetings(gt_model_maker *m);
void gt_meetings_free(gt_meetings *meetings);
