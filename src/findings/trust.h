/* Can the trace be believed? Checks of what was recorded, each with a value, thresholds and one sentence. */
#pragma once

#include "findings/idle.h"

/* A note says what the trace does not have, such as steps: what it has can still be believed. */
typedef enum gt_trust_level { GT_TRUST_OK, GT_TRUST_NOTE, GT_TRUST_WARN, GT_TRUST_FAIL } gt_trust_level;

typedef struct gt_trust_check {
    const char *id; /* "T1" */
    gt_trust_level level;
    double value, warn, fail; /* NaN: no such threshold */
    char *text;               /* owned */
} gt_trust_check;

typedef struct gt_trust {
    gt_trust_check *checks;
    size_t count, capacity;
    gt_trust_level verdict; /* the worst of them */
} gt_trust;

/* What the checks need in addition to schedule and idle causes. */
typedef struct gt_trust_input {
    const gt_schedule *schedule;
    const gt_idle *idle;
    const char *per;           /* "step" or "trace" */
    double step_ns;            /* recorded */
    double busy_ns;            /* per step */
    double model_ns;           /* replayed without the profiler's own cost */
    double replay_error_pct;   /* of the unedited replay */
    bool is_cut_off;           /* the file is truncated, or one of several is missing */
    const gt_account *account; /* NULL: there is none */
} gt_trust_input;

gt_trust gt_trust_judge(const gt_trust_input *input);
void gt_trust_free(gt_trust *trust);

/* "good", "usable with care", "do not trust" */
const char *gt_trust_verdict(gt_trust_level level);
/* "ok", "note", "warn", "fail" */
const char *gt_trust_level_name(gt_trust_level level);
