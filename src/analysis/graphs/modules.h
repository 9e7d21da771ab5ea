/* The module of a model that a host event is in: the innermost Python function "nn.Module: NAME" around it.
 */
#pragma once

#include "trace/pytorch/pytorch.h"

typedef struct gt_module_frame {
    double start_us, end_us;
    uint32_t thread; /* a number per process and thread */
    uint32_t name;   /* string id of the trace: "Linear_0" */
} gt_module_frame;

typedef struct gt_module_frames {
    gt_module_frame *items; /* by thread, then by start, longer ones first */
    size_t count, capacity;
    gt_map threads; /* (process, thread) -> number */
} gt_module_frames; /* {0}: none */

/* Those of a trace, whether Python functions are among its rows or its frames. */
gt_module_frames gt_module_frames_find(const gt_event_view *trace);
void gt_module_frames_free(gt_module_frames *frames);

/* names[i] becomes that of the module around rows[i], GT_STR_NONE: there is none. */
void gt_module_frames_around(const gt_module_frames *frames, const gt_event_view *trace, const uint32_t *rows,
                             size_t count, uint32_t *names);
