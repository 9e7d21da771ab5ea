/* What the two files of the HLO reader share: the index of a module and an instruction read from it. */
#ifndef GT_INPUT_XLA_HLO_MODULE_H
#define GT_INPUT_XLA_HLO_MODULE_H

#include "base/map.h"
#include "input/xla/hlo.h"
#include "base/protobuf.h"

#include <string.h>

typedef struct hlo_place {
    gt_str message, name;
    int64_t id;
    uint32_t computation;
} hlo_place;

typedef struct hlo_computation {
    gt_str name;
    int64_t id, root_id;
    size_t begin, end;  /* its instructions */
    bool is_async_body; /* of parameters and a root alone, called by an async-start */
} hlo_computation;

struct gt_hlo {
    hlo_place *places;
    size_t count, capacity;
    hlo_computation *computations;
    size_t computation_count, computation_capacity;
    gt_str schedule; /* message */
    gt_interner *names;
    gt_map by_name, by_id, by_computation; /* by_id: computation, id */
};

typedef struct hlo_instruction {
    gt_str opcode, shape, metadata, target, config; /* shape and metadata: messages */
    gt_proto_ints operands, called;                 /* ids */
    int64_t parameter_number;
    bool has_control_predecessors;
} hlo_instruction;

typedef struct hlo_metadata {
    gt_str op_type, op_name, source_file, deduplicated_name, scheduling_name;
    int32_t source_line;
    bool has_profile_type;
} hlo_metadata;

hlo_instruction gt_hlo_decode(const gt_hlo *module, uint32_t instruction); /* gt_hlo_forget frees its lists */
void gt_hlo_forget(hlo_instruction *instruction);
hlo_metadata gt_hlo_metadata(gt_str message);

uint32_t gt_hlo_computation(const gt_hlo *module, int64_t id);                   /* GT_HLO_NONE for none */
uint32_t gt_hlo_operand(const gt_hlo *module, uint32_t instruction, int64_t id); /* GT_HLO_NONE for none */
bool gt_hlo_is_root(const gt_hlo *module, uint32_t instruction);
bool gt_hlo_is_product_call(gt_str target); /* by the name of the library's function */

#endif
