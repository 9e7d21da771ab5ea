/* Fuzzes `gputally completion`, and `gputally doctor` on traces, on folders and on files of other kinds. */
static const char *const commands[] = {"doctor", "completion", 0};
#include "command.h"
