/* Fuzzes the readers of what clients and servers measured: what they give is a time or unknown. */
#include "input/server/server.h"
#include "quiet.h"

#include <math.h>
#include <stdlib.h>

static void check(double value)
{
    if (!isnan(value) && !(value >= 0)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gt_error error;
    gt_server_run run;
    gt_stream *stream = gt_stream_memory(data, size, size % 2 ? 16 : 0, &error);
    bool read = stream && gt_server_run_read(stream, &run, &error);
    gt_stream_close(stream);
    if (!read) {
        if (!*error.text) abort();
        return 0;
    }
    bool any = false;
    for (int i = 0; i < GT_SERVER_METRICS; i++) {
        const gt_server_times *times = &run.times[i];
        const double values[] = {times->requests, times->mean_ms, times->p50_ms, times->p90_ms,
                                 times->p99_ms};
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) check(values[k]);
        any |= !isnan(times->mean_ms);
    }
    check(run.requests), check(run.input_tokens), check(run.output_tokens), check(run.concurrency);
    if (!any) abort();
    return 0;
}
