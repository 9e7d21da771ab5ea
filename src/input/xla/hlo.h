/* XLA's compiled modules (HLO) as profiles hold them: serialized HloProto messages.
 *
 * A module is indexed once; instructions are read only when they are asked for. Everything points into the
 * bytes of the message, which must outlive the module. */
#ifndef GT_INPUT_XLA_HLO_H
#define GT_INPUT_XLA_HLO_H

#include "base/error.h"
#include "base/memory.h"
#include "trace/jax/jax.h"

typedef struct gt_hlo gt_hlo;

gt_hlo *gt_hlo_read(gt_str hlo_proto, gt_error *error); /* NULL where the message is damaged */
void gt_hlo_free(gt_hlo *module);

/* The module's name, without reading the rest: "jit_train_step". */
gt_str gt_hlo_module_name(gt_str hlo_proto);

#define GT_HLO_NONE UINT32_MAX

size_t gt_hlo_count(const gt_hlo *module);
gt_str gt_hlo_name(const gt_hlo *module, uint32_t instruction);
/* The instruction of this name, the last one where there are several; GT_HLO_NONE where there is none. */
uint32_t gt_hlo_find(const gt_hlo *module, gt_str name);
gt_hlo_source gt_hlo_source_of(const gt_hlo *module, uint32_t instruction);

/* Instructions in the order of the module's text: computations as they stand, the instructions of each as
 * they are scheduled, where they are. The caller frees the list. */
uint32_t *gt_hlo_lines(const gt_hlo *module, size_t *count);
bool gt_hlo_is_product(const gt_hlo *module, uint32_t instruction); /* calls a library for a matrix product */

/* Whether the text of the module has a line of this instruction that is read as a record: roots and bare
 * buffers of bytes have none. */
bool gt_hlo_has_record(const gt_hlo *module, uint32_t instruction);
/* Its record, with texts in `strings` and the list of operands in `arena`. */
gt_hlo_record gt_hlo_record_of(const gt_hlo *module, uint32_t instruction, gt_interner *strings,
                               gt_arena *arena);

#endif
