/* The journal that the Python tool keeps on standard output: printed where gputally is called by one of its
 * old names, because people's scripts look for these lines. Silent otherwise. */
#ifndef GT_CLI_JOURNAL_H
#define GT_CLI_JOURNAL_H

#include <stdbool.h>

void gt_journal_start(
    bool quiet); /* from here on lines are printed; under `quiet` only warnings and errors */
bool gt_journal_is_kept(void);

void gt_journal_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void gt_journal_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
