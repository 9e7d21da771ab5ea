/* How do processes on several machines talk to each other, in a program that is not linked with MPI?
 *
 * Each process starts a helper, and the helpers use MPI: whatever happens to MPI, the program itself stays in
 * control. The helper only passes small frames between its socket and MPI.
 *
 * The MPI library is loaded at run time. There are no headers of MPI: of its interface, this needs nine
 * functions and a few constants, which differ between the families of libraries (`families`). Handles are
 * pointers or 32-bit integers. Both are passed as integers of the size of a pointer, which processors of the
 * two kinds that we run on pass in the same registers. Nothing is read from an MPI_Status, because what it
 * would say is also in the head of the frame.
 *
 * MPI libraries wait by polling, which would take a core from the program. So the helper sleeps
 * in poll() on its socket and asks MPI now and then: after a fraction of a millisecond while frames come, and
 * after 10 ms when all are at work.
 *
 * If the program ends unexpectedly, which the end of the socket shows, the helper tells process 0 (that of
 * process 0 tells all others), and ends the whole job. To notice machines that have vanished, helpers send
 * heartbeats to process 0, and this one to all. */
#include "procs/wire.h"
#include "helper/helper.h"
#include "os/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    TAG = 20,
    SLEEP_MIN_US = 100, /* between two polls of MPI */
    SLEEP_MAX_US = 10000,
    ALIVE_EVERY_MS = 5000,
    LOST_AFTER_MS = 60000,
    END_AFTER_S = 15,       /* the helper itself, when the program has ended, whatever MPI does */
    FINISH_MS = 10000,      /* for the last messages */
    REPORT_DEATH_MS = 2000, /* before the job is ended, so that process 0 can say why */
};

/* ---- MPI ---- */

typedef uintptr_t handle;

typedef struct family {
    const char *sign;         /* a symbol that only these libraries have; NULL: the rest */
    const char *world, *byte; /* variables whose addresses are the handles; NULL: these numbers */
    handle world_number, byte_number;
    int any_source;
} family;

/* Open MPI; the standard ABI of MPI 5, of any library; MPICH, Intel MPI, MVAPICH and Cray MPI. */
static const family families[] = {
    {"ompi_mpi_comm_world", "ompi_mpi_comm_world", "ompi_mpi_byte", 0, 0, -1},
    {"MPI_Abi_get_version", NULL, NULL, 0x101, 0x247, -1},
    {NULL, NULL, NULL, 0x44000000, 0x4c00010d, -2},
};

typedef union status {
    uint8_t bytes[256]; /* larger than any library's */
    max_align_t aligned;
} status;

typedef struct mpi {
    handle world, byte;
    int any_source;
    int (*init)(int *, char ***);
    int (*finalize)(void);
    int (*abort)(handle, int);
    int (*comm_rank)(handle, int *);
    int (*comm_size)(handle, int *);
    int (*isend)(const void *, int, handle, int, int, handle, handle *);
    int (*test)(handle *, int *, status *);
    int (*iprobe)(int, int, handle, int *, status *);
    int (*recv)(void *, int, handle, int, int, handle, status *);
} mpi;

/* A frame that waits to be sent. */
typedef struct outgoing {
    struct outgoing *next;
    int to;
    gt_wire_frame frame;
} outgoing;

typedef struct relay {
    mpi mpi;
    int rank, size;
    outgoing *first, *last; /* the first one is under way if is_sending */
    bool is_sending;
    handle request;
    int64_t *heard_ms;       /* by rank: when its last message came; -1: it counts as lost */
    int64_t now_ms, beat_ms; /* beat: the last heartbeat that was sent */
    int left;                /* processes that have sent their last message to process 0 */
    bool is_orphan;          /* the program has ended unexpectedly */
    int64_t orphan_ms;
} relay;

static int64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the socket ---- */

/* False if the program has ended. */
static bool write_all(const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    while (len) {
        ssize_t written = write(GT_WIRE_SOCKET, at, len);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        at += written;
        len -= (size_t)written;
    }
    return true;
}

static bool read_all(void *bytes, size_t len)
{
    uint8_t *at = bytes;
    while (len) {
        ssize_t got = read(GT_WIRE_SOCKET, at, len);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        len -= (size_t)got;
    }
    return true;
}

static void tell(gt_wire_kind kind, int rank, const void *bytes, size_t len)
{
    gt_wire_frame frame = {.head = {(uint32_t)kind, (uint32_t)rank, (uint32_t)len}};
    memcpy(frame.bytes, bytes, len);
    write_all(&frame, sizeof frame.head + len); /* a failure shows at the next read */
}

static int fail(const char *text)
{
    size_t len = strlen(text);
    tell(GT_WIRE_FAILED, 0, text, len < GT_WIRE_BYTES_MAX ? len : GT_WIRE_BYTES_MAX);
    return 1;
}

/* ---- loading ---- */

static bool find_constants(mpi *m, void *library)
{
    const family *f = families;
    while (f->sign && !dlsym(library, f->sign)) f++;
    m->any_source = f->any_source;
    m->world = f->world ? (handle)dlsym(library, f->world) : f->world_number;
    m->byte = f->byte ? (handle)dlsym(library, f->byte) : f->byte_number;
    return m->world && m->byte;
}

/* Plugins of Open MPI need its symbols to be global. The name of the library that was loaded, or NULL. */
static const char *load(mpi *m, char **libraries)
{
    const gt_library_function functions[] = {
        {"MPI_Init", &m->init},           {"MPI_Finalize", &m->finalize},   {"MPI_Abort", &m->abort},
        {"MPI_Comm_rank", &m->comm_rank}, {"MPI_Comm_size", &m->comm_size}, {"MPI_Isend", &m->isend},
        {"MPI_Test", &m->test},           {"MPI_Iprobe", &m->iprobe},       {"MPI_Recv", &m->recv},
    };
    for (char **name = libraries; *name; name++) {
        void *library =
            gt_library_open(*name, RTLD_NOW | RTLD_GLOBAL, functions, sizeof functions / sizeof functions[0]);
        if (library && find_constants(m, library)) return *name;
    }
    return NULL;
}

/* ---- sending ---- */

static void queue(relay *r, gt_wire_kind kind, int to, const void *bytes, size_t len)
{
    if (to < 0 || to >= r->size || len > GT_WIRE_BYTES_MAX) return;
    outgoing *o = malloc(sizeof *o);
    if (!o) _exit(1);
    o->next = NULL;
    o->to = to;
    o->frame.head = (gt_wire_head){(uint32_t)kind, (uint32_t)r->rank, (uint32_t)len};
    if (len) memcpy(o->frame.bytes, bytes, len);
    if (r->last)
        r->last->next = o;
    else
        r->first = o;
    r->last = o;
}

/* Whether anything was done. */
static bool send_next(relay *r)
{
    if (r->is_sending) {
        int done = 0;
        status ignored;
        r->mpi.test(&r->request, &done, &ignored);
        if (!done) return false;
        outgoing *sent = r->first;
        r->first = sent->next;
        if (!r->first) r->last = NULL;
        free(sent);
        r->is_sending = false;
        return true;
    }
    if (!r->first) return false;
    r->request = 0;
    r->mpi.isend(&r->first->frame, (int)(sizeof r->first->frame.head + r->first->frame.head.len), r->mpi.byte,
                 r->first->to, TAG, r->mpi.world, &r->request);
    r->is_sending = true;
    return true;
}

/* ---- receiving ---- */

static bool receive(relay *r)
{
    int is_there = 0;
    status ignored;
    gt_wire_frame frame;
    r->mpi.iprobe(r->mpi.any_source, TAG, r->mpi.world, &is_there, &ignored);
    if (!is_there) return false;
    r->mpi.recv(&frame, (int)sizeof frame, r->mpi.byte, r->mpi.any_source, TAG, r->mpi.world, &ignored);
    if (frame.head.rank >= (uint32_t)r->size || frame.head.len > GT_WIRE_BYTES_MAX) return true;
    if (r->heard_ms[frame.head.rank] >= 0) r->heard_ms[frame.head.rank] = r->now_ms;
    r->left += frame.head.kind == GT_WIRE_BYE;
    if (frame.head.kind == GT_WIRE_MESSAGE || frame.head.kind == GT_WIRE_DIED)
        tell((gt_wire_kind)frame.head.kind, (int)frame.head.rank, frame.bytes, frame.head.len);
    return true;
}

/* ---- heartbeats ---- */

/* Process 0 watches all, the others watch process 0. If this process was stopped itself, as suspended jobs
 * are, none counts as lost. */
static void check_lives(relay *r, int64_t before_ms)
{
    bool was_stopped = r->now_ms - before_ms > ALIVE_EVERY_MS;
    int last = r->rank == 0 ? r->size - 1 : 0;
    for (int other = r->rank == 0 ? 1 : 0; other <= last; other++) {
        if (was_stopped && r->heard_ms[other] >= 0) r->heard_ms[other] = r->now_ms;
        if (r->heard_ms[other] < 0 || r->now_ms - r->heard_ms[other] <= LOST_AFTER_MS) continue;
        r->heard_ms[other] = -1;
        tell(GT_WIRE_LOST, other, "", 0);
    }
    if (r->now_ms - r->beat_ms < ALIVE_EVERY_MS) return;
    r->beat_ms = r->now_ms;
    for (int other = r->rank == 0 ? 1 : 0; other <= last; other++) queue(r, GT_WIRE_ALIVE, other, "", 0);
}

/* ---- frames of the program ---- */

/* The program has ended unexpectedly: first the others are told, then the job ends. */
static void become_orphan(relay *r)
{
    r->is_orphan = true;
    r->orphan_ms = r->now_ms;
    alarm(END_AFTER_S);
    int last = r->rank == 0 ? r->size - 1 : 0;
    for (int other = r->rank == 0 ? 1 : 0; other <= last; other++) queue(r, GT_WIRE_DIED, other, "", 0);
}

static void end_job(relay *r, int code)
{
    alarm(END_AFTER_S);
    r->mpi.abort(r->mpi.world, code);
    _exit(1);
}

/* A message whose receiver has left MPI would never be sent. So process 0 receives until all have sent their
 * last one, and the others send that after all others. */
static void finish(relay *r)
{
    int64_t end_ms = clock_ms() + FINISH_MS;
    if (r->rank > 0) queue(r, GT_WIRE_BYE, 0, "", 0);
    while ((r->first || (r->rank == 0 && r->left < r->size - 1)) && clock_ms() < end_ms) {
        bool active = send_next(r);
        active |= receive(r);
        if (!active) ppoll(NULL, 0, &(struct timespec){0, SLEEP_MIN_US * 1000}, NULL);
    }
}

/* True when it is time to leave. */
static bool obey(relay *r)
{
    gt_wire_frame frame;
    int32_t code = 1;
    if (!read_all(&frame.head, sizeof frame.head) || frame.head.len > GT_WIRE_BYTES_MAX ||
        !read_all(frame.bytes, frame.head.len)) {
        become_orphan(r);
        return false;
    }
    switch (frame.head.kind) {
    case GT_WIRE_SEND:
        queue(r, GT_WIRE_MESSAGE, (int)frame.head.rank, frame.bytes, frame.head.len);
        break;
    case GT_WIRE_ABORT:
        if (frame.head.len == sizeof code) memcpy(&code, frame.bytes, sizeof code);
        end_job(r, code);
        break;
    case GT_WIRE_FINISH:
        finish(r);
        return true;
    default:
        break;
    }
    return false;
}

/* Waits until a frame of the program comes or the time is over. */
static bool has_order(const relay *r, int sleep_us)
{
    struct pollfd place = {.fd = r->is_orphan ? -1 : GT_WIRE_SOCKET, .events = POLLIN};
    struct timespec time = {0, (long)sleep_us * 1000};
    return ppoll(&place, 1, &time, NULL) > 0;
}

static void serve(relay *r)
{
    int sleep_us = SLEEP_MIN_US;
    for (bool is_leaving = false; !is_leaving;) {
        bool has = has_order(r, sleep_us);
        int64_t before_ms = r->now_ms;
        r->now_ms = clock_ms();
        if (has) is_leaving = obey(r);
        bool active = has;
        while (send_next(r)) active = true;
        while (receive(r)) active = true;
        check_lives(r, before_ms);
        if (r->is_orphan && r->now_ms - r->orphan_ms > REPORT_DEATH_MS) end_job(r, 1);
        sleep_us = active || r->is_sending   ? SLEEP_MIN_US
                   : sleep_us < SLEEP_MAX_US ? sleep_us + sleep_us / 4
                                             : SLEEP_MAX_US;
    }
}

/* ---- all of it ---- */

static void tell_ready(const relay *r, const char *library)
{
    uint8_t bytes[GT_WIRE_BYTES_MAX];
    uint32_t size = (uint32_t)r->size;
    size_t len = strlen(library);
    if (len > sizeof bytes - sizeof size) len = sizeof bytes - sizeof size;
    memcpy(bytes, &size, sizeof size);
    memcpy(bytes + sizeof size, library, len);
    tell(GT_WIRE_READY, r->rank, bytes, sizeof size + len);
}

static bool begin(relay *r)
{
    r->heard_ms = malloc((size_t)r->size * sizeof *r->heard_ms);
    if (!r->heard_ms) return false;
    r->now_ms = r->beat_ms = clock_ms();
    for (int i = 0; i < r->size; i++) r->heard_ms[i] = r->now_ms;
    return true;
}

/* The PMIx of Open MPI's launcher offers tables in shared memory, behind locks that a killed process keeps:
 * the launcher then waits for them for ever. Its other module asks with messages. */
static void leave_shared_locks(void)
{
    const char *offered = getenv("PMIX_GDS_MODULE");
    if (offered && strstr(offered, "hash")) setenv("PMIX_GDS_MODULE", "hash", 1);
}

int gt_helper_mpi(char **libraries)
{
    /* The program gets the signals that end a job; this process ends with it. */
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) signal(ignored[i], SIG_IGN);
    relay r = {.rank = -1};
    const char *library = load(&r.mpi, libraries);
    if (!library) return fail("no MPI library could be loaded");
    leave_shared_locks();
    if (r.mpi.init(NULL, NULL) != 0) return fail("MPI_Init failed");
    if (r.mpi.comm_rank(r.mpi.world, &r.rank) != 0 || r.mpi.comm_size(r.mpi.world, &r.size) != 0 ||
        r.size < 1 || r.rank < 0 || r.rank >= r.size || !begin(&r))
        return fail("MPI does not say how many processes there are");
    tell_ready(&r, library);
    serve(&r);
    alarm(END_AFTER_S);
    r.mpi.finalize();
    return 0;
}
