/* Tables as compressed columns that a browser unpacks quickly (web/pack.js).
 *
 * A pack is, before compression:
 *
 *     u32 little-endian   length of the directory
 *     directory           JSON: {"strings": {"count", "width", "at", "size"}, "tables": [{"source", "name",
 *                         "rows", "columns": [{"name", "code", "width", "at", "size", "items"}]}]}
 *     payload             columns and strings; "at" counts from its beginning
 *
 * The code of a column says how its cells are written:
 *
 *     u   INT: zigzag(value) + 1; 0 is null
 *     d   INT that mostly grows: the same of the difference to the last value that is not null, from 0
 *     t   STRING: index into the strings + 1; 0 is null
 *     l   LIST: number of elements + 1 for each cell, 0 is null; the column "items" has the elements of all
 *         cells
 *     f   FLOAT: IEEE 754 doubles; NaN is null
 *     b   BOOL: one byte, 0 or 1; 2 is null
 *
 * Numbers have the column's "width" in bytes (0 to 7; a double has 8), and are written in planes: first the
 * lowest byte of all cells, then the next. Deflate makes them smaller than numbers of variable length,
 * because bytes of one kind stand together, and a browser reads them faster.
 *
 * The browser computes with doubles, so u and d hold numbers whose code is at most 2^53. INT columns with
 * larger values are written as doubles, or if a double cannot hold one exactly, as strings. FLOAT columns of
 * whole numbers are written as INT.
 *
 * Strings are the byte lengths of all in planes of their "width", then their bytes; they are valid UTF-8.
 * Those that most cells have come first. The pack is compressed as raw deflate. */
#pragma once

#include "table/table_list.h"

typedef struct gt_pack gt_pack;

/* Strings of more than `bytes_max` bytes are cut and end in a mark; 0: none are. */
gt_pack *gt_pack_new(size_t bytes_max);
/* Borrows the table until the pack is written. */
void gt_pack_add(gt_pack *pack, size_t source, const gt_table *table);
/* How many different strings were cut. */
size_t gt_pack_cut_count(const gt_pack *pack);
/* Adds the compressed pack as base64. */
void gt_pack_write(gt_pack *pack, gt_buffer *base64);
void gt_pack_free(gt_pack *pack);
