/* One thread per mode, woken at absolute times so that the period does not drift. Rows are appended to
 * FILE.part, where they remain after a crash. */
#include "run/sensors/sensors.h"
#include "os/clock.h"
#include "os/own.h"

#include <pthread.h>
#include <signal.h>

enum { DEVICES_MAX = 1024 };

struct gt_sampler {
    const gt_sampler_plan *plan;
    gt_sensors *sensors;
    bool is_power;
    size_t *devices;
    size_t count;
    double *joules; /* state of each device's energy counter, first at the beginning, then the difference */
    char *part;     /* FILE.part */
    FILE *file;
    int failure; /* errno of the first row that could not be written */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop;
};

/* ---- choosing devices ---- */

static bool is_chosen(const gt_sampler *s, size_t device)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->devices[i] == device) return true;
    return false;
}

static void add_device(gt_sampler *s, size_t device, bool named)
{
    bool secondary = s->is_power && gt_sensors_read(s->sensors, GT_SENSOR_IS_SECONDARY, device).number > 0;
    if (secondary && named)
        gt_warn("Device %zu is a secondary die; its %s is not sampled", device, s->plan->mode);
    if (!secondary && s->count < DEVICES_MAX && !is_chosen(s, device)) s->devices[s->count++] = device;
}

/* What a list names and does not exist is left out with a warning; the others are sampled. */
static bool choose_devices(gt_sampler *s)
{
    s->devices = gt_alloc_zero(DEVICES_MAX, sizeof *s->devices);
    bool all = strcmp(s->plan->devices, "all") == 0;
    for (size_t i = 0; all && i < s->sensors->count; i++) add_device(s, i, false);
    for (const char *at = s->plan->devices; !all && *at;) {
        char *end;
        unsigned long device = strtoul(at, &end, 10);
        if (end == at) {
            at++;
            continue;
        }
        at = end;
        if (device < s->sensors->count)
            add_device(s, device, true);
        else
            gt_warn("no GPU %lu; its %s is not sampled", device, s->plan->mode);
    }
    if (!s->count) gt_warn("no GPU whose %s can be sampled", s->plan->mode);
    return s->count;
}

/* ---- rows ---- */

static void write_header(gt_sampler *s)
{
    fputs("time", s->file);
    for (size_t i = 0; i < s->count; i++)
        fprintf(s->file, ",%s GPU%zu", s->is_power ? "Power(Watt)" : "vram(%)", s->devices[i]);
    fputs("\r\n", s->file);
}

static double to_two_decimals(double value)
{
    char text[64];
    snprintf(text, sizeof text, "%.2f", value);
    return strtod(text, NULL);
}

static void write_value(gt_sampler *s, size_t device)
{
    char text[GT_NUMBER_MAX];
    gt_sensor sensor = s->is_power ? GT_SENSOR_POWER_W : GT_SENSOR_MEMORY_PERCENT;
    double value = gt_sensors_read(s->sensors, sensor, device).number;
    if (!s->is_power) value = isfinite(value) ? to_two_decimals(value) : 0;
    fputc(',', s->file);
    if (isfinite(value))
        fwrite(text, 1, gt_print_double(text, value), s->file);
    else
        fputs("N/A", s->file);
}

static void take_sample(gt_sampler *s)
{
    char text[GT_CLOCK_TEXT];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    gt_clock_print(text, now);
    fputs(text, s->file);
    for (size_t i = 0; i < s->count; i++) write_value(s, s->devices[i]);
    fputs("\r\n", s->file);
    if (fflush(s->file) != 0 && !s->failure) s->failure = errno;
}

/* The counters of a power sampler; with `since` what they have counted since then. */
static void read_counters(gt_sampler *s, bool since)
{
    for (size_t i = 0; s->is_power && i < s->count; i++) {
        double now = gt_sensors_read(s->sensors, GT_SENSOR_ENERGY_J, s->devices[i]).number;
        s->joules[i] = since ? now - s->joules[i] : now;
        if (since && !(s->joules[i] >= 0)) s->joules[i] = NAN; /* the driver was loaded again */
    }
}

static void *sample(void *context)
{
    gt_sampler *s = context;
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    pthread_mutex_lock(&s->lock);
    read_counters(s, false);
    while (!s->stop) {
        take_sample(s);
        long period_ns = (long)((s->plan->period_s - floor(s->plan->period_s)) * 1e9);
        next.tv_sec += (time_t)floor(s->plan->period_s) + (next.tv_nsec + period_ns) / 1000000000;
        next.tv_nsec = (next.tv_nsec + period_ns) % 1000000000;
        while (!s->stop && pthread_cond_timedwait(&s->wake, &s->lock, &next) == 0) {
        }
    }
    take_sample(s);
    read_counters(s, true);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- starting and stopping ---- */

static void free_sampler(gt_sampler *s)
{
    if (s->file) fclose(s->file);
    gt_free(s->part);
    gt_free(s->devices);
    gt_free(s->joules);
    gt_free(s);
}

static bool start_thread(gt_sampler *s)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are handled in the main thread */
    int failure = pthread_create(&s->thread, NULL, sample, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure == 0;
}

gt_sampler *gt_sampler_start(const gt_sampler_plan *plan, gt_sensors *sensors)
{
    gt_sampler *s = gt_alloc_zero(1, sizeof *s);
    s->plan = plan;
    s->sensors = sensors;
    s->is_power = strcmp(plan->mode, "power") == 0;
    s->part = gt_format("%s.part", plan->file);
    if (!choose_devices(s)) {
        free_sampler(s);
        return NULL;
    }
    s->joules = gt_alloc_zero(s->count, sizeof *s->joules);
    s->file = gt_own_fopen(s->part, "w");
    if (s->file) write_header(s);
    if (!s->file || !start_thread(s)) {
        gt_warn("cannot sample into %s: %s", s->part, strerror(errno));
        free_sampler(s);
        return NULL;
    }
    return s;
}

gt_sampler_result gt_sampler_stop(gt_sampler *s, gt_arena *arena)
{
    gt_sampler_result result = {0};
    if (!s) return result;
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    int failure = s->failure;
    if (fclose(s->file) != 0 && !failure) failure = errno;
    s->file = NULL;
    if (!failure && rename(s->part, s->plan->file) != 0) failure = errno;
    if (failure) gt_warn("cannot write %s: %s", s->plan->file, strerror(failure));
    result.has_file = !failure;
    result.failed = failure;
    if (s->is_power) {
        result.counted = gt_arena_alloc(arena, s->count * sizeof *result.counted);
        result.count = s->count;
    }
    for (size_t i = 0; i < result.count; i++)
        result.counted[i] = (gt_counted_energy){s->devices[i], s->joules[i]};
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->wake);
    free_sampler(s);
    return result;
}
