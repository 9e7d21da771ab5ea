/* Fuzzes `gputally compare` on workbooks and folders of CSV files. */
static const char *const commands[] = {"compare", 0};
#include "command.h"
