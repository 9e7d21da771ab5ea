/* Converts a rocprofv3 run to a timeline: calls on the threads that made them, dispatches and copies on the
 * streams of their GPU, with the arguments of rocprofv3's own traces. */
#include "transform/convert.h"

/* ---- names of arguments ---- */

/* Arguments in the order in which they are written. */
typedef enum rocprof_key {
    KEY_BEGIN,
    KEY_END,
    KEY_DELTA,
    KEY_KIND,
    KEY_AGENT,
    KEY_AGENT_TYPE,
    KEY_SOURCE,
    KEY_DESTINATION,
    KEY_BYTES,
    KEY_CORRELATION,
    KEY_QUEUE,
    KEY_THREAD,
    KEY_KERNEL_ID,
    KEY_SCRATCH,
    KEY_LDS,
    KEY_VGPRS,
    KEY_ACCUM_VGPRS,
    KEY_SGPRS,
    KEY_BLOCK,
    KEY_GRID,
    KEY_STREAM,
    KEY_DISPATCH,
    KEY_BLOCK_X,
    KEY_BLOCK_Y,
    KEY_BLOCK_Z,
    KEY_GRID_X,
    KEY_GRID_Y,
    KEY_GRID_Z,
    KEY_KERNEL_NAME,
    KEY_AGENT_ID,
    KEY_SOURCE_ID,
    KEY_DESTINATION_ID,
    KEY_PLACE,
    KEY_PID,
    KEY_HOST,
    KEY_COMMAND,
    KEYS
} rocprof_key;

static const char *const key_names[KEYS] = {
    [KEY_BEGIN] = "begin_ns",
    [KEY_END] = "end_ns",
    [KEY_DELTA] = "delta_ns",
    [KEY_KIND] = "kind",
    [KEY_AGENT] = "agent",
    [KEY_AGENT_TYPE] = "agent_type",
    [KEY_SOURCE] = "src_agent",
    [KEY_DESTINATION] = "dst_agent",
    [KEY_BYTES] = "copy_bytes",
    [KEY_CORRELATION] = "corr_id",
    [KEY_QUEUE] = "queue",
    [KEY_THREAD] = "tid",
    [KEY_KERNEL_ID] = "kernel_id",
    [KEY_SCRATCH] = "Scratch_Size",
    [KEY_LDS] = "LDS_Block_Size",
    [KEY_VGPRS] = "VGPR_Count",
    [KEY_ACCUM_VGPRS] = "Accum_VGPR_Count",
    [KEY_SGPRS] = "SGPR_Count",
    [KEY_BLOCK] = "workgroup_size",
    [KEY_GRID] = "grid_size",
    [KEY_STREAM] = "stream_ID",
    [KEY_DISPATCH] = "dispatch_id",
    [KEY_BLOCK_X] = "workgroup_size_x",
    [KEY_BLOCK_Y] = "workgroup_size_y",
    [KEY_BLOCK_Z] = "workgroup_size_z",
    [KEY_GRID_X] = "grid_size_x",
    [KEY_GRID_Y] = "grid_size_y",
    [KEY_GRID_Z] = "grid_size_z",
    [KEY_KERNEL_NAME] = "kernel_name",
    [KEY_AGENT_ID] = "agent_id",
    [KEY_SOURCE_ID] = "src_agent_id",
    [KEY_DESTINATION_ID] = "dst_agent_id",
    [KEY_PLACE] = "record",
    [KEY_PID] = "pid",
    [KEY_HOST] = "hostname",
    [KEY_COMMAND] = "command",
};

/* ---- agents ---- */

typedef struct agent_row {
    int64_t process;      /* of the run */
    int64_t id;           /* as in the records */
    int64_t number;       /* in its label: the logical node id if it is known */
    uint32_t label, type; /* string ids of the timeline: "Agent-2", "GPU" */
    bool is_cpu;
} agent_row;

typedef struct agent_list {
    gt_interner *strings; /* of the timeline */
    agent_row *rows;
    size_t count, capacity;
    gt_map of; /* (process, id) */
} agent_list;

static uint32_t add(agent_list *agents, agent_row row, gt_str type)
{
    char label[32];
    snprintf(label, sizeof label, "Agent-%" PRId64, row.number);
    row.label = gt_interner_add_cstr(agents->strings, label);
    row.type = type.len ? gt_interner_add(agents->strings, type.bytes, type.len) : GT_STR_NONE;
    row.is_cpu = gt_str_equals(type, "CPU");
    *gt_map_put(&agents->of, (uint64_t)row.process, (uint64_t)row.id) = (uint32_t)agents->count;
    GT_PUSH(agents->rows, agents->count, agents->capacity, row);
    return (uint32_t)agents->count - 1;
}

static void list_agents(agent_list *agents, const gt_rocprof *run, gt_interner *strings, size_t process_count)
{
    agents->strings = strings;
    if (!run->agents) return;
    gt_store_cell cells[GT_STORE_MAX_COLUMNS];
    gt_store_scan *scan = gt_store_scan_new(run->agents);
    while (gt_store_scan_next(scan, cells)) {
        int64_t process = cells[GT_AGENT_PROCESS].integer, id = cells[GT_AGENT_ID].integer;
        int64_t logical = cells[GT_AGENT_LOGICAL_NODE_ID].integer, node = cells[GT_AGENT_NODE_ID].integer;
        if (process < 0 || (uint64_t)process >= process_count) process = 0;
        int64_t number = logical != GT_AGENT_ABSENT ? logical : node != GT_AGENT_ABSENT ? node : id;
        add(agents, (agent_row){.process = process, .id = id, .number = number},
            gt_interner_get(run->strings, (uint32_t)cells[GT_AGENT_TYPE].text));
    }
    gt_store_scan_free(scan);
}

static uint32_t find_agent(agent_list *agents, int64_t process, int64_t id)
{
    uint32_t found = gt_map_get(&agents->of, (uint64_t)process, (uint64_t)id);
    if (found != GT_MAP_NONE) return found;
    return add(agents, (agent_row){.process = process, .id = id, .number = id}, (gt_str){"", 0});
}

static void note_agent_row(gt_timeline *timeline, const gt_rocprof *run, const gt_store_cell *cells)
{
    gt_interner *strings = gt_timeline_strings(timeline);
    for (size_t i = 0; i < GT_AGENT_INFO_COLUMNS; i++) {
        size_t column = GT_AGENT_INFO + i;
        uint32_t agent_key = gt_interner_add_cstr(strings, gt_agent_info_names[i]);
        if (gt_agent_columns[column].type == GT_STORE_STRING) {
            if (cells[column].text != GT_STR_NONE)
                gt_timeline_arg_string(timeline, agent_key,
                                       gt_interner_get(run->strings, (uint32_t)cells[column].text));
        } else if (cells[column].integer != GT_AGENT_ABSENT) {
            gt_timeline_arg_int(timeline, agent_key, cells[column].integer);
        }
    }
}

static void free_agents(agent_list *agents)
{
    gt_free(agents->rows);
    gt_map_free(&agents->of);
}

/* ---- events ---- */

typedef struct conversion {
    gt_rocprof *run;
    gt_timeline *timeline;
    gt_interner *strings; /* of the timeline */
    uint32_t keys[KEYS];
    uint32_t *moved; /* from string ids of the run to those of the timeline; GT_STR_NONE: not copied yet */
    size_t moved_count;
    uint32_t *processes; /* of the timeline, by process of the run */
    size_t process_count;
    agent_list agents;
    gt_map threads;  /* (process, tid) to track */
    gt_map queues;   /* (agent, stream) to track */
    gt_map counters; /* (process, dispatch) to its first counter value */
    uint32_t *next_counter, *counter_names;
    double *counter_values;
} conversion;

static uint32_t word(conversion *c, const char *text)
{
    return gt_interner_add_cstr(c->strings, text);
}

static uint32_t move_text(conversion *c, uint32_t text)
{
    if (text >= c->moved_count) {
        size_t count = c->moved_count;
        c->moved = gt_grow(c->moved, &c->moved_count, (size_t)text + 1, sizeof *c->moved);
        memset(c->moved + count, 0, (c->moved_count - count) * sizeof *c->moved);
    }
    if (!c->moved[text] && text) {
        gt_str moving = gt_interner_get(c->run->strings, text);
        c->moved[text] = gt_interner_add(c->strings, moving.bytes, moving.len);
    }
    return c->moved[text];
}

/* ---- processes, agents, tracks ---- */

static uint32_t add_process(conversion *c, gt_map *pids, const gt_rocprof_process *process)
{
    gt_str host = gt_interner_get(c->run->strings, process->hostname);
    gt_str command = gt_interner_get(c->run->strings, process->command);
    char *name = gt_format("%.*s%s%.*s", (int)command.len, command.bytes,
                           command.len && host.len ? " on " : "", (int)host.len, host.bytes);
    /* Viewers merge processes with the same id; processes of different machines may share one. */
    uint64_t pid = (uint64_t)process->pid;
    while (gt_map_get(pids, pid, 0) != GT_MAP_NONE) pid += UINT64_C(1) << 22;
    *gt_map_put(pids, pid, 0) = 0;
    uint32_t added = gt_timeline_process(c->timeline, (int64_t)pid, (gt_str){name, strlen(name)});
    gt_free(name);
    return added;
}

static gt_rocprof_process only_process(const gt_rocprof *run)
{
    return (gt_rocprof_process){
        .pid = run->pid, .hostname = run->hostname, .init_ns = run->init_ns, .fini_ns = run->fini_ns};
}

static void add_processes(conversion *c)
{
    gt_map pids = {0};
    gt_rocprof_process only = only_process(c->run);
    const gt_rocprof_process *processes = c->run->process_count ? c->run->process : &only;
    c->process_count = c->run->process_count ? c->run->process_count : 1;
    c->processes = gt_alloc(c->process_count * sizeof *c->processes);
    for (size_t i = 0; i < c->process_count; i++) c->processes[i] = add_process(c, &pids, &processes[i]);
    gt_map_free(&pids);
}

static int64_t process_of(const conversion *c, int64_t process)
{
    return process >= 0 && (uint64_t)process < c->process_count ? process : 0;
}

static uint32_t agent_of(conversion *c, int64_t process, int64_t id)
{
    return find_agent(&c->agents, process, id);
}

static uint32_t thread_track(conversion *c, int64_t process, int64_t tid)
{
    uint32_t *found = gt_map_put(&c->threads, (uint64_t)process, (uint64_t)tid);
    if (*found == GT_MAP_NONE) {
        char name[48];
        snprintf(name, sizeof name, "THREAD (%" PRId64 ")", tid);
        gt_track_spec ask = {GT_FORM_THREAD, tid, {name, strlen(name)}};
        *found = gt_timeline_track(c->timeline, c->processes[process], ask);
    }
    return *found;
}

static uint32_t queue_track(conversion *c, uint32_t agent, int64_t stream)
{
    uint32_t *found = gt_map_put(&c->queues, agent, (uint64_t)stream);
    if (*found == GT_MAP_NONE) {
        char name[80];
        const agent_row *on = &c->agents.rows[agent];
        gt_str label = gt_interner_get(c->strings, on->label);
        snprintf(name, sizeof name, "STREAM [\" %" PRId64 " \"] %.*s", stream, (int)label.len, label.bytes);
        gt_track_spec ask = {GT_FORM_QUEUE, GT_NO_TID, {name, strlen(name)}};
        *found = gt_timeline_track(c->timeline, c->processes[on->process], ask);
    }
    return *found;
}

/* ---- notes ---- */

static void note(conversion *c, rocprof_key k, int64_t value)
{
    gt_timeline_arg_int(c->timeline, c->keys[k], value);
}

static void note_word(conversion *c, rocprof_key k, uint32_t text)
{
    if (text) gt_timeline_arg_interned(c->timeline, c->keys[k], text);
}

static void note_agent(conversion *c, uint32_t agent, rocprof_key label, rocprof_key id)
{
    const agent_row *row = &c->agents.rows[agent];
    note_word(c, label, row->label);
    if (row->id != row->number) note(c, id, row->id);
}

static void note_times(conversion *c, int64_t start, int64_t end)
{
    note(c, KEY_BEGIN, start);
    note(c, KEY_END, end);
    note(c, KEY_DELTA, (int64_t)((uint64_t)end - (uint64_t)start));
}

/* The same number for a call and what it launched, different for each process. */
static void join(conversion *c, int64_t process, int64_t correlation, bool arrives)
{
    if (!correlation || !c->run->calls) return;
    gt_timeline_flow(c->timeline, (uint64_t)correlation ^ ((uint64_t)process + 1) << 44, arrives);
}

/* ---- order ---- */

/* Whether the timeline, which is ordered by time, keeps the order of a store. */
static bool keeps_order(const gt_store *store, size_t start_column, size_t end_column)
{
    size_t count = gt_store_count(store);
    int64_t *starts = gt_store_ints(store, start_column), *ends = gt_store_ints(store, end_column);
    bool keeps = true;
    for (size_t i = 0; i < count && keeps; i++) {
        keeps = starts[i] >= 0 && ends[i] >= starts[i];
        if (i) keeps &= starts[i] > starts[i - 1] || (starts[i] == starts[i - 1] && ends[i] <= ends[i - 1]);
    }
    gt_free_all(starts, ends);
    return keeps;
}

typedef struct place_notes {
    int64_t next;
    bool are_noted;
} place_notes;

static place_notes places_of(const gt_store *store, size_t start_column, size_t end_column)
{
    return (place_notes){.are_noted = !keeps_order(store, start_column, end_column)};
}

static void note_record_index(conversion *c, place_notes *of)
{
    if (of->are_noted) note(c, KEY_PLACE, of->next++);
}

/* ---- calls ---- */

static void add_calls(conversion *c)
{
    if (!c->run->calls) return;
    uint32_t categories[GT_CALL_DOMAINS];
    for (int d = 0; d < GT_CALL_DOMAINS; d++) categories[d] = word(c, gt_call_domain_name((gt_call_domain)d));
    gt_store_cell cells[GT_CALL_COLUMNS];
    place_notes places = places_of(c->run->calls, GT_CALL_START, GT_CALL_END);
    gt_store_scan *scan = gt_store_scan_new(c->run->calls);
    while (gt_store_scan_next(scan, cells)) {
        int64_t process = process_of(c, cells[GT_CALL_PROCESS].integer);
        int64_t start = cells[GT_CALL_START].integer, end = cells[GT_CALL_END].integer;
        int64_t tid = cells[GT_CALL_THREAD].integer, correlation = cells[GT_CALL_CORRELATION].integer;
        int64_t domain = cells[GT_CALL_DOMAIN].integer;
        uint32_t category = categories[domain >= 0 && domain < GT_CALL_DOMAINS ? domain : GT_CALL_OTHER];
        gt_timeline_begin(c->timeline, GT_TIMELINE_SLICE, thread_track(c, process, tid), start, end, category,
                          move_text(c, (uint32_t)cells[GT_CALL_NAME].text));
        join(c, process, correlation, false);
        note_times(c, start, end);
        note(c, KEY_THREAD, tid);
        note_word(c, KEY_KIND, move_text(c, (uint32_t)cells[GT_CALL_KIND].text));
        note(c, KEY_CORRELATION, correlation);
        if (cells[GT_CALL_STREAM].integer >= 0) note(c, KEY_STREAM, cells[GT_CALL_STREAM].integer);
        note_record_index(c, &places);
        gt_timeline_end(c->timeline);
    }
    gt_store_scan_free(scan);
}

/* ---- copies ---- */

static void note_copy_details(conversion *c, int64_t process, const gt_store_cell *cells)
{
    int64_t source = cells[GT_COPY_SOURCE].integer, destination = cells[GT_COPY_DESTINATION].integer;
    if (source >= 0) note_agent(c, agent_of(c, process, source), KEY_SOURCE, KEY_SOURCE_ID);
    if (destination >= 0)
        note_agent(c, agent_of(c, process, destination), KEY_DESTINATION, KEY_DESTINATION_ID);
    if (cells[GT_COPY_BYTES].integer >= 0) note(c, KEY_BYTES, cells[GT_COPY_BYTES].integer);
    note(c, KEY_CORRELATION, cells[GT_COPY_CORRELATION].integer);
    note(c, KEY_THREAD, cells[GT_COPY_THREAD].integer);
    note(c, KEY_STREAM, cells[GT_COPY_STREAM].integer);
}

/* The GPU among the two ends of a copy: the destination if both are GPUs or nothing is known about them. */
static uint32_t gpu_of_copy(conversion *c, int64_t process, const gt_store_cell *cells)
{
    int64_t source = cells[GT_COPY_SOURCE].integer, destination = cells[GT_COPY_DESTINATION].integer;
    bool to_host = cells[GT_COPY_DIRECTION].integer == GT_COPY_DEVICE_TO_HOST;
    if (destination >= 0) {
        uint32_t agent = agent_of(c, process, destination); /* may move c->agents.rows */
        to_host |= c->agents.rows[agent].is_cpu;
    }
    int64_t chosen = to_host && source >= 0 ? source : destination;
    return agent_of(c, process, chosen < 0 ? 0 : chosen);
}

static void add_copies(conversion *c)
{
    bool detailed = c->run->wanted & GT_WANT_COPY_DETAILS;
    uint32_t category = word(c, "memory_copy"), kind = word(c, "MEMORY_COPY"), names[GT_COPY_DIRECTIONS];
    for (int d = 0; d < GT_COPY_DIRECTIONS; d++)
        names[d] = word(c, gt_copy_direction_name((gt_copy_direction)d));
    gt_store_cell cells[GT_COPY_COLUMNS];
    for (size_t i = 0; i < GT_COPY_COLUMNS; i++) cells[i].integer = gt_copy_columns[i].absent;
    place_notes places = places_of(c->run->copies, GT_COPY_START, GT_COPY_END);
    gt_store_scan *scan = gt_store_scan_new(c->run->copies);
    while (gt_store_scan_next(scan, cells)) {
        int64_t process = process_of(c, cells[GT_COPY_PROCESS].integer);
        int64_t start = cells[GT_COPY_START].integer, end = cells[GT_COPY_END].integer;
        int64_t direction = cells[GT_COPY_DIRECTION].integer;
        uint32_t track = queue_track(c, gpu_of_copy(c, process, cells), cells[GT_COPY_STREAM].integer);
        if (direction < 0 || direction >= GT_COPY_DIRECTIONS) direction = GT_COPY_UNKNOWN;
        gt_timeline_begin(c->timeline, GT_TIMELINE_SLICE, track, start, end, category, names[direction]);
        join(c, process, cells[GT_COPY_CORRELATION].integer, true);
        note_times(c, start, end);
        note_word(c, KEY_KIND, kind);
        if (detailed) note_copy_details(c, process, cells);
        note_record_index(c, &places);
        gt_timeline_end(c->timeline);
    }
    gt_store_scan_free(scan);
}

/* ---- counters ---- */

static void gather_counters(conversion *c)
{
    if (!c->run->counters) return;
    size_t count = gt_store_count(c->run->counters);
    int64_t *processes = gt_store_ints(c->run->counters, GT_COUNTER_PROCESS);
    int64_t *dispatches = gt_store_ints(c->run->counters, GT_COUNTER_DISPATCH);
    c->counter_names = gt_store_string_ids(c->run->counters, GT_COUNTER_NAME);
    c->counter_values = gt_store_times(c->run->counters, GT_COUNTER_VALUE);
    c->next_counter = gt_alloc(count * sizeof *c->next_counter);
    for (size_t i = count; i-- > 0;) { /* from the last one, so that each list is in the order of the file */
        uint32_t *first = gt_map_put(&c->counters, (uint64_t)processes[i], (uint64_t)dispatches[i]);
        c->next_counter[i] = *first;
        *first = (uint32_t)i;
    }
    gt_free_all(processes, dispatches);
}

static void note_counters(conversion *c, int64_t process, int64_t dispatch)
{
    if (!c->run->counters) return;
    uint32_t at = gt_map_get(&c->counters, (uint64_t)process, (uint64_t)dispatch);
    for (; at != GT_MAP_NONE; at = c->next_counter[at])
        gt_timeline_arg_double(c->timeline, move_text(c, c->counter_names[at]), c->counter_values[at]);
}

/* ---- dispatches ---- */

static int64_t product(const gt_store_cell *sizes)
{
    return (int64_t)((uint64_t)sizes[0].integer * (uint64_t)sizes[1].integer * (uint64_t)sizes[2].integer);
}

/* Also the sizes per axis if there is more than one row. */
static void note_axes(conversion *c, rocprof_key first, const gt_store_cell *sizes)
{
    if (sizes[1].integer == 1 && sizes[2].integer == 1) return;
    for (int axis = 0; axis < 3; axis++) note(c, (rocprof_key)((int)first + axis), sizes[axis].integer);
}

static void note_dispatch_details(conversion *c, const gt_store_cell *cells)
{
    int64_t queue = cells[GT_DISPATCH_QUEUE].integer;
    gt_kernel_use use = gt_rocprof_kernel_use(c->run, cells[GT_DISPATCH_KERNEL_ID].integer);
    note(c, KEY_CORRELATION, cells[GT_DISPATCH_CORRELATION].integer);
    note(c, KEY_QUEUE, queue > 0 ? queue - 1 : 0); /* as rocprofv3 counts them in its traces */
    note(c, KEY_SCRATCH, cells[GT_DISPATCH_SCRATCH_BYTES].integer);
    note(c, KEY_LDS, cells[GT_DISPATCH_LDS_BYTES].integer);
    if (use.vgprs >= 0) note(c, KEY_VGPRS, use.vgprs);
    if (use.accum_vgprs >= 0) note(c, KEY_ACCUM_VGPRS, use.accum_vgprs);
    if (use.sgprs >= 0) note(c, KEY_SGPRS, use.sgprs);
}

static void note_dispatch(conversion *c, const gt_store_cell *cells, uint32_t agent, gt_str name)
{
    int64_t kernel_id = cells[GT_DISPATCH_KERNEL_ID].integer;
    note_times(c, cells[GT_DISPATCH_START].integer, cells[GT_DISPATCH_END].integer);
    note_word(c, KEY_KIND, word(c, "KERNEL_DISPATCH"));
    note_agent(c, agent, KEY_AGENT, KEY_AGENT_ID);
    note_word(c, KEY_AGENT_TYPE, c->agents.rows[agent].type);
    if (c->run->wanted & GT_WANT_DISPATCH_DETAILS) note_dispatch_details(c, cells);
    note(c, KEY_THREAD, cells[GT_DISPATCH_THREAD].integer);
    if (kernel_id != GT_NO_KERNEL_ID) note(c, KEY_KERNEL_ID, kernel_id);
    note(c, KEY_BLOCK, product(cells + GT_DISPATCH_BLOCK_X));
    note(c, KEY_GRID, product(cells + GT_DISPATCH_GRID_X));
    note(c, KEY_STREAM, cells[GT_DISPATCH_STREAM].integer);
    note(c, KEY_DISPATCH, cells[GT_DISPATCH_ID].integer);
    note_axes(c, KEY_BLOCK_X, cells + GT_DISPATCH_BLOCK_X);
    note_axes(c, KEY_GRID_X, cells + GT_DISPATCH_GRID_X);
    if (gt_kernel_short_name(name).len != name.len)
        gt_timeline_arg_string(c->timeline, c->keys[KEY_KERNEL_NAME], name);
}

static void add_dispatches(conversion *c)
{
    uint32_t category = word(c, "kernel_dispatch");
    gt_store_cell cells[GT_DISPATCH_COLUMNS];
    for (size_t i = 0; i < GT_DISPATCH_COLUMNS; i++) cells[i].integer = gt_dispatch_columns[i].absent;
    place_notes places = places_of(c->run->dispatches, GT_DISPATCH_START, GT_DISPATCH_END);
    gt_store_scan *scan = gt_store_scan_new(c->run->dispatches);
    while (gt_store_scan_next(scan, cells)) {
        int64_t process = process_of(c, cells[GT_DISPATCH_PROCESS].integer);
        uint32_t agent = agent_of(c, process, cells[GT_DISPATCH_AGENT].integer);
        uint32_t track = queue_track(c, agent, cells[GT_DISPATCH_STREAM].integer);
        uint32_t name = move_text(c, gt_rocprof_kernel_name(c->run, cells[GT_DISPATCH_KERNEL_ID].integer));
        gt_timeline_begin(c->timeline, GT_TIMELINE_SLICE, track, cells[GT_DISPATCH_START].integer,
                          cells[GT_DISPATCH_END].integer, category, name);
        join(c, process, cells[GT_DISPATCH_CORRELATION].integer, true);
        note_dispatch(c, cells, agent, gt_interner_get(c->strings, name));
        note_record_index(c, &places);
        note_counters(c, process, cells[GT_DISPATCH_ID].integer);
        gt_timeline_end(c->timeline);
    }
    gt_store_scan_free(scan);
}

/* ---- timeline ---- */

/* The start of the run, as far as it is known. */
static int64_t first_time(const conversion *c)
{
    int64_t *starts = gt_store_ints(c->run->dispatches, GT_DISPATCH_START), first = c->run->init_ns;
    for (size_t i = 0; i < gt_store_count(c->run->dispatches); i++)
        if (!first || starts[i] < first) first = starts[i];
    gt_free(starts);
    return first;
}

/* The profiled time, which is longer than the time from the first to the last event, and what is known about
 * the process. Formats without that time may still have its host: then it is a mark. */
static void add_session(conversion *c, size_t process, const gt_rocprof_process *about, int64_t mark_ns)
{
    bool has_time = about->init_ns || about->fini_ns;
    if (!has_time && !about->hostname && !about->command) return;
    gt_track_spec ask = {GT_FORM_QUEUE, GT_NO_TID, {"PROFILED RUN", 12}};
    uint32_t track = gt_timeline_track(c->timeline, c->processes[process], ask);
    int64_t start = has_time ? about->init_ns : mark_ns;
    gt_timeline_begin(c->timeline, has_time ? GT_TIMELINE_SLICE : GT_TIMELINE_MARK, track, start,
                      has_time ? about->fini_ns : start, word(c, "session"), word(c, "profiled run"));
    if (has_time) note_times(c, about->init_ns, about->fini_ns);
    note(c, KEY_PID, about->pid);
    note_word(c, KEY_HOST, move_text(c, about->hostname));
    note_word(c, KEY_COMMAND, move_text(c, about->command));
    gt_timeline_end(c->timeline);
}

static void add_sessions(conversion *c)
{
    gt_rocprof_process only = only_process(c->run);
    const gt_rocprof_process *processes = c->run->process_count ? c->run->process : &only;
    int64_t mark_ns = first_time(c);
    for (size_t i = 0; i < c->process_count; i++) add_session(c, i, &processes[i], mark_ns);
}

/* One mark per agent, with all its properties. */
static void add_agents(conversion *c)
{
    if (!c->run->agents) return;
    int64_t time_ns = first_time(c);
    uint32_t category = word(c, "agent"), *tracks = gt_alloc_zero(c->process_count, sizeof *tracks);
    gt_store_cell cells[GT_STORE_MAX_COLUMNS];
    gt_store_scan *scan = gt_store_scan_new(c->run->agents);
    while (gt_store_scan_next(scan, cells)) {
        int64_t process = process_of(c, cells[GT_AGENT_PROCESS].integer);
        if (!tracks[process])
            tracks[process] = 1 + gt_timeline_track(c->timeline, c->processes[process],
                                                    (gt_track_spec){GT_FORM_QUEUE, GT_NO_TID, {"AGENTS", 6}});
        uint32_t agent = agent_of(c, process, cells[GT_AGENT_ID].integer);
        gt_timeline_begin(c->timeline, GT_TIMELINE_MARK, tracks[process] - 1, time_ns, time_ns, category,
                          c->agents.rows[agent].label);
        note(c, KEY_AGENT_ID, c->agents.rows[agent].id);
        note_agent_row(c->timeline, c->run, cells);
        gt_timeline_end(c->timeline);
    }
    gt_store_scan_free(scan);
    gt_free(tracks);
}

void gt_convert_rocprof(gt_rocprof *run, gt_timeline *timeline)
{
    conversion c = {.run = run, .timeline = timeline, .strings = gt_timeline_strings(timeline)};
    for (int k = 0; k < KEYS; k++) c.keys[k] = word(&c, key_names[k]);
    add_processes(&c);
    list_agents(&c.agents, run, c.strings, c.process_count);
    add_sessions(&c);
    add_agents(&c);
    add_calls(&c);
    gather_counters(&c);
    add_copies(&c);
    add_dispatches(&c);
    gt_free_all(c.moved, c.processes);
    free_agents(&c.agents);
    gt_free_all(c.next_counter, c.counter_names, c.counter_values);
    gt_map_free(&c.threads);
    gt_map_free(&c.queues);
    gt_map_free(&c.counters);
}
