/* Internal to src/findings: what trust.c and the files of single checks share. */
#ifndef GT_FINDINGS_TRUST_PARTS_H
#define GT_FINDINGS_TRUST_PARTS_H

#include "findings/trust.h"

#include <math.h>

#define GT_NO_LIMIT NAN

/* Adds a check with its sentence; its level follows from the thresholds. */
__attribute__((format(printf, 6, 7))) void gt_trust_add(gt_trust *trust, const char *id, double value,
                                                        double warn, double fail, const char *format, ...);

static inline double gt_trust_percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* Not of PyTorch. */
static inline bool gt_trust_is_other(const gt_schedule *schedule)
{
    return schedule->origin != GT_BY_PYTORCH;
}

/* trust_steps.c: T10 and T11. */
void gt_trust_judge_steps(const gt_schedule *schedule, gt_trust *trust);

#endif
