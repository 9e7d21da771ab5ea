/* Start and end of a process group, its messages and its failures; see procs.h.
 *
 * A thread receives: it answers, in process 0, the questions of the others, and ends this process when
 * process 0 says so or when a process has died, whatever the other threads do. Which process reports it?
 * Process 0, in one sentence; process 1, if process 0 has died. */
#include "procs/procs.h"
#include "os/own.h"
#include "procs/folder.h"
#include "procs/state.h"
#include "base/threads.h"
#include "os/clock.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    START_S = 60, /* for MPI to start */
    TICK_MS = 200,
    LEAVE_MS = 20000, /* for MPI to end */
    ABORT_MS = 3000,
    SIGNAL_WAIT_MS = 500, /* between the end of a process and the message about it: the launcher may be
                             ending all of them, and then the signal is the reason */
    REPORTER_MS = 5000,   /* until process 0 has said why MPI cannot start, on a busy machine */
    HEARD_MS = 300,       /* until the launcher has read the message: it ends all as soon as one ends */
    LOOK_S = 1,           /* between looks for a note */
    NOTE_MS = 6000,       /* until process 0 has read a note */
    SAID_MAX = 1000,
};

gt_procs gt_this_group = {.screen = -1, .hidden = -1};

/* ---- members ---- */

bool gt_procs_is_several(void)
{
    return gt_this_group.is_member;
}

bool gt_procs_is_first(void)
{
    return !gt_this_group.is_member || gt_this_group.rank == 0;
}

size_t gt_procs_local_size(void)
{
    size_t local = gt_this_group.is_member ? gt_this_group.launcher.local_size : 1;
    return local ? local : 1;
}

const char *gt_procs_host(size_t rank)
{
    const gt_procs_peer *peer = gt_this_group.peers ? &gt_this_group.peers[rank] : NULL;
    return peer && peer->arrival.host[0] ? peer->arrival.host : "an unknown host";
}

/* Standard output and error go to a file without a name, whose last lines process 0 may print. */
static void hide_output(gt_procs *c)
{
    fflush(stdout);
    c->hidden = memfd_create("gputally", MFD_CLOEXEC);
    c->screen = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 16);
    int nothing = gt_open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(c->hidden >= 0 ? c->hidden : nothing, STDERR_FILENO);
    dup2(nothing, STDOUT_FILENO);
    if (nothing >= 0) close(nothing);
}

static const char *setting(void)
{
    const char *text = getenv("GPUTALLY_MPI");
    return text && *text ? text : NULL;
}

bool gt_procs_prepare(void)
{
    gt_procs *c = &gt_this_group;
    const char *set = setting();
    gt_launcher_view view = gt_launcher_here();
    if (set && strcasecmp(set, "off") == 0) return false;
    if (gt_launcher_find(&view, &c->launcher) || (set && gt_launcher_assume(&view, &c->launcher))) {
        c->is_member = c->size_is_known = true;
        c->rank = c->launcher.rank;
        c->size = c->launcher.size;
    } else if (set) { /* MPI says how many there are */
        c->is_member = true;
        snprintf(c->launcher.name, sizeof c->launcher.name, "the launcher");
    }
    if (c->is_member && c->rank > 0) hide_output(c);
    return c->is_member;
}

/* The library that the user names; NULL: none. */
static const char *named_library(void)
{
    const char *set = setting();
    return set && strcasecmp(set, "on") != 0 ? set : NULL;
}

/* ---- sending ---- */

void gt_procs_send(size_t rank, gt_procs_word word, const void *bytes, size_t len)
{
    gt_procs *c = &gt_this_group;
    uint8_t message[GT_WIRE_BYTES_MAX];
    uint32_t number = (uint32_t)word;
    if (len > sizeof message - sizeof number) len = sizeof message - sizeof number;
    memcpy(message, &number, sizeof number);
    if (len) memcpy(message + sizeof number, bytes, len);
    pthread_mutex_lock(&c->sending);
    gt_link_send(&c->link, GT_WIRE_SEND, rank, message, sizeof number + len);
    pthread_mutex_unlock(&c->sending);
}

/* ---- the end, in any case ---- */

static void stop_forever(void)
{
    for (;;) poll(NULL, 0, -1);
}

static void write_all(int to, const char *text, size_t len)
{
    while (len) {
        ssize_t written = write(to, text, len);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        text += written;
        len -= (size_t)written;
    }
}

/* Paths and what MPI prints may contain control characters. Also called by a signal handler. */
static void write_screen(const char *text, size_t len)
{
    char part[512];
    int to = gt_this_group.screen >= 0 ? gt_this_group.screen : STDERR_FILENO;
    while (len) {
        size_t count = len < sizeof part ? len : sizeof part;
        for (size_t i = 0; i < count; i++)
            part[i] = ((unsigned char)text[i] < ' ' && text[i] != '\n') || text[i] == 0x7F ? '?' : text[i];
        write_all(to, part, count);
        text += count;
        len -= count;
    }
}

/* The end of this process without the message of another thread. */
static void begin_ending(gt_procs *c)
{
    if (atomic_exchange(&c->is_ending, true)) stop_forever();
}

static _Noreturn void leave(gt_procs *c, gt_wire_kind how, int32_t code, int timeout_ms)
{
    if (c->setup.before_leaving) c->setup.before_leaving();
    if (c->is_started) {
        pthread_mutex_lock(&c->sending);
        gt_link_send(&c->link, how, 0, &code, sizeof code);
        pthread_mutex_unlock(&c->sending);
        gt_link_finish(&c->link, timeout_ms);
    }
    _exit(code);
}

/* What is kept for the next start, as the end of a sentence. */
static void add_kept(gt_procs *c, gt_buffer *text)
{
    if (!c->folder || !c->share) return;
    gt_buffer_add_format(text,
                         "; %zu of %zu files are done and kept in %s: start the same command again to go on",
                         gt_share_done_count(c->share), c->file_count, c->folder);
}

/* KEPT: that the command may succeed when it is started again; MPI: what MPI has printed. */
enum { INCLUDE_KEPT = 1, INCLUDE_MPI = 2 };

static void print_end(gt_procs *c, const char *sentence, unsigned more)
{
    gt_buffer text = {0};
    gt_log_status(NULL);
    gt_buffer_add_format(&text, "gputally: %s", sentence);
    if (more & INCLUDE_KEPT) add_kept(c, &text);
    gt_buffer_add_cstr(&text, "\n");
    if (more & INCLUDE_MPI) gt_link_add_printed(&c->link, &text);
    write_screen(gt_buffer_str(&text).bytes, text.len);
    gt_buffer_free(&text);
}

static bool is_reporter(const gt_procs *c)
{
    return c->rank == 0;
}

/* `more`: what the message includes. */
static _Noreturn void abort_group(unsigned more, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static _Noreturn void abort_group(unsigned more, const char *format, ...)
{
    gt_procs *c = &gt_this_group;
    gt_error error;
    va_list args;
    va_start(args, format);
    vsnprintf(error.text, sizeof error.text, format, args);
    va_end(args);
    begin_ending(c);
    /* Before MPI has started, the others cannot tell process 0, but it fails in the same way: it
     * reports that before the launcher notices the end of another process, and ends all. */
    if (is_reporter(c)) print_end(c, error.text, more);
    if (!c->is_ready) poll(NULL, 0, is_reporter(c) ? HEARD_MS : REPORTER_MS);
    leave(c, GT_WIRE_ABORT, 1, ABORT_MS);
}

_Noreturn void gt_procs_abort(const char *format, ...)
{
    gt_error error;
    va_list args;
    va_start(args, format);
    vsnprintf(error.text, sizeof error.text, format, args);
    abort_group(0, "%s", error.text);
}

_Noreturn void gt_procs_fail(const char *format, ...)
{
    gt_error error;
    va_list args;
    va_start(args, format);
    vsnprintf(error.text, sizeof error.text, format, args);
    va_end(args);
    if (gt_procs_is_first()) gt_procs_abort("%s", error.text);
    gt_procs_send(0, GT_PROCS_FAILED, error.text, strlen(error.text));
    gt_procs_wait_for_end();
}

void gt_procs_end_by_signal(int number)
{
    gt_procs *c = &gt_this_group;
    if (!c->is_member || !c->is_started || atomic_exchange(&c->is_ending, true)) return;
    /* Nothing that takes a lock. */
    const gt_wire_head abort_frame = {GT_WIRE_ABORT, 0, 0};
    char text[sizeof(gt_error) + 64];
    const char *name = number == SIGINT ? "SIGINT" : number == SIGTERM ? "SIGTERM" : "a signal";
    size_t len = 0;
    const char *parts[] = {"gputally: ended by ", name, c->folder ? "; what is done is kept in " : "",
                           c->folder ? c->folder : "",
                           c->folder ? ": start the same command again to go on\n" : "\n"};
    for (size_t i = 0; i < GT_LENGTH(parts); i++)
        for (const char *at = parts[i]; *at && len < sizeof text - 1; at++) text[len++] = *at;
    if (is_reporter(c)) write_screen(text, len);
    if (c->rank == 0) {
        ssize_t ignored = write(c->link.socket, &abort_frame, sizeof abort_frame);
        (void)ignored;
    }
}

/* ---- receiving ---- */

static const char *name_of(const gt_procs *c)
{
    return c->launcher.family == GT_LAUNCHER_SLURM ? "srun" : c->launcher.name;
}

static const char *advice(const gt_procs *c)
{
    if (named_library())
        return "GPUTALLY_MPI must be off, on, or the path of the MPI library that this launcher belongs to";
    return c->launcher.family == GT_LAUNCHER_SLURM
               ? "use `srun --mpi=pmix` for Open MPI, or --mpi=pmi2 or pmix for MPICH (`srun --mpi=list` "
                 "shows "
                 "what there is), name another MPI library with GPUTALLY_MPI=PATH, or start one process"
               : "name the MPI library of this launcher with GPUTALLY_MPI=PATH, or start one process";
}

static void check_size(gt_procs *c, size_t rank, size_t size)
{
    if (c->size_is_known && (size != c->launcher.size || rank != c->launcher.rank))
        abort_group(INCLUDE_MPI, "%s has started %zu processes, but %s knows of %zu: %s", name_of(c),
                    c->launcher.size, c->library, size, advice(c));
    c->rank = rank;
    c->size = size;
}

static void hear_ready(gt_procs *c, const gt_wire_frame *frame)
{
    uint32_t size = 0;
    if (frame->head.len < sizeof size) return;
    memcpy(&size, frame->bytes, sizeof size);
    snprintf(c->library, sizeof c->library, "%.*s", (int)(frame->head.len - sizeof size),
             (const char *)frame->bytes + sizeof size);
    check_size(c, frame->head.rank, size);
    if (c->rank == 0) c->peers = gt_alloc_zero(c->size, sizeof *c->peers);
    c->is_ready = true;
    pthread_cond_broadcast(&c->changed);
}

static void hear_left(gt_procs *c, size_t from, const uint8_t *bytes, size_t len)
{
    gt_procs_peer *peer = &c->peers[from];
    if (len < sizeof peer->leaving) return;
    memcpy(&peer->leaving, bytes, sizeof peer->leaving);
    peer->leaving.host[GT_PROCS_HOST_MAX - 1] = 0;
    peer->has_left = true;
    gt_free(peer->said);
    peer->said =
        gt_format("%.*s", (int)(len - sizeof peer->leaving), (const char *)bytes + sizeof peer->leaving);
    pthread_cond_broadcast(&c->changed);
}

static void hear_message(gt_procs *c, size_t from, const uint8_t *bytes, size_t len)
{
    uint32_t word;
    int32_t code = 1;
    if (len < sizeof word || from >= c->size) return;
    memcpy(&word, bytes, sizeof word);
    bytes += sizeof word;
    len -= sizeof word;
    switch ((gt_procs_word)word) {
    case GT_PROCS_END:
        if (len == sizeof code) memcpy(&code, bytes, sizeof code);
        begin_ending(c);
        leave(c, GT_WIRE_FINISH, code, LEAVE_MS);
    case GT_PROCS_FAILED:
        if (c->rank == 0)
            abort_group(INCLUDE_KEPT, "process %zu on %s: %.*s", from, gt_procs_host(from), (int)len,
                        (const char *)bytes);
        break;
    case GT_PROCS_LEFT:
        if (c->rank == 0) hear_left(c, from, bytes, len);
        break;
    default:
        gt_procs_hear_task(from, (gt_procs_word)word, bytes, len);
    }
}

/* A process has ended unexpectedly, or contact with it is lost. */
static _Noreturn void lose_process(gt_procs *c, size_t rank, bool is_lost)
{
    poll(NULL, 0, SIGNAL_WAIT_MS); /* a signal handler may end this process now */
    if (c->rank == 1 && rank == 0) {
        begin_ending(c);
        print_end(c,
                  is_lost
                      ? "lost contact with process 0; stopping; start the same command again to go on"
                      : "process 0 has ended unexpectedly, so all end; start the same command again to go on",
                  0);
        leave(c, GT_WIRE_ABORT, 1, ABORT_MS);
    }
    if (is_lost)
        abort_group(INCLUDE_KEPT, "no contact with process %zu on %s for a minute", rank,
                    gt_procs_host(rank));
    abort_group(INCLUDE_KEPT, "process %zu on %s has ended unexpectedly", rank, gt_procs_host(rank));
}

static void hear(gt_procs *c, const gt_wire_frame *frame)
{
    pthread_mutex_lock(&c->lock);
    switch ((gt_wire_kind)frame->head.kind) {
    case GT_WIRE_READY:
        hear_ready(c, frame);
        break;
    case GT_WIRE_FAILED:
        if (!c->size_is_known)
            abort_group(INCLUDE_MPI, "%.*s: %s", (int)frame->head.len, (const char *)frame->bytes, advice(c));
        abort_group(INCLUDE_MPI, "%s has started %zu processes, but %.*s: %s", name_of(c), c->launcher.size,
                    (int)frame->head.len, (const char *)frame->bytes, advice(c));
    case GT_WIRE_MESSAGE:
        hear_message(c, frame->head.rank, frame->bytes, frame->head.len);
        break;
    case GT_WIRE_DIED:
    case GT_WIRE_LOST:
        if (c->is_ready && frame->head.rank < c->size)
            lose_process(c, frame->head.rank, frame->head.kind == GT_WIRE_LOST);
        break;
    default:
        break;
    }
    pthread_mutex_unlock(&c->lock);
}

/* The helper is gone. A process other than the first leaves a note in the work folder, because the launcher
 * would end process 0 before that could print anything, and prints it itself only if nothing happens. */
static _Noreturn void end_without_helper(gt_procs *c)
{
    if (!c->is_ready)
        abort_group(INCLUDE_MPI, "%s has started %zu processes, but MPI cannot be started: %s", name_of(c),
                    c->launcher.size, advice(c));
    poll(NULL, 0, SIGNAL_WAIT_MS);
    begin_ending(c);
    char sentence[128], host[GT_PROCS_HOST_MAX] = "";
    gethostname(host, sizeof host - 1);
    int status = gt_link_finish(&c->link, ABORT_MS);
    snprintf(sentence, sizeof sentence, "process %zu on %.40s has lost its MPI helper (%s %d)", c->rank, host,
             WIFSIGNALED(status) ? "signal" : "exit code",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    if (c->rank > 0 && c->folder) {
        gt_work_folder_leave_note(c->folder, c->mark, sentence);
        poll(NULL, 0, NOTE_MS);
    }
    print_end(c, sentence, INCLUDE_KEPT | INCLUDE_MPI);
    leave(c, GT_WIRE_ABORT, 1, ABORT_MS);
}

/* In process 0. */
static void look_for_note(gt_procs *c, double now_s)
{
    gt_error note;
    if (!c->share || now_s - c->looked_s < LOOK_S) return;
    c->looked_s = now_s;
    if (gt_work_folder_take_note(c->folder, c->mark, &note)) abort_group(INCLUDE_KEPT, "%s", note.text);
}

static void tend(gt_procs *c)
{
    double now_s = gt_clock_now_s();
    pthread_mutex_lock(&c->lock);
    if (!c->is_ready && now_s - c->begun_s > START_S)
        abort_group(
            INCLUDE_MPI,
            "MPI has not started within %d s; it waits for all %zu processes of %s: do they all run this "
            "command? GPUTALLY_MPI=off has one process work alone",
            START_S, c->launcher.size, c->launcher.name);
    if (c->is_ready) gt_procs_tend_task(now_s);
    look_for_note(c, now_s);
    pthread_mutex_unlock(&c->lock);
}

static void *receive(void *context)
{
    gt_procs *c = context;
    static gt_wire_frame frame[1];
    for (double tended_s = 0;;) {
        gt_link_event event = gt_link_receive(&c->link, TICK_MS, frame);
        if (atomic_load(&c->is_ending)) break;
        if (event == GT_LINK_ENDED) end_without_helper(c);
        if (event == GT_LINK_FRAME) hear(c, frame);
        if (gt_clock_now_s() - tended_s < TICK_MS / 1000.0) continue;
        tend(c);
        tended_s = gt_clock_now_s();
    }
    return NULL;
}

/* ---- start ---- */

static void wait_until_ready(gt_procs *c)
{
    pthread_mutex_lock(&c->lock);
    while (!c->is_ready) pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

bool gt_procs_start(const gt_procs_setup *setup, gt_error *error)
{
    gt_procs *c = &gt_this_group;
    gt_library_list *libraries = gt_alloc(sizeof *libraries);
    c->setup = *setup;
    c->begun_s = gt_clock_now_s();
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->sending, NULL);
    pthread_cond_init(&c->changed, NULL);
    gt_launcher_libraries(&c->launcher, named_library(), libraries);
    c->is_started = gt_link_start(&c->link, libraries, error);
    gt_free(libraries);
    pthread_t thread;
    if (c->is_started && gt_thread_start(&thread, receive, c) != 0)
        return gt_fail(error, "a thread cannot be started");
    if (c->is_started) pthread_detach(thread); /* it ends with the process */
    if (!c->is_started || c->size_is_known) return c->is_started;
    wait_until_ready(c);
    if (c->rank > 0) hide_output(c);
    return true;
}

/* ---- the usual end ---- */

_Noreturn void gt_procs_wait_for_end(void)
{
    for (;;) stop_forever();
}

/* The last lines that this process would have printed. */
static size_t read_said(const gt_procs *c, char said[SAID_MAX])
{
    off_t size = c->hidden < 0 ? 0 : lseek(c->hidden, 0, SEEK_END);
    off_t from = size > SAID_MAX ? size - SAID_MAX : 0;
    ssize_t len = size > 0 ? pread(c->hidden, said, SAID_MAX, from) : 0;
    while (len > 0 && said[len - 1] == '\n') len--;
    const char *line = len > 0 ? memrchr(said, '\n', (size_t)len) : NULL;
    if (line) {
        len -= line + 1 - said;
        memmove(said, line + 1, (size_t)len);
    }
    return len > 0 ? (size_t)len : 0;
}

/* Process 0 decides what this means. */
static _Noreturn void wait_without_task(gt_procs *c)
{
    const gt_procs_leaving leaving = gt_procs_describe_leaving();
    char message[sizeof leaving + SAID_MAX];
    memcpy(message, &leaving, sizeof leaving);
    fflush(stderr);
    size_t len = read_said(c, message + sizeof leaving);
    wait_until_ready(c);
    gt_procs_send(0, GT_PROCS_LEFT, message, sizeof leaving + len);
    gt_procs_wait_for_end();
}

void gt_procs_pass_first(void)
{
    gt_procs *c = &gt_this_group;
    if (!gt_procs_is_first() && !c->has_task) wait_without_task(c);
}

void gt_procs_meet(void)
{
    gt_procs *c = &gt_this_group;
    gt_procs_pass_first();
    if (!c->is_started || c->has_task || c->has_met) return;
    wait_until_ready(c);
    gt_procs_check_others();
    c->has_met = true;
}

int gt_procs_end(int code)
{
    gt_procs *c = &gt_this_group;
    if (!c->is_started) return code;
    if (c->rank > 0) wait_without_task(c);
    gt_procs_meet();
    wait_until_ready(c);
    begin_ending(c);
    int32_t sent = code;
    for (size_t rank = 1; rank < c->size; rank++) gt_procs_send(rank, GT_PROCS_END, &sent, sizeof sent);
    pthread_mutex_lock(&c->sending);
    gt_link_send(&c->link, GT_WIRE_FINISH, 0, NULL, 0);
    pthread_mutex_unlock(&c->sending);
    gt_link_finish(&c->link, LEAVE_MS);
    c->is_started = false;
    return code;
}
