/* What the name of a memory copy says, as PyTorch's profiler and the runtimes write it. */
#pragma once

#include "base/base.h"

enum { GT_COPY_TEXT_MAX = 64 };

/*     name                                 direction   kind
 *     Memcpy HtoD (Pageable -> Device)     HtoD        pageable
 *     Memcpy DtoH (Device -> Pinned)       DtoH        pinned
 *     Memcpy HtoD (Host -> Device)         HtoD        host         (ROCm does not say which host memory)
 *     Memcpy DtoD (Device -> Device)       DtoD        device
 *     Memcpy HtoH (Pageable -> Pinned)     HtoH        pageable -> pinned
 *     CopyHostToDevice                     HtoD        host
 *     __amd_rocclr_copyBuffer              unknown     unknown
 *
 * The kind is that of the memory that is not the device's own; "device" if both are. */
typedef struct gt_copy_name {
    char direction[GT_COPY_TEXT_MAX];
    char kind[GT_COPY_TEXT_MAX];
} gt_copy_name;

gt_copy_name gt_copy_name_read(gt_str name);

/* Whether a kernel is a copy by its name: ROCm up to 7.1 records copies as kernels. */
bool gt_is_copy_kernel(gt_str name);
