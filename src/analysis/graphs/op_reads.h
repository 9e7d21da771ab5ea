/* What an op has to read from memory however it computes: its weights, and its part of the KV cache per token
 * of context. Both are in the shapes of its inputs, and neither depends on the batch size, so that the
 * reference of a replayed graph tells them, too. */
#pragma once

#include "json/values.h"
#include "trace/pytorch/pytorch.h"

typedef struct gt_op_reads {
    uint32_t op;         /* row of the op that tells them; GT_NO_EVENT: none does */
    bool is_cached;      /* it writes keys and values to the cache: kv_bytes are of the cache's type */
    double weight_bytes; /* of its weights; of experts those of one token. 0: it has none */
    double kv_bytes;     /* of its keys and values per token; 0: it has none */
} gt_op_reads;

/* Of the innermost op around a call that is known to read any. `strings` are the trace's, or a copy of them
 * where another thread adds to the trace's; `values` are those of the same strings. */
gt_op_reads gt_op_reads_around(const gt_linked_view *trace, const gt_interner *strings, gt_values *values,
                               uint32_t call);
