/* Parts of a report that are made at the same time.
 *
 * The parts read the same trace. Each has strings of its own, except for one at most, which may add to those
 * of the trace; a part that adds none may share these. Sheets are moved to the strings of the trace when they
 * are taken. So the result is the same whatever part is done first. */
#pragma once

#include "table/table_list.h"

typedef struct gt_side_parts {
    gt_interner *strings; /* of the trace */
    size_t count;
    size_t at_once;  /* how many at the same time; 0: all */
    bool in_turn;    /* one part after the other, all with the strings of the trace */
    uint32_t shares; /* bit i: part i has the strings of the trace; all from 32 on have their own */
    /* By part: */
    gt_interner **own; /* its strings */
    gt_table_list *sheets;
    gt_error *errors;
} gt_side_parts;

/* Copies the strings. `strings`, `count`, `at_once`, `in_turn` and `shares` must be set, all else zero. */
void gt_side_parts_begin(gt_side_parts *parts);
/* Calls work for each part. If it returns false for one of them, the report fails with that part's error, or
 * that of the first such part; the messages of later parts are dropped. */
bool gt_side_parts_make(gt_side_parts *parts, bool (*work)(void *context, size_t part), void *context,
                        gt_error *error);
/* Moves the sheets of a part to `tables`. */
void gt_side_parts_take(gt_side_parts *parts, size_t part, gt_table_list *tables);
/* Frees the strings, and the sheets that were not taken. */
void gt_side_parts_end(gt_side_parts *parts);
