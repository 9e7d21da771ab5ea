/* Numbers become lists, and a walk over the lists gives out numbers again. */
#include "trace/pytorch/tree_lists.h"

#include "base/length.h"
#include "base/memory.h"
#include "trace/pytorch/tree.h"

#include <stdlib.h>
#include <string.h>

/* ---- lists ---- */

gt_tree_lists gt_tree_lists_make(const gt_pytorch *trace, size_t rows)
{
    gt_tree_lists lists = {0};
    gt_calls *calls = gt_calls_new(trace);
    uint32_t **arrays[] = {&lists.around, &lists.first, &lists.last, &lists.before, &lists.behind};
    for (size_t i = 0; i < GT_LENGTH(arrays); i++) {
        *arrays[i] = gt_alloc(rows * sizeof **arrays[i]);
        memset(*arrays[i], 0xFF, rows * sizeof **arrays[i]);
    }
    for (uint32_t n = 0; n < trace->numbered; n++) {
        uint32_t row = calls->row_of[n];
        if (calls->caller[n] == GT_NO_EVENT)
            GT_PUSH(lists.roots.items, lists.roots.count, lists.roots.capacity, row);
        else
            gt_tree_lists_append(&lists, calls->row_of[calls->caller[n]], row);
    }
    gt_calls_free(calls);
    return lists;
}

void gt_tree_lists_free(gt_tree_lists *lists)
{
    gt_free(lists->around);
    gt_free(lists->first);
    gt_free(lists->last);
    gt_free(lists->before);
    gt_free(lists->behind);
    gt_free(lists->roots.items);
}

void gt_tree_lists_append(gt_tree_lists *l, uint32_t around, uint32_t row)
{
    uint32_t before = l->last[around];
    l->around[row] = around;
    l->before[row] = before;
    l->behind[row] = GT_NO_EVENT;
    *(before == GT_NO_EVENT ? &l->first[around] : &l->behind[before]) = row;
    l->last[around] = row;
}

void gt_tree_lists_remove(gt_tree_lists *l, uint32_t row)
{
    uint32_t around = l->around[row], before = l->before[row], behind = l->behind[row];
    *(before == GT_NO_EVENT ? &l->first[around] : &l->behind[before]) = behind;
    *(behind == GT_NO_EVENT ? &l->last[around] : &l->before[behind]) = before;
    l->around[row] = l->before[row] = l->behind[row] = GT_NO_EVENT;
}

/* ---- numbers ---- */

static void number_tree(const gt_tree_lists *l, gt_pytorch *trace, uint32_t root, uint32_t *number)
{
    for (uint32_t row = root;;) {
        trace->preorder[row] = (*number)++;
        gt_tree_inherit(trace, row);
        if (l->first[row] != GT_NO_EVENT) {
            row = l->first[row];
            continue;
        }
        for (;; row = l->around[row]) {
            trace->subtree_end[row] = *number;
            if (row == root || l->behind[row] != GT_NO_EVENT) break;
        }
        if (row == root) return;
        row = l->behind[row];
    }
}

void gt_tree_lists_number(const gt_tree_lists *l, gt_pytorch *trace)
{
    uint32_t number = 0;
    memset(trace->preorder, 0xFF, trace->count * sizeof *trace->preorder);
    memset(trace->subtree_end, 0xFF, trace->count * sizeof *trace->subtree_end);
    for (size_t i = 0; i < l->roots.count; i++) number_tree(l, trace, l->roots.items[i], &number);
    trace->numbered = number;
}

/* ---- new rows ---- */

static void set_text(gt_store_cell *cells, uint64_t *present, size_t column, uint32_t id)
{
    cells[column].text = id;
    if (id != GT_STR_NONE) *present |= UINT64_C(1) << column;
}

static void add_to_store(gt_pytorch *trace, const gt_new_row *rows, size_t count)
{
    gt_store_writer *writer = gt_store_writer_new(gt_event_columns, GT_EVENT_COLUMNS, trace->strings);
    for (size_t i = 0; i < count; i++) {
        const gt_new_row *row = &rows[i];
        gt_store_cell cells[GT_EVENT_COLUMNS] = {0};
        uint64_t present = UINT64_C(1) << GT_EVENT_KIND | UINT64_C(1) << GT_EVENT_SEQUENCE;
        cells[GT_EVENT_KIND].integer = GT_KIND_CPU_OP;
        cells[GT_EVENT_SEQUENCE].integer = row->sequence;
        set_text(cells, &present, GT_EVENT_NAME, row->name);
        set_text(cells, &present, GT_EVENT_PROCESS, row->process);
        set_text(cells, &present, GT_EVENT_THREAD, row->thread);
        set_text(cells, &present, GT_EVENT_INPUT_DIMS, row->dims);
        set_text(cells, &present, GT_EVENT_INPUT_TYPES, row->types);
        set_text(cells, &present, GT_EVENT_INPUT_STRIDES, row->strides);
        set_text(cells, &present, GT_EVENT_CONCRETE_INPUTS, row->concrete);
        gt_store_writer_add(writer, present, cells);
    }
    gt_store_append(trace->store, gt_store_writer_take(writer));
    gt_store_writer_free(writer);
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
    if (trace->recompute) {
        trace->recompute = longer(trace->recompute, count, 1);
        memset(trace->recompute + trace->count, 0, count - trace->count);
    }
    size_t known = trace->extra ? trace->count : 0;
    trace->extra = longer(trace->extra, count, sizeof *trace->extra);
    memset(trace->extra + known, 0, (count - known) * sizeof *trace->extra);
}

void gt_tree_append_rows(gt_pytorch *trace, const gt_new_row *rows, size_t count)
{
    add_to_store(trace, rows, count);
    make_room(trace, trace->count + count);
    for (size_t i = 0; i < count; i++) {
        size_t row = trace->count + i;
        trace->uid[row] = (uint32_t)(trace->events + i);
        trace->kind[row] = GT_KIND_CPU_OP;
        trace->name[row] = rows[i].name;
        trace->process[row] = rows[i].process;
        trace->thread[row] = rows[i].thread;
        trace->start_us[row] = rows[i].start_us;
        trace->dur_us[row] = rows[i].dur_us;
        trace->end_us[row] = rows[i].end_us;
        trace->integral[row] = rows[i].integral;
        trace->extra[row] = rows[i].extra;
        trace->parent[row] = trace->preorder[row] = trace->subtree_end[row] = GT_NO_EVENT;
        trace->cpu_op_above[row] = trace->launch_op[row] = GT_NO_EVENT;
    }
    trace->count += count;
    trace->events += count;
}
