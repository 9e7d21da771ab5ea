/* Fuzzes `gputally nsys` on databases made from the input, and on other files. */
static const char *const commands[] = {"nsys", 0};
#include "command.h"
