/* Fuzzes the reports on traces of rocprofv3 in Perfetto or Chrome format. */
static const char *const commands[] = {"pftrace-hip-api", "pftrace-hip-activity", "pftrace-memory-copy", 0};
#include "command.h"
