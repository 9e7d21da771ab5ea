/* Fuzzes the steps of `gputally sweep` about GEMM rows. */
static const char *const commands[] = {"sweep top",        "sweep yaml",    "sweep plot",
                                       "sweep timestamps", "sweep overlap", 0};
#include "command.h"
