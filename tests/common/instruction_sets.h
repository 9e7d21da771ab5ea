/* Unit tests that run once per instruction set of the JSON reader. */
#ifndef GT_TESTS_INSTRUCTION_SETS_H
#define GT_TESTS_INSTRUCTION_SETS_H

#include "json/scan_set.h"

#include <stdio.h>
#include <string.h>

/* Calls run() with each usable set chosen, or with the sets that the program's arguments name, and returns
 * how many tests failed. A named set that this processor does not have counts as a failure. */
static inline int run_per_set(int argc, char **argv, int (*run)(gt_scan_set set))
{
    int failed = 0, found = 0;
    gt_error error;
    for (gt_scan_set set = GT_SET_SCALAR; set < GT_SCAN_SETS; set++) {
        bool named = argc < 2;
        for (int i = 1; i < argc; i++) named |= strcmp(argv[i], gt_scan_set_name(set)) == 0;
        if (!named || !gt_scan_set_use(gt_scan_set_name(set), &error)) continue;
        printf("%s:\n", gt_scan_set_name(set));
        failed += run(set);
        found++;
    }
    if (found >= argc - 1) return failed;
    printf("[  FAILED  ] only %d of %d instruction sets can be used\n", found, argc - 1);
    return failed + 1;
}

#endif
