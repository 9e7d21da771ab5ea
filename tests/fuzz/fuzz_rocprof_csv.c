/* Fuzzes the reader of rocprofv3's CSV files: small blocks, and three threads, must give the same result as
 * one large block. */
#include "base/team.h"
#include "input/rocprof/rocprof.h"
#include "quiet.h"

#include <stdlib.h>

static gt_rocprof *read_blocks(const uint8_t *data, size_t size, size_t block, const gt_read_options *options)
{
    gt_error error = {{0}};
    gt_stream *stream = gt_stream_memory(data, size, block, &error);
    if (!stream) return NULL;
    gt_rocprof *run = NULL;
    gt_trace_format format = GT_FORMAT_UNKNOWN;
    if (gt_detect(stream, &format, &error) && format == GT_FORMAT_ROCPROF_CSV) {
        run = gt_rocprof_read(stream, "fuzz", options, &error);
        if (!run && !error.text[0]) abort(); /* a failure without a message */
    }
    gt_stream_close(stream);
    return run;
}

typedef struct blocks_call {
    const uint8_t *data;
    size_t size, block;
    const gt_read_options *options;
    gt_rocprof *run;
} blocks_call;

static void read_in_team(void *context)
{
    blocks_call *call = context;
    call->run = read_blocks(call->data, call->size, call->block, call->options);
}

static void look_at(gt_rocprof *run)
{
    gt_error error;
    free(gt_rocprof_dispatch_names(run));
    free(gt_rocprof_dispatch_durations(run, &error));
    gt_store *stores[] = {run->calls, run->counters, run->agents};
    const size_t names[] = {GT_CALL_NAME, GT_COUNTER_NAME, GT_AGENT_NAME};
    for (size_t s = 0; s < 3; s++) {
        if (!stores[s]) continue;
        uint32_t *texts = gt_store_string_ids(stores[s], names[s]);
        for (size_t i = 0; i < gt_store_count(stores[s]); i++)
            if (texts[i] >= gt_interner_count(run->strings)) abort();
        free(texts);
    }
}

static void compare_dispatches(gt_rocprof *a, gt_rocprof *b)
{
    size_t count = gt_store_count(a->dispatches);
    if (count != gt_store_count(b->dispatches)) abort();
    uint32_t *a_names = gt_rocprof_dispatch_names(a), *b_names = gt_rocprof_dispatch_names(b);
    for (size_t i = 0; i < count; i++)
        if (gt_str_compare(gt_interner_get(a->strings, a_names[i]),
                           gt_interner_get(b->strings, b_names[i])) != 0)
            abort();
    free(a_names);
    free(b_names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    gt_read_options options = {.threads = 1, .strict = data[0] & 1};
    if (data[0] & 2) options.wanted |= GT_WANT_ALL & ~GT_WANT_AGENTS;
    if (data[0] & 4) options.wanted |= GT_WANT_AGENTS; /* separately: its many columns make each run slow */
    gt_rocprof *whole = read_blocks(data + 1, size - 1, 0, &options);
    blocks_call call = {data + 1, size - 1, 200 + data[0], &options, NULL};
    options.threads = data[0] & 8 ? 3 : 1;
    gt_team_run(options.threads, read_in_team, &call);
    gt_rocprof *pieces = call.run;
    if (whole) look_at(whole);
    /* A header that is longer than a block is not recognised. */
    if (whole && pieces) compare_dispatches(whole, pieces);
    gt_rocprof_free(whole);
    gt_rocprof_free(pieces);
    return 0;
}
