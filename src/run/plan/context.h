/* The context of a profiling run: one JSON object of settings, from a file and from the command line. */
#ifndef GT_RUN_PLAN_CONTEXT_H
#define GT_RUN_PLAN_CONTEXT_H

#include "run/plan/settings.h"

/* Reads the file (NULL: none), lays the typed text (NULL or "{}": none) over it key by key, fills in
 * gpu_vendor and guest_os and checks the types of all keys that are known; others are kept and not looked at.
 * A file that is not there but has the name of a shipped config is that config. NULL where something is
 * wrong: one or two lines for the user. */
const gt_value *gt_context_load(gt_arena *arena, const char *path, const char *text, gt_error *error);

/* GPUs that a run asks for, -1 for all: keys of the context, of its slurm and k8s objects, else
 * `otherwise`. */
int64_t gt_context_gpus_or(const gt_value *context, int64_t otherwise);

#endif
