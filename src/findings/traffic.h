/* What a pointwise kernel reads and writes, by the arguments of its op. */
#pragma once

#include "findings/shapes.h"

typedef struct gt_tensor_size {
    double elements;
    uint8_t element; /* gt_element_of its type; 0: unknown */
} gt_tensor_size;

typedef struct gt_traffic {
    const gt_tensor_size *inputs; /* in the arena */
    size_t input_count;
    double output; /* elements; 0: as few as a reduction gives */
    uint8_t output_element;
    double largest;  /* elements of the largest input or output; at least 1 */
    double row;      /* the last dimension of the first tensor */
    bool is_known;   /* sizes and types are recorded */
    bool is_neutral; /* picks single elements: its time counts, what it moves does not */
    bool is_copy;    /* a copy without another type */
    bool reduces;
} gt_traffic;

/* The traffic of an op's kernel. Kernels that reduce by their own name: gt_traffic_reduce. */
gt_traffic gt_traffic_of(const gt_shapes *shapes, uint32_t shape, gt_str name, gt_arena *arena);
/* The same op's traffic if this kernel of it reduces. */
gt_traffic gt_traffic_reduce(gt_traffic traffic);
/* Bytes of all inputs and the output, as far as their types are known. */
double gt_traffic_bytes(const gt_traffic *traffic);
