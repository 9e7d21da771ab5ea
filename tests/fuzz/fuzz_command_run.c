/* Fuzzes the plans of `gputally run` and `gputally sweep run`: contexts, tools and grids. Only with
 * --dry_run; nothing is started. */
static const char *const commands[] = {"run", "sweep run", 0};
#include "command.h"
