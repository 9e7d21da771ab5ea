/* The reader of rocprofv3's traces for the pftrace reports, in Chrome's JSON or Perfetto's protobuf format.
 *
 * One table of fields serves both formats. To read one more argument, add a column GT_CHROME_* to
 * trace/events.h and a row to `fields`. Profilers spell some arguments differently ("corr_id",
 * "correlation_id", "CorrId"): every spelling is read as a field of its own, and the first one with a value
 * goes into the column.
 *
 * Events of a JSON file keep the order of the file. Events of a Perfetto trace get the order that Perfetto's
 * own conversion to JSON has: slices on threads by start time, then slices on other tracks by start time. */
#include "input/chrome/chrome.h"
#include "base/progress.h"
#include "input/detect.h"
#include "input/perfetto/record.h"

/* Other names of the same values: read as fields of their own, stored in one column. */
enum {
    CORR_ID = GT_CHROME_COLUMNS,
    CORRELATION_ID,
    CORRELATIONID,
    CORRID,
    DEVICE_ID,
    DEVICEID,
    DEV_ID,
    DEVID,
    GPU_ID,
    GPUID,
    KERNEL_NAME,
    KERNELNAME,
    SYMBOL,
    SYMBOL_NAME,
    FUNC_NAME,
    FIELDS
};

static const gt_field fields[FIELDS] = {
    [GT_CHROME_PHASE] = {"ph", GT_FIELD_STRING, true},
    [GT_CHROME_CATEGORY] = {"cat", GT_FIELD_STRING, true},
    [GT_CHROME_NAME] = {"name", GT_FIELD_STRING, false},
    [GT_CHROME_PID] = {"pid", GT_FIELD_INT, false},
    [GT_CHROME_TID] = {"tid", GT_FIELD_INT, false},
    [GT_CHROME_TS] = {"ts", GT_FIELD_TIME, false},
    [GT_CHROME_DUR] = {"dur", GT_FIELD_TIME, false},
    [GT_CHROME_BEGIN_NS] = {"args/begin_ns", GT_FIELD_INT, false},
    [GT_CHROME_END_NS] = {"args/end_ns", GT_FIELD_INT, false},
    [GT_CHROME_DELTA_NS] = {"args/delta_ns", GT_FIELD_INT, false},
    [GT_CHROME_CORRELATION] = {NULL, GT_FIELD_INT, false},
    [GT_CHROME_IS_CALL] = {NULL, GT_FIELD_INT, false},
    [GT_CHROME_AGENT] = {"args/agent", GT_FIELD_JSON, false},
    [GT_CHROME_DEVICE] = {NULL, GT_FIELD_INT, false},
    [GT_CHROME_KERNEL_NAME] = {NULL, GT_FIELD_STRING, false},
    [GT_CHROME_ARGS_TID] = {"args/tid", GT_FIELD_INT, false},
    [GT_CHROME_STREAM] = {"args/stream_ID", GT_FIELD_INT, false},
    [GT_CHROME_OPERATION] = {"args/operation", GT_FIELD_INT, false},
    [GT_CHROME_GRID] = {"args/grid_size", GT_FIELD_INT, false},
    [GT_CHROME_WORKGROUP] = {"args/workgroup_size", GT_FIELD_INT, false},
    [GT_CHROME_VGPRS] = {"args/VGPR_Count", GT_FIELD_INT, false},
    [GT_CHROME_ACCUM_VGPRS] = {"args/Accum_VGPR_Count", GT_FIELD_INT, false},
    [GT_CHROME_SGPRS] = {"args/SGPR_Count", GT_FIELD_INT, false},
    [GT_CHROME_LDS] = {"args/LDS_Block_Size", GT_FIELD_INT, false},
    [GT_CHROME_SCRATCH] = {"args/Scratch_Size", GT_FIELD_INT, false},
    [GT_CHROME_COPY_BYTES] = {"args/copy_bytes", GT_FIELD_INT, false},
    [GT_CHROME_SOURCE] = {"args/src_agent", GT_FIELD_JSON, false},
    [GT_CHROME_DESTINATION] = {"args/dst_agent", GT_FIELD_JSON, false},
    [GT_CHROME_BYTES] = {"args/bytes", GT_FIELD_INT, false},
    [GT_CHROME_PYTORCH_DEVICE] = {"args/device", GT_FIELD_JSON, false},
    [CORR_ID] = {"args/corr_id", GT_FIELD_INT, false},
    [CORRELATION_ID] = {"args/correlation_id", GT_FIELD_INT, false},
    [CORRELATIONID] = {"args/correlationId", GT_FIELD_INT, false},
    [CORRID] = {"args/CorrId", GT_FIELD_INT, false},
    [DEVICE_ID] = {"args/device_id", GT_FIELD_INT, false},
    [DEVICEID] = {"args/deviceId", GT_FIELD_INT, false},
    [DEV_ID] = {"args/dev_id", GT_FIELD_INT, false},
    [DEVID] = {"args/DevId", GT_FIELD_INT, false},
    [GPU_ID] = {"args/gpu_id", GT_FIELD_INT, false},
    [GPUID] = {"args/gpuId", GT_FIELD_INT, false},
    [KERNEL_NAME] = {"args/kernel_name", GT_FIELD_STRING, false},
    [KERNELNAME] = {"args/KernelName", GT_FIELD_STRING, false},
    [SYMBOL] = {"args/symbol", GT_FIELD_STRING, false},
    [SYMBOL_NAME] = {"args/symbol_name", GT_FIELD_STRING, false},
    [FUNC_NAME] = {"args/funcName", GT_FIELD_STRING, false},
};

static void make_columns(gt_store_column columns[FIELDS])
{
    for (size_t f = 0; f < FIELDS; f++) {
        gt_field_kind kind = fields[f].kind;
        columns[f].type = kind == GT_FIELD_INT    ? GT_STORE_INT
                          : kind == GT_FIELD_TIME ? GT_STORE_TIME
                                                  : GT_STORE_STRING;
        columns[f].absent = GT_CHROME_NONE;
    }
}

/* ---- one value with several names ---- */

#define BIT(field) (UINT64_C(1) << (field))

/* Stores the first of the fields `first` to `last` that has a value. */
static void set_first(gt_record *record, int first, int last, int column)
{
    for (int f = first; f <= last; f++) {
        if (!(record->present & BIT(f))) continue;
        if (fields[f].kind == GT_FIELD_STRING && record->cells[f].text == GT_STR_EMPTY) continue;
        record->cells[column] = record->cells[f];
        record->present |= BIT(column);
        return;
    }
}

/* Values that Python treats as false. */
static bool is_false(gt_str json)
{
    static const char *const values[] = {"\"\"", "0", "0.0", "-0", "-0.0", "false", "null", "[]", "{}"};
    for (size_t i = 0; i < GT_LENGTH(values); i++)
        if (gt_str_equals(json, values[i])) return true;
    return false;
}

static void set_named_values(gt_record *record, const gt_interner *strings)
{
    set_first(record, CORR_ID, CORRID, GT_CHROME_CORRELATION);
    set_first(record, DEVICE_ID, GPUID, GT_CHROME_DEVICE);
    set_first(record, KERNEL_NAME, FUNC_NAME, GT_CHROME_KERNEL_NAME);
    if ((record->present | record->mistyped) & BIT(CORR_ID)) {
        record->cells[GT_CHROME_IS_CALL].integer = 1;
        record->present |= BIT(GT_CHROME_IS_CALL);
    }
    if (record->present & BIT(GT_CHROME_AGENT) &&
        is_false(gt_interner_get(strings, (uint32_t)record->cells[GT_CHROME_AGENT].text)))
        record->present &= ~BIT(GT_CHROME_AGENT);
    record->present &= BIT(GT_CHROME_COLUMNS) - 1;
    record->present &= ~BIT(GT_CHROME_PHASE);
}

static const char *complete_record(gt_record *record, gt_record_reader *reader)
{
    set_named_values(record, gt_record_strings(reader));
    return NULL;
}

static bool is_metadata(const gt_record *record, gt_record_reader *reader)
{
    if (!(record->present & BIT(GT_CHROME_PHASE))) return false;
    gt_str phase = gt_interner_get(gt_record_strings(reader), (uint32_t)record->cells[GT_CHROME_PHASE].text);
    return phase.len == 1 && phase.bytes[0] == 'M';
}

/* ---- Perfetto ---- */

static void read_slice(gt_perfetto_records *records, const gt_perfetto_event *event, gt_record *record,
                       const gt_interner *strings)
{
    gt_perfetto_record_head(records, event, record);
    gt_perfetto_record_args(records, event, record, NULL, NULL);
    set_named_values(record, strings);
}

typedef struct slice_position {
    int64_t time_ns;
    uint32_t row;
    bool on_thread;
} slice_position;

typedef struct position_list {
    slice_position *items;
    size_t count, capacity;
} position_list;

static int by_track_and_time(const void *left, const void *right)
{
    const slice_position *a = left, *b = right;
    if (a->on_thread != b->on_thread) return a->on_thread ? -1 : 1;
    if (a->time_ns != b->time_ns) return a->time_ns < b->time_ns ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static uint32_t *sorted_rows(position_list *list)
{
    uint32_t *order = gt_alloc(list->count * sizeof *order);
    if (list->count) qsort(list->items, list->count, sizeof *list->items, by_track_and_time);
    for (size_t i = 0; i < list->count; i++) order[i] = list->items[i].row;
    return order;
}

static bool read_perfetto(gt_stream *stream, gt_chrome *chrome, const gt_store_column *columns,
                          const gt_read_options *options, gt_error *error)
{
    gt_perfetto *trace = gt_perfetto_new(stream, chrome->strings);
    gt_perfetto_records *records = gt_perfetto_records_new(trace, fields, FIELDS);
    gt_store_writer *writer = gt_store_writer_new(columns, FIELDS, chrome->strings);
    gt_slices *slices = gt_slices_new();
    gt_perfetto_event event;
    gt_record *record = gt_alloc_zero(1, sizeof *record);
    position_list positions = {0};
    gt_progress_begin(gt_stream_path(stream), gt_stream_size(stream));
    while (gt_perfetto_next(trace, &event)) {
        if (event.type == GT_PERFETTO_END) gt_slices_end(slices, event.track, event.time_ns);
        if (event.type != GT_PERFETTO_BEGIN && event.type != GT_PERFETTO_COMPLETE) continue;
        uint32_t row = (uint32_t)positions.count;
        bool on_thread = gt_perfetto_track_of(trace, event.track)->kind == GT_TRACK_THREAD;
        GT_PUSH(positions.items, positions.count, positions.capacity,
                ((slice_position){event.time_ns, row, on_thread}));
        if (event.type == GT_PERFETTO_COMPLETE)
            gt_slices_complete(slices, row, event.dur_ns);
        else
            gt_slices_begin(slices, event.track, event.time_ns, row);
        read_slice(records, &event, record, chrome->strings);
        gt_store_writer_add(writer, record->present & ~BIT(GT_CHROME_DUR), record->cells);
    }
    gt_progress_end();
    gt_store_append(chrome->store, gt_store_writer_take(writer));
    gt_perfetto_fill_durations(chrome->store, GT_CHROME_DUR, slices);
    chrome->order = sorted_rows(&positions);
    bool read = gt_perfetto_accept(trace, positions.count, "events", options, error);
    gt_free_all(positions.items, record);
    gt_slices_free(slices);
    gt_store_writer_free(writer);
    gt_perfetto_records_free(records);
    gt_perfetto_free(trace);
    return read;
}

/* ---- both formats ---- */

gt_chrome *gt_chrome_read(gt_stream *stream, const gt_read_options *options, gt_error *error)
{
    gt_store_column columns[FIELDS];
    gt_trace_format kind;
    const gt_record_format format = {"event",     fields, columns, FIELDS, complete_record,
                                     is_metadata, NULL,   NULL,    NULL};
    make_columns(columns);
    if (!gt_detect(stream, &kind, error)) return NULL;
    gt_chrome *chrome = gt_alloc_zero(1, sizeof *chrome);
    chrome->strings = gt_interner_new();
    chrome->store = gt_store_new(columns, FIELDS, chrome->strings);
    bool read = false;
    if (kind == GT_FORMAT_PERFETTO)
        read = read_perfetto(stream, chrome, columns, options, error);
    else if (kind == GT_FORMAT_KINETO_JSON || kind == GT_FORMAT_OTHER_JSON || kind == GT_FORMAT_ROCPROF_JSON)
        read = gt_chrome_read_events(stream, &format, &(gt_record_stores){{chrome->store}, 1},
                                     "Not a valid Perfetto-style trace: missing 'traceEvents' key", options,
                                     error);
    else
        gt_fail(error, "Unsupported trace format: %s. Use .json, .json.gz, or .pftrace. (Found: %s.)",
                gt_stream_path(stream), gt_format_name(kind));
    chrome->count = gt_store_count(chrome->store);
    if (read) return chrome;
    gt_chrome_free(chrome);
    return NULL;
}
