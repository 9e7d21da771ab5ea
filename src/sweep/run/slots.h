/* Several runs of a sweep at once: each slot is a process that runs one command at a time, with GPUs of its
 * own. A process can watch only one command (os/child.h), so each slot needs its own; this one keeps the log
 * and the record. */
#pragma once

#include "sweep/run/run.h"

/* ---- GPUs (slot_gpus.c) ---- */

/* Divides GPUs among slots. `given`: "0,1,2", "none" or NULL: those that ROCR_VISIBLE_DEVICES,
 * HIP_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES name, else all of the machine. Fills one list per slot ("0,1";
 * "" for none), in the arena; *unused is what is left, as all slots have the same number. Fails if there are
 * fewer GPUs than slots, or one is named twice. */
bool gt_slots_divide(size_t slots, const char *given, gt_arena *arena, const char **lists,
                     const char **unused, gt_error *error);
/* Has this process, and what it starts, use only the GPUs of one of these lists; all of them if it is "". */
void gt_slot_use_gpus(const char *list);

/* ---- processes (slots.c) ---- */

typedef struct gt_slots gt_slots;

/* Called in the process of a slot: runs a command and fills the outcome. */
typedef void gt_slot_run(void *context, size_t run, gt_run_outcome *outcome);

/* Starts the processes. Only the slot's environment has its GPUs, as the variable that was set, or as
 * HIP_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES. */
gt_slots *gt_slots_start(size_t count, const char *const *gpus, gt_slot_run *run, void *context,
                         gt_error *error);
bool gt_slots_have_idle(const gt_slots *slots);
/* Has an idle slot run this; false if all are busy. */
bool gt_slots_give(gt_slots *slots, size_t run);
/* Waits until a run has ended, at most half a second. False if none has. A slot whose process was killed
 * gives FAILED. */
bool gt_slots_wait(gt_slots *slots, size_t *run, gt_run_outcome *outcome);
bool gt_slots_are_busy(const gt_slots *slots);
/* Passes a signal on to all slots, which end their commands. */
void gt_slots_signal(gt_slots *slots, int number);
/* Ends the processes, which must be idle. */
void gt_slots_end(gt_slots *slots);
