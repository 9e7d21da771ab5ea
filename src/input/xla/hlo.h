/* Private to the reader of profiles: XLA's compiled modules (HLO), which profiles hold as serialized HloProto
 * messages.
 *
 * A module is indexed once (hlo.c); an instruction is decoded only when it is needed. All strings point into
 * the bytes of the message, which must outlive the module. */
#pragma once

#include "base/protobuf.h"
#include "trace/jax/jax.h"

typedef struct gt_hlo gt_hlo;

gt_hlo *gt_hlo_read(gt_str hlo_proto, gt_error *error); /* NULL if it is damaged */
void gt_hlo_free(gt_hlo *module);

/* Only the module's name: "jit_train_step". */
gt_str gt_hlo_module_name(gt_str hlo_proto);

#define GT_HLO_NONE UINT32_MAX

size_t gt_hlo_count(const gt_hlo *module);
gt_str gt_hlo_name(const gt_hlo *module, uint32_t instruction);
/* The instruction of this name, the last one if there are several; GT_HLO_NONE if there is none. */
uint32_t gt_hlo_find(const gt_hlo *module, gt_str name);
gt_hlo_source gt_hlo_source_of(const gt_hlo *module, uint32_t instruction);

/* All instructions in the order of the module's printed text: by computation, and in each by its schedule if
 * it has one. The caller frees the list. */
uint32_t *gt_hlo_lines(const gt_hlo *module, size_t *count);
bool gt_hlo_is_product(const gt_hlo *module, uint32_t instruction); /* a library call for a matrix product */

/* Whether the instruction has a record: roots and plain byte buffers have none (hlo_record.c). */
bool gt_hlo_has_record(const gt_hlo *module, uint32_t instruction);
/* Its record, with strings in `strings` and the list of operands in `arena`. */
gt_hlo_record gt_hlo_record_of(const gt_hlo *module, uint32_t instruction, gt_interner *strings,
                               gt_arena *arena);

/* ---- shared by hlo.c and hlo_record.c: the index of a module, and a decoded instruction ---- */

typedef struct hlo_place {
    gt_str message, name;
    int64_t id;
    uint32_t computation;
} hlo_place;

typedef struct hlo_computation {
    gt_str name;
    int64_t id, root_id;
    size_t begin, end;  /* range of its instructions */
    bool is_async_body; /* parameters and a root only, called by an async-start */
} hlo_computation;

struct gt_hlo {
    hlo_place *places;
    size_t count, capacity;
    hlo_computation *computations;
    size_t computation_count, computation_capacity;
    gt_str schedule; /* a message */
    gt_interner *names;
    gt_map by_name, by_id, by_computation; /* by_id: key (computation, id) */
};

typedef struct hlo_instruction {
    gt_str opcode, shape, metadata, target, config; /* shape and metadata are messages */
    gt_proto_ints operands, called;                 /* ids */
    int64_t parameter_number;
    bool has_control_predecessors;
} hlo_instruction;

typedef struct hlo_metadata {
    gt_str op_type, op_name, source_file, deduplicated_name, scheduling_name;
    int32_t source_line;
    bool has_profile_type;
} hlo_metadata;

hlo_instruction gt_hlo_decode(const gt_hlo *module, uint32_t instruction); /* free it with gt_hlo_forget */
void gt_hlo_forget(hlo_instruction *instruction);
hlo_metadata gt_hlo_metadata(gt_str message);

uint32_t gt_hlo_computation(const gt_hlo *module, int64_t id);                   /* or GT_HLO_NONE */
uint32_t gt_hlo_operand(const gt_hlo *module, uint32_t instruction, int64_t id); /* or GT_HLO_NONE */
bool gt_hlo_is_root(const gt_hlo *module, uint32_t instruction);
bool gt_hlo_is_product_call(gt_str target); /* by the name of the called function */
