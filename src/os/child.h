/* Runs a command in a process group of its own and waits for it, as a shell's job would be: output goes to a
 * log and to the terminal, signals that end this program are handed on, and time may be limited.
 *
 * No shell is involved: argv[0] is looked up in PATH and gets its arguments as they are. What the command
 * leaves running in its group when it ends early (timeout, signal) is ended with it. One child at a time. */
#ifndef GT_OS_CHILD_H
#define GT_OS_CHILD_H

#include "base/error.h"
#include "base/interner.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef enum gt_child_stream { GT_CHILD_STDOUT, GT_CHILD_STDERR } gt_child_stream;

/* Sees each line, without its end, before it is shown and logged; false keeps it from both. The beginning of
 * a line that waits for its end, such as a prompt, is shown before it is seen. */
typedef bool gt_child_line(void *context, gt_child_stream stream, gt_str line);

typedef struct gt_child_setup {
    const char *const *argv;        /* ends with NULL */
    const char *const *environment; /* "NAME=value", ends with NULL; NULL: this program's */
    const char *directory;          /* where it runs; NULL: the current folder */
    const char *log_path;           /* gets both streams as they come, replacing what is there; NULL: none */
    bool log_append;                /* adds to that file instead */
    bool silent;                    /* the output is not shown, only logged */
    bool merge;                     /* both streams are one, as 2>&1 has it */
    double timeout_s;               /* 0: none */
    double grace_s;                 /* between SIGTERM and SIGKILL; 0: ten seconds */
    gt_child_line *line;            /* NULL: bytes pass as they come */
    void *line_context;
} gt_child_setup;

typedef struct gt_child_result {
    int exit_code;   /* as a shell says it: 128 and the signal where one ended it */
    bool timed_out;  /* it ran past timeout_s */
    int interrupted; /* the signal that this program got and handed on; 0 for none */
    double seconds;  /* from start to end */
} gt_child_result;

/* False where the command could not be started: the sentence says why, and exit_code is 127 where it was not
 * found, else 126. True once it ran, whatever its exit code. */
bool gt_child_run(const gt_child_setup *setup, gt_child_result *result, gt_error *error);

/* Starts a program that is looked up in PATH, in the current folder if `folder` is NULL, and returns at once.
 * It gets descriptors[0] as standard input, [1] as standard output and so on, /dev/null in place of -1, and
 * nothing else of ours. Signals are left alone. 0, or what errno would be. */
int gt_child_spawn(const char *const *argv, const char *folder, const int *descriptors, size_t count,
                   pid_t *child);
/* Waits for it to end. The status as waitpid gives it; false sets errno. */
bool gt_child_wait(pid_t child, int *status);

#endif
