/* Fuzzes `gputally report`: detecting the format, and every report with its own defaults. */
static const char *const commands[] = {"report", 0};
#include "command.h"
