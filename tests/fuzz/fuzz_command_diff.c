/* Fuzzes `gputally diff` on two traces. */
static const char *const commands[] = {"diff", 0};
#include "command.h"
