/* What the opaque stages of a PyTorch trace hold (pytorch.h). Only src/trace/pytorch includes this.
 *
 * All three stages share one gt_pytorch_state and differ in which of its fields are filled. Code in this
 * folder writes to these arrays; everybody else reads them through the view, which gt_state_publish sets. */
#pragma once

#include "trace/pytorch/pytorch.h"

enum { GT_NO_OWNER = GT_STR_NONE };

/* Fields have the meaning of those with the same name in gt_event_view and gt_linked_view. */
typedef struct gt_pytorch_state {
    gt_linked_view view;

    /* From gt_pytorch_new on. */
    gt_interner *strings;
    gt_store *store;
    gt_store *flow_events; /* freed by gt_state_find_links, which alone uses it; then NULL */
    struct gt_tracks *tracks;
    const gt_comm_kernels *communication;
    size_t count, recorded, uid_count;
    bool has_python, gpu_only;
    uint8_t *kind;
    uint32_t *name;
    double *start_us, *dur_us;
    uint8_t *integral;
    gt_event_lanes lanes;
    uint32_t *extra;
    gt_store *frames;
    gt_store *memory;
    gt_trace_facts facts;

    /* From gt_pytorch_build_tree on; gt_pytorch_link adds the parents of GPU events from the links. */
    uint32_t *parent;
    uint32_t *preorder, *subtree_end;
    uint32_t numbered;
    gt_ancestors ops_above;

    uint32_t *link_runtime, *link_gpu;
    size_t link_count;
    gt_map owners; /* from a process of GPU events (in most traces a device) to the process whose calls launch
                      them, as string ids; GT_NO_OWNER: several do. Empty if only one process launches */

    /* From gt_pytorch_link on. */
    uint8_t *recompute;
    uint8_t *grafted;
    uint32_t *late_roots;
    size_t late_root_count, late_root_capacity;
    uint32_t *graph_sources;
    size_t graph_first, graph_count;
} gt_pytorch_state;

struct gt_pytorch_read {
    gt_pytorch_state *state;
};
struct gt_pytorch_tree {
    gt_pytorch_state *state;
};
struct gt_pytorch_linked {
    gt_pytorch_state *state;
};

/* Finds the launches and their owners, which need no tree. */
void gt_state_find_links(gt_pytorch_state *state);

/* Appends cpu_ops that are not in the tree and have no parent. */
struct gt_new_row;
void gt_state_append_ops(gt_pytorch_state *state, const struct gt_new_row *rows, size_t count);

/* Copies counts and pointers into the view. Every function that other folders call and that changes the state
 * ends with this. */
void gt_state_publish(gt_pytorch_state *state);

/* Why a row is left out, by itself; GT_USED if it is not. */
static inline gt_fault gt_state_judge(const gt_pytorch_state *state, size_t row)
{
    uint8_t kind = state->kind[row];
    if (kind == GT_KIND_NO_EVENT) return GT_LEFT_NO_EVENT;
    bool needs_time = gt_kind_is_host(kind) || gt_kind_is_gpu(kind);
    if (needs_time && !isfinite(state->start_us[row] + state->dur_us[row])) return GT_LEFT_NO_TIME;
    if (state->dur_us[row] < 0 && (needs_time || gt_kind_is_annotation(kind))) return GT_LEFT_NEGATIVE;
    return GT_USED;
}
/* Takes a row from all analyses. */
void gt_state_leave_out(gt_pytorch_state *state, gt_account *account, gt_fault why, size_t row);
/* Leaves out GPU events that are in the file twice, and completes the account. */
void gt_state_finish_account(gt_pytorch_state *state);

static inline gt_str gt_state_name(const gt_pytorch_state *state, uint32_t row)
{
    return gt_interner_get(state->strings, state->name[row]);
}

/* Notes that a call launches a GPU event, on any thread. The parent of a GPU event is the last such call. */
static inline void gt_state_launch(gt_pytorch_state *state, uint32_t call, uint32_t gpu)
{
    uint32_t *parent = &state->parent[gpu], old = __atomic_load_n(parent, __ATOMIC_RELAXED);
    while ((old == GT_NO_EVENT || old < call) &&
           !__atomic_compare_exchange_n(parent, &old, call, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

/* By string id: 1 if the string starts with `prefix`; NULL if none does. The caller frees it. A trace has far
 * fewer names than events, so looking at names first is cheaper. */
uint8_t *gt_name_set_with_prefix(const gt_interner *strings, const char *prefix);

/* Finds ops_above, again after parents have changed. */
void gt_state_find_ops_above(gt_pytorch_state *state);
