/* Fuzzes `gputally pytorch` and `pytorch-inference` with all their options, also on traces with other files
 * next to them.
 */
static const char *const commands[] = {"pytorch", "pytorch-inference", 0};
#include "command.h"
