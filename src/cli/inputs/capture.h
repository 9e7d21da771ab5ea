/* The capture of a simulation: a folder with rocprofv3's files, a manifest and the log of the program. */
#ifndef GT_CLI_INPUTS_CAPTURE_H
#define GT_CLI_INPUTS_CAPTURE_H

#include "base/error.h"

typedef struct gt_capture {
    char *folder;                       /* as given */
    char *kernels_csv, *json, *pftrace; /* paths; NULL: none */
    char *hip_csv, *hsa_csv;            /* next to kernels_csv */
    bool has_manifest;
    char *title, *environments, *steps, *precision; /* of the manifest, as Python prints them */
    double wall_time_s;                             /* from run.log; negative: unknown */
} gt_capture;

/* Looks for files in FOLDER/kernel_trace, if it is a folder, then in FOLDER; the first one by name is
 * used. Returns false if the folder or its manifest cannot be read. */
bool gt_capture_find(gt_capture *capture, const char *folder, gt_error *error);
void gt_capture_free(gt_capture *capture);

#endif
