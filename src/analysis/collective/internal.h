/* What the files of this folder share: the parts of sheets with one row per collective, lists of
 * aggregations, and lists of integers in strings. */
#pragma once

#include "analysis/collective/sheets.h"
#include "table/operations.h"

/* ---- sheets with one row per collective (match.c) ---- */

/* Do all ranks of a collective have the same value in each of these columns? By collective: 1 + the first one
 * in which they differ; 0: they agree. The caller frees it. */
uint8_t *gt_collective_compare(const gt_collective_matches *matches, const gt_col *columns,
                               size_t column_count);

/* Whether to keep a collective whose ranks differ in a column, or in none: what does `mismatch` say? Counts
 * disagreements. Returns false if that is an error; the error names the column and, if `show_values`, the
 * values. */
bool gt_collective_check(const gt_collective_matches *matches, size_t collective, gt_col differing,
                         bool show_values, gt_mismatch mismatch, size_t *disagreeing, bool *keep,
                         gt_error *error);

/* A table with these columns of nccl_long and one row per collective, as its first rank has it. */
gt_table *gt_collective_first_ranks(const gt_collective_matches *matches, const uint32_t *collectives,
                                    size_t count, gt_sheet sheet, const gt_col *columns, size_t column_count);

/* Sets a cell of an INT or FLOAT column. */
void gt_collective_set_number(gt_table *table, size_t column, size_t row, double value);

/* Columns for each rank. They come in two parts: rank_0_ts, rank_0_dur, rank_1_ts, rank_1_dur, and then
 * rank_0_wait_time, rank_1_wait_time. Ranks that only later collectives have are added at the end, again in
 * two parts. */
typedef struct gt_rank_columns {
    const gt_column_head *parts[2]; /* "ts" makes rank_0_ts */
    size_t part_counts[2];
    size_t *firsts[2]; /* by rank: the index of the first column of each part; SIZE_MAX: not added yet */
} gt_rank_columns;

void gt_rank_columns_begin(gt_rank_columns *columns, const gt_collective_matches *matches);
/* Adds the columns of a collective's ranks that do not exist yet, with null cells. */
void gt_rank_columns_add(gt_rank_columns *columns, gt_table *table, const gt_collective_matches *matches,
                         size_t collective);
void gt_rank_columns_end(gt_rank_columns *columns);

/* ---- traces that begin with different steps (shifts.c) ---- */

typedef struct gt_collective_shifts {
    int64_t *shifts; /* by group, which are the rows of one rank and process group: what to add to the
                        position of its collectives; owned */
    uint32_t *skips; /* by row: what to add as well from this one on; owned; NULL: nothing */
} gt_collective_shifts;

/* `by_start` are the rows in order of their starts, steps[row] is as in gt_collectives_number_by_steps. */
gt_collective_shifts gt_collective_shifts_find(const gt_table *rows, const gt_groups *groups,
                                               const uint32_t *by_start, const int64_t *steps,
                                               gt_collective_unlike *unlike);

/* ---- different process groups of one name (groups.c) ---- */

/* Gives process groups with the same name and no rank in common names of their own, and so collectives of
 * different kinds that name no group, if ranks have several streams. The rows are those of all
 * ranks, in order of ranks, before their JSON is read. Does nothing if that was done. */
void gt_collectives_separate_groups(gt_table *rows);
/* No kernel says its process group. */
bool gt_all_groups_unknown(const gt_table *rows);
/* The rows of a rank are next to each other. */
bool gt_ranks_have_one_stream(const gt_table *rows);

/* ---- lists of aggregations (aggregations.c) ---- */

/* The aggregates of a gt_table_group call, collected at run time. {0} is an empty list. */
typedef struct gt_aggregate_list {
    gt_aggregate *items;
    bool *squared; /* by item: square the result, which makes var from std */
    size_t count, capacity, squared_capacity;
    gt_arena names;
} gt_aggregate_list;

void gt_aggregate_list_add(gt_aggregate_list *list, gt_col column, gt_group_kind kind, gt_col name);
/* Adds one aggregate per requested aggregation, named "<column>_<aggregation>". */
void gt_aggregate_list_add_wanted(gt_aggregate_list *list, gt_col column, const gt_aggregations *wanted);
/* Calls gt_table_group and empties the list. */
gt_table *gt_aggregate_list_group(gt_aggregate_list *list, const gt_table *table, const gt_col *keys,
                                  size_t key_count, gt_group_options options);

/* ---- element types and lists in strings (collectives.c) ---- */

/* Bytes per element of a dtype: 4 for "Float"; 0 if the dtype is unknown. */
int gt_collective_dtype_bytes(const char *dtype);

/* The integers in a string such as "[0, 1, 2]", "(0, 1)" or "[0, 1, ...]". {0} is an empty list. */
typedef struct gt_int_list {
    int64_t *items;
    size_t count, capacity;
    bool truncated; /* contains "...": PyTorch writes at most 30 elements */
    bool is_list;   /* only integers between brackets */
} gt_int_list;

/* Replaces the list by all runs of digits in the string. */
void gt_int_list_read(gt_int_list *list, gt_str string);
void gt_int_list_free(gt_int_list *list);
/* The elements of each unit of split sizes, which are those of a tensor with so many elements: PyTorch counts
 * rows of the first dimension. 1 if the sizes do not divide the elements. */
double gt_collective_split_elements(const gt_int_list *splits, double elements);
