/* What a record reader has learned: the text between the values of records seen before.
 *
 * A tree whose nodes are values to be read and whose edges are the text up to the next value, constant parts
 * and all. A record that follows a path of the tree is read with one comparison an edge; gt_record_read
 * teaches every other. */
#ifndef GT_INPUT_JSON_LEARNED_H
#define GT_INPUT_JSON_LEARNED_H

#include "input/json/interner.h"
#include "input/json/record.h"

/* How a value is read. */
typedef enum gt_step_op {
    GT_STEP_INT,
    GT_STEP_TIME,
    GT_STEP_TEXT,
    GT_STEP_VIEW,
    GT_STEP_JSON,
    GT_STEP_SKIP_STRING,
    GT_STEP_SKIP_NUMBER,
    GT_STEP_SKIP_CONTAINER,
    GT_STEP_CONSTANT, /* no value to read: the text itself means `cell` for the field */
} gt_step_op;

/* One value of a record that took the general way. Begin and end count from the record's first byte; the
 * quotes of a string belong to the text around it, and so does the opening bracket of a container that is
 * passed over. */
typedef struct gt_step {
    gt_step_op op;
    int field; /* -1 for a value that nobody wants */
    bool mistyped;
    unsigned depth; /* how many containers of the record it stands in */
    uint32_t begin, end;
    gt_store_cell cell; /* of constants */
} gt_step;

typedef struct gt_learned gt_learned;

gt_learned *gt_learned_new(gt_json_interner *strings, gt_json_interner *values);
void gt_learned_free(gt_learned *learned);

/* Reads the record at the cursor along the tree. False where it does not follow a path to its end or is not
 * whole in hand: the cursor has not moved then, and the record must be read the general way. */
bool gt_learned_read(gt_learned *learned, gt_json *json, gt_record *record);

/* Teaches the path of a record of `len` bytes. Where the steps before the one numbered `decided` decide that
 * records like it are not wanted, what follows in them is passed over from there on (GT_NOT_DECIDED: they are
 * wanted). */
#define GT_NOT_DECIDED SIZE_MAX
void gt_learned_add(gt_learned *learned, const uint8_t *text, size_t len, const gt_step *steps, size_t count,
                    size_t decided);

#endif
