/* Signal handlers that remove unfinished output files and end the programs that were started. The library
 * itself never touches signals. */
#include "cli/command.h"
#include "procs/procs.h"
#include "os/child.h"
#include "output/output.h"

#include <pthread.h>
#include <signal.h>

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static sigset_t signal_set(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < GT_LENGTH(ending_signals); i++) sigaddset(&set, ending_signals[i]);
    return set;
}

/* Cleans up and raises the signal again with its default action. */
static void remove_on_signal(int number)
{
    int saved = errno;
    gt_procs_end_by_signal(number);
    gt_child_end_all();
    gt_output_remove_unfinished();
    signal(number, SIG_DFL);
    raise(number);
    errno = saved;
}

static bool has_default_action(int number)
{
    struct sigaction old;
    return sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_DFL;
}

/* The signals are blocked here as well: the handler must not wait for a lock that its own thread holds. */
static void remove_at_exit(void)
{
    sigset_t set = signal_set();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    gt_output_remove_unfinished();
}

static void install_once(void)
{
    atexit(remove_at_exit);
    at_quick_exit(remove_at_exit);
    struct sigaction action = {.sa_handler = remove_on_signal, .sa_mask = signal_set()};
    for (size_t i = 0; i < GT_LENGTH(ending_signals); i++)
        if (has_default_action(ending_signals[i])) sigaction(ending_signals[i], &action, NULL);
    if (has_default_action(SIGXFSZ)) signal(SIGXFSZ, SIG_IGN);
}

static void install_handlers(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install_once);
}

void gt_cleanup_install_now(void)
{
    install_handlers();
}

void gt_cleanup_install(void)
{
    gt_child_before_first(install_handlers);
    gt_output_watcher watcher = {.signals = ending_signals,
                                 .signal_count = GT_LENGTH(ending_signals),
                                 .first_output = install_handlers};
    gt_output_watch(&watcher);
}
