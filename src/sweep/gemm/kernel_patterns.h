/* Which kernels should a profiler be told to look at? A table's column kernel_name as one regular expression
 * for rocprofv3, the job file around it, and a list for people. */
#ifndef GT_SWEEP_GEMM_KERNEL_PATTERNS_H
#define GT_SWEEP_GEMM_KERNEL_PATTERNS_H

#include "base/buffer.h"
#include "table/table.h"

typedef struct gt_kernel_pattern {
    uint32_t name;     /* what is looked for: a text id */
    uint32_t original; /* the kernel's whole name where that is longer, else GT_STR_NONE */
} gt_kernel_pattern;

typedef struct gt_kernel_patterns {
    gt_kernel_pattern *items; /* in byte order of the names */
    size_t count, shortened;
    gt_interner *strings; /* borrowed */
    gt_buffer regex;
} gt_kernel_patterns;

/* With `exact`, whole names and nothing around them; else names without templates, arguments and namespaces,
 * anywhere in a kernel's name. `names` is a column of text. */
void gt_kernel_patterns_make(gt_kernel_patterns *patterns, const gt_column *names, size_t count,
                             gt_interner *strings, bool exact);
void gt_kernel_patterns_free(gt_kernel_patterns *patterns);

/* rocprofv3's job file (YAML) and the list of names; both name the file that the kernels are from. */
void gt_kernel_patterns_job(const gt_kernel_patterns *patterns, const char *source, gt_buffer *yaml);
void gt_kernel_patterns_list(const gt_kernel_patterns *patterns, const char *source, gt_buffer *list);

#endif
