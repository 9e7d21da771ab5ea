/* What the Python tool prints on standard output: printed where gputally is called by one of its old names,
 * because people's scripts look for these lines. Silent otherwise. Its programs speak in one of two forms;
 * what is said in the other form than the started one is left out. */
#ifndef GT_CLI_JOURNAL_H
#define GT_CLI_JOURNAL_H

#include <stdbool.h>

typedef enum gt_journal_form {
    GT_JOURNAL_PLAIN, /* lines as they are; warnings and errors on standard error, as ever */
    GT_JOURNAL_LOG,   /* "[2025-12-09 07:09:39,123] {gputally} INFO - text"; warnings and errors too */
} gt_journal_form;

/* From here on lines are printed; under `quiet` only warnings and errors. */
void gt_journal_start(gt_journal_form form, bool quiet);
bool gt_journal_is_kept(void);

void gt_journal_print(const char *format, ...) __attribute__((format(printf, 1, 2))); /* the plain form */
void gt_journal_info(const char *format, ...) __attribute__((format(printf, 1, 2)));  /* the log */
/* In the log, and true; false where the error is to be printed as ever. */
bool gt_journal_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
