/* What the files of the collective analysis share: kernels, slices of them, and what is measured of a kind.
 */
#ifndef GT_ANALYSIS_JAX_COLLECTIVE_SLICES_H
#define GT_ANALYSIS_JAX_COLLECTIVE_SLICES_H

#include "analysis/jax/collectives.h"

typedef enum collective_kind {
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    REDUCE_SCATTER,
    COLLECTIVE_PERMUTE,
    OTHER,
    KINDS
} collective_kind;

/* A communication kernel. */
typedef struct collective_event {
    int64_t node, gpu_rank, data_bytes;
    uint64_t correlation;
    double start_us, dur_us;
    uint32_t pid, name, module, process, id; /* texts; id: of the slice */
    uint32_t index;                          /* of the slice among those of its name */
    bool has_correlation;
    const gt_xla_collective *collective; /* NULL where no dump has it */
} collective_event;

/* One slice: the events that share an id, in the order of the table. */
typedef struct slice {
    uint32_t name, id;
    uint32_t *events;
    size_t count, capacity;
    double bandwidth, bus_bandwidth; /* means of its groups; NaN where it has none */
} slice;

typedef struct measures {
    double *bandwidths, *bus_bandwidths;
    size_t count, capacity, bus_capacity;
    int64_t operations;
    double data_bytes;
} measures;

struct gt_jax_collectives {
    int64_t gpus_per_node;
    gt_interner *strings;
    collective_event *events;
    size_t count, capacity;
    slice *slices; /* in the order first seen */
    size_t slice_count, slice_capacity;
    measures of_kind[KINDS];
    collective_kind seen[KINDS]; /* kinds in the order first seen */
    size_t seen_count;
};

#endif
