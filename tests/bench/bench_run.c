/* Runs a command once and prints wall time, CPU time, peak memory and exit code.
 *
 *     bench_run COMMAND [ARGUMENT…]      prints "milliseconds M cpu C peak_kb K code X" after the command's
 * output
 *
 * A process inherits the peak memory of its parent; this one is small, so that the value is the
 * command's own. The command's standard output is dropped. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static _Noreturn void become(char **command)
{
    execvp(command[0], command);
    perror(command[0]);
    _exit(127);
}

static double ms_of(struct timeval t)
{
    return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

int main(int argc, char **argv)
{
    if (argc < 2) return fputs("usage: bench_run COMMAND [ARGUMENT...]\n", stderr), 2;
    double begin = now_ms();
    pid_t child = fork();
    if (child == 0) become(argv + 1);
    int status = 0;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) != child) return perror("bench_run"), 1;
    double end = now_ms();
    printf("milliseconds %.3f cpu %.3f peak_kb %ld code %d\n", end - begin,
           ms_of(usage.ru_utime) + ms_of(usage.ru_stime), usage.ru_maxrss,
           WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}
