/* Fuzzes `gputally model`. */
static const char *const commands[] = {"model", 0};
#include "command.h"
