/* Internal to src/table: large tables are worked on in ranges of rows, by all threads of the team.
 *
 * The ranges depend on the number of rows alone, and what they find is merged in their order, so results do
 * not depend on the number of threads. */
#ifndef GT_TABLE_RANGES_H
#define GT_TABLE_RANGES_H

#include "base/team.h"

/* Rows below which a range is not worth a thread: at a few nanoseconds per row, some tens of microseconds. */
#define GT_TABLE_GRAIN GT_GRAIN((size_t)16384)

enum { GT_TABLE_RANGES_MAX = 256 }; /* more would cost merging more than they gain */

/* Rows per range. */
static inline size_t gt_table_grain(size_t rows)
{
    size_t least = rows / GT_TABLE_RANGES_MAX + 1;
    return least < GT_TABLE_GRAIN ? GT_TABLE_GRAIN : least;
}

static inline size_t gt_table_range_count(size_t rows)
{
    return gt_range_count(rows, gt_table_grain(rows));
}

/* The range with this number, at most `rows` - *begin rows. */
static inline void gt_table_range(size_t rows, size_t number, size_t *begin, size_t *end)
{
    size_t grain = gt_table_grain(rows);
    *begin = number * grain;
    *end = rows - *begin < grain ? rows : *begin + grain;
}

/* Whether a second way that costs more work but uses all threads pays. The results of both must be equal. */
static inline int gt_table_shares(size_t rows)
{
    return rows > gt_table_grain(rows) && gt_team_threads() > 1;
}

#endif
