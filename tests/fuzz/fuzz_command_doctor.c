/* Fuzzes `gputally doctor`, on traces, on folders and on files of other kinds. */
static const char *const commands[] = {"doctor", 0};
#include "command.h"
