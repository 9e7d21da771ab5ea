/* The management libraries of ROCm and NVIDIA in the portable program, which cannot load them: a helper does,
 * a small program in ../libexec/gputally beside the program's folder (src/helper). Each sensor is one request
 * over a socket; the helper answers in microseconds, the driver in milliseconds. It ends with the program. */
#include "run/sensors/sensors.h"
#include "base/log.h"
#include "os/child.h"
#include "os/paths.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_MAX = 1100, START_TIMEOUT_MS = 60000, ANSWER_TIMEOUT_MS = 10000, FIELDS = 9 };

typedef struct helper {
    gt_spawned process;
    int socket;
    bool is_lost;         /* it no longer answers */
    pthread_mutex_t lock; /* power and memory are sampled by a thread each */
} helper;

/* ---- the helper ---- */

static const char *helper_path(gt_arena *arena)
{
    char program[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", program, sizeof program);
    if (len <= 0 || (size_t)len >= sizeof program) return NULL;
    const char *name = memrchr(program, '/', (size_t)len);
    if (!name) return NULL;
    const char *folder = gt_arena_bytes(arena, program, (size_t)(name - program));
    return gt_path_join(arena, folder, "../libexec/gputally/gputally-helper");
}

/* Says once what is lost, if there is an NVIDIA GPU; AMD's have sensors in sysfs. */
static void report_missing(gt_arena *arena, const char *path, int failure)
{
    static atomic_bool is_reported;
    gt_gpu_list gpus = gt_gpus_find(arena);
    bool is_nvidia = access("/proc/driver/nvidia/version", F_OK) == 0;
    for (size_t i = 0; i < gpus.count; i++) is_nvidia = is_nvidia || !gpus.items[i].is_amd;
    if (!is_nvidia || atomic_exchange(&is_reported, true)) return;
    gt_warn("%s: %s; without it, this portable gputally reads no sensors of NVIDIA GPUs",
            path ? path : "libexec/gputally/gputally-helper",
            path ? gt_child_spawn_problem(path, failure) : strerror(failure));
}

/* One line of the helper without its end; false if none comes. */
static bool receive(helper *h, int timeout_ms, char *line)
{
    size_t len = 0;
    while (len < ANSWER_MAX - 1) {
        struct pollfd wait = {.fd = h->socket, .events = POLLIN};
        int ready = poll(&wait, 1, timeout_ms);
        if (ready < 0 && errno == EINTR) continue;
        ssize_t got = ready > 0 ? recv(h->socket, line + len, ANSWER_MAX - 1 - len, 0) : 0;
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        len += (size_t)got;
        if (line[len - 1] == '\n') {
            line[len - 1] = 0;
            return true;
        }
    }
    return false;
}

/* False: the helper does not answer; then it is not asked again. */
static bool ask(gt_sensors *sensors, const char *what, size_t device, char *answer)
{
    helper *h = sensors->state;
    char request[64];
    int len = snprintf(request, sizeof request, "%s %zu\n", what, device);
    pthread_mutex_lock(&h->lock);
    bool is_answered = !h->is_lost && send(h->socket, request, (size_t)len, MSG_NOSIGNAL) == len &&
                       receive(h, ANSWER_TIMEOUT_MS, answer);
    h->is_lost = !is_answered;
    pthread_mutex_unlock(&h->lock);
    return is_answered;
}

/* ---- sensors ---- */

static double to_number(const char *text)
{
    char *end;
    double number = strtod(text, &end);
    return end == text ? NAN : number;
}

static double ask_number(gt_sensors *sensors, const char *what, size_t device)
{
    char answer[ANSWER_MAX];
    return ask(sensors, what, device, answer) ? to_number(answer) : NAN;
}

static double power(gt_sensors *sensors, size_t device)
{
    return ask_number(sensors, "power", device);
}

static double memory(gt_sensors *sensors, size_t device)
{
    return ask_number(sensors, "memory", device);
}

static double energy(gt_sensors *sensors, size_t device)
{
    return ask_number(sensors, "energy", device);
}

static bool is_secondary(gt_sensors *sensors, size_t device)
{
    return ask_number(sensors, "secondary", device) > 0;
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

/* ---- the description of a GPU ---- */

/* Splits a line at its tabs, in place; missing fields are empty. */
static void split_fields(char *line, char *fields[FIELDS])
{
    for (size_t i = 0; i < FIELDS; i++) {
        char *tab = strchr(line, '\t');
        fields[i] = line;
        if (tab) *tab = 0;
        line = tab ? tab + 1 : line + strlen(line);
    }
}

static const char *kept(gt_arena *arena, const char *text)
{
    return *text ? gt_arena_bytes(arena, text, strlen(text)) : NULL;
}

static void describe(gt_sensors *sensors, size_t device, gt_arena *arena, gt_gpu_entry *facts)
{
    char answer[ANSWER_MAX] = "", *fields[FIELDS];
    if (!ask(sensors, "describe", device, answer)) *answer = 0;
    split_fields(answer, fields);
    *facts = (gt_gpu_entry){
        .vendor = "NVIDIA",
        .name = kept(arena, fields[0]),
        .uuid = kept(arena, fields[1]),
        .pci = kept(arena, fields[2]),
        .vbios = kept(arena, fields[3]),
        .memory_bytes = to_number(fields[4]),
        .power_limit_w = to_number(fields[5]),
        .ecc = *fields[6] ? atoi(fields[6]) : -1,
        .max_clocks = {to_number(fields[7]), to_number(fields[8])},
    };
}

static gt_gpu_clocks clocks(gt_sensors *sensors, size_t device)
{
    char answer[ANSWER_MAX];
    gt_gpu_clocks found = {NAN, NAN};
    if (!ask(sensors, "clocks", device, answer)) return found;
    const char *space = strchr(answer, ' ');
    found.core_mhz = to_number(answer);
    found.memory_mhz = space ? to_number(space) : NAN;
    return found;
}

static void versions(gt_sensors *sensors, gt_arena *arena, const char **driver, const char **cuda)
{
    char answer[ANSWER_MAX] = "", *fields[FIELDS];
    if (!ask(sensors, "versions", 0, answer)) *answer = 0;
    split_fields(answer, fields);
    *driver = kept(arena, fields[0]);
    *cuda = kept(arena, fields[1]);
}

/* ---- opening ---- */

static int start(helper *h, const char *path, const char *service)
{
    int ends[2];
    if (access(path, X_OK) != 0) return errno;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno;
    const char *argv[] = {path, service, NULL};
    const int descriptors[] = {ends[1], ends[1], -1};
    int failure = gt_child_spawn(argv, NULL, descriptors, 3, "sensors", &h->process);
    close(ends[1]);
    h->socket = ends[0];
    if (failure) close(ends[0]);
    return failure;
}

static bool open_service(gt_arena *arena, const char *service, gt_sensors *sensors)
{
    const char *path = helper_path(arena);
    helper *h = gt_arena_alloc(arena, sizeof *h);
    *h = (helper){.socket = -1};
    int failure = path ? start(h, path, service) : ENOENT;
    if (failure) {
        report_missing(arena, path, failure);
        return false;
    }
    char answer[ANSWER_MAX];
    char *name = NULL;
    size_t count = receive(h, START_TIMEOUT_MS, answer) ? strtoul(answer, &name, 10) : 0;
    if (!count) { /* it has ended, or hangs in the driver */
        close(h->socket);
        gt_child_abandon(&h->process);
        return false;
    }
    pthread_mutex_init(&h->lock, NULL);
    name += *name == ' ';
    *sensors = (gt_sensors){gt_arena_bytes(arena, name, strlen(name)),
                            count,
                            h,
                            power,
                            memory,
                            is_secondary,
                            energy,
                            close_helper};
    return true;
}

bool gt_sensors_open_rocm(gt_arena *arena, gt_sensors *sensors)
{
    return open_service(arena, "rocm", sensors);
}

bool gt_sensors_open_nvml(gt_arena *arena, gt_sensors *sensors)
{
    if (!open_service(arena, "nvml", sensors)) return false;
    sensors->describe = describe;
    sensors->clocks = clocks;
    sensors->versions = versions;
    return true;
}
