/* Fuzzes `gputally convert` on files and folders of all formats. */
static const char *const commands[] = {"convert", 0};
#include "command.h"
