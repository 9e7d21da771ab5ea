/* Fuzzes `gputally split`: steps and phases of inference servers. */
static const char *const commands[] = {"split", 0};
#include "command.h"
