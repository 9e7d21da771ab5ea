/* base/team.h without threads: measures how well a command could use many cores.
 *
 * Built instead of src/base/team.c with -DGPUTALLY_TEAM_STATS=ON. All work is done by one thread, and its CPU
 * time is divided into work (all of it) and span (what would be left with endless threads: of each loop only
 * its longest index counts). With P threads, a run takes at least work / P and at least its span. Prints, at
 * the end of the team, both and the loops and pauses between loops with the longest spans; their addresses
 * are those of nm's list of the program. CPU time does not depend on what else the machine does. */
#include "base/team.h"
#include "base/memory.h"
#include "base/threads.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SHOWN = 20, PLACES = 4096 };

typedef struct place {
    void *work;
    bool pause; /* the time before loops of this kind, outside all loops */
    size_t times;
    double span_ms, work_ms;
} place;

static unsigned size;
static double saved_ms; /* of the index or body that runs: its time minus its span */
static unsigned depth;
static double last_end_ms;
static place places[PLACES];
static size_t place_count;
extern const char __executable_start;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void note(void *work, bool pause, double span_ms, double work_ms)
{
    size_t i = 0;
    while (i < place_count && (places[i].work != work || places[i].pause != pause)) i++;
    if (i == PLACES) return;
    if (i == place_count) places[place_count++] = (place){.work = work, .pause = pause};
    places[i].times++;
    places[i].span_ms += span_ms;
    places[i].work_ms += work_ms;
}

unsigned gt_team_threads(void)
{
    return size ? size : 1;
}

void gt_team_start(void) {}

bool gt_team_is_busy(void)
{
    return false;
}

bool gt_team_is_in_loop(void)
{
    return depth > 0;
}

static void run_loop(size_t count, void (*each)(void *context, size_t index), void *context, void *work)
{
    double begin = now_ms(), saved_before = saved_ms, longest = 0;
    if (depth == 0) note(work, true, begin - last_end_ms, begin - last_end_ms);
    depth++;
    for (size_t i = 0; i < count; i++) {
        double from = now_ms();
        saved_ms = 0;
        each(context, i);
        double span = now_ms() - from - saved_ms;
        if (span > longest) longest = span;
    }
    depth--;
    double end = now_ms();
    saved_ms = saved_before + (end - begin - longest);
    note(work, false, longest, end - begin);
    if (depth == 0) last_end_ms = end;
}

void gt_parallel_each(size_t count, void (*work)(void *context, size_t index), void *context)
{
    if (count > 1 && size > 1)
        run_loop(count, work, context, (void *)(size_t)work);
    else
        for (size_t i = 0; i < count; i++) work(context, i);
}

typedef struct ranges {
    size_t count, grain;
    void (*work)(void *context, size_t begin, size_t end);
    void *context;
} ranges;

static void do_range(void *argument, size_t index)
{
    const ranges *r = argument;
    size_t begin = index * r->grain, left = r->count - begin;
    r->work(r->context, begin, begin + (left < r->grain ? left : r->grain));
}

void gt_parallel_ranges(size_t count, size_t grain, void (*work)(void *context, size_t begin, size_t end),
                        void *context)
{
    ranges r = {count, grain, work, context};
    size_t parts = gt_range_count(count, grain);
    if (parts > 1 && size > 1)
        run_loop(parts, do_range, &r, (void *)(size_t)work);
    else
        for (size_t i = 0; i < parts; i++) do_range(&r, i);
}

static int by_span(const void *left, const void *right)
{
    double a = ((const place *)left)->span_ms, b = ((const place *)right)->span_ms;
    return (a < b) - (a > b);
}

static void print(double total_ms)
{
    fprintf(stderr, "work %.1f ms, span %.1f ms (%.1f %%)\n", total_ms, total_ms - saved_ms,
            100 * (total_ms - saved_ms) / total_ms);
    qsort(places, place_count, sizeof *places, by_span);
    for (size_t i = 0; i < place_count && i < SHOWN; i++)
        fprintf(stderr, "  %s %6zx: %6zu times, span %8.2f ms, work %8.2f ms\n",
                !places[i].work   ? "after the last "
                : places[i].pause ? "before loops of"
                                  : "loops of       ",
                places[i].work ? (size_t)((const char *)places[i].work - &__executable_start) : 0,
                places[i].times, places[i].span_ms, places[i].work_ms);
}

void gt_team_run(unsigned threads, void (*body)(void *context), void *context)
{
    if (size) {
        body(context);
        return;
    }
    size = threads ? threads : gt_threads_default();
    double begin = last_end_ms = now_ms();
    saved_ms = 0;
    body(context);
    double end = now_ms();
    note(NULL, true, end - last_end_ms, end - last_end_ms);
    print(end - begin);
    size = 0;
}
