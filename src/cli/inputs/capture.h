/* What a capture of a simulation holds: a folder with rocprofv3's files, a manifest and the program's log. */
#ifndef GT_CLI_INPUTS_CAPTURE_H
#define GT_CLI_INPUTS_CAPTURE_H

#include "base/error.h"

typedef struct gt_capture {
    char *folder;                       /* as given */
    char *kernels_csv, *json, *pftrace; /* paths; NULL where the capture has none */
    char *hip_csv, *hsa_csv;            /* beside kernels_csv */
    bool has_manifest;
    char *title, *environments, *steps, *precision; /* of the manifest, as Python prints them */
    double wall_time_s;                             /* of run.log; below 0 where it does not say */
} gt_capture;

/* Files are looked for in FOLDER/kernel_trace, where that is a folder, then in FOLDER; of several the first
 * by name. False where the folder or its manifest cannot be read. */
bool gt_capture_find(gt_capture *capture, const char *folder, gt_error *error);
void gt_capture_free(gt_capture *capture);

#endif
