/* Parameters of ops of many ranks as columns: `param: M`, `param: bias`, each of the type of its values.
 *
 * A rank's parameters are kept as texts that tell their type, so that ranks can be put behind each other
 * whatever their columns hold; which types the columns have is decided once all are there. */
#ifndef GT_ANALYSIS_BATCH_PARAMS_H
#define GT_ANALYSIS_BATCH_PARAMS_H

#include "model/model.h"
#include "table/table.h"

#define GT_PARAM_PREFIX "param: "

/* Adds one text column for each parameter that any op has, in the order first seen; results[i] is of row i.
 */
void gt_batch_params_add(gt_table *table, const gt_model_result *const *results);
/* Gives those columns their types: INT, FLOAT or BOOL where all values are such, else TEXT as Python prints
 * them. */
void gt_batch_params_settle(gt_table *table);

#endif
