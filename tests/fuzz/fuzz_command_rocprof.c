/* Fuzzes `gputally rocprof`, mainly on databases and folders; single JSON and CSV files have their own
 * targets. */
static const char *const commands[] = {"rocprof", 0};
#include "command.h"
