/* Fuzzes `gputally ncu` with its outputs; fuzz_ncu fuzzes the reader alone. */
static const char *const commands[] = {"ncu", 0};
#include "command.h"
