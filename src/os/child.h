/* Running other programs.
 *
 * gt_child_run runs a command in a process group of its own and waits for it, like the job of a shell: output
 * goes to a log and to the terminal, signals that end this program are passed on, and the time may be
 * limited. No shell is involved: argv[0] is looked up in PATH and gets its arguments as they are. When it is
 * ended early (timeout, signal, or because this program was killed), everything that it started is ended with
 * it, also what has left its group, session or parent (supervisor.h); what is left after a normal end goes on
 * running, unless `ends_rest`. Only one such command can run at a time, and only the command line may use it,
 * because it installs signal handlers while the command runs.
 *
 * gt_child_spawn and gt_child_finish (spawn.c) are for the library: they leave signals alone. */
#pragma once

#include "base/base.h"

#include <sys/types.h>

typedef enum gt_child_stream { GT_CHILD_STDOUT, GT_CHILD_STDERR } gt_child_stream;

/* Called with each line, without its line break, before it is shown and logged; false suppresses both. The
 * beginning of an incomplete line, such as a prompt, is shown before this is called. */
typedef bool gt_child_line(void *context, gt_child_stream stream, gt_str line);
/* Adds the lines of standard output, with a line break, to the gt_buffer `text`. */
bool gt_child_keep_line(void *text, gt_child_stream stream, gt_str line);

typedef struct gt_child_setup {
    const char *const *argv;        /* ends with NULL */
    const char *const *environment; /* "NAME=value", ends with NULL; NULL: this program's */
    const char *directory;          /* where it runs; NULL: the current folder */
    const char *log_path;           /* receives both streams; an existing file is replaced; NULL: none */
    bool log_append;                /* appends to that file instead */
    bool silent;                    /* the output is not shown, only logged */
    bool merge;                     /* both streams are one, as with 2>&1 */
    double timeout_s;               /* 0: none */
    double grace_s;      /* between SIGTERM and SIGKILL; 0: ten seconds; negative: SIGKILL at once */
    bool then_terminate; /* after half of that time, SIGTERM follows a signal from the keyboard: many programs
                            that start others ignore SIGINT */
    bool in_slurm;  /* this is a job of SLURM, which sends SIGTERM to all its processes: they get it only once
                     */
    bool ends_rest; /* also what is left a second after a normal end is ended: SIGTERM, then SIGKILL */
    const char *waits_for;   /* says what this time is for, when it begins; NULL: nothing is said */
    const char *const *undo; /* a command that is run if this program is killed meanwhile; NULL: none */
    gt_child_line *line;     /* NULL: bytes are passed on as they arrive */
    void *line_context;
} gt_child_setup;

typedef struct gt_child_result {
    int exit_code;      /* as in a shell: 128 + the signal if one ended it */
    bool timed_out;     /* it ran longer than timeout_s */
    int interrupted;    /* the signal that this program received and passed on; 0 for none */
    double seconds;     /* from start to end of the command itself */
    int log_failure;    /* errno, if the log could not be written */
    int output_failure; /* errno, if standard output could not; not if its reader has gone away */
    int left;       /* processes that the command has left running, a second after its end, or that could not
                       be ended */
    int ended_rest; /* processes that were ended because of `ends_rest` */
} gt_child_result;

/* False if the command could not be started: the message says why, and exit_code is 127 if it was not found,
 * otherwise 126. True if it ran, whatever its exit code. */
bool gt_child_run(const gt_child_setup *setup, gt_child_result *result, gt_error *error);
/* Runs a command silently; `text` is its output, without the last line breaks. False if it failed. */
bool gt_child_ask(gt_child_setup setup, gt_buffer *text);

/* ---- without signal handlers, for the library ---- */

typedef struct gt_spawned {
    pid_t pid;    /* also the number of its process group */
    int lifeline; /* when the last copy of this descriptor is closed, the kernel ends the group */
} gt_spawned;

/* Starts a program that is looked up in PATH, in the current folder if `folder` is NULL, and returns at once.
 * It gets descriptors[0] as standard input, [1] as standard output and so on, /dev/null in place of -1, and
 * after these one that only has to stay open (the lifeline), nothing else of ours. Its process group is new
 * and ends with this program, however this one ends. `title` says what runs, for gt_child_end_all. 0, or what
 * errno would be. */
int gt_child_spawn(const char *const *argv, const char *folder, const int *descriptors, size_t count,
                   const char *title, gt_spawned *child);
/* The program that loads libraries for this one, which is called with GT_CHILD_HELPER before its arguments
 * (helper/helper.h); NULL until the command line has named it, as in tests. */
#define GT_CHILD_HELPER "__helper"
const char *gt_child_helper(void);
void gt_child_set_helper(const char *path); /* is not copied */
/* Why the program at the path was not started, for messages: strerror(failure), except that a program whose
 * loader is missing, such as one for glibc on Alpine, is not called missing itself. */
const char *gt_child_spawn_problem(const char *path, int failure);

typedef struct gt_spawn_end {
    int status; /* as waitpid gives it; 0 if somebody else has taken it: a program that uses the library may
                   ignore SIGCHLD or wait for all its children */
    bool timed_out; /* it was ended after timeout_s */
} gt_spawn_end;

/* Waits for it to end, at most timeout_s seconds (0: any time), and ends what is left of its process group.
 * Bytes that arrive at the descriptor `output` (-1: none) are appended to `kept` up to `most`; later ones are
 * dropped. */
gt_spawn_end gt_child_finish(gt_spawned *child, double timeout_s, int output, gt_buffer *kept, size_t most);
/* Ends the process group at once. */
void gt_child_abandon(gt_spawned *child);

/* For the command line's signal handlers: ends the process groups of all programs that were started and not
 * waited for, and says so on standard error. Async-signal-safe. */
void gt_child_end_all(void);
/* Has `called` called before the first program is started. */
void gt_child_before_first(void (*called)(void));

/* ---- Python ---- */

/* The beginning of programs for `python -I -c`. Isolated mode keeps the current folder and the folder of a
 * script from being searched for modules; this makes what the user has set up available again, after the
 * standard library: absolute folders of PYTHONPATH and the user's own site-packages. */
extern const char gt_python_prelude[];
