/* The account of a trace: how many records its files have, how many of them are used, and how many are left
 * out for which reason. Readers count what they leave out; the report shows it as a check of trust (T23).
 *
 * A record is left out if its times cannot be right: no total would mean anything with it, and sums could be
 * negative. Records of kinds that no report uses are not needed, which is no reason. */
#pragma once

#include "base/base.h"

typedef enum gt_fault {
    GT_USED,
    GT_LEFT_NO_EVENT, /* PyTorch: no JSON object, or without phase or category */
    GT_LEFT_NO_TIME,  /* neither start nor end, or both are 0 */
    GT_LEFT_NO_START,
    GT_LEFT_NO_END,
    GT_LEFT_NEGATIVE,  /* ends before it starts */
    GT_LEFT_DUPLICATE, /* of a GPU event, in all that is read of it */
    GT_LEFT_REASONS
} gt_fault;

typedef struct gt_account {
    uint64_t records;  /* in the files */
    uint64_t used;     /* those of kinds that no report needs are neither used nor left out */
    uint64_t gpu_used; /* of these: work of GPUs */
    uint64_t gpu_lost; /* left out: work of GPUs, or what may be */
    struct gt_left_out_count {
        uint64_t count, first; /* first: its number among the records called `what`, from 1 */
        const char *what;      /* "event" */
    } left[GT_LEFT_REASONS];
} gt_account;

/* Why a record with these times, in nanoseconds of a clock, is left out. Absent times are 0. */
gt_fault gt_account_judge(int64_t start_ns, int64_t end_ns);
/* Counts a record that is left out; `number` is its place, from 0. */
void gt_account_leave_out(gt_account *account, gt_fault why, const char *what, uint64_t number, bool is_gpu);
/* Adds what a later part of the same files left out. */
void gt_account_add_left(gt_account *account, const gt_account *later);
uint64_t gt_account_left(const gt_account *account);
/* "9 records in the file, 6 used, 1 not needed, 2 left out: 2 that end before they start (the first is event
 * 7)". The caller frees it. */
char *gt_account_text(const gt_account *account);
/* Warns if records are left out. */
void gt_account_warn(const gt_account *account);
