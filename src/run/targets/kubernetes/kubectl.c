/* One loop waits for everything: the pipes of the call that runs, those of `kubectl logs --follow` of each
 * pod, and a pipe to which the signal handler writes. Output of pods is requested with time stamps, which are
 * not shown: a connection that breaks off is resumed after the last line. */
#include "run/targets/kubernetes/kubectl.h"
#include "os/child.h"
#include "os/clock.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TAILS_MAX = 48,
    LINE_MAX_BYTES = 1 << 20,
    ANSWER_MAX_BYTES = 256 << 20, /* all pods of a large job */
    STAMP_BYTES = 40,
    REASON_MAX_BYTES = 600,
    TAIL_TRIES = 5, /* of one that ends with an error at once */
};

struct gt_kube_tail {
    const char *pod, *container, *prefix;
    gt_spawned child;
    int output;     /* -1: not running */
    gt_buffer held; /* a line that has not ended yet */
    char last[STAMP_BYTES];
    bool resumed; /* lines up to `last` were shown already */
    bool complete;
    int failures;
    gt_kube_tail *next;
};

static int signal_pipe[2] = {-1, -1};
static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { ENDING = sizeof ending / sizeof *ending };
static struct sigaction before[ENDING + 1];

/* ---- signals ---- */

static void note_signal(int number)
{
    int saved = errno;
    unsigned char byte = (unsigned char)number;
    ssize_t ignored = write(signal_pipe[1], &byte, 1);
    (void)ignored;
    errno = saved;
}

bool gt_kube_open(gt_kube_session *session, gt_error *error)
{
    if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0)
        return gt_fail(error, "cannot make a pipe: %s", strerror(errno));
    struct sigaction action = {.sa_handler = note_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ENDING; i++) sigaction(ending[i], &action, &before[i]);
    action.sa_handler = SIG_IGN; /* if the reader of our output goes away, the job must still be removed */
    sigaction(SIGPIPE, &action, &before[ENDING]);
    session->handlers_installed = true;
    return true;
}

static void end_tail(gt_kube_tail *tail)
{
    if (tail->output < 0) return;
    gt_child_abandon(&tail->child);
    close(tail->output);
    tail->output = -1;
}

void gt_kube_close(gt_kube_session *session)
{
    for (gt_kube_tail *tail = session->tails; tail; tail = tail->next) {
        end_tail(tail);
        gt_buffer_free(&tail->held);
    }
    session->tails = NULL;
    if (!session->handlers_installed) return;
    for (size_t i = 0; i < ENDING; i++) sigaction(ending[i], &before[i], NULL);
    sigaction(SIGPIPE, &before[ENDING], NULL);
    close(signal_pipe[0]), close(signal_pipe[1]);
    signal_pipe[0] = signal_pipe[1] = -1;
    session->handlers_installed = false;
}

static void take_signals(gt_kube_session *session)
{
    unsigned char numbers[32];
    ssize_t count = read(signal_pipe[0], numbers, sizeof numbers);
    if (count <= 0) return;
    session->interrupts += (unsigned)count;
    session->interrupted = numbers[count - 1];
}

/* ---- output of pods ---- */

/* Whether stamp a is later than b: "2025-01-31T12:00:00.5Z". A fraction may have any number of digits. */
static bool is_later(const char *a, const char *b)
{
    while (*a && *a == *b) a++, b++;
    bool a_digit = gt_is_digit(*a), b_digit = gt_is_digit(*b);
    if (a_digit && b_digit) return *a > *b;
    return a_digit || (!b_digit && *a == '.');
}

/* Splits "STAMP TEXT"; the line itself if there is no stamp. */
static gt_str split_stamp(gt_str line, char stamp[STAMP_BYTES])
{
    const char *blank = memchr(line.bytes, ' ', line.len < STAMP_BYTES ? line.len : STAMP_BYTES);
    size_t len = blank ? (size_t)(blank - line.bytes) : line.len;
    stamp[0] = 0;
    if (len < 20 || len >= STAMP_BYTES || line.bytes[10] != 'T' || !gt_is_digit(line.bytes[0])) return line;
    memcpy(stamp, line.bytes, len);
    stamp[len] = 0;
    size_t skipped = blank ? len + 1 : len;
    return (gt_str){line.bytes + skipped, line.len - skipped};
}

static void show_line(gt_kube_session *session, gt_kube_tail *tail, gt_str line)
{
    char stamp[STAMP_BYTES];
    FILE *places[] = {stdout, session->log};
    gt_str text = split_stamp(line, stamp);
    if (*stamp && tail->resumed && !is_later(stamp, tail->last)) return;
    if (*stamp) strcpy(tail->last, stamp);
    for (size_t i = 0; i < GT_LENGTH(places); i++) {
        if (!places[i]) continue;
        if (tail->prefix) fprintf(places[i], "[%s] ", tail->prefix);
        fwrite(text.bytes, 1, text.len, places[i]);
        fputc('\n', places[i]);
    }
}

static void show_lines(gt_kube_session *session, gt_kube_tail *tail, bool all)
{
    const char *at = tail->held.bytes, *end = at + tail->held.len, *stop;
    while (at < end) {
        stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop && !all && end - at < LINE_MAX_BYTES) break;
        if (!stop) stop = end;
        show_line(session, tail, (gt_str){at, (size_t)(stop - at)});
        at = stop < end ? stop + 1 : end;
    }
    tail->held.len = (size_t)(end - at);
    if (tail->held.len) memmove(tail->held.bytes, at, tail->held.len);
    fflush(stdout);
    if (session->log) fflush(session->log);
}

static void read_tail(gt_kube_session *session, gt_kube_tail *tail)
{
    char block[64 * 1024];
    ssize_t count = read(tail->output, block, sizeof block);
    if (count < 0 && errno == EINTR) return;
    if (count > 0) {
        tail->failures = 0;
        gt_buffer_add(&tail->held, block, (size_t)count);
        show_lines(session, tail, false);
        return;
    }
    if (tail->held.len) show_lines(session, tail, true);
    gt_spawn_end ended = gt_child_finish(&tail->child, 5, -1, NULL, 0);
    close(tail->output);
    tail->output = -1;
    tail->complete = WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 0;
    tail->failures += !tail->complete;
}

gt_kube_tail *gt_kube_tail_new(gt_kube_session *session, const char *pod, const char *container,
                               const char *prefix)
{
    size_t count = 0;
    for (const gt_kube_tail *tail = session->tails; tail; tail = tail->next) count += tail->output >= 0;
    if (count >= TAILS_MAX) return NULL;
    gt_kube_tail *tail = gt_arena_alloc(session->arena, sizeof *tail);
    *tail = (gt_kube_tail){
        .pod = pod, .container = container, .prefix = prefix, .output = -1, .next = session->tails};
    return session->tails = tail;
}

bool gt_kube_tail_is_running(const gt_kube_tail *tail)
{
    return tail->output >= 0;
}

bool gt_kube_tail_is_complete(const gt_kube_tail *tail)
{
    return tail->complete || tail->failures > TAIL_TRIES;
}

void gt_kube_tail_reopen(gt_kube_tail *tail)
{
    tail->complete = false;
}

/* ---- starting ---- */

/* The common options, then the words; ends with NULL. */
static gt_arg_list join(gt_kube_session *session, const char *const *words, const char *const *first)
{
    gt_arg_list argv = {0};
    for (; first && *first; first++) gt_arg_list_add(session->arena, &argv, *first);
    for (size_t i = 0; i < session->kubectl->count; i++)
        gt_arg_list_add(session->arena, &argv, session->kubectl->items[i]);
    for (; *words; words++) gt_arg_list_add(session->arena, &argv, *words);
    gt_arg_list_add(session->arena, &argv, "");
    argv.items[--argv.count] = NULL;
    return argv;
}

void gt_kube_tail_start(gt_kube_session *session, gt_kube_tail *tail)
{
    if (tail->output >= 0 || tail->failures > TAIL_TRIES) return;
    const char *since = *tail->last ? gt_arena_format(session->arena, "--since-time=%s", tail->last) : NULL;
    /* --request-timeout of the common options would end it: the last one counts */
    const char *words[] = {"logs", "--follow",      "--timestamps", "--request-timeout=0",
                           "-c",   tail->container, tail->pod,      since,
                           NULL};
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) != 0) return;
    gt_arg_list argv = join(session, words, NULL);
    tail->resumed = since;
    tail->complete = false;
    if (gt_child_spawn(argv.items, NULL, (int[]){-1, pipes[1], -1}, 3, "kubectl logs", &tail->child) == 0)
        tail->output = pipes[0];
    else
        close(pipes[0]), tail->failures++;
    close(pipes[1]);
}

/* ---- waiting ---- */

/* Waits once, at most until a time of the clock, and handles what arrives. `more` are two pipes of a call
 * (-1: none), whose bytes are added to the buffers. */
static void wait_once(gt_kube_session *session, double until_s, int more[2], gt_buffer *const to[2])
{
    struct pollfd places[TAILS_MAX + 3];
    gt_kube_tail *tails[TAILS_MAX];
    nfds_t count = 0;
    for (gt_kube_tail *tail = session->tails; tail && count < TAILS_MAX; tail = tail->next)
        if (tail->output >= 0) {
            tails[count] = tail;
            places[count++] = (struct pollfd){.fd = tail->output, .events = POLLIN};
        }
    nfds_t followed = count;
    places[count++] = (struct pollfd){.fd = signal_pipe[0], .events = POLLIN};
    for (int i = 0; i < 2; i++) places[count++] = (struct pollfd){.fd = more[i], .events = POLLIN};
    double left_ms = (until_s - gt_clock_now_s()) * 1000 + 1;
    if (poll(places, count, left_ms < 0 ? 0 : left_ms < 1e6 ? (int)left_ms : 1000000) <= 0) return;
    for (nfds_t i = 0; i < followed; i++)
        if (places[i].revents) read_tail(session, tails[i]);
    if (places[followed].revents) take_signals(session);
    for (int i = 0; i < 2; i++) {
        if (more[i] < 0 || !places[followed + 1 + (nfds_t)i].revents) continue;
        char block[64 * 1024];
        ssize_t got = read(more[i], block, sizeof block);
        if (got > 0 && to[i]->len < ANSWER_MAX_BYTES) gt_buffer_add(to[i], block, (size_t)got);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            close(more[i]);
            more[i] = -1;
        }
    }
}

void gt_kube_pause(gt_kube_session *session, double seconds)
{
    double until_s = gt_clock_now_s() + seconds;
    unsigned seen = session->interrupts;
    while (gt_clock_now_s() < until_s && session->interrupts == seen)
        wait_once(session, until_s, (int[]){-1, -1}, NULL);
}

/* ---- calls ---- */

/* With `tar`, a shell connects the two programs; every word is a parameter, so nothing is quoted. */
static gt_arg_list argv_of(gt_kube_session *session, const gt_kube_call *call)
{
    if (!call->tar) return join(session, call->words, NULL);
    gt_arg_list first = {0};
    size_t count = 0;
    while (call->tar[count]) count++;
    static const char pipeline[] = "set -o pipefail; n=$1; shift; tar=(\"${@:1:n}\"); shift \"$n\"; "
                                   "\"$@\" </dev/null | tar \"${tar[@]}\"";
    const char *words[] = {"bash", "-c", pipeline, "gputally", gt_arena_format(session->arena, "%zu", count)};
    for (size_t i = 0; i < GT_LENGTH(words); i++) gt_arg_list_add(session->arena, &first, words[i]);
    for (size_t i = 0; i < count; i++) gt_arg_list_add(session->arena, &first, call->tar[i]);
    gt_arg_list_add(session->arena, &first, "");
    first.items[--first.count] = NULL;
    return join(session, call->words, first.items);
}

/* Whether it ended by itself with status 0. */
static bool finish(gt_kube_session *session, gt_kube_call *call, gt_spawned *child, int more[2])
{
    double until_s = gt_clock_now_s() + call->timeout_s;
    unsigned seen = session->interrupts;
    gt_buffer *const to[] = {&call->out, &call->err};
    bool stopped = false, late = false;
    while ((more[0] >= 0 || more[1] >= 0) && !stopped && !late) {
        wait_once(session, until_s, more, to);
        stopped = call->stoppable && session->interrupts != seen;
        late = gt_clock_now_s() >= until_s;
    }
    for (int i = 0; i < 2; i++)
        if (more[i] >= 0) close(more[i]);
    if (stopped || late) {
        gt_child_abandon(child);
        gt_buffer_add_cstr(&call->err, stopped ? "interrupted" : "timed out");
        return false;
    }
    gt_spawn_end ended = gt_child_finish(child, 5, -1, NULL, 0);
    return !ended.timed_out && WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 0;
}

bool gt_kube_run(gt_kube_session *session, gt_kube_call *call)
{
    int out[2], err[2];
    gt_spawned child;
    if (pipe2(out, O_CLOEXEC) != 0) return false;
    if (pipe2(err, O_CLOEXEC) != 0) {
        close(out[0]), close(out[1]);
        return false;
    }
    gt_arg_list argv = argv_of(session, call);
    int failure = gt_child_spawn(argv.items, NULL, (int[]){-1, out[1], err[1]}, 3, "kubectl", &child);
    close(out[1]), close(err[1]);
    if (failure) {
        close(out[0]), close(err[0]);
        gt_buffer_add_cstr(&call->err, strerror(failure));
        return false;
    }
    return finish(session, call, &child, (int[]){out[0], err[0]});
}

const char *gt_kube_reason(gt_kube_session *session, gt_kube_call *call)
{
    gt_buffer text = {0};
    for (size_t i = 0; i < call->err.len && text.len < REASON_MAX_BYTES;) {
        const char *line = call->err.bytes + i, *end = memchr(line, '\n', call->err.len - i);
        size_t len = end ? (size_t)(end - line) : call->err.len - i;
        if (len && text.len) gt_buffer_add_cstr(&text, "; ");
        gt_buffer_add(&text, line, len < REASON_MAX_BYTES ? len : REASON_MAX_BYTES);
        i += len + 1;
    }
    const char *kept = text.len ? gt_arena_bytes(session->arena, text.bytes, text.len) : "no message";
    gt_buffer_free(&text);
    return kept;
}

void gt_kube_call_free(gt_kube_call *call)
{
    gt_buffer_free(&call->out);
    gt_buffer_free(&call->err);
}
