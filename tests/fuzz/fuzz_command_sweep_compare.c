/* Fuzzes the steps of `gputally sweep` that compare sweeps. */
static const char *const commands[] = {"sweep compare", "sweep html", 0};
#include "command.h"
