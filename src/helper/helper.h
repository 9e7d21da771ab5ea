/* gputally-helper: loads libraries of the system that may end or block a process, and that the portable
 * program, which is static, cannot load at all. Each of its services is a process of its own:
 *
 *     gputally __helper mpi LIBRARY...     passes messages between the processes of a command (mpi.c)
 *     gputally __helper rocm|nvml          reads the sensors of GPUs (sensors.c)
 *
 * The normal program is its own helper; the portable program has it as a file (cmake/Portable.cmake), linked
 * with the C library of the system, which a driver's library needs as well (start.c). So these files use only
 * os/library.h and the functions of the C library that symbols.c lists. */
#pragma once

#include <stdbool.h>

/* Runs the service that the arguments name, which end with NULL, and returns the exit code. */
int gt_helper_run(char **arguments);

/* Loads the first MPI library that can be loaded, starts MPI, and passes frames (procs/wire.h) between its
 * socket and the helpers of the other processes until it is told to finish. */
int gt_helper_mpi(char **libraries);

/* Answers requests (run/sensors/sensors.h) until its socket is closed. Ends at once with exit code 1 if there
 * is no library or no device. */
int gt_helper_sensors(bool is_nvml);
