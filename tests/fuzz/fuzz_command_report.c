/* Fuzzes `gputally report` and `gputally index`: detecting the format, and every report with its own
 * defaults. */
static const char *const commands[] = {"index", "report", 0};
#include "command.h"
