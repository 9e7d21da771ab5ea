/* Fuzzes `gputally split` and `match-blocks`: steps and phases of inference servers; and `replay-ir`. */
static const char *const commands[] = {"split", "match-blocks", "replay-ir", 0};
#include "command.h"
