/* Times by a simulator of GEMMs, an external program.
 *
 * Where the environment has GEMM_SIMULATOR_PATH, that script is run by Python for every size of a GEMM that
 * the report meets, and for the tiles of attention. It is told the sizes, the precision and the GPU, and
 * prints Time=12.34. */
#ifndef GT_MODEL_SIMULATOR_H
#define GT_MODEL_SIMULATOR_H

#include "model/arch.h"
#include "model/model.h"

typedef struct gt_simulator gt_simulator;

/* NULL where no simulator is set, or no GPU is known. `python` is the interpreter, NULL for "python". Both
 * arguments must outlive the simulator. */
gt_simulator *gt_simulator_new(const gt_gpu_arch *arch, const char *python);
void gt_simulator_free(gt_simulator *simulator);

/* The time of an op in microseconds; NaN where there is none, as for ops of other families. False where the
 * simulator was asked about a GEMM and had no answer: then the op counts as one that its model does not
 * understand. */
bool gt_simulator_time(gt_simulator *simulator, const gt_model *model, const gt_model_result *result,
                       bool backward, double *simulated_us);

#endif
