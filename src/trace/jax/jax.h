/* A JAX profile: what ran on the GPUs, in columns, and what the compiler said of each op.
 *
 * Events are in the order of their ids: by GPU, then thread, then start, then longest first. */
#ifndef GT_TRACE_JAX_JAX_H
#define GT_TRACE_JAX_JAX_H

#include "base/memory.h"
#include "base/interner.h"

#include <stdbool.h>
#include <stdint.h>

#define GT_JAX_NONE UINT32_MAX

typedef struct gt_jax_gpu {
    uint32_t pid;
    uint32_t plane;     /* "/device:GPU:0": text */
    size_t begin, end;  /* its events */
    size_t derived;     /* events that profile viewers add behind them: they take ids, and are in no sheet */
    uint64_t first_uid; /* of the event at begin */
} gt_jax_gpu;

/* A thread of a GPU: one stream. */
typedef struct gt_jax_line {
    uint32_t gpu;
    uint32_t tid;
    uint32_t thread_name; /* text */
    bool is_counter;      /* of values, not of work: first in its GPU */
    bool is_derived;      /* made by a profile viewer */
} gt_jax_line;

/* An instruction as the compiler printed it, in the pieces that reports show. Texts are ids; GT_STR_NONE
 * where the instruction has no such piece. */
typedef struct gt_hlo_record {
    uint32_t output;          /* bf16[8,16]{1,0} */
    const uint32_t *operands; /* the outputs of its operands, or what stands in their place */
    size_t operand_count;
    uint32_t metadata;           /* metadata={op_name="..." source_line=7 */
    uint32_t custom_call_target; /* custom_call_target="__cublas$gemm" */
    uint32_t backend_config;     /* backend_config={...} */
    uint32_t gemm_type;          /* of a matrix product: the type that all operands have; NONE: they differ */
} gt_hlo_record;

/* What an instruction says of the program that it comes from. */
typedef struct gt_hlo_source {
    gt_str op_name, op_type, file;
    int64_t line;
    bool found;
} gt_hlo_source;

/* An op of a module, as events name it. */
typedef struct gt_jax_op {
    uint32_t hlo_op, hlo_module; /* texts, NONE where events name none */
    uint32_t tf_op;              /* text; only where there is no hlo_op */
    bool has_program;
    uint64_t program_id;
    uint32_t record;      /* GT_JAX_NONE where the module has none of it */
    gt_hlo_source source; /* from the module whose number is program_id */
} gt_jax_op;

/* A matrix product of a module, whether it ran or not. */
typedef struct gt_jax_product {
    uint32_t op; /* its name: text */
    gt_hlo_record record;
} gt_jax_product;

typedef enum gt_jax_kind { GT_JAX_OTHER, GT_JAX_KERNEL, GT_JAX_MEMCPY, GT_JAX_MEMSET } gt_jax_kind;

typedef enum gt_jax_flag {
    GT_JAX_HAS_CORRELATION = 1,
    GT_JAX_HAS_GROUP = 2,
    GT_JAX_HAS_SCOPE = 4,
    GT_JAX_IS_DESCRIBED = 8, /* has what viewers make lines of their own from */
} gt_jax_flag;

typedef struct gt_jax {
    gt_interner *strings;
    gt_arena arena; /* of sources and operand lists */

    gt_jax_gpu *gpus; /* ascending by pid; only those with events */
    size_t gpu_count, gpu_capacity;
    gt_jax_line *lines;
    size_t line_count, line_capacity;
    gt_jax_op *ops;
    size_t op_count, op_capacity;
    gt_hlo_record *records;
    size_t record_count, record_capacity;
    gt_jax_product *products; /* of the module that was asked for, in the order of its text */
    size_t product_count, product_capacity;

    /* One entry an event. */
    size_t count, capacity;
    int64_t *start_ps, *dur_ps;
    uint64_t *correlation;
    double *launch_us;          /* when the host launched it; NaN where that is not in the trace */
    uint32_t *name, *line, *op; /* op: GT_JAX_NONE for none */
    uint8_t *flags;             /* gt_jax_flag, joined */
    int64_t *group, *scope;     /* ids of viewers' groupings; NULL where no event has any */
    uint8_t *kind;              /* gt_jax_kind, once all are read */
} gt_jax;

gt_jax *gt_jax_new(void);
void gt_jax_free(gt_jax *trace);

uint64_t gt_jax_uid(const gt_jax *trace, size_t event);
double gt_jax_start_us(const gt_jax *trace, size_t event);
double gt_jax_dur_us(const gt_jax *trace, size_t event);
gt_str gt_jax_name(const gt_jax *trace, size_t event);
const gt_jax_line *gt_jax_line_of(const gt_jax *trace, size_t event);
uint32_t gt_jax_pid(const gt_jax *trace, size_t event);
uint32_t gt_jax_hlo_op(const gt_jax *trace, size_t event); /* text, NONE for none */
/* The record of the event's op, NULL where it has none. Only what the host launched has one. */
const gt_hlo_record *gt_jax_record(const gt_jax *trace, size_t event);

/* What an event on this thread is. */
gt_jax_kind gt_jax_kind_of(gt_str thread_name, gt_str event_name);

/* The part of the text from a letter of either case on: whether it begins so. */
bool gt_str_starts_with_nocase(gt_str text, const char *lower_case);

/* ---- while a profile is read ---- */

typedef struct gt_jax_event {
    int64_t start_ps, dur_ps;
    uint64_t correlation;
    double launch_us;
    int64_t group, scope;
    uint32_t name, line, op;
    uint8_t flags;
} gt_jax_event;

/* Adds an event of the last GPU in the list. */
void gt_jax_add_event(gt_jax *trace, const gt_jax_event *event);
/* Brings the events of each GPU, which begin..end tells, into their order. */
void gt_jax_sort_events(gt_jax *trace);
void gt_jax_find_kinds(gt_jax *trace);

#endif
