/* Fuzzes the steps of `gputally sweep` that make reports and tables from folders of settings. */
static const char *const commands[] = {"sweep report",   "sweep timeline", "sweep comms",
                                       "sweep counters", "sweep decide",   0};
#include "command.h"
