/* Runs a user's Python extension of the PyTorch report. It can change the call tree, define models and
 * categories of ops, and add sheets. docs/extensions.md describes it for users.
 *
 * The extension runs in its own process, which gets the call tree (the request) and returns what the
 * extension did (the reply). The reply is checked like any other input.
 *
 *     extension.c   writes the request, runs Python, reads the reply
 *     apply.c       applies the reply to the trace
 *     models.py     the classes that extensions can import from TraceLens.PerfModel
 *     run.py        the program that runs in the extension's process; describes request and reply
 *
 * Tests: tests/extension. */
#pragma once

#include "analysis/pytorch/extension.h"
#include "table/table.h"
#include "trace/pytorch/pytorch.h"

typedef struct gt_extension_source {
    const char *file;        /* the extension */
    const char *trace_path;  /* the file of the trace: JSON, plain or gzip */
    const char *python;      /* the interpreter; NULL: "python3" */
    const gt_gpu_arch *arch; /* NULL: unknown */
    int64_t timeout_s;       /* how long it may run; 0: any time */
} gt_extension_source;

/* What the extension returned, apart from its changes of the call tree. */
typedef struct gt_extension_reply {
    gt_extension *extension; /* freed by the caller; an argument of the analyses */
    gt_table **sheets;       /* additional sheets, owned by the caller; strings are those of the trace */
    size_t sheet_count, sheet_capacity;
    size_t added; /* number of new ops */
} gt_extension_reply;

/* Runs the extension and applies its reply. After a failure, whose message names the extension's file, the
 * trace can only be freed. */
bool gt_extension_run(gt_pytorch_linked *trace, const gt_extension_source *source, gt_extension_reply *answer,
                      gt_error *error);

/* Applies a reply, which is a whole JSON document, to the trace: the second half of gt_extension_run. */
bool gt_extension_apply(gt_pytorch_linked *trace, gt_str reply, gt_extension_reply *answer, gt_error *error);
