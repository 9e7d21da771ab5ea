/* Which kernels of different ranks are one collective: those with the same collective_id in the long table.
 */
#ifndef GT_ANALYSIS_COLLECTIVE_MATCH_H
#define GT_ANALYSIS_COLLECTIVE_MATCH_H

#include "table/table.h"
#include "trace/collective_names.h"

typedef struct gt_collective_matches {
    const gt_table *events; /* the long table (collectives.h), which must outlive the matches */
    size_t count;           /* collectives, in the order in which the long table first has them */
    size_t *begins;         /* collective i is rows[begins[i] .. begins[i + 1]) ... */
    uint32_t *rows;         /* ... of the long table, one a rank, by rank */
    int64_t ranks;          /* one more than the highest rank */
} gt_collective_matches;

gt_collective_matches gt_collective_match(const gt_table *events);
void gt_collective_matches_free(gt_collective_matches *matches);

/* By the name that its first rank gives it. */
gt_collective_type gt_collective_match_type(const gt_collective_matches *matches, size_t collective);

/* What becomes of collectives whose ranks disagree on what they are; those kept are as the first rank has
 * them. */
typedef enum gt_mismatch { GT_MISMATCH_FAILS, GT_MISMATCH_LEFT_OUT, GT_MISMATCH_KEPT } gt_mismatch;

/* Whether all ranks have the same in each of these columns. The sentence names the first column in which they
 * differ, and the values if `say_values`. */
bool gt_collective_agrees(const gt_collective_matches *matches, size_t collective, const gt_col *columns,
                          size_t column_count, bool say_values, gt_error *error);

/* ---- columns that a table has for each rank ----
 * They come in two parts: rank_0_ts, rank_0_dur, rank_1_ts, rank_1_dur, then rank_0_wait_time,
 * rank_1_wait_time. Ranks that only later collectives have follow behind with two parts of their own. */

typedef struct gt_rank_columns {
    const gt_column_head *parts[2]; /* "ts" makes rank_0_ts */
    size_t part_counts[2];
    size_t *firsts[2]; /* by rank: the table's column where its part begins; SIZE_MAX: it has none yet */
} gt_rank_columns;

void gt_rank_columns_begin(gt_rank_columns *columns, const gt_collective_matches *matches);
/* Makes the columns of a collective's ranks that are not there yet, all null. */
void gt_rank_columns_add(gt_rank_columns *columns, gt_table *table, const gt_collective_matches *matches,
                         size_t collective);
void gt_rank_columns_end(gt_rank_columns *columns);

#endif
