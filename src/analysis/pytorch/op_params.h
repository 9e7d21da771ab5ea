/* Parameters of ops as columns of a sheet: `param: M`, `param: bias`, one for each parameter that any of the
 * sheet's ops has, in the order first seen.
 *
 * A column's cells are texts whose form depends on the whole column, as in the tables of pandas: integers are
 * printed as floats where a row lacks the parameter or has a float. */
#ifndef GT_ANALYSIS_PYTORCH_OP_PARAMS_H
#define GT_ANALYSIS_PYTORCH_OP_PARAMS_H

#include "model/model.h"
#include "table/table.h"

typedef struct gt_op_params gt_op_params;
gt_op_params *gt_op_params_new(gt_interner *strings);
void gt_op_params_free(gt_op_params *params);

/* An op and what its model says of it; ops with the same result are one. */
void gt_op_params_add(gt_op_params *params, uint32_t name, const gt_model_result *result);

/* Once all are in: a column `name` and the columns of parameters, one row for each different op. The table is
 * the params'; nothing is added behind this. */
const gt_table *gt_op_params_finish(gt_op_params *params);
const gt_table *gt_op_params_table(const gt_op_params *params); /* the same again */
/* The op's row of it. Ops with the same name and the same texts have one row. */
uint32_t gt_op_params_row(const gt_op_params *params, const gt_model_result *result);

#endif
