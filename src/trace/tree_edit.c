/* Editing the tree: its numbers become lists of children, the lists are changed, and a walk over them gives
 * out numbers again. */
#include "trace/tree_edit.h"

#include "base/length.h"
#include "base/memory.h"
#include "trace/calls.h"
#include "trace/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    uint8_t *taken; /* by row: the launch was wrapped */

    /* While the changes are made, by row: */
    uint32_t *around;       /* the event in whose list a row stands: not always its parent */
    uint32_t *first, *last; /* of its own list */
    uint32_t *before, *behind;
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

static void set_text(gt_cell *cells, uint64_t *present, size_t column, uint32_t id)
{
    cells[column].text = id;
    if (id != GT_TEXT_NONE) *present |= UINT64_C(1) << column;
}

static void add_to_store(gt_tree_edit *e)
{
    static const size_t inputs[] = {GT_EVENT_INPUT_DIMS, GT_EVENT_INPUT_TYPES, GT_EVENT_INPUT_STRIDES,
                                    GT_EVENT_CONCRETE_INPUTS};
    enum { INPUTS = GT_LENGTH(inputs) };
    gt_pytorch *trace = e->trace;
    uint32_t *columns[INPUTS];
    for (size_t i = 0; i < INPUTS; i++) columns[i] = gt_store_texts(trace->store, inputs[i]);
    gt_store_writer *writer = gt_store_writer_new(gt_event_columns, GT_EVENT_COLUMNS, trace->strings);
    for (size_t i = 0; i < e->count; i++) {
        const change *c = &e->changes[i];
        gt_cell cells[GT_EVENT_COLUMNS] = {0};
        uint64_t present = UINT64_C(1) << GT_EVENT_KIND;
        cells[GT_EVENT_KIND].integer = GT_KIND_CPU_OP;
        set_text(cells, &present, GT_EVENT_NAME, c->op.name);
        set_text(cells, &present, GT_EVENT_PROCESS, trace->process[c->row]);
        set_text(cells, &present, GT_EVENT_THREAD, trace->thread[c->row]);
        for (size_t k = 0; k < INPUTS; k++)
            set_text(cells, &present, inputs[k], columns[k][c->op.arguments_of]);
        gt_store_writer_add(writer, present, cells);
    }
    gt_store_append(trace->store, gt_store_writer_take(writer));
    gt_store_writer_free(writer);
    for (size_t i = 0; i < INPUTS; i++) free(columns[i]);
}

static void *longer(void *array, size_t count, size_t item_size)
{
    return gt_realloc(array, count * item_size);
}

static void make_room(gt_pytorch *trace, size_t count)
{
    uint32_t **ids[] = {&trace->uid,         &trace->name,         &trace->process,
                        &trace->thread,      &trace->parent,       &trace->preorder,
                        &trace->subtree_end, &trace->cpu_op_above, &trace->launch_op};
    for (size_t i = 0; i < GT_LENGTH(ids); i++) *ids[i] = longer(*ids[i], count, sizeof **ids[i]);
    double **times[] = {&trace->start_us, &trace->dur_us, &trace->end_us};
    for (size_t i = 0; i < GT_LENGTH(times); i++) *times[i] = longer(*times[i], count, sizeof **times[i]);
    trace->kind = longer(trace->kind, count, 1);
    trace->integral = longer(trace->integral, count, 1);
    trace->extra = longer(trace->extra, count, sizeof *trace->extra);
    memset(trace->extra, 0, count * sizeof *trace->extra);
}

static void add_rows(gt_tree_edit *e)
{
    gt_pytorch *trace = e->trace;
    add_to_store(e);
    make_room(trace, trace->count + e->count);
    for (size_t i = 0; i < e->count; i++) {
        const change *c = &e->changes[i];
        size_t row = trace->count + i;
        bool timed = c->place != LAUNCH;
        trace->uid[row] = (uint32_t)(trace->events + i);
        trace->kind[row] = GT_KIND_CPU_OP;
        trace->name[row] = c->op.name;
        trace->process[row] = trace->process[c->row];
        trace->thread[row] = trace->thread[c->row];
        trace->start_us[row] = timed ? trace->start_us[c->row] : (double)NAN;
        trace->dur_us[row] = timed ? trace->dur_us[c->row] : (double)NAN;
        trace->end_us[row] = timed ? trace->end_us[c->row] : (double)NAN;
        trace->integral[row] = timed ? trace->integral[c->row] : 0;
        trace->extra[row] = c->op.extra;
    }
    trace->count += e->count;
    trace->events += e->count;
}

/* ---- lists of children ---- */

/* Puts an event that is in no list behind the others in one. */
static void append_child(gt_tree_edit *e, uint32_t around, uint32_t row)
{
    uint32_t before = e->last[around];
    e->around[row] = around;
    e->before[row] = before;
    e->behind[row] = GT_NO_EVENT;
    *(before == GT_NO_EVENT ? &e->first[around] : &e->behind[before]) = row;
    e->last[around] = row;
}

/* Also the roots, in order. */
static gt_row_list make_lists(gt_tree_edit *e)
{
    gt_calls *calls = gt_calls_new(e->trace);
    size_t count = e->trace->count + e->count;
    uint32_t **lists[] = {&e->around, &e->first, &e->last, &e->before, &e->behind};
    for (size_t i = 0; i < GT_LENGTH(lists); i++) {
        *lists[i] = gt_alloc(count * sizeof **lists[i]);
        memset(*lists[i], 0xFF, count * sizeof **lists[i]);
    }
    gt_row_list roots = {0};
    for (uint32_t n = 0; n < e->trace->numbered; n++) {
        uint32_t row = calls->row_of[n];
        if (calls->caller[n] == GT_NO_EVENT)
            GT_PUSH(roots.items, roots.count, roots.capacity, row);
        else
            append_child(e, calls->row_of[calls->caller[n]], row);
    }
    gt_calls_free(calls);
    return roots;
}

static void wrap_children(gt_tree_edit *e, uint32_t row, uint32_t op)
{
    gt_pytorch *trace = e->trace;
    e->first[op] = e->first[row];
    e->last[op] = e->last[row];
    for (uint32_t child = e->first[op]; child != GT_NO_EVENT; child = e->behind[child]) {
        e->around[child] = op;
        trace->parent[child] = op;
    }
    e->first[row] = e->last[row] = GT_NO_EVENT;
    append_child(e, row, op);
    trace->parent[op] = row;
    trace->late_roots =
        gt_realloc(trace->late_roots, (trace->late_root_count + 1) * sizeof *trace->late_roots);
    trace->late_roots[trace->late_root_count++] = op;
}

static void wrap_event(gt_tree_edit *e, uint32_t row, uint32_t op)
{
    uint32_t around = e->around[row], before = e->before[row], behind = e->behind[row];
    e->around[op] = around;
    e->before[op] = before;
    e->behind[op] = behind;
    *(before == GT_NO_EVENT ? &e->first[around] : &e->behind[before]) = op;
    *(behind == GT_NO_EVENT ? &e->last[around] : &e->before[behind]) = op;
    append_child(e, op, row);
    e->trace->parent[op] = e->trace->parent[row];
    e->trace->parent[row] = op;
}

static void wrap_launch(gt_tree_edit *e, uint32_t row, uint32_t op)
{
    uint32_t around = e->around[row], before = e->before[row], behind = e->behind[row];
    *(before == GT_NO_EVENT ? &e->first[around] : &e->behind[before]) = behind;
    *(behind == GT_NO_EVENT ? &e->last[around] : &e->before[behind]) = before;
    append_child(e, around, op);
    append_child(e, op, row);
    e->trace->parent[op] = e->trace->parent[row];
}

static void make_changes(gt_tree_edit *e, size_t first_row)
{
    static void (*const make[])(gt_tree_edit *, uint32_t, uint32_t) = {
        [CHILDREN] = wrap_children, [EVENT] = wrap_event, [LAUNCH] = wrap_launch};
    for (size_t i = 0; i < e->count; i++)
        make[e->changes[i].place](e, e->changes[i].row, (uint32_t)(first_row + i));
}

/* ---- numbers ---- */

static void number_tree(gt_tree_edit *e, uint32_t root, uint32_t *number)
{
    gt_pytorch *trace = e->trace;
    for (uint32_t row = root;;) {
        trace->preorder[row] = (*number)++;
        gt_tree_inherit(trace, row);
        if (e->first[row] != GT_NO_EVENT) {
            row = e->first[row];
            continue;
        }
        for (;; row = e->around[row]) {
            trace->subtree_end[row] = *number;
            if (row == root || e->behind[row] != GT_NO_EVENT) break;
        }
        if (row == root) return;
        row = e->behind[row];
    }
}

static void edit_free(gt_tree_edit *e)
{
    free(e->changes);
    free(e->taken);
    free(e->around);
    free(e->first);
    free(e->last);
    free(e->before);
    free(e->behind);
    free(e);
}

size_t gt_tree_edit_finish(gt_tree_edit *e)
{
    gt_pytorch *trace = e->trace;
    size_t added = e->count, first_row = trace->count;
    if (added) {
        gt_row_list roots = make_lists(e);
        add_rows(e);
        make_changes(e, first_row);
        uint32_t number = 0;
        for (size_t i = 0; i < roots.count; i++) number_tree(e, roots.items[i], &number);
        trace->numbered = number;
        free(roots.items);
    }
    edit_free(e);
    return added;
}
