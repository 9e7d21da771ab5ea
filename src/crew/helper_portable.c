/* The MPI helper of the portable program, which cannot load libraries: a small program in
 * ../libexec/gputally beside the program's folder (src/helper). */
#include "crew/link.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool gt_link_helper_path(char *path, size_t size)
{
    char program[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);
    if (len <= 0) return false;
    program[len] = 0;
    char *name = strrchr(program, '/');
    if (!name) return false;
    *name = 0;
    int needed = snprintf(path, size, "%s/../libexec/gputally/gputally-helper", program);
    return needed > 0 && (size_t)needed < size;
}
