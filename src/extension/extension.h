/* Runs a user's Python extension of the PyTorch report: it may change the call tree, and say more of ops.
 *
 * The extension gets the tree in a process of its own, with what it may import (`TraceLens.PerfModel`) and
 * nothing of this one; what it did comes back as one document, and is checked as any other input. */
#ifndef GT_EXTENSION_EXTENSION_H
#define GT_EXTENSION_EXTENSION_H

#include "analysis/pytorch/extension.h"
#include "model/arch.h"
#include "table/table.h"
#include "trace/pytorch/pytorch.h"

typedef struct gt_extension_source {
    const char *file;        /* the extension */
    const char *trace_path;  /* the file that the trace was read from: JSON, plain or gzip */
    const char *python;      /* the interpreter; NULL: "python3" */
    const gt_gpu_arch *arch; /* NULL: not known */
} gt_extension_source;

typedef struct gt_extension_answer {
    gt_extension *extension; /* the caller frees it; analyses of the trace take it as an argument */
    gt_table **sheets;       /* more sheets, which the caller owns; texts are those of the trace */
    size_t sheet_count, sheet_capacity;
    size_t added; /* ops */
} gt_extension_answer;

/* On failure, which may be the extension's, the trace can only be freed. */
bool gt_extension_run(gt_pytorch_linked *trace, const gt_extension_source *source,
                      gt_extension_answer *answer, gt_error *error);

#endif
