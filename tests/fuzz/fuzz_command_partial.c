/* Fuzzes `gputally partial` on traces, and `gputally merge` on partials. */
static const char *const commands[] = {"partial", "merge", 0};
#include "command.h"
