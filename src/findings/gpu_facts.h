/* What several rules about GPU time need to know, found once before they run: which cpu_op launched which GPU
 * ops, its shapes, what kernel names say, and where attention runs as several simple ops. */
#pragma once

#include "findings/schedule/schedule.h"
#include "findings/shapes.h"
#include "model/arch.h"

/* Shares of peak rates that good kernels reach. From experience, not measured per GPU. */
#define GT_REACH_GEMM        0.70
#define GT_REACH_CONVOLUTION 0.45
#define GT_REACH_MEMORY      0.80
#define GT_REACH_ATTENTION   0.50

/* A GPU as the rules see it; peak rates are dense ones, per ns. */
typedef struct gt_gpu_rates {
    const char *name; /* of the device as the trace gives it, or by its properties; "" if both say nothing */
    double half_flops, tf32_flops, float_flops, bytes; /* per ns; 0: unknown device */
    int64_t multiprocessors;                           /* 0: unknown */
    int64_t compute_major; /* CUDA's compute capability; -1: unknown or not CUDA */
    bool is_amd;
    bool is_deduced; /* the name, by its properties (GT_BY_PROPERTIES) */
} gt_gpu_rates;

/* The built-in GPU with the name that a trace gives; NULL if there is none. Board names match too: "NVIDIA
 * A100-PG509-200" is an A100. */
const gt_gpu_arch *gt_gpu_arch_of_device(const char *name);
/* The rates of a GPU: those of `arch` if it is not NULL, otherwise those of gt_gpu_arch_of_device. */
gt_gpu_rates gt_gpu_rates_find(const char *device_name, const gt_gpu_arch *arch, int64_t compute_major,
                               bool is_amd);
/* Whether the GPU multiplies matrices much faster in half precision than in FP32. */
bool gt_gpu_has_matrix_units(const gt_gpu_rates *gpu);

/* What the name of a kernel says. */
enum {
    GT_KERNEL_SEEN = 1,
    GT_KERNEL_TF32 = 2,    /* computes in TF32 on tensor cores */
    GT_KERNEL_MATRIX = 4,  /* multiplies FP32 matrices, TF32 included */
    GT_KERNEL_NARROW = 8,  /* reads half-precision matrices in parts of less than 16 bytes */
    GT_KERNEL_LAYOUT = 16, /* changes the layout of a tensor */
    GT_KERNEL_COPY = 32,
    GT_KERNEL_FUSABLE = 64, /* pointwise, a reduction, a normalisation, a softmax or a loss */
    GT_KERNEL_REDUCES = 128,
};

/* A cpu_op that launched GPU ops itself, not through another cpu_op. */
typedef struct gt_op_source {
    uint32_t event;
    uint32_t shape;     /* index of gt_shapes */
    uint32_t op_count;  /* GPU ops */
    uint32_t attention; /* index of gt_gpu_facts.attentions; GT_NONE */
    int64_t kernel_ns;  /* of its kernels, copies and memsets excluded */
} gt_op_source;

/* Attention that runs as several simple ops: forward and, if it was recorded, backward. */
typedef struct gt_attention {
    uint32_t event; /* whose site it has */
    uint32_t shape; /* of that event */
    bool is_math;   /* aten::_scaled_dot_product_attention_math; otherwise bmm, softmax, bmm */
    bool has_backward;
    bool is_slow; /* takes more than 1.5 times what a fused kernel needs; false on unknown GPUs */
    bool is_odd;  /* no fused kernel supports the size of a head */
    gt_operand_type type;
    double flops, head;
    size_t op_count;
    int64_t total_ns; /* of its GPU ops */
    double fused_ns;  /* what a fused kernel needs */
} gt_attention;

typedef struct gt_gpu_facts {
    gt_shapes *shapes;
    gt_op_source *sources;
    size_t source_count;
    uint32_t *op_source; /* by GPU op; GT_NONE: no launch, or no cpu_op around it */
    uint8_t *names;      /* GT_KERNEL_ bits by GPU op */
    gt_attention *attentions;
    size_t attention_count, attention_capacity;
    bool has_types; /* some source has recorded types */
} gt_gpu_facts;

gt_gpu_facts *gt_gpu_facts_new(const gt_schedule *schedule, const gt_gpu_rates *gpu);
void gt_gpu_facts_free(gt_gpu_facts *facts);

/* attention.c: fills attentions and the sources' `attention`; `events` are those
 * of the sources. */
void gt_gpu_facts_find_attention(gt_gpu_facts *facts, const gt_schedule *schedule, const gt_gpu_rates *gpu,
                                 const gt_row_set *events);

/* The shape of what launched a GPU op; NULL if that is unknown. */
static inline const gt_op_shape *gt_gpu_facts_shape(const gt_gpu_facts *facts, size_t op)
{
    uint32_t source = facts->op_source[op];
    return source == GT_NONE ? NULL : gt_shapes_get(facts->shapes, facts->sources[source].shape);
}
/* The slow attention that a GPU op belongs to; NULL: none. */
static inline const gt_attention *gt_gpu_facts_attention(const gt_gpu_facts *facts, size_t op)
{
    uint32_t source = facts->op_source[op];
    if (source == GT_NONE || facts->sources[source].attention == GT_NONE) return NULL;
    const gt_attention *attention = &facts->attentions[facts->sources[source].attention];
    return attention->is_slow ? attention : NULL;
}
