/* Was this process started by an MPI launcher, together with others that run the same command line?
 *
 * The environment alone cannot tell: everything that a process under `srun` starts inherits its variables, so
 * that a training script whose first process calls gputally looks like this, too. It is a process group if
 * the launcher is an ancestor with only transparent programs in between: shells, env, numactl, apptainer and
 * the like, which every process of the launcher runs. */
#pragma once

#include "base/base.h"
#include <sys/types.h>

/* Which library the launcher belongs to. */
typedef enum gt_launcher_family {
    GT_LAUNCHER_OPEN_MPI,
    GT_LAUNCHER_MPICH,
    GT_LAUNCHER_SLURM
} gt_launcher_family;

typedef struct gt_procs_launcher {
    char name[64]; /* of the program: "mpirun" */
    gt_launcher_family family;
    bool mpich_first;  /* which library to try first */
    size_t size, rank; /* processes in all, and which one this is */
    size_t local_size; /* processes on this machine; 0: unknown */
    char folder[512];  /* where the launcher is, "/opt/mpi/bin"; "": unknown */
} gt_procs_launcher;

/* What to look at: for tests. */
typedef struct gt_launcher_view {
    const char *proc;                                         /* "/proc" */
    pid_t parent;                                             /* of this process */
    const char *(*variable)(void *context, const char *name); /* of the environment; NULL: not set */
    void *context;
} gt_launcher_view;

/* False if this process is alone. */
bool gt_launcher_find(const gt_launcher_view *view, gt_procs_launcher *launcher);
/* The same without a look at the ancestors: the first launcher that the environment names. */
bool gt_launcher_assume(const gt_launcher_view *view, gt_procs_launcher *launcher);
/* This process. */
gt_launcher_view gt_launcher_here(void);

/* "2(x3),1": tasks per node in SLURM's notation; of the node with this number, or 0. */
size_t gt_launcher_slurm_tasks(const char *text, size_t node);

/* The MPI libraries to try, in this order; the strings are in `text`, the list ends with NULL. `named` is a
 * library that the user has named; NULL: none. */
enum { GT_LAUNCHER_LIBRARIES = 24 };
typedef struct gt_library_list {
    const char *names[GT_LAUNCHER_LIBRARIES + 1];
    size_t count;
    char text[GT_LAUNCHER_LIBRARIES][640];
} gt_library_list;
void gt_launcher_libraries(const gt_procs_launcher *launcher, const char *named, gt_library_list *list);
