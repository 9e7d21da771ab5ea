/* Fuzzes `gputally compare` on workbooks, folders of CSV files and traces. */
static const char *const commands[] = {"compare", 0};
#include "command.h"
