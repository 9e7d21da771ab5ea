/* Fuzzes the Perfetto reader and everything that uses it: packets, annotations, slices, the pftrace reports,
 * and rocprofv3 and PyTorch traces in this format. */
#include "base/memory.h"
#include "input/chrome/chrome.h"
#include "input/chrome/kineto.h"
#include "input/perfetto/record.h"
#include "input/rocprof/readers.h"
#include "report/pftrace.h"
#include "report/pytorch/pytorch.h"
#include "report/rocprof.h"
#include "quiet.h"

#include <stdlib.h>

static gt_stream *open_input(const uint8_t *data, size_t size)
{
    gt_error error;
    return gt_stream_memory(data + 1, size - 1, data[0] & 2 ? 1 + data[0] : 0, &error);
}

/* Every event has an existing track, and every annotation can be printed. */
static void walk(const uint8_t *data, size_t size)
{
    gt_stream *stream = open_input(data, size);
    if (!stream) return;
    gt_interner *strings = gt_interner_new();
    gt_perfetto *trace = gt_perfetto_new(stream, strings);
    gt_perfetto_event event;
    gt_buffer json = {0};
    size_t events = 0;
    while (gt_perfetto_next(trace, &event)) {
        events++;
        if (event.track >= gt_perfetto_track_count(trace)) abort();
        gt_perfetto_pid(trace, event.track);
        gt_proto notes = gt_proto_begin(event.notes);
        gt_note note;
        while (gt_perfetto_next_note(trace, &notes, &note)) {
            json.len = 0;
            gt_note_add_json(trace, &json, &note);
            int64_t integer;
            double number;
            gt_note_int(&note, &integer);
            gt_note_double(&note, &number);
        }
    }
    gt_error error = {{0}};
    gt_read_options options = {.threads = 1, .strict = data[0] & 1};
    if (!gt_perfetto_accept(trace, events, "events", &options, &error) && !error.text[0]) abort();
    gt_buffer_free(&json);
    gt_perfetto_free(trace);
    gt_interner_free(strings);
    gt_stream_close(stream);
}

static void report(const uint8_t *data, size_t size)
{
    gt_stream *stream = open_input(data, size);
    if (!stream) return;
    gt_error error = {{0}};
    gt_read_options options = {.threads = 1, .strict = data[0] & 1};
    gt_chrome *trace = gt_chrome_read(stream, &options, &error);
    gt_stream_close(stream);
    if (!trace) {
        if (!error.text[0]) abort(); /* a failure without a message */
        return;
    }
    gt_table_list tables = {0};
    gt_buffer markdown = {0};
    gt_pftrace_api_options api = {.all_kernels = data[0] & 4, .other_calls = data[0] & 8};
    gt_pftrace_activity_options activity = gt_pftrace_activity_options_default();
    activity.min_event_ns = data[0] & 16 ? 5000 : 0;
    activity.by_name = data[0] & 4;
    activity.merge_kernels = data[0] & 8;
    gt_pftrace_api_tables(trace, &api, &tables, &error);
    gt_pftrace_activity_tables(trace, &activity, &tables, &markdown);
    gt_pftrace_copy_tables(trace, data[0] & 1, &tables);
    gt_buffer_free(&markdown);
    gt_table_list_free(&tables);
    gt_chrome_free(trace);
}

static void read_rocprof(const uint8_t *data, size_t size)
{
    gt_stream *stream = open_input(data, size);
    if (!stream) return;
    gt_error error = {{0}};
    gt_read_options options = {.threads = 1, .strict = data[0] & 1, .wanted = data[0] & 4 ? GT_WANT_ALL : 0};
    gt_rocprof_writers writers = gt_rocprof_write(gt_rocprof_new_wanted(options.wanted));
    bool read = gt_rocprof_read_perfetto(&writers, stream, &options, &error);
    gt_rocprof_write_end(&writers);
    gt_rocprof_options sheets = gt_rocprof_options_default();
    gt_table_list tables = {0};
    if (read && !gt_rocprof_tables(writers.run, &sheets, &tables, &error)) read = false;
    if (!read && !error.text[0]) abort();
    gt_table_list_free(&tables);
    gt_rocprof_free(writers.run);
    gt_stream_close(stream);
}

static void read_pytorch(const uint8_t *data, size_t size)
{
    gt_stream *stream = open_input(data, size);
    if (!stream) return;
    gt_error error = {{0}};
    gt_read_options options = {.threads = 1, .strict = data[0] & 1};
    gt_kineto_options keep = {.python_functions = data[0] & 4,
                              .every_event = data[0] & 8,
                              .frames = data[0] & 16,
                              .memory = data[0] & 32};
    gt_pytorch_stores stores = gt_pytorch_stores_new(keep.frames, keep.memory);
    gt_perfetto_origin origin;
    if (!gt_perfetto_find_origin(stream, &origin, &error) && !error.text[0]) abort();
    if (gt_kineto_read_perfetto(stream, keep, &options, &stores, &error)) {
        gt_pytorch_read *events = gt_pytorch_new(&stores, keep.python_functions);
        gt_pytorch_linked *trace = gt_pytorch_link(gt_pytorch_build_tree(events));
        gt_pytorch_options wanted = gt_pytorch_options_default();
        gt_table_list tables = {0};
        if (!gt_pytorch_tables(trace, &wanted, &tables, &error) && !error.text[0]) abort();
        gt_table_list_free(&tables);
        gt_pytorch_linked_free(trace);
    } else {
        if (!error.text[0]) abort();
        gt_pytorch_stores_free(&stores);
    }
    gt_stream_close(stream);
}

/* The first byte chooses the options and the reader. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    static void (*const readers[])(const uint8_t *, size_t) = {walk, report, read_rocprof, read_pytorch};
    readers[data[0] >> 6](data, size);
    return 0;
}
