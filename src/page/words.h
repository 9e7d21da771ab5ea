/* Numbers as sentences have them. */
#pragma once

#include "base/base.h"

/* 1234567 gives "1,234,567". */
void gt_words_add_count(gt_buffer *out, uint64_t count);
/* A unit for times: the one in which a time has one to three digits before the point. */
typedef struct gt_time_unit {
    const char *name;
    double ns;
} gt_time_unit;
gt_time_unit gt_words_time_unit(double ns);
/* Three digits with a unit: "850 ns", "77.7 ms", "1.08 s", "1,234 s". */
void gt_words_add_time(gt_buffer *out, double ns);
/* A share in whole percent: "60 %". What is not all or nothing does not look like it: "99.7 %", "0.2 %",
 * "over 99.9 %", "under 0.1 %". */
void gt_words_add_share(gt_buffer *out, double part, double whole);
