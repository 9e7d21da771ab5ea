/* The kernels of a PyTorch trace and nothing else of it: of each name the shortest and the longest instance.
 */
#ifndef GT_INPUT_CHROME_KINETO_KERNELS_H
#define GT_INPUT_CHROME_KINETO_KERNELS_H

#include "base/error.h"
#include "base/interner.h"
#include "input/options.h"
#include "stream/stream.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct gt_kernel_instance {
    double dur_us, start_us;
    uint32_t place; /* of its event among the file's */
    bool is_whole;  /* the duration was written as an integer */
} gt_kernel_instance;

typedef struct gt_kernel_extremes {
    uint32_t name;
    gt_kernel_instance shortest; /* the first of equal ones */
    gt_kernel_instance longest;  /* the last of equal ones */
} gt_kernel_extremes;

typedef struct gt_kernel_list {
    gt_interner *strings; /* owned */
    gt_kernel_extremes *items;
    size_t count;
} gt_kernel_list;

/* Events of the category "kernel" that have ts and dur. NULL and a sentence where the trace cannot be read.
 */
gt_kernel_list *gt_kineto_read_kernels(const char *path, const gt_read_options *options, gt_error *error);
/* The same from a stream at its beginning. */
gt_kernel_list *gt_kineto_read_kernels_stream(gt_stream *stream, const gt_read_options *options,
                                              gt_error *error);
void gt_kernel_list_free(gt_kernel_list *list);

/* The shortest and longest of all kernels whose names begin with `name`, or are it where `exact`. False where
 * none is. */
bool gt_kernel_list_find(const gt_kernel_list *list, gt_str name, bool exact, gt_kernel_instance *shortest,
                         gt_kernel_instance *longest);

#endif
