/* Parameters of ops as columns of a sheet: `param: M`, `param: bias`, one per parameter that any op of the
 * sheet has, in the order first seen. Cells are strings whose form depends on the whole column, as in pandas:
 * integers are printed as floats if a row lacks the parameter or has a float. So values are collected first,
 * and printed when all are known. Each string is marked with the type of its value (gt_shown), so that
 * workbooks have numbers; absent values are empty. With params_as_text, as pandas makes them, all are
 * plain strings, and absent values are "None" or "nan". */
#pragma once

#include "analysis/pytorch/perf.h"

typedef struct gt_op_params gt_op_params;

/* For ops that were measured with perf, whose results it borrows. */
gt_op_params *gt_op_params_new(const gt_perf *perf);
void gt_op_params_free(gt_op_params *params); /* accepts NULL */
/* Adds an op and the result of its model. Equal results are one. */
void gt_op_params_add(gt_op_params *params, uint32_t name, const gt_model_result *result);
/* After all ops are added: makes the table, with the column `name` and the parameters, one row per distinct
 * op. */
const gt_table *gt_op_params_finish(gt_op_params *params);
const gt_table *gt_op_params_table(const gt_op_params *params);
/* The row of a result in that table. */
uint32_t gt_op_params_row(const gt_op_params *params, const gt_model_result *result);
