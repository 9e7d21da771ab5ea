/* Fuzzes `gputally compare` on workbooks, folders of CSV files and traces, and `gputally what-if`. */
static const char *const commands[] = {"compare", "what-if", 0};
#include "command.h"
