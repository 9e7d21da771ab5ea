/* Threads: starting one, and the cores that affinity and the control group leave to this process. */
#include "base/threads.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The calling thread, if it was started so; else NULL. The attribute is GT_THREAD_LOCAL of base/memory.h,
 * which depends on this file. */
static _Thread_local gt_beside *own __attribute__((tls_model("initial-exec")));

static unsigned cores_by_affinity(void)
{
    if (own && own->core_count) return own->core_count;
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

/* Not those that a fault of the thread itself causes: blocked, they would end the process without the handler
 * that it may have for them. */
static int start(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *context),
                 void *context)
{
    static const int faults[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    sigset_t others, before;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&others, faults[i]);
    pthread_sigmask(SIG_BLOCK, &others, &before);
    int failure = pthread_create(thread, attributes, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure;
}

int gt_thread_start(pthread_t *thread, void *(*run)(void *context), void *context)
{
    gt_threads_use_all_cores();
    return start(thread, NULL, run, context);
}

/* ---- beside the caller ---- */

/* Fails on machines with more cores than a set has (1,024). */
static void find_cores(gt_beside *thread)
{
    thread->core_count = 0;
    if (own) {
        thread->cores = own->cores;
        thread->core_count = own->core_count;
    } else if (sched_getaffinity(0, sizeof thread->cores, &thread->cores) == 0) {
        thread->core_count = (unsigned)CPU_COUNT(&thread->cores);
    }
}

static void *run_beside(void *argument)
{
    own = argument;
    return own->run(own->context);
}

static cpu_set_t without(const cpu_set_t *cores, int core)
{
    cpu_set_t others = *cores;
    if (core >= 0) CPU_CLR((unsigned)core, &others);
    return others;
}

/* Starts it on the other cores. */
static bool start_off(gt_beside *thread, int core)
{
    pthread_attr_t attributes;
    cpu_set_t others = without(&thread->cores, core);
    if (core < 0 || pthread_attr_init(&attributes) != 0) return false;
    atomic_store(&thread->kept_off, core);
    bool started = CPU_COUNT(&others) > 0 &&
                   pthread_attr_setaffinity_np(&attributes, sizeof others, &others) == 0 &&
                   start(&thread->thread, &attributes, run_beside, thread) == 0;
    if (!started) atomic_store(&thread->kept_off, -1);
    pthread_attr_destroy(&attributes);
    return started;
}

int gt_beside_start(gt_beside *thread, unsigned least_cores, void *(*run)(void *context), void *context)
{
    thread->run = run;
    thread->context = context;
    atomic_init(&thread->kept_off, -1);
    find_cores(thread);
    bool keep_off = least_cores && thread->core_count >= least_cores && thread->core_count > 1;
    if (keep_off && start_off(thread, sched_getcpu())) return 0;
    gt_threads_use_all_cores();
    return start(&thread->thread, NULL, run_beside, thread);
}

/* Not if somebody else has changed its cores; nor any that were taken from the caller since. */
static void lift(gt_beside *thread, pthread_t id)
{
    cpu_set_t now, all = thread->cores, others = without(&all, atomic_load(&thread->kept_off));
    if (atomic_exchange(&thread->kept_off, -1) < 0) return;
    if (!own) sched_getaffinity(0, sizeof all, &all);
    if (pthread_getaffinity_np(id, sizeof now, &now) == 0 && CPU_EQUAL(&now, &others))
        pthread_setaffinity_np(id, sizeof all, &all);
}

void gt_beside_use_all_cores(gt_beside *thread)
{
    lift(thread, thread->thread);
}

void gt_threads_use_all_cores(void)
{
    if (own) lift(own, pthread_self());
}

void gt_beside_join(gt_beside *thread)
{
    gt_beside_use_all_cores(thread);
    pthread_join(thread->thread, NULL);
}

bool gt_beside_wait(const gt_beside *thread, pthread_cond_t *condition, pthread_mutex_t *lock)
{
    if (atomic_load(&thread->kept_off) < 0) return pthread_cond_wait(condition, lock) == 0;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += GT_BESIDE_WAIT_NS;
    if (end.tv_nsec >= 1000000000) {
        end.tv_nsec -= 1000000000;
        end.tv_sec++;
    }
    return pthread_cond_clockwait(condition, lock, CLOCK_MONOTONIC, &end) != ETIMEDOUT;
}
