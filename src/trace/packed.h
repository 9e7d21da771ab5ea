/* A column of a segment of the event store, in as few bytes as its values need. */
#ifndef GT_TRACE_PACKED_H
#define GT_TRACE_PACKED_H

#include "trace/store.h"

#include <math.h>
#include <string.h>

enum { GT_SEGMENT_ROWS = 2048 };

/* A packed column: value i is base + the unsigned integer of `width` bytes at i. Times with at most three
 * decimals are packed as integer thousandths, which gives their exact bits back (one correctly rounded
 * division); absent ones among them are packed as one more than the greatest. */
typedef struct gt_packed {
    int64_t base;
    int64_t absent; /* of thousandths: the value that stands for an absent time */
    uint32_t start; /* where its bytes begin in the segment's data */
    uint8_t width;  /* 0 where every value is base */
    bool thousandths;
} gt_packed;

/* How to pack cells, at most GT_SEGMENT_ROWS; times are given as their bits, and those of them that are to be
 * thousandths become so. `start` is the caller's to set. */
gt_packed gt_pack_plan(int64_t *cells, size_t rows, gt_store_type type);
void gt_pack(const gt_packed *packed, const int64_t *cells, size_t rows, uint8_t *data);
/* The cells as they were packed: thousandths stay thousandths. */
void gt_unpack(const gt_packed *packed, const uint8_t *data, size_t rows, int64_t *cells);

static inline int64_t gt_time_bits(double time)
{
    int64_t bits;
    memcpy(&bits, &time, sizeof bits);
    return bits;
}

static inline double gt_bits_time(int64_t bits)
{
    double time;
    memcpy(&time, &bits, sizeof time);
    return time;
}

/* The time that a cell of thousandths stands for. */
static inline double gt_packed_time(const gt_packed *packed, int64_t cell)
{
    return cell == packed->absent ? (double)NAN : (double)cell / 1000.0;
}

#endif
