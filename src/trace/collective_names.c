/* Names of collectives, as the frameworks and the kernels write them. */
#include "trace/collective_names.h"

static const struct {
    const char *name;
    gt_collective_type type;
} collectives[] = {
    {"allreduce", GT_COLLECTIVE_ALLREDUCE},
    {"allreduce_coalesced", GT_COLLECTIVE_ALLREDUCE},
    {"reducescatter", GT_COLLECTIVE_REDUCESCATTER},
    {"_reduce_scatter_base", GT_COLLECTIVE_REDUCESCATTER},
    {"reduce_scatter_tensor_coalesced", GT_COLLECTIVE_REDUCESCATTER},
    {"allgather", GT_COLLECTIVE_ALLGATHER},
    {"all_gather", GT_COLLECTIVE_ALLGATHER},
    {"_allgather_base", GT_COLLECTIVE_ALLGATHER},
    {"all_gather_into_tensor_coalesced", GT_COLLECTIVE_ALLGATHER},
    {"allgather_into_tensor_coalesced", GT_COLLECTIVE_ALLGATHER},
    {"all_to_all", GT_COLLECTIVE_ALLTOALL},
    {"all_to_allv", GT_COLLECTIVE_ALLTOALLV},
};

/* Kernels whose events do not name the collective: part of the kernel name, in any case, to the collective.
 */
static const struct {
    const char *part, *collective;
} kernels[] = {
    {"cross_device_reduce", "allreduce"},
};

gt_collective_type gt_collective_type_of(const char *collective)
{
    for (size_t i = 0; i < GT_LENGTH(collectives); i++)
        if (strcmp(collective, collectives[i].name) == 0) return collectives[i].type;
    return GT_COLLECTIVE_OTHER;
}

const char *gt_collective_of_kernel(gt_str kernel)
{
    for (size_t i = 0; i < GT_LENGTH(kernels); i++)
        if (gt_str_contains_nocase(kernel, kernels[i].part)) return kernels[i].collective;
    return NULL;
}
