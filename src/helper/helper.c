#include "helper/helper.h"

#include <string.h>
#include <sys/prctl.h>

int gt_helper_run(char **arguments)
{
    prctl(PR_SET_NAME, "gputally-helper"); /* the normal program is started as /proc/self/exe */
    if (*arguments && strcmp(*arguments, "mpi") == 0) return gt_helper_mpi(arguments + 1);
    if (*arguments && strcmp(*arguments, "nvml") == 0) return gt_helper_sensors(true);
    if (*arguments && strcmp(*arguments, "rocm") == 0) return gt_helper_sensors(false);
    return 2;
}
