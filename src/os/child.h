/* Running other programs.
 *
 * gt_child_run runs a command in a process group of its own and waits for it, like the job of a shell: output
 * goes to a log and to the terminal, signals that end this program are passed on, and the time may be
 * limited. No shell is involved: argv[0] is looked up in PATH and gets its arguments as they are. Processes
 * that the command leaves running in its group when it is ended early (timeout, signal) are ended with it.
 * Only one such command can run at a time, and only the command line may use it, because it installs signal
 * handlers while the command runs.
 *
 * gt_child_spawn only starts a program. */
#ifndef GT_OS_CHILD_H
#define GT_OS_CHILD_H

#include "base/error.h"
#include "base/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef enum gt_child_stream { GT_CHILD_STDOUT, GT_CHILD_STDERR } gt_child_stream;

/* Called with each line, without its line break, before it is shown and logged; false suppresses both. The
 * beginning of an incomplete line, such as a prompt, is shown before this is called. */
typedef bool gt_child_line(void *context, gt_child_stream stream, gt_str line);

typedef struct gt_child_setup {
    const char *const *argv;        /* ends with NULL */
    const char *const *environment; /* "NAME=value", ends with NULL; NULL: this program's */
    const char *directory;          /* where it runs; NULL: the current folder */
    const char *log_path;           /* receives both streams; an existing file is replaced; NULL: none */
    bool log_append;                /* appends to that file instead */
    bool silent;                    /* the output is not shown, only logged */
    bool merge;                     /* both streams are one, as with 2>&1 */
    double timeout_s;               /* 0: none */
    double grace_s;                 /* between SIGTERM and SIGKILL; 0: ten seconds */
    gt_child_line *line;            /* NULL: bytes are passed on as they arrive */
    void *line_context;
} gt_child_setup;

typedef struct gt_child_result {
    int exit_code;   /* as in a shell: 128 + the signal if one ended it */
    bool timed_out;  /* it ran longer than timeout_s */
    int interrupted; /* the signal that this program received and passed on; 0 for none */
    double seconds;  /* from start to end */
} gt_child_result;

/* False if the command could not be started: the message says why, and exit_code is 127 if it was not found,
 * otherwise 126. True if it ran, whatever its exit code. */
bool gt_child_run(const gt_child_setup *setup, gt_child_result *result, gt_error *error);

/* Starts a program that is looked up in PATH, in the current folder if `folder` is NULL, and returns at once.
 * It gets descriptors[0] as standard input, [1] as standard output and so on, /dev/null in place of -1, and
 * nothing else of ours. Signals are left alone. 0, or what errno would be. */
int gt_child_spawn(const char *const *argv, const char *folder, const int *descriptors, size_t count,
                   pid_t *child);
/* Waits for it to end. The status as waitpid gives it, or 0 if somebody else has taken it: a program that
 * uses the library may ignore SIGCHLD or wait for all its children. False sets errno. */
bool gt_child_wait(pid_t child, int *status);

#endif
