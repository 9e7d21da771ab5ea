/* Fuzzes `gputally split` and `match-blocks`: steps and phases of inference servers. */
static const char *const commands[] = {"split", "match-blocks", 0};
#include "command.h"
