/* Steps of a program that does not annotate them: what its call tree repeats.
 *
 * Level by level, the first event whose calls repeat is searched: the names of its calls, from some call on,
 * are a pattern of p names at least three times in a row, and these are more than half of the rest. Each
 * repetition is a step. Patterns count only if they launch a good part of the GPU's work, because all
 * programs repeat trifles.
 *
 *     generate
 *       prepare
 *       forward   sample      first step     pattern: forward, sample
 *       forward   sample      second step
 *       forward   sample      third step */
#pragma once

#include "trace/pytorch/calls.h"

typedef struct gt_repeated_step {
    uint32_t first, last; /* rows of its first and last call, on the same thread */
} gt_repeated_step;

typedef struct gt_repetition {
    uint32_t caller; /* the row of the event whose calls repeat; GT_NO_EVENT: nothing does */
    size_t depth;    /* of the caller; 0: a root */
    size_t period;   /* calls of a step */
    gt_repeated_step *steps;
    size_t count;
    bool has_roots; /* the trace has ops, so that there is something to search */
} gt_repetition;

/* The trace should have its Python functions. */
gt_repetition gt_repetition_find(const gt_calls *calls);
void gt_repetition_free(gt_repetition *repetition);

/* The first pattern of a list of names: items[start] to items[start + count * period - 1]. False if there is
 * none. */
typedef struct gt_pattern {
    size_t start, period, count;
} gt_pattern;
bool gt_pattern_find(const uint32_t *names, size_t count, gt_pattern *pattern);
