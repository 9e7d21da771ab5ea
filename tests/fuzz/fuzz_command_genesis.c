/* Fuzzes `gputally genesis` on capture folders. */
static const char *const commands[] = {"genesis", 0};
#include "command.h"
