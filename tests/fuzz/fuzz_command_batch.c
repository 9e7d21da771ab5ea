/* Fuzzes `gputally batch` on folders of traces. */
static const char *const commands[] = {"batch", 0};
#include "command.h"
