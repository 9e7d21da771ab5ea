/* What the names of a trace's events say, found out once for each name.
 *
 * A trace has a hundred times as many events as names. So the schedule has a set of bits for each name
 * (gt_schedule.name_bits, by string id), and rules ask for a bit instead of comparing text:
 *
 *     if (gt_name_has(schedule, op->name, GT_NAME_COMMUNICATION)) ...
 *
 * To ask something new, add a bit here and a row to the table in names.c. */
#pragma once

#include "findings/schedule/schedule.h"

#define GT_NAME_BIT(n) (UINT64_C(1) << (n))

/* Calls of the GPU's programming interface. */
#define GT_NAME_SYNC   GT_NAME_BIT(0) /* waits for a stream, an event or the device */
#define GT_NAME_FREE   GT_NAME_BIT(1) /* gives memory back, which waits too */
#define GT_NAME_ALLOC  GT_NAME_BIT(2) /* gets or maps memory */
#define GT_NAME_COPY   GT_NAME_BIT(3) /* copies */
#define GT_NAME_MODULE GT_NAME_BIT(4) /* loads code */
#define GT_NAME_LAUNCH GT_NAME_BIT(5) /* launches kernels or a graph */
#define GT_NAME_HIP    GT_NAME_BIT(6) /* belongs to AMD's interface */

/* Python functions and annotations. */
#define GT_NAME_DATA      GT_NAME_BIT(7) /* loading of input data */
#define GT_NAME_OPTIMIZER GT_NAME_BIT(8) /* Optimizer.step of any optimizer */
#define GT_NAME_RECOMPUTE GT_NAME_BIT(9) /* activation checkpointing; also of ops */
#define GT_NAME_FRAMEWORK                                                                                    \
    GT_NAME_BIT(10) /* of PyTorch, installed packages or Python itself: not the user's code; of              \
                       annotations, Optimizer.zero_grad */
#define GT_NAME_INTERNAL     GT_NAME_BIT(11) /* begins with '<': no function with a file */
#define GT_NAME_BUILT_IN     GT_NAME_BIT(12) /* <built-in ...> */
#define GT_NAME_RUN_BACKWARD GT_NAME_BIT(13) /* hands over to autograd's thread */
#define GT_NAME_STEP         GT_NAME_BIT(14) /* ProfilerStep#N; some versions of PyTorch record it as an op */
#define GT_NAME_WAIT                                                                                         \
    GT_NAME_BIT(28) /* a built-in that waits: a lock, a queue, a socket; a CPU collective                    \
                     */
#define GT_NAME_INNER                                                                                        \
    GT_NAME_BIT(29) /* PyTorch's own, or a part of a function, as a lambda: not whose code this is */
#define GT_NAME_LAYER    GT_NAME_BIT(25) /* nn.Module: Linear_0 */
#define GT_NAME_PROFILER GT_NAME_BIT(26) /* PyTorch's profiler; also of ops */
#define GT_NAME_COMPILER GT_NAME_BIT(27) /* torch.compile at work, not the code that it made */

/* cpu_ops. */
#define GT_NAME_BACKWARD GT_NAME_BIT(15) /* autograd evaluates a function */
#define GT_NAME_FORWARD_ONLY                                                                                 \
    GT_NAME_BIT(16) /* an op that backward work never calls, except to repeat forward work */
#define GT_NAME_NO_WORK    GT_NAME_BIT(17) /* only changes metadata of a tensor */
#define GT_NAME_AS_STRIDED GT_NAME_BIT(18) /* the op whose own time shows what recording costs */
#define GT_NAME_CHECK      GT_NAME_BIT(24) /* often makes a value only to be read: a check or a reduction */
#define GT_NAME_PART_OF_CHECK                                                                                \
    GT_NAME_BIT(26) /* computes element by element, or picks elements; with a check, it may be part of it */
#define GT_NAME_CPU_COLLECTIVE                                                                               \
    GT_NAME_BIT(27) /* a collective, which runs on the CPU if it launches nothing */

/* GPU events. */
#define GT_NAME_COMMUNICATION GT_NAME_BIT(19) /* a kernel of a collective; also the annotation of one */
#define GT_NAME_TO_HOST       GT_NAME_BIT(20) /* a copy from the GPU to the host */
#define GT_NAME_FROM_HOST     GT_NAME_BIT(21) /* a copy from the host to the GPU */
#define GT_NAME_PAGEABLE      GT_NAME_BIT(22) /* a copy from or to pageable memory of the host */
#define GT_NAME_FUSED         GT_NAME_BIT(23) /* a kernel that an optimizer runs for many parameters at once */

/* What kinds of events have a name. */
enum {
    GT_NAMES_CALL = 1,
    GT_NAMES_OP = 2,     /* cpu_op */
    GT_NAMES_PYTHON = 4, /* Python function */
    GT_NAMES_NOTE = 8,   /* annotation */
    GT_NAMES_GPU = 16,   /* kernel, copy or memset */
};

/* The GT_NAME_ bits of a name that events of these kinds (GT_NAMES_ bits) have. */
uint64_t gt_name_bits_of(gt_str name, unsigned kinds);

/* Fills schedule->name_bits: seen[id] has the GT_NAMES_ bits of each string id below `count`. */
void gt_find_name_bits(gt_schedule *schedule, const uint8_t *seen, uint32_t count);

static inline bool gt_name_has(const gt_schedule *schedule, uint32_t name, uint64_t bits)
{
    return name < schedule->name_count && (schedule->name_bits[name] & bits) != 0;
}
