/* Fuzzes the plans of `gputally run`: contexts and tools. Only with
 * --dry_run; nothing is started. */
static const char *const commands[] = {"run", 0};
#include "command.h"
