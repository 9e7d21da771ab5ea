/* Starting the MPI helper, and frames to and from it; see link.h. */
#include "procs/link.h"
#include "os/child.h"
#include "os/clock.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { ABOVE = 16, LINES_MAX = 12, PRINTED_MAX = 16384, STEP_MS = 2 };

/* Descriptors that a launcher gave us stay open: the libraries of MPICH talk to it through one of them. */
static int spawn_helper(const char *path, char *const *argv, int socket, int printed, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, printed, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, printed, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions, socket, GT_WIRE_SOCKET);
    int failure = posix_spawn(pid, path, &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failure;
}

/* The descriptors get numbers that cannot be those of the helper's. */
static bool open_descriptors(gt_procs_link *link, int *theirs)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return false;
    link->socket = fcntl(pair[0], F_DUPFD_CLOEXEC, ABOVE);
    *theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, ABOVE);
    close(pair[0]);
    close(pair[1]);
    int file = memfd_create("gputally-mpi", MFD_CLOEXEC);
    link->printed = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, ABOVE);
    if (file >= 0) close(file);
    return link->socket >= 0 && *theirs >= 0 && link->printed >= 0;
}

bool gt_link_start(gt_procs_link *link, const gt_library_list *libraries, gt_error *error)
{
    const char *path = gt_child_helper();
    const char *argv[GT_LAUNCHER_LIBRARIES + 4] = {path, GT_CHILD_HELPER, "mpi"};
    int theirs = -1;
    *link = (gt_procs_link){.socket = -1, .printed = -1};
    for (size_t i = 0; i < libraries->count; i++) argv[i + 3] = libraries->names[i];
    if (!path) return gt_fail(error, "the MPI helper was not found");
    int failure = open_descriptors(link, &theirs) ? spawn_helper(path, (char *const *)(uintptr_t)argv, theirs,
                                                                 link->printed, &link->helper)
                                                  : errno;
    if (theirs >= 0) close(theirs);
    return failure == 0 ||
           gt_fail(error,
                   "%s: the MPI helper cannot be started: %s; with GPUTALLY_MPI=off, processes work alone",
                   path, gt_child_spawn_problem(path, failure));
}

bool gt_link_send(const gt_procs_link *link, gt_wire_kind kind, size_t rank, const void *bytes, size_t len)
{
    gt_wire_frame frame = {.head = {(uint32_t)kind, (uint32_t)rank, (uint32_t)len}};
    if (len > sizeof frame.bytes) return false;
    if (len) memcpy(frame.bytes, bytes, len);
    const uint8_t *at = (const uint8_t *)&frame;
    for (size_t left = sizeof frame.head + len; left;) {
        ssize_t sent = send(link->socket, at, left, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        at += sent;
        left -= (size_t)sent;
    }
    return true;
}

static bool receive_all(int socket, void *bytes, size_t len)
{
    uint8_t *at = bytes;
    while (len) {
        ssize_t got = recv(socket, at, len, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        len -= (size_t)got;
    }
    return true;
}

gt_link_event gt_link_receive(const gt_procs_link *link, int timeout_ms, gt_wire_frame *frame)
{
    struct pollfd place = {.fd = link->socket, .events = POLLIN};
    int ready = poll(&place, 1, timeout_ms);
    if (ready == 0 || (ready < 0 && errno == EINTR)) return GT_LINK_NOTHING;
    if (ready < 0 || !receive_all(link->socket, &frame->head, sizeof frame->head) ||
        frame->head.len > sizeof frame->bytes || !receive_all(link->socket, frame->bytes, frame->head.len))
        return GT_LINK_ENDED;
    return GT_LINK_FRAME;
}

int gt_link_finish(gt_procs_link *link, int timeout_ms)
{
    int status = 0;
    double end_s = gt_clock_now_s() + timeout_ms / 1000.0;
    while (link->helper > 0) {
        pid_t ended = waitpid(link->helper, &status, WNOHANG);
        if (ended == link->helper || (ended < 0 && errno != EINTR)) link->helper = 0;
        if (link->helper > 0 && gt_clock_now_s() > end_s) kill(link->helper, SIGKILL);
        if (link->helper > 0) poll(NULL, 0, STEP_MS);
    }
    return status;
}

void gt_link_add_printed(const gt_procs_link *link, gt_buffer *text)
{
    static char bytes[PRINTED_MAX]; /* once per process, when it ends */
    const char *lines[LINES_MAX];
    size_t count = 0;
    off_t size = link->printed < 0 ? 0 : lseek(link->printed, 0, SEEK_END);
    off_t from = size > PRINTED_MAX - 1 ? size - (PRINTED_MAX - 1) : 0;
    ssize_t len = size > 0 ? pread(link->printed, bytes, PRINTED_MAX - 1, from) : 0;
    bytes[len > 0 ? len : 0] = 0;
    for (char *next, *line = strtok_r(bytes, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
        if (strspn(line, "- \t*=") == strlen(line)) continue; /* an ornament */
        if (count == LINES_MAX) memmove(lines, lines + 1, --count * sizeof *lines);
        lines[count++] = line;
    }
    for (size_t i = 0; i < count; i++) gt_buffer_add_format(text, "gputally: MPI: %.200s\n", lines[i]);
}
