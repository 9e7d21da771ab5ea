/* What a GPU event does, and which of several calls launched it. */
#pragma once

#include "trace/id_slots.h"
#include "trace/pytorch/pytorch.h"

/* ---- types ---- */

/* The types of gpu_timeline. A memset is computation. */
typedef enum gt_gpu_type {
    GT_GPU_COMPUTATION,
    GT_GPU_COMMUNICATION,
    GT_GPU_MEMCPY,
    GT_GPU_TYPES
} gt_gpu_type;

/* The type of a GPU event. Except for copies, it depends on the name alone: cache it by name. */
gt_gpu_type gt_gpu_type_of(const gt_event_view *trace, uint32_t row);

/* ---- launches ---- */

/* How well a call explains a GPU event of this kind that has its correlation id: 0 if a call of this name
 * starts nothing on a GPU (hipArray3DCreate), 1 if it does, 2 if it starts this kind (hipMemsetAsync for a
 * memset). */
int gt_launch_fit(gt_str call, uint8_t gpu_kind);

/* The first runtime or driver call whose name says that it launches something, in any case; GT_NO_EVENT if
 * there is none. If it has a correlation id, calls and GPU events share these ids, else external ids. */
uint32_t gt_first_launch(const gt_event_view *trace);

/* Finds the call that launched a GPU event by their common id. Profilers may give one id to several calls;
 * then it is the first of those that fit best. Ids of different groups, such as processes, have nothing in
 * common. {0} is empty; with the slots of the ids of all GPU events, calls of other ids are left out, groups
 * do not count, and nothing is hashed. */
enum { GT_GPU_KINDS = GT_KIND_MEMSET - GT_KIND_KERNEL + 1 };
typedef struct gt_launch_calls {
    gt_map places;     /* from id and group to an index into items */
    gt_id_slots slots; /* the same by id; no slots: not known */
    struct gt_launch_candidates {
        uint32_t rows[GT_GPU_KINDS]; /* the best call for each kind of GPU event */
        int8_t fits[GT_GPU_KINDS];   /* its gt_launch_fit */
    } * items;
    size_t count, capacity;
    gt_str last_name;               /* of the last call added, which often is that of the next, ... */
    int8_t last_fits[GT_GPU_KINDS]; /* ... and its gt_launch_fit for each kind */
} gt_launch_calls;

gt_launch_calls gt_launch_calls_of_slots(gt_id_slots slots); /* which are freed with it */
/* Adds a runtime or driver call. Calls must be added in file order. The name must stay where it is. */
void gt_launch_calls_add(gt_launch_calls *calls, int64_t id, uint64_t group, uint32_t row, gt_str name);
/* The row of the call, GT_NO_EVENT if there is none. */
uint32_t gt_launch_calls_find(const gt_launch_calls *calls, int64_t id, uint64_t group, uint8_t gpu_kind);
void gt_launch_calls_free(gt_launch_calls *calls);
