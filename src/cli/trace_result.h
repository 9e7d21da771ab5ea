/* What is left of a trace when its report was made and written: for the lines that are printed in the order
 * of the traces, for the exit code, and for the report on all ranks. Another process may have done the work.
 */
#pragma once

#include "base/printing.h"
#include "output/written.h"
#include "report/collective.h"

typedef struct gt_trace_result {
    bool made, has_json;
    bool is_missing; /* there is no such file */
    bool is_read;    /* what failed came later */
    char *error;     /* why there is no report; owned; NULL: there is one */
    char *distrust;  /* why it cannot be trusted; owned; NULL: it can */
    unsigned kinds;  /* a set of 1 << gt_trace_kind */
    gt_kept_print printed;
    gt_written written;
    gt_rank_collectives *collectives; /* of a trace with a rank; owned; NULL: none */
} gt_trace_result;                    /* {0}: nothing was done yet */

/* `rank` is that of the trace, or -1; `label` names its output files, and may be NULL. The result must
 * outlive the image. */
void gt_trace_result_save(const gt_trace_result *result, int64_t rank, const char *label, gt_image *image);
/* False if the image is damaged or of another rank or label; then the result is as before. What was printed
 * is meant for standard output. */
bool gt_trace_result_load(gt_trace_result *result, int64_t rank, const char *label, const gt_image *image);
/* Whether an image of an earlier run may be used: the report was made, what it printed suits the terminal,
 * and its files are as they were written. */
bool gt_trace_result_is_usable(const gt_image *image);
/* Frees everything, also what was not printed. */
void gt_trace_result_free(gt_trace_result *result);
