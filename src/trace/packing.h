/* Internal to src/trace: columns of events packed into as few bytes as their values need. */
#pragma once

#include "trace/store.h"

enum { GT_SEGMENT_ROWS = 2048 }; /* that are packed together, at most */

/* One column of a segment: value i is base + the unsigned integer of `width` bytes at index i. Times with at
 * most three decimals, as profilers write them, are packed as integer thousandths: one correctly rounded
 * division gives back the exact double. For example the times 1000.250, 1000.500 and 1001.000 become base
 * 1000250 and the differences 0, 250 and 750, in two bytes each. */
typedef struct gt_packed {
    int64_t base;
    int64_t absent; /* in thousandths: the value that stands for an absent time */
    uint32_t start; /* offset in the segment's data */
    uint8_t width;  /* bytes per value: 0 if every value is base, else 1, 2, 4 or 8 */
    bool thousandths;
} gt_packed;

/* The time of a cell in thousandths. */
static inline double gt_packed_time(const gt_packed *p, int64_t cell)
{
    return cell == p->absent ? (double)NAN : (double)cell / 1000.0;
}

/* Chooses how to pack at most GT_SEGMENT_ROWS cells. Times are given as their bits and become thousandths
 * where that is exact. The caller sets `start`. */
gt_packed gt_plan_packing(int64_t *cells, size_t rows, gt_store_type type);
void gt_pack(const gt_packed *p, const int64_t *cells, size_t rows, uint8_t *data);

/* Runs a statement for each `row` of a packed column, with its `cell` as it was packed: thousandths stay
 * thousandths. There is a loop per width, and the statement says the type of the result, so that each of
 * them is one pass without a copy in between. */
#define GT_EACH_CELL(p, data, rows, statement)                                                               \
    do {                                                                                                     \
        const uint8_t *in_ = (data) + (p)->start;                                                            \
        switch ((p)->width) {                                                                                \
        case 0:                                                                                              \
            for (size_t row = 0; row < (rows); row++) {                                                      \
                const int64_t cell = (p)->base;                                                              \
                statement;                                                                                   \
            }                                                                                                \
            break;                                                                                           \
        case 1:                                                                                              \
            GT_EACH_OF_TYPE(uint8_t, p, rows, statement) break;                                              \
        case 2:                                                                                              \
            GT_EACH_OF_TYPE(uint16_t, p, rows, statement) break;                                             \
        case 4:                                                                                              \
            GT_EACH_OF_TYPE(uint32_t, p, rows, statement) break;                                             \
        default:                                                                                             \
            GT_EACH_OF_TYPE(uint64_t, p, rows, statement)                                                    \
        }                                                                                                    \
    } while (0)
#define GT_EACH_OF_TYPE(type, p, rows, statement)                                                            \
    for (size_t row = 0; row < (rows); row++) {                                                              \
        type v_;                                                                                             \
        memcpy(&v_, in_ + row * sizeof v_, sizeof v_);                                                       \
        const int64_t cell = (int64_t)((uint64_t)(p)->base + v_);                                            \
        statement;                                                                                           \
    }

static inline void gt_unpack(const gt_packed *p, const uint8_t *data, size_t rows, int64_t *out)
{
    GT_EACH_CELL(p, data, rows, out[row] = cell);
}

static inline void gt_unpack_times(const gt_packed *p, const uint8_t *data, size_t rows, double *out)
{
    if (p->thousandths)
        GT_EACH_CELL(p, data, rows, out[row] = gt_packed_time(p, cell));
    else
        GT_EACH_CELL(p, data, rows, out[row] = gt_double_of_bits(cell));
}

/* `ids` translates the ids; NULL: they stay as they are. */
static inline void gt_unpack_strings(const gt_packed *p, const uint8_t *data, size_t rows,
                                     const uint32_t *ids, uint32_t *out)
{
    if (ids)
        GT_EACH_CELL(p, data, rows, out[row] = ids[cell]);
    else
        GT_EACH_CELL(p, data, rows, out[row] = (uint32_t)cell);
}
