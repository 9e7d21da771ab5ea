/* Fuzzes the steps of `gputally sweep` that compare sweeps and runs. */
static const char *const commands[] = {"sweep compare",
                                       "sweep html",
                                       "sweep run-tracelens-single-config",
                                       "sweep combine-reports",
                                       "sweep add-comparison-sheets",
                                       "sweep add-collective-comparison",
                                       "sweep create-final-report",
                                       "sweep create-final-plots",
                                       "sweep create-final-html",
                                       "sweep compare-all-runs",
                                       0};
#include "command.h"
