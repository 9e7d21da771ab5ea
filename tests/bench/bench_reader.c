/* Reads a trace into the event store and prints the time, the number of events and the memory: bench_reader
 * FILE [THREADS]. */
#include "base/memory.h"
#include "base/team.h"
#include "input/detect.h"
#include "input/chrome/kineto.h"
#include "input/rocprof/rocprof.h"
#include "input/xla/xplane.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

typedef struct reading {
    const char *path;
    unsigned threads;
    int status;
} reading;

static int read_trace(const char *path, unsigned threads)
{
    gt_read_options options = {.threads = threads, .strict = true};
    gt_error error;
    gt_trace_format format;
    double begin = now_ms();
    gt_stream *stream = gt_stream_open(path, &error);
    if (!stream || !gt_detect(stream, &format, &error)) return fprintf(stderr, "%s\n", error.text), 1;
    size_t events = 0, bytes = 0;
    if (gt_rocprof_reads(format)) {
        gt_rocprof *run = gt_rocprof_read(stream, path, &options, &error);
        if (!run) return fprintf(stderr, "%s\n", error.text), 1;
        events = gt_store_count(run->dispatches);
        bytes = gt_store_bytes(run->dispatches);
    } else if (format == GT_FORMAT_XPLANE) {
        gt_jax *trace = gt_xplane_read_stream(stream, &options, &error);
        if (!trace) return fprintf(stderr, "%s\n", error.text), 1;
        events = trace->count;
    } else {
        gt_pytorch_stores stores = gt_pytorch_stores_new(false, false);
        if (!gt_kineto_read_stores(stream, (gt_kineto_options){.every_event = true}, &options, &stores,
                                   &error))
            return fprintf(stderr, "%s\n", error.text), 1;
        events = gt_store_records(stores.events);
        bytes = gt_store_bytes(stores.events) + gt_store_bytes(stores.flow_events);
    }
    double ms = now_ms() - begin;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"ms\": %.3f, \"events\": %zu, \"store_bytes\": %zu, \"peak_kb\": %ld}\n", ms, events, bytes,
           usage.ru_maxrss);
    return 0;
}

static void read_in_team(void *context)
{
    reading *r = context;
    r->status = read_trace(r->path, r->threads);
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    reading r = {argv[1], argc > 2 ? (unsigned)atoi(argv[2]) : 1, 0};
    gt_team_run(r.threads, read_in_team, &r);
    return r.status;
}
