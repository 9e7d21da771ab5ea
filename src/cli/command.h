/* What a command of gputally is, and how one is found; commands.c has the table of all of them. */
#ifndef GT_CLI_COMMAND_H
#define GT_CLI_COMMAND_H

#include "cli/journal.h"
#include "cli/options.h"

typedef enum gt_exit {
    GT_EXIT_DONE = 0,
    GT_EXIT_FAILED = 1,
    GT_EXIT_USAGE = 2,
    GT_EXIT_GATE = 3,          /* the work is done, and a --fail_if condition is met */
    GT_EXIT_RUN = 3,           /* of `run`: the command failed */
    GT_EXIT_CONTEXT = 4,       /* of `run`: its context or arguments make no sense */
    GT_EXIT_INTERRUPTED = 130, /* by a signal, after what was running has been ended */
} gt_exit;

typedef struct gt_call gt_call;

typedef struct gt_command {
    const char *name;
    const char *old_name; /* the program of the Python tool that this command stands in for; NULL for none */
    const char *summary;  /* one line, for the list of commands */
    const gt_syntax *syntax; /* NULL, as is run, of a command that has steps */
    gt_exit (*run)(const gt_call *call);
    const char *description; /* for the command's own help */
} gt_command;

extern const gt_command gt_commands[];
extern const size_t gt_command_count;

/* One call of a command, as `run` sees it. */
struct gt_call {
    const gt_command *command;
    const char *program; /* as messages name it: "gputally rocprof", or the old name */
    bool by_old_name;    /* called through a link of the old name: defaults and messages are those of that
                            program */
    gt_arguments arguments;
};

const gt_command *gt_command_find(const char *name);             /* NULL where there is none */
const gt_command *gt_command_find_by_old_name(const char *name); /* NULL where there is none */

/* The steps of a command that has them, `gputally sweep STEP`: commands themselves, up to one without a name.
 * NULL of other commands. */
const gt_command *gt_command_steps(const gt_command *command);

/* How the program behaves that a command stands in for, where it makes the report of a trace. */
typedef struct gt_old_program {
    const char *name;
    gt_journal_form form; /* of what it prints */
    bool writes_both;     /* a workbook beside CSVs, where both are named; else only the CSVs */
    const char *failure;  /* what its log says before the reason; NULL: "Error generating report: " */
} gt_old_program;
const gt_old_program *gt_old_program_of(const gt_command *command);

/* "PROGRAM: error: SENTENCE" on standard error; returns GT_EXIT_USAGE. */
gt_exit gt_usage_error(const char *program, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
