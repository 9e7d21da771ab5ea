/* Interning of JSON strings and values by their raw bytes.
 *
 * A trace of a million events has a few thousand different strings, so each is checked and decoded once, when
 * it is first seen, and found by its raw bytes from then on. For example, the raw bytes a\u0062 and ab get
 * different raw ids, but both raw ids lead to the same id of the decoded string "ab" in the caller's
 * interner. */
#pragma once

#include "base/base.h"

/* Raw bytes, which stay at their address, and the id of the decoded string. */
typedef struct gt_json_raw {
    const char *bytes;
    uint32_t len;
    uint32_t decoded; /* GT_STR_NONE if it is not decoded yet, or invalid */
} gt_json_raw;

/* Everything but `items` belongs to interner.c. */
typedef struct gt_json_interner {
    gt_json_raw *items; /* by raw id */
    size_t capacity;
    int kind;
    gt_interner *strings;
    gt_interner *raws;
    char *scratch;
    size_t scratch_capacity;
} gt_json_interner;

typedef enum gt_json_interner_kind { GT_INTERN_STRINGS, GT_INTERN_VALUES } gt_json_interner_kind;

/* A table for strings, given without their quotes, or for whole values. Decoded strings are added to
 * `strings`. */
gt_json_interner *gt_json_interner_new(gt_json_interner_kind kind, gt_interner *strings);
void gt_json_interner_free(gt_json_interner *intern);

/* The id of the raw bytes, GT_STR_NONE if they are not valid JSON. GT_STREAM_PAD bytes after them must be
 * readable. */
uint32_t gt_json_interner_add(gt_json_interner *intern, gt_str raw);

/* The id of the decoded string of a raw id. A value is decoded to its JSON text without white space between
 * tokens. */
static inline uint32_t gt_json_interner_decoded(const gt_json_interner *intern, uint32_t raw_id)
{
    return intern->items[raw_id].decoded;
}
