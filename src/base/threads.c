/* Threads: starting one, and the cores that affinity and the control group leave to this process. */
#include "base/threads.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned cores_by_affinity(void)
{
    for (size_t cpus = 1024; cpus <= 1 << 20; cpus *= 4) { /* the set must be as large as the kernel's */
        size_t size = CPU_ALLOC_SIZE(cpus);
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (!set) break;
        int count = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (count > 0) return (unsigned)count;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

/* The first two whitespace-separated words of a file, as cpu.max has them ("200000 100000" or "max 100000").
 */
static bool read_words(const char *path, char first[32], char second[32])
{
    FILE *file = fopen(path, "re");
    if (!file) return false;
    first[0] = second[0] = 0;
    int words = fscanf(file, "%31s %31s", first, second);
    fclose(file);
    return words >= 1;
}

/* The cores that a quota allows, rounded up; 0 without a quota. */
static unsigned cores_of_quota(const char *quota, const char *period)
{
    double q = strtod(quota, NULL),
           p = strtod(period, NULL); /* "max" is read as 0; version 1 has -1 for no quota */
    if (!(q > 0) || !(p > 0) || q / p > 1e6) return 0;
    unsigned whole = (unsigned)(q / p);
    return (double)whole * p < q ? whole + 1 : whole;
}

static unsigned cores_in_group(const char *group, bool version_2)
{
    char path[4096], quota[32], period[32], rest[32];
    if (version_2) {
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
        return read_words(path, quota, period) ? cores_of_quota(quota, period) : 0;
    }
    snprintf(path, sizeof path, "/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us", group);
    if (!read_words(path, quota, rest)) return 0;
    snprintf(path, sizeof path, "/sys/fs/cgroup/cpu%s/cpu.cfs_period_us", group);
    return read_words(path, period, rest) ? cores_of_quota(quota, period) : 0;
}

/* The smallest quota of the group and the groups around it; 0 if none has one. */
static unsigned cores_in_groups_around(char *group, bool version_2)
{
    unsigned least = 0;
    for (;;) {
        unsigned cores = cores_in_group(group, version_2);
        if (cores && (!least || cores < least)) least = cores;
        char *slash = strrchr(group, '/');
        if (!slash) return least;
        *slash = 0;
    }
}

static unsigned cores_by_control_group(void)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file) return 0;
    unsigned least = 0;
    char line[4096];
    while (fgets(line, sizeof line, file)) { /* "0::/path" is version 2, "3:cpu,cpuacct:/path" version 1 */
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group++ = 0;
        controllers++;
        bool version_2 = controllers[0] == 0;
        if (!version_2 && strcmp(controllers, "cpu") && strncmp(controllers, "cpu,", 4) &&
            !strstr(controllers, ",cpu,"))
            continue;
        unsigned cores = cores_in_groups_around(group, version_2);
        if (cores && (!least || cores < least)) least = cores;
    }
    fclose(file);
    return least;
}

static unsigned most_by_default; /* set once, before there are threads */

void gt_threads_limit_default(unsigned most)
{
    most_by_default = most;
}

unsigned gt_threads_of_machine(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned cores = online > 0 ? (unsigned)online : 1, quota = cores_by_control_group();
    return quota && quota < cores ? quota : cores;
}

unsigned gt_threads_default(void)
{
    unsigned cores = cores_by_affinity(), quota = cores_by_control_group();
    if (quota && quota < cores) cores = quota;
    return most_by_default && most_by_default < cores ? most_by_default : cores;
}

/* ---- starting ---- */

/* Signals stay enabled that a fault of the thread itself causes: blocked, they would end the process without
 * the handler that it may have for them. */
int gt_thread_start(pthread_t *thread, void *(*run)(void *context), void *context)
{
    static const int faults[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    sigset_t others, before;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&others, faults[i]);
    pthread_sigmask(SIG_BLOCK, &others, &before);
    int failure = pthread_create(thread, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure;
}
