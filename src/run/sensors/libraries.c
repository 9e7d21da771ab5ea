/* Sensors of the management libraries of ROCm and NVIDIA: requests to the helper that loads them, which
 * answers in microseconds; the driver takes milliseconds. It ends with the program. */
#include "os/child.h"
#include "run/sensors/sensors.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

enum { START_TIMEOUT_MS = 60000, ANSWER_TIMEOUT_MS = 10000 };

typedef struct helper {
    gt_spawned process;
    int socket;
    bool is_lost;         /* it no longer answers */
    pthread_mutex_t lock; /* power and memory are sampled by a thread each */
} helper;

/* Says once what is lost, if there is an NVIDIA GPU; AMD's have sensors in sysfs. */
static void report_missing(gt_arena *arena, const char *path, int failure)
{
    static atomic_bool is_reported;
    gt_gpu_list gpus = gt_gpus_find(arena);
    bool is_nvidia = access("/proc/driver/nvidia/version", F_OK) == 0;
    for (size_t i = 0; i < gpus.count; i++) is_nvidia = is_nvidia || !gpus.items[i].is_amd;
    if (!is_nvidia || atomic_exchange(&is_reported, true)) return;
    gt_warn("%s: %s; without it, this portable gputally reads no sensors of NVIDIA GPUs", path,
            gt_child_spawn_problem(path, failure));
}

/* False if no answer comes. */
static bool receive(const helper *h, int timeout_ms, gt_sensor_value *value)
{
    struct pollfd wait = {.fd = h->socket, .events = POLLIN};
    int ready;
    while ((ready = poll(&wait, 1, timeout_ms)) < 0 && errno == EINTR) {
    }
    return ready > 0 && recv(h->socket, value, sizeof *value, 0) == sizeof *value;
}

/* A helper that does not answer once is not asked again. */
static void ask(gt_sensors *sensors, gt_sensor_request request, gt_sensor_value *value)
{
    helper *h = sensors->state;
    pthread_mutex_lock(&h->lock);
    h->is_lost = h->is_lost || send(h->socket, &request, sizeof request, MSG_NOSIGNAL) != sizeof request ||
                 !receive(h, ANSWER_TIMEOUT_MS, value);
    pthread_mutex_unlock(&h->lock);
}

static void close_helper(gt_sensors *sensors)
{
    helper *h = sensors->state;
    close(h->socket);
    if (h->is_lost)
        gt_child_abandon(&h->process);
    else
        gt_child_finish(&h->process, 10, -1, NULL, 0); /* the end of its input ends it */
    pthread_mutex_destroy(&h->lock);
}

/* A request or an answer is one packet. */
static int start(helper *h, const char *path, const char *service)
{
    int ends[2];
    if (access(path, X_OK) != 0) return errno;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return errno;
    const char *argv[] = {path, GT_CHILD_HELPER, service, NULL};
    const int descriptors[] = {ends[1], ends[1], -1};
    int failure = gt_child_spawn(argv, NULL, descriptors, 3, "sensors", &h->process);
    close(ends[1]);
    h->socket = ends[0];
    if (failure) close(ends[0]);
    return failure;
}

static bool open_library(gt_arena *arena, const char *service, gt_sensors *sensors)
{
    const char *path = gt_child_helper();
    helper *h = gt_arena_alloc(arena, sizeof *h);
    *h = (helper){.socket = -1};
    int failure = path ? start(h, path, service) : ENOENT;
    if (failure) {
        if (path) report_missing(arena, path, failure);
        return false;
    }
    gt_sensor_value count;
    if (!receive(h, START_TIMEOUT_MS, &count)) { /* it has ended, or hangs in the driver */
        close(h->socket);
        gt_child_abandon(&h->process);
        return false;
    }
    pthread_mutex_init(&h->lock, NULL);
    *sensors = (gt_sensors){(size_t)count.number, h, ask, close_helper};
    return true;
}

bool gt_sensors_open_rocm(gt_arena *arena, gt_sensors *sensors)
{
    return open_library(arena, "rocm", sensors);
}

bool gt_sensors_open_nvml(gt_arena *arena, gt_sensors *sensors)
{
    return open_library(arena, "nvml", sensors);
}
