/* What an inference server writes into the names of its steps: how many queries and keys the step had, summed
 * up over its requests.
 *
 *     execute_40_context_1(sq3sk5sqsq9sqsk15)_generation_37(sq37sk34489sqsq37sqsk34489)      vLLM
 *     step[DECODE bs=64 g_sq=128 g_sqsq=256 g_sqsk=262144 g_sk=131072]                        SGLang
 *     decode[bs=32 tok=128 d=32 sqsq=512 sqsk=262144 sk=65536]                                ATOM */
#ifndef GT_MODEL_ANNOTATION_H
#define GT_MODEL_ANNOTATION_H

#include "base/interner.h"

#include <stdbool.h>

typedef struct gt_chunk {
    __int128 sq, sk;     /* queries; keys */
    __int128 sqsq, sqsk; /* over the requests: the sum of sq * sq; of sq * sk */
} gt_chunk;

typedef struct gt_step_lengths {
    gt_chunk context, generation; /* prefill; decode */
} gt_step_lengths;

/* False where the text is not such a name, or one without these sums. */
bool gt_annotation_lengths(gt_str name, gt_step_lengths *lengths);

#endif
