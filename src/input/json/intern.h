/* From the raw bytes of a JSON string or value to the id of its meaning.
 *
 * A trace of a million events has a few thousand different texts, so each is checked and decoded once, when
 * it is first seen, and found by its raw bytes from then on. */
#ifndef GT_INPUT_JSON_INTERN_H
#define GT_INPUT_JSON_INTERN_H

#include "base/strings.h"

typedef struct gt_intern gt_intern;

typedef enum gt_intern_kind { GT_INTERN_STRINGS, GT_INTERN_VALUES } gt_intern_kind;

/* A table for strings, given without their quotes, or for whole values. `strings` get the meanings. */
gt_intern *gt_intern_new(gt_intern_kind kind, gt_strings *strings);
void gt_intern_free(gt_intern *intern);

/* The raw text's number, GT_TEXT_NONE where it is not sound JSON. GT_STREAM_PAD bytes behind it can be read.
 */
uint32_t gt_intern_add(gt_intern *intern, gt_text raw);

/* What a raw text's number stands for: its bytes, and the id of its meaning in the strings. The meaning of a
 * value is its JSON text without white space between tokens. */
gt_text gt_intern_raw(const gt_intern *intern, uint32_t raw_id);
uint32_t gt_intern_meaning(const gt_intern *intern, uint32_t raw_id);

#endif
