/* Fuzzes `gputally query`: statements, joined tables and their answers. */
static const char *const commands[] = {"query", 0};
#include "command.h"
