/* How long would a step take on another GPU, with other batches, with findings repaired?
 *
 * The schedule is run again with other durations of ops and the edits of findings; the host does what it did.
 * Only what was measured to be right within GT_SCENARIO_ERROR_MAX is answered (docs/what_if.md). */
#pragma once

#include "findings/findings.h"

#define GT_SCENARIO_ERROR_MAX 25. /* % */
#define GT_SCENARIO_BATCH_MAX 4.

typedef struct gt_scenario {
    const gt_gpu_arch *gpu; /* NULL: the same */
    double batch;           /* batches are so many times as large, at least 1; 1: the same */
    const char *fixes; /* findings that are repaired: ranks and ids, "1,host_sync", or "all"; NULL: none */
} gt_scenario;

/* Appends the sheets scenario (part, kind, now_ms, then_ms, then_low_ms, then_high_ms) and scenario_notes
 * (note: what is assumed, and how right it was). False with the reason if there is no answer. */
bool gt_scenario_add_sheets(const gt_findings *findings, const gt_scenario *scenario, gt_table_list *tables,
                            gt_error *error);
