/* Replay: ops of a PyTorch trace as calls that can be made again elsewhere, without the program that was
 * traced, and the results of these calls.
 *
 *     ir.c         the intermediate representation (IR) of an op: its arguments by the op's schema
 *     selection.c  the ops of a trace, and the list of IRs that replay.py reads
 *     program.c    running Python programs: replay.py, and those of the batch report
 *     results.c    the sheet of what replay.py measured
 *     ops.py       builds tensors and calls an op; begins all Python programs that do so
 *     replay.py    the rest of the program that users get
 *     schemas.txt  the arguments of the ops of PyTorch that launch kernels
 *
 * The IR has the names of TraceLens' EventReplay, whose batched_replay.py reads it:
 *
 *     {"op_name": "aten::mm", "replay_ir": {"list_pos_args": [{"arg_name": "self", "arg_type": "Tensor",
 *      "value": {"shape": [4, 8], "dtype": "float", "strides": [8, 1], "init": "normal"}}, ...],
 *      "list_kwargs": []}}
 *
 * Arguments may have further keys: "low" and "high", the range of a tensor's values; "sorted"; "device",
 * "cpu" or "pinned", of a tensor that is not on the GPU. */
#pragma once

#include "json/writer.h"
#include "os/child.h"
#include "output/output.h"
#include "trace/pytorch/pytorch.h"

/* ---- the IR of an op ---- */

/* An op as in the trace: JSON strings, "" if absent. */
typedef struct gt_replay_op {
    const char *name; /* aten::mm */
    gt_str dims, types, strides, concrete;
    gt_str kernel; /* the name of its first kernel; may be empty */
} gt_replay_op;

/* What the arguments of ops are called, and which types they have. */
typedef struct gt_schemas gt_schemas;

/* Those of PyTorch's own ops that launch kernels; `text` has more, which are preferred, as PyTorch prints
 * them, one per line: "aten::mm(Tensor self, Tensor mat2) -> Tensor". NULL if it has
 * none. */
gt_schemas *gt_schemas_new(gt_str text, gt_error *error);
void gt_schemas_free(gt_schemas *schemas);

/* Adds the keys op_name and replay_ir to the open object. Traces do not have the types of the tensors of a
 * list: `list_type` is taken, such as "c10::BFloat16" (NULL: not known). False if the op cannot be replayed;
 * the error says why, and nothing is added. */
bool gt_replay_add_ir(gt_json_writer *w, const gt_schemas *schemas, const gt_replay_op *op,
                      const char *list_type, gt_error *error);

/* ---- the ops of a trace ---- */

typedef struct gt_replay_selection {
    const char *op_regex, *kernel_regex; /* of names of ops, and of one of their kernels; NULL: all */
    size_t most;                         /* ops with other arguments, by GPU time; 0: all */
    const char *list_type;               /* see gt_replay_add_ir */
} gt_replay_selection;

typedef struct gt_replay_list {
    gt_buffer ir;                      /* the JSON document */
    gt_table *skipped;                 /* the sheet replay_skipped: ops without an IR, and why */
    size_t count;                      /* of ops in the IR */
    double ir_us, selected_us, all_us; /* GPU time of these, of those selected, and of all ops */
} gt_replay_list;

/* The ops that launched kernels, each once per name and arguments, the most GPU time first. */
bool gt_replay_list_make(gt_replay_list *list, const gt_linked_view *trace, const gt_schemas *schemas,
                         const gt_replay_selection *selection, gt_error *error);
void gt_replay_list_free(gt_replay_list *list);

/* ---- running Python ---- */

/* The text of a program: ops.py and after it `rest` (NULL: replay.py). The caller frees it. */
char *gt_replay_program(const char *rest);

typedef struct gt_program_result {
    gt_buffer output, errors; /* what it printed; the owner frees both */
    int exit_code;            /* like a shell: 127 if there is no such program */
    bool timed_out;           /* after timeout_s */
} gt_program_result;

/* Runs a program, with further variables (NULL: none), for at most timeout_s (0: any time). */
gt_program_result gt_program_run(const char *const *argv, const char *const *environment, int64_t timeout_s);
void gt_program_free(gt_program_result *run);
/* Runs Python on `source`; modules next to the traces and in the current folder are not imported. */
gt_program_result gt_program_run_python(const char *source, const char *const *arguments,
                                        const char *const *environment, int64_t timeout_s);
bool gt_program_has_torch(int64_t timeout_s);
gt_str gt_program_last_line(const gt_program_result *run); /* of the errors: Python's message */

/* ---- results ---- */

/* The sheet replay, from the text of replay_results.json:
 *
 *     name, Input Dims, Input type     of the op, as in the IR
 *     operation_count, ex_UID          calls with these arguments in the trace, and the first one
 *     trace_us, replay_us              median time of its kernels, and those of the ops that it
 *                                      calls, in the trace and alone
 *     trace_per_replay                 their ratio; empty, as lost_ms, if other kernels ran
 *     lost_ms                          (trace_us - replay_us) * operation_count
 *     kernels                          "same" or "other" in the replay; empty if unknown
 *     note                             why there is no time, or which one it is
 *
 * The greatest lost_ms first. */
gt_table *gt_replay_results(gt_str text, gt_interner *strings, gt_error *error);
