/* Editing the tree: its numbers become lists of children, and the lists are changed. */
#include "trace/pytorch/tree_edit.h"

#include "base/length.h"
#include "base/memory.h"
#include "trace/pytorch/tree_lists.h"

#include <math.h>
#include <stdlib.h>

typedef enum place { CHILDREN, EVENT, LAUNCH } place;

typedef struct change {
    place place;
    uint32_t row; /* around whose children, around which event, around which launch */
    gt_new_op op;
} change;

struct gt_tree_edit {
    gt_pytorch *trace;
    change *changes;
    size_t count, capacity;
    uint8_t *taken;      /* by row: the launch was wrapped */
    gt_tree_lists lists; /* while the changes are made */
};

gt_tree_edit *gt_tree_edit_begin(gt_pytorch *trace)
{
    gt_tree_edit *e = gt_alloc_zero(1, sizeof *e);
    e->trace = trace;
    e->taken = gt_alloc_zero(trace->count, 1);
    return e;
}

static void add_change(gt_tree_edit *e, place where, uint32_t row, gt_new_op op)
{
    GT_PUSH(e->changes, e->count, e->capacity, ((change){where, row, op}));
}

void gt_tree_wrap_children(gt_tree_edit *e, uint32_t row, gt_new_op op)
{
    add_change(e, CHILDREN, row, op);
}

void gt_tree_wrap_event(gt_tree_edit *e, uint32_t row, gt_new_op op)
{
    add_change(e, EVENT, row, op);
}

bool gt_tree_wrap_launch(gt_tree_edit *e, uint32_t runtime, gt_new_op op)
{
    if (e->taken[runtime] || e->trace->parent[runtime] == GT_NO_EVENT) return false;
    e->taken[runtime] = 1;
    add_change(e, LAUNCH, runtime, op);
    return true;
}

/* ---- new rows ---- */

static void add_rows(gt_tree_edit *e)
{
    static const size_t inputs[] = {GT_EVENT_INPUT_DIMS, GT_EVENT_INPUT_TYPES, GT_EVENT_INPUT_STRIDES,
                                    GT_EVENT_CONCRETE_INPUTS};
    enum { INPUTS = GT_LENGTH(inputs) };
    gt_pytorch *trace = e->trace;
    uint32_t *columns[INPUTS];
    for (size_t i = 0; i < INPUTS; i++) columns[i] = gt_store_string_ids(trace->store, inputs[i]);
    gt_new_row *rows = gt_alloc(e->count * sizeof *rows);
    for (size_t i = 0; i < e->count; i++) {
        uint32_t of = e->changes[i].row, like = e->changes[i].op.arguments_of;
        bool timed = e->changes[i].place != LAUNCH;
        rows[i] = (gt_new_row){
            .name = e->changes[i].op.name,
            .process = trace->process[of],
            .thread = trace->thread[of],
            .start_us = timed ? trace->start_us[of] : (double)NAN,
            .dur_us = timed ? trace->dur_us[of] : (double)NAN,
            .end_us = timed ? trace->end_us[of] : (double)NAN,
            .integral = timed ? trace->integral[of] : 0,
            .dims = columns[0][like],
            .types = columns[1][like],
            .strides = columns[2][like],
            .concrete = columns[3][like],
            .sequence = GT_EVENT_NONE,
            .extra = e->changes[i].op.extra,
        };
    }
    gt_tree_append_rows(trace, rows, e->count);
    gt_free(rows);
    for (size_t i = 0; i < INPUTS; i++) gt_free(columns[i]);
}

/* ---- lists of children ---- */

static void wrap_children(gt_tree_edit *e, uint32_t row, uint32_t op)
{
    gt_pytorch *trace = e->trace;
    gt_tree_lists *l = &e->lists;
    l->first[op] = l->first[row];
    l->last[op] = l->last[row];
    for (uint32_t child = l->first[op]; child != GT_NO_EVENT; child = l->behind[child]) {
        l->around[child] = op;
        trace->parent[child] = op;
    }
    l->first[row] = l->last[row] = GT_NO_EVENT;
    gt_tree_lists_append(l, row, op);
    trace->parent[op] = row;
    trace->late_roots =
        gt_realloc(trace->late_roots, (trace->late_root_count + 1) * sizeof *trace->late_roots);
    trace->late_roots[trace->late_root_count++] = op;
}

static void wrap_event(gt_tree_edit *e, uint32_t row, uint32_t op)
{
    gt_tree_lists *l = &e->lists;
    uint32_t around = l->around[row], before = l->before[row], behind = l->behind[row];
    l->around[op] = around;
    l->before[op] = before;
    l->behind[op] = behind;
    *(before == GT_NO_EVENT ? &l->first[around] : &l->behind[before]) = op;
    *(behind == GT_NO_EVENT ? &l->last[around] : &l->before[behind]) = op;
    gt_tree_lists_append(l, op, row);
    e->trace->parent[op] = e->trace->parent[row];
    e->trace->parent[row] = op;
}

static void wrap_launch(gt_tree_edit *e, uint32_t row, uint32_t op)
{
    uint32_t around = e->lists.around[row];
    gt_tree_lists_remove(&e->lists, row);
    gt_tree_lists_append(&e->lists, around, op);
    gt_tree_lists_append(&e->lists, op, row);
    e->trace->parent[op] = e->trace->parent[row];
}

static void make_changes(gt_tree_edit *e, size_t first_row)
{
    static void (*const make[])(gt_tree_edit *, uint32_t, uint32_t) = {
        [CHILDREN] = wrap_children, [EVENT] = wrap_event, [LAUNCH] = wrap_launch};
    for (size_t i = 0; i < e->count; i++)
        make[e->changes[i].place](e, e->changes[i].row, (uint32_t)(first_row + i));
}

static void edit_free(gt_tree_edit *e)
{
    gt_free(e->changes);
    gt_free(e->taken);
    gt_free(e);
}

size_t gt_tree_edit_finish(gt_tree_edit *e)
{
    gt_pytorch *trace = e->trace;
    size_t added = e->count, first_row = trace->count;
    if (added) {
        e->lists = gt_tree_lists_make(trace, first_row + added);
        add_rows(e);
        make_changes(e, first_row);
        gt_tree_lists_number(&e->lists, trace);
        gt_tree_lists_free(&e->lists);
    }
    edit_free(e);
    return added;
}
