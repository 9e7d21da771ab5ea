/* The lines that TraceLens prints on standard output. They are printed if gputally is called by an old
 * name, because scripts look for them, and not otherwise. TraceLens' programs use one of two forms; lines
 * of the form that was not started are dropped. */
#pragma once

#include "base/base.h"

typedef enum gt_journal_form {
    GT_JOURNAL_PLAIN, /* lines as they are; warnings and errors go to standard error as usual */
    GT_JOURNAL_LOG,   /* "[2025-12-09 07:09:39,123] {gputally} INFO - text", also for TraceLens' warnings and
                         errors */
} gt_journal_form;

/* Starts printing lines; with `quiet`, only warnings and errors. */
void gt_journal_start(gt_journal_form form, bool quiet);
bool gt_journal_is_kept(void);
void gt_journal_end(void); /* for programs that run several commands, such as tests */

void gt_journal_print(const char *format, ...) __attribute__((format(printf, 1, 2))); /* in the plain form */
void gt_journal_info(const char *format, ...) __attribute__((format(printf, 1, 2)));  /* in the log form */
/* Prints the error in the log form and returns true; returns false if it must be printed as usual. */
bool gt_journal_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
