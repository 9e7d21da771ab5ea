/* A JAX profile: what ran on the GPUs, as columns, and what the compiler recorded about each op.
 *
 * Events are in the order of their ids: by GPU, then thread, then start, then longest first. */
#pragma once

#include "base/base.h"
#include "trace/account.h"

#define GT_JAX_NONE UINT32_MAX

/* What a profile says about a GPU. Numbers are 0 and strings GT_STR_NONE if it does not. */
typedef struct gt_jax_device {
    uint32_t name, vendor; /* string ids: "NVIDIA H200"; "Nvidia", "AMD" */
    uint64_t cores, clock_khz, memory_bytes;
    uint64_t compute_major, compute_minor;
} gt_jax_device;

typedef struct gt_jax_gpu {
    uint32_t pid;
    uint32_t plane; /* "/device:GPU:0": string id */
    gt_jax_device device;
    size_t begin, end;  /* its events */
    size_t derived;     /* events that profile viewers add after them: they use ids but are in no sheet */
    uint64_t first_uid; /* of the event at begin */
} gt_jax_gpu;

/* A thread of a GPU: one stream. */
typedef struct gt_jax_line {
    uint32_t gpu;
    uint32_t tid;
    uint32_t thread_name; /* string id */
    bool is_counter;      /* has values, not events of work; first in its GPU */
    bool is_derived;      /* made by a profile viewer */
} gt_jax_line;

/* An HLO instruction as the compiler printed it, in the parts that reports show. String ids; GT_STR_NONE if
 * the instruction has no such part. */
typedef struct gt_hlo_record {
    uint32_t output;          /* bf16[8,16]{1,0} */
    const uint32_t *operands; /* the outputs of its operands; of others, such as constants, their text */
    size_t operand_count;
    uint32_t metadata;           /* metadata={op_name="..." source_line=7 */
    uint32_t custom_call_target; /* custom_call_target="__cublas$gemm" */
    uint32_t backend_config;     /* backend_config={...} */
    uint32_t gemm_type;          /* of a matrix product: the type of all operands; NONE if they differ */
} gt_hlo_record;

/* Which part of the program an instruction comes from. */
typedef struct gt_hlo_source {
    gt_str op_name, op_type, file;
    int64_t line;
    bool found;
} gt_hlo_source;

/* An op of a module, as events name it. */
typedef struct gt_jax_op {
    uint32_t hlo_op, hlo_module; /* string ids, NONE if events name none */
    uint32_t tf_op;              /* string id; only if there is no hlo_op */
    bool has_program;
    uint64_t program_id;
    uint32_t record;      /* index into gt_jax.records; GT_JAX_NONE if the module does not have it */
    gt_hlo_source source; /* from the module with number program_id */
} gt_jax_op;

/* A matrix product of a module, whether it ran or not. */
typedef struct gt_jax_product {
    uint32_t op; /* its name: string id */
    gt_hlo_record record;
} gt_jax_product;

/* What a thread of the host does: a function in which it waits for arrays, or an annotation that is a step of
 * a server. */
typedef struct gt_jax_host_event {
    int64_t start_ps, end_ps;
    uint32_t name; /* string id: "$api.py:2757 block_until_ready", "step[DECODE bs=8]" */
    uint32_t tid;
    bool is_step;
} gt_jax_host_event;

typedef enum gt_jax_kind { GT_JAX_OTHER, GT_JAX_KERNEL, GT_JAX_MEMCPY, GT_JAX_MEMSET } gt_jax_kind;

typedef enum gt_jax_flag {
    GT_JAX_HAS_CORRELATION = 1,
    GT_JAX_HAS_GROUP = 2,
    GT_JAX_HAS_SCOPE = 4,
    GT_JAX_IS_DESCRIBED = 8, /* has the data from which viewers make derived lines */
} gt_jax_flag;

typedef struct gt_jax {
    gt_interner *strings; /* owned */
    gt_arena arena;       /* owns sources and operand lists */

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

    gt_jax_host_event *host; /* in the order of the file */
    size_t host_count, host_capacity;

    gt_account account; /* of the events of GPUs */

    /* One entry per event. */
    size_t count, capacity;
    int64_t *start_ps, *dur_ps;
    uint64_t *correlation;
    double *launch_us;          /* when the host launched it; NaN if the trace does not say */
    uint32_t *name, *line, *op; /* op: GT_JAX_NONE for none */
    uint8_t *flags;             /* gt_jax_flag bits */
    int64_t *group, *scope;     /* ids of viewers' groupings; NULL if no event has any */
    uint8_t *kind;              /* gt_jax_kind; NULL before gt_jax_find_kinds */
} gt_jax;

gt_jax *gt_jax_new(void);
void gt_jax_free(gt_jax *trace);

uint64_t gt_jax_uid(const gt_jax *trace, size_t event);
double gt_jax_start_us(const gt_jax *trace, size_t event);
double gt_jax_dur_us(const gt_jax *trace, size_t event);
gt_str gt_jax_name(const gt_jax *trace, size_t event);
const gt_jax_line *gt_jax_line_of(const gt_jax *trace, size_t event);
uint32_t gt_jax_pid(const gt_jax *trace, size_t event);
uint32_t gt_jax_hlo_op(const gt_jax *trace, size_t event); /* string id, NONE for none */
/* The record of the event's op, NULL if it has none. Only events that the host launched have one. */
const gt_hlo_record *gt_jax_record(const gt_jax *trace, size_t event);

/* Whether a string starts with `lower_case`, ignoring the case of ASCII letters. */
bool gt_str_starts_with_nocase(gt_str text, const char *lower_case);

/* ---- for readers, in this order ---- */

typedef struct gt_jax_event {
    int64_t start_ps, dur_ps;
    uint64_t correlation;
    double launch_us;
    int64_t group, scope;
    uint32_t name, line, op;
    uint8_t flags;
} gt_jax_event;

/* Adds an event to the last GPU in the list. */
void gt_jax_add_event(gt_jax *trace, const gt_jax_event *event);
/* Sorts the events of each GPU, which are [begin, end). */
void gt_jax_sort_events(gt_jax *trace);

/* The parent of each name scope. */
typedef struct gt_jax_scopes {
    gt_map parent; /* from a scope's number to the index of its parent in ids */
    int64_t *ids;
    size_t count, capacity;
} gt_jax_scopes;

/* How many events a profile viewer would add to a GPU, whose events are sorted. They use ids, so the ids of
 * later GPUs depend on their number. */
size_t gt_jax_count_derived(const gt_jax *trace, const gt_jax_gpu *gpu, const gt_jax_scopes *scopes);

/* Fills `kind`. */
void gt_jax_find_kinds(gt_jax *trace);

/* ---- collectives of a compiled program ---- */

/* The ranks that take part in one exchange. */
typedef struct gt_xla_group {
    const int64_t *ranks;
    size_t count;
} gt_xla_group;

typedef struct gt_xla_collective {
    uint32_t name;     /* its scheduling_name: string id */
    uint32_t replicas; /* "{{0,1},{2,3}}", "[2,4]<=[8]": string id; NONE if the program has none */
    const gt_xla_group *groups;
    size_t group_count;
    int64_t data_bytes; /* of one rank */
} gt_xla_collective;

typedef struct gt_xla {
    gt_interner *strings; /* borrowed */
    gt_arena arena;       /* owns groups and ranks */
    gt_xla_collective *items;
    size_t count, capacity;
    gt_map by_name; /* the first of each name */
} gt_xla;

void gt_xla_free(gt_xla *program);

void gt_xla_add(gt_xla *program, const gt_xla_collective *collective);
const gt_xla_collective *gt_xla_find(const gt_xla *program, uint32_t name); /* NULL if there is none */

/* ---- one stream ---- */

/* An event of one GPU stream, with the path of the op that it belongs to. */
typedef struct gt_stream_event {
    double start_us, dur_us;
    uint32_t name, path, hlo_op; /* string ids; path: "jit(f)/Transformer/block_3/attn/q/dot_general" */
} gt_stream_event;

typedef struct gt_gpu_stream {
    gt_interner *strings;   /* borrowed */
    gt_stream_event *items; /* by start */
    size_t count;
} gt_gpu_stream;

void gt_gpu_stream_free(gt_gpu_stream *stream);

/* Index of the first event that starts at or after a time. */
size_t gt_gpu_stream_from(const gt_gpu_stream *stream, double start_us);
