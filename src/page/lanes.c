/* The lines of the timeline: streams of all devices, then threads of the host.
 *
 * Streams are grouped by device, threads by process; threads that launch GPU work come first. A trace may
 * have any number of both, and a page shows at most LANES_MAX of each: the streams with the fewest events
 * share the last line, and the threads with the fewest events are left out. */
#include "page/work_parts.h"

#include "schema/page.h"

enum { LANES_MAX = 500 };

/* ---- streams ---- */

typedef struct stream_use {
    gt_stream_names names;
    gt_str label;
    uint64_t number; /* at the end of its label */
    uint32_t device; /* devices in the order of their first streams */
    uint32_t stream;
    size_t events;
} stream_use;

static uint64_t number_at_end(gt_str text)
{
    uint64_t number = 0;
    size_t begin = text.len;
    while (begin && text.len - begin < 18 && gt_is_digit(text.bytes[begin - 1])) begin--;
    for (size_t i = begin; i < text.len; i++) number = 10 * number + (uint64_t)(text.bytes[i] - '0');
    return number;
}

static int by_place(const void *left, const void *right)
{
    const stream_use *a = left, *b = right;
    uint64_t first = (uint64_t)a->names.device_number, second = (uint64_t)b->names.device_number;
    if (first != second) return first < second ? -1 : 1; /* those without a number come last */
    if (a->device != b->device) return a->device < b->device ? -1 : 1;
    if (a->number != b->number) return a->number < b->number ? -1 : 1;
    int order = gt_str_compare(a->label, b->label);
    if (order) return order;
    return a->stream < b->stream ? -1 : a->stream > b->stream;
}

GT_ORDER_BY(by_events, stream_use, GT_DOWN(events) GT_UP(stream))

static stream_use *list_streams(const gt_page_work *w)
{
    const gt_schedule *s = w->schedule;
    const gt_all_devices *devices = &w->devices;
    stream_use *uses = gt_alloc_zero(devices->stream_count, sizeof *uses);
    gt_map numbers = {0};
    for (uint32_t i = 0; i < devices->stream_count; i++) {
        gt_stream_names names = devices->streams[i];
        uint32_t next = (uint32_t)numbers.count, *device = gt_map_put(&numbers, names.device, 0);
        if (*device == GT_MAP_NONE) *device = next;
        gt_str label = gt_interner_get(s->strings, names.stream);
        uses[i] = (stream_use){names, label, number_at_end(label), *device, i, 0};
    }
    for (size_t i = 0; i < s->op_count; i++) uses[s->ops[i].stream].events++;
    for (size_t i = 0; i < devices->other_count; i++) uses[devices->others[i].stream].events++;
    gt_map_free(&numbers);
    return uses;
}

static void add_lane(gt_page_work *w, gt_page_lane lane)
{
    w->lanes[w->lane_count++] = lane;
}

/* Makes the lanes of streams. Returns the lane of each stream. */
static uint32_t *add_streams(gt_page_work *w)
{
    size_t count = w->devices.stream_count, shown = count < LANES_MAX ? count : LANES_MAX;
    stream_use *uses = list_streams(w);
    uint32_t *lanes = gt_alloc(count * sizeof *lanes);
    if (count > shown) qsort(uses, count, sizeof *uses, by_events);
    qsort(uses, shown, sizeof *uses, by_place);
    for (size_t i = 0; i < shown; i++) {
        const gt_stream_names *names = &uses[i].names;
        lanes[uses[i].stream] = (uint32_t)i;
        add_lane(w, (gt_page_lane){.group = names->device,
                                   .label = names->stream,
                                   .device = names->device_number,
                                   .is_stream = true,
                                   .judged = uses[i].stream < w->schedule->stream_count,
                                   .events = uses[i].events,
                                   .shorter_ns = -1});
    }
    if (count > shown) {
        gt_interner *strings = w->schedule->strings;
        gt_page_lane rest = {.group = gt_interner_add_cstr(strings, "other streams"),
                             .label = gt_interner_add_cstr(strings, "streams with few events"),
                             .device = -1,
                             .is_stream = true,
                             .judged = true,
                             .shorter_ns = -1};
        for (size_t i = shown; i < count; i++) {
            rest.judged &= uses[i].stream < w->schedule->stream_count;
            lanes[uses[i].stream] = (uint32_t)shown;
            rest.events += uses[i].events;
        }
        add_lane(w, rest);
    }
    gt_free(uses);
    return lanes;
}

/* ---- ops by lane ---- */

static int64_t start_of(const gt_page_work *w, uint32_t op)
{
    return gt_page_op_at(w, op).start_ns;
}

/* A lane of several devices' streams has ops of two lists, each by start: merges them. */
static void merge_lists(const gt_page_work *w, uint32_t *ops, size_t count)
{
    size_t own = 0, at = 0;
    while (own < count && ops[own] < w->schedule->op_count) own++;
    if (own == 0 || own == count) return;
    uint32_t *merged = gt_alloc(count * sizeof *merged);
    for (size_t a = 0, b = own; a < own || b < count;) {
        bool takes_own = b == count || (a < own && start_of(w, ops[a]) <= start_of(w, ops[b]));
        merged[at++] = takes_own ? ops[a++] : ops[b++];
    }
    memcpy(ops, merged, count * sizeof *ops);
    gt_free(merged);
}

/* Sorts the ops by lane. They come by start, which stays the order in a lane. */
static void order_ops(gt_page_work *w, const uint32_t *lane_of_stream)
{
    const gt_schedule *s = w->schedule;
    size_t streams = w->lane_count;
    size_t *next = gt_alloc_zero(streams + 1, sizeof *next);
    w->op_lane = gt_alloc(w->op_count * sizeof *w->op_lane);
    w->order = gt_alloc(w->op_count * sizeof *w->order);
    for (size_t i = 0; i < s->op_count; i++) w->op_lane[i] = lane_of_stream[s->ops[i].stream];
    for (size_t i = s->op_count; i < w->op_count; i++)
        w->op_lane[i] = lane_of_stream[w->devices.others[i - s->op_count].stream];
    for (size_t i = 0; i < streams; i++) next[i + 1] = next[i] + w->lanes[i].events;
    for (uint32_t i = 0; i < w->op_count; i++) w->order[next[w->op_lane[i]]++] = i;
    for (size_t i = 0, begin = 0; i < streams; begin += w->lanes[i++].events)
        merge_lists(w, w->order + begin, w->lanes[i].events);
    gt_free(next);
}

/* ---- threads ---- */

typedef struct thread_use {
    uint32_t thread;
    uint32_t process; /* processes in the order of their best threads */
    uint32_t row;     /* a row of the trace that its names can be asked of; GT_NO_EVENT */
    size_t events;
    bool launches;
} thread_use;

static int by_use(const void *left, const void *right)
{
    const thread_use *a = left, *b = right;
    if (a->launches != b->launches) return a->launches ? -1 : 1;
    if (a->events != b->events) return a->events > b->events ? -1 : 1;
    return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static int by_process(const void *left, const void *right)
{
    const thread_use *a = left, *b = right;
    if (a->process != b->process) return a->process < b->process ? -1 : 1;
    return by_use(left, right);
}

/* A thread may have Python functions only, which are no rows: GT_NO_EVENT. */
static uint32_t row_of_thread(const gt_schedule *s, const gt_host_thread *thread)
{
    if (!s->trace || !s->trace->tracks) return GT_NO_EVENT;
    for (uint32_t i = thread->first; i < thread->end; i++)
        if (s->events[i].kind != GT_KIND_PYTHON || s->trace->has_python) return s->events[i].row;
    return GT_NO_EVENT;
}

/* Appends an id of the trace, which is JSON. */
static void add_id(gt_buffer *text, gt_str id)
{
    enum { LONG = 60 };
    if (id.len >= 2 && id.bytes[0] == '"' && id.bytes[id.len - 1] == '"')
        id = (gt_str){id.bytes + 1, id.len - 2};
    gt_buffer_add(text, id.bytes, id.len < LONG ? id.len : LONG);
}

static uint32_t intern(gt_interner *strings, gt_buffer *text)
{
    uint32_t id = gt_interner_add(strings, text->bytes, text->len);
    gt_buffer_free(text);
    return id;
}

/* "python (12345)", or without a name "process 12345". Runs of one process have the number 0 for it. */
static uint32_t group_of(gt_interner *strings, uint32_t process, gt_str name)
{
    gt_buffer text = {0};
    if (!name.len && gt_str_equals(gt_interner_get(strings, process), "0"))
        return gt_interner_add_cstr(strings, "host");
    bool is_named = name.len && !gt_str_equals(name, "Unknown");
    if (is_named)
        gt_buffer_add(&text, name.bytes, name.len);
    else
        gt_buffer_add_cstr(&text, "process");
    gt_buffer_add_cstr(&text, is_named ? " (" : " ");
    add_id(&text, gt_interner_get(strings, process));
    if (is_named) gt_buffer_add_cstr(&text, ")");
    return intern(strings, &text);
}

/* The name of the thread, or "thread 12345". The main thread has the number of its process. */
static uint32_t label_of(gt_interner *strings, const gt_host_thread *thread, gt_str name)
{
    gt_buffer text = {0};
    if (name.len && !gt_str_equals(name, "Unknown")) {
        gt_buffer_add(&text, name.bytes, name.len);
    } else {
        gt_buffer_add_cstr(&text, "thread ");
        add_id(&text, gt_interner_get(strings, thread->thread));
    }
    if (thread->thread == thread->process) {
        bool has_bracket = text.len && text.bytes[text.len - 1] == ')';
        text.len -= has_bracket;
        gt_buffer_add_cstr(&text, has_bracket ? ", main)" : " (main)");
    }
    return intern(strings, &text);
}

/* The host of a JAX profile is not threads but what is known of it. */
static gt_page_lane lane_of_jax(gt_interner *strings, const gt_schedule *s, const gt_host_thread *thread)
{
    bool waits = thread->first < thread->end && s->events[thread->first].call == GT_API_SYNC;
    return (gt_page_lane){.group = gt_interner_add_cstr(strings, "host"),
                          .label = gt_interner_add_cstr(strings, waits ? "waits for arrays" : "launches")};
}

/* `process_row` is a row of any thread of the process. */
static gt_page_lane lane_of_thread(const gt_schedule *s, const thread_use *use, uint32_t process_row)
{
    gt_interner *strings = s->strings;
    const gt_host_thread *thread = &s->threads[use->thread];
    gt_str process_name = {0}, thread_name = {0};
    if (s->origin == GT_BY_JAX) return lane_of_jax(strings, s, thread);
    if (process_row != GT_NO_EVENT)
        process_name = gt_interner_get(strings, gt_event_track(s->trace, process_row).process_name);
    if (use->row != GT_NO_EVENT)
        thread_name = gt_interner_get(strings, gt_event_track(s->trace, use->row).thread_name);
    return (gt_page_lane){.group = group_of(strings, thread->process, process_name),
                          .label = label_of(strings, thread, thread_name)};
}

/* Those that launch first, then those with the most events; but all of a process together. */
static thread_use *list_threads(const gt_schedule *s, size_t shown)
{
    size_t count = s->thread_count;
    thread_use *uses = gt_alloc(count * sizeof *uses);
    gt_map processes = {0};
    for (uint32_t i = 0; i < count; i++) {
        const gt_host_thread *thread = &s->threads[i];
        uses[i] = (thread_use){.thread = i,
                               .row = row_of_thread(s, thread),
                               .events = thread->end - thread->first,
                               .launches = thread->launches};
    }
    if (count) qsort(uses, count, sizeof *uses, by_use);
    for (size_t i = 0; i < shown; i++) {
        uint32_t next = (uint32_t)processes.count;
        uint32_t *process = gt_map_put(&processes, s->threads[uses[i].thread].process, 0);
        if (*process == GT_MAP_NONE) *process = next;
        uses[i].process = *process;
    }
    if (shown) qsort(uses, shown, sizeof *uses, by_process);
    gt_map_free(&processes);
    return uses;
}

static void add_threads(gt_page_work *w)
{
    const gt_schedule *s = w->schedule;
    size_t shown = s->thread_count < LANES_MAX ? s->thread_count : LANES_MAX;
    thread_use *uses = list_threads(s, shown);
    uint32_t *process_rows = gt_no_events(shown); /* by process */
    for (size_t i = 0; i < shown; i++)
        if (uses[i].row != GT_NO_EVENT) process_rows[uses[i].process] = uses[i].row;
    w->thread_lane = gt_no_events(s->thread_count);
    for (size_t i = 0; i < shown; i++) {
        gt_page_lane lane = lane_of_thread(s, &uses[i], process_rows[uses[i].process]);
        lane.device = lane.shorter_ns = -1;
        lane.events = uses[i].events;
        w->thread_lane[uses[i].thread] = (uint32_t)w->lane_count;
        add_lane(w, lane);
    }
    gt_free_all(process_rows, uses);
}

void gt_page_find_lanes(gt_page_work *w)
{
    w->lanes = gt_alloc((2 * LANES_MAX + 1) * sizeof *w->lanes);
    uint32_t *lane_of_stream = add_streams(w);
    order_ops(w, lane_of_stream);
    gt_free(lane_of_stream);
    add_threads(w);
}

/* ---- the table ---- */

void gt_page_add_lanes(const gt_page_work *w, gt_table_list *tables)
{
    static const gt_column_head heads[] = {
        {GT_COL_PAGE_KIND, GT_TYPE_STRING},  {GT_COL_PAGE_GROUP, GT_TYPE_STRING},
        {GT_COL_PAGE_LABEL, GT_TYPE_STRING}, {GT_COL_PAGE_DEVICE, GT_TYPE_INT},
        {GT_COL_PAGE_JUDGED, GT_TYPE_BOOL},  {GT_COL_PAGE_EVENTS, GT_TYPE_INT},
        {GT_COL_PAGE_KEPT, GT_TYPE_INT},     {GT_COL_PAGE_SHORTER, GT_TYPE_INT}};
    enum { KIND, GROUP, LABEL, DEVICE, JUDGED, EVENTS, KEPT, SHORTER };
    gt_table *table = gt_table_new(GT_SHEET_PAGE_LANES, w->schedule->strings);
    gt_table_add_columns(table, heads, GT_LENGTH(heads));
    for (size_t i = 0; i < w->lane_count; i++) {
        const gt_page_lane *lane = &w->lanes[i];
        gt_table_add_row(table);
        gt_table_set_cstr(table, KIND, i, lane->is_stream ? "stream" : "thread");
        gt_table_set_string(table, GROUP, i, lane->group);
        gt_table_set_string(table, LABEL, i, lane->label);
        if (lane->device >= 0) gt_table_set_int(table, DEVICE, i, lane->device);
        gt_table_set_bool(table, JUDGED, i, lane->judged);
        gt_table_set_int(table, EVENTS, i, (int64_t)lane->events);
        gt_table_set_int(table, KEPT, i, (int64_t)lane->kept);
        if (lane->shorter_ns >= 0) gt_table_set_int(table, SHORTER, i, lane->shorter_ns);
    }
    gt_table_list_add(tables, table);
}
