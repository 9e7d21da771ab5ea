/* The learned JSON reader: the shapes of the records seen so far.
 *
 * A shape is a path in a tree whose nodes are values to be read and whose edges are the constant text up to
 * the next value. After parsing in full
 *
 *     {"ph": "X", "name": "aten::add", "ts": 12.5, "args": {"External id": 7}}
 *
 * with the fields name, ts and args/External id wanted and ph a `few` field, the tree has the path
 *
 *     edge {"ph": "X", "name": "     read a string     edge ", "ts":      read a time
 *     edge , "args": {"External id":      read an integer     edge }}     end
 *
 * and the next record of this shape is read with one comparison per edge and one scan per value. No key is
 * looked up and no white space is parsed. gt_record_read adds the path of every record that follows none. */
#pragma once

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
    GT_STEP_CONSTANT, /* no value to read: the text itself gives the field the value `cell` */
} gt_step_op;

/* One value of a record that was parsed in full. Begin and end are relative to the record's first byte; the
 * quotes of a string belong to the text around it, and so does the opening bracket of a container that is
 * skipped. */
typedef struct gt_step {
    gt_step_op op;
    int field; /* -1 for a value that is not wanted */
    bool mistyped;
    unsigned depth; /* how many containers of the record it is inside of */
    uint32_t begin, end;
    gt_store_cell cell; /* of constants */
} gt_step;

typedef struct gt_learned gt_learned;

gt_learned *gt_learned_new(gt_json_interner *strings, gt_json_interner *values);
void gt_learned_free(gt_learned *learned);

/* Reads the record at the cursor along the tree. False if it does not follow a path to its end or is not
 * completely in the current block: the cursor has not moved then, and the record must be parsed in full. */
bool gt_learned_read(gt_learned *learned, gt_json *json, gt_record *record);

/* Skips records that are not wanted, from the one at the cursor on, while the first text of the tree decides
 * that, they begin before `limit`, and the separator and a bracket follow them in the current block. Returns
 * how many; the cursor is at a record as before. */
size_t gt_learned_skip(gt_learned *learned, gt_json *json, gt_str separator, const uint8_t *limit);

/* From which step on nothing is wanted of a record: GT_NOT_DECIDED if there is none. */
#define GT_NOT_DECIDED SIZE_MAX
typedef struct gt_learned_stop {
    size_t at;
    bool drops; /* nothing is wanted of what was before either */
} gt_learned_stop;

/* Adds the path of a record of `len` bytes. Records like it are skipped from `stop` on. */
void gt_learned_add(gt_learned *learned, const uint8_t *text, size_t len, const gt_step *steps, size_t count,
                    gt_learned_stop stop);
