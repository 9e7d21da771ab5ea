/* Internal to src/doctor: one file of a known kind, and what is said about it. */
#pragma once

#include "doctor/doctor.h"
#include "report/report.h"

/* A trace whose report is being made. */
typedef struct gt_inspection {
    gt_diagnosis *d;
    gt_report *report;
    gt_trace_format format;
    gt_stream *stream; /* NULL of a folder */
    /* Of a Chrome trace: what its first block has. */
    bool has_jax_names, has_rocprof_names;
    const gt_run_info *run;
    const gt_trace_members *members;
} gt_inspection;

/* What the trace has and does not have, after it was read and before its sheets are made, which may take its
 * columns.
 */
void gt_doctor_pytorch(gt_inspection *p);
void gt_doctor_run(gt_inspection *p); /* rocprofv3 and Nsight Systems */
void gt_doctor_jax(gt_inspection *p);

/* After the sheets were made: which have rows, which checks are not passed. */
void gt_doctor_sheets(gt_inspection *p);
/* What each kind of trace can be used for, and the command for it. Needs facts, gaps and sheets. */
void gt_doctor_pytorch_commands(gt_inspection *p);
void gt_doctor_run_commands(gt_inspection *p);
void gt_doctor_jax_commands(gt_inspection *p);

/* A file that is no trace: what it is by its first bytes, and what to do with it. `error` is why no report
 * could be made. */
void gt_doctor_other(gt_diagnosis *d, gt_str first_bytes, gt_trace_format format, const gt_error *error);

/* A sheet that the report does not have, and why; `fix` as in gt_missing_item. */
void gt_doctor_omitted(gt_inspection *p, gt_sheet sheet, const char *why);
bool gt_doctor_has_rows(const gt_inspection *p, gt_sheet sheet);

/* "NVIDIA H100, AMD MI300X (8)": names with how often each occurs, in the order of their first occurrence. */
const char *gt_doctor_count_names(gt_diagnosis *d, const char *const *names, size_t count);
