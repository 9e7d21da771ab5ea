/* Interning of JSON strings and values by their raw bytes.
 *
 * A trace of a million events has a few thousand different strings, so each is checked and decoded once, when
 * it is first seen, and found by its raw bytes from then on. For example, the raw bytes a\u0062 and ab get
 * different raw ids, but both raw ids lead to the same id of the decoded string "ab" in the caller's
 * interner. */
#ifndef GT_INPUT_JSON_INTERNER_H
#define GT_INPUT_JSON_INTERNER_H

#include "base/interner.h"

typedef struct gt_json_interner gt_json_interner;

typedef enum gt_json_interner_kind { GT_INTERN_STRINGS, GT_INTERN_VALUES } gt_json_interner_kind;

/* A table for strings, given without their quotes, or for whole values. Decoded strings are added to
 * `strings`. */
gt_json_interner *gt_json_interner_new(gt_json_interner_kind kind, gt_interner *strings);
void gt_json_interner_free(gt_json_interner *intern);

/* The id of the raw bytes, GT_STR_NONE if they are not valid JSON. GT_STREAM_PAD bytes after them must be
 * readable. */
uint32_t gt_json_interner_add(gt_json_interner *intern, gt_str raw);

/* The raw bytes of a raw id, and the id of the decoded string. A value is decoded to its JSON text without
 * white space between tokens. */
gt_str gt_json_interner_raw(const gt_json_interner *intern, uint32_t raw_id);
uint32_t gt_json_interner_decoded(const gt_json_interner *intern, uint32_t raw_id);

#endif
