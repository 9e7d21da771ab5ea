/* The MPI helper: a process beside each process of a command that runs on several machines (src/crew). */
#ifndef GT_HELPER_MPI_H
#define GT_HELPER_MPI_H

/* Runs `gputally-helper mpi LIBRARY...`: loads the first library that can be loaded, starts MPI, and passes
 * frames (crew/wire.h) between its socket and the helpers of the other processes until it is told to finish.
 * `libraries` ends with NULL. Returns the exit code. */
int gt_helper_mpi(char **libraries);

#endif
