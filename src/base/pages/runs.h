/* Free pages: a list of runs of adjacent ones, sorted by address. It allocates nothing, so that freeing a
 * block cannot fail. */
#ifndef GT_BASE_PAGES_RUNS_H
#define GT_BASE_PAGES_RUNS_H

#include <stdbool.h>
#include <stddef.h>

enum { GT_PAGE_RUNS = 1024 };

typedef struct gt_page_run {
    char *begin;
    size_t bytes;
    bool fresh; /* never used since the system gave or cleared them: all zeros, and no memory behind them */
    bool joins; /* may be one run with the one before it */
} gt_page_run;

typedef struct gt_page_runs {
    gt_page_run items[GT_PAGE_RUNS];
    size_t count;
    size_t used_bytes; /* of runs that are not fresh */
} gt_page_runs;

/* Adds a run and joins it with its neighbours of the same kind. False if the list is full. */
bool gt_page_runs_add(gt_page_runs *runs, gt_page_run run);
/* Takes `bytes` from the start of the smallest run of this kind that has as many. */
bool gt_page_runs_take(gt_page_runs *runs, size_t bytes, bool fresh, gt_page_run *taken);
/* Takes `bytes` from the start of the run that begins at this address. */
bool gt_page_runs_take_at(gt_page_runs *runs, const char *begin, size_t bytes, gt_page_run *taken);
/* Takes at most `bytes` from the end of the largest run that is not fresh. */
bool gt_page_runs_take_largest(gt_page_runs *runs, size_t bytes, gt_page_run *taken);
/* Takes any run. */
bool gt_page_runs_pop(gt_page_runs *runs, gt_page_run *taken);

#endif
