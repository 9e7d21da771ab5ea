/* Fuzzes `gputally model` and `gputally links`. */
static const char *const commands[] = {"links", "model", 0};
#include "command.h"
