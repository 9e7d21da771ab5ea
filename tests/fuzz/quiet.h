/* For targets whose code warns about damaged input: discards the warnings. */
#ifndef GT_FUZZ_QUIET_H
#define GT_FUZZ_QUIET_H

#include "base/log.h"

static void say_nothing(bool warning, const char *text)
{
    (void)warning;
    (void)text;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    gt_log_to(say_nothing);
    return 0;
}

#endif
