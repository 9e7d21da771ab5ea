/* The table of commands, their help texts, and the exit codes. */
#pragma once

#include "cli/journal.h"
#include "cli/options.h"

typedef enum gt_exit {
    GT_EXIT_DONE = 0,
    GT_EXIT_FAILED = 1,
    GT_EXIT_USAGE = 2,
    GT_EXIT_BUILD = 2,         /* of `run` and `build`: an image was not built */
    GT_EXIT_GATE = 3,          /* the work is done, and a --fail_if condition was met */
    GT_EXIT_RUN = 3,           /* of `run`: the command failed */
    GT_EXIT_CONTEXT = 4,       /* of `run`: the context or an argument is invalid */
    GT_EXIT_TRUST = 4,         /* of `report`: it is written, and --strict_trust does not trust a trace */
    GT_EXIT_INTERRUPTED = 130, /* by a signal; the child processes were stopped */
} gt_exit;

typedef struct gt_call gt_call;
typedef gt_exit gt_command_run(const gt_call *call);

typedef struct gt_command {
    const char *name;
    const char *old_name;    /* the TraceLens program that this command replaces; NULL: none */
    const char *summary;     /* one line, for the list of commands */
    const gt_syntax *syntax; /* NULL, like run, if the command has steps */
    gt_command_run *run;
    const char *description; /* for the command's own help */
    const char *group;       /* heading in the list of commands; NULL of steps */
} gt_command;

extern const gt_command gt_commands[];
extern const size_t gt_command_count;

/* One call of a command, as passed to `run`. */
struct gt_call {
    const gt_command *command;
    const char *program; /* its name in messages: "gputally rocprof", or the old name */
    bool by_old_name;    /* called through a link with the old name: use the defaults and messages of that
                            program */
    bool answers_only;   /* print only the first lines about a trace, and no files: for a command that makes
                            several reports, such as `run` */
    struct gt_buffer *first_finding; /* gets the first finding of the report that is printed, as a line; NULL:
                                        not wanted */
    bool *nothing_to_do;  /* of a step of `sweep all`: the step sets it, instead of failing, if the sweep has
                             nothing for it; NULL: it fails */
    bool has_more_traces; /* than those that are reported on, which may be one: some cannot be read */
    gt_arguments arguments;
};

const gt_command *gt_command_find(const char *name);             /* NULL: no such command */
const gt_command *gt_command_find_by_old_name(const char *name); /* NULL: no such command */

/* The steps of a command such as `gputally sweep STEP`: an array of commands that ends with one without a
 * name. NULL if the command has no steps. */
const gt_command *gt_command_steps(const gt_command *command);

/* The behaviour of a TraceLens program that writes the report of a trace, for calls by its name. */
typedef struct gt_old_program {
    const char *name;
    gt_journal_form form; /* of the lines it prints */
    bool writes_both;     /* writes a workbook and CSVs if both are named; otherwise only the CSVs */
    const char *failure;  /* prefix of the reason in its log; NULL: "Error generating report: " */
} gt_old_program;
const gt_old_program *gt_old_program_of(const gt_command *command);

/* The command line for one of its traces (NULL: for all files), with the options that change the report: what
 * a report shows of how it was made. Paths are shown by their names, and options that only say where files
 * are or how fast it goes are absent, so that the same report has the same bytes. The caller frees it. */
char *gt_call_describe(const gt_call *call, const char *trace_path);

/* Everything that the result of a trace depends on besides the trace: the program's name, the options, those
 * that name outputs included, the files that options name, and the working folder. For work that is shared
 * with other processes (input/files.h). The caller frees it. */
char *gt_call_key(const gt_call *call);

/* ---- errors before any trace is read (call_errors.c) ---- */

/* Prints "PROGRAM: error: MESSAGE" on standard error; returns GT_EXIT_USAGE. */
gt_exit gt_usage_error(const char *program, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes an error to the file of the syntax's error_option, if it is given: as the JSON of a report that
 * failed, for each FILE of the call, or one if it makes a single report. Failures are ignored, because the
 * error itself is printed. */
void gt_call_error_write(const gt_call *call, const char *message, gt_exit exit);
/* The same for the last usage error. */
void gt_usage_error_write(const gt_call *call);
/* The same in one file; NULL: none. `trace` is a trace, or a folder of them. */
void gt_error_write(const char *path, const char *trace, const char *message, gt_exit exit);

/* After a trace could not be read: says what it is and which command reads it, if it is of another profiler
 * (wrong_format.c). */
void gt_call_explain_format(const gt_call *call, const char *path, gt_error *error);

/* ---- help ---- */

void gt_help_program(FILE *out, size_t width);
void gt_help_command(FILE *out, size_t width, const gt_command *command, const char *program);

/* Prints the sections of the man page about commands and options, in roff. The build adds the parts written
 * by hand (docs/man). */
void gt_manual_print(FILE *out);

/* ---- cleanup ---- */

/* Makes the program remove unfinished output files if it ends early, by a signal or by exit(), and end an
 * extension that is running. To be called once, at the start of main. Handlers are installed when the first
 * output is created or the first program is started, for SIGINT, SIGTERM, SIGHUP and SIGQUIT, unless the
 * calling program ignores them or a handler is already installed. SIGXFSZ is ignored from then on: past a
 * file-size limit, writes fail with EFBIG. */
void gt_cleanup_install(void);
/* Installs the handlers at once. */
void gt_cleanup_install_now(void);
