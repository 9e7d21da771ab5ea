/* The processes of one command: `mpirun -n 64 gputally collective ...` and `srun -n 64 ...` start the same
 * command line many times, and process 0 writes what a single process would write.
 *
 * All processes do the same until they come to the work on many files (input/files.h). There, process 0 tells
 * the others which files to work on, and a process leaves the result of each in a partial file (procs/part.h)
 * in the work folder, on the file system that they share. MPI carries only small messages. When all is done,
 * process 0 goes on alone. The others wait for its end, print nothing, write nothing and leave with its exit
 * code. If a process dies, all end, and the partial files stay for the next start of the same command.
 *
 *     procs.c      start and end of the process group, its messages and its failures
 *     task.c       the files that are shared out; share.h says to whom
 *     launcher.h   whether there is a process group
 *     link.h       the helper that uses MPI
 *     folder.h     the work folder
 *     part.h       partial files
 *
 * There is one process group per process, and only the command line makes it. Without one, the functions
 * return at once and say that this process is the first. */
#pragma once

#include "base/base.h"

/* ---- for the command line ---- */

/* Looks for a launcher (procs/launcher.h), unless the environment variable GPUTALLY_MPI says "off". From then
 * on, processes other than the first print nothing. True if this process is one of several. */
bool gt_procs_prepare(void);

typedef struct gt_procs_setup {
    int argc; /* the command line, which must be the same in all processes */
    char **argv;
    void (*before_leaving)(void); /* removes unfinished files; the process ends without any other cleanup */
} gt_procs_setup;

/* Starts MPI, and returns before that is done. False if there is no helper. */
bool gt_procs_start(const gt_procs_setup *setup, gt_error *error);

/* Ends the process group with the exit code of process 0, which is returned there. The others do not return.
 */
int gt_procs_end(int code);

/* For a signal handler that ends the process: says what is kept, and ends the others. */
void gt_procs_end_by_signal(int number);

/* The processes of the process group on this machine; 1 without a process group. */
size_t gt_procs_local_size(void);

/* ---- for all code ---- */

bool gt_procs_is_first(void); /* process 0, or alone */
bool gt_procs_is_several(void);
/* Before something is written that does not belong to a file which is shared out: returns in process 0 only.
 */
void gt_procs_pass_first(void);
/* The same, and process 0 goes on only if all run the same command. */
void gt_procs_meet(void);

/* ---- sharing out the work on files; see input/files.c ---- */

typedef struct gt_procs_task {
    uint64_t what;            /* a checksum of what is done with the files, and of their names and sizes */
    const char *const *paths; /* one may be NULL */
    const uint64_t *bytes;    /* by file */
    const bool *is_done;      /* by file: needs no work; only in process 0 */
    size_t count;
    size_t lanes;       /* files that this process works on at the same time */
    const char *folder; /* the work folder; only in process 0 */
    const char *note;   /* for the others, short; only in process 0; NULL: nothing */
} gt_procs_task;

/* Whether the next task would be shared out: the first one is. */
bool gt_procs_shares(void);
/* Begins a task. Returns the work folder, which belongs to the process group. */
const char *gt_procs_begin_task(const gt_procs_task *task);
/* The note of process 0; "": none. Valid once the task has begun. */
const char *gt_procs_note(void);
/* The next file for a lane of this process. False if there is none: then the lane is closed. */
bool gt_procs_next(size_t *index);
/* The file is done: its result is in the work folder, unless process 0 has to do the work (is_kept).
 * `goes_on` is false if no file after it is needed. */
void gt_procs_report(size_t index, bool goes_on, bool is_kept);
/* When all lanes are closed: waits until all files are done. Returns in process 0 only. */
void gt_procs_finish_task(void);
/* After that: whether the result of a file was kept in this task. */
bool gt_procs_has_kept(size_t index);

/* This process cannot go on: process 0 says why, and all end. */
_Noreturn void gt_procs_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
