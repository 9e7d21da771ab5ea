/* Fuzzes `gputally pytorch` with all its options, also on traces with other files beside them. */
static const char *const commands[] = {"pytorch", 0};
#include "command.h"
