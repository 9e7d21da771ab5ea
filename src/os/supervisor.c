/* The supervisor runs in a copy of this program that may have had other threads. So it only uses system
 * calls: no allocation, no standard input or output. */
#include "os/supervisor.h"
#include "os/clock.h"
#include "os/own.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PROCESSES_MAX = 1 << 17, /* more are not looked at */
    STAT_BYTES = 512,        /* of /proc/PID/stat; the numbers that count come first */
    LISTING_BYTES = 32 * 1024,
    STEP_MS = 20,        /* how often the tree is looked at while it is killed */
    SLOW_STEP_MS = 100,  /* and while it has time to end */
    DESCRIPTORS = 65536, /* closed one by one where the kernel cannot close a range */
};
static const double kill_s = 10;  /* how long processes are killed that do not end */
static const double undo_s = 60;  /* limit of the undo command */
static const double rest_s = 1;   /* helpers of a command often end a moment after it */
static const double told_s = 0.5; /* SLURM signals the processes of a job one after the other within this */

typedef struct order {
    unsigned char number; /* of the signal */
    bool all;
} order;

typedef struct process {
    pid_t pid, parent, group;
    bool is_ours, is_dead;
} process;

typedef struct watcher {
    const gt_supervisor_setup *setup;
    pid_t command, caller_group;
    int orders, reports, deaths; /* deaths: a signalfd of SIGCHLD and SIGTERM */
    process *processes;
    size_t count;
    bool has_ended, is_ending, is_killing, is_orphaned, is_rest_told;
    bool is_told; /* SLURM has sent SIGTERM to this process, and so to all others of the job */
    double kill_until, ended_at;
} watcher;

/* ---- finding the descendants ---- */

static pid_t read_pid(const char *name)
{
    pid_t pid = 0;
    if (!*name) return 0;
    for (; *name; name++) {
        if (*name < '0' || *name > '9' || pid > INT32_MAX / 10 - 10) return 0;
        pid = pid * 10 + (*name - '0');
    }
    return pid;
}

/* The next number of a text; negative ones (no process group) as 0. */
static pid_t next_number(const char **at)
{
    long number = 0;
    bool negative = false;
    while (**at == ' ') (*at)++;
    if (**at == '-') negative = true, (*at)++;
    for (; **at >= '0' && **at <= '9' && number < INT32_MAX; (*at)++) number = number * 10 + (**at - '0');
    return negative ? 0 : (pid_t)number;
}

/* "PID (NAME) STATE PARENT GROUP ...": the name may contain anything, so the last parenthesis counts. */
static bool read_stat(int folder, const char *name, process *p)
{
    char path[64], text[STAT_BYTES];
    size_t len = strlen(name);
    if (len + 6 > sizeof path) return false;
    memcpy(path, name, len);
    memcpy(path + len, "/stat", 6);
    int file = openat(folder, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    if (got <= 0) return false;
    text[got] = 0;
    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ' || !at[2]) return false;
    p->is_dead = at[2] == 'Z' || at[2] == 'X';
    at += 3;
    p->parent = next_number(&at);
    p->group = next_number(&at);
    return true;
}

struct listed { /* an entry of getdents64 */
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
};

/* All processes, in the order of their numbers, which is that of /proc. */
static void list_processes(watcher *s)
{
    char listing[LISTING_BYTES] __attribute__((aligned(8)));
    int folder = gt_open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long got;
    s->count = 0;
    while (folder >= 0 && (got = syscall(SYS_getdents64, folder, listing, sizeof listing)) > 0)
        for (long at = 0; at < got;) {
            const struct listed *entry = (const struct listed *)(listing + at);
            at += entry->size;
            process p = {.pid = read_pid(entry->name)};
            if (!p.pid || s->count == PROCESSES_MAX || !read_stat(folder, entry->name, &p)) continue;
            s->processes[s->count++] = p;
        }
    if (folder >= 0) close(folder);
}

static process *find_process(watcher *s, pid_t pid)
{
    size_t at;
    GT_BISECT(at, 0, s->count, s->processes[at].pid < pid);
    return at < s->count && s->processes[at].pid == pid ? &s->processes[at] : NULL;
}

/* Marks the descendants of the supervisor; returns how many of them live. Parents mostly have the smaller
 * numbers, so that one round marks nearly all. */
static size_t find_descendants(watcher *s)
{
    pid_t own = getpid();
    size_t living = 0;
    list_processes(s);
    for (bool is_changed = true; is_changed;) {
        is_changed = false;
        for (size_t i = 0; i < s->count; i++) {
            process *p = &s->processes[i], *parent = NULL;
            if (p->is_ours) continue;
            if (p->parent != own) parent = find_process(s, p->parent);
            if (p->parent != own && (!parent || !parent->is_ours)) continue;
            p->is_ours = is_changed = true;
            living += !p->is_dead;
        }
    }
    return living;
}

/* ---- signals ---- */

static void signal_process(pid_t pid, int number)
{
    kill(pid, number);
    if (number != SIGKILL) kill(pid, SIGCONT); /* a stopped process must receive it, too */
}

/* Signals the group, and the other descendants if `all`. Returns how many descendants live. */
static size_t signal_tree(watcher *s, int number, bool all)
{
    if (!s->has_ended) signal_process(-s->command, number); /* afterwards the number may belong to others */
    if (!all) return 0;
    size_t living = find_descendants(s);
    for (size_t i = 0; i < s->count; i++) {
        const process *p = &s->processes[i];
        bool is_done = !s->has_ended && p->group == s->command;
        if (p->is_ours && !p->is_dead && !is_done) signal_process(p->pid, number);
    }
    return living;
}

static void begin_killing(watcher *s)
{
    if (!s->is_killing) s->kill_until = gt_clock_now_s() + kill_s;
    s->is_killing = s->is_ending = true;
}

/* Whether a process belongs to SLURM (slurmstepd). One that cannot be looked at counts as such. */
static bool is_slurm(pid_t pid)
{
    char path[32] = "/proc/", digits[16], name[16] = "";
    size_t len = strlen(path), count = 0;
    for (; pid > 0; pid /= 10) digits[count++] = (char)('0' + pid % 10);
    while (count) path[len++] = digits[--count];
    memcpy(path + len, "/comm", 6);
    int file = gt_open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return true;
    ssize_t got = read(file, name, sizeof name - 1);
    close(file);
    return got <= 0 || strncmp(name, "slurm", 5) == 0;
}

static void take_own_signals(watcher *s)
{
    struct signalfd_siginfo info;
    while (read(s->deaths, &info, sizeof info) == sizeof info)
        if (info.ssi_signo == SIGTERM && s->setup->in_slurm && is_slurm((pid_t)info.ssi_pid))
            s->is_told = true;
}

/* Whether SLURM sends SIGTERM to the command itself. This process ignores it, but sees it: it gets the signal
 * if all processes of the job do, and does not if only the program was meant (scancel --batch, kill). A
 * second one would end a profiler that has begun to write its trace. */
static bool slurm_tells_all(watcher *s)
{
    double until = gt_clock_now_s() + told_s;
    if (!s->setup->in_slurm) return false;
    for (take_own_signals(s); !s->is_told && gt_clock_now_s() < until; take_own_signals(s))
        poll(&(struct pollfd){.fd = s->deaths, .events = POLLIN}, 1, STEP_MS);
    return s->is_told;
}

static void take_orders(watcher *s)
{
    order o;
    ssize_t got = read(s->orders, &o, sizeof o);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got != sizeof o) { /* the program is gone */
        close(s->orders);
        s->orders = -1;
        s->is_orphaned = true;
        begin_killing(s);
        return;
    }
    s->is_ending = true;
    if (o.number == SIGKILL)
        begin_killing(s);
    else if (o.number == SIGTERM && slurm_tells_all(s))
        s->is_rest_told = true;
    else
        signal_tree(s, o.number, o.all);
}

/* ---- the terminal ---- */

/* The command reads from the terminal, which belongs to the caller's process group: it is lent to the
 * command's. */
static void give_terminal(pid_t group)
{
    tcsetpgrp(STDIN_FILENO, group); /* SIGTTOU is ignored */
}

static void take_terminal_back(const watcher *s)
{
    if (isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == s->command) give_terminal(s->caller_group);
}

/* ---- waiting ---- */

static void report(const watcher *s, gt_supervisor_event kind, int value)
{
    gt_supervisor_report r = {.kind = kind, .value = value};
    while (write(s->reports, &r, sizeof r) < 0 && errno == EINTR) {
    }
}

/* Takes what has ended: the command, and orphans that the kernel has given to us. */
static void reap(watcher *s)
{
    int status;
    take_own_signals(s);
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
        if (pid != s->command) continue;
        if (WIFSTOPPED(status)) {
            bool wants_terminal = WSTOPSIG(status) == SIGTTIN || WSTOPSIG(status) == SIGTTOU;
            if (wants_terminal && isatty(STDIN_FILENO)) {
                give_terminal(s->command);
                kill(-s->command, SIGCONT);
            }
            continue;
        }
        take_terminal_back(s);
        s->has_ended = true;
        s->ended_at = gt_clock_now_s();
        report(s, GT_SUPERVISOR_ENDED, status);
    }
}

/* One step; false when nothing is left to wait for. */
static bool step(watcher *s)
{
    reap(s);
    bool waits = s->has_ended && !s->is_ending;
    if (waits) {
        size_t rest = find_descendants(s);
        bool is_over = gt_clock_now_s() > s->ended_at + rest_s;
        if (!rest || (is_over && !s->setup->ends_rest)) return false;
        if (is_over) {
            report(s, GT_SUPERVISOR_ENDS_REST, (int)rest);
            s->is_ending = true;
            waits = false;
        }
    }
    if (s->is_killing) {
        if (!signal_tree(s, SIGKILL, true) && s->has_ended) return false;
        if (gt_clock_now_s() > s->kill_until) return false;
    } else if (s->has_ended && !waits) {
        size_t living = s->is_rest_told ? find_descendants(s) : signal_tree(s, SIGTERM, true);
        s->is_rest_told = true;
        if (!living) return false;
    }
    struct pollfd places[] = {{.fd = s->orders, .events = POLLIN}, {.fd = s->deaths, .events = POLLIN}};
    poll(places, 2, s->is_killing || waits ? STEP_MS : s->has_ended ? SLOW_STEP_MS : -1);
    if (places[0].revents) take_orders(s);
    return true;
}

/* The command that cleans up after a program that cannot do it any more. */
static void undo(const watcher *s)
{
    pid_t pid = fork();
    if (pid == 0) {
        alarm((unsigned)undo_s);
        execvp(s->setup->undo[0], (char *const *)(uintptr_t)s->setup->undo);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
}

/* ---- starting ---- */

/* A descriptor that is none of the standard ones: where those are closed, a new one gets their number. */
static int beyond_standard(int descriptor)
{
    if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
    int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(descriptor);
    return moved;
}

static void close_range_of(unsigned first, unsigned last)
{
    if (first > last) return;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, last, 0) == 0) return;
#endif
    for (unsigned i = first; i <= last && i < DESCRIPTORS; i++) close((int)i);
}

/* Keeps standard input, for the terminal, and our own pipes. A reader of our output must not wait for us. */
static void close_others(const watcher *s)
{
    int kept[] = {s->orders, s->reports, s->deaths}, null = gt_open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
    }
    for (int i = 0; i < 3; i++) /* three numbers, sorted */
        for (int k = i + 1; k < 3; k++)
            if (kept[k] < kept[i]) {
                int swapped = kept[i];
                kept[i] = kept[k];
                kept[k] = swapped;
            }
    unsigned first = STDERR_FILENO + 1;
    for (int i = 0; i < 3; i++) {
        close_range_of(first, (unsigned)kept[i] - 1);
        first = (unsigned)kept[i] + 1;
    }
    close_range_of(first, UINT32_MAX);
}

static void ignore_signals(void)
{
    static const int ignored[] = {SIGINT,  SIGHUP,  SIGQUIT, SIGPIPE, SIGTSTP,
                                  SIGTTOU, SIGTTIN, SIGUSR1, SIGUSR2}; /* SIGTERM stays blocked */
    struct sigaction action = {.sa_handler = SIG_IGN};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) sigaction(ignored[i], &action, NULL);
    action.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &action, NULL);
}

/* In the supervisor: never returns. All signals are blocked; `mask` is that of the caller. */
static void supervise(watcher *s, const sigset_t *mask)
{
    sigset_t deaths;
    sigemptyset(&deaths);
    sigaddset(&deaths, SIGCHLD);
    sigaddset(&deaths, SIGTERM);
    setpgid(0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    s->deaths = beyond_standard(signalfd(-1, &deaths, SFD_NONBLOCK | SFD_CLOEXEC));
    s->processes = mmap(NULL, PROCESSES_MAX * sizeof *s->processes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    pid_t own = getpid();
    s->command = s->deaths >= 0 && s->processes != MAP_FAILED ? fork() : -1;
    if (s->command == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != own) _exit(127);
        close(s->orders);
        close(s->reports);
        s->setup->become(s->setup->context, mask);
        _exit(127);
    }
    if (s->command < 0) {
        report(s, GT_SUPERVISOR_ENDED, 126 << 8);
        _exit(1);
    }
    setpgid(s->command, s->command);
    ignore_signals();
    pthread_sigmask(SIG_SETMASK, &deaths, NULL);
    prctl(PR_SET_NAME, "gt-supervisor");
    close_others(s);
    while (step(s)) {
    }
    size_t left = find_descendants(s);
    if (left) report(s, GT_SUPERVISOR_LEFT, (int)left);
    if (s->is_orphaned && s->setup->undo) undo(s);
    _exit(0);
}

static void close_pair(const int pair[2])
{
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0) close(pair[i]);
}

static bool open_pipe(int pair[2])
{
    pair[0] = pair[1] = -1;
    if (pipe2(pair, O_CLOEXEC) != 0) return false;
    for (int i = 0; i < 2; i++) pair[i] = beyond_standard(pair[i]);
    return pair[0] >= 0 && pair[1] >= 0;
}

int gt_supervisor_start(const gt_supervisor_setup *setup, gt_supervisor *started)
{
    int orders[2], reports[2];
    sigset_t all, mask;
    bool has_orders = open_pipe(orders), has_reports = open_pipe(reports);
    if (!has_orders || !has_reports) {
        int failure = errno ? errno : EMFILE;
        close_pair(orders);
        close_pair(reports);
        return failure;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    watcher s = {.setup = setup, .caller_group = getpgrp(), .orders = orders[0], .reports = reports[1]};
    pid_t pid = fork();
    int failure = pid < 0 ? errno : 0;
    if (pid == 0) {
        close(orders[1]);
        close(reports[0]);
        supervise(&s, &mask);
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    for (size_t i = 0; i < setup->passed_on_count; i++)
        if (setup->passed_on[i] >= 0) close(setup->passed_on[i]);
    close(orders[0]);
    close(reports[1]);
    if (failure) {
        close(orders[1]);
        close(reports[0]);
        return failure;
    }
    *started = (gt_supervisor){.pid = pid, .orders = orders[1], .reports = reports[0]};
    return 0;
}

void gt_supervisor_signal(const gt_supervisor *supervisor, int number, bool all)
{
    order o = {.number = (unsigned char)number, .all = all};
    while (write(supervisor->orders, &o, sizeof o) < 0 && errno == EINTR) {
    }
}

void gt_supervisor_finish(gt_supervisor *supervisor)
{
    while (waitpid(supervisor->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    close(supervisor->orders);
    close(supervisor->reports);
}
