/* The call tree as lists of children, which can be changed. Only src/trace uses this. */
#ifndef GT_TRACE_PYTORCH_TREE_LISTS_H
#define GT_TRACE_PYTORCH_TREE_LISTS_H

#include "trace/pytorch/calls.h"

/* By row; GT_NO_EVENT where there is none. */
typedef struct gt_tree_lists {
    uint32_t *around;       /* the event in whose list a row stands: not always its parent */
    uint32_t *first, *last; /* of its own list */
    uint32_t *before, *behind;
    gt_row_list roots; /* in order */
} gt_tree_lists;

/* The lists of the tree as it is, with room for so many rows. */
gt_tree_lists gt_tree_lists_make(const gt_pytorch *trace, size_t rows);
void gt_tree_lists_free(gt_tree_lists *lists);

/* Puts an event that is in no list behind the others in one. */
void gt_tree_lists_append(gt_tree_lists *lists, uint32_t around, uint32_t row);
/* Takes an event out of the list in which it stands. */
void gt_tree_lists_remove(gt_tree_lists *lists, uint32_t row);

/* Gives out the tree's numbers anew. The roots are in no list. */
void gt_tree_lists_number(const gt_tree_lists *lists, gt_pytorch *trace);

/* A row to come. */
typedef struct gt_new_row {
    uint32_t name, process, thread;  /* text ids */
    double start_us, dur_us, end_us; /* NaN: none */
    uint8_t integral;                /* GT_INTEGRAL_* */
    uint32_t dims, types, strides, concrete;
    int64_t sequence; /* GT_EVENT_NONE: none */
    uint32_t extra;   /* as gt_pytorch.extra */
} gt_new_row;

/* Puts cpu_ops behind the trace's rows; they are in no list and have no parent. */
void gt_tree_append_rows(gt_pytorch *trace, const gt_new_row *rows, size_t count);

#endif
