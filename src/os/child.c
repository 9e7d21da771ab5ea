/* Running a command: its two streams are pipes that one loop reads, together with a pipe to which the signal
 * handlers write and the reports of the supervisor (supervisor.h). So no thread is needed, and nothing is
 * polled. */
#include "os/child.h"
#include "os/clock.h"
#include "os/own.h"
#include "os/paths.h"
#include "os/supervisor.h"

#include <poll.h>
#include <sys/wait.h>

static const int handed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum {
    HANDED_ON = sizeof handed_on / sizeof *handed_on,
    READ_SIZE = 64 * 1024,
    LINE_MAX_BYTES = 1 << 20, /* a line longer than this is shown in pieces */
};
static const double default_grace_s = 10;
static const double linger_s = 2;   /* how long output is awaited after the command has ended */
static const double prompt_s = 0.2; /* how long the beginning of a line waits for its end */

typedef struct source {
    int descriptor; /* -1 once it has ended */
    int shown_at;   /* where its bytes are shown; -1: not */
    gt_child_stream stream;
    gt_buffer held;   /* a line that has not ended yet */
    size_t looked_at; /* bytes of it that are known to contain no line break */
    size_t shown;     /* bytes of it that were shown already */
    double since;     /* when its last bytes arrived */
} source;

typedef struct watch {
    const gt_child_setup *setup;
    gt_child_result *result;
    gt_supervisor supervisor;
    source sources[2];
    int log;
    int signals; /* read end of the signal pipe */
    double started, deadline, terminate_at, kill_at,
        give_up_at; /* seconds of the monotonic clock; 0: not set */
    bool ended;     /* the command has */
    bool over;      /* the supervisor has: nothing is left to be ended */
    int status;
} watch;

static int signal_pipe[2] = {-1, -1};

/* ---- signals ---- */

static void note_signal(int number)
{
    int before = errno;
    unsigned char byte = (unsigned char)number;
    while (write(signal_pipe[1], &byte, 1) < 0 && errno == EINTR) {
    }
    errno = before;
}

static void watch_signals(struct sigaction old[HANDED_ON + 1])
{
    struct sigaction action = {.sa_handler = note_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < HANDED_ON; i++) {
        sigaction(handed_on[i], &action, &old[i]);
        bool is_nohup = handed_on[i] == SIGHUP && old[i].sa_handler == SIG_IGN;
        if (is_nohup) sigaction(SIGHUP, &old[i], NULL); /* the end of the terminal is no reason to end */
    }
    action.sa_handler =
        SIG_IGN; /* if the reader of our output goes away, the command must still be waited for */
    sigaction(SIGPIPE, &action, &old[HANDED_ON]);
}

static void restore_signals(const struct sigaction old[HANDED_ON + 1])
{
    for (size_t i = 0; i < HANDED_ON; i++) sigaction(handed_on[i], &old[i], NULL);
    sigaction(SIGPIPE, &old[HANDED_ON], NULL);
}

/* ---- starting ---- */

typedef struct command {
    const gt_child_setup *setup;
    int out[2]; /* where its two streams go */
    int failures;
    const struct sigaction *old;
} command;

/* In the command's process: never returns. A failure is reported through `failures` as errno. */
static void exec_command(void *context, const sigset_t *mask)
{
    const command *c = context;
    const gt_child_setup *setup = c->setup;
    int failures = c->failures;
    restore_signals(c->old);
    pthread_sigmask(SIG_SETMASK, mask, NULL);
    int failure = 0;
    if (dup2(c->out[0], STDOUT_FILENO) < 0 || dup2(c->out[1], STDERR_FILENO) < 0 ||
        (setup->directory && chdir(setup->directory) != 0))
        failure = errno;
    if (!failure) {
        if (setup->environment)
            execvpe(setup->argv[0], (char *const *)setup->argv, (char *const *)setup->environment);
        else
            execvp(setup->argv[0], (char *const *)setup->argv);
        failure = errno;
    }
    ssize_t written = write(failures, &failure, sizeof failure);
    _exit(written == sizeof failure ? 127 : 126);
}

static void close_pair(int pair[2])
{
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0) close(pair[i]);
    pair[0] = pair[1] = -1;
}

static bool open_pipes(int out[2], int err[2], int failures[2], bool merge)
{
    return pipe2(out, O_CLOEXEC) == 0 && (merge || pipe2(err, O_CLOEXEC) == 0) &&
           pipe2(failures, O_CLOEXEC) == 0;
}

static bool cannot_start(const gt_child_setup *setup, gt_child_result *result, int failure, gt_error *error)
{
    result->exit_code = failure == ENOENT ? 127 : 126;
    const char *folder = setup->directory && access(setup->directory, X_OK) != 0 ? setup->directory : NULL;
    return folder ? gt_fail(error, "cannot run %s in the folder %s: %s", setup->argv[0], folder,
                            strerror(failure))
                  : gt_fail(error, "cannot run %s: %s", setup->argv[0], strerror(failure));
}

static bool start(watch *w, const struct sigaction old[HANDED_ON + 1], gt_error *error)
{
    int out[2] = {-1, -1}, err[2] = {-1, -1}, failures[2] = {-1, -1}, failure = 0;
    bool merge = w->setup->merge;
    if (!open_pipes(out, err, failures, merge)) {
        failure = errno;
        close_pair(out), close_pair(err), close_pair(failures);
        return cannot_start(w->setup, w->result, failure, error);
    }
    command c = {w->setup, {out[1], merge ? out[1] : err[1]}, failures[1], old};
    const int passed_on[] = {out[1], err[1], failures[1]};
    const gt_supervisor_setup supervised = {.become = exec_command,
                                            .context = &c,
                                            .passed_on = passed_on,
                                            .passed_on_count = 3,
                                            .in_slurm = w->setup->in_slurm,
                                            .ends_rest = w->setup->ends_rest,
                                            .undo = w->setup->undo};
    failure = gt_supervisor_start(&supervised, &w->supervisor);
    if (failure) {
        close(out[0]), close(failures[0]);
        if (!merge) close(err[0]);
        return cannot_start(w->setup, w->result, failure, error);
    }
    bool silent = w->setup->silent;
    w->sources[0] =
        (source){.descriptor = out[0], .shown_at = silent ? -1 : STDOUT_FILENO, .stream = GT_CHILD_STDOUT};
    w->sources[1] =
        (source){.descriptor = err[0], .shown_at = silent ? -1 : STDERR_FILENO, .stream = GT_CHILD_STDERR};
    ssize_t received;
    while ((received = read(failures[0], &failure, sizeof failure)) < 0 && errno == EINTR) {
    }
    close(failures[0]);
    if (received <= 0) return true;
    gt_supervisor_finish(&w->supervisor);
    return cannot_start(w->setup, w->result, failure, error);
}

/* ---- output ---- */

static bool write_all(int descriptor, const char *bytes, size_t len)
{
    while (len) {
        ssize_t n = write(descriptor, bytes, len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) {
            poll(&(struct pollfd){.fd = descriptor, .events = POLLOUT}, 1, -1);
            continue;
        }
        if (n <= 0) return false;
        bytes += n, len -= (size_t)n;
    }
    return true;
}

static void pass(watch *w, source *s, const char *bytes, size_t len)
{
    if (s->shown_at >= 0 && !write_all(s->shown_at, bytes, len)) {
        if (s->shown_at == STDOUT_FILENO && errno != EPIPE) w->result->output_failure = errno;
        s->shown_at = -1;
    }
    if (w->log >= 0 && !write_all(w->log, bytes, len)) {
        w->result->log_failure = errno;
        gt_warn("%s: the log is truncated: %s", w->setup->log_path, strerror(errno));
        close(w->log);
        w->log = -1;
    }
}

/* One line or a piece of one, with its line break; its beginning may have been shown already. */
static void pass_line(watch *w, source *s, const char *bytes, size_t len)
{
    size_t text_len = len, shown = s->shown;
    while (text_len && (bytes[text_len - 1] == '\n' || bytes[text_len - 1] == '\r')) text_len--;
    s->shown = 0;
    if (w->setup->line(w->setup->line_context, s->stream, (gt_str){bytes, text_len}) || shown)
        pass(w, s, bytes + shown, len - shown);
}

/* A prompt: the beginning of a line after which nothing arrived for a while. */
static void pass_prompts(watch *w)
{
    for (int i = 0; i < 2; i++) {
        source *s = &w->sources[i];
        if (s->held.len <= s->shown || gt_clock_now_s() < s->since + prompt_s) continue;
        pass(w, s, s->held.bytes + s->shown, s->held.len - s->shown);
        s->shown = s->held.len;
    }
}

/* Passes on the complete lines; a carriage return ends a line too, so that progress bars move. */
static void pass_lines(watch *w, source *s, bool all)
{
    const char *at = s->held.bytes, *end = at + s->held.len;
    while (at < end) {
        const char *stop = at + s->looked_at;
        s->looked_at = 0;
        while (stop < end && *stop != '\n' && *stop != '\r') stop++;
        while (stop < end && *stop == '\r') stop++;
        if (stop < end && *stop == '\n')
            stop++;
        else if (stop == end && !all && end - at < LINE_MAX_BYTES && (stop == at || stop[-1] != '\r')) {
            s->looked_at = (size_t)(end - at);
            break;
        }
        pass_line(w, s, at, (size_t)(stop - at));
        at = stop;
    }
    s->held.len = (size_t)(end - at);
    if (s->held.len) memmove(s->held.bytes, at, s->held.len);
}

static void end_source(watch *w, source *s)
{
    if (w->setup->line && s->held.len) pass_lines(w, s, true);
    close(s->descriptor);
    s->descriptor = -1;
}

static void read_source(watch *w, source *s)
{
    char block[READ_SIZE];
    ssize_t n = read(s->descriptor, block, sizeof block);
    if (n < 0 && errno == EINTR) return;
    if (n <= 0) {
        end_source(w, s);
    } else if (w->setup->line) {
        gt_buffer_add(&s->held, block, (size_t)n);
        s->since = gt_clock_now_s();
        pass_lines(w, s, false);
    } else {
        pass(w, s, block, (size_t)n);
    }
}

/* ---- waiting ---- */

static double grace_s(const watch *w)
{
    return w->setup->grace_s != 0 ? w->setup->grace_s : default_grace_s;
}

/* Asks the command to end, or kills it. A signal from the keyboard goes to its process group, as a terminal
 * would send it; another one to everything that it started. */
static void end_command(watch *w, int number, const char *why)
{
    double grace = grace_s(w);
    if (grace < 0) number = SIGKILL;
    bool is_typed = number == SIGINT || number == SIGQUIT;
    gt_supervisor_signal(&w->supervisor, number, !is_typed);
    w->terminate_at = 0;
    if (number == SIGKILL) {
        w->kill_at = 0;
        return;
    }
    w->kill_at = gt_clock_now_s() + grace;
    if (is_typed && w->setup->then_terminate) w->terminate_at = w->kill_at - grace / 2;
    if (!w->setup->waits_for) return;
    if (!w->setup->in_slurm)
        gt_warn("%s: waiting up to %g s for %s (Ctrl-C kills at once)", why, grace, w->setup->waits_for);
    else
        gt_warn("%s: waiting up to %g s for %s; SLURM may kill the job earlier (KillWait)", why, grace,
                w->setup->waits_for);
}

static void end_supervisor(watch *w)
{
    w->over = true;
    if (!w->ended) { /* somebody has killed it, and the command with it */
        w->ended = true;
        w->status = SIGKILL;
    }
    w->give_up_at = gt_clock_now_s() + linger_s;
}

static void take_report(watch *w)
{
    gt_supervisor_report report;
    ssize_t got = read(w->supervisor.reports, &report, sizeof report);
    if (got < 0 && errno == EINTR) return;
    if (got != sizeof report) {
        end_supervisor(w);
    } else if (report.kind == GT_SUPERVISOR_LEFT) {
        w->result->left = report.value;
    } else if (report.kind == GT_SUPERVISOR_ENDS_REST) {
        w->result->ended_rest = report.value;
        w->kill_at = gt_clock_now_s() + (grace_s(w) > 0 ? grace_s(w) : 0);
    } else {
        w->ended = true;
        w->status = report.value;
        w->result->seconds = gt_clock_now_s() - w->started;
    }
}

static void take_signals(watch *w)
{
    unsigned char numbers[32];
    ssize_t n = read(w->signals, numbers, sizeof numbers);
    for (ssize_t i = 0; i < n; i++) {
        bool is_asked = w->result->interrupted || w->result->timed_out;
        if (is_asked && numbers[i] == SIGTERM) continue; /* batch systems send it several times */
        if (!w->over)
            end_command(w, is_asked ? SIGKILL : numbers[i], "interrupted"); /* the second kills at once */
        w->result->interrupted = numbers[i];
    }
}

/* SLURM sends SIGTERM to all processes of a job, and the command may end of it before this program has got
 * its own: then the command did not fail, it was interrupted. */
static bool awaits_signal(const watch *w)
{
    bool was_terminated =
        WIFSIGNALED(w->status) ? WTERMSIG(w->status) == SIGTERM : WEXITSTATUS(w->status) == 128 + SIGTERM;
    return w->setup->in_slurm && was_terminated && !w->result->interrupted && !w->result->timed_out;
}

static void take_clock(watch *w)
{
    double now = gt_clock_now_s();
    if (w->over) return;
    if (!w->ended && w->deadline > 0 && now >= w->deadline) {
        w->result->timed_out = true;
        w->deadline = 0;
        if (!w->result->interrupted) end_command(w, SIGTERM, "time limit reached");
    } else if (w->kill_at > 0 && now >= w->kill_at) {
        end_command(w, SIGKILL, NULL);
    } else if (w->terminate_at > 0 && now >= w->terminate_at) {
        w->terminate_at = 0;
        gt_supervisor_signal(&w->supervisor, SIGTERM, true);
    }
}

static int wait_ms(const watch *w)
{
    double next = w->over ? w->give_up_at : w->ended ? 0 : w->deadline;
    if (!w->over && w->kill_at > 0 && (next == 0 || w->kill_at < next)) next = w->kill_at;
    if (!w->over && w->terminate_at > 0 && (next == 0 || w->terminate_at < next)) next = w->terminate_at;
    for (int i = 0; i < 2; i++) {
        const source *s = &w->sources[i];
        if (s->held.len > s->shown && (next == 0 || s->since + prompt_s < next)) next = s->since + prompt_s;
    }
    if (next == 0) return -1;
    double left_ms = (next - gt_clock_now_s()) * 1000 + 1;
    return left_ms < 0 ? 0 : left_ms > 1e6 ? 1000000 : (int)left_ms;
}

static bool is_done(const watch *w)
{
    bool open = w->sources[0].descriptor >= 0 || w->sources[1].descriptor >= 0;
    return w->over && ((!open && !awaits_signal(w)) || gt_clock_now_s() >= w->give_up_at);
}

static void wait_for_end(watch *w)
{
    while (!is_done(w)) {
        struct pollfd places[4] = {{.fd = w->sources[0].descriptor, .events = POLLIN},
                                   {.fd = w->sources[1].descriptor, .events = POLLIN},
                                   {.fd = w->signals, .events = POLLIN},
                                   {.fd = w->over ? -1 : w->supervisor.reports, .events = POLLIN}};
        int ready = poll(places, 4, wait_ms(w));
        for (int i = 0; ready > 0 && i < 2; i++)
            if (places[i].revents) read_source(w, &w->sources[i]);
        if (ready > 0 && places[2].revents) take_signals(w);
        if (ready > 0 && places[3].revents) take_report(w);
        take_clock(w);
        pass_prompts(w);
    }
    for (int i = 0; i < 2; i++)
        if (w->sources[i].descriptor >= 0) end_source(w, &w->sources[i]);
}

static void settle(watch *w)
{
    gt_supervisor_finish(&w->supervisor);
    if (w->result->left && (w->result->timed_out || w->result->interrupted || w->result->ended_rest))
        gt_warn("%d processes of the command do not end, even when they are killed", w->result->left);
    if (w->result->seconds == 0) w->result->seconds = gt_clock_now_s() - w->started;
    w->result->exit_code = WIFSIGNALED(w->status) ? 128 + WTERMSIG(w->status) : WEXITSTATUS(w->status);
}

static bool open_log(watch *w, gt_error *error)
{
    const char *path = w->setup->log_path;
    if (!path) return true;
    w->log = gt_own_open(path, O_WRONLY | O_CREAT | O_APPEND | (w->setup->log_append ? 0 : O_TRUNC), NULL);
    if (w->log >= 0) {
        gt_path_share(path);
        return true;
    }
    w->result->exit_code = 126;
    return gt_fail(error, "cannot write %s: %s", path, gt_own_reason(errno));
}

bool gt_child_keep_line(void *text, gt_child_stream stream, gt_str line)
{
    if (stream == GT_CHILD_STDERR) return true;
    gt_buffer_add(text, line.bytes, line.len);
    gt_buffer_add_cstr(text, "\n");
    return false;
}

bool gt_child_run(const gt_child_setup *setup, gt_child_result *result, gt_error *error)
{
    *result = (gt_child_result){0};
    watch w = {.setup = setup, .result = result, .log = -1, .started = gt_clock_now_s()};
    w.sources[0].descriptor = w.sources[1].descriptor = -1;
    if (!open_log(&w, error)) return false;
    fflush(stdout); /* our output comes before the command's */
    struct sigaction old[HANDED_ON + 1];
    if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        if (w.log >= 0) close(w.log);
        return cannot_start(setup, result, errno, error);
    }
    w.signals = signal_pipe[0];
    watch_signals(old);
    bool started = start(&w, old, error);
    if (setup->timeout_s > 0) w.deadline = w.started + setup->timeout_s;
    if (started) {
        wait_for_end(&w);
        settle(&w);
    }
    restore_signals(old);
    w.over = true;
    take_signals(&w); /* those since the last look at the pipe */
    close_pair(signal_pipe);
    for (int i = 0; i < 2; i++) {
        if (w.sources[i].descriptor >= 0) close(w.sources[i].descriptor);
        gt_buffer_free(&w.sources[i].held);
    }
    if (w.log >= 0) close(w.log);
    return started;
}

bool gt_child_ask(gt_child_setup setup, gt_buffer *text)
{
    gt_child_result result;
    gt_error ignored;
    setup.silent = true;
    setup.line = gt_child_keep_line;
    setup.line_context = text;
    text->len = 0;
    bool ok = gt_child_run(&setup, &result, &ignored) && result.exit_code == 0;
    while (text->len && text->bytes[text->len - 1] == '\n') text->len--;
    gt_buffer_str(text);
    return ok;
}
