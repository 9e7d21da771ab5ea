/* Fuzzes `gputally fuse` and the similar step of sweeps, on the traces of several ranks. */
static const char *const commands[] = {"fuse", "sweep merge", 0};
#include "command.h"
