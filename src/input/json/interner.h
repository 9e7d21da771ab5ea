/* From the raw bytes of a JSON string or value to the id of its meaning.
 *
 * A trace of a million events has a few thousand different texts, so each is checked and decoded once, when
 * it is first seen, and found by its raw bytes from then on. */
#ifndef GT_INPUT_JSON_INTERNER_H
#define GT_INPUT_JSON_INTERNER_H

#include "base/interner.h"

typedef struct gt_json_interner gt_json_interner;

typedef enum gt_json_interner_kind { GT_INTERN_STRINGS, GT_INTERN_VALUES } gt_json_interner_kind;

/* A table for strings, given without their quotes, or for whole values. `strings` get the meanings. */
gt_json_interner *gt_json_interner_new(gt_json_interner_kind kind, gt_interner *strings);
void gt_json_interner_free(gt_json_interner *intern);

/* The raw text's number, GT_STR_NONE where it is not sound JSON. GT_STREAM_PAD bytes behind it can be read.
 */
uint32_t gt_json_interner_add(gt_json_interner *intern, gt_str raw);

/* What a raw text's number stands for: its bytes, and the id of its meaning in the strings. The meaning of a
 * value is its JSON text without white space between tokens. */
gt_str gt_json_interner_raw(const gt_json_interner *intern, uint32_t raw_id);
uint32_t gt_json_interner_decoded(const gt_json_interner *intern, uint32_t raw_id);

#endif
