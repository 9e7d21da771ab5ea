/* Fuzzes `gputally sweep run`: grids, plans, contexts, and what is left of earlier submissions. Nothing that
 * an input names is started: runs are only printed (--dry_run), or submitted to a stand-in for SLURM, whose
 * programs print what the input says, and not waited for. */
#define STAND_INS                                                                                            \
    {                                                                                                        \
        "sbatch", "squeue", "sacct", "scontrol", "scancel"                                                   \
    }
static const char *const commands[] = {"sweep run", 0};
#include "command.h"
