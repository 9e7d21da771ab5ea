/* Fuzzes `gputally collective` on the traces of several ranks. */
static const char *const commands[] = {"collective", 0};
#include "command.h"
