/* Internal to src/trace: what a store consists of. store.c writes and owns it, store_columns.c reads it,
 * store_image.c saves and loads it. */
#pragma once

#include "base/team.h"
#include "trace/packing.h"

/* Segments that one thread unpacks at a time, about 30,000 values. */
#define GT_STORE_GRAIN GT_GRAIN(16)

typedef struct gt_segment {
    uint32_t rows;
    uint64_t first_row;      /* in the store */
    uint64_t first_position; /* of the piece in the store; `positions` are relative to it */
    gt_packed positions;     /* each event's position in its piece, minus its row, so that it is mostly 0 */
    const gt_interner *strings; /* the interner of its string ids */
    const uint32_t *string_ids; /* from those ids to the store's; NULL if they are the same */
    uint8_t *data;              /* the packed columns, one after the other */
    bool owns_data;             /* false: an image has it, from which the store was loaded */
    uint32_t bytes;             /* of data */
    uint32_t string_limit;      /* of a loaded segment: its string ids are below */
    gt_packed columns[];
} gt_segment;

struct gt_store_piece {
    gt_segment **segments;
    size_t count, capacity, rows;
    size_t records; /* events added and events skipped */
};

typedef struct gt_adopted_strings {
    const gt_interner *strings; /* NULL once the ids are those of the store */
    uint32_t *ids;
    uint32_t count;
} gt_adopted_strings;

struct gt_store {
    gt_store_column *columns;
    size_t column_count;
    gt_interner *strings;
    gt_store_piece all;
    uint32_t *segment_of_block; /* by row / GT_SEGMENT_ROWS: the index of the segment of the first such row */
    size_t block_count, block_capacity;
    gt_adopted_strings *adopted;
    size_t adopted_count, adopted_capacity;
    gt_base_time base_time;
    bool is_taken; /* by gt_store_take_ints */
};

/* Frees the packed columns. */
void gt_segment_free_data(gt_segment *segment);

/* Appends a segment, which then belongs to the store, and sets its first_row. */
void gt_store_add_segment(gt_store *store, gt_segment *segment);
