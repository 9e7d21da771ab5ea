/* Pairs blocks of steps of two inference servers that did the same work, so that the two can be compared.
 *
 * A block is a sequence of steps of one phase, or a part of such a sequence that has window_steps. Of each
 * phase, the two blocks of equal length are paired whose steps differ least, and cut out of their traces:
 * match_report.json and .csv describe the pairs, match_notes.json the phases without one. */
#pragma once

#include "input/options.h"
#include "output/output.h"

typedef enum gt_match_phase {
    GT_MATCH_DECODE,
    GT_MATCH_MIXED,
    GT_MATCH_PREFILL,
    GT_MATCH_PHASES
} gt_match_phase;
/* "decode_only", "prefilldecode", "prefill_only" */
const char *gt_match_phase_name(gt_match_phase phase);

typedef struct gt_match_options {
    gt_match_phase phases[GT_MATCH_PHASES];
    size_t phase_count;
    size_t window_steps; /* 0: whole sequences */
    bool extract;        /* write the traces of the pairs, not only their description */
} gt_match_options;

/* Steps [begin, begin + steps) of each trace. Without a pair, steps is 0. */
typedef struct gt_match {
    size_t begin[2], steps;
    double distances[4]; /* means over the steps of what differs, the most important first */
    size_t distance_count;
} gt_match;

/* Adds the files to the output; matches has one item per phase of the options. `paths` are files that can be
 * read twice. */
bool gt_match_blocks(gt_output *output, const char *const paths[2], const char *dir,
                     const gt_match_options *options, const gt_read_options *read, gt_match *matches,
                     gt_error *error);
