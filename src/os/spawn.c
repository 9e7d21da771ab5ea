/* Programs that the library starts: no signal handler, no thread, and nothing of them stays behind.
 *
 * Each gets a process group of its own. The group is ended when the program has ended or was given up, and
 * also when this process dies, even by SIGKILL: the program inherits the read end of a pipe (the lifeline)
 * whose write end only we have, and the kernel is told to send SIGKILL to the group when the pipe changes,
 * that is when our end closes. */
#include "os/child.h"
#include "os/clock.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { GROUPS_MAX = 64, TITLE_MAX = 256, STEP_MIN_MS = 1, STEP_MAX_MS = 50 };

/* ---- process groups in use ---- */

static _Atomic(pid_t) groups[GROUPS_MAX]; /* 0: free; -1: being filled */
static char titles[GROUPS_MAX][TITLE_MAX];
static _Atomic(bool) is_first = true;
static void (*before_first)(void);

void gt_child_before_first(void (*called)(void))
{
    before_first = called;
}

static void add_group(pid_t group, const char *title)
{
    for (size_t i = 0; i < GROUPS_MAX; i++) {
        pid_t none = 0;
        if (!atomic_compare_exchange_strong(&groups[i], &none, -1)) continue;
        size_t len = 0;
        for (; title[len] && len < TITLE_MAX - 1; len++) /* nothing that a terminal would obey */
            titles[i][len] = (unsigned char)title[len] < ' ' || title[len] == 0x7F ? '?' : title[len];
        titles[i][len] = 0;
        atomic_store(&groups[i], group);
        return;
    }
}

static void remove_group(pid_t group)
{
    for (size_t i = 0; i < GROUPS_MAX; i++) {
        pid_t found = group;
        if (atomic_compare_exchange_strong(&groups[i], &found, 0)) return;
    }
}

void gt_child_end_all(void)
{
    for (size_t i = 0; i < GROUPS_MAX; i++) {
        pid_t group = atomic_load(&groups[i]);
        if (group <= 0) continue;
        kill(-group, SIGKILL);
        const struct iovec line[] = {{(char *)(uintptr_t) "gputally: ", 10},
                                     {titles[i], strlen(titles[i])},
                                     {(char *)(uintptr_t) ": interrupted\n", 14}};
        ssize_t ignored = writev(STDERR_FILENO, line, 3);
        (void)ignored;
    }
}

/* ---- starting ---- */

/* Has the kernel end the group when the write end closes. Where it cannot, the group ends in the other cases.
 */
static void set_owner(int lifeline, pid_t group)
{
    fcntl(lifeline, F_SETSIG, SIGKILL);
    fcntl(lifeline, F_SETOWN, -group);
    fcntl(lifeline, F_SETFL, O_RDONLY | O_ASYNC);
}

/* Signals wait while the group is not in the list yet; the program starts with our mask. */
static int spawn(const char *const *argv, posix_spawn_file_actions_t *actions, const char *title, pid_t *pid)
{
    sigset_t all, mask;
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &mask);
    posix_spawnattr_setsigmask(&attributes, &mask);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    int failure = posix_spawnp(pid, argv[0], actions, &attributes, (char *const *)(uintptr_t)argv, environ);
    if (!failure) add_group(*pid, title);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    posix_spawnattr_destroy(&attributes);
    return failure;
}

static const char *helper_path;

const char *gt_child_helper(void)
{
    return helper_path;
}

void gt_child_set_helper(const char *path)
{
    helper_path = path;
}

const char *gt_child_spawn_problem(const char *path, int failure)
{
    if (failure == ENOENT && access(path, F_OK) == 0)
        return "it needs the C library glibc, which this system does not have";
    return strerror(failure);
}

int gt_child_spawn(const char *const *argv, const char *folder, const int *descriptors, size_t count,
                   const char *title, gt_spawned *child)
{
    enum { MOST = 8, ABOVE = 16 };
    int copies[MOST + 1], lifeline[2];
    size_t made = 0;
    if (count > MOST) return EINVAL;
    if (before_first && atomic_exchange(&is_first, false)) before_first();
    if (pipe2(lifeline, O_CLOEXEC) != 0) return errno;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (folder) posix_spawn_file_actions_addchdir_np(&actions, folder);
    /* Copied to high numbers first: a descriptor may have the number that another one gets. */
    int failure = 0;
    for (; made <= count && !failure; made++) {
        int wanted = made < count ? descriptors[made] : lifeline[0];
        copies[made] = wanted < 0 ? -1 : fcntl(wanted, F_DUPFD_CLOEXEC, ABOVE);
        if (wanted >= 0 && copies[made] < 0) failure = errno;
    }
    for (int i = 0; i < (int)made; i++) {
        if (copies[i] >= 0)
            posix_spawn_file_actions_adddup2(&actions, copies[i], i);
        else
            posix_spawn_file_actions_addopen(&actions, i, "/dev/null",
                                             i == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
    }
    if (!failure) failure = spawn(argv, &actions, title, &child->pid);
    posix_spawn_file_actions_destroy(&actions);
    for (size_t i = 0; i < made; i++)
        if (copies[i] >= 0) close(copies[i]);
    child->lifeline = lifeline[1];
    if (failure)
        close(lifeline[1]);
    else
        set_owner(lifeline[0], child->pid);
    close(lifeline[0]);
    return failure;
}

/* ---- waiting ---- */

/* Whether the program has ended. Its number stays taken until it is waited for. */
static bool has_ended(pid_t pid, bool *is_gone)
{
    siginfo_t info = {0};
    int failed;
    while ((failed = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT)) != 0 && errno == EINTR) {
    }
    *is_gone = failed != 0; /* ECHILD: somebody else has waited for it */
    return failed || info.si_pid == pid;
}

/* Reads once. False at the end of the output. */
static bool read_output(int output, gt_buffer *kept, size_t most)
{
    char part[16 * 1024];
    ssize_t got = read(output, part, sizeof part);
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    size_t room = kept->len < most ? most - kept->len : 0;
    if (got > 0 && room) gt_buffer_add(kept, part, (size_t)got < room ? (size_t)got : room);
    return got > 0;
}

/* Reads what the program has written; a process that it left behind may still have the other end open. */
static void drain(int output, gt_buffer *kept, size_t most)
{
    struct pollfd place = {.fd = output, .events = POLLIN};
    while (kept->len < most && poll(&place, 1, 0) > 0 && read_output(output, kept, most)) {
    }
}

/* Ends what is left of the group. */
static int settle(gt_spawned *child, bool is_gone)
{
    int status = 0;
    if (!is_gone) kill(-child->pid, SIGKILL);
    remove_group(child->pid);
    while (!is_gone && waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
    }
    close(child->lifeline);
    return status;
}

gt_spawn_end gt_child_finish(gt_spawned *child, double timeout_s, int output, gt_buffer *kept, size_t most)
{
    gt_spawn_end end = {0};
    double deadline_s = gt_clock_now_s() + timeout_s;
    int step_ms = STEP_MIN_MS, unread = output;
#ifdef SYS_pidfd_open
    int process = (int)syscall(SYS_pidfd_open, child->pid, 0); /* becomes readable when the program ends */
#else
    int process = -1;
#endif
    bool is_gone = false;
    while (!has_ended(child->pid, &is_gone)) {
        double left_ms = timeout_s > 0 ? (deadline_s - gt_clock_now_s()) * 1000 : 1e6;
        if (left_ms <= 0) {
            end.timed_out = true;
            break;
        }
        int wait_ms = left_ms < 1e6 ? (int)left_ms + 1 : 1000000;
        if (process < 0 && step_ms < wait_ms) wait_ms = step_ms;
        if (step_ms < STEP_MAX_MS) step_ms *= 2;
        struct pollfd places[] = {{.fd = unread, .events = POLLIN}, {.fd = process, .events = POLLIN}};
        if (poll(places, 2, wait_ms) > 0 && places[0].revents && !read_output(unread, kept, most))
            unread = -1;
    }
    if (process >= 0) close(process);
    if (unread >= 0 && !end.timed_out) drain(unread, kept, most);
    int status = settle(child, is_gone);
    end.status = status;
    return end;
}

void gt_child_abandon(gt_spawned *child)
{
    bool is_gone;
    has_ended(child->pid, &is_gone);
    settle(child, is_gone);
}

/* ---- Python ---- */

const char gt_python_prelude[] =
    "def _add_user_modules():\n"
    "    import os, site, sys\n"
    "    places = [i for i, p in enumerate(sys.path) if p.endswith(('site-packages', 'dist-packages'))]\n"
    "    at = places[0] if places else len(sys.path)\n"
    "    named = os.environ.get('PYTHONPATH', '').split(os.pathsep)\n"
    "    sys.path[at:at] = [p for p in named if os.path.isabs(p)]\n"
    "    if sys.prefix == sys.base_prefix and not os.environ.get('PYTHONNOUSERSITE'):\n"
    "        own = site.getusersitepackages()\n"
    "        if os.path.isdir(own):\n"
    "            site.addsitedir(own)\n"
    "_add_user_modules()\n"
    "del _add_user_modules\n";
