/* A team: the threads of one command, or of one call of the library, and the loops that they share.
 *
 * The threads are started when the first loop needs them and wait between loops, so that a loop of a few
 * hundred microseconds is worth sharing. A loop may be inside another: threads that are idle help with the
 * newest loop, so that work which has begun is finished first.
 *
 *     gt_team_run(threads, make_report, &context);        begins and ends a team
 *     gt_parallel_ranges(count, 4096, add_rows, &job);    anywhere below it
 *
 * Results must not depend on the number of threads: work is split by data, never by thread, and what the
 * parts find is merged in their order. Without a team, all work is done by the caller. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Calls body(context) with a team of `threads` threads, the caller's included; 0: as many as this process may
 * use. Inside a team it just calls, and the team around it is used. */
void gt_team_run(unsigned threads, void (*body)(void *context), void *context);

/* Starts the threads of the current team, if there are any: before something that only the caller can do, so
 * that they are ready after it. */
void gt_team_start(void);

/* Threads of the current team; 1 if there is none. */
unsigned gt_team_threads(void);
/* From so many threads on, different work at the same time is worth what it needs in addition: memory, and
 * what each part does for itself. */
enum { GT_MANY_THREADS = 4 };
/* Whether a loop that the caller is in has work left for all threads, so that another thread would only take
 * time from them. */
bool gt_team_is_busy(void);
bool gt_team_is_in_loop(void); /* the caller is */

/* Calls work(context, 0 .. count-1), each once, begun in this order on any thread of the team, and returns
 * when all are done. So work must not wait for an index that may not have begun.
 *
 * All of it belongs to the caller's guarded call (base/guard.h). If a part fails, this function does not
 * return: the call ends once the parts that run have ended. */
void gt_parallel_each(size_t count, void (*work)(void *context, size_t index), void *context);

/* The same for the ranges of `grain` items that 0 .. count-1 is cut into; the last one may be shorter. The
 * ranges depend on count and grain alone. */
void gt_parallel_ranges(size_t count, size_t grain, void (*work)(void *context, size_t begin, size_t end),
                        void *context);
/* The grain to write: GT_GRAIN(4096). Sanitizer, fuzz and debug builds use a small one, so that small inputs
 * are shared, too. */
#ifdef GT_SMALL_GRAINS
#define GT_SMALL_OR(small, usual) (small)
#else
#define GT_SMALL_OR(small, usual) (usual)
#endif
#define GT_GRAIN(items) GT_SMALL_OR((items) < 256 ? 1 : (items) / 256, items)
/* The last member of what each thread or range has in an array and writes often: no line of the cache, nor
 * the pair of lines that processors fetch together, belongs to two of them. */
enum { GT_PADDING_BYTES = 128 };
#define GT_PADDING char padding[GT_PADDING_BYTES]

/* How many ranges these are; the range that begins at `begin` is number begin / grain. */
static inline size_t gt_range_count(size_t count, size_t grain)
{
    return count / grain + (count % grain != 0);
}
