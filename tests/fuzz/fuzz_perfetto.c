/* Fuzzes the Perfetto reader with all that stands on it: packets, annotations, slices, and the pftrace reports. */
#include "base/log.h"
#include "base/memory.h"
#include "input/chrome.h"
#include "input/perfetto_record.h"
#include "report/pftrace.h"

#include <stdlib.h>

static void say_nothing(bool warning, const char *text)
{
    (void)warning;
    (void)text;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    gt_log_to(say_nothing); /* warnings about damage */
    return 0;
}

static gt_stream *open_input(const uint8_t *data, size_t size)
{
    gt_error error;
    return gt_stream_memory(data + 1, size - 1, data[0] & 2 ? 1 + data[0] : 0, &error);
}

/* Every event names a track that is there, and every annotation can be printed. */
static void walk(const uint8_t *data, size_t size)
{
    gt_stream *stream = open_input(data, size);
    if (!stream) return;
    gt_strings *strings = gt_strings_new();
    gt_perfetto *trace = gt_perfetto_new(stream, strings);
    gt_perfetto_event event;
    gt_buffer json = {0};
    size_t events = 0;
    while (gt_perfetto_next(trace, &event)) {
        if (event.track >= gt_perfetto_track_count(trace)) abort();
        if (events++ % 7 == 3) {
            gt_perfetto_unread(trace);
            if (!gt_perfetto_next(trace, &event)) abort();
        }
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
    gt_strings_free(strings);
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
        if (!error.text[0]) abort(); /* a failure without a sentence */
        return;
    }
    gt_table_list tables = {0};
    gt_buffer markdown = {0};
    gt_pftrace_api_options api = {.all_kernels = data[0] & 4, .other_calls = data[0] & 8};
    gt_pftrace_activity_options activity = gt_pftrace_activity_options_default();
    activity.min_event_ns = data[0] & 16 ? 5000 : 0;
    activity.by_name = data[0] & 4;
    activity.merge_kernels = data[0] & 8;
    gt_pftrace_api_tables(trace, &api, &tables);
    gt_pftrace_activity_tables(trace, &activity, &tables, &markdown);
    gt_pftrace_copy_tables(trace, data[0] & 1, &tables);
    gt_buffer_free(&markdown);
    gt_table_list_free(&tables);
    gt_chrome_free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    walk(data, size);
    report(data, size);
    return 0;
}
