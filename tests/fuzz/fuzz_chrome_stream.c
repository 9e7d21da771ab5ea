/* Fuzzes the reader of GPU streams in Chrome traces, and the stages of a language model made from them. */
#include "analysis/jax/llama.h"
#include "input/chrome/chrome.h"
#include "quiet.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    gt_error error = {{0}};
    gt_read_options options = {.threads = 1, .strict = data[0] & 1};
    gt_interner *strings = gt_interner_new();
    gt_gpu_stream events = {0};
    gt_llama_summary summary = {0};
    gt_stream *stream = gt_stream_memory(data + 1, size - 1, data[0] & 2 ? 1 + data[0] : 0, &error);
    bool read = gt_gpu_stream_read(stream, 0, strings, &options, &events, &error);
    if (!read && !error.text[0]) abort(); /* a failure without a message */
    for (size_t i = 1; read && i < events.count; i++)
        if (events.items[i].start_us < events.items[i - 1].start_us) abort();
    if (read)
        gt_llama_summarize(&events, "norm", (gt_llama_range){0, 3}, (gt_llama_range){0, data[0] & 3},
                           &summary, &error);
    gt_llama_summary_free(&summary);
    gt_gpu_stream_free(&events);
    gt_stream_close(stream);
    gt_interner_free(strings);
    return 0;
}
