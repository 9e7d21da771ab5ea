/* Fuzzes what commands do with the output of the programs that they start: the replies of extensions, of a
 * GEMM simulator and of node replay. */
#define STAND_INS                                                                                            \
    {                                                                                                        \
        "python3", "extension-python", "python", "hipblaslt-bench", "MIOpenDriver"                           \
    }
static const char *const commands[] = {"pytorch", "report", "batch", "model", 0};
#include "command.h"
