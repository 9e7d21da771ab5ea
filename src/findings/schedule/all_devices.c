/* Which devices does a trace have, and what do those do that are not scheduled?
 *
 * A PyTorch trace has the events of all devices, so that they are looked up here only if somebody asks. Other
 * schedules bring them along, as nothing keeps their traces. As in ops.c a device is the argument "device" of
 * an event or else its process, within a rank; a stream is the argument "stream" or else the thread.
 *
 * Which host event launched an op is known where the ids of both agree and the host event is of the process
 * or rank that the schedule has: an id that calls of several processes have says nothing. */
#include "findings/schedule/all_devices.h"

#include "findings/schedule/build.h"

/* The columns of some GPU rows that say where they run. */
typedef struct gpu_places {
    const uint32_t *rows;
    size_t count;
    uint32_t *devices, *streams; /* string ids of JSON */
    int64_t *ranks;
} gpu_places;

static gpu_places read_places(const gt_event_view *trace, const uint32_t *rows, size_t count)
{
    gpu_places p = {.rows = rows,
                    .count = count,
                    .devices = gt_alloc(count * sizeof *p.devices),
                    .streams = gt_alloc(count * sizeof *p.streams),
                    .ranks = gt_alloc(count * sizeof *p.ranks)};
    gt_store_string_ids_at(trace->store, GT_EVENT_DEVICE, rows, count, p.devices);
    gt_store_string_ids_at(trace->store, GT_EVENT_STREAM, rows, count, p.streams);
    gt_store_ints_at(trace->store, GT_EVENT_RANK, rows, count, p.ranks);
    for (size_t i = 0; i < count; i++) {
        if (p.devices[i] == GT_STR_NONE) p.devices[i] = gt_event_process(trace, rows[i]);
        if (p.streams[i] == GT_STR_NONE) p.streams[i] = gt_event_thread(trace, rows[i]);
    }
    return p;
}

static void free_places(gpu_places *p)
{
    gt_free_all(p->devices, p->streams, p->ranks);
}

/* ---- names ---- */

/* A value's JSON for display: strings without their quotes, and cut where they are long. */
static void add_value(gt_buffer *text, gt_str json)
{
    enum { LONG = 60 };
    if (json.len >= 2 && json.bytes[0] == '"' && json.bytes[json.len - 1] == '"')
        json = (gt_str){json.bytes + 1, json.len - 2};
    if (json.len > LONG) {
        json.len = LONG;
        while (json.len && (json.bytes[json.len] & 0xC0) == 0x80) json.len--; /* between characters */
    }
    gt_buffer_add(text, json.bytes, json.len);
}

static gt_stream_names names_of(gt_interner *strings, const gpu_places *p, size_t i)
{
    gt_stream_names names = {.device_number = -1};
    gt_str device = gt_interner_get(strings, p->devices[i]);
    gt_buffer text = {0};
    if (p->ranks[i] != GT_EVENT_NONE) {
        char rank[48];
        snprintf(rank, sizeof rank, "rank %" PRId64 " ", p->ranks[i]);
        gt_buffer_add_cstr(&text, rank);
    }
    gt_buffer_add_cstr(&text, "GPU ");
    add_value(&text, device);
    names.device = gt_interner_add(strings, text.bytes, text.len);
    text.len = 0;
    gt_buffer_add_cstr(&text, "stream ");
    add_value(&text, gt_interner_get(strings, p->streams[i]));
    names.stream = gt_interner_add(strings, text.bytes, text.len);
    gt_buffer_free(&text);
    bool is_number = device.len && device.len <= 9;
    for (size_t k = 0; k < device.len; k++) is_number &= gt_is_digit(device.bytes[k]);
    if (is_number) names.device_number = strtoll(device.bytes, NULL, 10);
    return names;
}

/* Names the streams of the schedule by their first ops. */
static void name_streams(gt_all_devices *devices, const gt_schedule *schedule)
{
    size_t count = schedule->stream_count;
    uint32_t *rows = gt_no_events(count);
    devices->streams = gt_alloc(count * sizeof *devices->streams);
    devices->stream_count = count;
    for (size_t i = 0, found = 0; i < schedule->op_count && found < count; i++) {
        uint32_t *row = &rows[schedule->ops[i].stream];
        if (*row != GT_NO_EVENT) continue;
        *row = schedule->ops[i].row;
        found++;
    }
    gpu_places places = read_places(schedule->trace, rows, count);
    for (size_t i = 0; i < count; i++) devices->streams[i] = names_of(schedule->strings, &places, i);
    free_places(&places);
    gt_free(rows);
}

const char *gt_schedule_place(const gt_schedule *schedule)
{
    uint32_t place = schedule->device.place;
    if (schedule->trace && schedule->trace->store && schedule->op_count) {
        gpu_places places = read_places(schedule->trace, &schedule->ops[0].row, 1);
        place = names_of(schedule->strings, &places, 0).device;
        free_places(&places);
    }
    return gt_interner_get(schedule->strings, place).bytes;
}

/* A schedule that was made by hand has neither names nor a trace. */
static void number_streams(gt_all_devices *devices, const gt_schedule *schedule)
{
    size_t count = schedule->stream_count;
    for (size_t i = 0; i < schedule->other_count; i++)
        if (schedule->others[i].stream >= count) count = (size_t)schedule->others[i].stream + 1;
    devices->streams = gt_alloc(count * sizeof *devices->streams);
    devices->stream_count = count;
    for (size_t i = 0; i < count; i++) {
        char text[32];
        snprintf(text, sizeof text, "stream %zu", i);
        devices->streams[i] = (gt_stream_names){gt_interner_add_cstr(schedule->strings, "GPU"),
                                                gt_interner_add_cstr(schedule->strings, text), -1};
    }
}

/* ---- launches ---- */

/* By launch id: the host event of the call that has it; GT_NONE: calls of several processes do. */
static gt_map find_calls(const gt_schedule *schedule)
{
    gt_map calls = {0};
    int64_t *ids = gt_store_ints(schedule->trace->store, GT_EVENT_CORRELATION);
    for (size_t t = 0; t < schedule->thread_count; t++) {
        const gt_host_thread *thread = &schedule->threads[t];
        for (uint32_t i = thread->first; i < thread->end; i++) {
            const gt_host_event *event = &schedule->events[i];
            bool is_call = event->kind == GT_KIND_RUNTIME || event->kind == GT_KIND_DRIVER;
            if (!is_call || ids[event->row] == GT_EVENT_NONE) continue;
            size_t before = calls.count;
            uint32_t *call = gt_map_put(&calls, (uint64_t)ids[event->row], 0);
            bool is_new = calls.count > before;
            bool is_shared = !is_new && (*call == GT_NONE ||
                                         schedule->threads[gt_schedule_thread_of(schedule, *call)].process !=
                                             thread->process);
            *call = is_shared ? GT_NONE : i;
        }
    }
    gt_free(ids);
    return calls;
}

/* Sets the events that launched ops; those of other ranks are none of the schedule's. */
static void find_launches(const gt_schedule *schedule, gt_other_op *others, const gpu_places *places)
{
    size_t count = places->count;
    const gt_store *store = schedule->trace->store;
    int64_t *ids = gt_alloc(count * sizeof *ids), *external = gt_alloc(count * sizeof *external);
    int64_t rank = GT_EVENT_NONE;
    gt_map calls = find_calls(schedule);
    gt_store_ints_at(store, GT_EVENT_CORRELATION, places->rows, count, ids);
    gt_store_ints_at(store, GT_EVENT_EXTERNAL_ID, places->rows, count, external);
    if (schedule->op_count) gt_store_ints_at(store, GT_EVENT_RANK, &schedule->ops[0].row, 1, &rank);
    for (size_t i = 0; i < count; i++) {
        int64_t id = ids[i] != GT_EVENT_NONE ? ids[i] : external[i];
        if (id != GT_EVENT_NONE && places->ranks[i] == rank)
            others[i].event = gt_map_get(&calls, (uint64_t)id, 0);
    }
    gt_map_free(&calls);
    gt_free_all(ids, external);
}

/* ---- the other devices of a PyTorch trace ---- */

/* All GPU rows that are not of the schedule, by start. */
static gt_row_list list_others(const gt_schedule *schedule)
{
    const gt_event_view *trace = schedule->trace;
    gt_row_list rows = {0};
    uint8_t *scheduled = gt_alloc_zero(trace->recorded, 1);
    for (size_t i = 0; i < schedule->op_count; i++) scheduled[schedule->ops[i].row] = 1;
    for (uint32_t row = 0; row < trace->recorded; row++)
        if (gt_kind_is_gpu(trace->kind[row]) && !scheduled[row])
            GT_PUSH(rows.items, rows.count, rows.capacity, row);
    gt_order_rows(rows.items, rows.count, trace->start_us);
    gt_free(scheduled);
    return rows;
}

static void fill_others(const gt_schedule *schedule, gt_other_op *others, const uint32_t *rows, size_t count)
{
    const gt_event_view *trace = schedule->trace;
    uint8_t *known = gt_alloc_zero(gt_interner_count(trace->strings), 1);
    int64_t *bytes = gt_alloc(count * sizeof *bytes);
    gt_store_ints_at(trace->store, GT_EVENT_BYTES, rows, count, bytes);
    for (size_t i = 0; i < count; i++) {
        uint32_t row = rows[i];
        int64_t start_ns = gt_schedule_ns(schedule, trace->start_us[row]);
        if (schedule->clock_ns < 0) start_ns -= schedule->clock_ns;
        others[i] = (gt_other_op){.start_ns = start_ns,
                                  .end_ns = gt_schedule_end_ns(schedule, start_ns, trace->dur_us[row]),
                                  .bytes = bytes[i] > 0 ? bytes[i] : 0,
                                  .name = trace->name[row],
                                  .row = row,
                                  .event = GT_NONE,
                                  .kind = trace->kind[row]};
        others[i].communicates =
            others[i].kind == GT_KIND_KERNEL && gt_build_communicates(schedule, row, known);
    }
    gt_free_all(bytes, known);
}

static void find_others(gt_all_devices *devices, const gt_schedule *schedule)
{
    gt_row_list rows = list_others(schedule);
    gpu_places places = read_places(schedule->trace, rows.items, rows.count);
    gt_map device_numbers = {0}, stream_numbers = {0};
    size_t stream_capacity = devices->stream_count;
    devices->others = devices->own = gt_alloc(rows.count * sizeof *devices->own);
    devices->other_count = rows.count;
    fill_others(schedule, devices->own, rows.items, rows.count);
    for (size_t i = 0; i < rows.count; i++) {
        uint32_t next = (uint32_t)device_numbers.count;
        uint32_t *device = gt_map_put(&device_numbers, places.devices[i], (uint64_t)places.ranks[i]);
        if (*device == GT_MAP_NONE) *device = next;
        uint32_t *stream = gt_map_put(&stream_numbers, *device, places.streams[i]);
        if (*stream == GT_MAP_NONE) {
            *stream = (uint32_t)devices->stream_count;
            GT_PUSH(devices->streams, devices->stream_count, stream_capacity,
                    names_of(schedule->strings, &places, i));
        }
        devices->own[i].stream = *stream;
    }
    find_launches(schedule, devices->own, &places);
    gt_map_free(&device_numbers);
    gt_map_free(&stream_numbers);
    free_places(&places);
    gt_free(rows.items);
}

gt_all_devices gt_all_devices_find(const gt_schedule *schedule)
{
    gt_all_devices devices = {.others = schedule->others, .other_count = schedule->other_count};
    if (schedule->trace && schedule->trace->store) {
        name_streams(&devices, schedule);
        if (schedule->device_count > 1) find_others(&devices, schedule);
        return devices;
    }
    if (schedule->all_stream_count < schedule->stream_count) {
        number_streams(&devices, schedule);
        return devices;
    }
    devices.stream_count = schedule->all_stream_count;
    devices.streams = gt_alloc(devices.stream_count * sizeof *devices.streams);
    if (devices.stream_count)
        memcpy(devices.streams, schedule->streams, devices.stream_count * sizeof *devices.streams);
    return devices;
}

void gt_all_devices_free(gt_all_devices *devices)
{
    gt_free_all(devices->own, devices->streams);
    *devices = (gt_all_devices){0};
}
